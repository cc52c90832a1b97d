"""The separable problem: its solution is that of a slow exact twin, and of the projection onto the feasible set."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import zoo
from maxmargin.problems import Terms, feasible_start, project
from maxmargin.solvers.separable import Separable


def solution(terms: Terms, g: int, members: np.ndarray, u: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """The part in one group: by bisection of its multiplier, in more steps than a float has bits."""

    def at(multiplier: float) -> np.ndarray:
        z = u + rate * multiplier
        z = np.where(z > rate * terms.e, z - rate * terms.e, np.where(z < -rate * terms.e, z + rate * terms.e, 0.0))
        return np.clip(z, terms.lo, terms.hi)[members]

    low, high = -1e15, 1e15
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if at(middle).sum() < terms.sums[g] else (low, middle)
    return at(high)


def twin(terms: Terms, S: np.ndarray, u: np.ndarray, rho: float) -> np.ndarray:
    """All groups."""
    z = np.clip(np.sign(u) * np.maximum(np.abs(u) - rho / S * terms.e, 0.0), terms.lo, terms.hi)
    for g, _, members in terms.groups():
        z[members] = solution(terms, g, members, u, rho / S)
    return z


@given(
    st.integers(0, 10**6),
    st.integers(1, 40),
    st.integers(0, 3),
    st.booleans(),
    st.sampled_from([1e-4, 0.1, 1.0, 30.0, 1e5]),
    st.sampled_from([1e-3, 1.0, 1e4]),
)
def test_the_solution_is_the_twins(seed, m, groups, infinite, rho, spread):
    terms = zoo.random_terms(seed, m, groups, infinite)
    rng = np.random.default_rng(seed)
    u, S = spread * rng.normal(size=m), rng.uniform(0.2, 5.0, size=m)
    z = Separable(terms, S)(u, rho)
    expected = twin(terms, S, u, rho)
    # Float64 sees u + lambda rho / s to the roundoff of the larger of the two.
    scale = max(1.0, spread, rho)
    np.testing.assert_allclose(z, expected, rtol=1e-9, atol=1e-11 * scale)
    assert ((z >= terms.lo) & (z <= terms.hi)).all()
    for _, total, members in terms.groups():
        assert z[members].sum() == pytest.approx(total, abs=1e-13 * scale * m)


@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(0, 3))
def test_without_kinks_it_is_the_projection(seed, m, groups):
    terms = zoo.random_terms(seed, m, groups)
    smooth = Terms(terms.p, terms.lo, terms.hi, terms.d, np.zeros(m), terms.group, terms.sums)
    u = np.random.default_rng(seed).normal(scale=3.0, size=m)
    np.testing.assert_allclose(Separable(smooth, np.ones(m))(u, 1.0), project(smooth, u), atol=1e-12)


@given(st.integers(0, 10**6))
def test_a_search_may_begin_where_another_ended(seed):
    terms = zoo.random_terms(seed, 30, 2)
    rng = np.random.default_rng(seed)
    solver = Separable(terms, np.ones(30))
    for scale in (1.0, 1e3, 1e-2):
        u = scale * rng.normal(size=30)
        np.testing.assert_allclose(solver(u, 0.7), Separable(terms, np.ones(30))(u, 0.7), atol=1e-11 * max(1, scale))


def test_bounds_and_kinks_are_met_exactly():
    lo, hi = np.array([0.0, -1.0, -1.0, -1.0]), np.array([1.0, 0.3, 1.0, 1.0])
    terms = Terms(np.zeros(4), lo, hi, np.zeros(4), np.array([0.0, 0.0, 5.0, 0.0]), np.zeros(4, int), np.array([1.0]))
    z = Separable(terms, np.ones(4))(np.array([-2.0, 7.0, 0.1, 0.7]), 1.0)
    np.testing.assert_array_equal(z[:3], [0.0, 0.3, 0.0])
    assert not np.signbit(z).any()
    assert z[3] == pytest.approx(0.7, abs=1e-15)


@pytest.mark.parametrize("end", ["lo", "hi"])
def test_a_sum_of_all_bounds(end):
    rng = np.random.default_rng(0)
    bounds = np.sort(rng.normal(size=(2, 500)), axis=0)
    total = bounds[int(end == "hi")].sum()
    terms = Terms(np.zeros(500), *bounds, np.zeros(500), np.zeros(500), np.zeros(500, int), np.array([total]))
    z = Separable(terms, np.ones(500))(feasible_start(terms) + rng.normal(size=500), 1.0)
    np.testing.assert_array_equal(z, bounds[int(end == "hi")])


def test_steps_are_few(monkeypatch):
    """About six from a near start, not one for each bound."""
    rng = np.random.default_rng(0)
    m = 5000
    terms = Terms(rng.normal(size=m), np.zeros(m), np.ones(m), np.zeros(m), np.zeros(m), np.zeros(m, int), [m / 3])
    solver = Separable(terms, np.ones(m))
    looks, at = [], type(solver.groups[0]).at
    monkeypatch.setattr(type(solver.groups[0]), "at", lambda *given: looks.append(1) or at(*given))
    u = rng.normal(size=m)
    solver(u, 1.0)
    looks.clear()
    for _ in range(10):
        u += 0.01 * rng.normal(size=m)
        solver(u, 1.0)
    assert len(looks) < 100
