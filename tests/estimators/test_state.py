"""Pickles, clones and the training rows."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

from estimators.cases import ESTIMATORS, data_for, values
from maxmargin.estimators import SVC, SVR
from maxmargin.kernels import Gaussian, Linear

each_estimator = pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=ESTIMATORS)


@each_estimator
def test_pickle_predicts_the_same_and_leaves_the_training_rows_out(estimator):
    X, y = data_for(estimator)
    model = clone(estimator).fit(X, y)
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(values(loaded, X), values(model, X))
    assert loaded.duality_gap_ == pytest.approx(model.duality_gap_)
    with pytest.raises(NotFittedError, match="no longer holds its training rows"):
        loaded.certify()


@each_estimator
def test_copies_and_parameters(estimator):
    again = clone(estimator)
    for name, value in estimator.get_params().items():
        assert getattr(again, name) == value
    assert again.set_params(tol=0.5).tol == 0.5
    assert repr(copy.deepcopy(estimator)) == repr(estimator)


def test_certify_needs_a_fit():
    with pytest.raises(NotFittedError):
        SVC().certify()


def test_kernel_objects_survive():
    X, y = data_for(SVR())
    kernel = 0.5 * Gaussian(0.3) + Linear()
    model = pickle.loads(pickle.dumps(clone(SVR(kernel=kernel)).fit(X, y)))
    assert model.kernel == kernel
    np.testing.assert_allclose(model.predict(X), SVR(kernel=kernel).fit(X, y).predict(X), atol=1e-12)


def test_grid_search_over_kernels_and_precomputed():
    X, y = data_for(SVC())
    search = GridSearchCV(SVC(), {"kernel": ["rbf", Linear()], "C": [0.1, 1.0]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.5
    assert GridSearchCV(SVC(kernel="precomputed"), {"C": [0.1, 1.0]}, cv=3).fit(X @ X.T, y).best_score_ > 0.5


def test_fitting_again_forgets():
    X, y = data_for(SVC())
    model = SVC().fit(X, y)
    model.fit(X[:, :2], y == "a")
    assert model.n_features_in_ == 2
    assert model.classes_.tolist() == [False, True]
    assert isinstance(model.duality_gap_, float)
