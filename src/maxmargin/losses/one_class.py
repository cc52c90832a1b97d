r"""One-class loss on LIBSVM's scale: the level rho beyond which all but a share nu of the weight lies.

.. math::
    \min_{f, \rho}\; \tfrac12 \|f\|^2 + \sum_i w_i \max(0, \rho - f(x_i)) - \rho\, \nu \sum_i w_i

    w \max(0, -t) = \max_{0 \le \beta \le w} -t \beta, \quad t = f(x) + b, \; b = -\rho

Terms: p = 0, beta in [0, w], d = 0, e = 0, and all beta sum to nu sum(w).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from maxmargin.losses.inputs import finite_weights, share
from maxmargin.problems.dual import Terms


@dataclass(frozen=True)
class OneClass:
    """The one-class support vector machine.

    Parameters
    ----------
    nu : float
        Upper bound of the share of outliers and lower bound of the share of support vectors, in (0, 1].
    """

    nu: float

    def __post_init__(self) -> None:
        share("nu", self.nu)

    def dual(self, weights: ArrayLike) -> Terms:
        """Terms of the dual problem; weights holds one positive number for each example."""
        n = np.size(weights)
        w, zero = finite_weights(weights, n, "weights"), np.zeros(n)
        return Terms(zero, zero, w, zero, zero, np.zeros(n, dtype=np.int8), self.nu * np.array([w.sum()]))
