"""Quantile and Huber regression."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.estimators.docs import documented
from maxmargin.estimators.parameters import BOUNDED, COMMON, COST, POSITIVE, Interval, Real, keep
from maxmargin.estimators.regressor import KernelRegressor
from maxmargin.losses import Huber, Pinball
from maxmargin.problems import Terms

Floats = NDArray[np.float64]


@documented
class QuantileSVR(KernelRegressor):
    r"""Kernel quantile regression.

    .. math::
        \min_{f, b}\; \tfrac12 \|f\|^2 + C \sum_i w_i L(y_i, f(x_i) + b), \qquad
        L(y, t) = \max(\tau (y - t), (\tau - 1)(y - t))

    Parameters
    ----------
    quantile : float, default=0.5
        The quantile tau to be predicted, in (0, 1); 0.5 is the median.
    C : float, default=1.0
        Weight of one example's loss; may be infinite.
    <kernel>
    <shrinking>
    <solving>

    Attributes
    ----------
    <fitted>

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import QuantileSVR
    >>> X, y = np.zeros((9, 1)), np.arange(9.0)
    >>> bool(abs(QuantileSVR(quantile=0.25).fit(X, y).predict([[0.0]])[0] - 2.0) < 1e-3)
    True
    """

    shrinking: bool | str
    quantile: float

    _parameter_constraints: dict[str, list[Any]] = {
        **COMMON,
        **BOUNDED,
        "C": COST,
        "quantile": [Interval(Real, 0.0, 1.0, closed="neither")],
    }

    def __init__(
        self,
        *,
        quantile: float = 0.5,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        shrinking: bool | str = True,
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
        return Pinball(self.quantile).dual(y, weights, self.fit_intercept)


@documented
class HuberSVR(KernelRegressor):
    r"""Kernel regression with Huber's loss.

    .. math::
        \min_{f, b}\; \tfrac12 \|f\|^2 + C \sum_i w_i L(y_i, f(x_i) + b), \qquad
        L(y, t) = \tfrac12 r^2 \text{ where } |r| = |y - t| \le \delta, \text{ else } \delta (|r| - \tfrac12 \delta)

    Parameters
    ----------
    delta : float, default=1.0
        The residual from which on the loss is linear.
    C : float, default=1.0
        Weight of one example's loss; may be infinite.
    <kernel>
    <shrinking>
    <solving>

    Attributes
    ----------
    <fitted>

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import HuberSVR
    >>> X = np.linspace(0, 1, 20)[:, None]
    >>> y = np.sin(3 * X[:, 0])
    >>> y[3] += 100.0
    >>> model = HuberSVR(delta=0.1, C=10.0).fit(X, y)
    >>> bool(np.abs(model.predict(X) - np.sin(3 * X[:, 0])).max() < 0.2)
    True
    """

    shrinking: bool | str
    delta: float

    _parameter_constraints: dict[str, list[Any]] = {**COMMON, **BOUNDED, "C": COST, "delta": [POSITIVE]}

    def __init__(
        self,
        *,
        delta: float = 1.0,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        shrinking: bool | str = True,
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
        return Huber(self.delta).dual(y, weights, self.fit_intercept)
