"""Limits, reasons to stop, the trace, Ctrl-C and memory."""

from __future__ import annotations

import gc
import os
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import zoo
from maxmargin import kernels, losses
from maxmargin.problems import DualProblem, certificate, fold
from maxmargin.rows.computed import ComputedRows
from maxmargin.solvers import smo
from maxmargin.solvers.loop import TRACE, Limits, State, Status

RBF = kernels.Gaussian(0.5)
SMOOTH = kernels.Gaussian(0.01)
SHRINKING = ["bounds", "history", False]


def endless(n: int = 600, kernel: kernels.Kernel = SMOOTH, precision: str = "float64") -> DualProblem:
    """Noise at a large C and, with the limits below, a tolerance that takes long."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, 6)), np.where(rng.random(n) < 0.5, 1.0, -1.0)
    return DualProblem(ComputedRows(kernel, X, precision), losses.Hinge().dual(y, 1e6))


def check_point(problem: DualProblem, solution) -> None:
    """An unfinished fit returns a feasible point and its true certificate."""
    terms = problem.terms
    assert ((solution.beta >= terms.lo) & (solution.beta <= terms.hi)).all()
    assert abs(solution.beta.sum()) <= 1e-10 * np.abs(solution.beta).sum()
    K = problem.rows.block(np.arange(problem.rows.n)).astype(float)
    proved = certificate(terms, solution.beta, K @ fold(terms, solution.beta))
    assert solution.certificate.dual == pytest.approx(proved.dual, rel=1e-6)
    assert solution.certificate.gap >= 0


@pytest.mark.parametrize("shrinking", SHRINKING)
@pytest.mark.parametrize("max_iter", [0, 1, 37, 2000])
def test_max_iter(max_iter, shrinking):
    problem = endless()
    solution = smo.solve(problem, Limits(tol=1e-10, max_iter=max_iter), shrinking=shrinking)
    assert solution.status is Status.MAX_ITER
    assert solution.n_iter == max_iter
    if max_iter:
        check_point(problem, solution)


@pytest.mark.parametrize("shrinking", SHRINKING)
@pytest.mark.parametrize("n", [5, 14, 600])
def test_max_time(n, shrinking):
    problem = endless(n)
    tight = Limits(tol=-1.0, max_time=0.2)  # a tolerance below any violation
    solution = smo.solve(problem, tight, shrinking=shrinking)
    assert solution.status is (Status.MAX_TIME if n > 20 else Status.STALLED)  # few are soon as good as rounding allows
    assert solution.seconds < 0.6
    check_point(problem, solution)


def test_max_time_zero_stops_at_once():
    assert smo.solve(endless(), Limits(tol=1e-10, max_time=0.0)).status is Status.MAX_TIME


def test_max_time_with_a_slow_kernel():
    def slow(A, B):
        time.sleep(0.004)
        return RBF.block(A, B)

    problem = endless(60, kernels.Callable(slow))
    began = time.perf_counter()
    solution = smo.solve(problem, Limits(tol=-1.0, max_time=0.3), cache_size=1e-9)
    assert solution.status is Status.MAX_TIME
    assert time.perf_counter() - began < 2.0


@pytest.mark.parametrize("shrinking", SHRINKING)
@pytest.mark.parametrize("n", [600, 2000])
def test_callback_is_called_about_every_50_ms_and_may_stop(n, shrinking):
    seen: list[State] = []

    def callback(state: State) -> bool:
        seen.append(state)
        return len(seen) == 5

    problem = endless(n)
    solution = smo.solve(problem, Limits(tol=-1.0, callback=callback), shrinking=shrinking)
    assert solution.status is Status.STOPPED
    times = [state.time for state in seen]
    assert times == sorted(times)
    assert 0.04 < np.median(np.diff(times)) < 0.1
    for state in seen:
        assert 2 <= state.active <= n
        assert state.violation > 0
        assert np.isnan(state.gap) or state.gap >= 0
        assert state.rows_computed > 0
    check_point(problem, solution)


def slow(n: int = 200, C: float = 1e4) -> DualProblem:
    """Noise on a linear kernel of large values: pairs would take for ever."""
    rng = np.random.default_rng(0)
    X, y = 100 * rng.normal(size=(n, 6)), np.where(rng.random(n) < 0.5, 1.0, -1.0)
    return DualProblem(ComputedRows(kernels.Linear(), X, "float64"), losses.Hinge().dual(y, C))


@pytest.mark.parametrize("shrinking", SHRINKING)
@pytest.mark.parametrize("selection", ["second-order", "mvp", "hmg"])
def test_small_problems_on_which_pairs_take_long_are_finished_exactly(selection, shrinking):
    problem = slow()
    solution = smo.solve(problem, Limits(max_time=20.0), selection=selection, shrinking=shrinking)
    assert solution.status is Status.CONVERGED
    assert solution.certificate.gap < 1e-6
    check_point(problem, solution)


@pytest.mark.parametrize("limit", ["time", "callback"])
def test_limits_hold_while_a_small_problem_is_finished(limit):
    problem, seen = slow(900, 1e7), []

    def callback(state: State) -> bool:
        seen.append(state.time)
        return state.time > 0.35

    limits = Limits(tol=-1.0, max_time=0.35) if limit == "time" else Limits(tol=-1.0, callback=callback)
    solution = smo.solve(problem, limits)
    assert solution.status is (Status.MAX_TIME if limit == "time" else Status.STOPPED)
    assert solution.seconds < 1.0
    assert len(solution.trace["time"]) >= 4
    check_point(problem, solution)


def test_what_a_callback_raises_comes_out():
    def callback(state: State) -> bool:
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        smo.solve(endless(), Limits(tol=-1.0, callback=callback))


def test_trace():
    solution = smo.solve(endless(1500), Limits(tol=1e-10, max_time=0.3))
    promised = {"time", "iteration", "violation", "gap", "active", "rows_computed", "cache_hits"}
    assert set(solution.trace) == promised == set(TRACE)
    assert len({len(values) for values in solution.trace.values()}) == 1
    assert len(solution.trace["time"]) >= 4
    assert (np.diff(solution.trace["time"]) >= 0).all()
    assert (np.diff(solution.trace["iteration"]) >= 0).all()
    assert solution.trace["gap"][-1] == solution.certificate.gap
    assert solution.trace["iteration"][-1] == solution.n_iter


def test_every_status_has_its_advice():
    advice = {status: status.advice for status in Status}
    assert len(set(advice.values())) == len(Status)
    assert "max_iter" in advice[Status.MAX_ITER]
    assert "max_time" in advice[Status.MAX_TIME]
    assert "callback" in advice[Status.STOPPED]
    assert "raise tol" in advice[Status.STALLED]
    assert Status("converged") is Status.CONVERGED
    assert all(text.endswith(".") for text in advice.values())


def test_tolerance_below_rounding_stalls_instead_of_running_on(monkeypatch):
    monkeypatch.setattr(smo, "SMALL", 0)
    data = zoo.classification(seed=0, n=60)
    rows = ComputedRows(RBF, data.X, "float64")
    solution = smo.solve(DualProblem(rows, losses.LeastSquares().dual(data.y, 1e4)), Limits(tol=-1.0, max_time=5.0))
    assert solution.status is Status.STALLED
    assert solution.certificate.gap < 1e-12


@pytest.mark.parametrize("selection", ["second-order", "mvp", "hmg"])
@pytest.mark.parametrize("name", [*zoo.LOSSES, *zoo.NU])
def test_every_loss_stalls_at_rounding(name, selection, monkeypatch):
    monkeypatch.setattr(smo, "SMALL", 0)
    data = zoo.problem(name, seed=5, n=60, C=20.0)
    rows = ComputedRows(kernels.Gaussian(2.0), 3 * data.X, "float64")
    limits = Limits(tol=-1.0, max_time=5.0)
    solution = smo.solve(DualProblem(rows, zoo.terms(name, data)), limits, selection=selection, shrinking=False)
    assert solution.status is Status.STALLED
    assert solution.certificate.violation < 1e-9


@pytest.mark.parametrize("shrinking", SHRINKING)
@pytest.mark.parametrize("scale", [1e15, 1e20])
@pytest.mark.parametrize("loss", [losses.LeastSquares(), losses.SquaredEpsilonInsensitive(0.1)])
def test_targets_whose_rounding_exceeds_the_tolerance_stall(loss, scale, shrinking):
    data = zoo.regression(seed=0, n=smo.SMALL + 100)
    terms = loss.dual(scale * data.y, 1.0)
    problem = DualProblem(ComputedRows(RBF, data.X, "float64"), terms)
    solution = smo.solve(problem, Limits(max_time=5.0), shrinking=shrinking)
    assert solution.status is Status.STALLED


@pytest.mark.parametrize("loss", [losses.LeastSquares(), losses.Pinball(0.5)])
@pytest.mark.parametrize("C", [1e2, 1e6])
def test_limits_hold_in_the_exact_finish(loss, C):
    """Of a kernel of rank 5, for which the finish takes many rounds."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(smo.SMALL, 5))
    terms = loss.dual(X[:, 0] + rng.normal(size=smo.SMALL), C)
    problem = DualProblem(ComputedRows(kernels.Linear(), X, "float64"), terms)
    began = time.perf_counter()
    smo.solve(problem, Limits(tol=100.0, max_time=0.3))
    assert time.perf_counter() - began < 2.0


