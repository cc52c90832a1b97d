"""Prediction against one GEMM and the kernel function in NumPy, and against scikit-learn.

    python -m benchmarks.predict [--rows 20000] [--vectors 2000] [--features 100] [--repeats 5]

The floor is what a Gaussian decision function takes on all cores where the products come from BLAS: X S', the
distances, the exponential, and the product with the coefficients, each over whole arrays. The peak is the memory that
the prediction adds, next to that of the matrix of its kernel values.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import sklearn.svm

from benchmarks import sets
from maxmargin import SVC


def in_numpy(model: Any, X: np.ndarray) -> np.ndarray:
    """Decision values by whole arrays."""
    S, coef = model.support_vectors_, model.dual_coef_[0]
    K = X @ S.T
    K *= 2 * model._gamma
    K -= model._gamma * (X**2).sum(axis=1)[:, None]
    K -= model._gamma * (S**2).sum(axis=1)
    np.exp(K, out=K)
    return K @ coef + model.intercept_[0]


def median_seconds(calls: dict[str, Callable[[], np.ndarray]], repeats: int) -> dict[str, float]:
    """The calls in turn, so that a busy machine is busy for all."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            began = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - began)
    return {name: statistics.median(found) for name, found in times.items()}


def main() -> None:
    """Print a line for each way to predict."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--vectors", type=int, default=2_000)
    parser.add_argument("--features", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(args.vectors, args.features)), rng.choice([-1, 1], args.vectors)
    test = rng.normal(size=(args.rows, args.features))
    gamma = 1 / args.features
    ours = SVC(gamma=gamma).fit(X, y)
    theirs = sklearn.svm.SVC(gamma=gamma).fit(X, y)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = ours.decision_function(test)
    added = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert np.allclose(found, in_numpy(ours, test), atol=1e-9)
    calls = {
        "numpy (floor)": lambda: in_numpy(ours, test),
        "maxmargin": lambda: ours.decision_function(test),
        "scikit-learn": lambda: theirs.decision_function(test),
    }
    print(f"{sets.machine()}; {args.rows} rows, {len(ours.support_)} support vectors, {args.features} features")
    seconds = median_seconds(calls, args.repeats)
    for name, value in seconds.items():
        print(f"{name:<15}{value:>9.3f} s{value / seconds['numpy (floor)']:>8.2f} x")
    matrix = 8e-6 * args.rows * len(ours.support_)
    print(f"peak of memory: {added:.0f} MB more, where the kernel values are {matrix:.0f} MB")


if __name__ == "__main__":
    main()
