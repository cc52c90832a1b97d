"""Large working sets reach the optimum that pairs reach, whatever the sets' sizes, the rows' store and the threads."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import zoo
from maxmargin import SVC, kernels, losses
from maxmargin.problems import DualProblem, certify, fold
from maxmargin.rows.computed import ComputedRows
from maxmargin.rows.precomputed import PrecomputedRows
from maxmargin.solvers import members, smo, working_set
from maxmargin.solvers.loop import Limits, Status

RBF = kernels.Gaussian(0.5)
LOSSES = [*zoo.LOSSES, *zoo.NU]


@pytest.fixture
def small_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many rounds also of small problems."""
    for name, value in {"FIRST": 12, "ROOM_BESIDE": 8, "LEAST_EXCHANGE": 6}.items():
        monkeypatch.setattr(members, name, value)


def check(problem: DualProblem, solution, best, tol: float = 1e-6) -> None:
    """Converged, feasible, f = K beta, and the objective of the best."""
    terms = problem.terms
    assert solution.status is Status.CONVERGED
    assert ((solution.beta >= terms.lo) & (solution.beta <= terms.hi)).all()
    for _, total, mine in terms.groups():
        assert abs(solution.beta[mine].sum() - total) <= 1e-11 * max(np.abs(solution.beta[mine]).sum(), abs(total))
    K = problem.rows.block(np.arange(terms.n)).astype(float)
    f = K @ fold(terms, solution.beta)
    np.testing.assert_allclose(solution.f, f, atol=1e-9 * max(1.0, np.abs(f).max()))
    assert certify(problem, solution.beta).violation <= 1.1 * tol
    assert solution.certificate.dual == pytest.approx(best.certificate.dual, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.usefixtures("small_sets")
def test_every_loss(name, fit_intercept):
    data = zoo.problem(name, seed=3, n=120, C=2.0, weighted=True)
    terms = zoo.terms(name, data, fit_intercept)
    problem = DualProblem(ComputedRows(RBF, data.X, "float64"), terms)
    best = smo.solve(problem, Limits(tol=1e-9))
    check(problem, working_set.solve(problem, Limits(tol=1e-6)), best)


@pytest.mark.parametrize("n", [2, 3, 13, 60])
@pytest.mark.usefixtures("small_sets")
def test_sizes(n):
    data = zoo.classification(1, n=n)
    problem = DualProblem(ComputedRows(RBF, data.X, "float64"), losses.Hinge().dual(data.y, 3.0))
    check(problem, working_set.solve(problem, Limits(tol=1e-6)), smo.solve(problem, Limits(tol=1e-9)))


@pytest.mark.parametrize(
    "kernel", [kernels.Linear(), kernels.Polynomial(2, 0.5, 1.0), kernels.Laplacian(0.3), RBF * RBF]
)
@pytest.mark.usefixtures("small_sets")
def test_kernels(kernel):
    data = zoo.classification(2, n=150)
    problem = DualProblem(ComputedRows(kernel, data.X, "float64"), losses.Hinge().dual(data.y, 1.0))
    check(problem, working_set.solve(problem, Limits(tol=1e-6)), smo.solve(problem, Limits(tol=1e-9)))


@pytest.mark.usefixtures("small_sets")
def test_sources_of_rows_agree():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, size=(300, 20)) * (rng.random((300, 20)) < 0.3) * 1.0
    y = np.where(X[:, 0] + X[:, 1] + rng.normal(size=300) > 1, 1.0, -1.0)
    terms = losses.Hinge().dual(y, 1.0)
    kernel = kernels.Gaussian(0.05)
    limits = Limits(tol=1e-7)
    best = smo.solve(DualProblem(ComputedRows(kernel, X, "float64"), terms), Limits(tol=1e-9))
    for rows in (
        ComputedRows(kernel, X, "float64"),
        ComputedRows(kernel, X + 1e-9 * rng.normal(size=X.shape), "float64"),  # no integers
        ComputedRows(kernel, sp.csr_array(X), "float64"),
        PrecomputedRows(kernel.block(X, X)),
    ):
        check(DualProblem(rows, terms), working_set.solve(DualProblem(rows, terms), limits), best)


@pytest.mark.parametrize("cache_size", [1e-9, 0.05, 100.0])
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.usefixtures("small_sets")
def test_budgets_and_threads(cache_size, n_jobs):
    data = zoo.classification(4, n=400)
    problem = DualProblem(ComputedRows(RBF, data.X, "float64"), losses.Hinge().dual(data.y, 1.0))
    solution = working_set.solve(problem, Limits(tol=1e-6), cache_size=cache_size, n_jobs=n_jobs)
    check(problem, solution, smo.solve(problem, Limits(tol=1e-9)))
    assert solution.counters["rows_computed"] > 0


@pytest.mark.usefixtures("small_sets")
def test_warm_start():
    data = zoo.regression(5, n=300)
    problem = DualProblem(ComputedRows(RBF, data.X, "float64"), losses.EpsilonInsensitive(0.1).dual(data.y, 1.0))
    cold = working_set.solve(problem, Limits(tol=1e-6))
    warm = working_set.solve(problem, Limits(tol=1e-6), start=cold.beta)
    check(problem, warm, cold)
    assert warm.n_iter < cold.n_iter / 4
    far = working_set.solve(problem, Limits(tol=1e-6), start=np.full(300, 100.0))
    check(problem, far, cold)


