"""What the kernel classifiers share: labels, the reduction to binary problems, votes and probabilities."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Sequence
from itertools import cycle
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.exceptions import NotFittedError
from sklearn.utils import column_or_1d, compute_class_weight, deprecated
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from maxmargin.estimators import calibration
from maxmargin.estimators.base import KernelMachine
from maxmargin.estimators.training import TrainingSet, read
from maxmargin.problems import Terms
from maxmargin.reductions import OneVsOne, OneVsRest, Part, Reduction, Task
from maxmargin.rows import Rows
from maxmargin.solvers.loop import Solution

Floats = NDArray[np.float64]

TermsMaker = Callable[..., Terms]  # of the labels, the weights and part_of_data

ONE_CLASS = "all samples with positive weights belong to the same class."
ATTRIBUTE_DEPRECATED = "Attribute `{}` was deprecated in version 1.9 and will be removed in 1.11."
PROBABILITY_DEPRECATED = (
    "The `probability` parameter was deprecated in 1.9 and will be removed in version 1.11. Use"
    " `CalibratedClassifierCV({0}(), ensemble=False)` instead of `{0}(probability=True)`"
)


def _fits_probabilities(estimator: Any) -> bool:
    return not isinstance(estimator.probability, str) and bool(estimator.probability)


def _has_probabilities(estimator: Any) -> bool:
    if not _fits_probabilities(estimator):
        raise AttributeError("predict_proba is not available when probability=False")
    return True


class KernelClassifier(ClassifierMixin, KernelMachine):
    """Base of the classifiers: a child knows the dual terms of a binary problem."""

    class_weight: dict[Any, float] | str | None
    decision_function_shape: str
    break_ties: bool
    multiclass: str
    probability: bool | str
    random_state: int | np.random.RandomState | None

    classes_: NDArray
    _slopes: Floats
    _split = "one-vs-one"  # `multiclass` of the fit, whatever the parameter becomes

    @abstractmethod
    def _terms(self, y: Floats, weights: Floats, part_of_data: bool = False) -> Terms:
        """Dual terms of the binary problem with the labels y, whole or as one fold of it."""

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
            Training examples; the kernel matrix when ``kernel="precomputed"``; whatever a callable kernel takes.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each example counts. Examples of weight zero or less are left out.

        Returns
        -------
        self : estimator
            The fitted classifier.
        """
        if self.probability != "deprecated":
            warnings.warn(PROBABILITY_DEPRECATED.format(type(self).__name__), FutureWarning, stacklevel=2)
        data = read(self, X, y, sample_weight, self._check_labels)
        classes, codes = np.unique(data.y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(self._one_class_message())
        weights = data.weights * self._class_weights(classes, data)[codes]
        self._split = self.multiclass
        reduction = self._reduction(len(classes))
        tasks = reduction.tasks(codes)
        makers, before = self._makers(data, tasks)
        parts = [Part(t.ids, make(t.y, weights[t.ids])) for t, make in zip(tasks, makers, strict=True)]
        folds = calibration.assign_folds(codes, self.random_state) if _fits_probabilities(self) else None
        held_out = [] if folds is None else self._fold_tasks(tasks, folds)
        extra = _fold_parts(held_out, makers, weights)
        solutions, rows = self._solve(data, parts, extra, spent=sum(s.seconds for s in before))
        self.classes_ = classes
        self._store(data, codes, reduction, tasks, parts, solutions[: len(parts)])
        self._store_solutions(solutions[: len(parts)], [*before, *solutions[len(parts) :]])
        self.n_iter_ = np.array([s.n_iter for s in solutions[: len(parts)]], dtype=np.int32)
        self._slopes = np.empty((0, 2))
        if folds is not None:
            self._calibrate(rows, tasks, held_out, extra, solutions[len(parts) :], weights)
        return self

    def decision_function(self, X: Any) -> Floats:
        """Decision values.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_training_samples)
            Examples.

        Returns
        -------
        decisions : ndarray of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_pairs)
            Two classes: positive for ``classes_[1]``. More: one column a class with ``decision_function_shape="ovr"``;
            with "ovo" one column for each pair of classes, positive for the first.
        """
        decisions = self._decision_values(X)
        if len(self.classes_) == 2:
            return -decisions[:, 0]
        if self.decision_function_shape == "ovo":
            if self._split == "one-vs-rest":
                raise ValueError(
                    "decision_function_shape='ovo' needs multiclass='one-vs-one': 'one-vs-rest' has no pairs."
                )
            return decisions
        return self._reduction(len(self.classes_)).scores(decisions)

    def predict(self, X: Any) -> NDArray:
        """Predicted class labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_training_samples)
            Examples.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Labels.
        """
        check_is_fitted(self)
        self._check_break_ties()
        return self.classes_.take(self._winners(self._decision_values(X)))

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> Floats:
        """Class probabilities; the largest is always that of the class that `predict` says.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_training_samples)
            Examples.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        decisions = self._decision_values(X)
        if len(self._slopes) == 0:
            raise NotFittedError("predict_proba is not available when fitted with probability=False")
        positive = calibration.positive_probabilities(decisions, self._slopes)
        p = self._reduction(len(self.classes_)).probabilities(positive)
        return calibration.make_consistent(p, self._winners(decisions))

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any) -> Floats:
        """Logarithms of `predict_proba`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_training_samples)
            Examples.

        Returns
        -------
        log_p : ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        return np.log(self.predict_proba(X))

    @deprecated(ATTRIBUTE_DEPRECATED.format("probA_"))  # type: ignore[prop-decorator]
    @property
    def probA_(self) -> Floats:
        """The slopes a of the probabilities 1 / (1 + exp(a s)), below and above s = 0: shape (problems, 2)."""
        return -self._slopes

    @deprecated(ATTRIBUTE_DEPRECATED.format("probB_"))  # type: ignore[prop-decorator]
    @property
    def probB_(self) -> Floats:
        """Zero for each problem: its curve passes through 1/2 where the decision value is 0."""
        return np.zeros(len(self._slopes))

    # Fitting ----------------------------------------------------------------------------------------------------------

    def _check_labels(self, y: Any) -> NDArray:
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        classes = np.unique(y)
        if len(classes) < 2:
            raise ValueError(f"The number of classes has to be greater than one; got {len(classes)} class")
        return y

    def _one_class_message(self) -> str:
        return f"Invalid input - {ONE_CLASS}"

    def _class_weights(self, classes: NDArray, data: TrainingSet) -> Floats:
        """The weight of each class; "balanced" counts every example as often as its weight says."""
        self.class_weight_ = compute_class_weight(
            self.class_weight, classes=classes, y=data.y, sample_weight=data.weights
        )
        if not (self.class_weight_ > 0).all():
            worst = int(np.argmin(self.class_weight_))
            raise ValueError(
                f"class_weight of class {classes[worst]} is {self.class_weight_[worst]}, but must be positive."
            )
        return self.class_weight_

    def _makers(self, data: TrainingSet, tasks: Sequence[Task]) -> tuple[list[TermsMaker], list[Solution]]:
        """For each task what makes the terms of it or a fold of it, and what had to be solved to know."""
        return [self._terms] * len(tasks), []

    def _reduction(self, n_classes: int) -> Reduction:
        return OneVsRest(n_classes) if self._split == "one-vs-rest" and n_classes > 2 else OneVsOne(n_classes)

    def _store(
        self,
        data: TrainingSet,
        codes: NDArray[np.intp],
        reduction: Reduction,
        tasks: Sequence[Task],
        parts: Sequence[Part],
        solutions: Sequence[Solution],
    ) -> None:
        """Support vectors grouped by class.

        `_dual_coef_` and `_intercept_`, as the solver, have LIBSVM's signs; with two classes, those of `dual_coef_` and
        `intercept_` are the opposite: `decision_function` is positive for the second class.
        """
        expansions = self._expand(parts, solutions)
        layout = reduction.layout(codes, tasks, [e.coef for e in expansions])
        support = np.flatnonzero((layout != 0).any(axis=0))
        order = support[np.argsort(codes[support], kind="stable")]
        self._n_support = np.bincount(codes[support], minlength=reduction.n_classes).astype(np.int32)
        self._store_support(data, order, layout, np.array([e.intercept for e in expansions]))
        if reduction.n_classes == 2:
            self.dual_coef_, self.intercept_ = -self._dual_coef_, 0.0 - self._intercept_

    def _fold_tasks(self, tasks: Sequence[Task], folds: NDArray[np.intp]) -> list[Task]:
        """The tasks without each fold, fold by fold."""
        return [calibration.training_part(task, folds, fold) for fold in range(calibration.FOLDS) for task in tasks]

    def _calibrate(
        self,
        rows: Rows,
        tasks: Sequence[Task],
        held_out: Sequence[Task],
        parts: Sequence[Part],
        solutions: Sequence[Solution],
        weights: Floats,
    ) -> None:
        """Slopes of the probabilities from the decision values of models that have not seen the example."""
        found = iter(zip(parts, self._expand(parts, solutions), strict=True))
        scores = [np.empty(len(task.ids)) for task in tasks]
        for k, seen in enumerate(held_out):
            task = tasks[k % len(tasks)]
            places = np.flatnonzero(~np.isin(task.ids, seen.ids, assume_unique=True))
            if not _both_sides(seen):
                scores[k % len(tasks)][places] = float(np.sign(seen.y.sum()))
                continue
            part, expansion = next(found)
            scores[k % len(tasks)][places] = calibration.decision_values(rows, task.ids[places], part.ids, expansion)
        self._slopes = np.array(
            [calibration.fit_slopes(s, task.y, weights[task.ids]) for s, task in zip(scores, tasks, strict=True)]
        )

    # Predicting -------------------------------------------------------------------------------------------------------

    def _decide(self, K: NDArray, coef: Floats) -> Floats:
        return self._reduction(len(self.classes_)).decide(K, coef, self._n_support)

    def _check_break_ties(self) -> None:
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")

    def _winners(self, decisions: Floats) -> NDArray[np.intp]:
        """The predicted class of each row of decision values."""
        reduction = self._reduction(len(self.classes_))
        if self.break_ties and len(self.classes_) > 2:
            return np.argmax(reduction.scores(decisions), axis=1)
        return reduction.predict(decisions)

    def _primal_coef(self) -> Any:
        reduction = self._reduction(len(self.classes_))
        dual_coef = self.dual_coef_.toarray() if self._sparse else self.dual_coef_
        coefficients = reduction.coefficients(dual_coef, self._n_support)
        return (type(self.support_vectors_)(coefficients) if self._sparse else coefficients) @ self.support_vectors_


def _fold_parts(tasks: Sequence[Task], makers: Sequence[TermsMaker], weights: Floats) -> list[Part]:
    """The problems of all folds that leave two sides; the tasks of a fold are in the order of the makers."""
    pairs = zip(tasks, cycle(makers))
    return [Part(t.ids, make(t.y, weights[t.ids], part_of_data=True)) for t, make in pairs if _both_sides(t)]


def _both_sides(task: Task) -> bool:
    return bool((task.y > 0).any() and (task.y < 0).any())
