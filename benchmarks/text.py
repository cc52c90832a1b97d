"""Reading LIBSVM text against scikit-learn's loader: `python -m benchmarks.text [--megabytes 40] [--repeats 5]`."""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file

from maxmargin.data import libsvm

BYTES_PER_PAIR = {"sparse": 11, "binary": 7, "dense": 22}


def generated(kind: str, size: int, rng: np.random.Generator) -> sp.csr_matrix:
    """A matrix whose text takes about ``size`` bytes: 70 of 30,000 features (four digits or ones), or 100 of 100."""
    width, columns = (100, 100) if kind == "dense" else (70, 30_000)
    rows = size // (width * BYTES_PER_PAIR[kind])
    if kind == "dense":
        return sp.csr_matrix(rng.standard_normal((rows, columns)))
    # One feature out of each equal share of the columns, so that indices increase without a sort.
    share = columns // width
    indices = rng.integers(0, share, (rows, width)) + share * np.arange(width)
    values = np.round(rng.random((rows, width)) + 1e-3, 4) if kind == "sparse" else np.ones((rows, width))
    return sp.csr_matrix(
        (values.ravel(), indices.ravel(), np.arange(0, rows * width + 1, width)), shape=(rows, columns)
    )


def seconds(call: Callable[[], object]) -> float:
    """The time of one call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def compare(path: Path, repeats: int) -> dict[str, float]:
    """Median seconds of each reader; they take turns, so that a busy machine is busy for all."""
    readers: dict[str, Callable[[], object]] = {
        "scikit-learn": lambda: load_svmlight_file(os.fspath(path)),
        "1 thread": lambda: libsvm.read(path, n_jobs=1),
        "2 threads": lambda: libsvm.read(path, n_jobs=2),
    }
    times = [{name: seconds(reader) for name, reader in readers.items()} for _ in range(repeats)]
    return {name: statistics.median(found[name] for found in times) for name in readers}


def main() -> None:
    """Print a line for each kind of text."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=40, help="of each text, about")
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        for kind in BYTES_PER_PAIR:
            path = Path(folder) / f"{kind}.svm"
            X = generated(kind, args.megabytes * 1_000_000, rng)
            libsvm.write(path, X, rng.choice([-1, 1], X.shape[0]))
            found = compare(path, args.repeats)
            size, theirs = path.stat().st_size / 1e6, found["scikit-learn"]
            shown = ", ".join(
                f"{name} {t:.3f} s ({size / t:.0f} MB/s, {theirs / t:.1f} x)" for name, t in found.items()
            )
            print(f"{kind} {size:.0f} MB: {shown}", flush=True)


if __name__ == "__main__":
    main()
