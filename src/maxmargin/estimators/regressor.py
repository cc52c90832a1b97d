"""What the kernel machines with one problem, regression and outlier detection, share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin, _fit_context
from sklearn.utils import column_or_1d

from maxmargin.estimators.base import KernelMachine
from maxmargin.estimators.training import TrainingSet, read
from maxmargin.problems import Terms
from maxmargin.reductions import Part
from maxmargin.rows import Rows
from maxmargin.solvers.loop import Solution

Floats = NDArray[np.float64]


class SingleMachine(KernelMachine):
    """Base of the machines that solve one problem."""

    n_iter_: int

    def _fit_one(self, data: TrainingSet, terms: Terms, extra: Sequence[Part] = ()) -> tuple[list[Solution], Rows]:
        """Solve the problem with the given terms and store its one decision function.

        The extra problems are solved beside it. All solutions come back, its own first, and the rows that they read.
        """
        parts = [Part(np.arange(terms.n), terms)]
        solutions, rows = self._solve(data, parts, extra)
        coef, intercept = self._expand(parts, solutions[:1])[0]
        support = np.flatnonzero(coef)
        self._n_support = np.array([len(support)], dtype=np.int32)
        self._store_support(data, support, coef[None, :], np.array([intercept]))
        self._store_solutions(solutions[:1], solutions[1:])
        self.n_iter_ = int(solutions[0].n_iter)
        return solutions, rows


class KernelRegressor(RegressorMixin, SingleMachine):
    """Base of the regressors: a child knows the dual terms of its loss."""

    C: float

    @abstractmethod
    def _terms(self, y: Floats, weights: Floats) -> Terms:
        """Dual terms; weights are those of the examples' losses, C included."""

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the regression.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
            Training examples; the kernel matrix when ``kernel="precomputed"``; whatever a callable kernel takes.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each example counts. Examples of weight zero or less are left out.

        Returns
        -------
        self : estimator
            The fitted regression.
        """
        self._fit_targets(read(self, X, y, sample_weight, _check_targets))
        return self

    def predict(self, X: Any) -> Floats:
        """Predicted targets.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_training_samples)
            Examples.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Predictions.
        """
        return self._decision_values(X)[:, 0]

    def _fit_targets(self, data: TrainingSet) -> None:
        """Solve the problem of the data and store what it gives."""
        self._fit_one(data, self._terms(data.y, self.C * data.weights))


def _check_targets(y: Any) -> Floats:
    y = column_or_1d(y, warn=True).astype(np.float64, copy=False)
    if not np.isfinite(y).all():
        i = int(np.argmin(np.isfinite(y)))
        raise ValueError(f"y[{i}] is {y[i]}, but targets must be finite.")
    return y
