"""The pair solver reaches the optimum of an independent solver: every loss, kernel, selection and shrinking rule."""

from __future__ import annotations

from functools import cache
from itertools import product
from zlib import crc32

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import Phase, assume, given, reject, seed, settings
from hypothesis import strategies as st

import zoo
from maxmargin import kernels
from maxmargin.problems import DualProblem, Terms, certificate, fold
from maxmargin.rows import Rows
from maxmargin.rows.computed import ComputedRows
from maxmargin.rows.precomputed import PrecomputedRows
from maxmargin.solvers import smo
from maxmargin.solvers.loop import Limits, Solution, Status
from oracles import pair, qp

NATIVE = {
    "linear": kernels.Linear(),
    "poly": kernels.Polynomial(3, 0.5, 1.0),
    "rbf": kernels.Gaussian(0.5),
    "laplacian": kernels.Laplacian(0.3),
    "chi2": kernels.ChiSquared(0.7),
    "intersection": kernels.Intersection(),
    "matern32": kernels.Matern32(0.5),
    "matern52": kernels.Matern52(0.5),
}


def function(A, B):
    """A kernel in Python."""
    A, B = (X.toarray() if sp.issparse(X) else X for X in (A, B))
    return zoo.KERNELS["laplacian"](A, B)


# Every way to rows, and the same values in NumPy; precomputed rows are those of that name's values.
SOURCES = NATIVE | {
    "product": kernels.Gaussian(0.5) * kernels.Linear(),
    "sum": kernels.Linear() + 0.5 * kernels.Gaussian(0.5),
    "function": kernels.Callable(function),
    "precomputed": None,
}
VALUES = zoo.KERNELS | {
    "product": lambda X, Z: zoo.KERNELS["rbf"](X, Z) * zoo.KERNELS["linear"](X, Z),
    "sum": lambda X, Z: zoo.KERNELS["linear"](X, Z) + 0.5 * zoo.KERNELS["rbf"](X, Z),
    "function": function,
    "precomputed": zoo.KERNELS["poly"],
}
LOSSES = [*zoo.LOSSES, *zoo.NU]
RULES = [("auto", "two"), ("second-order", "two"), ("mvp", "two"), ("hmg", "two"), ("hmg", "one"), ("hmg", "all")]
MAXIMUM_GAIN = [("mg", "two"), ("mg", "one"), ("mg", "all")]
SHRINKING = ["bounds", "history", False]


def check_feasible(terms: Terms, beta: np.ndarray) -> None:
    """Bounds hold exactly, sums to rounding."""
    assert (beta >= terms.lo).all()
    assert (beta <= terms.hi).all()
    for _, total, members in terms.groups():
        assert abs(beta[members].sum() - total) <= 1e-12 * max(np.abs(beta[members]).sum(), abs(total))


def check_certificate(K: np.ndarray, terms: Terms, solution: Solution) -> None:
    """The solution's f and certificate are those of its beta."""
    f = K @ fold(terms, solution.beta)
    np.testing.assert_allclose(solution.f, f, rtol=1e-9, atol=1e-9 * max(1.0, np.abs(f).max()))
    proved = certificate(terms, solution.beta, f)
    assert solution.certificate.gap >= 0
    assert solution.certificate.dual == pytest.approx(proved.dual, rel=1e-9, abs=1e-9)
    assert solution.certificate.primal == pytest.approx(proved.primal, rel=1e-8, abs=1e-8)
    assert proved.violation == pytest.approx(solution.certificate.violation, abs=1e-10 * max(1.0, np.abs(f).max()))


def check_optimal(K: np.ndarray, terms: Terms, solution: Solution, best: float, tol: float = 1e-8) -> None:
    """Converged, feasible, with the certificate of its beta and the objective Q of the oracle."""
    assert solution.status is Status.CONVERGED
    assert solution.certificate.violation <= tol
    check_feasible(terms, solution.beta)
    check_certificate(K, terms, solution)
    assert qp.objective(K, terms, solution.beta) == pytest.approx(best, rel=1e-6, abs=1e-8)


