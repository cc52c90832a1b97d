"""Kernel machines against the packages a user would pick: time to equal certified accuracy.

    python -m benchmarks.kernel [--sets spam,adult-a9a,...] [--peers scikit-learn,libsvm,sklearnex,sklearnex64]
                                [--repeats 3] [--threads 2] [--limit 600] [--rows 100000]

Every fit is a process of its own ("cold"), which first fits twenty rows so that imports are done; the clock runs from
the call of fit. All have 4 GB of cache. The packages take turns. Ours runs at tol = 1e-3 and at tol_gap = 1e-4, 1e-6
and 1e-8; the others at tol = 1e-3, 1e-4, 1e-5, ... as long as a gap of 1e-6 is not reached and the limit of time not
passed. The gap of every answer is recomputed in float64 by one routine. A line for each accuracy: the fastest run of
each package that reaches it, and its time divided by ours.

"warm" is the second fit of a process; "floor" the time that BLAS and exp take, in blocks, for the row of each support
vector once (Joachims' minimum); "rows" the rows computed, divided by the support vectors. Sets whose name ends in
-squared have the squared hinge, which the others lack; covtype is cut to --rows examples.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks import sets

SETS = (
    "spam,adult-a9a,web-w8a,connect-4,mnist-8,mnist-low-high,news20,covtype,covtype-hard,cadata,cpusmall,"
    "spam-squared,adult-a9a-squared,web-w8a-squared,connect-4-squared,mnist-8-squared,mnist-low-high-squared,news20-squared"
)
PEERS = ("scikit-learn", "libsvm", "sklearnex", "sklearnex64")
CACHE_MB = 4000
GAPS = (1e-4, 1e-6, 1e-8)
TOLERANCES = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
FLOOR_BLOCK = 2048


def problem(name: str, rows: int) -> tuple[Any, str]:
    """A problem, its covtype cut to so many rows, and its loss."""
    p = sets.problem(name.removesuffix("-squared"))
    if name.startswith("covtype") and rows < len(p.y):
        some = np.random.default_rng(0).permutation(len(p.y))[:rows]
        p = replace(p, X=np.ascontiguousarray(p.X[some]), y=p.y[some])
    loss = "epsilon_insensitive" if p.epsilon is not None else "squared_hinge" if name.endswith("-squared") else "hinge"
    return p, loss


def estimator(who: str, p: Any, loss: str, tol: float, gap: float | None, threads: int) -> Any:
    """The estimator of a package; LIBSVM's own is not one."""
    options: dict[str, Any] = {"C": p.C, "gamma": p.gamma, "tol": tol, "cache_size": CACHE_MB}
    if p.epsilon is not None:
        options["epsilon"] = p.epsilon
    if who == "maxmargin":
        from maxmargin import SVC, SVR

        return (SVC if p.epsilon is None else SVR)(loss=loss, tol_gap=gap, n_jobs=threads, **options)
    if who == "scikit-learn":
        from sklearn.svm import SVC, SVR
    else:
        from sklearnex.svm import SVC, SVR
    return (SVC if p.epsilon is None else SVR)(**options)


def fit_libsvm(p: Any, tol: float) -> tuple[float, np.ndarray]:
    """LIBSVM itself; its data structure is built before the clock starts."""
    from libsvm import svmutil

    X = p.X if sp.issparse(p.X) else sp.csr_matrix(p.X)
    data = svmutil.svm_problem(p.y.astype(float), X.astype(np.float64))
    kind = f"-s 0 -c {p.C}" if p.epsilon is None else f"-s 3 -c {p.C} -p {p.epsilon}"
    options = svmutil.svm_parameter(f"{kind} -t 2 -g {p.gamma!r} -e {tol} -m {CACHE_MB} -q")
    began = time.perf_counter()
    model = svmutil.svm_train(data, options)
    seconds = time.perf_counter() - began
    beta = np.zeros(len(p.y))
    sign = 1 if p.epsilon is not None else model.get_labels()[0]
    beta[np.array(model.get_sv_indices()) - 1] = sign * np.array([c[0] for c in model.get_sv_coef()])
    return seconds, beta


