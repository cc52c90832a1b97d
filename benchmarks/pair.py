"""The pair solver alone against other packages: one core, the same cache, the same tolerance, alternating runs.

    python -m benchmarks.pair [--sets spam,adult-a9a,web-w8a,connect-4] [--peers libsvm] [--repeats 3]

Peers: libsvm, scikit-learn, sklearnex, sklearnex64, liquidsvm, each as far as it is installed (`pip install
libsvm-official scikit-learn-intelex liquidSVM`; liquidSVM also needs `setuptools<81`). sklearnex is given float32 and
float64 data. liquidSVM has no intercept, keeps the whole matrix in float64 and shows no coefficients: it is compared
with our fit without intercept, and its gap is unknown.

Each run is a fresh process on one core that fits twenty rows first, so that imports are done, and then times the fit
alone; the gap of each answer is recomputed in float64 by one routine.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import sysconfig
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from benchmarks import sets

CACHE_MB = 200
TOL = 1e-3


class Fit(NamedTuple):
    """What a fit took, and the signed coefficients of the training examples where they are known."""

    seconds: float
    beta: np.ndarray | None


def timed(fit: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds, and what the call returns."""
    began = time.perf_counter()
    result = fit()
    return time.perf_counter() - began, result


def fit_estimator(model: Any, X: Any, y: np.ndarray) -> Fit:
    """An estimator with scikit-learn's attributes."""
    seconds, _ = timed(lambda: model.fit(X, y))
    beta, coef = np.zeros(X.shape[0]), model.dual_coef_
    beta[model.support_] = np.ravel(coef.toarray() if sp.issparse(coef) else coef)
    return Fit(seconds, beta)


def maxmargin(p: Any, fit_intercept: bool = True) -> Fit:
    """Ours."""
    from maxmargin import SVC

    options = {"C": p.C, "gamma": p.gamma, "tol": TOL, "cache_size": CACHE_MB, "fit_intercept": fit_intercept}
    return fit_estimator(SVC(**options, solver="smo", n_jobs=1), p.X, p.y)


def scikit_learn(p: Any) -> Fit:
    """LIBSVM's solver in scikit-learn."""
    from sklearn.svm import SVC

    return fit_estimator(SVC(C=p.C, gamma=p.gamma, tol=TOL, cache_size=CACHE_MB), p.X, p.y)


def sklearnex(p: Any, dtype: str = "float32") -> Fit:
    """Intel's extension, whose precision is that of the data."""
    from sklearnex.svm import SVC

    return fit_estimator(SVC(C=p.C, gamma=p.gamma, tol=TOL, cache_size=CACHE_MB), p.X.astype(dtype), p.y)


def libsvm(p: Any) -> Fit:
    """LIBSVM itself; its own data structure is built before the clock starts."""
    from libsvm import svmutil

    X = p.X if sp.issparse(p.X) else sp.csr_matrix(p.X)
    data = svmutil.svm_problem(p.y.astype(float), X.astype(np.float64))
    options = svmutil.svm_parameter(f"-s 0 -t 2 -c {p.C} -g {p.gamma!r} -e {TOL} -m {CACHE_MB} -q")
    seconds, model = timed(lambda: svmutil.svm_train(data, options))
    beta = np.zeros(len(p.y))
    signed = model.get_labels()[0] * np.array([c[0] for c in model.get_sv_coef()])
    beta[np.array(model.get_sv_indices()) - 1] = signed
    return Fit(seconds, beta)


def liquidsvm(p: Any) -> Fit:
    """One point of its grid, trained on all rows: lambda = 1 / (2 n C), its gamma is a width."""
    sysconfig.get_config_vars()["SO"] = ".so"  # the name that it looks for its library by
    import liquidSVM

    X = p.X.toarray() if sp.issparse(p.X) else p.X
    width, decay = 1 / np.sqrt(p.gamma), f"{1 / (2 * len(p.y) * p.C):.15f}"
    y = p.y.astype(float)
    model = liquidSVM.SVM(X, y, scenario="MC", gammas=[width], lambdas=[decay], threads=1, folds=1)
    return Fit(timed(model.train)[0], None)


