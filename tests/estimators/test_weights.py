"""Sample weights: they are duplication, zero is absence, and the order of the rows does not matter."""

import numpy as np
import pytest
from sklearn.base import clone

from estimators.cases import ESTIMATORS, classes, data_for, targets, values
from maxmargin.estimators import SVC, SVR, NuSVC, OneClassSVM

each_estimator = pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=ESTIMATORS)


@each_estimator
def test_weights_are_duplication(estimator):
    X, y = data_for(estimator)
    weights = np.random.RandomState(1).randint(0, 4, len(y))
    weighted = clone(estimator).fit(X, y, sample_weight=weights)
    repeated = clone(estimator).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(values(weighted, X), values(repeated, X), atol=1e-7)
    assert weighted._gamma == pytest.approx(repeated._gamma, rel=1e-12)
    np.testing.assert_allclose(weighted.primal_objective_, repeated.primal_objective_, rtol=1e-8)


@each_estimator
def test_order_of_rows_does_not_matter(estimator):
    X, y = data_for(estimator)
    order = np.random.RandomState(2).permutation(len(y))
    straight, shuffled = clone(estimator).fit(X, y), clone(estimator).fit(X[order], y[order])
    np.testing.assert_allclose(values(shuffled, X), values(straight, X), atol=1e-7)


@each_estimator
def test_rows_of_weight_zero_are_not_there(estimator):
    X, y = data_for(estimator)
    weights = np.ones(len(y))
    weights[::3] = 0
    weighted = clone(estimator).fit(X, y, sample_weight=weights)
    without = clone(estimator).fit(X[weights > 0], y[weights > 0])
    np.testing.assert_allclose(values(weighted, X), values(without, X), atol=1e-9)
    np.testing.assert_array_equal(weighted.support_, np.flatnonzero(weights > 0)[without.support_])
    assert weighted.shape_fit_ == X.shape


def test_a_class_of_weight_zero_is_not_there():
    X, y = classes()
    assert SVC().fit(X, y, sample_weight=(y != "b").astype(float)).classes_.tolist() == ["a", "c"]


@pytest.mark.parametrize("estimator", [SVC(kernel="precomputed"), SVR(kernel="precomputed")])
def test_precomputed_matrix_with_rows_left_out(estimator):
    X, y = data_for(estimator)
    K = X @ X.T
    weights = np.arange(len(y)) % 3.0
    model = clone(estimator).fit(K, y, sample_weight=weights)
    linear = clone(estimator).set_params(kernel="linear").fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(values(model, K), values(linear, X), atol=1e-7)


def test_function_with_rows_left_out():
    X, y = targets()
    weights = np.arange(len(y)) % 3.0
    model = SVR(kernel=lambda x, z: x @ z.T).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(model.predict(X), SVR(kernel="linear").fit(X, y, weights).predict(X), atol=1e-7)


def test_negative_weights_leave_rows_out_with_one_warning():
    X, y = targets()
    weights = np.ones(len(y))
    weights[:2] = -1
    with pytest.warns(UserWarning, match="2 rows of negative weight are left out") as caught:
        model = SVR().fit(X, y, sample_weight=weights)
    assert len(caught) == 1
    np.testing.assert_allclose(model.predict(X), SVR().fit(X[2:], y[2:]).predict(X), atol=1e-9)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([0.0] * 90, "all samples have zero or negative weights"),
        ([1.0] * 89, "sample_weight and X have incompatible shapes"),
        ([[1.0]] * 90, "sample_weight and X have incompatible shapes"),
        ([1.0] * 89 + [np.nan], r"sample_weight\[89\] is nan"),
        ([1.0] * 89 + [np.inf], r"sample_weight\[89\] is inf"),
    ],
)
def test_bad_weights(weights, message):
    with pytest.raises(ValueError, match=message):
        SVC().fit(*classes(), sample_weight=weights)


def test_one_class_left_is_refused():
    X, y = classes()
    only = (y == "a").astype(float)
    with pytest.raises(ValueError, match="all samples with positive weights belong to the same class"):
        SVC().fit(X, y, sample_weight=only)
    with pytest.raises(ValueError, match="specified nu is infeasible"):
        NuSVC().fit(X, y, sample_weight=only)


def test_infeasible_nu_is_refused():
    X, y = classes(centers=2)
    with pytest.raises(ValueError, match="specified nu is infeasible"):
        NuSVC(nu=0.9).fit(X, y, sample_weight=np.where(y == "a", 1.0, 0.2))


@pytest.mark.parametrize("multiclass", ["one-vs-one", "one-vs-rest"])
def test_class_weights_multiply_sample_weights(multiclass):
    X, y = classes()
    by_class = SVC(class_weight={"a": 3.0, "b": 0.5, "c": 1.0}, multiclass=multiclass).fit(X, y)
    weights = np.array([{"a": 3.0, "b": 0.5, "c": 1.0}[label] for label in y])
    gamma = by_class._gamma  # which class weights leave alone
    by_sample = SVC(gamma=gamma, multiclass=multiclass).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(by_class.decision_function(X), by_sample.decision_function(X), atol=1e-7)


def test_balanced_counts_weights():
    X, y = classes(centers=2)
    weights = np.where(y == "a", 3, 1)
    weighted = SVC(class_weight="balanced").fit(X, y, sample_weight=weights)
    repeated = SVC(class_weight="balanced").fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(weighted.class_weight_, repeated.class_weight_)
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-7)


def test_class_weights_must_be_positive():
    with pytest.raises(ValueError, match="class_weight of class b is 0"):
        SVC(class_weight={"a": 1.0, "b": 0.0, "c": 1.0}).fit(*classes())


def test_class_weight_of_one_does_not_change_nu_classification():
    X, y = classes()
    plain = NuSVC(nu=0.2, tol=1e-6).fit(X, y)
    weighted = NuSVC(nu=0.2, tol=1e-6, class_weight=dict.fromkeys("abc", 1.0)).fit(X, y)
    np.testing.assert_allclose(weighted.decision_function(X), plain.decision_function(X), atol=1e-5)


def test_class_weight_moves_nu_classification():
    X, y = classes(centers=2)
    share = [
        (NuSVC(nu=0.5, class_weight={"a": weight, "b": 1.0}).fit(X, y).predict(X) == "a").mean()
        for weight in (0.1, 1.0, 10.0)
    ]
    assert share[0] < share[1] < share[2]


def test_one_class_does_not_depend_on_the_scale_of_weights():
    X, _ = classes()
    plain, scaled = OneClassSVM().fit(X), OneClassSVM().fit(X, sample_weight=np.full(len(X), 7.0))
    np.testing.assert_allclose(scaled.decision_function(X), 7 * plain.decision_function(X), atol=1e-7)
    np.testing.assert_array_equal(scaled.predict(X), plain.predict(X))
