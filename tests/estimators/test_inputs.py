"""What X may be: dense, sparse, float32, data frames, kernel matrices, anything that a function takes."""

import os
import subprocess
import sys
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from estimators.cases import CLASSIFIERS, ESTIMATORS, classes, data_for, targets, values
from maxmargin import kernels
from maxmargin.estimators import LSSVR, SVC, SVR, NuSVC, OneClassSVM
from maxmargin.kernels.kernel import BLOCK_BYTES
from maxmargin.threads import available

each_estimator = pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=ESTIMATORS)


def thinned(X):
    return np.where(np.abs(X) > 1.0, X, 0.0)


@pytest.fixture(params=[True, False], ids=["computed dense", "computed sparse"])
def small_dense(request, monkeypatch):
    """Whether small sparse data are computed with as their dense copy, as they are without this fixture."""
    if not request.param:
        monkeypatch.setattr("maxmargin.estimators.training.SMALL_DENSE", 0)
    return request.param


@each_estimator
@pytest.mark.parametrize("container", [sp.csr_matrix, sp.csr_array, sp.coo_array])
def test_sparse_is_dense(estimator, container, small_dense):
    X, y = data_for(estimator)
    X = thinned(X)
    dense, sparse = clone(estimator).fit(X, y), clone(estimator).fit(container(X), y)
    assert sp.issparse(sparse.support_vectors_)
    assert sp.issparse(sparse.dual_coef_)
    # The dense copy gives the same kernel values to the last bit, sparse sums round in another order.
    np.testing.assert_allclose(sparse.dual_coef_.toarray(), dense.dual_coef_, rtol=0, atol=0 if small_dense else 1e-8)
    np.testing.assert_array_equal(sparse.support_vectors_.toarray(), dense.support_vectors_)
    for test in (container(X), X):
        np.testing.assert_allclose(values(sparse, test), values(dense, X), atol=1e-9)
    with pytest.raises(ValueError, match="cannot use sparse input in '.*' trained on dense data"):
        dense.predict(container(X))


@pytest.mark.parametrize("multiclass", ["one-vs-one", "one-vs-rest"])
def test_sparse_coef(multiclass, small_dense):
    X, y = classes(centers=4)
    sparse = SVC(kernel="linear", multiclass=multiclass).fit(sp.csr_array(X), y)
    dense = SVC(kernel="linear", multiclass=multiclass).fit(X, y)
    assert sp.issparse(sparse.coef_)
    np.testing.assert_allclose(sparse.coef_.toarray(), dense.coef_, atol=1e-12 if small_dense else 1e-9)


@pytest.mark.parametrize(
    ("array", "place", "value", "message"),
    [
        ("indices", 7, 10**7, r"indices\[7\] is 10000000, but there are 5 of them"),
        ("indices", 7, -3, r"indices\[7\] is -3, but there are 5 of them"),
        ("indptr", 10, 10**8, r"indptr\[11\] is less than indptr\[10\]"),
        ("indptr", 0, 1, "its indptr starts with 1, not with 0"),
        ("indptr", 60, 301, "its indptr ends with 301, but it stores 300 values"),
    ],
)
@pytest.mark.parametrize("container", [sp.csr_array, sp.csc_array])
def test_malformed_sparse_matrices_are_refused(array, place, value, message, container):
    X = container(np.random.default_rng(0).random((60, 5)))
    y = np.arange(60) % 2
    model, kernel = SVC().fit(X, y), kernels.Linear()
    if container is sp.csc_array:
        if array != "indices":
            return
        message = message.replace("5 of", "60 of")
    getattr(X, array)[place] = value
    for call in (lambda: SVC().fit(X, y), lambda: model.predict(X), lambda: kernel.block(X, X)):
        with pytest.raises(ValueError, match=message):
            call()


