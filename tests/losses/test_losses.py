"""Every loss against brute force, against its primal minimised independently, and against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest

import zoo
from maxmargin import losses
from maxmargin.problems import certificate, fold, project
from oracles import primal, qp

BOTH = pytest.mark.parametrize("fit_intercept", [True, False], ids=["intercept", "no intercept"])
EACH_LOSS = pytest.mark.parametrize("name", zoo.LOSSES)


def pairs(name):
    """A grid of targets and decision values that meets every kink."""
    y = np.array([-1.0, 1.0]) if name in zoo.CLASSIFICATION else np.array([-0.7, 0.0, 1.3])
    t = np.concatenate([np.linspace(-3, 3, 61), y, y + 0.1, y - 0.1, y + 0.5, y - 0.5])
    return (a.ravel() for a in np.meshgrid(y, t))


@EACH_LOSS
def test_weighted_loss_is_the_largest_value_of_its_dual_terms(name):
    y, t = pairs(name)
    C = 1.7
    T = zoo.LOSSES[name].dual(y, C)
    for i in range(T.m):
        beta = np.linspace(max(T.lo[i], -20.0), min(T.hi[i], 20.0), 40_001)
        psi = np.max(-(t[i] + T.p[i]) * beta - 0.5 * T.d[i] * beta**2 - T.e[i] * np.abs(beta))
        assert psi == pytest.approx(C * zoo.LOSSES[name].value(y[i], t[i]), abs=1e-6)


@EACH_LOSS
def test_subgradient_supports_the_loss_everywhere(name):
    loss = zoo.LOSSES[name]
    y, t = pairs(name)
    other = np.linspace(-5, 5, 201)
    below = loss.value(y, t)[:, None] + loss.subgradient(y, t)[:, None] * (other - t[:, None])
    assert np.all(loss.value(y[:, None], other) >= below - 1e-12)


@EACH_LOSS
def test_subgradient_is_the_derivative_off_the_kinks(name):
    loss = zoo.LOSSES[name]
    y, t = pairs(name)
    h = 1e-6
    right = (loss.value(y, t + h) - loss.value(y, t)) / h
    left = (loss.value(y, t) - loss.value(y, t - h)) / h
    smooth = np.abs(right - left) < 1e-4
    assert smooth.mean() > 0.8
    np.testing.assert_allclose(loss.subgradient(y, t)[smooth], right[smooth], atol=1e-4)


@BOTH
@EACH_LOSS
def test_primal_is_norm_plus_weighted_losses(name, fit_intercept):
    data = zoo.problem(name, seed=3, weighted=True)
    K = zoo.KERNELS["rbf"](data.X, data.X)
    T = zoo.terms(name, data, fit_intercept)
    beta = project(T, np.random.default_rng(0).normal(size=T.m))
    found = certificate(T, beta, K @ beta)
    t = K @ beta + (found.intercepts[0] if fit_intercept else 0.0)
    expected = 0.5 * beta @ K @ beta + data.C @ zoo.LOSSES[name].value(data.y, t)
    assert found.primal == pytest.approx(expected, rel=1e-12)
    assert found.dual == pytest.approx(-qp.objective(K, T, beta), rel=1e-12)


@BOTH
@EACH_LOSS
@pytest.mark.parametrize(("kernel", "weighted"), [("rbf", True), ("linear", False)])
def test_dual_optimum_is_primal_optimum(name, fit_intercept, kernel, weighted):
    data = zoo.problem(name, seed=1, n=24, C=2.0, weighted=weighted)
    K = zoo.KERNELS[kernel](data.X, data.X)
    T = zoo.terms(name, data, fit_intercept)
    beta = qp.solve(K, T)
    found = certificate(T, beta, K @ beta)
    optimum = primal.minimum(zoo.LOSSES[name], K, data.y, data.C, fit_intercept)
    assert found.gap < 1e-7
    assert found.dual == pytest.approx(optimum, rel=1e-7)
    assert found.primal == pytest.approx(optimum, rel=1e-7)


@pytest.mark.parametrize("name", zoo.NU)
@pytest.mark.parametrize("weighted", [True, False])
def test_nu_dual_optimum_is_primal_optimum(name, weighted):
    data = zoo.problem(name, seed=2, n=24, C=1.5, weighted=weighted)
    K = zoo.KERNELS["rbf"](data.X, data.X)
    T = zoo.terms(name, data)
    beta = qp.solve(K, T)
    found = certificate(T, beta, K @ fold(T, beta))
    optimum = primal.nu_minimum(zoo.NU[name], K, data.y, data.C)
    assert found.gap < 1e-7
    assert found.dual == pytest.approx(optimum, rel=1e-7)


def fitted(name, data, terms):
    """The QP oracle's solution: coefficients of the rows of K, decision values, and best intercepts."""
    K = zoo.KERNELS["rbf"](data.X, data.X)
    beta = qp.solve(K, terms)
    coef = fold(terms, beta)
    return coef, K @ coef, certificate(terms, beta, K @ coef).intercepts


