"""The variable projection method: the text's own steps, its tables, and its exact line search."""

from __future__ import annotations

import importlib
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import zoo
from maxmargin import kernels, losses
from maxmargin.problems import Terms, certificate, feasible_start, fold, project
from maxmargin.rows.computed import ComputedRows
from maxmargin.solvers import projection
from maxmargin.solvers.loop import Status
from oracles import qp

RBF = kernels.Gaussian(0.5)


def stop_after(most: int):
    """A look that stops there."""
    return lambda iteration, violation: Status.MAX_ITER if iteration >= most else None


def never(iteration: int, violation: float) -> None:
    """A look that lets everything go on."""


def text_steps(Q: np.ndarray, y: np.ndarray, C: float, iterations: int) -> np.ndarray:
    """Section 3 of the text, letter by letter, in its signs: (6) by projection, g on a line by its slope."""
    n = len(y)
    feasible = Terms(
        np.zeros(n), np.minimum(0, C * y), np.maximum(0, C * y), *np.zeros((2, n)), np.zeros(n, int), [0.0]
    )
    q, z, rho = -np.ones(n), np.zeros(n), 1.0
    for ell in range(1, iterations + 1):
        zbar = y * project(feasible, y * (z - rho * (Q @ z + q)))
        d = zbar - z
        theta = 1.0 if ell == 1 else min(1.0, -(d @ (Q @ z + q)) / (d @ Q @ d))
        z = z + theta * d
        rho = (d @ Q @ d) / (d @ Q @ Q @ d) if ell % 6 < 3 else (d @ d) / (d @ Q @ d)
    return z


