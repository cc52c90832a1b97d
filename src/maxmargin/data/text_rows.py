"""Rows of X and y as lines of LIBSVM text, and labels as tuples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from maxmargin._native import core

_BLOCK_PAIRS = 1 << 18  # formatted at a time


@dataclass(frozen=True)
class Rows:
    """Examples fit to be written.

    Parameters
    ----------
    X : (n, d) csr_matrix in canonical format, or ndarray
    labels : (number of labels,) float64
        Of all rows, one after the other.
    ends : (n + 1,) int64
        Row i has the labels from ``ends[i]`` to ``ends[i + 1]``.
    query_id : (n,) int64, or (0,)
    """

    X: Any
    labels: np.ndarray
    ends: np.ndarray
    query_id: np.ndarray


def checked(X: Any, y: Any, query_id: ArrayLike | None, multilabel: bool) -> Rows:
    """The examples, or one sentence about what text cannot hold of them."""
    X = _matrix(X)
    labels, ends = _label_sets(y) if multilabel else _single_labels(y)
    n = X.shape[0]
    if n == 0:
        raise ValueError("X has no rows, so there is nothing to write")
    if len(ends) - 1 != n:
        raise ValueError(f"X has {n} rows, but y has {len(ends) - 1}")
    if not np.isfinite(labels).all():
        bad = int(np.flatnonzero(~np.isfinite(labels))[0])
        row = int(np.searchsorted(ends, bad, side="right")) - 1
        raise ValueError(f"The label of row {row} is {labels[bad]}, and LIBSVM text holds finite numbers only")
    ids = np.zeros(0, dtype=np.int64) if query_id is None else np.asarray(query_id)
    if ids.dtype.kind not in "iu" or (query_id is not None and ids.shape != (n,)):
        raise ValueError(f"query_id must be {n} integers, got an array of {ids.dtype} of shape {ids.shape}")
    if ids.dtype == np.uint64 and np.any(ids > np.uint64(np.iinfo(np.int64).max)):
        raise ValueError(f"query_id holds {ids.max()}, which is no signed integer of 64 bits")
    return Rows(X, labels, ends, np.ascontiguousarray(ids, dtype=np.int64))


def formatted(rows: Rows, first_index: int) -> Iterator[bytes]:
    """The lines of all rows, some rows at a time."""
    for begin, end in _row_blocks(rows.X):
        X = sp.csr_matrix(rows.X[begin:end])
        label_ends = rows.ends[begin : end + 1]
        _refuse_unreadable(X, begin, label_ends, len(rows.query_id) == 0)
        yield core.format_rows(
            rows.labels[label_ends[0] : label_ends[-1]],
            np.ascontiguousarray(label_ends[1:] - label_ends[0]),
            rows.query_id[begin:end],
            X.indptr[1:].astype(np.int64),
            X.indices.astype(np.int64),
            np.ascontiguousarray(X.data),
            first_index,
        )


def tuples(labels: np.ndarray, counts: np.ndarray) -> list[tuple[float, ...]]:
    """The labels of each row as a tuple."""
    flat = labels.tolist()
    ends = np.cumsum(counts).tolist()
    return [tuple(flat[begin:end]) for begin, end in zip([0, *ends[:-1]], ends, strict=True)]


def _matrix(X: Any) -> Any:
    X = sp.csr_matrix(X) if sp.issparse(X) else np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, got {X.ndim}")
    if X.dtype.kind not in "biuf":
        raise ValueError(f"X must hold real numbers, got {X.dtype}")
    if X.dtype != np.float32:
        X = X.astype(np.float64, copy=False)
    if sp.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _single_labels(y: Any) -> tuple[np.ndarray, np.ndarray]:
    y = np.asarray(y)
    if y.ndim != 1 or y.dtype.kind not in "biuf":
        raise ValueError(f"y must be one number a row, got an array of {y.dtype} of shape {y.shape}")
    return np.ascontiguousarray(y, dtype=np.float64), np.arange(len(y) + 1, dtype=np.int64)


def _label_sets(y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Labels and their ends, of collections of numbers or of an indicator matrix."""
    if sp.issparse(y) or (isinstance(y, np.ndarray) and y.ndim == 2):
        indicator = sp.csr_matrix(y, copy=True)
        indicator.sum_duplicates()
        indicator.eliminate_zeros()
        return indicator.indices.astype(np.float64), indicator.indptr.astype(np.int64)
    sets = [tuple(labels) for labels in y]
    flat = np.asarray(list(chain.from_iterable(sets)))
    if len(flat) and (flat.ndim != 1 or flat.dtype.kind not in "biuf"):
        raise ValueError("y must be a collection of numbers for each row")
    ends = np.concatenate([[0], np.cumsum([len(labels) for labels in sets])])
    return flat.astype(np.float64), ends.astype(np.int64)


def _row_blocks(X: Any) -> Iterator[tuple[int, int]]:
    """Ranges of rows with about _BLOCK_PAIRS values each."""
    n = X.shape[0]
    if sp.issparse(X):
        targets = np.arange(_BLOCK_PAIRS, X.nnz, _BLOCK_PAIRS)
        cuts = np.searchsorted(X.indptr, targets, side="left")
        cuts = np.concatenate([cuts, np.arange(0, n, _BLOCK_PAIRS)])  # rows without values are long as well
    else:
        cuts = np.arange(0, n, max(1, _BLOCK_PAIRS // max(1, X.shape[1])))
    ends = np.unique(np.concatenate([cuts, [n]]))
    ends = ends[ends > 0].tolist()
    yield from zip([0, *ends[:-1]], ends, strict=True)


def _refuse_unreadable(X: sp.csr_matrix, begin: int, label_ends: np.ndarray, no_query_ids: bool) -> None:
    """Raise for what would not read back: numbers that are not finite, and lines that would be blank."""
    if not np.isfinite(X.data).all():
        bad = int(np.flatnonzero(~np.isfinite(X.data))[0])
        row = begin + int(np.searchsorted(X.indptr, bad, side="right")) - 1
        raise ValueError(
            f"X has {X.data[bad]} in row {row}, column {X.indices[bad]}, and LIBSVM text holds finite numbers only"
        )
    blank = (np.diff(label_ends) == 0) & (np.diff(X.indptr) == 0)
    if no_query_ids and blank.any():
        row = begin + int(np.flatnonzero(blank)[0])
        raise ValueError(
            f"Row {row} has neither labels nor features: its line would be blank, and blank lines are skipped"
        )
