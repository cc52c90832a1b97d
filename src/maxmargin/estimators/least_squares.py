"""Least squares support vector machines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.estimators.classifier import KernelClassifier
from maxmargin.estimators.docs import documented
from maxmargin.estimators.parameters import CLASSIFIER, COMMON, COST, keep
from maxmargin.estimators.regressor import KernelRegressor
from maxmargin.losses import LeastSquares
from maxmargin.problems import Terms

Floats = NDArray[np.float64]


@documented
class LSSVC(KernelClassifier):
    r"""Least squares support vector classification.

    For two classes, with y_i = +1 and -1,

    .. math:: \min_{f, b}\; \tfrac12 \|f\|^2 + \tfrac12 C \sum_i w_i (y_i - f(x_i) - b)^2.

    Every example is a support vector, and no dual variable has bounds: there is nothing to shrink.

    Parameters
    ----------
    C : float, default=1.0
        Weight of one example's loss; may be infinite.
    <kernel>
    <probability>
    <classes>
    <votes>
    <solving>

    Attributes
    ----------
    <classified>
    <fitted>

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import LSSVC
    >>> X = np.array([[-1.0, -1.0], [-2.0, -1.0], [1.0, 1.0], [2.0, 1.0]])
    >>> LSSVC(gamma="auto").fit(X, [1, 1, 2, 2]).predict([[-0.8, -1.0]]).tolist()
    [1]
    """

    C: float

    _parameter_constraints: dict[str, list[Any]] = {**COMMON, **CLASSIFIER, "C": COST}

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        probability: bool | str = "deprecated",
        tol: float = 1e-3,
        cache_size: float | str = 200,
        class_weight: dict[Any, float] | str | None = None,
        verbose: int = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: int | np.random.RandomState | None = None,
        multiclass: str = "one-vs-one",
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

    def _terms(self, y: Floats, weights: Floats, part_of_data: bool = False) -> Terms:
        return LeastSquares().dual(y, self.C * weights, self.fit_intercept)


@documented
class LSSVR(KernelRegressor):
    r"""Least squares support vector regression.

    .. math:: \min_{f, b}\; \tfrac12 \|f\|^2 + \tfrac12 C \sum_i w_i (y_i - f(x_i) - b)^2

    This is kernel ridge regression with an intercept that is not regularised. Every example is a support vector, and no
    dual variable has bounds: there is nothing to shrink.

    Parameters
    ----------
    C : float, default=1.0
        Weight of one example's loss; may be infinite.
    <kernel>
    <solving>

    Attributes
    ----------
    <fitted>

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import LSSVR
    >>> X = np.linspace(0, 1, 20)[:, None]
    >>> model = LSSVR(C=1000.0).fit(X, np.sin(3 * X[:, 0]))
    >>> bool(np.abs(model.predict(X) - np.sin(3 * X[:, 0])).max() < 0.02)
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {**COMMON, "C": COST}

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
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

    def _terms(self, y: Floats, weights: Floats) -> Terms:
        return LeastSquares().dual(y, weights, self.fit_intercept)