def check_optimal_or_stalled(K: np.ndarray, terms: Terms, solution: Solution, best: float, tol: float = 1e-8) -> None:
    """What maximum gain alone promises: the optimum, or a feasible point and its certificate that says so."""
    if solution.status is Status.CONVERGED:
        return check_optimal(K, terms, solution, best, tol)
    assert solution.status is Status.STALLED
    assert solution.certificate.violation > tol
    check_feasible(terms, solution.beta)
    check_certificate(K, terms, solution)
    return None


def rows_of(kernel: str, X: np.ndarray, sparse: bool, precision: str) -> Rows:
    """Rows of that kernel."""
    if kernel == "precomputed":
        return PrecomputedRows(VALUES[kernel](X, X), precision)
    return ComputedRows(SOURCES[kernel], sp.csr_array(X) if sparse else X, precision)


@st.composite
def tasks(draw, name: str, kernel: str):
    """A small problem of that loss, sometimes with repeated or contradicting examples, for that kernel."""
    C = draw(st.sampled_from([0.02, 1.0, 20.0]))
    data = zoo.problem(name, draw(st.integers(0, 10**6)), n=draw(st.integers(2, 34)), C=C, weighted=draw(st.booleans()))
    repeats = draw(st.integers(0, min(8, len(data.y))))
    X, y, weight = (np.concatenate([a, a[:repeats]]) for a in (data.X, data.y, data.C))
    if draw(st.booleans()) and name not in zoo.REGRESSION:
        y[len(y) - repeats :] *= -1
    if name == "nu classification":
        assume(min(weight[y > 0].sum(), weight[y < 0].sum()) >= 0.21 * weight.sum())
    X = np.abs(X) if kernel in zoo.NON_NEGATIVE else X
    return X, zoo.terms(name, zoo.Problem(X, y, weight), fit_intercept=draw(st.booleans()))


@pytest.mark.parametrize("kernel", SOURCES)
@pytest.mark.parametrize("name", LOSSES)
def test_any_problem_is_solved(name, kernel):
    """By every rule, with the exact finish, in float64 whatever the precision of the rows."""

    @seed(crc32(f"{name} {kernel}".encode()))
    @settings(max_examples=4, database=None, phases=[Phase.generate])
    @given(task=tasks(name, kernel), sparse=st.booleans(), precision=st.sampled_from(["float32", "float64"]))
    def solved(task, sparse, precision):
        X, terms = task
        K = VALUES[kernel](X, X)
        try:
            best = qp.objective(K, terms, qp.solve(K, terms))
        except UserWarning:  # the oracle says that it is inaccurate
            reject()
        drawn, exact = (DualProblem(rows_of(kernel, X, sparse, p), terms) for p in (precision, "float64"))
        for (selection, rows), shrinking in product(RULES, SHRINKING):
            solution = smo.solve(drawn, Limits(tol=1e-5), selection=selection, rows=rows, shrinking=shrinking)
            check_optimal(K, terms, solution, best, tol=1e-5)
        for (selection, rows), shrinking in product(MAXIMUM_GAIN, SHRINKING):
            solution = smo.solve(exact, Limits(tol=1e-5), selection=selection, rows=rows, shrinking=shrinking)
            check_optimal_or_stalled(K, terms, solution, best, tol=1e-5)

    solved()


@settings(max_examples=100, deadline=None, derandomize=True)
@given(data=st.data(), rule=st.sampled_from(RULES), shrinking=st.sampled_from(SHRINKING), sparse=st.booleans())
def test_any_problem_is_solved_without_the_finish(data, rule, shrinking, sparse):
    """The pairs alone, to 1e-8."""
    kernel = data.draw(st.sampled_from(list(SOURCES)))
    X, terms = data.draw(tasks(data.draw(st.sampled_from(LOSSES)), kernel))
    K = VALUES[kernel](X, X)
    problem = DualProblem(rows_of(kernel, X, sparse, "float64"), terms)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(smo, "SMALL", 0)
        limits = Limits(tol=1e-8, max_iter=3_000_000)
        solution = smo.solve(problem, limits, selection=rule[0], rows=rule[1], shrinking=shrinking)
    check_optimal(K, terms, solution, qp.objective(K, terms, qp.solve(K, terms)))


