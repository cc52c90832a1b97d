r"""Nu-classification on LIBSVM's scale: nu bounds the share of margin errors, and the margin rho is fitted.

.. math::
    \min_{f, b, \rho}\; \tfrac12 \|f\|^2 + \sum_i w_i \max(0, \rho - y_i (f(x_i) + b)) - \rho\, \nu \sum_i w_i

    w \max(0, -yt) = \max_{y\beta \in [0, w]} -t \beta, \quad t = f(x) + b_y, \; b_{+1} = b - \rho, \; b_{-1} = b + \rho

Terms: p = 0, y beta in [0, w], d = 0, e = 0, one group for each sign, over which y beta sums to nu sum(w) / 2.
With the intercepts b_+1 and b_-1 of the two groups, b = (b_-1 + b_+1) / 2 and rho = (b_-1 - b_+1) / 2.
LIBSVM's classifier is (f + b) / rho.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from maxmargin.losses.inputs import finite_weights, labels, share
from maxmargin.problems.dual import ROUNDING, Terms


@dataclass(frozen=True)
class NuClassification:
    """The nu-support vector classifier.

    Parameters
    ----------
    nu : float
        Upper bound of the share of margin errors and lower bound of the share of support vectors, in (0, 1].
    """

    nu: float

    def __post_init__(self) -> None:
        share("nu", self.nu)

    def dual(self, y: ArrayLike, weights: ArrayLike) -> Terms:
        """Terms of the dual problem: group 0 holds the labels +1, group 1 the labels -1."""
        y = labels(y)
        w, zero = finite_weights(weights, len(y), "weights"), np.zeros(len(y))
        most = min(w[y > 0].sum(), w[y < 0].sum())
        half = 0.5 * self.nu * w.sum()
        if half > most * (1 + ROUNDING):
            raise ValueError(
                f"The specified nu is infeasible: nu = {self.nu} exceeds {2 * most / w.sum():.6g}, "
                "twice the smaller class's share of the weight."
            )
        half = min(half, most)  # at the largest nu only rounding can put the half above
        lo, hi = np.where(y > 0, 0.0, -w), np.where(y > 0, w, 0.0)
        return Terms(zero, lo, hi, zero, zero, (y < 0).astype(np.int8), np.array([half, -half]))
