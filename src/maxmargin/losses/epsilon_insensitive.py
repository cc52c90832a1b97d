r"""Epsilon-insensitive loss.

.. math::
    L(y, t) = \max(0, |y - t| - \epsilon), \qquad
    \partial_t L = \mathrm{sign}(t - y) \text{ where } |y - t| > \epsilon, \text{ else } 0

    C L(y, t) = \max_{-C \le \beta \le C} (y - t) \beta - \epsilon |\beta|

Terms: p = -y, beta in [-C, C], d = 0, e = epsilon.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from maxmargin.losses.inputs import Floats, intercept_sum, not_negative, targets, weights
from maxmargin.problems.dual import Terms


@dataclass(frozen=True)
class EpsilonInsensitive:
    """max(0, abs(y - t) - epsilon).

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
        return np.maximum(0.0, np.abs(r) - self.epsilon)

    def subgradient(self, y: ArrayLike, t: ArrayLike) -> Floats:
        """An element of the subdifferential of L(y, t) in t."""
        r = np.asarray(y, dtype=np.float64) - np.asarray(t, dtype=np.float64)
        return np.where(np.abs(r) > self.epsilon, -np.sign(r), 0.0)

    def dual(self, y: ArrayLike, C: ArrayLike, fit_intercept: bool = True) -> Terms:
        """Terms of the dual problem; C is the weight of each example's loss."""
        y = targets(y)
        C, zero = weights(C, len(y)), np.zeros(len(y))
        group, sums = intercept_sum(len(y), fit_intercept)
        return Terms(-y, -C, C, zero, np.full(len(y), self.epsilon), group, sums)
