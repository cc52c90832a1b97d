"""How fast rows of the kernel matrix are computed, by storage, beside their floor: BLAS and exp, in blocks.

    python -m benchmarks.rows [--rows 240] [--columns 20000] [--threads 1,2]

Gaussian rows of generated data, multiplied by coefficients as they are made, so that nothing is written: nanoseconds an
entry. The floor computes the same entries by NumPy, a matrix product by its BLAS and the exponential in place, on as
many threads. Medians of five.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from benchmarks import sets
from maxmargin._native import core
from maxmargin.kernels import Gaussian

REPEATS = 5


def data(kind: str, n: int, d: int, random: np.random.Generator) -> Any:
    """Generated examples of a kind."""
    if kind == "numbers":
        return random.normal(size=(n, d)).astype(np.float32)
    if kind == "integers":
        return random.integers(0, 256, size=(n, d)).astype(np.float32)
    if kind == "integers, 80 % zeros":
        codes = random.integers(1, 256, size=(n, d // 8, 8)) * (random.random((n, d // 8, 1)) < 0.2)
        return codes.reshape(n, -1).astype(np.float32)
    if kind == "sparse numbers":
        return sp.random(n, d, 60 / d, "csr", np.float32, random)
    raise ValueError(kind)


def median_seconds(run: Callable[[], Any]) -> float:
    """Of some runs, after one that warms up."""
    run()
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        run()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def ours(X: Any, rows: int, precision: str, threads: int) -> tuple[float, str]:
    """Nanoseconds an entry, and the storage of the columns."""
    n = X.shape[0]
    source = Gaussian(1e-3 / X.shape[1]).source(X, precision, threads)
    store = (core.RowStore32 if precision == "float32" else core.RowStore64)(source, 0.0, threads)
    ids, coefficient, worth, sums = np.arange(rows), np.ones(rows), np.zeros(rows, bool), np.zeros(n)
    return median_seconds(lambda: store.accumulate(ids, coefficient, worth, 1e9, sums)) / (
        n * rows
    ) * 1e9, source.storage


def floor(X: Any, rows: int, precision: str, threads: int) -> float:
    """The same entries by NumPy."""
    if sp.issparse(X):
        return float("nan")
    X = X.astype(precision)
    block = 4096

    def run() -> None:
        for first in range(0, len(X), block):
            K = X[:rows] @ X[first : first + block].T
            np.exp(K, out=K)

    with threadpool_limits(threads):
        return median_seconds(run) / (len(X) * rows) * 1e9


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=240)
    parser.add_argument("--columns", type=int, default=20000)
    parser.add_argument("--threads", default="1,2")
    arguments = parser.parse_args()
    print(f"{sets.machine()}; {arguments.rows} rows against {arguments.columns} columns, ns an entry")
    print(
        f"{'data':<22}{'features':>9}{'precision':>11}{'storage':>10}{'threads':>9}{'ours':>8}{'floor':>8}{'ratio':>8}"
    )
    random = np.random.default_rng(0)
    for kind in ("numbers", "integers", "integers, 80 % zeros", "sparse numbers"):
        for d in (16, 56, 128, 784) if kind != "sparse numbers" else (1000, 100_000):
            X = data(kind, arguments.columns, d, random)
            for precision in ("float32", "float64"):
                for threads in map(int, arguments.threads.split(",")):
                    rate, storage = ours(X, arguments.rows, precision, threads)
                    least = floor(X, arguments.rows, precision, threads)
                    line = f"{kind:<22}{d:>9}{precision:>11}{storage:>10}{threads:>9}"
                    print(f"{line}{rate:>8.2f}{least:>8.2f}{rate / least:>8.2f}", flush=True)


if __name__ == "__main__":
    main()
