"""The interface that solvers, certificates and estimators see: rows of a symmetric matrix K, without labels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maxmargin._native import core
from maxmargin.kernels.kernel import block_rows, share_of_diagonal
from maxmargin.threads import threads

Floats = NDArray[np.float64]


class Rows(ABC):
    """Rows of the n x n kernel matrix K, in float32 or float64."""

    n: int
    precision: str
    entry_cost: float = 0.0  # about how many multiplications a value takes

    @abstractmethod
    def source(self, n_jobs: int | None = None) -> Any:
        """A native source of rows, owned by the caller: a solver may reorder its columns."""

    @abstractmethod
    def with_precision(self, precision: str) -> Rows:
        """The same rows in float32 or float64."""

    @abstractmethod
    def part(self, ids: NDArray[np.integer]) -> Rows:
        """Rows and columns `ids` of K."""

    def diag(self) -> Floats:
        """K_ii, shape (n,)."""
        return self.source(1).diagonal()

    def rounding(self) -> Floats:
        """How far the values of each row may be off, in units of float32's roundoff; shape (n,)."""
        return np.zeros(self.n) if self.precision == "float64" else share_of_diagonal(self.diag())

    def block(self, ids: ArrayLike, columns: ArrayLike | None = None, n_jobs: int | None = None) -> NDArray:
        """Rows `ids` of K, all columns or those asked for."""
        wanted = np.ascontiguousarray(ids, dtype=np.int64)
        out = np.empty((len(wanted), core.padded(self.n)), self.precision)
        source = self.source(n_jobs)
        step = block_rows(out.shape[1], self.entry_cost)
        for first in range(0, len(wanted), step):  # Ctrl-C comes through between the blocks
            source.rows(wanted[first : first + step], out[first : first + step])
        values = out[:, : self.n]
        return values if columns is None else values[:, np.asarray(columns)]

    def apply(self, coef: ArrayLike, n_jobs: int | None = None) -> Floats:
        """K @ coef in float64, for coef of shape (n,) or (n, k): rows in blocks, never the whole matrix."""
        coef = np.asarray(coef, dtype=np.float64)
        used = np.flatnonzero(coef if coef.ndim == 1 else coef.any(axis=1)).astype(np.int64)
        result = np.zeros(coef.shape)
        source = self.source(n_jobs)
        width = core.padded(self.n)
        together = max(1, min(len(used), block_rows(width, self.entry_cost)))
        out = np.empty((together, width), self.precision)
        for first in range(0, len(used), together):
            ids = used[first : first + together]
            source.rows(ids, out)
            values = out[: len(ids), : self.n].astype(np.float64, copy=False)
            result += (coef[ids].T @ values).T
        return result

    def _threads(self, n_jobs: int | None) -> int:
        return threads(n_jobs)
