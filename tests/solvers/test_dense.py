"""What every solver of the whole matrix promises, alone and inside another: optimum, certificate, limits, statuses."""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import time
import tracemalloc
from functools import cache, partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import zoo
from maxmargin import kernels, losses
from maxmargin.problems import DualProblem, Terms, certificate, feasible_start, fold, violation
from maxmargin.rows.computed import ComputedRows
from maxmargin.rows.precomputed import PrecomputedRows
from maxmargin.solvers import dense, interior, projection, smo
from maxmargin.solvers.loop import TRACE, Limits, Solution, State, Status
from oracles import qp

ADAPTIVE = {"steps": "barzilai-borwein"}
SOLVE = {
    "projection": projection.solve,
    "adaptive projection": partial(projection.solve, **ADAPTIVE),
    "interior": interior.solve,
}
MINIMISE = {
    "projection": projection.minimise,
    "adaptive projection": partial(projection.minimise, **ADAPTIVE),
    "interior": interior.minimise,
}
CASES = [*((n, True) for n in [*zoo.LOSSES, *zoo.NU]), *((n, False) for n in zoo.LOSSES)]
RBF = kernels.Gaussian(0.5)
MOST = 100_000  # iterations after which a test rather fails than goes on


def check_feasible(terms: Terms, beta: np.ndarray) -> None:
    """Bounds hold exactly, sums to rounding."""
    assert ((beta >= terms.lo) & (beta <= terms.hi)).all()
    for _, total, members in terms.groups():
        assert abs(beta[members].sum() - total) <= 1e-12 * max(np.abs(beta[members]).sum(), abs(total))


def check_solution(K: np.ndarray, terms: Terms, solution: Solution, tol: float) -> None:
    """Converged and feasible, and its f and certificate are those of its beta."""
    assert solution.status is Status.CONVERGED
    check_feasible(terms, solution.beta)
    f = K @ fold(terms, solution.beta)
    np.testing.assert_allclose(solution.f, f, rtol=1e-9, atol=1e-9 * max(1.0, np.abs(f).max()))
    proved = certificate(terms, solution.beta, f)
    assert solution.certificate.violation <= 1.01 * tol
    assert proved.violation == pytest.approx(solution.certificate.violation, abs=1e-9 * max(1.0, np.abs(f).max()))
    assert proved.dual == pytest.approx(solution.certificate.dual, rel=1e-9, abs=1e-12)
    assert proved.primal == pytest.approx(solution.certificate.primal, rel=1e-8, abs=1e-8)


def never(iteration: int, violation: float) -> None:
    """A look that lets everything go on."""


# ---- the optimum ----------------------------------------------------------------------------------------------------


@cache
def known_problem(name: str, fit_intercept: bool, kernel: str, C: float):
    """A problem of that loss with weights, and the optimal Q."""
    data = zoo.problem(name, seed=5, n=40, C=C, weighted=True)
    X = np.abs(data.X) if kernel in zoo.NON_NEGATIVE else data.X
    terms = zoo.terms(name, data, fit_intercept=fit_intercept)
    K = zoo.KERNELS[kernel](X, X)
    return K, terms, qp.objective(K, terms, qp.solve(K, terms))


