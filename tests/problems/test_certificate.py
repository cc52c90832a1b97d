"""The certificate: never too good, exact at the optimum, and equal to the objectives written out."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import zoo
from maxmargin import losses
from maxmargin.kernels import Gaussian
from maxmargin.problems import DualProblem, Terms, certificate, certify, feasible_start, fold, project, violation
from maxmargin.rows.computed import ComputedRows
from oracles import pair, primal, qp

EVERY = [*zoo.LOSSES, *zoo.NU]


class Rows:
    """Rows of a stored K that answer in float32 until they are asked for more."""

    def __init__(self, K, precision="float32"):
        self.K, self.n, self.precision = K, len(K), precision

    def with_precision(self, precision):
        return Rows(self.K, precision)

    def apply(self, coef, n_jobs=None):
        return (self.K.astype(self.precision) @ coef.astype(self.precision)).astype(np.float64)


def case(name, seed, fit_intercept=True, kernel="rbf", n=20):
    data = zoo.problem(name, seed=seed, n=n, weighted=True)
    return zoo.KERNELS[kernel](data.X, data.X), zoo.terms(name, data, fit_intercept), data


def test_no_matrix_is_made():
    """K has 200 MB, what is held of it at a time 32."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 3))
    problem = DualProblem(ComputedRows(Gaussian(0.5), X), losses.LeastSquares().dual(X[:, 0], 1.0))
    beta = rng.normal(size=5000)
    tracemalloc.start()
    proved = certify(problem, beta - beta.mean())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 80e6
    assert np.isfinite(proved.primal)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("name", EVERY)
def test_gap_bounds_the_distance_to_the_optimum(name, fit_intercept):
    K, T, data = case(name, 7, fit_intercept)
    optimum = -qp.objective(K, T, qp.solve(K, T))
    rng = np.random.default_rng(0)
    start = project(T, rng.normal(size=T.m))
    for share in (1.0, 0.1, 1e-3, 0.0):
        beta = (1 - share) * pair.solve(K, T, tol=1e-8) + share * start
        found = certificate(T, beta, K @ fold(T, beta))
        slack = 1e-8 * abs(optimum)
        assert found.dual <= optimum + slack
        assert found.primal >= optimum - slack
        assert found.gap == pytest.approx((found.primal - found.dual) / max(abs(found.primal), abs(found.dual)))
    assert found.gap < 1e-7


@given(seed=st.integers(0, 2**32 - 1), name=st.sampled_from(EVERY), fit_intercept=st.booleans(), big=st.booleans())
@settings(deadline=None, max_examples=80)
def test_any_feasible_point_certifies_any_other(seed, name, fit_intercept, big):
    K, T, _ = case(name, seed % 1000, fit_intercept)
    rng = np.random.default_rng(seed)
    points = [project(T, (100.0 if big else 0.5) * rng.normal(size=T.m)) for _ in range(2)]
    found = [certificate(T, beta, K @ fold(T, beta)) for beta in points]
    # Weak duality: the primal of one is never below the dual of the other.
    for a in found:
        for b in found:
            assert a.primal >= b.dual - 1e-9 * max(abs(a.primal), abs(b.dual))
        assert a.gap >= 0


@pytest.mark.parametrize("name", zoo.NU)
def test_primal_of_the_nu_problems_is_their_textbook_objective(name):
    K, T, data = case(name, 3)
    beta = project(T, np.random.default_rng(1).normal(size=T.m))
    f = K @ fold(T, beta)
    found = certificate(T, beta, f)
    b, nu, C = found.intercepts, zoo.NU[name].nu, data.C
    norm = 0.5 * fold(T, beta) @ f
    if name == "nu classification":
        centre, rho = (b[0] + b[1]) / 2, (b[1] - b[0]) / 2
        expected = norm + C @ np.maximum(0, rho - data.y * (f + centre)) - rho * nu * C.sum()
    elif name == "nu regression":
        centre, epsilon = (b[0] + b[1]) / 2, (b[0] - b[1]) / 2
        r = data.y - f - centre
        over, under = np.maximum(0, r - epsilon), np.maximum(0, -r - epsilon)
        expected = norm + C @ (over + under) + epsilon * nu * C.sum()
    else:
        expected = norm + C @ np.maximum(0, -b[0] - f) + b[0] * nu * C.sum()
    assert found.primal == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", zoo.FIVE_POINTS)
def test_solutions_by_hand_have_no_gap(name):
    known = zoo.FIVE_POINTS[name]
    T = known.loss.dual(zoo.FIVE_Y, known.C)
    found = certificate(T, known.beta, zoo.FIVE_X @ zoo.FIVE_X.T @ known.beta)
    assert found.gap < 1e-14
    assert found.violation < 1e-12
    assert found.intercepts[0] == pytest.approx(known.intercept)


@pytest.mark.parametrize("name", zoo.KNOWN)
def test_known_optima_lie_between_dual_and_primal(name):
    from sklearn.svm import SVC, SVR

    known = zoo.KNOWN[name]
    X, y = known.load()
    T = known.loss.dual(y, known.C)
    extra = {"epsilon": known.loss.epsilon} if known.loss != losses.Hinge() else {}
    model = (SVR if extra else SVC)(C=known.C, gamma=known.gamma, tol=1e-6, **extra).fit(X, y)
    beta = np.zeros(T.m)
    beta[model.support_] = model.dual_coef_[0]
    beta = project(T, beta)
    squares = (X**2).sum(axis=1)
    K = np.exp(-known.gamma * (squares[:, None] + squares - 2.0 * X @ X.T))
    found = certificate(T, beta, K @ beta)
    assert found.dual <= known.upper
    assert found.primal >= known.lower
    assert found.gap < 1e-5
    if known.intercept is not None:
        assert found.intercepts[0] == pytest.approx(known.intercept, abs=1e-4)