@cache
def known_problem(name: str, fit_intercept: bool):
    """A problem of that loss, with the optimal Q."""
    data = zoo.problem(name, seed=5, n=40, C=3.0, weighted=True)
    terms = zoo.terms(name, data, fit_intercept=fit_intercept)
    K = zoo.KERNELS["rbf"](data.X, data.X)
    return K, terms, qp.objective(K, terms, qp.solve(K, terms))


@pytest.mark.parametrize("shrinking", SHRINKING)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    ("name", "fit_intercept"), [*((n, True) for n in [*zoo.LOSSES, *zoo.NU]), *((n, False) for n in zoo.LOSSES)]
)
def test_every_rule_on_every_loss(name, fit_intercept, rule, shrinking, monkeypatch):
    monkeypatch.setattr(smo, "SMALL", 0)
    K, terms, best = known_problem(name, fit_intercept)
    problem = DualProblem(PrecomputedRows(K), terms)
    solution = smo.solve(problem, Limits(tol=1e-8), selection=rule[0], rows=rule[1], shrinking=shrinking)
    check_optimal(K, terms, solution, best)


@pytest.mark.parametrize("rows", ["two", "one", "all"])
@pytest.mark.parametrize(
    ("name", "fit_intercept"), [*((n, True) for n in [*zoo.LOSSES, *zoo.NU]), *((n, False) for n in zoo.LOSSES)]
)
def test_maximum_gain_alone_converges_or_says_that_it_stalled(name, fit_intercept, rows, monkeypatch):
    monkeypatch.setattr(smo, "SMALL", 0)
    K, terms, best = known_problem(name, fit_intercept)
    solution = smo.solve(DualProblem(PrecomputedRows(K), terms), Limits(tol=1e-8), selection="mg", rows=rows)
    check_optimal_or_stalled(K, terms, solution, best)


@pytest.mark.parametrize("selection", ["second-order", "hmg"])
@pytest.mark.parametrize("shrinking", SHRINKING)
@pytest.mark.parametrize(
    "name", ["hinge", "epsilon", "pinball 0.1", "squared hinge", "nu regression", "nu classification"]
)
def test_a_problem_too_large_for_the_finish(name, shrinking, selection):
    """n = 1,100: the certificate, recomputed here, is the proof."""
    data = zoo.problem(name, seed=2, n=1100, C=2.0)
    terms = zoo.terms(name, data)
    K = zoo.KERNELS["rbf"](data.X, data.X)
    problem = DualProblem(ComputedRows(NATIVE["rbf"], data.X, "float64"), terms)
    solution = smo.solve(problem, Limits(tol=1e-6), selection=selection, shrinking=shrinking)
    assert solution.status is Status.CONVERGED
    check_feasible(terms, solution.beta)
    check_certificate(K, terms, solution)
    proved = certificate(terms, solution.beta, K @ fold(terms, solution.beta))
    assert proved.gap < 1e-5
    assert proved.violation <= 1.001e-6


@pytest.mark.parametrize("name", [*zoo.LOSSES, *zoo.NU])
def test_the_twin_agrees(name):
    K, terms, _ = known_problem(name, True)
    beta = pair.solve(K, terms, tol=1e-5)
    solution = smo.solve(DualProblem(PrecomputedRows(K), terms), Limits(tol=1e-5))
    assert qp.objective(K, terms, beta) == pytest.approx(-solution.certificate.dual, rel=1e-6)


@pytest.mark.parametrize("name", zoo.FIVE_POINTS)
@pytest.mark.parametrize("shrinking", SHRINKING)
@pytest.mark.parametrize("rule", RULES)
def test_solutions_by_hand(name, rule, shrinking, monkeypatch):
    monkeypatch.setattr(smo, "SMALL", 0)
    known = zoo.FIVE_POINTS[name]
    rows = ComputedRows(kernels.Linear(), zoo.FIVE_X, "float64")
    problem = DualProblem(rows, known.loss.dual(zoo.FIVE_Y, known.C))
    solution = smo.solve(problem, Limits(tol=1e-11), selection=rule[0], rows=rule[1], shrinking=shrinking)
    np.testing.assert_allclose(solution.beta, known.beta, atol=1e-9)
    np.testing.assert_allclose(solution.certificate.intercepts, [known.intercept], atol=1e-9)
