"""Rows of a kernel matrix that is already there."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maxmargin._native import core
from maxmargin.kernels.kernel import block_rows
from maxmargin.kernels.native import native_data
from maxmargin.rows.rows import Floats, Rows

ASYMMETRY = 1e-6  # of the largest entry: more is no rounding


class PrecomputedRows(Rows):
    """Rows of a symmetric matrix, or of its part at `ids`; the matrix itself is not copied,
    but for float16, long double and foreign byte orders.

    Parameters
    ----------
    K : (n, n) array
        Any number type.
    precision : {"float32", "float64"}, optional
        Of the rows; by default float64, or float32 for a matrix of that type.
    ids : (m,) int array, optional
        The rows and columns to use; all by default.
    """

    def __init__(self, K: ArrayLike, precision: str | None = None, ids: NDArray[np.integer] | None = None) -> None:
        self.K = np.asarray(K)
        self.precision = precision or ("float32" if self.K.dtype == np.float32 else "float64")
        if ids is None:
            check_symmetric(self.K)
        self.ids = np.arange(len(self.K), dtype=np.int64) if ids is None else np.ascontiguousarray(ids, dtype=np.int64)
        self.n = len(self.ids)

    def source(self, n_jobs: int | None = None) -> Any:
        return (core.Precomputed32 if self.precision == "float32" else core.Precomputed64)(
            native_data(self.K), self.ids
        )

    def with_precision(self, precision: str) -> Rows:
        return self if precision == self.precision else PrecomputedRows(self.K, precision, self.ids)

    def part(self, ids: NDArray[np.integer]) -> Rows:
        return PrecomputedRows(self.K, self.precision, self.ids[ids])

    def diag(self) -> Floats:
        return np.diagonal(self.K)[self.ids].astype(np.float64)


def check_symmetric(K: NDArray) -> None:
    """Raise ValueError unless K is square, finite and symmetric but for rounding; in blocks, without a copy."""
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise ValueError(f"A kernel matrix must be square, but this one has shape {K.shape}.")
    n = len(K)
    largest = max(abs(float(K.max())), abs(float(K.min()))) if n else 0.0
    if not np.isfinite(largest):
        i, j = np.argwhere(~np.isfinite(K))[0]
        raise ValueError(f"The kernel matrix holds {K[i, j]} at row {i}, column {j}, but kernel values must be finite.")
    step = block_rows(n, 1.0)
    for first in range(0, n, step):
        off = np.abs(K[first : first + step].astype(np.float64) - K[:, first : first + step].T)
        if off.max(initial=0.0) > ASYMMETRY * largest:
            i, j = np.unravel_index(int(off.argmax()), off.shape)
            i += first
            raise ValueError(
                f"The kernel matrix is not symmetric: entry ({i}, {j}) is {K[i, j]}, but ({j}, {i}) is {K[j, i]}."
            )
