"""The best intercept against brute force and against problems solved by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

import zoo
from maxmargin import losses
from maxmargin.problems import Terms, best_intercepts, feasible_start


def risk(terms: Terms, f, b: float, g: int = 0) -> float:
    """Sum of psi_i(f_i + b) over a group plus s b, each psi as the largest value at its few candidate maximisers."""
    values = []
    for i in np.flatnonzero(terms.group == g):
        u, lo, hi, d, e = -(f[i % terms.n] + b + terms.p[i]), terms.lo[i], terms.hi[i], terms.d[i], terms.e[i]
        candidates = [x for x in (lo, hi) if np.isfinite(x)] + [np.clip(0.0, lo, hi)]
        if d > 0:
            candidates += [np.clip((u - e) / d, lo, hi), np.clip((u + e) / d, lo, hi)]
        values.append(max(u * x - 0.5 * d * x * x - e * abs(x) for x in candidates))
    return float(np.sum(values) + terms.sums[g] * b)


def one_group(y, C: float, loss) -> Terms:
    return loss.dual(np.asarray(y, dtype=float), C)


@given(seed=st.integers(0, 2**32 - 1), groups=st.integers(1, 2), infinite=st.booleans())
@settings(deadline=None, max_examples=60)
def test_no_other_intercept_is_better(seed, groups, infinite):
    T = zoo.random_terms(seed, groups=groups, infinite=infinite)
    f = np.random.default_rng(seed).normal(size=T.n)
    for g, b in enumerate(best_intercepts(T, f)):
        best = risk(T, f, b, g)
        slack = 1e-9 * (1.0 + abs(best))
        others = [b + h for h in (-1e-3, 1e-3, -0.1, 0.1, -2.0, 2.0)] + list(np.linspace(-20, 20, 41))
        searched = minimize_scalar(lambda x, g=g: risk(T, f, x, g), bounds=(b - 5, b + 5), method="bounded")
        assert best <= min(risk(T, f, x, g) for x in [*others, float(searched.x)]) + slack


def test_interval_of_minimisers_gives_its_midpoint():
    # One example a class with f = 0: the hinge risk is least, 0 gain for either, on the whole of [-1, 1].
    T = one_group([1, -1], 1.0, losses.Hinge())
    assert best_intercepts(T, [0.0, 0.0])[0] == pytest.approx(0.0, abs=1e-15)
    assert best_intercepts(T, [0.5, 0.5])[0] == pytest.approx(-0.5, abs=1e-15)


def test_flat_piece_is_seen_through_rounding():
    # 0.1 + 0.2 is not 0.3 in float64, yet every b between the kinks -1 and 2 has the same risk.
    y, C = np.array([1.0, 1.0, -1.0]), np.array([0.1, 0.2, 0.3])
    assert best_intercepts(losses.Hinge().dual(y, C), [2.0, 2.0, -3.0])[0] == pytest.approx(0.5)


def test_one_sided_interval_gives_its_finite_end():
    # Only one class: every b >= 1 - f has risk 0.
    T = one_group([1, 1], 1.0, losses.Hinge())
    assert best_intercepts(T, [0.0, 0.25])[0] == 1.0
    T = one_group([-1, -1], 1.0, losses.Hinge())
    assert best_intercepts(T, [0.0, 0.25])[0] == -1.25


def test_without_breakpoints_it_is_zero():
    fixed = np.array([1.0, -1.0])
    zero = np.zeros(2)
    assert best_intercepts(Terms(zero, fixed, fixed, zero, zero, np.zeros(2, dtype=int), [0.0]), [3.0, 4.0])[0] == 0.0


@pytest.mark.parametrize(("total", "expected"), [(5.0, -2.0), (-5.0, 3.0), (0.0, 0.5)])
def test_sums_are_met_beyond_the_outer_breakpoints(total, expected):
    # Two free variables with a = 0 and 1: H(b) = -b + (1 - b), and both breakpoints lie in [0, 1].
    free = np.full(2, np.inf)
    T = Terms([0.0, -1.0], -free, free, [1.0, 1.0], [0.0, 0.0], np.zeros(2, dtype=int), [total])
    assert best_intercepts(T, np.zeros(2))[0] == pytest.approx(expected)


def test_least_squares_intercept_is_the_weighted_mean_residual():
    rng = np.random.default_rng(0)
    y, f, C = rng.normal(size=50), rng.normal(size=50), rng.uniform(0.1, 2.0, size=50)
    assert best_intercepts(losses.LeastSquares().dual(y, C), f)[0] == pytest.approx(np.average(y - f, weights=C))


def test_pinball_intercept_is_the_quantile_of_the_residuals():
    residuals = np.random.default_rng(0).permutation(np.arange(10.0))
    # At level 0.25 of ten points the third is the quantile; at 0.3 all of [2, 3] is, and its middle is taken.
    assert best_intercepts(losses.Pinball(0.25).dual(residuals, 1.0), np.zeros(10))[0] == 2.0
    assert best_intercepts(losses.Pinball(0.3).dual(residuals, 0.7), np.zeros(10))[0] == pytest.approx(2.5)


def test_hard_margin_intercept_lies_in_the_middle_of_the_feasible_ones():
    T = one_group([1, -1], np.inf, losses.Hinge())
    assert best_intercepts(T, [3.0, -2.0])[0] == pytest.approx(-0.5)
    assert best_intercepts(T, [-1.0, 1.0])[0] == pytest.approx(0.0)  # none is feasible: both are violated alike
    # Hard for one class only: the soft one would like b = 3, the hard one allows at most b = 1.
    T = losses.Hinge().dual([1.0, -1.0], [1.0, np.inf])
    assert best_intercepts(T, [-2.0, -2.0])[0] == 1.0


def test_huge_and_tiny_curvatures_meet_in_one_sum():
    y = np.array([0.0, 1.0, 5.0])
    # A stiff example (C = 1e12) pulls the intercept onto its own residual; the soft ones cannot.
    assert best_intercepts(losses.LeastSquares().dual(y, [1e-12, 1e12, 1e-12]), np.zeros(3))[0] == pytest.approx(1.0)
    mixed = losses.Huber(1e-9).dual(y, [1e9, 1.0, 1e9])
    b = best_intercepts(mixed, np.zeros(3))[0]
    assert risk(mixed, np.zeros(3), b) <= min(risk(mixed, np.zeros(3), x) for x in np.linspace(-1, 6, 701)) + 1e-12


def test_copies_have_their_own_intercepts():
    y = np.array([0.0, 1.0, 2.0, 10.0])
    T = losses.NuRegression(0.5).dual(y, 1.0)
    plus, minus = best_intercepts(T, np.zeros(4))
    # Each copy is a median of the residuals from its side: one quarter of the weight lies beyond.
    assert plus == pytest.approx(6.0)
    assert minus == pytest.approx(0.5)
    assert feasible_start(T)[:4].sum() == pytest.approx(1.0)
