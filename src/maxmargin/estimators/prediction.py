"""Decision values in blocks: the memory does not grow with the number of predictions times support vectors."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def in_blocks(values: Callable[[slice], Floats], n: int, most: int, workers: int) -> Floats:
    """The results of `values` for consecutive runs of the rows 0 ... n - 1, put together.

    Parameters
    ----------
    values : callable
        From a slice of the rows to an array with one row each.
    n : int
        Number of rows.
    most : int
        Rows that one thread may take at a time.
    workers : int
        Threads.
    """
    size = max(1, min(most, -(-n // workers)))
    blocks = [slice(first, min(first + size, n)) for first in range(0, n, size)]
    if len(blocks) <= 1 or workers == 1:
        return np.concatenate([values(block) for block in blocks or [slice(0, 0)]])
    with ThreadPoolExecutor(workers) as pool:
        return np.concatenate(list(pool.map(values, blocks)))