def test_larger_than_the_first_working_set():
    data = zoo.classification(6, n=5000)
    problem = DualProblem(ComputedRows(RBF, data.X), losses.Hinge().dual(data.y, 1.0))
    solution = working_set.solve(problem)
    assert solution.status is Status.CONVERGED
    assert certify(problem, solution.beta).violation <= 1.1e-3
    best = smo.solve(problem, Limits(tol=1e-3))
    assert solution.certificate.dual == pytest.approx(best.certificate.dual, rel=1e-3)


@pytest.mark.parametrize(
    ("limits", "status"),
    [
        (Limits(tol=1e-9, max_iter=50), Status.MAX_ITER),
        (Limits(tol=1e-9, max_time=0.0), Status.MAX_TIME),
        (Limits(tol=1e-9, callback=lambda state: True), Status.STOPPED),
    ],
)
def test_limits(limits, status):
    data = zoo.classification(7, n=3000)
    problem = DualProblem(ComputedRows(RBF, data.X), losses.Hinge().dual(data.y, 100.0))
    solution = working_set.solve(problem, limits)
    assert solution.status is status
    f = problem.rows.apply(solution.beta)
    np.testing.assert_allclose(solution.f, f, atol=1e-9 * np.abs(f).max())


@pytest.mark.parametrize("inner", ["pair", "projection", "interior"])
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.usefixtures("small_sets")
def test_inner_solvers(name, inner):
    data = zoo.problem(name, seed=8, n=100, C=1.0, weighted=True)
    problem = DualProblem(ComputedRows(RBF, data.X, "float64"), zoo.terms(name, data))
    solution = working_set.solve(problem, Limits(tol=1e-5), inner=inner)
    check(problem, solution, smo.solve(problem, Limits(tol=1e-9)), tol=1e-5)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(("size", "new"), [(2, 2), (10, None), (10, 4), (60, 20), (500, 100)])
@pytest.mark.parametrize(
    "name", ["hinge", "squared hinge", "epsilon", "nu classification", "nu regression", "one-class"]
)
def test_svm_light(name, size, new, fit_intercept):
    data = zoo.problem(name, seed=9, n=150, C=1.0)
    problem = DualProblem(ComputedRows(RBF, data.X, "float64"), zoo.terms(name, data, fit_intercept))
    options = {"working_set_size": size, "new_variables": new, "half_cached": size == 10, "cache_size": 0.1}
    solution = working_set.solve(problem, Limits(tol=1e-5), **options)
    check(problem, solution, smo.solve(problem, Limits(tol=1e-9)), tol=1e-5)
    assert solution.trace["active"].max() <= size


def test_larger_sets_take_fewer_rounds():
    data = zoo.classification(10, n=1200)
    problem = DualProblem(ComputedRows(RBF, data.X, "float64"), losses.Hinge().dual(data.y, 1.0))
    rounds = []
    for size in (10, 100, 400):
        solution = working_set.solve(problem, Limits(tol=1e-3), working_set_size=size, inner="projection")
        assert solution.status is Status.CONVERGED
        rounds.append(np.count_nonzero(~np.isnan(solution.trace["violation"])))
    assert rounds == sorted(rounds, reverse=True)
    assert rounds[2] < rounds[0] / 4


def test_new_members_have_stored_rows_where_that_is_asked():
    data = zoo.classification(11, n=600)
    problem = DualProblem(ComputedRows(RBF, data.X, "float64"), losses.Hinge().dual(data.y, 10.0))
    counted = [
        working_set.solve(problem, working_set_size=10, half_cached=half, cache_size=0.5).counters["rows_computed"]
        for half in (False, True)
    ]
    assert counted[1] < counted[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"inner": "simplex"}, "inner is 'simplex', but it must be one of 'pair', 'projection', 'interior'"),
        ({"working_set_size": 1}, "working_set_size is 1, but a step takes two variables"),
        ({"working_set_size": 10, "new_variables": 12}, "new_variables is 12, but it must be from 2 to 10"),
        ({"new_variables": 12}, "new_variables and half_cached are for a working_set_size"),
    ],
)
def test_refusals(options, message):
    with pytest.raises(ValueError, match=message):
        working_set.WorkingSet(**options)


def test_estimators_take_a_working_set():
    data = zoo.classification(12, n=300)
    solver = working_set.WorkingSet(working_set_size=20, inner="interior")
    model = SVC(solver=solver, gamma=0.5).fit(data.X, data.y)
    best = SVC(gamma=0.5).fit(data.X, data.y)
    assert model.status_ == "converged"
    assert model.dual_objective_ == pytest.approx(best.dual_objective_, rel=1e-4)
    with pytest.raises(ValueError, match="selection='mvp' is for the pair solver"):
        SVC(solver=solver, selection="mvp").fit(data.X, data.y)