@pytest.mark.parametrize("iterations", [1, 2, 3, 6, 7, 12])
@pytest.mark.parametrize("C", [0.5, 10.0])
def test_the_steps_are_the_texts(iterations, C):
    data = zoo.classification(seed=1, n=60)
    K = RBF.block(data.X, data.X)
    expected = text_steps(data.y[:, None] * K * data.y, data.y, C, iterations)
    terms = losses.Hinge().dual(data.y, C)
    beta, done, _ = projection.minimise(terms, K, feasible_start(terms), 0.0, stop_after(iterations))
    assert done == iterations
    np.testing.assert_allclose(data.y * beta, expected, atol=1e-8)


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.skipif("MAXMARGIN_DATA" not in os.environ, reason="MAXMARGIN_DATA names no folder of data sets")
@pytest.mark.parametrize(
    ("name", "n", "iterations", "support"),
    [
        ("adult-a1a", 1605, 136, (691, 584)),
        ("mnist", 200, 57, (76, 0)),
        ("mnist", 400, 82, (120, 0)),
        ("mnist", 800, 124, (176, 0)),
        ("mnist", 1600, 232, (238, 0)),
    ],
)
def test_tables_1_and_2_of_the_text(name, n, iterations, support, monkeypatch):
    """Iterations within a third, support vectors within one."""
    monkeypatch.syspath_prepend(os.environ["MAXMARGIN_DATA"])
    load = importlib.import_module("load")
    if name == "mnist":  # the first digits 8 and 9
        X, y = load.load("mnist")
        rows = np.concatenate([np.flatnonzero(y == digit)[: n // 2] for digit in (8, 9)])
        X, y, gamma, C = X[rows].astype(float), np.where(y[rows] == 8, 1.0, -1.0), 1 / (2 * 1800**2), 10.0
    else:
        given = load.problem(name)
        X, y, gamma, C = given.X, given.y, given.gamma, given.C
    K = ComputedRows(kernels.Gaussian(gamma), X, "float64").block(np.arange(n))
    terms = losses.Hinge().dual(y, C)
    beta, done, status = projection.minimise(terms, K, np.zeros(n), 1e-3, never)
    assert status is None
    assert abs(done - iterations) <= iterations / 3
    found = np.count_nonzero(beta), np.count_nonzero(np.abs(beta) == C)
    assert max(abs(a - b) for a, b in zip(found, support, strict=True)) <= 1


@given(st.integers(0, 10**6), st.integers(1, 12), st.floats(0.0, 20.0))
def test_the_line_search_is_exact(seed, m, bend):
    """Against the least of many points, the kinks among them; the curvature may be 0."""
    rng = np.random.default_rng(seed)
    z, zbar, e = rng.normal(size=m), rng.normal(size=m), rng.exponential(size=m) * (rng.random(m) < 0.6)
    terms = Terms(np.zeros(m), np.full(m, -np.inf), np.full(m, np.inf), np.zeros(m), e)
    d = zbar - z
    slope = -abs(rng.normal()) - float(e @ np.abs(d))  # with the kinks, a descent direction

    def g(theta):
        return slope * theta + bend * theta**2 / 2 + np.abs(z + np.multiply.outer(theta, d)) @ e

    line = projection._Line(terms, z, d, slope, bend)
    theta = line.minimum()
    assert 0 < theta <= 1
    kinks = -z / d
    others = np.concatenate([np.linspace(0, 1, 2001), kinks[(kinks > 0) & (kinks < 1)]])
    assert g(theta) <= g(others).min() + 1e-12 * (1 + abs(slope))
    at = line.at(theta)
    np.testing.assert_allclose(at, z + theta * d, atol=1e-12)
    assert ((at == 0) == (np.abs(z + theta * d) < 1e-15) * (e > 0)).all()


@pytest.mark.parametrize("steps", ["alternating", "barzilai-borwein"])
@pytest.mark.parametrize("name", ["hinge", "epsilon", "squared epsilon", "nu regression"])
def test_the_objective_never_rises_after_the_first_step(name, steps):
    data = zoo.problem(name, seed=1, n=60, C=20.0)
    terms = zoo.terms(name, data)
    K = RBF.block(data.X, data.X)
    values = []
    for most in range(1, 40):
        beta, _, _ = projection.minimise(terms, K, feasible_start(terms), 1e-9, stop_after(most), steps=steps)
        values.append(qp.objective(K, terms, beta))
    assert (np.diff(values) <= 1e-10 * np.abs(values).max()).all()


@pytest.mark.parametrize("steps", ["alternating", "barzilai-borwein"])
@pytest.mark.parametrize("name", ["hinge", "epsilon", "squared hinge", "least squares", "nu classification"])
def test_any_scaling_has_the_same_optimum(name, steps):
    data = zoo.problem(name, seed=1, n=50, C=3.0, weighted=True)
    terms = zoo.terms(name, data)
    K = RBF.block(data.X, data.X)
    S = np.random.default_rng(0).uniform(0.3, 3.0, terms.m)
    start = feasible_start(terms)
    beta, _, status = projection.minimise(terms, K, start, 1e-8, stop_after(100_000), steps=steps, scaling=S)
    assert status is None
    assert certificate(terms, beta, K @ fold(terms, beta)).gap < 1e-6


def test_adaptive_steps_take_fewer_iterations():
    total = {"alternating": 0, "barzilai-borwein": 0}
    for name in ["hinge", "epsilon", "pinball 0.5", "nu regression"]:
        for C in (1.0, 20.0):
            data = zoo.problem(name, seed=3, n=200, C=C)
            terms = zoo.terms(name, data)
            K = kernels.Laplacian(0.3).block(data.X, data.X)
            for steps in total:
                total[steps] += projection.minimise(
                    terms, K, feasible_start(terms), 1e-3, stop_after(10_000), steps=steps
                )[1]
    assert total["barzilai-borwein"] < 0.85 * total["alternating"]


def test_steps_that_are_none():
    data = zoo.classification(seed=1)
    terms = zoo.terms("hinge", data)
    message = "steps is 'longest', but it must be one of 'alternating', 'barzilai-borwein'"
    with pytest.raises(ValueError, match=message):
        projection.minimise(terms, np.eye(30), np.zeros(30), 1e-3, never, steps="longest")