@pytest.mark.parametrize("name", ["hinge", "epsilon", "squared hinge", "nu regression", "pinball 0.5"])
@pytest.mark.parametrize("finish", [True, False])
def test_gap_tolerance_is_reached(name, finish, monkeypatch):
    if not finish:
        monkeypatch.setattr(smo, "SMALL", 0)
    data = zoo.problem(name, seed=1, n=120, C=3.0)
    terms = zoo.terms(name, data)
    K = RBF.block(data.X, data.X)
    problem = DualProblem(ComputedRows(RBF, data.X, "float64"), terms)
    loose = smo.solve(problem, Limits(tol=0.1, tol_gap=1e-10))
    assert loose.status is Status.CONVERGED
    assert loose.certificate.gap <= 1e-10
    assert certificate(terms, loose.beta, K @ fold(terms, loose.beta)).gap <= 1.01e-10


@pytest.mark.parametrize("limits", [Limits(tol_gap=1e-10), Limits(tol=1e-9)])
def test_float32_rows_do_not_claim_more_than_they_have(limits, monkeypatch):
    monkeypatch.setattr(smo, "SMALL", 0)
    data = zoo.classification(seed=1, n=300, C=100.0)
    terms = zoo.terms("hinge", data)
    solution = smo.solve(DualProblem(ComputedRows(RBF, data.X, "float32"), terms), limits)
    true = certificate(terms, solution.beta, RBF.block(data.X, data.X) @ solution.beta)
    assert solution.certificate.gap >= 0.5 * true.gap
    if solution.status is Status.CONVERGED:
        assert true.violation <= 1.01 * limits.tol
        assert limits.tol_gap is None or true.gap <= 1.01 * limits.tol_gap


