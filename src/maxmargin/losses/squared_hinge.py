r"""Squared hinge loss.

.. math::
    L(y, t) = \max(0, 1 - yt)^2, \qquad L'(y, t) = -2y \max(0, 1 - yt)

    C L(y, t) = \max_{y\beta \ge 0} (y - t) \beta - \frac{\beta^2}{4C}

Terms: p = -y, y beta in [0, inf), d = 1/(2C), e = 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from maxmargin.losses.inputs import Floats, intercept_sum, labels, weights
from maxmargin.problems.dual import Terms


@dataclass(frozen=True)
class SquaredHinge:
    """max(0, 1 - yt)^2, for labels -1 and +1."""

    def value(self, y: ArrayLike, t: ArrayLike) -> Floats:
        """L(y, t)."""
        y, t = np.asarray(y, dtype=np.float64), np.asarray(t, dtype=np.float64)
        return np.maximum(0.0, 1.0 - y * t) ** 2

    def subgradient(self, y: ArrayLike, t: ArrayLike) -> Floats:
        """An element of the subdifferential of L(y, t) in t."""
        y, t = np.asarray(y, dtype=np.float64), np.asarray(t, dtype=np.float64)
        return -2.0 * y * np.maximum(0.0, 1.0 - y * t)

    def dual(self, y: ArrayLike, C: ArrayLike, fit_intercept: bool = True) -> Terms:
        """Terms of the dual problem; C is the weight of each example's loss."""
        y = labels(y)
        C, zero = weights(C, len(y)), np.zeros(len(y))
        lo, hi = np.where(y > 0, 0.0, -np.inf), np.where(y > 0, np.inf, 0.0)
        group, sums = intercept_sum(len(y), fit_intercept)
        return Terms(-y, lo, hi, 1.0 / (2.0 * C), zero, group, sums)
