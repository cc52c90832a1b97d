"""What a fit promises: invariances, starts, caches, threads, exact zeros, singular data, scikit-learn's values."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm

import zoo
from maxmargin import kernels, losses
from maxmargin.problems import DualProblem, Terms, certificate, certify, fold
from maxmargin.rows.computed import ComputedRows
from maxmargin.rows.precomputed import PrecomputedRows
from maxmargin.solvers import smo
from maxmargin.solvers.loop import Limits, Status
from oracles import qp

RBF = kernels.Gaussian(0.5)
RULES = [("second-order", "two"), ("mvp", "two"), ("hmg", "two"), ("hmg", "one"), ("hmg", "all"), ("mg", "two")]


@pytest.fixture
def pairs_alone(monkeypatch):
    """Without the exact finish."""
    monkeypatch.setattr(smo, "SMALL", 0)


def fit(X, terms, limits=None, kernel=RBF, precision="float64", **options):
    return smo.solve(DualProblem(ComputedRows(kernel, X, precision), terms), limits or Limits(tol=1e-8), **options)


# ---- maximum gain may stick (Glasmachers & Igel 2006, Theorem 7) ----------------------------------------------------

FOUR_Q = np.array([[2, 3**0.5, 1, 3**0.5], [3**0.5, 4, 3**0.5, 3], [1, 3**0.5, 2, 3**0.5], [3**0.5, 3, 3**0.5, 4]])
FOUR_Y = np.array([-1.0, -1.0, 1.0, 1.0])


def four_points() -> DualProblem:
    """From 0 the first pair is {1, 3}, by the tie that all four share; no pair that keeps one of them gains."""
    return DualProblem(PrecomputedRows(FOUR_Q * np.outer(FOUR_Y, FOUR_Y)), losses.Hinge().dual(FOUR_Y, 0.1))


@pytest.mark.parametrize("rows", ["two", "one", "all"])
def test_maximum_gain_sticks_and_says_so(rows, pairs_alone):
    solution = smo.solve(four_points(), Limits(tol=1e-6), selection="mg", rows=rows)
    assert solution.status is Status.STALLED
    np.testing.assert_array_equal(FOUR_Y * solution.beta, [0.1, 0.0, 0.1, 0.0])
    assert solution.certificate.violation == pytest.approx(2 * (1 - 3**0.5 / 5))
    assert solution.certificate.gap > 0.1


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule[0] != "mg"])
def test_the_hybrid_does_not_stick(rule, pairs_alone):
    solution = smo.solve(four_points(), Limits(tol=1e-12), selection=rule[0], rows=rule[1])
    nu = (1 - 3**0.5 / 5) / 7  # where the gradient of the second pair vanishes
    assert solution.status is Status.CONVERGED
    np.testing.assert_allclose(FOUR_Y * solution.beta, [0.1, nu, 0.1, nu], rtol=1e-12)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_hybrid_is_itself_where_there_is_no_upper_bound(fit_intercept, pairs_alone):
    """A variable of the squared hinge is near its bounds at 0 only."""
    data = zoo.classification(seed=3, n=400, C=100.0)
    terms = losses.SquaredHinge().dual(data.y, data.C, fit_intercept=fit_intercept)
    steps = {s: fit(data.X, terms, Limits(tol=1e-4), selection=s).n_iter for s in ("mvp", "hmg")}
    assert steps["hmg"] < 0.8 * steps["mvp"]


# ---- degenerate data ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shrinking", ["bounds", "history", False])
@pytest.mark.parametrize("rule", RULES[:5])
@pytest.mark.parametrize(
    "name", ["hinge", "squared hinge", "epsilon", "epsilon zero", "pinball 0.1", "least squares", "huber"]
)
@pytest.mark.parametrize("rows", ["identical", "zero", "doubled"])
def test_directions_without_curvature(rows, name, rule, shrinking, pairs_alone):
    data = zoo.problem(name, seed=4, n=24, C=0.7)
    X = {"identical": np.ones((24, 2)), "zero": np.zeros((24, 2)), "doubled": np.repeat(data.X[:8], 3, axis=0)}[rows]
    terms = zoo.terms(name, data)
    solution = fit(X, terms, Limits(tol=1e-7), kernels.Linear(), selection=rule[0], rows=rule[1], shrinking=shrinking)
    assert solution.status is Status.CONVERGED
    K = X @ X.T
    best = qp.objective(K, terms, qp.solve(K, terms))
    assert -solution.certificate.dual == pytest.approx(best, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("name", list(zoo.REGRESSION))
def test_very_few_examples(name, n, fit_intercept):
    X, y = np.arange(1.0, n + 1)[:, None], np.array([2.0, -1.0, 0.5])[:n]
    terms = zoo.REGRESSION[name].dual(y, 1.5, fit_intercept=fit_intercept)
    solution = fit(X, terms)
    K = RBF.block(X, X)
    assert solution.status is Status.CONVERGED
    best = qp.objective(K, terms, qp.solve(K, terms)) if n > 1 or not fit_intercept else 0.0
    assert -solution.certificate.dual == pytest.approx(best, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("rule", RULES[:5])
@pytest.mark.parametrize("name", ["epsilon", "squared epsilon"])
def test_coefficients_inside_the_tube_are_exactly_zero(name, fit_intercept, rule, pairs_alone):
    data = zoo.regression(seed=3, n=60, C=5.0)
    loss = type(zoo.REGRESSION[name])(0.4)
    solution = fit(
        data.X,
        loss.dual(data.y, data.C, fit_intercept=fit_intercept),
        selection=rule[0],
        rows=rule[1],
        shrinking="history",
    )
    b = solution.certificate.intercepts[0] if fit_intercept else 0.0
    inside = np.abs(data.y - solution.f - b) < 0.4 - 1e-6
    assert 5 < inside.sum() < 60
    assert (solution.beta[inside] == 0).all()
    assert (solution.beta[np.abs(data.y - solution.f - b) > 0.4 + 1e-6] != 0).all()


@pytest.mark.parametrize("distance", [0.0, 1e-6])
@pytest.mark.parametrize("rule", [rule for rule in RULES if rule[0] != "mvp"])
def test_contradicting_neighbours_without_an_intercept_take_few_steps(rule, distance, pairs_alone):
    """Along such a pair Q has no curvature: variables one by one would take a number of steps in proportion to C."""
    data = zoo.classification(seed=4, n=40)
    X, y = np.concatenate([10 * data.X, 10 * data.X + distance]), np.concatenate([data.y, -data.y])
    terms = losses.Hinge().dual(y, 1e4, fit_intercept=False)
    solution = fit(X, terms, Limits(tol=1e-4, max_iter=500), selection=rule[0], rows=rule[1])
    assert solution.status is Status.CONVERGED


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_rows_of_maximum_gain_matter(fit_intercept, pairs_alone):
    data = zoo.classification(seed=3, n=300, C=10.0)
    terms = losses.Hinge().dual(data.y, data.C, fit_intercept=fit_intercept)
    found = [fit(data.X, terms, Limits(tol=1e-6), selection="hmg", rows=rows) for rows in ("one", "two", "all")]
    assert all(solution.status is Status.CONVERGED for solution in found)
    assert len({solution.n_iter for solution in found}) == 3


def test_eta_is_what_the_hybrid_falls_back_by(pairs_alone, monkeypatch):
    """Where every variable is near its bounds, the hybrid is the most violating pair."""
    data = zoo.classification(seed=3, n=300, C=10.0)
    terms = losses.Hinge().dual(data.y, data.C)

    def steps(selection):
        return fit(data.X, terms, Limits(tol=1e-6), selection=selection, shrinking=False).n_iter

    default, mvp = steps("hmg"), steps("mvp")
    assert default != mvp
    for eta, expected in ((1e-8, default), (1.0, mvp)):
        monkeypatch.setattr(smo, "ETA", eta)
        assert steps("hmg") == expected


def test_shrinking_by_history_waits_for_a_hundred_steps(pairs_alone):
    data = zoo.classification(seed=3, n=300, C=10.0)
    terms = losses.Hinge().dual(data.y, data.C)

    def entries(shrinking, max_iter):
        limits = Limits(tol=1e-6, max_iter=max_iter)
        return fit(data.X, terms, limits, shrinking=shrinking).counters["entries_computed"]

    assert entries("history", 99) == entries(False, 99)
    assert entries("history", 400) != entries(False, 400)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_rules_of_shrinking_differ(fit_intercept, pairs_alone, monkeypatch):
    """Looked at equally often, they remove different variables."""
    monkeypatch.setattr(smo, "_shrink_interval", lambda shrinking, n: 25 if shrinking else 0)
    data = zoo.classification(seed=3, n=300, C=10.0)
    terms = losses.Hinge().dual(data.y, data.C, fit_intercept=fit_intercept)
    found = [fit(data.X, terms, Limits(tol=1e-6), shrinking=rule) for rule in ("bounds", "history", False)]
    assert all(solution.status is Status.CONVERGED for solution in found)
    assert len({solution.counters["entries_computed"] for solution in found}) == 3


def test_a_sum_without_variables():
    terms = zoo.random_terms(3, m=12, groups=2, infinite=False)
    spare = Terms(terms.p, terms.lo, terms.hi, terms.d, terms.e, terms.group, np.append(terms.sums, 0.0))
    X = zoo.classification(seed=1, n=12).X
    with_spare, without = fit(X, spare, Limits(tol=1.0)), fit(X, terms)
    assert with_spare.status is Status.CONVERGED
    assert with_spare.certificate.dual == pytest.approx(without.certificate.dual, rel=1e-9)


def test_copies_whose_sums_cross_are_refused():
    """Copy c is group c: anything else would be solved under other sums."""
    group = np.array([0, 1] * 10)
    terms = Terms(np.ones(20), np.zeros(20), np.ones(20), np.zeros(20), np.zeros(20), group, np.array([2.0, 3.0]), 2)
    with pytest.raises(ValueError, match="copy c is group c"):
        fit(zoo.classification(seed=1, n=10).X, terms)


# ---- no optimum -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("name", ["squared hinge", "squared epsilon", "least squares", "least squares classification"])
def test_a_dual_without_end_says_so(name, alone, rule, fit_intercept, monkeypatch):
    """An indefinite kernel, and no bounds."""
    if alone:
        monkeypatch.setattr(smo, "SMALL", 0)
    data = zoo.problem(name, seed=5, n=40, C=100.0)
    terms = zoo.terms(name, data, fit_intercept=fit_intercept)
    kernel = kernels.Sigmoid(5.0, -2.0)
    solution = fit(data.X, terms, Limits(tol=1e-6, max_time=5.0), kernel, selection=rule[0], rows=rule[1])
    assert solution.status is Status.UNBOUNDED
    assert np.isfinite(solution.beta).all()
    assert solution.certificate.violation > 1e-6
    assert solution.certificate.gap > 0.5


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_hard_margin_that_nothing_keeps_says_so(fit_intercept, pairs_alone):
    y = np.array([1.0, -1.0, 1.0, -1.0])
    X = np.array([[0.0], [0.0], [1.0], [2.0]])
    solution = fit(X, losses.Hinge().dual(y, np.inf, fit_intercept=fit_intercept), Limits(max_time=5.0))
    assert solution.status is Status.UNBOUNDED
    assert np.isfinite(solution.beta).all()


def test_kernel_values_that_overflow_beside_the_diagonal():
    K = np.eye(20)
    K[3, 4] = K[4, 3] = 1e200
    problem = DualProblem(PrecomputedRows(K, "float32"), losses.Hinge().dual(zoo.classification(seed=1, n=20).y, 1.0))
    with pytest.raises(ValueError, match="kernel value that is infinite or NaN in float32"):
        smo.solve(problem)


def test_a_wide_tube_leaves_nothing():
    data = zoo.regression(seed=3, n=20)
    solution = fit(data.X, losses.EpsilonInsensitive(100.0).dual(data.y, 1.0))
    np.testing.assert_array_equal(solution.beta, np.zeros(20))
    assert solution.certificate.gap == 0


# ---- starts ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*zoo.LOSSES, *zoo.NU])
def test_warm_starts_end_where_cold_ones_do(name, pairs_alone):
    data = zoo.problem(name, seed=6, n=50, C=1.0)
    terms, other = zoo.terms(name, data), zoo.terms(name, zoo.Problem(data.X, data.y, 1.5 * data.C))
    cold, neighbour = fit(data.X, terms), fit(data.X, other)
    for start in (cold.beta, neighbour.beta, 5 * neighbour.beta + 1.0, np.full(terms.m, -3.0)):
        warm = fit(data.X, terms, start=start, shrinking="history")
        assert warm.status is Status.CONVERGED
        assert warm.certificate.dual == pytest.approx(cold.certificate.dual, rel=1e-7, abs=1e-8)
        assert ((warm.beta >= terms.lo) & (warm.beta <= terms.hi)).all()
        for _, total, members in terms.groups():
            assert warm.beta[members].sum() == pytest.approx(total, abs=1e-11)


@pytest.mark.parametrize("small", [0, smo.SMALL])
@pytest.mark.parametrize("name", ["hinge", "squared hinge", "squared epsilon", "least squares", *zoo.NU])
def test_the_sums_of_a_far_start_are_kept(name, small, monkeypatch):
    """What rounding took from the sums while the coefficients were large would be much of the small ones."""
    monkeypatch.setattr(smo, "SMALL", small)
    data = zoo.problem(name, seed=6, n=50, C=1e-6)
    terms = zoo.terms(name, data)
    start = 1e4 * np.random.default_rng(0).normal(size=terms.m)
    solution = fit(data.X, terms, Limits(tol=1e-6), start=start)
    assert solution.status is Status.CONVERGED
    for _, total, members in terms.groups():
        assert abs(math.fsum(solution.beta[members]) - total) <= 1e-14 * np.abs(solution.beta[members]).sum()


def test_the_sum_is_kept_over_many_steps(pairs_alone):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 6)), np.where(rng.random(300) < 0.5, 1.0, -1.0)
    terms = losses.Hinge().dual(y, 1e6)
    solution = fit(X, terms, Limits(tol=1e-10, max_iter=200_000), kernels.Gaussian(0.01), shrinking=False)
    assert abs(math.fsum(solution.beta)) <= 4 * np.spacing(np.abs(solution.beta).max())


def test_an_optimal_start_stays():
    data = zoo.classification(seed=6, n=50)
    terms = zoo.terms("hinge", data)
    optimum = fit(data.X, terms)
    again = fit(data.X, terms, start=optimum.beta)
    np.testing.assert_array_equal(again.beta == 0, optimum.beta == 0)
    np.testing.assert_allclose(again.beta, optimum.beta, atol=1e-12)


@pytest.mark.parametrize(
    ("start", "message"), [(np.zeros(3), r"beta has shape \(3,\)"), (np.full(50, np.nan), r"beta\[0\] is nan")]
)
def test_starts_that_are_none(start, message):
    data = zoo.classification(seed=6, n=50)
    with pytest.raises(ValueError, match=message):
        fit(data.X, zoo.terms("hinge", data), start=start)


# ---- invariances ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*zoo.LOSSES, *zoo.NU])
def test_the_order_of_the_examples_does_not_matter(name, pairs_alone):
    data = zoo.problem(name, seed=7, n=40, weighted=True)
    order = np.random.default_rng(0).permutation(40)
    first = fit(data.X, zoo.terms(name, data))
    second = fit(data.X[order], zoo.terms(name, zoo.Problem(data.X[order], data.y[order], data.C[order])))
    assert second.certificate.dual == pytest.approx(first.certificate.dual, rel=1e-7, abs=1e-9)
    np.testing.assert_allclose(second.f, first.f[order], atol=1e-6)


@pytest.mark.parametrize("name", [*zoo.LOSSES, *zoo.NU])
def test_a_weight_of_two_is_a_second_copy(name):
    data = zoo.problem(name, seed=8, n=30)
    twice = np.arange(30) % 3 == 0
    weighted = fit(data.X, zoo.terms(name, zoo.Problem(data.X, data.y, data.C * (1 + twice))))
    X, y, C = (np.concatenate([a, a[twice]]) for a in (data.X, data.y, data.C))
    repeated = fit(X, zoo.terms(name, zoo.Problem(X, y, C)))
    assert weighted.certificate.dual == pytest.approx(repeated.certificate.dual, rel=1e-9)
    np.testing.assert_allclose(weighted.f, repeated.f[:30], atol=1e-5)


@pytest.mark.parametrize("scale", [1e-4, 0.5, 1e3])
@pytest.mark.parametrize("name", ["hinge", "squared hinge", "epsilon", "pinball 0.1"])
def test_a_multiple_of_the_kernel_is_a_multiple_of_C(name, scale):
    """(s K, C) and (K, s C): beta s-fold, f the same, objectives s-fold."""
    data = zoo.problem(name, seed=9, n=35)
    first = fit(data.X, zoo.terms(name, data), kernel=scale * RBF)
    second = fit(data.X, zoo.terms(name, zoo.Problem(data.X, data.y, scale * data.C)))
    assert second.certificate.dual == pytest.approx(scale * first.certificate.dual, rel=1e-8)
    np.testing.assert_allclose(second.f, first.f, atol=1e-6)


# ---- cache, threads, precision --------------------------------------------------------------------------------------


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("shrinking", ["bounds", "history", False])
@pytest.mark.parametrize("rule", RULES[:5])
@pytest.mark.parametrize("name", ["hinge", "epsilon", "nu regression", "nu classification"])
def test_the_least_cache_serves_as_the_largest(name, rule, shrinking, precision, pairs_alone):
    data = zoo.problem(name, seed=1, n=150, C=4.0)
    terms = zoo.terms(name, data)
    options = {"selection": rule[0], "rows": rule[1], "shrinking": shrinking, "precision": precision}
    least = fit(data.X, terms, Limits(tol=1e-5), cache_size=1e-9, **options)
    largest = fit(data.X, terms, Limits(tol=1e-5), cache_size=64, **options)
    assert least.status is largest.status is Status.CONVERGED
    assert least.certificate.dual == pytest.approx(largest.certificate.dual, rel=1e-6)
    row_bytes = 160 * np.dtype(precision).itemsize
    assert least.counters["cache_bytes"] <= 4 * row_bytes
    assert largest.counters["cache_bytes"] <= 154 * row_bytes
    assert least.counters["rows_computed"] > largest.counters["rows_computed"]
    proved = certificate(terms, least.beta, RBF.block(data.X, data.X) @ fold(terms, least.beta))
    assert proved.gap < (1e-4 if precision == "float64" else 1e-3)


@pytest.mark.parametrize("cache_size", [0, -1, "big", float("nan")])
def test_cache_sizes_that_are_none(cache_size):
    data = zoo.classification(seed=1)
    with pytest.raises(ValueError, match='it must be a positive number of megabytes or "auto"'):
        fit(data.X, zoo.terms("hinge", data), cache_size=cache_size)


def test_threads_do_not_change_the_solution(pairs_alone):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 9000)) / 95
    y = np.where(X[:, :50].sum(axis=1) > 0, 1.0, -1.0)
    terms = losses.Hinge().dual(y, 10.0)
    one, two = (fit(X, terms, Limits(tol=1e-6), kernels.Gaussian(1.0), n_jobs=n_jobs) for n_jobs in (1, 2))
    assert one.certificate.dual == pytest.approx(two.certificate.dual, rel=1e-9)
    np.testing.assert_allclose(one.f, two.f, atol=1e-5)


@pytest.mark.parametrize("C", [1.0, 100.0])
@pytest.mark.parametrize("name", ["hinge", "epsilon", "squared hinge", "least squares"])
def test_the_optimum_lies_within_the_certificate_of_float32_rows(name, C, pairs_alone):
    data = zoo.problem(name, seed=1, n=200, C=C)
    terms = zoo.terms(name, data)
    proved = fit(data.X, terms, Limits(tol=1e-4), precision="float32").certificate
    optimum = fit(data.X, terms, Limits(tol=1e-9)).certificate.dual
    assert proved.dual <= optimum * (1 + 1e-12)
    assert proved.primal >= optimum * (1 - 1e-12)
    assert proved.gap == pytest.approx((proved.primal - proved.dual) / proved.primal, abs=1e-12)


@pytest.mark.parametrize("kernel", [kernels.Gaussian(0.5), kernels.Matern32(0.5), kernels.Laplacian(0.5)])
@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("offset", [0.0, 10.0, 300.0])
def test_the_certificate_of_float32_rows_knows_what_distances_lose(offset, sparse, kernel, pairs_alone):
    """Far from 0 and not centred, as mostly zero data are not."""
    rng = np.random.default_rng(0)
    X = np.zeros((300, 40))
    X[:, :3] = rng.normal(size=(300, 3)) + offset
    y = np.where(X[:, 0] - offset + 0.5 * rng.normal(size=300) > 0, 1.0, -1.0)
    rows = ComputedRows(kernel, sp.csr_array(X) if sparse else X, "float32")
    problem = DualProblem(rows, losses.Hinge().dual(y, 10.0))
    solution = smo.solve(problem, Limits(tol=1e-2))
    proved = certify(problem, solution.beta)
    assert solution.certificate.gap >= proved.gap
    if offset == 300 and not isinstance(kernel, kernels.Laplacian):
        assert solution.status is Status.STALLED
        return
    assert solution.status is Status.CONVERGED
    assert proved.violation < 3e-2
    assert solution.certificate.dual <= proved.dual
    assert solution.certificate.primal >= proved.primal


@pytest.mark.parametrize(
    ("share", "features", "selection", "gain_rows"),
    [
        (0.01, 200, "hmg", "one"),
        (0.01, 20, "second-order", "two"),
        (0.2, 200, "second-order", "two"),
        (1.0, 20, "second-order", "two"),
    ],
)
def test_few_dear_rows_want_hmg_and_all_others_second_order(share, features, selection, gain_rows, monkeypatch):
    """The rule of selection="auto", and that it is followed: HMG takes more steps and computes fewer rows."""
    monkeypatch.setattr(smo, "PATIENCE", np.inf)  # the finish would come after a time, not after so many steps
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, features))
    rows = ComputedRows(kernels.Gaussian(1 / features), X)
    assert smo.choose_selection(rows, share) == (selection, gain_rows)
    terms = losses.Hinge().dual(np.where(X[:, 0] + X[:, 1] ** 2 > 1, 1.0, -1.0), 10.0)
    options = {"cache_size": share * 4 * 800**2 / 2**20, "shrinking": False}
    steps = {
        (s, r): smo.solve(DualProblem(rows, terms), Limits(), selection=s, rows=r, **options).n_iter
        for s, r in (("auto", "two"), ("second-order", "two"), ("hmg", "one"))
    }
    assert steps["auto", "two"] == steps[selection, gain_rows]
    assert steps["hmg", "one"] != steps["second-order", "two"]


@pytest.mark.parametrize(("share", "cost"), [(0.049, 100), (0.051, 100), (0.049, 99), (0.051, 99)])
def test_where_rows_begin_to_be_few_and_dear(share, cost):
    rows = PrecomputedRows(np.eye(2))
    rows.entry_cost = cost
    expected = ("hmg", "one") if share < 0.05 and cost >= 100 else ("second-order", "two")
    assert smo.choose_selection(rows, share) == expected


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (
            {"selection": "best"},
            "selection is 'best', but it must be one of 'auto', 'second-order', 'mvp', 'mg', 'hmg'",
        ),
        ({"rows": "three"}, "rows is 'three', but it must be one of 'two', 'one', 'all'"),
        ({"shrinking": "always"}, "shrinking is 'always', but it must be one of False, 'bounds', 'history'"),
    ],
)
def test_options_that_are_none(option, message):
    data = zoo.classification(seed=1)
    with pytest.raises(ValueError, match=message):
        fit(data.X, zoo.terms("hinge", data), **option)


def test_rows_and_terms_of_different_sizes():
    with pytest.raises(ValueError, match="K has 30 rows, but the terms are for 29"):
        DualProblem(ComputedRows(RBF, np.zeros((30, 1))), losses.LeastSquares().dual(np.zeros(29), 1.0))


# ---- scikit-learn ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("nu", [0.1, 0.5, 0.9])
def test_nu_regression_is_scikit_learns(nu):
    data = zoo.regression(seed=2, n=60, C=2.0)
    solution = fit(data.X, losses.NuRegression(nu).dual(data.y, data.C))
    peer = svm.NuSVR(nu=nu, C=2.0, gamma=0.5, tol=1e-9).fit(data.X, data.y)
    np.testing.assert_allclose(solution.f + solution.certificate.intercepts.mean(), peer.predict(data.X), atol=1e-5)


@pytest.mark.parametrize("nu", [0.1, 0.4, 0.7])
def test_nu_classification_is_scikit_learns(nu):
    data = zoo.classification(seed=2, n=60)
    solution = fit(data.X, losses.NuClassification(nu).dual(data.y, data.C))
    rising, falling = solution.certificate.intercepts
    values = (solution.f + (rising + falling) / 2) / ((falling - rising) / 2)
    peer = svm.NuSVC(nu=nu, gamma=0.5, tol=1e-9).fit(data.X, data.y)
    np.testing.assert_allclose(values, peer.decision_function(data.X), atol=1e-4)


@pytest.mark.parametrize("nu", [0.05, 0.5, 0.9])
def test_one_class_is_scikit_learns(nu):
    data = zoo.classification(seed=2, n=60)
    solution = fit(data.X, losses.OneClass(nu).dual(data.C))
    peer = svm.OneClassSVM(nu=nu, gamma=0.5, tol=1e-9).fit(data.X)
    np.testing.assert_allclose(solution.f, peer.score_samples(data.X), atol=1e-5)
    values = solution.f + solution.certificate.intercepts[0]
    np.testing.assert_allclose(values, peer.decision_function(data.X), atol=1e-5)


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_classification_and_regression_are_scikit_learns(C):
    data = zoo.classification(seed=2, n=80, weighted=True)
    solution = fit(data.X, losses.Hinge().dual(data.y, C * data.C))
    peer = svm.SVC(C=C, gamma=0.5, tol=1e-9).fit(data.X, data.y, sample_weight=data.C)
    values = solution.f + solution.certificate.intercepts[0]
    np.testing.assert_allclose(values, peer.decision_function(data.X), atol=1e-5)
    data = zoo.regression(seed=2, n=80)
    solution = fit(data.X, losses.EpsilonInsensitive(0.1).dual(data.y, C))
    peer = svm.SVR(C=C, gamma=0.5, epsilon=0.1, tol=1e-9).fit(data.X, data.y)
    np.testing.assert_allclose(solution.f + solution.certificate.intercepts[0], peer.predict(data.X), atol=1e-5)
