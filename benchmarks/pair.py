"""The pair solver alone against LIBSVM: one thread, the same cache, the same tolerance, alternating runs.

    python -m benchmarks.pair [--sets spam,adult-a9a,web-w8a,connect-4] [--repeats 3]

Each run is a fresh process that times the fit alone; the gap of each answer is recomputed in float64 by one routine.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

import numpy as np
import scipy.sparse as sp

from benchmarks import sets

CACHE_MB = 200
TOL = 1e-3


def fit_ours(p: object) -> tuple[float, np.ndarray, int]:
    """Seconds, signed coefficients of the training examples, iterations."""
    from maxmargin import SVC

    model = SVC(C=p.C, gamma=p.gamma, tol=TOL, cache_size=CACHE_MB, solver="smo", n_jobs=1)
    began = time.perf_counter()
    model.fit(p.X, p.y)
    seconds = time.perf_counter() - began
    beta = np.zeros(p.X.shape[0])
    coef = model.dual_coef_
    beta[model.support_] = (coef.toarray() if sp.issparse(coef) else coef)[0]
    return seconds, beta, int(model.n_iter_[0])


def fit_libsvm(p: object) -> tuple[float, np.ndarray, int]:
    """The same for libsvm-official; its own data structure is built before the clock starts."""
    from libsvm import svmutil

    X = p.X if sp.issparse(p.X) else sp.csr_matrix(p.X)
    data = svmutil.svm_problem(p.y.astype(float), X.astype(np.float64))
    options = svmutil.svm_parameter(f"-s 0 -t 2 -c {p.C} -g {p.gamma!r} -e {TOL} -m {CACHE_MB} -q")
    began = time.perf_counter()
    model = svmutil.svm_train(data, options)
    seconds = time.perf_counter() - began
    beta = np.zeros(len(p.y))
    sign = model.get_labels()[0]
    beta[np.array(model.get_sv_indices()) - 1] = sign * np.array([c[0] for c in model.get_sv_coef()])
    return seconds, beta, -1


FITS = {"maxmargin": fit_ours, "libsvm": fit_libsvm}


def one(name: str, who: str) -> None:
    """One fit in this process; the result as a line of JSON."""
    from maxmargin.kernels import Gaussian
    from maxmargin.losses import Hinge
    from maxmargin.problems import DualProblem, certify
    from maxmargin.rows.computed import ComputedRows

    p = sets.problem(name)
    seconds, beta, iterations = FITS[who](p)
    rows = ComputedRows(Gaussian(p.gamma), p.X, "float64")
    found = certify(DualProblem(rows, Hinge().dual(p.y.astype(float), p.C)), beta)
    result = {
        "seconds": seconds,
        "iterations": iterations,
        "gap": found.gap,
        "dual": found.dual,
        "sv": int(np.sum(beta != 0)),
    }
    print(json.dumps(result))


def alternate(name: str, repeats: int) -> dict[str, list[dict]]:
    """Runs of both, in turn, each in a process of its own with one thread."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    results: dict[str, list[dict]] = {who: [] for who in FITS}
    for _ in range(repeats):
        for who in FITS:
            command = [sys.executable, "-m", "benchmarks.pair", "--one", name, who]
            answer = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
            results[who].append(json.loads(answer.stdout.splitlines()[-1]))
    return results


def main() -> None:
    """Run and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default="spam,adult-a9a,web-w8a,connect-4")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        one(*arguments.one)
        return
    print(f"{sets.machine()}; one thread, {CACHE_MB} MB, tol = {TOL:g}; medians of {arguments.repeats}")
    print(f"{'set':<12}{'maxmargin':>11}{'libsvm':>9}{'ratio':>7}{'gap':>10}{'of libsvm':>10}{'SV':>7}{'libsvm':>8}")
    for name in arguments.sets.split(","):
        results = alternate(name, arguments.repeats)
        ours, theirs = ([r["seconds"] for r in results[who]] for who in FITS)
        a, b = results["maxmargin"][0], results["libsvm"][0]
        ratio = statistics.median(t / o for t, o in zip(theirs, ours, strict=True))
        print(
            f"{name:<12}{statistics.median(ours):>10.3f}s{statistics.median(theirs):>8.2f}s{ratio:>7.1f}"
            f"{a['gap']:>10.1e}{b['gap']:>10.1e}{a['sv']:>7}{b['sv']:>8}",
            flush=True,
        )


if __name__ == "__main__":
    main()
