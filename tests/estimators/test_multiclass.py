"""Several classes: scikit-learn's layout, votes and ties, and one-vs-rest."""

import numpy as np
import pytest
import sklearn.svm
from sklearn.base import clone
from sklearn.multiclass import OneVsRestClassifier

from estimators.cases import CLASSIFIERS, classes
from maxmargin.estimators import LSSVC, SVC, NuSVC


@pytest.mark.parametrize("centers", [2, 3, 5])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_svc_is_scikit_learns(centers, kernel):
    X, y = classes(120, centers)
    ours = SVC(kernel=kernel, decision_function_shape="ovo").fit(X, y)
    theirs = sklearn.svm.SVC(kernel=kernel, decision_function_shape="ovo", tol=1e-9).fit(X, y)
    np.testing.assert_array_equal(ours.support_, theirs.support_)
    np.testing.assert_array_equal(ours.n_support_, theirs.n_support_)
    np.testing.assert_array_equal(ours.support_vectors_, theirs.support_vectors_)
    for name in ("dual_coef_", "intercept_", "_dual_coef_", "_intercept_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), atol=1e-4, err_msg=name)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    if kernel == "linear":
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)


@pytest.mark.parametrize("break_ties", [False, True])
@pytest.mark.parametrize("centers", [2, 3, 5])
def test_nu_svc_is_scikit_learns(centers, break_ties):
    X, y = classes(120, centers)
    ours = NuSVC(nu=0.3, break_ties=break_ties, tol=1e-6).fit(X, y)
    theirs = sklearn.svm.NuSVC(nu=0.3, break_ties=break_ties, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("estimator", [SVC(), LSSVC(), NuSVC(nu=0.2)])
def test_one_vs_rest_is_one_problem_a_class(estimator):
    X, y = classes()
    gamma = SVC().fit(X, y)._gamma
    model = clone(estimator).set_params(multiclass="one-vs-rest", gamma=gamma).fit(X, y)
    reference = OneVsRestClassifier(clone(estimator).set_params(gamma=gamma)).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), reference.decision_function(X), atol=1e-7)
    np.testing.assert_array_equal(model.predict(X), reference.predict(X))
    assert model.dual_coef_.shape == (3, len(model.support_))
    assert model.intercept_.shape == model.n_iter_.shape == (3,)


@pytest.mark.parametrize("multiclass", ["one-vs-one", "one-vs-rest"])
def test_two_classes_are_one_problem(multiclass):
    X, y = classes(centers=2)
    model = SVC(multiclass=multiclass).fit(X, y)
    assert model.intercept_.shape == (1,)
    assert isinstance(model.duality_gap_, float)
    np.testing.assert_array_equal(model.predict(X), model.classes_[(model.decision_function(X) > 0).astype(int)])


def test_one_vs_rest_has_no_pairs():
    X, y = classes()
    model = SVC(multiclass="one-vs-rest", decision_function_shape="ovo").fit(X, y)
    with pytest.raises(ValueError, match="'one-vs-rest' has no pairs"):
        model.decision_function(X)


@pytest.mark.parametrize("estimator", CLASSIFIERS.values(), ids=CLASSIFIERS)
def test_certificates_in_the_order_of_the_intercepts(estimator):
    X, y = classes(80, centers=4)
    model = clone(estimator).fit(X, y)
    k = len(model.intercept_)
    assert k in (4, 6)
    assert model.primal_objective_.shape == model.dual_objective_.shape == model.status_.shape == (k,)
    assert len(model.trace_) == len(model.solution_) == k
    assert (model.duality_gap_ < 1e-6).all()
    for found, primal in zip(model.certify(), model.primal_objective_, strict=True):
        assert found.primal == pytest.approx(primal, rel=1e-6)


@pytest.mark.parametrize("estimator", [SVC(), SVC(multiclass="one-vs-rest")])
def test_the_matrix_is_computed_once_when_it_fits(estimator):
    calls = []

    def kernel(x, z):
        calls.append((len(x), len(z)))
        return np.exp(-((x[:, None] - z[None]) ** 2).sum(-1))

    X, y = classes()
    clone(estimator).set_params(kernel=kernel).fit(X, y)
    assert calls == [(90, 90)]


@pytest.mark.parametrize("parameters", [{}, {"multiclass": "one-vs-rest"}])
def test_problems_that_do_not_share_a_matrix_have_the_same_solutions(parameters):
    X, y = classes(400, centers=4)
    shared = SVC(**parameters).fit(X, y)
    alone = SVC(cache_size=1.0, **parameters).fit(X, y)
    np.testing.assert_allclose(alone.decision_function(X), shared.decision_function(X), atol=1e-6)
