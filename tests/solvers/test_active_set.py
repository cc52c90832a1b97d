"""Newton's method with an active set, and the polish that ends with it: optimal to rounding from a rough start."""

from __future__ import annotations

import numpy as np
import pytest

import zoo
from maxmargin import kernels, losses
from maxmargin.problems import DualProblem, certify, feasible_start, fold, violation
from maxmargin.rows.computed import ComputedRows
from maxmargin.rows.precomputed import PrecomputedRows
from maxmargin.solvers import active_set, members, smo, working_set
from maxmargin.solvers.loop import Limits, Status
from maxmargin.solvers.polish import Polish

LOSSES = [*zoo.LOSSES, *zoo.NU]
RBF = kernels.Gaussian(0.5)


def rough(problem: DualProblem, tol: float, monkeypatch) -> np.ndarray:
    """Where the pairs alone end."""
    with monkeypatch.context() as patch:
        patch.setattr(smo, "SMALL", 0)
        return smo.solve(problem, Limits(tol=tol)).beta


def nothing(*_):
    """A look that lets go on."""


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "linear"])
@pytest.mark.parametrize("name", LOSSES)
def test_reaches_rounding_or_says_so(name, kernel, fit_intercept, monkeypatch):
    data = zoo.problem(name, seed=3, n=80, C=1.0, weighted=True)
    terms = zoo.terms(name, data, fit_intercept)
    K = zoo.KERNELS[kernel](data.X, data.X)
    start = rough(DualProblem(PrecomputedRows(K), terms), 1e-3, monkeypatch)
    beta, steps, stop = active_set.minimise(terms, K, start, 0.0, nothing)
    assert steps <= active_set.MOST_STEPS
    if stop is Status.STALLED:
        np.testing.assert_array_equal(beta, start)
        assert kernel == "linear"  # more free variables than features
        return
    assert stop is None
    assert ((beta >= terms.lo) & (beta <= terms.hi)).all()
    for _, total, mine in terms.groups():
        assert abs(beta[mine].sum() - total) <= 1e-10 * max(np.abs(beta[mine]).sum(), abs(total))
    f = K @ fold(terms, beta)
    assert violation(terms, beta, f) <= 1e-10 * (np.abs(f).max() + np.abs(terms.p).max())


def test_examples_that_are_the_same():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(40, 3)), 3, axis=0)
    y = np.where(X[:, 0] + 0.7 * rng.normal(size=120) > 0, 1.0, -1.0)
    problem = DualProblem(ComputedRows(RBF, X, "float64"), losses.Hinge().dual(y, 2.0))
    start = smo.solve(problem, Limits(tol=1e-3, max_iter=500)).beta
    K = problem.rows.block(np.arange(120))
    beta, _, stop = active_set.minimise(problem.terms, K, start, 0.0, nothing)
    assert stop is None
    assert violation(problem.terms, beta, K @ beta) < 1e-10


def test_look_stops():
    data = zoo.classification(1, n=60)
    terms = losses.Hinge().dual(data.y, 1.0)
    K = zoo.KERNELS["rbf"](data.X, data.X)
    start = feasible_start(terms)
    beta, steps, stop = active_set.minimise(terms, K, start, 0.0, lambda step, violation: Status.STOPPED)
    assert (steps, stop) == (1, Status.STOPPED)
    np.testing.assert_array_equal(beta, start)


@pytest.mark.parametrize("name", ["hinge", "squared hinge", "epsilon", "huber", "one-class", "nu regression"])
def test_polish_closes_the_gap(name):
    data = zoo.problem(name, seed=4, n=700, C=1.0)
    terms = zoo.terms(name, data)
    problem = DualProblem(ComputedRows(RBF, data.X, "float32"), terms)
    rough_one = working_set.solve(problem, Limits(tol=1e-3))
    limits = Limits(tol=1e-3, tol_gap=1e-10)
    polish = Polish(problem, rough_one.beta, limits, nothing, 1e9, 2)
    assert polish.run(rough_one.f) is Status.CONVERGED
    exact = DualProblem(problem.rows.with_precision("float64"), terms)
    assert certify(exact, polish.beta).gap <= 1e-10
    np.testing.assert_allclose(polish.f, exact.rows.apply(fold(terms, polish.beta)), atol=1e-10)


def test_polish_needs_room():
    data = zoo.classification(5, n=400)
    problem = DualProblem(ComputedRows(RBF, data.X), losses.Hinge().dual(data.y, 1.0))
    start = working_set.solve(problem)
    polish = Polish(problem, start.beta, Limits(tol_gap=1e-8), nothing, 1e4, 1)
    assert polish.run(start.f) is Status.STALLED
    assert polish.f is None


@pytest.mark.parametrize("cache_size", [0.5, 200.0])
@pytest.mark.parametrize("name", ["hinge", "squared hinge", "epsilon", "nu classification", "one-class"])
def test_gap_of_working_sets(name, cache_size, monkeypatch):
    monkeypatch.setattr(members, "FIRST", 200)
    data = zoo.problem(name, seed=6, n=1500, C=1.0)
    problem = DualProblem(ComputedRows(RBF, data.X, "float32"), zoo.terms(name, data))
    solution = working_set.solve(problem, Limits(tol=1e-3, tol_gap=1e-8), cache_size=cache_size)
    assert solution.status is Status.CONVERGED
    assert solution.certificate.gap <= 1e-8
    exact = DualProblem(problem.rows.with_precision("float64"), problem.terms)
    assert certify(exact, solution.beta).gap <= 1.1e-8


def test_sums_hold_where_all_free_variables_pass_their_bounds():
    rng = np.random.default_rng(0)
    converged = 0
    for seed in range(60):
        data = zoo.classification(seed, n=40, C=0.01)
        terms = losses.Hinge().dual(data.y, 0.01)
        K = zoo.KERNELS["rbf"](0.05 * data.X, 0.05 * data.X)
        start = smo.solve(
            DualProblem(PrecomputedRows(K), terms), Limits(tol=0.5, max_iter=int(rng.integers(1, 30)))
        ).beta
        beta, _, stop = active_set.minimise(terms, K, start, 0.05, nothing)
        if stop is None:
            converged += 1
            assert abs(beta.sum()) <= 1e-11 * np.abs(beta).sum()
    assert converged > 0


def test_rounding_ends_the_rounds(monkeypatch):
    monkeypatch.setattr(members, "FIRST", 100)
    data = zoo.classification(3, n=600)
    problem = DualProblem(ComputedRows(RBF, data.X, "float64"), losses.Hinge().dual(data.y, 1e4))
    solution = working_set.solve(problem, Limits(tol=1e-15, max_time=60.0), cache_size=0.1)
    assert solution.status is Status.STALLED
    assert solution.seconds < 30.0
