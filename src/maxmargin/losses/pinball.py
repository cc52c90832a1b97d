r"""Pinball loss, for quantile regression at the level tau.

.. math::
    L(y, t) = \max(\tau (y - t), (\tau - 1)(y - t)), \qquad
    \partial_t L = -\tau \text{ where } t < y, \; 1 - \tau \text{ where } t > y

    C L(y, t) = \max_{C(\tau - 1) \le \beta \le C\tau} (y - t) \beta

Terms: p = -y, beta in [C(tau - 1), C tau], d = 0, e = 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from maxmargin.losses.inputs import Floats, intercept_sum, targets, weights
from maxmargin.problems.dual import Terms


@dataclass(frozen=True)
class Pinball:
    """tau (y - t) below the target, (1 - tau) (t - y) above it.

    Parameters
    ----------
    quantile : float
        The level tau, strictly between 0 and 1.
    """

    quantile: float

    def __post_init__(self) -> None:
        if not 0 < self.quantile < 1:
            raise ValueError(f"quantile is {self.quantile}, but it must lie strictly between 0 and 1.")

    def value(self, y: ArrayLike, t: ArrayLike) -> Floats:
        """L(y, t)."""
        r = np.asarray(y, dtype=np.float64) - np.asarray(t, dtype=np.float64)
        return np.maximum(self.quantile * r, (self.quantile - 1.0) * r)

    def subgradient(self, y: ArrayLike, t: ArrayLike) -> Floats:
        """An element of the subdifferential of L(y, t) in t."""
        r = np.asarray(y, dtype=np.float64) - np.asarray(t, dtype=np.float64)
        return np.where(r > 0, -self.quantile, np.where(r < 0, 1.0 - self.quantile, 0.0))

    def dual(self, y: ArrayLike, C: ArrayLike, fit_intercept: bool = True) -> Terms:
        """Terms of the dual problem; C is the weight of each example's loss."""
        y = targets(y)
        C, zero = weights(C, len(y)), np.zeros(len(y))
        group, sums = intercept_sum(len(y), fit_intercept)
        return Terms(-y, C * (self.quantile - 1.0), C * self.quantile, zero, zero, group, sums)
