r"""Least squares loss; with labels -1 and +1 it is the least squares support vector machine.

.. math::
    L(y, t) = \tfrac12 (y - t)^2, \qquad L'(y, t) = t - y

    C L(y, t) = \max_{\beta} (y - t) \beta - \frac{\beta^2}{2C}

Terms: p = -y, beta free, d = 1/C, e = 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from maxmargin.losses.inputs import Floats, intercept_sum, targets, weights
from maxmargin.problems.dual import Terms


@dataclass(frozen=True)
class LeastSquares:
    """(y - t)^2 / 2."""

    def value(self, y: ArrayLike, t: ArrayLike) -> Floats:
        """L(y, t)."""
        r = np.asarray(y, dtype=np.float64) - np.asarray(t, dtype=np.float64)
        return 0.5 * r**2

    def subgradient(self, y: ArrayLike, t: ArrayLike) -> Floats:
        """An element of the subdifferential of L(y, t) in t."""
        r = np.asarray(y, dtype=np.float64) - np.asarray(t, dtype=np.float64)
        return -r

    def dual(self, y: ArrayLike, C: ArrayLike, fit_intercept: bool = True) -> Terms:
        """Terms of the dual problem; C is the weight of each example's loss."""
        y = targets(y)
        C, zero = weights(C, len(y)), np.zeros(len(y))
        free = np.full(len(y), np.inf)
        group, sums = intercept_sum(len(y), fit_intercept)
        return Terms(-y, -free, free, 1.0 / C, zero, group, sums)
