"""Outlier detection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import OutlierMixin, _fit_context
from sklearn.utils.validation import _num_samples

from maxmargin.estimators.docs import documented
from maxmargin.estimators.parameters import BOUNDED, COMMON, NU, keep
from maxmargin.estimators.regressor import SingleMachine
from maxmargin.estimators.training import read
from maxmargin.losses import OneClass

Floats = NDArray[np.float64]

ROUNDING = 1e-10


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
    <solving>

    Attributes
    ----------
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

    _parameter_constraints: dict[str, list[Any]] = {**COMMON, **BOUNDED, "nu": NU}

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
        self._fit_one(data, OneClass(self.nu).dual(data.weights))
        self.offset_ = -self._intercept_
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
        decisions = self._decision_values(X)[:, 0]
        decisions[np.abs(decisions) <= ROUNDING * abs(self._intercept_[0])] = 0.0
        return decisions

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
