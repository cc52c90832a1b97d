"""Rows of a given matrix: read where it lies, in any number type, refused when it is no kernel matrix."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from maxmargin.kernels import kernel
from maxmargin.losses import Hinge
from maxmargin.problems import DualProblem
from maxmargin.rows.precomputed import PrecomputedRows
from maxmargin.solvers import smo

RNG = np.random.default_rng(0)
A = RNG.integers(-3, 4, size=(70, 5))
K = (A @ A.T).astype(float)


@pytest.mark.parametrize("dtype", ["i2", "i4", "i8", "f4", "f8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_are_those_of_the_matrix(dtype, order):
    rows = PrecomputedRows(np.array(K, dtype=dtype, order=order))
    assert rows.precision == ("float32" if dtype == "f4" else "float64")
    assert_array_equal(rows.block(np.arange(70)), K)
    assert_array_equal(rows.block([3, 69], columns=[1, 1]), K[[3, 69]][:, [1, 1]])
    assert_array_equal(rows.diag(), np.diagonal(K))
    assert_allclose(rows.apply(np.arange(70.0)), K @ np.arange(70.0), rtol=1e-13)


@pytest.mark.parametrize("dtype", [">f8", "f2", ">f4", "g"])
def test_number_types_that_the_core_does_not_read(dtype):
    rows = PrecomputedRows(K.astype(dtype))
    assert_array_equal(rows.block(np.arange(70)), K)
    assert_array_equal(rows.diag(), np.diagonal(K))


def test_views_and_locked_matrices(tmp_path):
    np.save(tmp_path / "K.npy", K)
    locked = K.copy()
    locked.flags.writeable = False
    for view, wanted in (
        (K[::-1, ::-1], K[::-1, ::-1]),
        (K[::2, ::2], K[::2, ::2]),
        (locked, K),
        (np.load(tmp_path / "K.npy", mmap_mode="r"), K),
    ):
        assert_array_equal(PrecomputedRows(view).block(np.arange(len(wanted))), wanted)


def test_part_reads_the_same_matrix():
    rows = PrecomputedRows(K)
    ids = np.array([9, 3, 60])
    part = rows.part(ids)
    assert np.shares_memory(part.K, K)
    assert_array_equal(part.block(np.arange(3)), K[np.ix_(ids, ids)])
    assert_array_equal(part.part(np.array([2, 1])).block([0]), K[[60]][:, [60, 3]])
    assert_array_equal(part.diag(), K[ids, ids])


def test_precision_changes():
    third = K / 3
    narrow = PrecomputedRows(third).with_precision("float32")
    assert_array_equal(narrow.block([4]), third[[4]].astype(np.float32))
    assert np.shares_memory(narrow.K, third)
    assert_array_equal(narrow.with_precision("float64").block([4]), third[[4]])


def resident() -> int:
    """Bytes of the process in memory."""
    return 4096 * int(Path("/proc/self/statm").read_text().split()[1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_matrix_is_not_copied(dtype):
    n = 2600  # 27 or 54 MB
    x = np.random.default_rng(0).normal(size=n).astype(dtype)
    big = np.exp(-((x[:, None] - x) ** 2), dtype=dtype)
    y = np.where(x > 0, 1.0, -1.0)
    before = resident()
    tracemalloc.start()
    rows = PrecomputedRows(big)
    smo.solve(DualProblem(rows, Hinge().dual(y, 1.0)), cache_size=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.shares_memory(rows.K, big)
    assert peak < 0.2 * big.nbytes + 2.2 * kernel.BLOCK_BYTES
    assert resident() - before < 0.5 * big.nbytes + 2.2 * kernel.BLOCK_BYTES


def changed(i: int, j: int, value: float) -> np.ndarray:
    """K with another entry."""
    other = K.copy()
    other[i, j] = value
    return other


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (K[:, :60], r"must be square, but this one has shape \(70, 60\)"),
        (K[0], r"must be square, but this one has shape \(70,\)"),
        (changed(4, 9, np.nan), "holds nan at row 4, column 9"),
        (changed(69, 0, -np.inf), "holds -inf at row 69, column 0"),
        (changed(5, 66, 1e3), r"not symmetric: entry \((5, 66|66, 5)\) is"),
        (changed(5, 6, K[5, 6] + 1e-3), r"not symmetric: entry \((5, 6|6, 5)\) is"),
    ],
)
@pytest.mark.parametrize("bytes_held", [2**25, 2**12])
def test_what_is_no_kernel_matrix(matrix, message, bytes_held, monkeypatch):
    monkeypatch.setattr(kernel, "BLOCK_BYTES", bytes_held)
    with pytest.raises(ValueError, match=message):
        PrecomputedRows(matrix)


def test_rounding_is_no_asymmetry():
    rows = PrecomputedRows(changed(5, 6, K[5, 6] * (1 + 1e-9)))
    assert_allclose(rows.block([5]), K[[5]], rtol=1e-8)


def test_no_examples_at_all():
    assert PrecomputedRows(np.empty((0, 0))).n == 0