def test_the_place_of_what_is_no_number_is_named():
    X, y = classes()
    model, sparse = SVC().fit(X, y), SVC().fit(sp.csr_array(thinned(X)), y)
    X[13, 2] = np.nan
    with pytest.raises(ValueError, match=r"^Input X contains NaN in row 13, column 2\.$"):
        SVC().fit(X, y)
    with pytest.raises(ValueError, match=r"^Input X contains NaN in row 3, column 2\.$"):
        model.predict(X[10:])
    with pytest.raises(ValueError, match=r"^Input X contains NaN in row 3, column 2\.$"):
        sparse.predict(sp.csr_array(X[10:]))
    X[13, 2] = -np.inf
    with pytest.raises(ValueError, match=r"^Input X contains infinity in row 13, column 2\.$"):
        SVR().fit(sp.csc_array(X), np.arange(90.0))


def test_unsorted_and_repeated_indices_are_summed_and_not_touched():
    X = sp.csr_array((np.array([2.0, 1.0, 1.0, 3.0]), np.array([1, 0, 0, 1]), np.array([0, 3, 4])), shape=(2, 2))
    before = X.indices.copy()
    model = SVR(kernel="linear", epsilon=0.0).fit(X, [0.0, 1.0])
    np.testing.assert_array_equal(X.indices, before)
    expected = SVR(kernel="linear", epsilon=0.0).fit(np.array([[2.0, 2.0], [0.0, 3.0]]), [0.0, 1.0])
    np.testing.assert_allclose(model.predict(X), expected.predict([[2.0, 2.0], [0.0, 3.0]]), atol=1e-9)


def test_long_indices(small_dense):
    X, y = targets()
    X = sp.csr_array(thinned(X))
    wide = sp.csr_array((X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), shape=X.shape)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    np.testing.assert_allclose(SVR().fit(wide, y).predict(wide), SVR().fit(X, y).predict(X), atol=1e-9)


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i4", "u8", "f2", "U3"])
@pytest.mark.parametrize("layout", [np.asfortranarray, lambda X: X[:, ::-1], sp.csr_array], ids=["F", "strided", "CSR"])
def test_any_number_type_is_its_floats(dtype, layout, monkeypatch):
    if layout is sp.csr_array and dtype in ("f2", "U3"):
        pytest.skip("SciPy has no sparse matrices of this type")
    monkeypatch.setattr("maxmargin.estimators.training.SMALL_DENSE", 0)
    y = np.arange(60) % 2
    X = np.random.default_rng(0).integers(0, 2 if dtype == "?" else 120, size=(60, 4)).astype(dtype)
    data, plain = layout(X), np.ascontiguousarray(layout(X) if layout is not sp.csr_array else X).astype(float)
    weights = np.linspace(0.5, 2.0, 60)
    model, reference = SVC().fit(data, y, weights), SVC().fit(plain, y, weights)
    assert model.support_vectors_.dtype == np.float64
    assert model._gamma == pytest.approx(reference._gamma, rel=1e-12)
    np.testing.assert_allclose(model.decision_function(data), reference.decision_function(plain), atol=1e-9)


def test_the_memory_of_predictions_does_not_grow_with_their_number():
    """20,000 rows by 1,500 support vectors are 240 MB of kernel values, which are never all there."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 3))
    model = LSSVR().fit(X, np.sin(X[:, 0]))
    assert len(model.support_) > 1400
    tests = rng.normal(size=(20_000, 3))
    tracemalloc.start()
    predicted = model.predict(tests)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2.2 * BLOCK_BYTES * available()
    assert peak < 0.7 * 8 * len(tests) * len(model.support_) or available() > 2
    np.testing.assert_allclose(predicted[-3:], model.predict(tests[-3:]), atol=1e-12)


MEASURED = """
import re
import sys
import numpy as np
from maxmargin.estimators import SVC
n, d = 1200, 20_000  # too many for the exact finish, which is in float64
def peak():  # of this program: ru_maxrss begins with that of the one that started it
    return 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
def fit(d):
    y = np.arange(n) % 2
    X = np.full((n, d), 7, sys.argv[1])
    X[:, 0] = 100 * y + np.arange(n) // 24  # two support vectors
    before = peak()
    model = SVC(kernel="linear", cache_size=1, precision="float32").fit(X, y)
    assert len(model.support_) == 2
    return peak() - before
