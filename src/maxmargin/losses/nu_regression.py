r"""Nu-regression on LIBSVM's scale: nu bounds the share of points outside the tube, whose half width epsilon is fitted.

.. math::
    \min_{f, b, \epsilon \ge 0}\;
    \tfrac12 \|f\|^2 + \sum_i C_i \max(0, |y_i - f(x_i) - b| - \epsilon) + \epsilon\, \nu \sum_i C_i

    C \max(0, y - t) = \max_{0 \le \beta \le C} (y - t) \beta, \quad t = f(x) + b_0, \; b_0 = b + \epsilon

    C \max(0, t - y) = \max_{-C \le \beta \le 0} (y - t) \beta, \quad t = f(x) + b_1, \; b_1 = b - \epsilon

Terms, in 2n variables [beta_plus, beta_minus] that share the n rows of K: p = -y twice, beta_plus in [0, C],
beta_minus in [-C, 0], d = 0, e = 0, one group for each copy, with the sums nu sum(C) / 2 and -nu sum(C) / 2.
With the intercepts b_0 and b_1 of the two groups, b = (b_0 + b_1) / 2 and epsilon = (b_0 - b_1) / 2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from maxmargin.losses.inputs import finite_weights, share, targets
from maxmargin.problems.dual import Terms


@dataclass(frozen=True)
class NuRegression:
    """The nu-support vector regression.

    Parameters
    ----------
    nu : float
        Upper bound of the share of points outside the tube and lower bound of the share of support vectors, in (0, 1].
    """

    nu: float

    def __post_init__(self) -> None:
        share("nu", self.nu)

    def dual(self, y: ArrayLike, C: ArrayLike) -> Terms:
        """Terms of the dual problem in 2n variables; C is the weight of each example's loss."""
        y = targets(y)
        C, none = finite_weights(C, len(y), "C"), np.zeros(len(y))
        zero = np.zeros(2 * len(y))
        half = 0.5 * self.nu * C.sum()
        return Terms(
            p=np.concatenate([-y, -y]),
            lo=np.concatenate([none, -C]),
            hi=np.concatenate([C, none]),
            d=zero,
            e=zero,
            group=np.repeat(np.array([0, 1], dtype=np.int8), len(y)),
            sums=np.array([half, -half]),
            copies=2,
        )
