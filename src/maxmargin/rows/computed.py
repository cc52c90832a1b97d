"""Rows computed from the data as they are asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.kernels.kernel import Kernel, count, part_of
from maxmargin.rows.rows import Floats, Rows


class ComputedRows(Rows):
    """K_ij = k(x_i, x_j).

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    X : array, CSR or any sequence that the kernel takes
        The examples.
    precision : {"float32", "float64"}
        Of the kernel values.
    weights : (n,) array, optional
        How often each example counts where data are centred, which only rounding sees.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.kernels import Linear
    >>> ComputedRows(Linear(), np.array([[1.0], [2.0]]), "float64").block([1])
    array([[2., 4.]])
    """

    def __init__(self, kernel: Kernel, X: Any, precision: str = "float32", weights: Floats | None = None) -> None:
        self.kernel, self.X, self.precision, self.weights = kernel, X, precision, weights
        self.n = count(X)
        self.entry_cost = kernel.cost(X)
        self.exact_sums = False  # as long as no source has looked at the data

    def source(self, n_jobs: int | None = None) -> Any:
        source = self.kernel.source(self.X, self.precision, self._threads(n_jobs), self.weights)
        unit = getattr(source, "unit", 0.0)  # others of float32 data restore them to their rounding only
        self.exact_sums = unit > 0 and float(unit).is_integer() and getattr(self.kernel, "moves_with_data", False)
        return source

    def with_precision(self, precision: str) -> Rows:
        return self if precision == self.precision else ComputedRows(self.kernel, self.X, precision, self.weights)

    def part(self, ids: NDArray[np.integer]) -> Rows:
        weights = None if self.weights is None else self.weights[ids]
        return ComputedRows(self.kernel, part_of(self.X, ids), self.precision, weights)

    def diag(self) -> Floats:
        return self.kernel.diag(self.X)

    def rounding(self) -> Floats:
        if self.precision == "float64":
            return np.zeros(self.n)
        # Distances of small integers are exact, and only the function of them is rounded: 1 at most.
        return np.ones(self.n) if self.exact_sums else self.kernel.rounding(self.X, self.weights)
