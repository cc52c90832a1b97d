"""Regression and outlier detection: against scikit-learn, closed forms and what the loss promises."""

import numpy as np
import pytest
import sklearn.svm
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel

from estimators.cases import REGRESSORS, classes, targets
from maxmargin.estimators import LSSVC, LSSVR, SVR, HuberSVR, NuSVR, OneClassSVM, QuantileSVR


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (SVR(C=3.0), sklearn.svm.SVR(C=3.0, tol=1e-9)),
        (SVR(kernel="linear", epsilon=0.3), sklearn.svm.SVR(kernel="linear", epsilon=0.3, tol=1e-9)),
        (NuSVR(C=3.0, nu=0.3), sklearn.svm.NuSVR(C=3.0, nu=0.3, tol=1e-9)),
    ],
)
def test_regression_is_scikit_learns(ours, theirs):
    X, y = targets()
    ours.fit(X, y)
    theirs.fit(X, y)
    np.testing.assert_array_equal(ours.support_, theirs.support_)
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-5)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-5)


def test_one_class_is_scikit_learns():
    X, _ = classes()
    ours, theirs = OneClassSVM(nu=0.3).fit(X), sklearn.svm.OneClassSVM(nu=0.3, tol=1e-9).fit(X)
    np.testing.assert_allclose(ours.score_samples(X), theirs.score_samples(X), atol=1e-5)
    np.testing.assert_allclose(ours.offset_, theirs.offset_, atol=1e-5)


def test_one_class_leaves_out_a_share_of_nu():
    X, _ = classes(200)
    outliers = (OneClassSVM(nu=0.25).fit(X).predict(X) == -1).mean()
    assert 0.2 < outliers <= 0.25


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.8])
def test_a_share_of_the_quantile_lies_below(quantile):
    X, y = targets(300)
    below = (y < QuantileSVR(quantile=quantile, C=1.0).fit(X, y).predict(X) - 1e-9).mean()
    on_or_below = (y < QuantileSVR(quantile=quantile, C=1.0).fit(X, y).predict(X) + 1e-9).mean()
    assert below <= quantile <= on_or_below


def test_least_squares_without_intercept_is_kernel_ridge():
    X, y = targets()
    ours = LSSVR(C=5.0, gamma=0.1, fit_intercept=False).fit(X, y)
    ridge = KernelRidge(kernel="rbf", gamma=0.1, alpha=1 / 5.0).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), ridge.predict(X), atol=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
def test_least_squares_solves_its_linear_system(weighted):
    X, y = targets()
    weights = np.linspace(0.5, 2.0, len(y)) if weighted else np.ones(len(y))
    K = rbf_kernel(X, gamma=0.1)
    system = np.block([[K + np.diag(1 / (5.0 * weights)), np.ones((80, 1))], [np.ones((1, 80)), np.zeros((1, 1))]])
    solution = np.linalg.solve(system, np.append(y, 0.0))
    model = LSSVR(C=5.0, gamma=0.1).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(model.predict(X), K @ solution[:-1] + solution[-1], atol=1e-8)


def test_least_squares_classification_is_regression_on_the_labels():
    X, y = classes(centers=2)
    labels = np.where(y == "b", 1.0, -1.0)
    np.testing.assert_allclose(LSSVC().fit(X, y).decision_function(X), LSSVR().fit(X, labels).predict(X), atol=1e-8)


def test_huber_is_least_squares_within_delta_and_the_absolute_loss_beyond():
    X, y = targets()
    np.testing.assert_allclose(HuberSVR(delta=100.0).fit(X, y).predict(X), LSSVR().fit(X, y).predict(X), atol=1e-8)
    small = 1e-4
    huber = HuberSVR(delta=small, C=1 / small).fit(X, y)
    np.testing.assert_allclose(huber.predict(X), SVR(epsilon=0.0).fit(X, y).predict(X), atol=1e-2)


def test_outliers_do_not_move_huber():
    X, y = targets()
    far = y.copy()
    far[:4] += 1000.0
    moved = [np.abs(m.fit(X, far).predict(X) - m.fit(X, y).predict(X)).max() for m in (HuberSVR(delta=0.1), LSSVR())]
    assert moved[0] < 1.0 < moved[1]


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_loss_of_svr_is_minimised(loss):
    X, y = targets()
    model = SVR(loss=loss, epsilon=0.2, C=2.0).fit(X, y)
    errors = np.maximum(0.0, np.abs(y - model.predict(X)) - 0.2) ** (2 if loss.startswith("squared") else 1)
    norm = (
        model.dual_coef_[0] @ model.kernel_.block(model.support_vectors_, model.support_vectors_) @ model.dual_coef_[0]
    )
    assert 0.5 * norm + 2.0 * errors.sum() == pytest.approx(model.primal_objective_, rel=1e-8)
    assert model.primal_objective_ == pytest.approx(model.dual_objective_, rel=1e-8)


@pytest.mark.parametrize("estimator", REGRESSORS.values(), ids=REGRESSORS)
def test_certificate(estimator):
    X, y = targets()
    model = clone(estimator).fit(X, y)
    found = model.certify()
    assert model.status_ == "converged"
    assert model.fit_status_ == 0
    assert found.gap <= 1e-8
    assert found.primal == pytest.approx(model.primal_objective_, rel=1e-8)
    assert model.dual_objective_ <= model.primal_objective_ + 1e-12
    assert model.kkt_violation_ <= 1e-3


@pytest.mark.parametrize(
    "estimator", [SVR(), SVR(loss="squared_epsilon_insensitive"), QuantileSVR(), HuberSVR(), LSSVR()]
)
def test_infinite_C_interpolates(estimator):
    X, y = targets(30)
    model = clone(estimator).set_params(C=np.inf, gamma=1.0).fit(X, y)
    assert np.abs(model.predict(X) - y).max() <= 0.1 + 1e-6
