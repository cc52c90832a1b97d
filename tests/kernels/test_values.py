"""Every kernel gives the values of its twin in NumPy, whatever the precision, and the same bits however it is asked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

import zoo
from maxmargin import kernels
from maxmargin.rows.computed import ComputedRows

# With the parameters of zoo.KERNELS.
NATIVE = {
    "linear": kernels.Linear(),
    "poly": kernels.Polynomial(degree=3, gamma=0.5, coef0=1.0),
    "rbf": kernels.Gaussian(gamma=0.5),
    "sigmoid": kernels.Sigmoid(gamma=0.1, coef0=-0.5),
    "laplacian": kernels.Laplacian(gamma=0.3),
    "chi2": kernels.ChiSquared(gamma=0.7),
    "intersection": kernels.Intersection(),
    "matern32": kernels.Matern32(gamma=0.5),
    "matern52": kernels.Matern52(gamma=0.5),
}
DISTANCES = ("rbf", "laplacian", "matern32", "matern52")
DOTS = ("linear", "poly", "rbf", "sigmoid", "matern32", "matern52")


def examples(name: str, n: int = 45, d: int = 7, seed: int = 0) -> np.ndarray:
    """Data with zeros in it, not negative where the kernel wants that."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)
    return np.abs(X) if name in zoo.NON_NEGATIVE else X


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("name", NATIVE)
def test_very_many_features(name, precision):
    """Too many to pack: values are gathered, and a row alone has the bits of a block."""
    rng = np.random.default_rng(0)
    narrow = np.abs(rng.normal(size=(40, 30))) * (rng.random((40, 30)) < 0.5)
    X = sp.csr_array(narrow)
    wide = sp.csr_array((X.data, X.indices * 100_000, X.indptr), shape=(40, 3_000_000))
    rows = ComputedRows(NATIVE[name], wide, precision)
    assert rows.source(1).storage in ("gathered", "inverted")
    block = rows.block(np.arange(40))
    assert_allclose(block, zoo.KERNELS[name](narrow, narrow), rtol=2e-5 if precision == "float32" else 1e-12, atol=1e-6)
    for i in (0, 17, 39):
        assert_array_equal(rows.block([i])[0], block[i])


@pytest.mark.parametrize("name", NATIVE)
def test_diagonals(name):
    X = examples(name)
    assert_allclose(NATIVE[name].diag(X), np.diagonal(zoo.KERNELS[name](X, X)), rtol=1e-13)
    assert_allclose(NATIVE[name].diag(sp.csr_array(X)), np.diagonal(zoo.KERNELS[name](X, X)), rtol=1e-13)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 10.0])
@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("name", NATIVE)
def test_float32_values_are_as_near_as_they_say(name, sparse, scale):
    X = scale * examples(name, n=60) + (0.0 if sparse else 3.0 * scale)
    kernel = NATIVE[name]
    data = sp.csr_array(X) if sparse else X
    off = np.abs(ComputedRows(kernel, data, "float32").block(np.arange(60)) - zoo.KERNELS[name](X, X))
    pairs = np.maximum.outer(kernel.rounding(data), kernel.rounding(data))
    assert (off <= 6 * 2.0**-24 * pairs + 1e-37).all()


@pytest.mark.parametrize("kernel", [kernels.Gaussian(1e40), kernels.Matern32(1e40), kernels.Matern52(1e40)])
def test_what_float32_cannot_hold_is_no_number(kernel):
    """Rather than a number that is wrong."""
    values = ComputedRows(kernel, np.array([[1e-20], [2e-20]]), "float32").block([0, 1])
    assert np.isnan(values[0, 0])


def test_no_kernel_is_missing_here():
    assert set(NATIVE) == set(zoo.KERNELS)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("shape", [(1, 1), (2, 1), (31, 3), (32, 4), (45, 7), (130, 70)])
@pytest.mark.parametrize("name", NATIVE)
def test_block_is_the_twins(name, shape, sparse):
    X, Z = examples(name, *shape), examples(name, 37, shape[1], seed=1)
    given = (sp.csr_array(X), sp.csr_array(Z)) if sparse else (X, Z)
    wanted = zoo.KERNELS[name](X, Z)
    assert_allclose(NATIVE[name].block(*given), wanted, rtol=1e-12, atol=1e-14 * np.abs(wanted).max())


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", NATIVE)
def test_float32_rows_are_the_twins_to_float32_rounding(name, sparse):
    X = examples(name)
    rows = ComputedRows(NATIVE[name], sp.csr_array(X) if sparse else X, "float32")
    block, wanted = rows.block(np.arange(len(X))), zoo.KERNELS[name](X, X)
    assert block.dtype == np.float32
    assert_allclose(block, wanted, rtol=0, atol=(2e-4 if "matern32" in name else 3e-6) * np.abs(wanted).max())


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", NATIVE)
def test_single_rows_are_the_rows_of_a_block_to_the_last_bit(name, sparse, precision):
    X = examples(name, n=131)
    rows = ComputedRows(NATIVE[name], sp.csr_array(X) if sparse else X, precision)
    block = rows.block(np.arange(len(X)))
    for ids in ([0], [130], [64, 3], [5, 5, 7, 9, 1]):
        assert_array_equal(rows.block(ids), block[ids])


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("name", [*DOTS, "intersection"])
def test_dense_and_sparse_storage_give_the_same_bits(name, precision):
    X = examples(name, n=77, d=40)
    X[3] = 0.0
    if precision == "float32" and name in DISTANCES:
        X *= np.random.default_rng(3).random(X.shape) < 0.3  # mostly zero: dense data is not centred either
    of_dense, of_sparse = (ComputedRows(NATIVE[name], data, precision) for data in (X, sp.csr_array(X)))
    ids = np.arange(len(X))
    assert_array_equal(of_dense.block(ids), of_sparse.block(ids))
    assert_array_equal(of_dense.block([7]), of_sparse.block([7]))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", NATIVE)