def fit(who: str, p: Any, loss: str, tol: float, gap: float | None, threads: int) -> dict[str, Any]:
    """One cold fit, and with ours a warm one: seconds, coefficients, rows computed."""
    if who == "libsvm":
        seconds, beta = fit_libsvm(p, tol)
        return {"seconds": seconds, "beta": beta}
    X, y = p.X, p.y
    if who.startswith("sklearnex"):
        precision = np.float64 if who.endswith("64") else np.float32
        X, y = X.astype(precision), y.astype(precision)
    found: dict[str, Any] = {}
    for name in ("seconds", "warm") if who == "maxmargin" else ("seconds",):
        model = estimator(who, p, loss, tol, gap, threads)
        began = time.perf_counter()
        model.fit(X, y)
        found[name] = time.perf_counter() - began
    beta, coef = np.zeros(X.shape[0]), model.dual_coef_
    beta[model.support_] = np.ravel(coef.toarray() if sp.issparse(coef) else coef)
    if who == "maxmargin":
        found["rows"] = model.solution_.counters["rows_computed"]
        found["status"] = str(model.status_)
    return found | {"beta": beta}


def certified(p: Any, loss: str, beta: np.ndarray) -> dict[str, float]:
    """Gap, objective and counts of the coefficients, in float64."""
    from maxmargin import losses
    from maxmargin.kernels import Gaussian
    from maxmargin.problems import DualProblem, certify
    from maxmargin.rows.computed import ComputedRows

    kinds = {"hinge": losses.Hinge(), "squared_hinge": losses.SquaredHinge()}
    terms = (losses.EpsilonInsensitive(p.epsilon) if p.epsilon is not None else kinds[loss]).dual(
        p.y.astype(float), p.C
    )
    # Packages let a coefficient pass its bound by rounding, or leave the sum beside 0 by as much.
    beta = np.clip(beta, terms.lo, terms.hi)
    proof = certify(DualProblem(ComputedRows(Gaussian(p.gamma), p.X, "float64"), terms), beta)
    at_bound = (beta != 0) & ((beta == terms.lo) | (beta == terms.hi))
    return {
        "gap": proof.gap,
        "objective": proof.dual,
        "sv": int(np.count_nonzero(beta)),
        "bsv": int(np.count_nonzero(at_bound)),
    }


def floor(p: Any, vectors: int) -> float:
    """Seconds of BLAS and exp for so many rows, in float32; NaN for sparse data, which BLAS has no product for."""
    X = p.X.toarray() if sp.issparse(p.X) and p.X.shape[1] < 1000 else p.X
    if sp.issparse(X):
        return float("nan")
    X = np.ascontiguousarray(X, np.float32)
    sample = min(vectors, 1024)
    best = np.inf
    for _ in range(3):
        began = time.perf_counter()
        for first in range(0, len(X), FLOOR_BLOCK):
            K = X[:sample] @ X[first : first + FLOOR_BLOCK].T
            np.multiply(K, np.float32(-1e-3), out=K)
            np.exp(K, out=K)
        best = min(best, time.perf_counter() - began)
    return best * vectors / sample


def one(name: str, who: str, tol: float, gap: float, threads: int, rows: int) -> None:
    """One run in this process; the result as the last line, in JSON."""
    warnings.simplefilter("ignore")
    p, loss = problem(name, rows)
    some = np.concatenate([np.flatnonzero(p.y > np.median(p.y))[:10], np.flatnonzero(p.y <= np.median(p.y))[:10]])
    few = replace(p, X=p.X[some], y=p.y[some])
    wanted = gap if gap > 0 else None
    fit(who, few, loss, tol, wanted, threads)
    found = fit(who, p, loss, tol, wanted, threads)
    result = certified(p, loss, found.pop("beta")) | found
    if who == "maxmargin" and wanted is None:
        result["floor"] = floor(p, int(result["sv"]))
    print(json.dumps(result))


