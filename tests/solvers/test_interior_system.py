"""The Newton system in smooth parts: reduced, it is the whole one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import zoo
from maxmargin.problems import fold
from maxmargin.solvers.interior_system import Newton, Parts


@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(1, 3), st.integers(0, 3))
def test_the_reduced_system_is_the_whole_one(seed, n, copies, groups):
    """Of parts with kinks, copies and fixed ones among them."""
    terms = zoo.random_terms(seed, n * copies, groups, copies=copies)
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(n, n))
    K, parts = factor @ factor.T, Parts(terms)
    size = len(parts.of)
    theta = 10 ** rng.uniform(-3, 3, size=size)
    newton = Newton(parts, K, np.where(parts.movable, 1 / theta, 0.0), np.empty(n * n))
    r, missing = rng.normal(size=size), rng.normal(size=groups)
    if groups:  # a sum can only change where something in it moves
        missing *= np.bincount(parts.group, parts.movable, groups) > 0
    dx, dnu = newton.solve(r, missing)
    A = np.array([parts.A(unit) for unit in np.eye(size)]).T
    E = np.array([parts.E(unit) for unit in np.eye(groups)]).reshape(groups, size).T
    residual = (A.T @ K @ A + np.diag(theta)) @ dx - E @ dnu - r
    scale = 1 + np.abs(theta * dx).max() + np.abs(dnu).max(initial=0.0)
    np.testing.assert_allclose(residual[parts.movable], 0.0, atol=1e-8 * scale)
    np.testing.assert_array_equal(dx[~parts.movable], 0.0)
    np.testing.assert_allclose(E.T @ dx, missing, atol=1e-8 * scale)


def test_maps_and_their_transposes():
    terms = zoo.random_terms(3, 24, 2, copies=2)
    parts, rng = Parts(terms), np.random.default_rng(0)
    x, z = rng.normal(size=len(parts.of)), rng.normal(size=len(parts.lower) + len(parts.upper))
    nu = rng.normal(size=2)
    assert parts.T(z) @ x == pytest.approx(z @ parts.Tt(x))
    assert parts.E(nu) @ x == pytest.approx(nu @ parts.Et(x))
    np.testing.assert_allclose(parts.A(x), fold(terms, parts.beta(x)))
    inside = np.clip(rng.normal(size=terms.m), terms.lo, terms.hi)
    np.testing.assert_allclose(parts.beta(parts.split(inside)), inside)
