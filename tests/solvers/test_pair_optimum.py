"""The pair solver reaches the optimum of an independent solver: every loss, kernel, selection and shrinking rule."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import zoo
from maxmargin import kernels
from maxmargin.problems import DualProblem, Terms, certificate, fold
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
RULES = [("auto", "two"), ("second-order", "two"), ("mvp", "two"), ("hmg", "two"), ("hmg", "one"), ("hmg", "all")]
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


@st.composite
def tasks(draw):
    """A small problem, sometimes with repeated or contradicting examples, and its kernel's name."""
    name = draw(st.sampled_from([*zoo.LOSSES, *zoo.NU]))
    kernel = draw(st.sampled_from(list(NATIVE)))
    C = draw(st.sampled_from([0.02, 1.0, 20.0]))
    data = zoo.problem(name, draw(st.integers(0, 10**6)), n=draw(st.integers(2, 34)), C=C, weighted=draw(st.booleans()))
    repeats = draw(st.integers(0, min(8, len(data.y))))
    X, y, weight = (np.concatenate([a, a[:repeats]]) for a in (data.X, data.y, data.C))
    if draw(st.booleans()) and name not in zoo.REGRESSION:
        y[len(y) - repeats :] *= -1
    if name == "nu classification":
        assume(min(weight[y > 0].sum(), weight[y < 0].sum()) >= 0.21 * weight.sum())
    X = np.abs(X) if kernel in zoo.NON_NEGATIVE else X
    terms = zoo.terms(name, zoo.Problem(X, y, weight), fit_intercept=draw(st.booleans()))
    return X, kernel, terms


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    task=tasks(),
    rule=st.sampled_from(RULES),
    shrinking=st.sampled_from(SHRINKING),
    sparse=st.booleans(),
    precision=st.sampled_from(["float32", "float64"]),
)
def test_any_problem_is_solved(task, rule, shrinking, sparse, precision):
    """With the exact finish, in float64 whatever the precision of the rows."""
    X, kernel, terms = task
    K = zoo.KERNELS[kernel](X, X)
    rows = ComputedRows(NATIVE[kernel], sp.csr_array(X) if sparse else X, precision)
    solution = smo.solve(
        DualProblem(rows, terms), Limits(tol=1e-5), selection=rule[0], rows=rule[1], shrinking=shrinking
    )
    check_optimal(K, terms, solution, qp.objective(K, terms, qp.solve(K, terms)), tol=1e-5)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(task=tasks(), rule=st.sampled_from(RULES), shrinking=st.sampled_from(SHRINKING), sparse=st.booleans())
def test_any_problem_is_solved_without_the_finish(task, rule, shrinking, sparse):
    """The pairs alone, to 1e-8."""
    X, kernel, terms = task
    K = zoo.KERNELS[kernel](X, X)
    problem = DualProblem(ComputedRows(NATIVE[kernel], sp.csr_array(X) if sparse else X, "float64"), terms)
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
    if solution.status is Status.CONVERGED:
        return check_optimal(K, terms, solution, best)
    assert solution.status is Status.STALLED
    assert solution.certificate.violation > 1e-8
    check_feasible(terms, solution.beta)
    check_certificate(K, terms, solution)
    return None


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
