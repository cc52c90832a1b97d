"""Outlier detection."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import OutlierMixin, _fit_context
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _num_samples

from maxmargin.estimators import density
from maxmargin.estimators.docs import documented
from maxmargin.estimators.parameters import BOUNDED, COMMON, NU, keep
from maxmargin.estimators.regressor import SingleMachine
from maxmargin.estimators.training import read
from maxmargin.losses import OneClass

Floats = NDArray[np.float64]

ROUNDING = 1e-10


def _has_probabilities(estimator: Any) -> bool:
    if not estimator.probability:
        raise AttributeError("predict_proba is not available when probability=False")
    if hasattr(estimator, "offset_") and not hasattr(estimator, "density_marks_"):
        raise AttributeError(
            "predict_proba is not available when fitted with probability=False, or on fewer than"
            f" {density.SIDE} outliers or {density.SIDE} others"
        )
    return True


@documented
class OneClassSVM(OutlierMixin, SingleMachine):
    r"""One-class support vector machine.

    .. math:: \min_{f, \rho}\; \tfrac12 \|f\|^2 + \sum_i w_i \max(0, \rho - f(x_i)) - \rho\,\nu \sum_i w_i

    Examples with f(x) below rho are outliers. The signature is scikit-learn's, and what follows `max_iter` is new.

    Parameters
    ----------
    <kernel>
    nu : float, default=0.5
        Upper bound of the share of outliers and lower bound of the share of support vectors, in (0, 1].
    <shrinking>
    probability : bool, default=False
        Whether `predict_proba` is to be available, from the decision values of the training examples, each counted by
        its weight, as in LIBSVM.
    <solving>

    Attributes
    ----------
    density_marks_ : ndarray of shape (10,)
        With ``probability=True`` only: the decision values at which the probabilities of `predict_proba` rise.
    offset_ : ndarray of shape (1,)
        The level rho: ``decision_function = score_samples - offset_``.
    <fitted>

    Examples
    --------
    >>> from maxmargin import OneClassSVM
    >>> X = [[0], [0.44], [0.45], [0.46], [1]]
    >>> OneClassSVM(gamma="auto").fit(X).predict(X).tolist()
    [-1, 1, 1, 1, -1]
    """

    shrinking: bool | str
    nu: float
    probability: bool

    density_marks_: Floats

    _parameter_constraints: dict[str, list[Any]] = {**COMMON, **BOUNDED, "nu": NU, "probability": ["boolean"]}

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        nu: float = 0.5,
        shrinking: bool | str = True,
        cache_size: float | str = 200,
        verbose: int = False,
        max_iter: int = -1,
        probability: bool = False,
        fit_intercept: bool = True,
        tol_gap: float | None = None,
        max_time: float | None = None,
        callback: Callable[[Any], Any] | None = None,
        precision: str = "auto",
        solver: str | Callable[..., Any] = "auto",
        selection: str = "auto",
        selection_rows: str = "two",
        n_jobs: int | None = None,
        warm_start: bool = False,
    ) -> None:
        keep(self, locals())

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Find the level.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
            Training examples; the kernel matrix when ``kernel="precomputed"``; whatever a callable kernel takes.
        y : object, default=None
            There for scikit-learn's pipelines; not looked at.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each example counts. Examples of weight zero or less are left out.

        Returns
        -------
        self : estimator
            The fitted detector.
        """
        self._refuse_no_intercept()
        data = read(self, X, np.ones(_num_samples(X)), sample_weight, np.asarray)
        solutions, _ = self._fit_one(data, OneClass(self.nu).dual(data.weights))
        self.offset_ = -self._intercept_
        self.__dict__.pop("density_marks_", None)  # an earlier fit's
        if self.probability:
            self._mark(self._without_rounding(solutions[0].f + self._intercept_[0]), data.weights)
        return self

    def decision_function(self, X: Any) -> Floats:
        """Decision values, negative for outliers.

        At the support vectors of the level itself f(x) is rho up to rounding: differences below 1e-10 of rho are 0.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_training_samples)
            Examples.

        Returns
        -------
        decisions : ndarray of shape (n_samples,)
            f(x) - rho.
        """
        return self._without_rounding(self._decision_values(X)[:, 0])

    def score_samples(self, X: Any) -> Floats:
        """Scores of which `offset_` is the level.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_training_samples)
            Examples.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            f(x).
        """
        return self.decision_function(X) + self.offset_

    def predict(self, X: Any) -> NDArray[np.intp]:
        """Inliers and outliers.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_training_samples)
            Examples.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            +1 for inliers, the level included, -1 for outliers.
        """
        return np.where(self.decision_function(X) >= 0, 1, -1).astype(np.intp)

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of being an outlier and of being normal, in ten steps.

        The steps are where the training examples lie: k / 10 is the probability of being normal where k of the marks do
        not exceed the decision value, and 0.001 and 0.999 where none or all do not. Outliers have 1 / 2 at most.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_training_samples)
            Examples.

        Returns
        -------
        p : ndarray of shape (n_samples, 2)
            Columns for -1 and +1.
        """
        normal = density.normal_probabilities(self.decision_function(X), self.density_marks_)
        return np.column_stack([1.0 - normal, normal])

    def _without_rounding(self, decisions: Floats) -> Floats:
        """The decision values with 0 for what is the level up to rounding."""
        decisions[np.abs(decisions) <= ROUNDING * abs(self._intercept_[0])] = 0.0
        return decisions

    def _mark(self, decisions: Floats, weights: Floats) -> None:
        """Keep the marks of the training examples' decision values, or say why there are none."""
        marks = density.density_marks(decisions, weights)
        if marks is not None:
            self.density_marks_ = marks
            return
        below = weights[decisions < 0].sum()
        warnings.warn(
            f"There are no probabilities: they take {density.SIDE} outliers and {density.SIDE} others, counted by their"
            f" weights, and the training examples are {below:g} and {weights.sum() - below:g}.",
            UserWarning,
            stacklevel=4,
        )
