r"""Huber loss.

.. math::
    L(y, t) = \tfrac12 r^2 \text{ where } |r| \le \delta, \text{ else } \delta (|r| - \tfrac12 \delta), \quad r = y - t

    L'(y, t) = -\min(\max(r, -\delta), \delta), \qquad
    C L(y, t) = \max_{-C\delta \le \beta \le C\delta} (y - t) \beta - \frac{\beta^2}{2C}

Terms: p = -y, beta in [-C delta, C delta], d = 1/C, e = 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from maxmargin.losses.inputs import Floats, intercept_sum, positive, targets, weights
from maxmargin.problems.dual import Terms


@dataclass(frozen=True)
class Huber:
    """Quadratic up to the residual delta, linear beyond.

    Parameters
    ----------
    delta : float
        The residual at which the loss becomes linear.
    """

    delta: float

    def __post_init__(self) -> None:
        positive("delta", self.delta)

    def value(self, y: ArrayLike, t: ArrayLike) -> Floats:
        """L(y, t)."""
        r = np.asarray(y, dtype=np.float64) - np.asarray(t, dtype=np.float64)
        inner = np.minimum(np.abs(r), self.delta)
        return inner * (np.abs(r) - 0.5 * inner)

    def subgradient(self, y: ArrayLike, t: ArrayLike) -> Floats:
        """An element of the subdifferential of L(y, t) in t."""
        r = np.asarray(y, dtype=np.float64) - np.asarray(t, dtype=np.float64)
        return -np.clip(r, -self.delta, self.delta)

    def dual(self, y: ArrayLike, C: ArrayLike, fit_intercept: bool = True) -> Terms:
        """Terms of the dual problem; C is the weight of each example's loss."""
        y = targets(y)
        C, zero = weights(C, len(y)), np.zeros(len(y))
        group, sums = intercept_sum(len(y), fit_intercept)
        return Terms(-y, -C * self.delta, C * self.delta, 1.0 / C, zero, group, sums)
