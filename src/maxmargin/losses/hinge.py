r"""Hinge loss.

.. math::
    L(y, t) = \max(0, 1 - yt), \qquad \partial_t L = -y \text{ where } yt < 1, \text{ else } 0

    C L(y, t) = \max_{y\beta \in [0, C]} (y - t) \beta

Terms: p = -y, y beta in [0, C], d = 0, e = 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from maxmargin.losses.inputs import Floats, intercept_sum, labels, weights
from maxmargin.problems.dual import Terms


@dataclass(frozen=True)
class Hinge:
    """max(0, 1 - yt), for labels -1 and +1."""

    def value(self, y: ArrayLike, t: ArrayLike) -> Floats:
        """L(y, t)."""
        y, t = np.asarray(y, dtype=np.float64), np.asarray(t, dtype=np.float64)
        return np.maximum(0.0, 1.0 - y * t)

    def subgradient(self, y: ArrayLike, t: ArrayLike) -> Floats:
        """An element of the subdifferential of L(y, t) in t."""
        y, t = np.asarray(y, dtype=np.float64), np.asarray(t, dtype=np.float64)
        return np.where(y * t < 1, -y, 0.0)

    def dual(self, y: ArrayLike, C: ArrayLike, fit_intercept: bool = True) -> Terms:
        """Terms of the dual problem; C is the weight of each example's loss."""
        y = labels(y)
        C, zero = weights(C, len(y)), np.zeros(len(y))
        group, sums = intercept_sum(len(y), fit_intercept)
        return Terms(-y, np.where(y > 0, 0.0, -C), np.where(y > 0, C, 0.0), zero, zero, group, sums)