fit(10)
print(fit(d) / (n * d * np.dtype("float32").itemsize))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64"])
def test_no_number_type_is_copied_on_the_way_to_the_core(dtype):
    """Beside X there is what the native code arranges for itself in float32, once, and nothing else of that size."""
    command = [sys.executable, "-c", MEASURED, dtype]
    paths = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | {"PYTHONPATH": paths})
    assert float(done.stdout) < 1.4


@each_estimator
def test_float32_data_are_kept(estimator):
    X, y = data_for(estimator)
    single = X.astype(np.float32)
    model = clone(estimator).fit(single, y)
    assert model.support_vectors_.dtype == np.float32
    reference = clone(estimator).fit(single.astype(np.float64), y)
    np.testing.assert_allclose(values(model, single), values(reference, single.astype(np.float64)), atol=1e-5)


@pytest.mark.parametrize("columns", [["a", "b", "c"], [0, 1, 2]])
def test_rows_of_a_data_frame_reach_a_function(columns):
    """Also where they are asked for in parts."""
    X, y = classes()
    table = pd.DataFrame(X, columns=columns, index=np.arange(len(X))[::-1])
    whole = SVC(kernel=linear).fit(table, y)
    parts = SVC(kernel=linear, cache_size=0.01).fit(table, y)
    np.testing.assert_allclose(parts.decision_function(table), whole.decision_function(X), atol=1e-6)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_data_frames(frame):
    X, y = classes()
    table = frame({f"x{j}": X[:, j] for j in range(3)})
    model = SVC().fit(table, y)
    assert model.feature_names_in_.tolist() == ["x0", "x1", "x2"]
    np.testing.assert_array_equal(model.predict(table), SVC().fit(X, y).predict(X))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame({f"z{j}": X[:, j] for j in range(3)}))


def linear(x, z):
    return np.asarray(x) @ np.asarray(z).T


@pytest.mark.parametrize("estimator", [SVC(), NuSVC(nu=0.4), SVR(), OneClassSVM(), SVC(multiclass="one-vs-rest")])
def test_function_is_its_kernel(estimator):
    X, y = data_for(estimator)
    function = clone(estimator).set_params(kernel=linear).fit(X, y)
    named = clone(estimator).set_params(kernel="linear").fit(X, y)
    np.testing.assert_allclose(values(function, X), values(named, X), atol=1e-6)


def test_a_nu_that_leaves_no_margin_is_said():
    X, y = classes()
    with pytest.warns(UserWarning, match=r"cannot be parted at nu=0.2: in 1 of 3 problems the margin is zero"):
        NuSVC(nu=0.2, kernel="linear").fit(X, y)


@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_classes_of_the_same_examples_have_no_margin(class_weight):
    with pytest.raises(ValueError, match=r"cannot be parted at nu=0.5: the margin is zero"):
        NuSVC(nu=0.5, class_weight=class_weight).fit(np.ones((10, 2)), [0, 1] * 5)


def test_function_is_called_once_with_everything_when_that_fits():
    shapes = []

    def kernel(x, z):
        shapes.append((len(x), len(z)))
        return linear(x, z)

    X, y = targets()
    SVR(kernel=kernel).fit(X, y).predict(X[:7])
    assert shapes == [(80, 80), (7, 80)]


def test_function_beyond_the_budget_is_called_in_parts():
    X, y = targets(200)
    model = SVR(kernel=linear, cache_size=0.1).fit(X, y)
    np.testing.assert_allclose(model.predict(X), SVR(kernel="linear").fit(X, y).predict(X), atol=1e-6)


def test_function_of_words():
    words = ["aab", "ab", "bbb", "bba", "aaa", "abb", "b", "a"]
    y = np.array([word.count("a") > word.count("b") for word in words])

    def common_letters(x, z):
        return [[min(v.count("a"), w.count("a")) + min(v.count("b"), w.count("b")) for w in z] for v in x]

    assert SVC(kernel=common_letters, C=100.0).fit(words, y).score(words, y) == 1.0
    small = SVC(kernel=common_letters, C=100.0, cache_size=1e-4).fit(words, y)
    assert small.score(words, y) == 1.0


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (lambda x, z: np.full((len(x), len(z)), np.nan), "returned nan for the examples 0 and 0"),
        (lambda x, z: np.ones((len(x), len(z) - 1)), r"shape \(90, 89\) for 90 examples, not \(90, 90\)"),
        (lambda x, z: np.ones(len(x)), r"shape \(90,\), but kernel values form a matrix"),
        (lambda x, z: np.triu(np.ones((len(x), len(z)))), "not symmetric"),
    ],
)
def test_bad_functions(kernel, message):
    with pytest.raises(ValueError, match=message):
        SVC(kernel=kernel).fit(*classes())