@pytest.mark.parametrize("solver", SOLVE)
@pytest.mark.parametrize("C", [0.1, 5.0])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "chi2", "linear"])
@pytest.mark.parametrize(("name", "fit_intercept"), CASES)
def test_every_loss_and_kernel(name, fit_intercept, kernel, C, solver):
    K, terms, best = known_problem(name, fit_intercept, kernel, C)
    tol = 1e-6
    solution = SOLVE[solver](DualProblem(PrecomputedRows(K), terms), Limits(tol=tol, max_iter=MOST))
    check_solution(K, terms, solution, tol)
    assert qp.objective(K, terms, solution.beta) == pytest.approx(best, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("solver", SOLVE)
@settings(max_examples=60)
@given(
    seed=st.integers(0, 10**6), n=st.integers(1, 15), copies=st.integers(1, 3), groups=st.integers(0, 3), data=st.data()
)
def test_any_terms(solver, seed, n, copies, groups, data):
    """Copies, kinks, several sums, no sum, infinite and equal bounds, and K of any rank."""
    terms = zoo.random_terms(seed, n * copies, groups, copies=copies)
    factor = np.random.default_rng(seed).normal(size=(n, data.draw(st.integers(0, n))))
    problem = DualProblem(PrecomputedRows(factor @ factor.T), terms)
    solution = SOLVE[solver](problem, Limits(tol=1e-6, max_iter=MOST))
    check_solution(factor @ factor.T, terms, solution, 1e-6)
    room = np.minimum(terms.hi - terms.lo, 100.0).sum()
    assert solution.certificate.primal - solution.certificate.dual <= 1e-6 * (1 + room)


@pytest.mark.parametrize("solver", SOLVE)
@pytest.mark.parametrize("name", zoo.KNOWN)
def test_known_optima(name, solver):
    known = zoo.KNOWN[name]
    X, y = known.load()
    terms = known.loss.dual(y, known.C)
    problem = DualProblem(ComputedRows(kernels.Gaussian(known.gamma), X, "float64"), terms)
    solution = SOLVE[solver](problem, Limits(tol=1e-5, max_iter=MOST))
    assert solution.status is Status.CONVERGED
    assert solution.certificate.dual == pytest.approx(known.lower, rel=1e-8)
    assert solution.certificate.primal >= known.lower * (1 - 2e-10)
    assert solution.certificate.gap < 1e-5
    if known.intercept is not None:
        assert solution.certificate.intercepts[0] == pytest.approx(known.intercept, abs=1e-5)
    if known.support is not None:
        assert np.count_nonzero(solution.beta) == known.support[0]
        at_bound = (solution.beta != 0) & ((solution.beta == terms.lo) | (solution.beta == terms.hi))
        assert np.count_nonzero(at_bound) == known.support[1]


@pytest.mark.parametrize("solver", SOLVE)
@pytest.mark.parametrize("name", zoo.FIVE_POINTS)
def test_solutions_by_hand(name, solver):
    known = zoo.FIVE_POINTS[name]
    problem = DualProblem(ComputedRows(kernels.Linear(), zoo.FIVE_X, "float64"), known.loss.dual(zoo.FIVE_Y, known.C))
    solution = SOLVE[solver](problem, Limits(tol=1e-10, max_iter=MOST))
    np.testing.assert_allclose(solution.beta, known.beta, atol=1e-8)
    np.testing.assert_allclose(solution.certificate.intercepts, [known.intercept], atol=1e-8)


@pytest.mark.parametrize("solver", SOLVE)
@pytest.mark.parametrize("X", ["identical", "zero", "doubled", "few dimensions"])
@pytest.mark.parametrize(("name", "fit_intercept"), CASES)
def test_singular_problems(name, fit_intercept, X, solver):
    data = zoo.problem(name, seed=4, n=30, C=5.0)
    X = {
        "identical": np.ones((30, 1)),
        "zero": np.zeros((30, 1)),
        "doubled": np.repeat(data.X[:10], 3, axis=0),
        "few dimensions": data.X[:, :1],
    }[X]
    terms = zoo.terms(name, data, fit_intercept=fit_intercept)
    problem = DualProblem(ComputedRows(kernels.Linear(), X, "float64"), terms)
    solution = SOLVE[solver](problem, Limits(tol=1e-5, max_iter=MOST))
    check_solution(X @ X.T, terms, solution, 1e-5)
    reference = smo.solve(problem, Limits(tol=1e-9))
    assert solution.certificate.dual == pytest.approx(reference.certificate.dual, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("solver", SOLVE)
@pytest.mark.parametrize("scale", [1e-5, 1e4])
@pytest.mark.parametrize("name", ["hinge", "squared hinge", "epsilon", "nu classification"])
def test_data_of_any_scale(name, scale, solver):
    """Scaled data, with C to match, have the same machine."""
    one, other = ({}, {"C": scale**-2})
    solutions = []
    for options, factor in ((one, 1.0), (other, scale)):
        data = zoo.problem(name, seed=1, n=40, **options)
        terms = zoo.terms(name, data)
        problem = DualProblem(ComputedRows(kernels.Linear(), factor * data.X, "float64"), terms)
        solutions.append(SOLVE[solver](problem, Limits(tol=1e-5, max_iter=MOST)))
        assert solutions[-1].status is Status.CONVERGED
    if not name.startswith("nu"):
        np.testing.assert_allclose(solutions[0].f, solutions[1].f, atol=1e-3)


@pytest.mark.parametrize("solver", SOLVE)
@pytest.mark.parametrize("name", ["hinge", "epsilon", "pinball 0.1", "nu regression"])
def test_default_precision_agrees_with_smo(name, solver):
    """float32 rows whose width is padded, n = 600."""
    data = zoo.problem(name, seed=2, n=601, C=1.0)
    problem = DualProblem(ComputedRows(RBF, data.X), zoo.terms(name, data))
    solution, reference = SOLVE[solver](problem, Limits(max_iter=MOST)), smo.solve(problem)
    assert solution.status is Status.CONVERGED
    assert solution.certificate.violation <= 1e-3
    assert solution.certificate.dual == pytest.approx(reference.certificate.dual, rel=1e-4)
    assert solution.certificate.primal >= reference.certificate.dual * (1 - 1e-6)


@pytest.mark.parametrize("solver", SOLVE)
def test_variables_that_are_all_fixed(solver):
    fixed = np.array([0.5, -0.5, 0.0])
    terms = Terms(np.ones(3), fixed, fixed, np.zeros(3), np.ones(3), np.zeros(3, int), np.zeros(1))
    solution = SOLVE[solver](DualProblem(PrecomputedRows(np.eye(3)), terms))
    assert solution.status is Status.CONVERGED
    np.testing.assert_array_equal(solution.beta, fixed)


# ---- where it starts -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVE)
@pytest.mark.parametrize("name", ["hinge", "epsilon", "squared hinge", "least squares", "nu regression"])
def test_a_warm_start_ends_where_a_cold_one_does(name, solver):
    data = zoo.problem(name, seed=1, n=60, C=2.0)
    terms = zoo.terms(name, data)
    K = zoo.KERNELS["rbf"](data.X, data.X)
    problem, limits = DualProblem(PrecomputedRows(K), terms), Limits(tol=1e-6, max_iter=MOST)
    cold = SOLVE[solver](problem, limits)
    again = SOLVE[solver](problem, Limits(tol=1.1e-6), start=cold.beta)
    assert again.n_iter == 0
    np.testing.assert_allclose(again.beta, cold.beta, atol=1e-12)
    far = SOLVE[solver](problem, limits, start=np.random.default_rng(0).normal(scale=5.0, size=terms.m))
    check_solution(K, terms, far, 1e-6)
    assert far.certificate.dual == pytest.approx(cold.certificate.dual, rel=1e-9)


# ---- inside a decomposition -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", MINIMISE)
@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_a_part_of_a_larger_array(solver, precision):
    """Rows that lie apart are read where they are, and the start is left as it was."""
    data = zoo.classification(seed=1, n=150, C=2.0)
    terms = zoo.terms("hinge", data)
    wide = np.full((150, 211), np.nan, precision)
    wide[:, 30:180] = RBF.block(data.X, data.X)
    K = wide[:, 30:180]
    assert not K.flags.c_contiguous
    start = feasible_start(terms)
    kept = start.copy()
    beta, iterations, status = MINIMISE[solver](terms, K, start, 1e-4, never)
    np.testing.assert_array_equal(start, kept)
    assert status is None
    assert iterations > 0
    check_feasible(terms, beta)
    assert violation(terms, beta, K.astype(float) @ beta) <= 1e-4 + 1e-12


def test_the_projection_copies_no_matrix():
    data = zoo.classification(seed=1, n=2500)
    terms, K = zoo.terms("hinge", data), RBF.block(data.X, data.X).astype(np.float32)
    tracemalloc.start()
    projection.minimise(terms, K, feasible_start(terms), 1e-3, never)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.25 * K.nbytes


@pytest.mark.parametrize("solver", MINIMISE)
def test_look_is_asked_before_every_iteration_and_stops(solver):
    data = zoo.classification(seed=1, n=80, C=100.0)
    terms, seen = zoo.terms("hinge", data), []

    def look(iteration: int, violation: float) -> Status | None:
        seen.append((iteration, violation))
        return Status.MAX_TIME if iteration == 4 else None

    K = RBF.block(data.X, data.X)
    beta, iterations, status = MINIMISE[solver](terms, K, feasible_start(terms), -1.0, look)
    assert status is Status.MAX_TIME
    assert iterations == 4
    assert [iteration for iteration, _ in seen] == [0, 1, 2, 3, 4]
    assert all(value > 0 for _, value in seen)
    check_feasible(terms, beta)


@pytest.mark.parametrize("solver", MINIMISE)
def test_blocks_of_variables_in_turn_reach_the_optimum(solver):
    """A decomposition in its simplest form: each half for the other fixed, K a part of the whole."""
    data = zoo.classification(seed=3, n=60)
    terms = zoo.terms("hinge", data, fit_intercept=False)
    K = RBF.block(data.X, data.X)
    beta = feasible_start(terms)
    for turn in range(200):
        B = np.arange(60) % 2 == turn % 2
        part = Terms(terms.p[B] + K[np.ix_(B, ~B)] @ beta[~B], *(getattr(terms, a)[B] for a in ("lo", "hi", "d", "e")))
        beta[B], _, status = MINIMISE[solver](part, K[np.ix_(B, B)], beta[B], 1e-8, never)
        assert status is None
        if violation(terms, beta, K @ beta) <= 1e-6:
            break
    assert certificate(terms, beta, K @ beta).gap < 1e-6


# ---- limits ---------------------------------------------------------------------------------------------------------


def endless(n: int = 300) -> DualProblem:
    """Noise at a large C, and with the limits below a tolerance that no iterate keeps."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, 6)), np.where(rng.random(n) < 0.5, 1.0, -1.0)
    return DualProblem(ComputedRows(kernels.Gaussian(0.01), X, "float64"), losses.Hinge().dual(y, 1e6))


def check_point(problem: DualProblem, solution: Solution) -> None:
    """An unfinished run returns a feasible point and its true certificate."""
    check_feasible(problem.terms, solution.beta)
    K = problem.rows.block(np.arange(problem.rows.n)).astype(float)
    proved = certificate(problem.terms, solution.beta, K @ fold(problem.terms, solution.beta))
    assert solution.certificate.dual == pytest.approx(proved.dual, rel=1e-6, abs=1e-6)
    assert solution.certificate.gap >= 0


@pytest.mark.parametrize("solver", SOLVE)
@pytest.mark.parametrize("max_iter", [0, 1, 7])
def test_max_iter(max_iter, solver):
    problem = endless()
    solution = SOLVE[solver](problem, Limits(tol=-1.0, max_iter=max_iter))
    assert solution.status is Status.MAX_ITER
    assert solution.n_iter == max_iter
    check_point(problem, solution)


@pytest.mark.parametrize("solver", SOLVE)
def test_max_time(solver):
    problem = endless(1500)
    solution = SOLVE[solver](problem, Limits(tol=-1.0, max_time=0.15))
    assert solution.status is Status.MAX_TIME
    assert solution.seconds < 0.6
    check_point(problem, solution)


@pytest.mark.parametrize("solver", SOLVE)
def test_a_callback_sees_the_run_and_may_stop_it(solver):
    seen: list[State] = []

    def callback(state: State) -> bool:
        seen.append(state)
        return len(seen) == 3

    problem = endless(1500)
    solution = SOLVE[solver](problem, Limits(tol=-1.0, callback=callback, max_iter=MOST))
    assert solution.status is Status.STOPPED
    assert np.median(np.diff([state.time for state in seen])) > 0.04
    assert all(state.violation > 0 and state.active == 1500 for state in seen)
    check_point(problem, solution)
    assert set(solution.trace) == set(TRACE)
    assert solution.trace["iteration"][-1] == solution.n_iter
    assert solution.trace["gap"][-1] == solution.certificate.gap


@pytest.mark.parametrize("solver", SOLVE)
@pytest.mark.parametrize("name", ["hinge", "epsilon", "squared hinge", "pinball 0.5", "nu regression"])
def test_gap_tolerance_is_reached(name, solver):
    data = zoo.problem(name, seed=1, n=80, C=1.0)
    terms = zoo.terms(name, data)
    K = RBF.block(data.X, data.X)
    limits = Limits(tol=0.1, tol_gap=1e-7, max_iter=MOST)
    solution = SOLVE[solver](DualProblem(PrecomputedRows(K), terms), limits)
    check_solution(K, terms, solution, 0.1)
    assert solution.certificate.gap <= 1e-7


@pytest.mark.parametrize("solver", SOLVE)
@pytest.mark.parametrize("limits", [Limits(tol_gap=1e-10), Limits(tol=1e-9)])
def test_float32_rows_do_not_claim_more_than_they_have(limits, solver):
    data = zoo.classification(seed=1, n=200, C=20.0)
    terms = zoo.terms("hinge", data)
    solution = SOLVE[solver](DualProblem(ComputedRows(RBF, data.X, "float32"), terms), limits)
    true = certificate(terms, solution.beta, RBF.block(data.X, data.X) @ solution.beta)
    assert solution.certificate.gap >= 0.5 * true.gap
    assert solution.status is Status.STALLED


@pytest.mark.parametrize("solver", SOLVE)
@pytest.mark.parametrize("name", [*zoo.LOSSES, *zoo.NU])
def test_every_loss_stalls_at_rounding(name, solver):
    data = zoo.problem(name, seed=5, n=40, C=2.0)
    rows = ComputedRows(kernels.Gaussian(2.0), 3 * data.X, "float64")
    solution = SOLVE[solver](DualProblem(rows, zoo.terms(name, data)), Limits(tol=-1.0, max_iter=MOST))
    assert solution.status is Status.STALLED
    assert solution.certificate.violation < 1e-9


# ---- no optimum, no room --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVE)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("name", ["squared hinge", "squared epsilon", "least squares", "least squares classification"])
def test_a_dual_without_end_says_so(name, fit_intercept, solver):
    """An indefinite kernel, and no bounds."""
    data = zoo.problem(name, seed=5, n=40, C=100.0)
    terms = zoo.terms(name, data, fit_intercept=fit_intercept)
    problem = DualProblem(ComputedRows(kernels.Sigmoid(5.0, -2.0), data.X, "float64"), terms)
    solution = SOLVE[solver](problem, Limits(tol=1e-6, max_iter=MOST))
    assert solution.status is Status.UNBOUNDED
    assert np.isfinite(solution.beta).all()
    assert solution.certificate.gap > 0.5


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kernel", [RBF, kernels.Linear()])
def test_a_hard_margin_that_nothing_keeps_says_so(kernel, fit_intercept):
    """The interior point method sees it; projections may go on for ever."""
    y, X = np.array([1.0, -1.0, 1.0, -1.0]), np.array([[0.0], [0.0], [1.0], [2.0]])
    terms = losses.Hinge().dual(y, np.inf, fit_intercept=fit_intercept)
    solution = interior.solve(DualProblem(ComputedRows(kernel, X, "float64"), terms))
    assert solution.status is Status.UNBOUNDED
    assert np.isfinite(solution.beta).all()


@pytest.mark.parametrize("solver", SOLVE)
def test_a_kernel_that_is_not_positive_keeps_its_bounds(solver):
    data = zoo.classification(0, n=50, C=3.0)
    problem = DualProblem(ComputedRows(kernels.Sigmoid(0.8, -0.5), data.X, "float64"), zoo.terms("hinge", data))
    solution = SOLVE[solver](problem, Limits(max_iter=MOST))
    assert solution.status in (Status.CONVERGED, Status.STALLED)
    assert solution.status is Status.CONVERGED or solver == "interior"
    check_point(problem, solution)


@pytest.mark.parametrize(("solver", "needed"), [("projection", "0.3"), ("interior", "1.0")])
def test_a_matrix_that_does_not_fit_says_so(solver, needed):
    data = zoo.classification(seed=1, n=300)
    problem = DualProblem(ComputedRows(RBF, data.X), zoo.terms("hinge", data))
    message = rf"holds the whole kernel matrix and needs {needed} MB for its 300 rows, but cache_size allows 0.2 MB"
    with pytest.raises(ValueError, match=message):
        SOLVE[solver](problem, cache_size=0.2)
    assert SOLVE[solver](problem, cache_size=float(needed) + 0.1).status is Status.CONVERGED


@pytest.mark.parametrize("solver", SOLVE)
def test_kernel_values_that_are_not_finite(solver):
    K = np.eye(20)
    K[3, 4] = K[4, 3] = 1e200
    problem = DualProblem(PrecomputedRows(K, "float32"), losses.Hinge().dual(zoo.classification(seed=1, n=20).y, 1.0))
    with pytest.raises(ValueError, match="Example 3 has a kernel value that is infinite or NaN in float32"):
        SOLVE[solver](problem)


def test_an_unreachable_sum_is_refused():
    terms = Terms(np.zeros(3), np.zeros(3), np.ones(3), np.zeros(3), np.zeros(3), np.zeros(3, int), np.array([4.0]))
    with pytest.raises(ValueError, match="The sum over group 0 must be 4"):
        projection.solve(DualProblem(PrecomputedRows(np.eye(3)), terms))


def test_products_are_those_of_the_whole_matrix():
    rng = np.random.default_rng(0)
    for n in (1, 7, 700):
        K = rng.normal(size=(n, n))
        K += K.T
        x = rng.normal(size=n)
        for share in (0.0, 0.1, 0.5, 1.0):
            sparse = np.where(rng.random(n) < share, x, 0.0)
            np.testing.assert_allclose(dense.product(K, sparse), K @ sparse, atol=1e-11)
            single = K.astype(np.float32)
            np.testing.assert_allclose(dense.product(single, sparse), single.astype(float) @ sparse, atol=1e-11)


# ---- Ctrl-C ---------------------------------------------------------------------------------------------------------

INTERRUPTED = """
import time, numpy as np
from maxmargin import kernels, losses
from maxmargin.problems import feasible_start
from maxmargin.solvers import interior, projection
rng = np.random.default_rng(0)
X, y = rng.normal(size=(1200, 20)), np.where(rng.random(1200) < 0.5, 1.0, -1.0)
K, terms = kernels.Gaussian(0.05).block(X, X), losses.Hinge().dual(y, 1e6)
for turn in range(4):
    print("ready", flush=True)
    try:
        while True:
            {module}.minimise(terms, K, feasible_start(terms), -1.0, lambda iteration, violation: None)
    except KeyboardInterrupt:
        print(time.time(), flush=True)
"""


@pytest.mark.parametrize("module", ["projection", "interior"])
def test_ctrl_c_stops_at_once(module):
    paths = os.pathsep.join(path for path in sys.path if path)
    waits = []
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED.format(module=module)],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": paths},
    ) as process:
        assert process.stdout is not None
        for _ in range(4):
            assert process.stdout.readline() == "ready\n"
            time.sleep(0.3)
            sent = time.time()
            process.send_signal(signal.SIGINT)
            waits.append(float(process.stdout.readline()) - sent)
        process.communicate(timeout=20)
    assert process.returncode == 0
    assert statistics.median(waits) < 0.1
