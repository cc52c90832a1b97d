"""The exact finish: to rounding from a rough start, whatever the loss and however degenerate the problem."""

from __future__ import annotations

import numpy as np
import pytest

import zoo
from maxmargin import kernels
from maxmargin.losses import LeastSquares
from maxmargin.problems import DualProblem, certificate, feasible_start, violation
from maxmargin.rows.computed import ComputedRows
from maxmargin.rows.precomputed import PrecomputedRows
from maxmargin.solvers import smo
from maxmargin.solvers.finish import _Walk, finish
from maxmargin.solvers.loop import Limits, Status
from oracles import qp

CASES = [*((n, True) for n in [*zoo.LOSSES, *zoo.NU]), *((n, False) for n in zoo.LOSSES)]


def rough(problem: DualProblem, tol: float, monkeypatch) -> np.ndarray:
    """Where the pairs alone end."""
    with monkeypatch.context() as patch:
        patch.setattr(smo, "SMALL", 0)
        return smo.solve(problem, Limits(tol=tol)).beta


def gradient_scale(K, terms, beta) -> float:
    """The size of what a gradient is the sum of; its rounding is a share of it."""
    return (np.abs(K) @ np.abs(beta).reshape(terms.copies, -1).sum(axis=0)).max() + np.abs(terms.p).max()


def check_feasible(terms, beta):
    assert ((beta >= terms.lo) & (beta <= terms.hi)).all()
    for _, total, members in terms.groups():
        assert abs(beta[members].sum() - total) <= 1e-12 * max(np.abs(beta[members]).sum(), abs(total))


@pytest.mark.parametrize("tol", [0.1, 1e-3])
@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "laplacian"])
@pytest.mark.parametrize(("name", "fit_intercept"), CASES)
def test_finish_reaches_rounding(name, fit_intercept, kernel, C, tol, monkeypatch):
    data = zoo.problem(name, seed=3, n=60, C=C, weighted=True)
    terms = zoo.terms(name, data, fit_intercept=fit_intercept)
    K = zoo.KERNELS[kernel](data.X, data.X)
    problem = DualProblem(PrecomputedRows(K), terms)
    start = rough(problem, tol, monkeypatch)
    beta, f = finish(problem, start)
    check_feasible(terms, beta)
    assert violation(terms, beta, f) <= 1e-11 * gradient_scale(K, terms, beta)
    assert qp.objective(K, terms, beta) <= qp.objective(K, terms, start) + 1e-12 * abs(certificate(terms, beta, f).dual)


@pytest.mark.parametrize(("name", "fit_intercept"), CASES)
def test_finish_from_the_first_feasible_point_is_no_worse(name, fit_intercept):
    data = zoo.problem(name, seed=5, n=40, C=2.0)
    terms = zoo.terms(name, data, fit_intercept=fit_intercept)
    K = zoo.KERNELS["rbf"](data.X, data.X)
    start = feasible_start(terms)
    beta, f = finish(DualProblem(PrecomputedRows(K), terms), start)
    check_feasible(terms, beta)
    assert violation(terms, beta, f) <= violation(terms, start, K @ start.reshape(terms.copies, -1).sum(axis=0))


@pytest.mark.parametrize("rows", ["identical", "zero", "doubled", "few dimensions"])
@pytest.mark.parametrize(("name", "fit_intercept"), CASES)
def test_finish_of_singular_problems(name, fit_intercept, rows, monkeypatch):
    data = zoo.problem(name, seed=4, n=30, C=5.0)
    X = {
        "identical": np.ones((30, 1)),
        "zero": np.zeros((30, 1)),
        "doubled": np.repeat(data.X[:10], 3, axis=0),
        "few dimensions": data.X[:, :1],
    }[rows]
    terms = zoo.terms(name, data, fit_intercept=fit_intercept)
    problem = DualProblem(ComputedRows(kernels.Linear(), X, "float64"), terms)
    start = rough(problem, 1e-2, monkeypatch)
    beta, f = finish(problem, start)
    check_feasible(terms, beta)
    assert violation(terms, beta, f) <= 1e-11 * gradient_scale(X @ X.T, terms, beta)


@pytest.mark.parametrize("seed", range(8))
def test_finish_keeps_the_sums_where_free_variables_are_dependent(seed, monkeypatch):
    """More free variables than dimensions: the Newton system is singular, and has no solution before the optimum."""
    data = zoo.classification(seed, n=24, C=10.0)
    terms = zoo.terms("hinge", data)
    problem = DualProblem(ComputedRows(kernels.Linear(), data.X, "float64"), terms)
    beta, f = finish(problem, rough(problem, 0.3, monkeypatch))
    check_feasible(terms, beta)
    assert certificate(terms, beta, f).gap < 1e-12


@pytest.mark.parametrize("seed", range(6))
def test_kernels_that_are_not_positive_return_the_best_point(seed):
    data = zoo.classification(seed, n=50, C=3.0)
    terms = zoo.terms("hinge", data)
    problem = DualProblem(ComputedRows(kernels.Sigmoid(0.8, -0.5), data.X, "float64"), terms)
    solution = smo.solve(problem, Limits(tol=1e-3, max_iter=200_000))
    assert solution.status is Status.CONVERGED
    check_feasible(terms, solution.beta)
    assert solution.certificate.violation <= 1e-3
    assert np.isfinite([solution.certificate.primal, solution.certificate.dual, *solution.f]).all()


def test_finish_ends_where_only_rounding_moves(monkeypatch):
    random = np.random.RandomState(0)
    X = random.standard_normal((60, 3))
    y = X[:, 0] + 0.1 * random.standard_normal(60)
    problem = DualProblem(ComputedRows(kernels.Linear(), X, "float64"), LeastSquares().dual(y, 1e6))
    rounds = []
    step = _Walk.step
    monkeypatch.setattr(_Walk, "step", lambda walk: rounds.append(walk) or step(walk))
    solution = smo.solve(problem, Limits())
    assert solution.status is Status.CONVERGED
    assert len(rounds) <= 20
