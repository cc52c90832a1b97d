r"""Squared epsilon-insensitive loss.

.. math::
    L(y, t) = \max(0, |y - t| - \epsilon)^2, \qquad L'(y, t) = 2\, \mathrm{sign}(t - y) \max(0, |y - t| - \epsilon)

    C L(y, t) = \max_{\beta} (y - t) \beta - \epsilon |\beta| - \frac{\beta^2}{4C}

Terms: p = -y, beta free, d = 1/(2C), e = epsilon.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from maxmargin.losses.inputs import Floats, intercept_sum, not_negative, targets, weights
from maxmargin.problems.dual import Terms


@dataclass(frozen=True)
class SquaredEpsilonInsensitive:
    """max(0, abs(y - t) - epsilon)^2.

    Parameters
    ----------
    epsilon : float
        Half the width of the tube without loss.
    """

    epsilon: float

    def __post_init__(self) -> None:
        not_negative("epsilon", self.epsilon)

    def value(self, y: ArrayLike, t: ArrayLike) -> Floats:
        """L(y, t)."""
        r = np.asarray(y, dtype=np.float64) - np.asarray(t, dtype=np.float64)
        return np.maximum(0.0, np.abs(r) - self.epsilon) ** 2

    def subgradient(self, y: ArrayLike, t: ArrayLike) -> Floats:
        """An element of the subdifferential of L(y, t) in t."""
        r = np.asarray(y, dtype=np.float64) - np.asarray(t, dtype=np.float64)
        return -2.0 * np.sign(r) * np.maximum(0.0, np.abs(r) - self.epsilon)

    def dual(self, y: ArrayLike, C: ArrayLike, fit_intercept: bool = True) -> Terms:
        """Terms of the dual problem; C is the weight of each example's loss."""
        y = targets(y)
        C, free = weights(C, len(y)), np.full(len(y), np.inf)
        group, sums = intercept_sum(len(y), fit_intercept)
        return Terms(-y, -free, free, 1.0 / (2.0 * C), np.full(len(y), self.epsilon), group, sums)
