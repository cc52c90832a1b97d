"""The twin of the pair solver reaches the optimum of an independent solver."""

from __future__ import annotations

import numpy as np
import pytest

import zoo
from maxmargin.problems import certificate, fold
from oracles import pair, qp


@pytest.mark.parametrize("selection", ["maximal violation", "second order", "maximum gain"])
@pytest.mark.parametrize("name", [*zoo.LOSSES, *zoo.NU])
def test_twin_reaches_the_optimum_with_sums(name, selection):
    data = zoo.problem(name, seed=9, n=16, weighted=True)
    K = zoo.KERNELS["rbf"](data.X, data.X)
    T = zoo.terms(name, data)
    beta = pair.solve(K, T, tol=1e-5, selection=selection)
    assert certificate(T, beta, K @ fold(T, beta)).gap < 1e-5
    assert qp.objective(K, T, beta) == pytest.approx(qp.objective(K, T, qp.solve(K, T)), rel=1e-7)


@pytest.mark.parametrize("selection", ["maximal violation", "second order"])
@pytest.mark.parametrize("name", zoo.LOSSES)
def test_twin_reaches_the_optimum_without_sums(name, selection):
    data = zoo.problem(name, seed=9, n=16, weighted=True)
    K = zoo.KERNELS["rbf"](data.X, data.X)
    T = zoo.terms(name, data, fit_intercept=False)
    beta = pair.solve(K, T, tol=1e-5, selection=selection)
    assert qp.objective(K, T, beta) == pytest.approx(qp.objective(K, T, qp.solve(K, T)), rel=1e-7)


@pytest.mark.parametrize("kernel", [k for k in zoo.KERNELS if k != "sigmoid"])
def test_twin_solves_every_kernel_and_repeated_rows(kernel):
    data = zoo.classification(1, n=20)
    X = np.abs(data.X) if kernel in zoo.NON_NEGATIVE else data.X
    X = np.vstack([X, X[:5]])  # singular K: directions without curvature
    y = np.concatenate([data.y, -data.y[:5]])
    K = zoo.KERNELS[kernel](X, X)
    T = zoo.LOSSES["hinge"].dual(y, 1.0)
    beta = pair.solve(K, T, tol=1e-6)
    assert certificate(T, beta, K @ beta).gap < 1e-6


@pytest.mark.parametrize("name", zoo.FIVE_POINTS)
def test_twin_finds_the_solutions_by_hand(name):
    known = zoo.FIVE_POINTS[name]
    beta = pair.solve(zoo.FIVE_X @ zoo.FIVE_X.T, known.loss.dual(zoo.FIVE_Y, known.C), tol=1e-10)
    np.testing.assert_allclose(beta, known.beta, atol=1e-8)
