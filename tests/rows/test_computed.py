"""Rows computed from data: parts, blocks, products with coefficients, precision, threads."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from maxmargin import kernels
from maxmargin.kernels import kernel
from maxmargin.rows.computed import ComputedRows
from oracles import kernels as twins

RNG = np.random.default_rng(0)
X = RNG.normal(size=(101, 6))
K = twins.gaussian(X, X, 0.4)
GAUSSIAN = kernels.Gaussian(0.4)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csr_matrix])
@pytest.mark.parametrize(("precision", "tolerance"), [("float32", 2e-6), ("float64", 1e-13)])
def test_block(form, precision, tolerance):
    rows = ComputedRows(GAUSSIAN, form(X), precision)
    assert (rows.n, rows.precision) == (101, precision)
    for ids in ([], [100], [3, 3, 0], np.arange(101), np.array([7, 5], dtype=np.int32)):
        block = rows.block(ids)
        assert block.dtype == precision
        assert block.shape == (len(ids), 101)
        assert_allclose(block, K[np.asarray(ids, dtype=int)], atol=tolerance)
    assert_allclose(rows.block([1, 2], columns=[9, 0, 9]), K[[1, 2]][:, [9, 0, 9]], atol=tolerance)
    assert_allclose(rows.diag(), np.ones(101), atol=tolerance)
    assert rows.diag().dtype == np.float64


def test_rows_outside_are_refused():
    rows = ComputedRows(GAUSSIAN, X)
    for ids in ([101], [-1], [0, 2**40]):
        with pytest.raises(IndexError, match="row outside of the matrix"):
            rows.block(ids)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_part(form):
    ids = np.array([50, 2, 99, 2])
    part = ComputedRows(GAUSSIAN, form(X), "float64").part(ids)
    assert (part.n, part.precision) == (4, "float64")
    assert_allclose(part.block(np.arange(4)), K[np.ix_(ids, ids)], rtol=1e-13)
    again = part.part(np.array([3, 0]))
    assert_allclose(again.block([0]), K[[2]][:, [2, 50]], rtol=1e-13)
    assert_allclose(again.apply([1.0, 2.0]), K[np.ix_([2, 50], [2, 50])] @ [1.0, 2.0], rtol=1e-13)


@pytest.mark.parametrize("bytes_held", [2**25, 8 * 128 * 7])  # at once, and by seven rows
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_apply_is_the_product(n_jobs, bytes_held, monkeypatch):
    monkeypatch.setattr(kernel, "BLOCK_BYTES", bytes_held)
    rows = ComputedRows(GAUSSIAN, X, "float64")
    coef = RNG.normal(size=(101, 3)) * (RNG.random((101, 3)) < 0.3)
    assert_allclose(rows.apply(coef, n_jobs=n_jobs), K @ coef, rtol=1e-12, atol=1e-13)
    assert_allclose(rows.apply(coef[:, 0], n_jobs=n_jobs), K @ coef[:, 0], rtol=1e-12, atol=1e-13)
    assert_array_equal(rows.apply(np.zeros(101)), np.zeros(101))
    product = ComputedRows(GAUSSIAN, X, "float32").apply(coef)
    assert product.dtype == np.float64
    assert_allclose(product, K @ coef, atol=2e-5)


def test_precision_changes_and_returns():
    narrow = ComputedRows(GAUSSIAN, X)
    wide = narrow.with_precision("float64")
    assert (narrow.precision, wide.precision) == ("float32", "float64")
    assert narrow.with_precision("float32") is narrow
    assert_allclose(wide.block([5]), K[[5]], rtol=1e-13)


def test_n_jobs_zero_is_refused():
    with pytest.raises(ValueError, match="n_jobs is 0, but it must be a number of threads"):
        ComputedRows(GAUSSIAN, X).apply(np.ones(101), n_jobs=0)


def test_negative_n_jobs_count_from_all_cores():
    assert_allclose(ComputedRows(GAUSSIAN, X, "float64").apply(np.ones(101), n_jobs=-1000), K.sum(axis=1), rtol=1e-12)


def test_the_centre_of_float32_data_counts_examples_by_their_weight():
    """Rows that weigh a thousand times as much stay near the centre, as they do when each stands there so often."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    X[20:] += 3000.0
    weights = np.where(np.arange(40) < 20, 1e-3, 1.0)
    exact = ComputedRows(kernels.Gaussian(0.5), X, "float64").block(np.arange(20, 40))[:, 20:]

    def error(**options):
        rows = ComputedRows(kernels.Gaussian(0.5), X, "float32", **options)
        return np.abs(rows.part(np.arange(40)).block(np.arange(20, 40))[:, 20:] - exact).max()

    assert error(weights=weights) < 1e-4
    assert error() > 0.1
    assert error(weights=1e300 * weights) < 1e-4