PREPARED = """
import gc, os, time, numpy as np
from maxmargin import kernels, losses
from maxmargin.problems import DualProblem
from maxmargin.rows.computed import ComputedRows
from maxmargin.solvers import smo
from maxmargin.solvers.loop import Limits
rng = np.random.default_rng(0)
X, y = rng.normal(size=(4000, 20)), np.where(rng.random(4000) < 0.5, 1.0, -1.0)
problem = DualProblem(ComputedRows(kernels.Gaussian(0.05), X), losses.Hinge().dual(y, 1e6))
def resident():
    return 4096 * int(open("/proc/self/statm").read().split()[1])
def threads():
    return len(os.listdir("/proc/self/task"))
"""
CALLS = {
    "pairs": "smo.solve(problem, Limits(tol=1e-12), cache_size=64, shrinking='bounds')",
    "pairs without shrinking": "smo.solve(problem, Limits(tol=1e-12), cache_size=64, shrinking=False)",
    "rows": "smo.solve(problem, Limits(tol=1e-12), cache_size=0.001)",
    "two classes": "SVC(C=1e6, gamma=0.05, tol=1e-12, cache_size=64).fit(X, y)",
    "four classes, two threads": "SVC(C=1e6, gamma=0.05, tol=1e-12, cache_size=64, n_jobs=2).fit(X, four)",
    "a kernel in Python": "SVC(kernel=lambda A, B: A @ B.T, C=1e6, tol=1e-12, cache_size=0.1).fit(X, y)",
    "the exact finish": "finish(small, np.zeros(1000), itertools.repeat(None))",
    "prediction": "model.predict(many)",
    "text": "libsvm.read(Endless())",
}
INTERRUPTED = """
import itertools
from maxmargin import SVC
from maxmargin.data import libsvm
from maxmargin.solvers.finish import finish
class Endless:
    text = b"+1 " + b" ".join(b"%d:0.5" % i for i in range(1, 100)) + b"\\n"
    def read(self, size):
        return self.text * (size // len(self.text))
small = DualProblem(ComputedRows(kernels.Gaussian(0.05), X[:1000]), losses.Hinge().dual(y[:1000], 1e6))
four = rng.integers(4, size=4000)
model, many = SVC(gamma=0.05).fit(X, y), np.tile(X, (200, 1))
for turn in range(4):
    if turn == 1:
        gc.collect()
        before = resident(), threads()
    print("ready", flush=True)
    try:
        {call}
    except KeyboardInterrupt:
        print(time.time(), flush=True)
gc.collect()
print(resident() - before[0], threads() - before[1])
"""


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_ctrl_c_stops_a_call_at_once_and_leaves_nothing_behind(call):
    code = PREPARED + INTERRUPTED.format(call=call)
    paths = os.pathsep.join(path for path in sys.path if path)
    waits = []
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": paths}
    ) as process:
        assert process.stdout is not None
        for _ in range(4):
            assert process.stdout.readline() == "ready\n"
            time.sleep(0.3)
            sent = time.time()
            process.send_signal(signal.SIGINT)
            waits.append(float(process.stdout.readline()) - sent)
        memory, threads = process.communicate(timeout=20)[0].split()
    assert process.returncode == 0
    assert statistics.median(waits) < 0.1  # one may have waited for a processor
    assert max(waits) < 1.0
    assert int(memory) < 48e6  # a leak of the rows of three fits would be 192 MB
    assert int(threads) == 0


def test_repeated_fits_leave_no_memory_behind():
    def resident() -> int:
        return 4096 * int(Path("/proc/self/statm").read_text().split()[1])

    def fits(times: int) -> None:
        for _ in range(times):
            smo.solve(problem, cache_size=8)
            smo.solve(combined, cache_size=8)
        gc.collect()

    data = zoo.classification(seed=0, n=400, d=20)
    terms = zoo.terms("hinge", data)
    problem = DualProblem(ComputedRows(RBF, data.X), terms)
    combined = DualProblem(ComputedRows(RBF + kernels.Callable(lambda A, B: A @ B.T), data.X), terms)
    fits(2)
    before = resident()
    fits(12)
    assert resident() - before < 4e6  # a leak of each fit's rows would be 15 MB