def test_diag_is_the_diagonal_and_the_matrix_symmetric(name, sparse):
    X = examples(name, d=20)
    given = sp.csr_array(X) if sparse else X
    block = NATIVE[name].block(given, given)
    assert_allclose(NATIVE[name].diag(given), np.diagonal(block), rtol=1e-14)
    assert_allclose(block, block.T, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("name", DISTANCES)
def test_distances_keep_their_digits_far_from_the_origin(name):
    X = examples(name, d=5) + 1e4
    block = ComputedRows(NATIVE[name], X, "float32").block(np.arange(len(X)))
    assert_allclose(block, zoo.KERNELS[name](X, X), atol=2e-4 if name == "matern32" else 3e-6)


def test_the_exponential_is_right_over_its_whole_range():
    x = np.concatenate([np.linspace(0, 30, 400), np.linspace(30, 800, 300), [1e4, 1e30]])
    zero = np.zeros((1, 1))
    values = kernels.Laplacian(1.0).block(x[:, None], zero)[:, 0]
    assert_allclose(values[x < 700], np.exp(-x[x < 700]), rtol=1e-13)
    assert (values[x > 709] == 0).all()
    narrow = kernels.Laplacian(1.0).block(x[:, None], zero, "float32")[:, 0]
    assert_allclose(narrow[x < 80], np.exp(-x[x < 80]), rtol=1e-5)
    assert (narrow[x > 88] == 0).all()


def test_tanh_is_right_over_its_whole_range():
    x = np.concatenate([-np.geomspace(1e-9, 1e5, 60), np.geomspace(1e-9, 1e5, 60), [0.0]])
    values = kernels.Sigmoid(1.0, 0.0).block(x[:, None], np.ones((1, 1)))[:, 0]
    assert_allclose(values, np.tanh(x), atol=1e-15)


@pytest.mark.parametrize("degree", [0, 1, 2, 5, 16, 2.0])
def test_polynomial_degrees(degree):
    X = examples("poly") / 3
    assert_allclose(
        kernels.Polynomial(degree, 0.5, 1.0).block(X, X), (0.5 * X @ X.T + 1.0) ** degree, rtol=1e-12, atol=1e-14
    )


@pytest.mark.parametrize("name", ["rbf", "laplacian", "chi2", "matern32", "matern52"])
def test_gamma_zero_is_the_constant_kernel(name):
    X = examples(name)
    assert_array_equal(kernels.by_name(name, gamma=0.0).block(X, X), np.ones((len(X), len(X))))


@dataclass(frozen=True)
class Cosine(kernels.Kernel):
    """A kernel from outside: nothing but block and diag."""

    def block(self, X, Z):
        return np.cos(X[:, :1] - Z[:, :1].T)

    def diag(self, X):
        return np.ones(len(X))


def of_rows(kernel, X, precision="float64"):
    """The whole matrix as the solvers read it."""
    return ComputedRows(kernel, X, precision).block(np.arange(len(X)))


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_sums_products_and_multiples(precision):
    X = examples("linear")
    linear, rbf = NATIVE["linear"], NATIVE["rbf"]
    L, R, P = X @ X.T, zoo.KERNELS["rbf"](X, X), np.cos(X[:, :1] - X[:, :1].T)
    for kernel, wanted in (
        (linear + rbf, L + R),
        (linear * rbf, L * R),
        (3 * rbf, 3 * R),
        (rbf * 0.5 + 2.0 * linear * rbf, 0.5 * R + 2 * L * R),
        ((linear + rbf) * (rbf + Cosine()), (L + R) * (R + P)),
        (linear + linear + linear, 3 * L),
        (rbf * rbf * Cosine(), R * R * P),
    ):
        tolerance = 1e-12 if precision == "float64" else 3e-6 * np.abs(wanted).max()
        assert_allclose(of_rows(kernel, X, precision), wanted, rtol=1e-12, atol=tolerance)
        assert_allclose(kernel.block(X, X), wanted, rtol=1e-12, atol=1e-13)
        assert_allclose(kernel.diag(X), np.diagonal(wanted), rtol=1e-12)
    assert_allclose((linear + rbf).cost(X), linear.cost(X) + rbf.cost(X))


def test_a_kernel_from_outside_serves_rows():
    X = examples("linear")
    wanted = np.cos(X[:, :1] - X[:, :1].T)
    assert_allclose(of_rows(Cosine(), X), wanted, rtol=1e-15)
    assert_allclose(ComputedRows(Cosine(), X).part([4, 2]).block([1]), wanted[[2]][:, [4, 2]], atol=1e-7)


def test_a_function_takes_any_sequence():
    words = ["support", "vector", "machine", "", "margin"]

    def common(A, B):
        return np.array([[float(len(set(a) & set(b))) for b in B] for a in A])

    kernel = kernels.Callable(common)
    assert_array_equal(of_rows(kernel, words), common(words, words))
    assert_array_equal(kernel.diag(words), [len(set(w)) for w in words])
    assert_array_equal(ComputedRows(kernel, words).part([2, 0]).block([0]), [[7, 0]])
