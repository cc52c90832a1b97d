"""The terms, feasible starts and projections."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import zoo
from maxmargin import losses
from maxmargin.problems import DualProblem, Terms, feasible_start, fold, project
from oracles import qp

ZERO = np.zeros(3)
GOOD = {"p": ZERO, "lo": ZERO - 1, "hi": ZERO + 1, "d": ZERO, "e": ZERO}


def assert_feasible(terms: Terms, beta) -> None:
    assert np.all(beta >= terms.lo)
    assert np.all(beta <= terms.hi)
    for _, total, members in terms.groups():
        assert beta[members].sum() == pytest.approx(total, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"p": np.zeros((3, 1))}, "p must be one-dimensional"),
        ({"p": 1.0}, "p must be one-dimensional"),
        ({"lo": np.zeros(2)}, "lo has 2 entries, but p has 3"),
        ({"p": [0, np.inf, 0]}, r"p\[1\] is inf: it must be finite"),
        ({"d": [0, 0, -1]}, r"d\[2\] is -1.0: it must be finite and not negative"),
        ({"d": [0, 0, np.inf]}, r"d\[2\] is inf"),
        ({"e": [np.nan, 0, 0]}, r"e\[0\] is nan"),
        ({"lo": [0, np.nan, 0]}, r"lo\[1\] is nan"),
        ({"lo": [0, 2, 0]}, r"lo\[1\] is 2.0: it exceeds its upper bound"),
        ({"hi": [1, 1, -np.inf]}, r"hi\[2\] is -inf"),
        ({"sums": [0.0]}, "1 sums are given, but no variable is in a group"),
        ({"group": [0, 0, 1], "sums": [0.0]}, r"group\[2\] is 1: there are 1 sums"),
        ({"group": [0, 0, 0], "sums": np.zeros(128)}, "at most 127 sums, got 128"),
        ({"group": [0, 0], "sums": [0.0]}, "group must be 3 integers"),
        ({"group": [0, 0, 0], "sums": [np.nan]}, r"sums\[0\] is nan"),
        ({"copies": 2}, "3 variables cannot be 2 copies"),
    ],
)
def test_bad_terms_are_named(change, message):
    with pytest.raises(ValueError, match=message):
        Terms(**GOOD | change)


def test_terms_are_contiguous_float64():
    wide = np.arange(6, dtype=np.float32)[::2]
    T = Terms(wide, wide - 1, wide + 1, wide, [0, 1, 2], np.array([0, 0, 0]), [3])
    for array in (T.p, T.lo, T.hi, T.d, T.e, T.sums):
        assert array.dtype == np.float64
        assert array.flags.c_contiguous
    assert T.group.dtype == np.int8


def test_rows_and_terms_must_agree():
    y = np.array([1.0, 2.0, 3.0])
    DualProblem(SimpleNamespace(n=3), losses.NuRegression(0.5).dual(y, 1.0))
    with pytest.raises(ValueError, match="K has 6 rows, but the terms are for 3"):
        DualProblem(SimpleNamespace(n=6), losses.NuRegression(0.5).dual(y, 1.0))


def test_fold_adds_the_copies():
    T = losses.NuRegression(0.5).dual([1.0, 2.0, 3.0], 1.0)
    np.testing.assert_array_equal(fold(T, [1.0, 2.0, 3.0, -4.0, -5.0, -6.0]), [-3.0, -3.0, -3.0])


@pytest.mark.parametrize("name", [*zoo.LOSSES, *zoo.NU])
def test_start_is_feasible(name):
    T = zoo.terms(name, zoo.problem(name, seed=0, weighted=True))
    beta = feasible_start(T)
    assert_feasible(T, beta)
    assert np.any(beta != 0) == bool(np.any(T.sums))


def test_start_fills_in_order_as_libsvm():
    T = losses.OneClass(0.5).dual(np.ones(5))
    np.testing.assert_array_equal(feasible_start(T), [1.0, 1.0, 0.5, 0.0, 0.0])


@given(seed=st.integers(0, 2**32 - 1), groups=st.integers(0, 3))
@settings(deadline=None, max_examples=60)
def test_start_of_random_terms_is_feasible(seed, groups):
    T = zoo.random_terms(seed, groups=groups)
    assert_feasible(T, feasible_start(T))


@given(seed=st.integers(0, 2**32 - 1), groups=st.integers(0, 3), scale=st.sampled_from([1e-6, 1.0, 1e6]))
@settings(deadline=None, max_examples=100)
def test_projection_is_feasible_and_nearest(seed, groups, scale):
    T = zoo.random_terms(seed, groups=groups)
    rng = np.random.default_rng(seed)
    point = scale * rng.normal(size=T.m)
    beta = project(T, point)
    assert np.all((beta >= T.lo) & (beta <= T.hi))
    for _, total, members in T.groups():
        assert beta[members].sum() == pytest.approx(total, abs=1e-14 * max(scale, 1.0) * T.m)
    # The projection is the feasible point at which no feasible direction leads nearer to the point.
    for other in (feasible_start(T), project(T, rng.normal(size=T.m)), project(T, point + 0.1 * rng.normal(size=T.m))):
        assert (point - beta) @ (other - beta) <= 1e-10 * max(scale, 1.0) ** 2


@pytest.mark.parametrize("seed", range(4))
def test_projection_agrees_with_a_qp(seed):
    T = zoo.random_terms(seed)
    point = 3.0 * np.random.default_rng(seed).normal(size=T.m)
    np.testing.assert_allclose(project(T, point), qp.nearest(T, point), atol=1e-6)


def test_projection_of_a_feasible_point_is_itself():
    T = losses.NuRegression(0.4).dual(np.arange(10.0), 1.5)
    start = feasible_start(T)
    np.testing.assert_allclose(project(T, start), start, rtol=0, atol=1e-15)


def test_projection_refuses_what_is_no_point():
    T = losses.OneClass(0.5).dual(np.ones(3))
    with pytest.raises(ValueError, match=r"beta\[1\] is nan: it must be finite"):
        project(T, [0.0, np.nan, 0.0])
    with pytest.raises(ValueError, match=r"beta has shape \(2,\), but there are 3 variables"):
        project(T, [0.0, 1.0])


@pytest.mark.parametrize("use", [feasible_start, lambda T: project(T, ZERO)])
def test_infeasible_sums_are_named(use):
    T = Terms(**GOOD, group=np.zeros(3, dtype=int), sums=np.array([4.0]))
    with pytest.raises(ValueError, match=r"The sum over group 0 must be 4, but the bounds allow only \[-3, 3\]"):
        use(T)
