"""The interior point method: few iterations whatever the problem, exact bounds, and the system that it solves."""

from __future__ import annotations

import numpy as np
import pytest

import zoo
from maxmargin import kernels
from maxmargin.problems import certificate, feasible_start, fold
from maxmargin.solvers import interior
from maxmargin.solvers.loop import Status
from oracles import qp

RBF = kernels.Gaussian(0.5)


def stop_after(most: int):
    """A look that stops there."""
    return lambda iteration, violation: Status.MAX_ITER if iteration >= most else None


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("name", [*zoo.LOSSES, *zoo.NU])
def test_iterations_are_few(name, C, kernel):
    data = zoo.problem(name, seed=3, n=100, C=C)
    terms = zoo.terms(name, data)
    K = zoo.KERNELS[kernel](data.X, data.X)
    beta, iterations, status = interior.minimise(terms, K, feasible_start(terms), 1e-6, stop_after(100))
    assert status is None
    assert iterations <= (1 if name.startswith("least squares") else 50)
    assert certificate(terms, beta, K @ fold(terms, beta)).violation <= 1e-6 + 1e-12 * C


def test_no_path_zigzags():
    """Without its neighbourhood the method cycles on one of these."""
    for seed in range(150):
        terms = zoo.random_terms(seed, m=14 + seed, groups=1)
        factor = np.random.default_rng(seed).normal(size=(14 + seed, 3 if seed % 2 else 14 + seed))
        K = factor @ factor.T
        _, iterations, status = interior.minimise(terms, K, feasible_start(terms), 1e-6, stop_after(100))
        assert status is None
        assert iterations <= 40


@pytest.mark.parametrize("C", [10.0, 1e5])
@pytest.mark.parametrize("gamma", [0.5, 1e-2, 1e-4])
@pytest.mark.parametrize("name", ["hinge", "epsilon"])
def test_rounded_matrices_that_are_not_quite_positive(name, gamma, C):
    data = zoo.problem(name, seed=1, n=300, C=C)
    terms = zoo.terms(name, data)
    K = kernels.Gaussian(gamma).block(data.X, data.X).astype(np.float32)
    beta, iterations, status = interior.minimise(terms, K, feasible_start(terms), 1e-3, stop_after(100))
    assert status is None
    assert iterations <= 50
    assert certificate(terms, beta, K.astype(float) @ fold(terms, beta)).violation <= 1e-3 + 1e-9


@pytest.mark.parametrize("name", ["hinge", "epsilon", "pinball 0.1", "one-class", "nu regression", "squared epsilon"])
def test_what_its_multiplier_holds_is_exactly_at_its_bound(name):
    """The same coefficients are at their bound, and at their kink, as in the oracle's optimum to its accuracy."""
    data = zoo.problem(name, seed=5, n=40, C=2.0)
    terms = zoo.terms(name, data)
    K = RBF.block(data.X, data.X)
    beta, _, _ = interior.minimise(terms, K, feasible_start(terms), 1e-8, stop_after(100))
    best = qp.solve(K, terms)
    for place in (terms.lo, terms.hi, np.zeros(terms.m)):
        np.testing.assert_array_equal(beta == place, np.abs(best - place) < 1e-6)


@pytest.mark.parametrize("most", range(8))
@pytest.mark.parametrize("name", ["hinge", "epsilon", "squared hinge"])
def test_a_run_that_is_stopped_is_no_worse_than_its_start(name, most):
    data = zoo.problem(name, seed=1, n=60, C=50.0)
    terms = zoo.terms(name, data)
    K = RBF.block(data.X, data.X)
    start, _, _ = interior.minimise(terms, K, feasible_start(terms), 0.3, stop_after(100))
    beta, iterations, status = interior.minimise(terms, K, start, 1e-12, stop_after(most))
    assert status is Status.MAX_ITER
    assert iterations == most
    assert qp.objective(K, terms, beta) <= qp.objective(K, terms, start)
