"""The primal problems, written out from the losses' textbook formulas and minimised by an independent solver."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

from maxmargin import losses
from oracles.qp import factor, minimise


def loss_sum(loss: object, y: NDArray, t: cp.Expression, C: NDArray) -> cp.Expression:
    """Sum of C_i L(y_i, t_i) as a cvxpy expression."""
    r = y - t
    match loss:
        case losses.Hinge():
            return C @ cp.pos(1 - cp.multiply(y, t))
        case losses.SquaredHinge():
            return C @ cp.square(cp.pos(1 - cp.multiply(y, t)))
        case losses.LeastSquares():
            return 0.5 * (C @ cp.square(r))
        case losses.EpsilonInsensitive(epsilon):
            return C @ cp.pos(cp.abs(r) - epsilon)
        case losses.SquaredEpsilonInsensitive(epsilon):
            return C @ cp.square(cp.pos(cp.abs(r) - epsilon))
        case losses.Huber(delta):
            return 0.5 * (C @ cp.huber(r, delta))
        case losses.Pinball(quantile):
            return C @ (quantile * cp.pos(r) + (1 - quantile) * cp.pos(-r))
    raise TypeError(f"No primal is written out for {loss}.")


def minimum(loss: object, K: NDArray, y: NDArray, C: NDArray, fit_intercept: bool) -> float:
    """Minimum over f and b of |f|^2 / 2 + sum C_i L(y_i, f(x_i) + b)."""
    L = factor(K)
    w, b = cp.Variable(L.shape[1]), cp.Variable()
    t = L @ w + (b if fit_intercept else 0.0)
    return minimise(0.5 * cp.sum_squares(w) + loss_sum(loss, y, t, C), [])


def nu_minimum(loss: object, K: NDArray, y: NDArray, C: NDArray) -> float:
    """Minimum of the nu problems over f, b and their margin rho or tube width epsilon."""
    L = factor(K)
    w, b, level = cp.Variable(L.shape[1]), cp.Variable(), cp.Variable()
    f = L @ w
    match loss:
        case losses.OneClass(nu):
            risk, limits = C @ cp.pos(level - f) - nu * np.sum(C) * level, []
        case losses.NuClassification(nu):
            risk, limits = C @ cp.pos(level - cp.multiply(y, f + b)) - nu * np.sum(C) * level, []
        case losses.NuRegression(nu):
            risk, limits = C @ cp.pos(cp.abs(y - f - b) - level) + nu * np.sum(C) * level, [level >= 0]
        case _:
            raise TypeError(f"No primal is written out for {loss}.")
    return minimise(0.5 * cp.sum_squares(w) + risk, limits)
