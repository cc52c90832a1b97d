"""Rows that several problems over parts of the same examples read side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._native import core
from maxmargin.rows.rows import Rows


class SharedRows:
    """Rows computed once for every problem that reads them, while they fit a budget.

    K carries no labels: what one class, fold or C has computed serves the others. The columns are divided into blocks,
    the classes, and a row is computed and kept block by block, so that a problem of two classes computes two blocks only.

    Parameters
    ----------
    rows : Rows
        All rows.
    blocks : sequence of int arrays
        The columns of each block; together every column once.
    budget : float
        Bytes.
    n_jobs : int, optional
        Threads for a row.
    """

    def __init__(
        self, rows: Rows, blocks: Sequence[NDArray[np.integer]], budget: float, n_jobs: int | None = None
    ) -> None:
        self.rows = rows
        kind = core.SharedRows32 if rows.precision == "float32" else core.SharedRows64
        self.native = kind(rows.source(n_jobs), [list(map(int, block)) for block in blocks], budget)

    def part(self, ids: NDArray[np.integer]) -> Rows:
        """Rows and columns `ids`; safe to use in a thread of its own."""
        return SharedPart(self, np.ascontiguousarray(ids, dtype=np.int64))


class SharedPart(Rows):
    """Part of shared rows."""

    def __init__(self, shared: SharedRows, ids: NDArray[np.int64]) -> None:
        self.shared, self.ids, self.n = shared, ids, len(ids)
        self.precision, self.entry_cost = shared.rows.precision, shared.rows.entry_cost

    def source(self, n_jobs: int | None = None) -> Any:
        return (core.SharedPart32 if self.precision == "float32" else core.SharedPart64)(self.shared.native, self.ids)

    def with_precision(self, precision: str) -> Rows:
        return self if precision == self.precision else self.shared.rows.part(self.ids).with_precision(precision)

    def part(self, ids: NDArray[np.integer]) -> Rows:
        return SharedPart(self.shared, self.ids[ids])
