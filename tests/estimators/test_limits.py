"""Limits, callbacks, threads and warm starts."""

import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from estimators.cases import CLASSIFIERS, ESTIMATORS, classes, data_for, targets, values
from maxmargin.estimators import SVC, SVR, NuSVC
from maxmargin.solvers import smo

each_estimator = pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=ESTIMATORS)

HARD = SVR(C=1e4, epsilon=0.0)  # minutes to the tolerance, by pairs
MANY = smo.SMALL + 500  # examples, too many for the exact finish


def test_max_iter_warns_once_and_keeps_the_best_point():
    X, y = classes(120)
    with pytest.warns(ConvergenceWarning, match=r"max_iter=3.*This holds for 3 of 3 problems") as caught:
        model = SVC(max_iter=3).fit(X, y)
    assert len(caught) == 1
    assert model.fit_status_ == 1
    assert model.status_.tolist() == ["max_iter"] * 3
    assert model.n_iter_.tolist() == [3, 3, 3]
    assert (model.dual_objective_ > 0).all()


@pytest.mark.parametrize("shrinking", [True, False])
def test_max_time_is_for_the_whole_fit(shrinking):
    X, y = targets(MANY)
    began = time.perf_counter()
    with pytest.warns(ConvergenceWarning, match="limit of time"):
        model = clone(HARD).set_params(max_time=0.3, shrinking=shrinking).fit(X, y)
    assert time.perf_counter() - began < 3.0
    assert model.status_ == "max_time"
    assert np.isfinite(model.predict(X)).all()


def test_problems_that_wait_have_the_time_that_is_left():
    given = []

    def solver(problem, limits, **options):
        given.append(limits.max_time)
        time.sleep(0.1)
        return smo.solve(problem, limits, **options)

    SVC(solver=solver, max_time=60.0, n_jobs=1).fit(*classes())
    assert given[0] <= 60.0
    assert given[2] < 59.85


def test_callback_sees_states_and_stops_without_a_warning():
    X, y = targets(MANY)
    states = []

    def callback(state):
        states.append(state)
        return state.time > 0.2

    model = clone(HARD).set_params(callback=callback).fit(X, y)
    assert model.status_ == "stopped"
    assert model.fit_status_ == 1
    assert model.trace_["iteration"].tolist() == [state.iteration for state in states]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_in_one_problem_ends_the_fit(n_jobs):
    def callback(state):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        SVC(callback=callback, n_jobs=n_jobs).fit(*classes())


@pytest.mark.parametrize("estimator", CLASSIFIERS.values(), ids=CLASSIFIERS)
def test_threads_do_not_change_the_result(estimator):
    X, y = classes(120, centers=4)
    one = clone(estimator).set_params(n_jobs=1).fit(X, y)
    two = clone(estimator).set_params(n_jobs=2).fit(X, y)
    np.testing.assert_allclose(two.decision_function(X), one.decision_function(X), atol=1e-7)


def test_problems_run_side_by_side():
    seen = set()

    def solver(problem, limits, **options):
        seen.add(threading.get_ident())
        time.sleep(0.02)
        assert options["n_jobs"] == 1
        return smo.solve(problem, limits, **options)

    SVC(solver=solver, n_jobs=2).fit(*classes(centers=4))
    assert len(seen) == 2


def test_prediction_is_threaded(monkeypatch):
    """Two blocks are worked on at the same time, or the barrier breaks."""
    X, y = classes(120)
    model = SVC(n_jobs=1).fit(X, y)
    expected, decide, seen = model.decision_function(X), SVC._decide, set()

    def meet(self, K, coef):
        seen.add(threading.get_ident())
        barrier.wait(10)
        return decide(self, K, coef)

    monkeypatch.setattr(SVC, "_decide", meet)
    for n_jobs in (1, 2):
        barrier = threading.Barrier(n_jobs)
        seen.clear()
        np.testing.assert_allclose(model.set_params(n_jobs=n_jobs).decision_function(X), expected, atol=1e-12)
        assert len(seen) == n_jobs


def test_fits_and_predictions_may_run_in_threads():
    X, y = classes(120)
    expected = SVC().fit(X, y).decision_function(X)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: SVC().fit(X, y).decision_function(X), range(8)))
    for decisions in found:
        np.testing.assert_allclose(decisions, expected, atol=1e-7)


def test_one_model_predicts_in_several_threads():
    X, y = classes(400)
    model = SVC(n_jobs=2).fit(X, y)
    expected = model.decision_function(X)
    barrier = threading.Barrier(4)

    def predict(part):
        barrier.wait(10)
        return [model.decision_function(X[part::4]) for _ in range(20)]

    with ThreadPoolExecutor(4) as pool:
        for part, found in enumerate(pool.map(predict, range(4))):
            np.testing.assert_allclose(found, [expected[part::4]] * 20, atol=1e-12)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_callback_may_fit(n_jobs):
    X, y = classes(120)
    expected, inner = SVC().fit(X, y).decision_function(X), []

    def callback(state):
        inner.append(SVC(n_jobs=n_jobs).fit(X, y).decision_function(X))

    outer = SVC(callback=callback, n_jobs=n_jobs).fit(X, y)
    assert len(inner) >= 3
    for found in (outer.decision_function(X), *inner):
        np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_kernel_function_may_fit(n_jobs):
    X, y = classes(120)
    inner = []

    def kernel(A, B):
        inner.append(SVC(n_jobs=n_jobs).fit(X, y).decision_function(X))
        return A @ B.T

    outer = SVC(kernel=kernel, n_jobs=n_jobs).fit(X, y)
    expected = SVC().fit(X, y).decision_function(X)
    np.testing.assert_allclose(
        outer.decision_function(X), SVC(kernel="linear").fit(X, y).decision_function(X), atol=1e-5
    )
    assert len(inner) >= 2
    for found in inner:
        np.testing.assert_allclose(found, expected, atol=1e-6)


@each_estimator
def test_warm_start_ends_where_cold_start_does(estimator):
    X, y = data_for(estimator)
    cold = clone(estimator).fit(X, y)
    warm = clone(estimator).set_params(warm_start=True)
    parameter = "nu" if "nu" in warm.get_params() else "C"
    warm.set_params(**{parameter: getattr(warm, parameter) / 2}).fit(X, y)
    warm.set_params(**{parameter: getattr(estimator, parameter)}).fit(X, y)
    np.testing.assert_allclose(values(warm, X), values(cold, X), atol=1e-6)


def test_warm_start_is_used():
    X, y = classes(300, centers=2)
    model = SVC(C=10.0, warm_start=True).fit(X, y)
    first = model.n_iter_[0]
    assert model.fit(X, y).n_iter_[0] < 0.1 * first


def test_warm_start_refuses_other_data():
    X, y = classes(60)
    model = SVC(warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="goes on from the previous fit of 3 problems with 120 variables"):
        model.fit(X[:-3], y[:-3])


def test_max_time_covers_both_stages_of_weighted_nu_classification():
    given = []

    def solver(problem, limits, **options):
        given.append(limits.max_time)
        time.sleep(0.1)
        return smo.solve(problem, limits, **options)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        NuSVC(nu=0.2, class_weight="balanced", solver=solver, max_time=60.0, n_jobs=1).fit(*classes(centers=2))
    assert len(given) == 2
    assert given[1] < given[0]