def test_violation_is_the_definition_spelt_out():
    # Two groups; free, at a bound, at the kink, on either side of it.
    T = Terms(
        p=[0.0, 0.0, 0.0, 0.0, 0.0],
        lo=[-1, -1, -1, -1, 0],
        hi=[1, 1, 1, 1, np.inf],
        d=[0, 0, 0, 2, 0],
        e=[0.5, 0.5, 0.5, 0.5, 0],
        group=[0, 0, 0, 1, 1],
        sums=[0.0, 0.0],
    )
    beta, f = np.array([1.0, 0.0, -0.5, 0.25, 0.0]), np.array([1.0, 0.2, 0.1, 0.3, -2.0])
    # Group 0: dn = 1.5, -0.3, -0.4 and up = inf, 0.7, -0.4.  Group 1: dn = 1.3, -inf and up = 1.3, -2.
    assert violation(T, beta, f) == pytest.approx(3.3)
    beta[4] = 0.1
    f[4] = 1.3
    assert violation(T, beta, f) == pytest.approx(1.9)
    free = Terms(T.p, T.lo, T.hi, T.d, T.e)
    # Without sums: the largest of dn and -up, which is 1.5 at the bound of the first.
    assert violation(free, beta, f) == pytest.approx(1.5)
    f[0], f[4], f[3] = -9.0, 0.0, -1.0
    assert violation(free, beta, f) == pytest.approx(0.4)


@pytest.mark.parametrize("name", EVERY)
def test_radius_covers_every_decision_value_within_it(name):
    K, T, _ = case(name, 11)
    beta = project(T, np.random.default_rng(2).normal(size=T.m))
    exact = K @ fold(T, beta)
    truth = certificate(T, beta, exact)
    rng = np.random.default_rng(3)
    for _ in range(5):
        f = exact + rng.uniform(-0.01, 0.01, size=T.n)
        bounded = certificate(T, beta, f, radius=0.01)
        assert bounded.primal - bounded.dual >= truth.primal - truth.dual - 1e-12 * abs(truth.primal)
    assert certificate(T, beta, exact, radius=0.01).primal > truth.primal


def test_unbounded_losses_have_an_infinite_gap():
    T = losses.Hinge().dual([1.0, -1.0], np.inf, fit_intercept=False)
    K = np.eye(2)
    found = certificate(T, np.array([0.5, -0.5]), K @ [0.5, -0.5])
    assert found.primal == np.inf
    assert found.gap == np.inf
    assert found.dual == pytest.approx(0.75)
    found = certificate(T, np.array([1.0, -1.0]), K @ [1.0, -1.0])
    assert found.gap == 0.0
    assert found.primal == found.dual == pytest.approx(1.0)


def test_gap_of_nothing_is_zero():
    T = losses.LeastSquares().dual([0.0, 0.0], 1.0)
    found = certificate(T, np.zeros(2), np.zeros(2))
    assert (found.primal, found.dual, found.gap, found.violation) == (0.0, 0.0, 0.0, 0.0)


def test_tiny_gaps_keep_their_digits():
    # Least squares off the optimum by h: the gap is h^2 times a known number, far below the rounding of the primal.
    data = zoo.regression(0, n=12)
    K = zoo.KERNELS["rbf"](data.X, data.X)
    T = losses.LeastSquares().dual(data.y, 2.0, fit_intercept=False)
    best = np.linalg.solve(K + np.eye(12) / 2.0, data.y)
    h = 1e-9 * np.random.default_rng(0).normal(size=12)
    found = certificate(T, best + h, K @ (best + h))
    slope = K @ h + h / 2.0
    assert found.gap * found.primal == pytest.approx(slope @ slope, rel=1e-4)


@pytest.mark.parametrize("name", ["epsilon", "nu regression"])
def test_certify_recomputes_in_float64(name):
    K, T, data = case(name, 5)
    beta = pair.solve(K, T, tol=1e-11)
    problem = DualProblem(Rows(K), T)
    found = certify(problem, beta)
    assert found.gap < 1e-10
    assert found.primal == certificate(T, beta, K @ fold(T, beta)).primal
    in_float32 = certificate(T, beta, problem.rows.apply(fold(T, beta)))
    assert in_float32.primal != found.primal


def test_wrong_shapes_are_named():
    T = losses.NuRegression(0.5).dual([1.0, 2.0], 1.0)
    with pytest.raises(ValueError, match=r"must have shapes \(4,\) and \(2,\), got \(2,\) and \(2,\)"):
        certificate(T, np.zeros(2), np.zeros(2))


def test_a_worse_start_has_a_larger_gap_than_the_primal_promises():
    data = zoo.classification(0, n=20)
    K = zoo.KERNELS["rbf"](data.X, data.X)
    T = losses.Hinge().dual(data.y, data.C)
    start = certificate(T, feasible_start(T), np.zeros(20))
    optimum = primal.minimum(losses.Hinge(), K, data.y, data.C, True)
    assert start.dual == 0.0
    assert start.primal - start.dual >= optimum