OURS = {"maxmargin": maxmargin, "no intercept": lambda p: maxmargin(p, fit_intercept=False)}
PEERS = {
    "libsvm": libsvm,
    "scikit-learn": scikit_learn,
    "sklearnex": sklearnex,
    "sklearnex64": lambda p: sklearnex(p, "float64"),
    "liquidsvm": liquidsvm,
}
FITS = OURS | PEERS


def twenty_rows(p: Any) -> Any:
    """The first ten examples of each class."""
    some = np.concatenate([np.flatnonzero(p.y == side)[:10] for side in (-1, 1)])
    return replace(p, X=p.X[some], y=p.y[some])


def one(name: str, who: str) -> None:
    """One fit in this process; the result as the last line, in JSON."""
    from maxmargin.kernels import Gaussian
    from maxmargin.losses import Hinge
    from maxmargin.problems import DualProblem, certify
    from maxmargin.rows.computed import ComputedRows

    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    warnings.simplefilter("ignore")
    p = sets.problem(name)
    FITS[who](twenty_rows(p))
    found = FITS[who](p)
    result: dict[str, float] = {"seconds": found.seconds}
    if found.beta is not None:
        terms = Hinge().dual(p.y.astype(float), p.C, fit_intercept=who != "no intercept")
        proof = certify(DualProblem(ComputedRows(Gaussian(p.gamma), p.X, "float64"), terms), found.beta)
        result |= {"gap": proof.gap, "sv": int(np.count_nonzero(found.beta))}
    print(json.dumps(result))


def alternate(name: str, who: list[str], repeats: int) -> dict[str, list[dict[str, float]]]:
    """Runs of all, in turn, each in a process of its own."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    results: dict[str, list[dict[str, float]]] = {w: [] for w in who}
    for _ in range(repeats):
        for w in who:
            command = [sys.executable, "-m", "benchmarks.pair", "--one", name, w]
            answer = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
            if answer.returncode == 0:
                results[w].append(json.loads(answer.stdout.splitlines()[-1]))
            elif not results[w]:
                print(f"{name}: {w} failed: {(answer.stderr.splitlines() or [answer.returncode])[-1]}")
    return results


def compare(name: str, peers: list[str], repeats: int) -> None:
    """Print a line for each solver; a ratio is the median over the rounds of its time by ours in the same round."""
    who = ["maxmargin", *(["no intercept"] if "liquidsvm" in peers else []), *peers]
    results = alternate(name, who, repeats)
    for w, runs in results.items():
        if not runs:
            continue
        ours = results["no intercept" if w in ("no intercept", "liquidsvm") else "maxmargin"]
        ratio = statistics.median(r["seconds"] / o["seconds"] for r, o in zip(runs, ours, strict=True))
        seconds = statistics.median(r["seconds"] for r in runs)
        proof = f"{runs[0]['gap']:>10.1e}{runs[0]['sv']:>8}" if "gap" in runs[0] else f"{'-':>10}{'-':>8}"
        print(f"{name:<12}{w:<14}{seconds:>9.3f} s{ratio:>8.2f} x{proof}", flush=True)


def main() -> None:
    """Run and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default="spam,adult-a9a,web-w8a,connect-4")
    parser.add_argument("--peers", default="libsvm")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        one(*arguments.one)
        return
    peers = arguments.peers.split(",")
    if unknown := set(peers) - set(PEERS):
        parser.error(f"no peer named {', '.join(unknown)}; there are {', '.join(PEERS)}")
    print(f"{sets.machine()}; one core, {CACHE_MB} MB, tol = {TOL:g}; medians of {arguments.repeats}")
    print(f"{'set':<12}{'solver':<14}{'seconds':>11}{'by ours':>10}{'gap':>10}{'SV':>8}")
    for name in arguments.sets.split(","):
        compare(name, peers, arguments.repeats)


if __name__ == "__main__":
    main()
