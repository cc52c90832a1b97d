"""Epsilon- and nu-support vector regression."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.estimators.docs import documented
from maxmargin.estimators.noise import NoisyRegressor
from maxmargin.estimators.parameters import BOUNDED, COMMON, COST, NOISE, NOT_NEGATIVE, NU, StrOptions, keep
from maxmargin.losses import EpsilonInsensitive, NuRegression, SquaredEpsilonInsensitive
from maxmargin.problems import Terms

Floats = NDArray[np.float64]

LOSSES: dict[str, type[EpsilonInsensitive | SquaredEpsilonInsensitive]] = {
    "epsilon_insensitive": EpsilonInsensitive,
    "squared_epsilon_insensitive": SquaredEpsilonInsensitive,
}


@documented
class SVR(NoisyRegressor):
    r"""Epsilon-support vector regression.

    .. math::
        \min_{f, b}\; \tfrac12 \|f\|^2 + C \sum_i w_i L(y_i, f(x_i) + b), \qquad
        L(y, t) = \max(0, |y - t| - \epsilon)

    or its square. The signature is scikit-learn's, and what follows `max_iter` is new.

    Parameters
    ----------
    <kernel>
    C : float, default=1.0
        Weight of one example's loss; may be infinite.
    epsilon : float, default=0.1
        Half width of the tube in which errors cost nothing.
    <shrinking>
    loss : {'epsilon_insensitive', 'squared_epsilon_insensitive'}, default='epsilon_insensitive'
        The loss L.
    <noise>
    <solving>

    Attributes
    ----------
    <noise_scale>
    <fitted>

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import SVR
    >>> X = np.linspace(0, 1, 20)[:, None]
    >>> model = SVR(C=10.0, epsilon=0.01).fit(X, np.sin(3 * X[:, 0]))
    >>> bool(np.abs(model.predict(X) - np.sin(3 * X[:, 0])).max() < 0.02)
    True
    """

    shrinking: bool | str
    epsilon: float
    loss: str

    _parameter_constraints: dict[str, list[Any]] = {
        **COMMON,
        **BOUNDED,
        **NOISE,
        "C": COST,
        "epsilon": NOT_NEGATIVE,
        "loss": [StrOptions(set(LOSSES))],
    }

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        C: float = 1.0,
        epsilon: float = 0.1,
        shrinking: bool | str = True,
        cache_size: float | str = 200,
        verbose: int = False,
        max_iter: int = -1,
        loss: str = "epsilon_insensitive",
        probability: bool = False,
        random_state: int | np.random.RandomState | None = None,
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
        return LOSSES[self.loss](self.epsilon).dual(y, weights, self.fit_intercept)


@documented
class NuSVR(NoisyRegressor):
    r"""Nu-support vector regression.

    .. math::
        \min_{f, b, \epsilon \ge 0}\;
        \tfrac12 \|f\|^2 + C \sum_i w_i \bigl(\max(0, |y_i - f(x_i) - b| - \epsilon) + \nu \epsilon\bigr)

    The signature is scikit-learn's, and what follows `max_iter` is new.

    Parameters
    ----------
    nu : float, default=0.5
        Upper bound of the share of examples outside the tube, lower bound of the share of support vectors, in (0, 1].
    C : float, default=1.0
        Weight of one example's loss; finite.
    <kernel>
    <shrinking>
    <noise>
    <solving>

    Attributes
    ----------
    <noise_scale>
    <fitted>

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import NuSVR
    >>> X = np.linspace(0, 1, 20)[:, None]
    >>> model = NuSVR(nu=0.5, C=10.0).fit(X, np.sin(3 * X[:, 0]))
    >>> bool(np.abs(model.predict(X) - np.sin(3 * X[:, 0])).max() < 0.1)
    True
    """

    shrinking: bool | str
    nu: float

    _parameter_constraints: dict[str, list[Any]] = {**COMMON, **BOUNDED, **NOISE, "C": COST, "nu": NU}

    def __init__(
        self,
        *,
        nu: float = 0.5,
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
        probability: bool = False,
        random_state: int | np.random.RandomState | None = None,
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
        self._refuse_no_intercept()
        if np.isinf(self.C):
            raise ValueError("NuSVR needs a finite C: the sum over its dual variables is a share of it.")
        return NuRegression(self.nu).dual(y, weights)