def test_nu_classification_is_that_of_scikit_learn():
    from sklearn.svm import NuSVC

    data = zoo.problem("nu classification", seed=5, n=40, weighted=True)
    _, f, (plus, minus) = fitted("nu classification", data, losses.NuClassification(0.4).dual(data.y, data.C))
    model = NuSVC(nu=0.4, gamma=0.5, tol=1e-9).fit(data.X, data.y, sample_weight=data.C)
    decision = (f + (plus + minus) / 2) / ((minus - plus) / 2)
    np.testing.assert_allclose(decision, model.decision_function(data.X), atol=1e-5)


def test_nu_regression_is_that_of_scikit_learn():
    from sklearn.svm import NuSVR

    data = zoo.problem("nu regression", seed=5, n=40, weighted=True)
    coef, f, (plus, minus) = fitted("nu regression", data, losses.NuRegression(0.4).dual(data.y, 2.0 * data.C))
    model = NuSVR(nu=0.4, C=2.0, gamma=0.5, tol=1e-9).fit(data.X, data.y, sample_weight=data.C)
    np.testing.assert_allclose(f + (plus + minus) / 2, model.predict(data.X), atol=1e-5)
    assert np.abs(coef).sum() == pytest.approx(np.abs(model.dual_coef_).sum(), rel=1e-4)
    # epsilon is fitted: as an ordinary epsilon, it gives the same function.
    epsilon = (plus - minus) / 2
    assert epsilon > 0
    _, g, (b,) = fitted("epsilon", data, losses.EpsilonInsensitive(epsilon).dual(data.y, 2.0 * data.C))
    np.testing.assert_allclose(g + b, model.predict(data.X), atol=1e-5)


def test_one_class_is_that_of_scikit_learn():
    from sklearn.svm import OneClassSVM

    data = zoo.problem("one-class", seed=5, n=40, weighted=True)
    coef, f, (b,) = fitted("one-class", data, losses.OneClass(0.3).dual(data.C))
    model = OneClassSVM(nu=0.3, gamma=0.5, tol=1e-9).fit(data.X, sample_weight=data.C)
    np.testing.assert_allclose(f + b, model.decision_function(data.X), atol=1e-5)
    assert coef.sum() == pytest.approx(model.dual_coef_.sum())


@pytest.mark.parametrize("name", zoo.LOSSES)
def test_weight_two_is_the_example_twice(name):
    data = zoo.problem(name, seed=4, n=15)
    K = zoo.KERNELS["rbf"](data.X, data.X)
    twice = np.repeat(np.arange(15), 2)
    loss = zoo.LOSSES[name]
    weighted, doubled = loss.dual(data.y, 2.0), loss.dual(data.y[twice], 1.0)
    K2 = K[np.ix_(twice, twice)]
    optima = [qp.objective(k, T, qp.solve(k, T)) for k, T in ((K, weighted), (K2, doubled))]
    assert optima[0] == pytest.approx(optima[1], rel=1e-7)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: losses.EpsilonInsensitive(-0.1), "epsilon is -0.1, but it must be finite and not negative"),
        (lambda: losses.SquaredEpsilonInsensitive(np.inf), "epsilon is inf"),
        (lambda: losses.Huber(0.0), "delta is 0.0, but it must be finite and positive"),
        (lambda: losses.Pinball(1.0), "quantile is 1.0, but it must lie strictly between 0 and 1"),
        (lambda: losses.Pinball(float("nan")), "quantile is nan"),
        (lambda: losses.OneClass(0.0), r"nu is 0.0, but it must lie in \(0, 1\]"),
        (lambda: losses.NuClassification(1.5), "nu is 1.5"),
        (lambda: losses.NuRegression(-1.0), "nu is -1.0"),
        (lambda: losses.Hinge().dual([1, -1, 2], 1.0), r"y\[2\] is 2, but a classification loss takes the labels"),
        (lambda: losses.SquaredHinge().dual([0.0, 1.0], 1.0), r"y\[0\] is 0"),
        (lambda: losses.NuClassification(0.5).dual([1, 3], [1, 1]), r"y\[1\] is 3"),
        (lambda: losses.Huber(1.0).dual([1.0, np.nan], 1.0), r"y\[1\] is nan, but targets must be finite"),
        (lambda: losses.Huber(1.0).dual([[1.0]], 1.0), r"y must be one-dimensional, got shape \(1, 1\)"),
        (lambda: losses.Hinge().dual([1, -1], [1.0, 0.0]), r"C\[1\] is 0, but it must be positive"),
        (lambda: losses.Hinge().dual([1, -1], -2.0), "C is -2, but it must be positive"),
        (lambda: losses.Hinge().dual([1, -1], [1.0]), "C must be one number or 2"),
        (lambda: losses.OneClass(0.5).dual([1.0, np.inf]), r"weights\[1\] is inf, but a nu loss needs finite weights"),
        (lambda: losses.NuClassification(0.9).dual([1, 1, 1, -1], 1.0), "nu is infeasible: nu = 0.9 exceeds 0.5"),
    ],
)
def test_bad_numbers_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_largest_feasible_nu_has_every_weight_of_the_smaller_class_at_its_bound():
    y, w = np.array([1.0, 1.0, 1.0, -1.0, -1.0]), np.array([0.3, 0.7, 1.1, 0.1, 0.2])
    T = losses.NuClassification(2 * w[y < 0].sum() / w.sum()).dual(y, w)
    beta = project(T, np.zeros(5))
    np.testing.assert_allclose(beta[y < 0], -w[y < 0])
    assert beta[y > 0].sum() == pytest.approx(0.3)