def run(arguments: argparse.Namespace, name: str, who: str, tol: float, gap: float = 0.0) -> dict[str, Any] | None:
    """A run in a process of its own; None when it failed or took too long."""
    threads = str(arguments.threads)
    environment = os.environ | {"OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads}
    command = [sys.executable, "-m", "benchmarks.kernel", "--one", name, who, str(tol), str(gap)]
    command += ["--threads", threads, "--rows", str(arguments.rows)]
    try:
        answer = subprocess.run(
            command, env=environment, check=False, capture_output=True, text=True, timeout=arguments.limit
        )
    except subprocess.TimeoutExpired:
        return None
    if answer.returncode != 0:
        print(f"{name}: {who} failed: {(answer.stderr.splitlines() or ['no message'])[-1]}")
        return None
    return json.loads(answer.stdout.splitlines()[-1])


def measure(arguments: argparse.Namespace, name: str) -> list[tuple[str, float, float, dict[str, Any]]]:
    """All runs of a set, in turns: package, tolerance, gap asked for, result with the median of the seconds."""
    peers = [] if name.endswith("-squared") else arguments.peers
    plan = [("maxmargin", 1e-3, 0.0), *(("maxmargin", 1e-3, gap) for gap in GAPS)]
    plan += [(who, tol, 0.0) for tol in TOLERANCES for who in peers]
    runs: dict[tuple[str, float, float], list[dict[str, Any]]] = {}
    done: set[str] = set()  # packages that took too long, or are accurate enough
    for turn in range(arguments.repeats):
        for entry in plan if turn == 0 else list(runs):
            if turn == 0 and entry[0] in done:
                continue
            found = run(arguments, name, *entry)
            if found:
                runs.setdefault(entry, []).append(found)
            if turn == 0 and entry[0] != "maxmargin" and (not found or found["gap"] <= 1e-6):
                done.add(entry[0])
    return [(*entry, medians(found)) for entry, found in runs.items()]


def medians(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """One of the runs, with the medians of the times of all."""
    times = [key for key in ("seconds", "warm", "floor") if key in runs[0]]
    return runs[0] | {key: statistics.median(r[key] for r in runs) for key in times}


def report(name: str, results: list[tuple[str, float, float, dict[str, Any]]]) -> None:
    """For each accuracy the fastest run of each package that reaches it."""
    ours = {gap: r for who, _, gap, r in results if who == "maxmargin"}
    if 0.0 not in ours:
        return
    default = ours[0.0]
    line = f"{name:<24}cold {default['seconds']:.3f} s, warm {default['warm']:.3f} s"
    line += f" = {default['warm'] / default['floor']:.2f} floors, rows {default['rows'] / default['sv']:.2f}"
    print(f"{line}, {default['sv']} SV, {default['bsv']} at bounds, objective {default['objective']:.6f}")
    for goal in (0.0, *GAPS):
        if goal not in ours:
            continue
        mine = ours[goal]
        label = "tol 1e-3" if goal == 0.0 else f"gap {goal:g}"
        print(f"  {label:<10}maxmargin      {mine['seconds']:>9.3f} s{'':>9}  gap {mine['gap']:.1e}  {mine['status']}")
        for who in dict.fromkeys(who for who, *_ in results if who != "maxmargin"):
            fits = [(tol, r) for w, tol, _, r in results if w == who]
            reached = [(tol, r) for tol, r in fits if (tol == 1e-3 if goal == 0.0 else r["gap"] <= goal)]
            if not reached:
                print(f"  {'':<10}{who:<15}  not reached")
                continue
            tol, r = min(reached, key=lambda fit: fit[1]["seconds"])
            ratio = r["seconds"] / mine["seconds"]
            print(f"  {'':<10}{who:<15}{r['seconds']:>9.3f} s{ratio:>8.1f}x  gap {r['gap']:.1e}  tol {tol:g}")
    sys.stdout.flush()


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default=SETS)
    parser.add_argument("--peers", default=",".join(PEERS), type=lambda names: [n for n in names.split(",") if n])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--limit", type=float, default=600.0, help="seconds for a process")
    parser.add_argument("--rows", type=int, default=100_000, help="of covtype")
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        name, who, tol, gap = arguments.one
        one(name, who, float(tol), float(gap), arguments.threads, arguments.rows)
        return
    print(f"{sets.machine()}; {arguments.threads} threads, {CACHE_MB} MB; medians of {arguments.repeats}")
    for name in arguments.sets.split(","):
        report(name, measure(arguments, name))


if __name__ == "__main__":
    main()
