"""Data in every number type and layout that NumPy and SciPy hold gives the values of the plain float64 array."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from maxmargin import kernels
from maxmargin.rows.computed import ComputedRows
from oracles import kernels as twins

TYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", ">f8", ">f4", ">i4", ">u2", "g"]
GAUSSIAN = kernels.Gaussian(0.3)


def data(n: int = 45, d: int = 6) -> np.ndarray:
    """Small natural numbers, exact in every type."""
    return np.random.default_rng(0).integers(0, 4, size=(n, d)).astype(float)


def check(X, plain: np.ndarray) -> None:
    """The same values as the plain float64 array, as columns and as rows, in both precisions."""
    wanted = twins.gaussian(plain, plain, 0.3)
    assert_allclose(GAUSSIAN.block(X, X), wanted, rtol=1e-13)
    for precision, tolerance in (("float32", 1e-6), ("float64", 1e-14)):
        block = ComputedRows(GAUSSIAN, X, precision).block(np.arange(len(plain)))
        assert_allclose(block, wanted, rtol=1e-5, atol=tolerance)
    assert_allclose(kernels.Laplacian(0.3).block(plain, X), twins.laplacian(plain, plain, 0.3), rtol=1e-13)


@pytest.mark.parametrize("dtype", TYPES)
def test_number_types(dtype):
    X = data().astype(dtype)
    check(X, X.astype(float))


@pytest.mark.parametrize("dtype", [t for t in TYPES if t not in ("f2", "g")])
def test_number_types_of_sparse_data(dtype):
    X = data().astype(dtype)
    check(sp.csr_array(X.astype(X.dtype.newbyteorder("="))), X.astype(float))


def test_negative_integers():
    for dtype in ("i1", "i2", "i4", "i8"):
        X = (data() - 2).astype(dtype)
        check(X, X.astype(float))


def test_layouts():
    X = data(44, 6)
    wide = np.zeros((44, 13))
    wide[:, ::2][:, :6] = X
    record = np.zeros(44, dtype=[("tag", "i1"), ("x", "f8", (6,))])  # strides that are no multiple of 8
    record["x"] = X
    locked = X.copy()
    locked.flags.writeable = False
    for view in (
        np.asfortranarray(X),
        X[::-1],
        X[:, ::-1],
        wide[:, ::2][:, :6],
        record["x"],
        locked,
        X.astype(np.float32)[::-1, ::-1],
    ):
        check(view, np.array(view, dtype=float))
    check(np.broadcast_to(X[:1], X.shape), np.array(np.broadcast_to(X[:1], X.shape)))


def test_memory_mapped_data(tmp_path):
    X = data()
    np.save(tmp_path / "X.npy", X)
    check(np.load(tmp_path / "X.npy", mmap_mode="r"), X)


def test_data_is_not_written_to():
    X = data()
    before = X.copy()
    check(X, before)
    unsorted = sp.csr_array((np.array([1.0, 2.0]), np.array([3, 1]), np.array([0, 2])), shape=(1, 4))
    GAUSSIAN.block(unsorted, unsorted)
    assert_array_equal(X, before)
    assert_array_equal(unsorted.indices, [3, 1])


@pytest.mark.parametrize("index_type", [np.int32, np.int64])
@pytest.mark.parametrize("form", [sp.csr_array, sp.csr_matrix])
def test_sparse_indices(form, index_type):
    X = data() * (np.random.default_rng(1).random((45, 6)) < 0.4)
    X[[0, 7, 44]] = 0.0
    S = form(X)
    S.indices, S.indptr = S.indices.astype(index_type), S.indptr.astype(index_type)
    check(S, X)
    S.indptr = S.indptr.astype(np.int64)
    check(S, X)


@pytest.mark.parametrize("form", ["csc", "coo", "lil", "bsr"])
def test_other_sparse_formats(form):
    X = data()
    check(sp.csr_array(X).asformat(form), X)


def test_unsorted_and_repeated_entries():
    rng = np.random.default_rng(2)
    X = data(20, 9) * (rng.random((20, 9)) < 0.5)
    S = sp.csr_array(X)
    for i in range(20):
        entries = slice(S.indptr[i], S.indptr[i + 1])
        shuffle = rng.permutation(S.indptr[i + 1] - S.indptr[i])
        S.indices[entries], S.data[entries] = S.indices[entries][shuffle], S.data[entries][shuffle]
    shuffled = sp.csr_array((S.data, S.indices, S.indptr), shape=S.shape)
    check(shuffled, X)
    assert_array_equal(kernels.Linear().block(shuffled, shuffled), kernels.Linear().block(X, X))
    twice = sp.csr_array((np.repeat(S.data / 2, 2), np.repeat(S.indices, 2), 2 * S.indptr), shape=S.shape)
    check(twice, X)
    assert_array_equal(kernels.Linear().diag(twice), (X**2).sum(axis=1))


def test_stored_zeros_change_nothing():
    S = sp.csr_array((np.array([0.0, 2.0, 0.0]), np.array([0, 1, 2]), np.array([0, 2, 3])), shape=(2, 3))
    check(S, S.toarray())


def test_no_features_and_no_examples():
    assert_array_equal(GAUSSIAN.block(np.empty((3, 0)), np.empty((2, 0))), np.ones((3, 2)))
    assert_array_equal(kernels.Linear().block(sp.csr_array((3, 0)), sp.csr_array((2, 0))), np.zeros((3, 2)))
    assert GAUSSIAN.block(np.empty((0, 4)), data(5, 4)).shape == (0, 5)
    assert GAUSSIAN.block(data(5, 4), np.empty((0, 4))).shape == (5, 0)


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize(
    "kernel",
    [
        kernels.Linear(),
        kernels.Polynomial(2, 0.5, 1.0),
        GAUSSIAN,
        kernels.Laplacian(0.3),
        kernels.ChiSquared(0.3),
        kernels.Intersection(),
        kernels.Matern52(0.3),
    ],
)
def test_columns_too_many_for_panels_give_the_same_values(kernel, precision):
    """The same nonzeros at other coordinates, rising: panels would take 480 MB, so columns are gathered."""
    rng = np.random.default_rng(4)
    X = np.abs(rng.normal(size=(200, 30))) * (rng.random((200, 30)) < 0.3)
    near = sp.csr_array(X)
    at = np.sort(rng.choice(600_000, size=30, replace=False))
    far = sp.csr_array((near.data, at[near.indices], near.indptr), shape=(200, 600_000))
    gathered, packed = (ComputedRows(kernel, S, precision) for S in (far, near))
    assert gathered.source(1).storage in ("gathered", "inverted")
    assert packed.source(1).storage == "panels"
    ids = np.arange(200)
    tolerance = 1e-12 if precision == "float64" else 3e-6 * kernel.diag(near).max()
    assert_allclose(gathered.block(ids), packed.block(ids), rtol=0, atol=tolerance)
    assert_array_equal(gathered.block([3]), gathered.block(ids)[[3]])
    assert_allclose(gathered.diag(), packed.diag(), rtol=1e-12)
    if kernel.pairing == "dot" and precision == "float64":
        assert_array_equal(gathered.block(ids), packed.block(ids))


@pytest.mark.parametrize("sparse", [False, True])
def test_threads_change_no_bit(sparse):
    X = np.random.default_rng(5).normal(size=(400, 300))
    rows = ComputedRows(GAUSSIAN, sp.csr_array(X) if sparse else X, "float64")
    assert_array_equal(rows.block(np.arange(400), n_jobs=1), rows.block(np.arange(400), n_jobs=3))
    assert_array_equal(rows.block([9], n_jobs=1), rows.block([9], n_jobs=3))
