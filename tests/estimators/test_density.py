"""Probabilities of one-class machines: LIBSVM's marks and steps, and what they say of predict."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from libsvm import svmutil
from sklearn.exceptions import NotFittedError

from estimators.cases import classes
from maxmargin.estimators import OneClassSVM
from maxmargin.estimators.density import density_marks, normal_probabilities

VALUES = st.lists(st.floats(-10.0, 10.0), min_size=1, max_size=60)


def fitted(**parameters):
    X, _ = classes(200)
    return OneClassSVM(nu=0.3, probability=True, **parameters).fit(X), X


def marks_by_count(values):
    """LIBSVM's rule, number by number."""
    d = sorted(values)
    neg = sum(v < 0 for v in d)
    pos = len(d) - neg
    if min(neg, pos) < 5:
        return None
    t = [d[i * neg // 5] for i in range(5)] + [0.0] + [d[neg - 1 + i * pos // 5] for i in range(1, 6)]
    return [(a + b) / 2 for a, b in zip(t[:-1], t[1:], strict=True)]


@given(VALUES)
def test_marks_lie_between_equal_counts(values):
    expected = marks_by_count(values)
    found = density_marks(np.array(values), np.ones(len(values)))
    assert (found is None) == (expected is None)
    if expected is not None:
        np.testing.assert_array_equal(found, expected)


@given(st.lists(st.tuples(st.floats(-10.0, 10.0), st.integers(1, 5)), min_size=1, max_size=40))
def test_marks_take_weights_as_repetition(pairs):
    values, weights = (np.array(column, dtype=float) for column in zip(*pairs, strict=True))
    repeated = np.repeat(values, weights.astype(int))
    found, expected = density_marks(values, weights), density_marks(repeated, np.ones(len(repeated)))
    assert (found is None) == (expected is None)
    if expected is not None:
        np.testing.assert_array_equal(found, expected)


@given(st.lists(st.tuples(st.floats(-10.0, 10.0), st.floats(1e-3, 1e20)), min_size=1, max_size=40))
def test_marks_ascend_whatever_the_weights(pairs):
    found = density_marks(*(np.array(column, dtype=float) for column in zip(*pairs, strict=True)))
    if found is not None:
        assert (np.diff(found) >= 0).all()
        assert found[4] <= 0 <= found[5]


def test_the_steps():
    marks = np.arange(10.0)
    values = np.array([-1.0, -1e-9, 0.0, 0.5, 1.0, 4.9, 8.0, 8.9, 9.0, 9.5])
    expected = [0.001, 0.001, 0.1, 0.1, 0.2, 0.5, 0.9, 0.9, 0.999, 0.999]
    np.testing.assert_allclose(normal_probabilities(values, marks), expected, rtol=1e-15)


def test_marks_and_steps_are_libsvms(tmp_path):
    X, _ = classes(200)
    theirs = svmutil.svm_train(np.ones(200), X, "-s 2 -n 0.3 -g 0.1 -b 1 -q")
    _, _, probabilities = svmutil.svm_predict([], X, theirs, "-b 1 -q")
    _, _, decisions = svmutil.svm_predict([], X, theirs, "-q")
    values = np.array(decisions)[:, 0]
    marks = density_marks(values, np.ones(200))
    np.testing.assert_allclose(marks, theirs.prob_density_marks[:10], atol=1e-12)
    np.testing.assert_array_equal(normal_probabilities(values, marks), np.array(probabilities)[:, 0])


def test_the_marks_are_those_of_the_training_rows():
    model, X = fitted()
    expected = marks_by_count(model.decision_function(X))
    np.testing.assert_allclose(model.density_marks_, expected, atol=1e-12)


def test_probabilities_rise_with_the_decision_values_and_agree_with_predict():
    model, X = fitted()
    grid = np.random.RandomState(1).uniform(X.min(), X.max(), (500, 3))
    p, decisions = model.predict_proba(grid), model.decision_function(grid)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-15)
    assert (np.diff(p[np.argsort(decisions), 1]) >= 0).all()
    assert (p[decisions < 0, 1] <= 0.5).all()
    assert (p[decisions >= 0, 1] >= 0.5).all()
    assert set(np.round(p[:, 1], 3)) <= {0.001, *(k / 10 for k in range(1, 10)), 0.999}


def test_weights_are_repetition():
    X, _ = classes(100)
    weights = np.random.RandomState(1).randint(1, 4, len(X))
    weighted = OneClassSVM(nu=0.3, probability=True).fit(X, sample_weight=weights)
    repeated = OneClassSVM(nu=0.3, probability=True).fit(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(weighted.density_marks_, repeated.density_marks_, atol=1e-6)


def test_rows_of_weight_zero_are_not_there():
    X, _ = classes(200)
    weights = (np.arange(200) % 3 > 0).astype(float)
    weighted = OneClassSVM(nu=0.3, probability=True).fit(X, sample_weight=weights)
    without = OneClassSVM(nu=0.3, probability=True).fit(X[weights > 0])
    np.testing.assert_allclose(weighted.density_marks_, without.density_marks_, atol=1e-9)


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csr_array])
def test_sparse_data_have_the_probabilities_of_dense_data(kind):
    model, X = fitted()
    sparse = OneClassSVM(nu=0.3, probability=True).fit(kind(X))
    np.testing.assert_allclose(sparse.density_marks_, model.density_marks_, atol=1e-9)


def test_precomputed_kernels():
    X, _ = classes(200)
    linear = OneClassSVM(kernel="linear", nu=0.3, probability=True).fit(X)
    matrix = OneClassSVM(kernel="precomputed", nu=0.3, probability=True).fit(X @ X.T)
    np.testing.assert_allclose(matrix.density_marks_, linear.density_marks_, atol=1e-6)


def test_pickles_keep_the_marks():
    model, X = fitted()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), model.predict_proba(X))


def test_too_few_on_one_side_is_a_warning_and_no_probabilities():
    X, _ = classes(40)
    model = OneClassSVM(nu=0.3, probability=True).fit(X)
    assert hasattr(model, "density_marks_")
    with pytest.warns(UserWarning, match=r"they take 5 outliers and 5 others, .* are [0-4] and \d+\.") as caught:
        model.set_params(nu=0.05).fit(X)
    assert len(caught) == 1
    assert not hasattr(model, "density_marks_")
    with pytest.raises(AttributeError) as error:
        model.predict_proba(X)
    assert "on fewer than 5 outliers or 5 others" in str(error.value.__cause__)
    np.testing.assert_array_equal(model.predict(X), OneClassSVM(nu=0.05).fit(X).predict(X))


def test_there_are_probabilities_only_where_they_were_asked_for():
    X, _ = classes(200)
    model = OneClassSVM(nu=0.3)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        model.set_params(probability=True).predict_proba(X)
    model.set_params(probability=False).fit(X)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError) as error:
        model.set_params(probability=True).predict_proba(X)
    assert "when fitted with probability=False" in str(error.value.__cause__)
    assert model.fit(X).predict_proba(X).shape == (200, 2)
    model.set_params(probability=False).fit(X)
    assert not hasattr(model, "density_marks_")
