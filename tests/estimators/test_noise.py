"""The noise of a regression: against models fitted fold by fold, against LIBSVM, and the same every time."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from libsvm import svmutil
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from estimators.cases import REGRESSORS, targets
from maxmargin.estimators import SVR, NuSVR
from maxmargin.estimators.noise import laplace_scale
from maxmargin.solvers import smo

MODELS = {
    "SVR": SVR(gamma=0.2, C=10.0),
    "SVR squared without intercept": SVR(gamma=0.2, loss="squared_epsilon_insensitive", fit_intercept=False),
    "SVR linear": SVR(kernel="linear", epsilon=0.3),
    "NuSVR": NuSVR(gamma=0.2, C=10.0),
}
each_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def noisy(model, **parameters):
    """The same model, asked for the noise."""
    return clone(model).set_params(probability=True, **parameters)


def unseen_residuals(model, X, y, weights, seed):
    """Targets less predictions, by five fits that never see the rows they are asked for."""
    fold = np.empty(len(y), dtype=int)
    fold[np.random.RandomState(seed).permutation(len(y))] = np.arange(len(y)) % 5
    residuals = np.empty(len(y))
    for k in range(5):
        fitted = clone(model).fit(X[fold != k], y[fold != k], weights[fold != k])
        residuals[fold == k] = y[fold == k] - fitted.predict(X[fold == k])
    return residuals


def scale_of(residuals, weights):
    """The two means, example by example."""
    first = sum(w * abs(r) for r, w in zip(residuals, weights, strict=True)) / sum(weights)
    near = [(abs(r), w) for r, w in zip(residuals, weights, strict=True) if abs(r) <= 5 * (2 * first**2) ** 0.5]
    return sum(w * r for r, w in near) / sum(w for _, w in near)


@each_model
@pytest.mark.parametrize("weighted", [False, True])
def test_the_noise_is_that_of_rows_that_were_not_seen(model, weighted):
    X, y = targets()
    weights = np.random.RandomState(3).uniform(0.2, 3.0, len(y)) if weighted else np.ones(len(y))
    fitted = noisy(model, random_state=5).fit(X, y, weights)
    expected = scale_of(unseen_residuals(model, X, y, weights, 5), weights)
    assert fitted.noise_scale_ == pytest.approx(expected, rel=1e-6)
    assert type(fitted.noise_scale_) is float


def test_the_noise_that_was_put_in_is_found():
    random = np.random.RandomState(0)
    X = random.uniform(-3.0, 3.0, (400, 1))
    y = np.sin(X[:, 0]) + random.laplace(scale=0.3, size=400)
    for model in (SVR(), NuSVR()):
        assert noisy(model).fit(X, y).noise_scale_ == pytest.approx(0.3, rel=0.15)


@pytest.mark.parametrize(("ours", "options"), [(SVR(gamma=0.2), "-s 3"), (NuSVR(gamma=0.2), "-s 4")])
def test_the_noise_is_libsvms_up_to_the_folds(ours, options):
    X, y = targets(300)
    theirs = svmutil.svm_train(y, X, f"{options} -g 0.2 -b 1 -q").get_svr_probability()
    assert noisy(ours).fit(X, y).noise_scale_ == pytest.approx(theirs, rel=0.1)


def test_residuals_beyond_five_deviations_are_left_out():
    residuals = np.append(np.tile([1.0, -2.0], 50), [500.0, -1000.0])
    assert laplace_scale(residuals, np.ones(102)) == pytest.approx(1.5, rel=1e-12)
    assert laplace_scale(residuals[:100], np.ones(100)) == pytest.approx(1.5, rel=1e-12)
    assert laplace_scale(np.zeros(3), np.ones(3)) == 0.0


@given(st.lists(st.tuples(st.floats(-100, 100), st.integers(1, 4)), min_size=1, max_size=30))
def test_the_scale_of_residuals_takes_weights_as_repetition(pairs):
    residuals, weights = (np.array(values, dtype=float) for values in zip(*pairs, strict=True))
    repeated = np.repeat(residuals, weights.astype(int))
    assert laplace_scale(residuals, weights) == pytest.approx(laplace_scale(repeated, np.ones(len(repeated))), rel=1e-9)


@pytest.mark.parametrize("random_state", [None, 0, 7])
def test_the_same_seed_gives_the_same_noise(random_state):
    X, y = targets()
    first, second = (noisy(SVR(), random_state=random_state).fit(X, y).noise_scale_ for _ in range(2))
    assert first == second


def test_another_seed_deals_other_folds():
    X, y = targets()
    assert len({noisy(SVR(), random_state=seed).fit(X, y).noise_scale_ for seed in range(3)}) == 3


@each_model
def test_threads_do_not_change_the_noise(model):
    X, y = targets()
    one, two = (noisy(model, n_jobs=n_jobs).fit(X, y).noise_scale_ for n_jobs in (1, 2))
    assert two == pytest.approx(one, rel=1e-9)


@each_model
def test_the_noise_does_not_change_the_model(model):
    X, y = targets()
    plain, with_noise = clone(model).fit(X, y), noisy(model).fit(X, y)
    np.testing.assert_allclose(with_noise.predict(X), plain.predict(X), atol=1e-9)
    assert with_noise.primal_objective_ == pytest.approx(plain.primal_objective_, rel=1e-12)
    assert np.isscalar(with_noise.n_iter_)


@each_model
@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csr_array])
def test_sparse_data_have_the_noise_of_dense_data(model, kind):
    X, y = targets()
    X = np.where(np.abs(X) > 0.3, X, 0.0)
    dense = noisy(model).fit(X, y).noise_scale_
    assert noisy(model).fit(kind(X), y).noise_scale_ == pytest.approx(dense, rel=1e-9)


def test_other_forms_of_a_kernel_have_the_same_noise():
    X, y = targets()
    weights = np.arange(len(y)) % 3.0  # with rows that are left out
    expected = noisy(SVR(kernel="linear")).fit(X, y, weights).noise_scale_
    matrix = noisy(SVR(kernel="precomputed")).fit(X @ X.T, y, weights).noise_scale_
    function = noisy(SVR(kernel=lambda A, B: A @ B.T)).fit(X, y, weights).noise_scale_
    assert (matrix, function) == pytest.approx((expected, expected), rel=1e-6)


def test_rows_of_weight_zero_are_not_there():
    X, y = targets()
    weights = (np.arange(len(y)) % 3 > 0).astype(float)
    expected = noisy(SVR()).fit(X[weights > 0], y[weights > 0]).noise_scale_
    assert noisy(SVR()).fit(X, y, weights).noise_scale_ == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_folds_are_solved_beside_the_whole(n_jobs):
    sizes, calls = [], []

    def solver(problem, limits, **options):
        sizes.append(problem.terms.n)
        return smo.solve(problem, limits, **options)

    def kernel(A, B):
        calls.append(len(A))
        return A @ B.T

    X, y = targets(82)
    noisy(SVR(kernel=kernel, solver=solver, n_jobs=n_jobs)).fit(X, y)
    assert sorted(sizes) == [65, 65, 66, 66, 66, 82]
    assert calls == [82]


def test_limits_are_for_the_folds_too():
    X, y = targets()
    with pytest.warns(ConvergenceWarning, match=r"max_iter=1.*This holds for 6 of 6 problems") as caught:
        model = noisy(SVR(max_iter=1)).fit(X, y)
    assert len(caught) == 1
    assert model.fit_status_ == 1
    assert (model.status_, model.n_iter_) == ("max_iter", 1)
    assert np.isfinite(model.noise_scale_)


def test_a_warm_start_ends_with_the_same_noise():
    X, y = targets()
    model = noisy(SVR(C=5.0, warm_start=True)).fit(X, y)
    assert model.set_params(C=10.0).fit(X, y).noise_scale_ == pytest.approx(
        noisy(SVR(C=10.0)).fit(X, y).noise_scale_, rel=1e-6
    )


def test_there_is_noise_only_where_it_was_asked_for():
    X, y = targets()
    model = SVR().fit(X, y)
    assert not hasattr(model, "noise_scale_")
    assert model.set_params(probability=True).fit(X, y).noise_scale_ > 0
    assert not hasattr(model.set_params(probability=False).fit(X, y), "noise_scale_")
    for other in REGRESSORS.values():
        assert ("probability" in other.get_params()) == isinstance(other, SVR | NuSVR)


def test_pickles_keep_the_noise():
    X, y = targets()
    model = noisy(NuSVR()).fit(X, y)
    assert pickle.loads(pickle.dumps(model)).noise_scale_ == model.noise_scale_


@pytest.mark.parametrize("model", [SVR(), NuSVR()])
def test_fewer_rows_than_folds_are_refused(model):
    X, y = targets(6)
    assert noisy(model).fit(X[:5], y[:5]).noise_scale_ > 0
    for rows, weights in ((4, None), (6, [1, 1, 0, 1, 1, 0])):
        with pytest.raises(ValueError, match=r"5 folds, which take at least 5 examples .* n_samples = 4\."):
            noisy(model).fit(X[:rows], y[:rows], weights)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clone(model).fit(X[:4], y[:4])