def test_function_that_fails_in_predict():
    X, y = targets()
    model = SVR(kernel=lambda x, z: linear(x, z)[: len(z)]).fit(X, y)
    with pytest.raises(ValueError, match="returned 80 rows for 81 examples"):
        model.predict(np.vstack([X, X[:1]]))


def test_precomputed_matrix_must_be_square_symmetric_and_as_wide_as_in_fit():
    X, y = targets()
    K = X @ X.T
    with pytest.raises(ValueError, match="Precomputed matrix must be a square matrix. Input is a 80x79 matrix"):
        SVR(kernel="precomputed").fit(K[:, :-1], y)
    with pytest.raises(ValueError, match="not symmetric"):
        SVR(kernel="precomputed").fit(K + np.arange(80), y)
    with pytest.raises(ValueError, match="X has 79 features, but SVR is expecting 80 features"):
        SVR(kernel="precomputed").fit(K, y).predict(K[:, :-1])
    with pytest.raises(TypeError, match="Sparse precomputed"):
        SVR(kernel="precomputed").fit(sp.csr_array(K), y)


@each_estimator
def test_data_that_are_none(estimator):
    X, y = data_for(estimator)
    with pytest.raises(ValueError, match=r"Found array with 0 sample\(s\) \(shape=\(0, \d\)\)"):
        clone(estimator).fit(X[:0], y[:0])
    with pytest.raises(ValueError, match=r"Found array with 0 feature\(s\)"):
        clone(estimator).fit(X[:, :0], y)
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array instead"):
        clone(estimator).fit(X[:, 0], y)
    with pytest.raises(ValueError, match=r"sample_weight and X have incompatible shapes: \(7,\) vs 80 rows"):
        clone(estimator).fit(X, y, np.ones(7))
    if not isinstance(estimator, OneClassSVM):
        with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[80, 79\]"):
            clone(estimator).fit(X, y[:-1])


@pytest.mark.parametrize("estimator", CLASSIFIERS.values(), ids=CLASSIFIERS)
def test_one_class_is_too_few(estimator):
    X, y = data_for(estimator)
    with pytest.raises(ValueError, match=r"The number of classes has to be greater than one; got 1 class"):
        clone(estimator).fit(X, np.full(len(y), "a"))


@pytest.mark.parametrize("name", [name for name, e in ESTIMATORS.items() if "C" in e.get_params()])
@pytest.mark.parametrize("C", [0.0, -1.0, np.nan])
def test_costs_that_are_none(name, C):
    X, y = data_for(ESTIMATORS[name])
    with pytest.raises(ValueError, match="The 'C' parameter of .* must be a float in the range"):
        clone(ESTIMATORS[name]).set_params(C=C).fit(X, y)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_no_numbers(value):
    X, y = targets()
    X[3, 1] = value
    with pytest.raises(ValueError, match="Input X contains"):
        SVR().fit(X, y)


def test_targets_that_are_no_numbers():
    X, y = targets()
    y[5] = np.nan
    with pytest.raises(ValueError, match="Input y contains NaN"):
        SVR().fit(X, y)
    with pytest.raises(ValueError, match=r"y\[5\] is nan"):
        SVR(kernel=linear).fit(X, y)


def test_overflow_is_refused():
    X, y = targets()
    with pytest.raises(ValueError, match="not finite"):
        SVR().fit(X * 1e200, y)


@each_estimator
def test_predictions_in_blocks(estimator, monkeypatch):
    X, y = data_for(estimator)
    model = clone(estimator).fit(X, y)
    expected = values(model, X)
    monkeypatch.setattr("maxmargin.kernels.kernel.BLOCK_BYTES", 2000)
    np.testing.assert_allclose(values(model, X), expected, atol=1e-12)
    assert values(model, X[:1]).shape[0] == 1
