"""Rows that several problems over parts of the same examples read side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._native import core
from maxmargin.rows.rows import Floats, Rows


class SharedRows(Rows):
    """Rows computed once for every problem that reads them, while they fit a budget; safe from several threads.

    K carries no labels: what one class or fold has computed serves the others. The columns are divided into blocks that
    the problems hold whole (the classes), and a row is computed and kept block by block, so that a problem of two
    classes computes two blocks only.

    Parameters
    ----------
    rows : Rows
        All rows.
    parts : sequence of int arrays
        The columns that each problem reads.
    budget : float
        Bytes.
    n_jobs : int, optional
        Threads for a row.
    """

    def __init__(
        self, rows: Rows, parts: Sequence[NDArray[np.integer]], budget: float, n_jobs: int | None = None
    ) -> None:
        self.rows, self.ids = rows, np.arange(rows.n)
        self.n, self.precision, self.entry_cost = rows.n, rows.precision, rows.entry_cost
        kind = core.SharedRows32 if rows.precision == "float32" else core.SharedRows64
        self.store = kind(rows.source(n_jobs), blocks(rows.n, parts), budget)

    def source(self, n_jobs: int | None = None) -> Any:
        return (core.SharedPart32 if self.precision == "float32" else core.SharedPart64)(self.store, self.ids)

    def with_precision(self, precision: str) -> Rows:
        return self if precision == self.precision else self.rows.part(self.ids).with_precision(precision)

    def rounding(self) -> Floats:
        return self.rows.rounding()[self.ids]

    def part(self, ids: NDArray[np.integer]) -> Rows:
        part = object.__new__(SharedRows)
        part.__dict__.update(self.__dict__, ids=self.ids[ids], n=len(ids))
        return part


def blocks(n: int, parts: Sequence[NDArray[np.integer]]) -> list[NDArray[np.int64]]:
    """The coarsest division of 0 ... n - 1 in which each part is a union of blocks."""
    member = np.zeros((n, len(parts)), dtype=bool)
    for column, ids in enumerate(parts):
        member[ids, column] = True
    signatures = np.unique(np.packbits(member, axis=1), axis=0, return_inverse=True)[1].ravel()
    order = np.argsort(signatures, kind="stable")
    return np.split(order.astype(np.int64), np.flatnonzero(np.diff(signatures[order])) + 1)
