"""Reading the training data: rows, targets and weights, checked, with the rows of weight zero left out."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import _num_samples, check_array, check_consistent_length, validate_data

from maxmargin.kernels import Kernel
from maxmargin.kernels.native import refuse_malformed

Floats = NDArray[np.float64]

# Types that are computed with as they are, in any layout; any other becomes the first of them.
NUMBERS = [np.dtype(code) for code in ("f8", "f4", "?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")]
SMALL_DENSE = 16 * 2**20  # bytes up to which a sparse matrix is computed with as its dense copy


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Checked training data.

    Parameters
    ----------
    X : array, CSR or what a callable kernel takes
        All rows, as given.
    kept : (n,) intp
        The rows of positive weight.
    y : (n,) array
        Their targets.
    weights : (n,) float64
        Their weights.
    """

    X: Any
    kept: NDArray[np.intp]
    y: NDArray
    weights: Floats

    @property
    def n_rows(self) -> int:
        """Number of rows given, the left out ones included."""
        return _num_samples(self.X)

    @cached_property
    def examples(self) -> Any:
        """The rows of positive weight as kernels compute with them: no copy when these are all rows.

        A small sparse matrix becomes dense, for the same kernel values to the last bit as from dense data, and faster.
        """
        X = self.X if self.complete else self.X[self.kept]
        small = sp.issparse(X) and X.shape[0] * X.shape[1] * X.dtype.itemsize <= SMALL_DENSE
        return X.toarray() if small else X

    @property
    def complete(self) -> bool:
        """Whether no row is left out."""
        return len(self.kept) == self.n_rows


def is_function(kernel: Any) -> bool:
    """Whether a kernel is a user's function of two lists of examples."""
    return callable(kernel) and not isinstance(kernel, Kernel)


def read(
    estimator: Any, X: Any, y: Any, sample_weight: ArrayLike | None, targets: Callable[[Any], NDArray]
) -> TrainingSet:
    """Check everything that fit is given.

    Parameters
    ----------
    estimator : estimator
        Its `kernel` says what X is; it is given `n_features_in_` and `feature_names_in_`.
    X, y, sample_weight
        What fit was given.
    targets : callable
        Checks y and returns it as an array.
    """
    if sp.issparse(X) and isinstance(estimator.kernel, str) and estimator.kernel == "precomputed":
        raise TypeError("Sparse precomputed kernels are not supported.")
    if is_function(estimator.kernel):
        check_consistent_length(X, y)
    else:
        X, y = read_examples(estimator, X, y)
        X = _sorted(X)
    y = targets(y)
    if estimator.kernel == "precomputed" and X.shape[0] != X.shape[1]:
        raise ValueError(f"Precomputed matrix must be a square matrix. Input is a {X.shape[0]}x{X.shape[1]} matrix.")
    weights = _weights(sample_weight, _num_samples(X))
    kept = np.flatnonzero(weights > 0)
    if len(kept) == 0:
        raise ValueError("Invalid input - all samples have zero or negative weights.")
    return TrainingSet(X, kept, y[kept], weights[kept])


def read_examples(estimator: Any, X: Any, y: Any = "no_validation", reset: bool = True) -> Any:
    """Examples as an array or CSR matrix of finite numbers, and the targets where there are any.

    Parameters
    ----------
    estimator : estimator
        It is given, or with ``reset=False`` compared with, the number of features and their names.
    X, y
        What fit or predict was given.
    reset : bool
        Whether this is for fit.
    """
    if sp.issparse(X):
        refuse_malformed(X)
    options = {"dtype": NUMBERS, "accept_sparse": "csr", "accept_large_sparse": True, "reset": reset}
    try:
        return validate_data(estimator, X, y, **options)
    except ValueError as error:
        if not str(error).startswith("Input X contains"):
            raise
        values = check_array(X, dtype=NUMBERS, accept_sparse="csr", accept_large_sparse=True, ensure_all_finite=False)
        raise ValueError(f"Input X contains {_not_finite(values)}.") from None


def _not_finite(X: Any) -> str:
    """The first value that is NaN or infinite, and its place."""
    if sp.issparse(X):
        X = X.tocoo()
        bad = np.flatnonzero(~np.isfinite(X.data))[0]
        row, column, value = X.row[bad], X.col[bad], X.data[bad]
    else:
        row, column = np.argwhere(~np.isfinite(X))[0]
        value = X[row, column]
    return f"{'NaN' if np.isnan(value) else 'infinity'} in row {row}, column {column}"


def _sorted(X: Any) -> Any:
    """A CSR matrix with its indices sorted and summed, never touching the caller's."""
    if sp.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _weights(sample_weight: ArrayLike | None, n: int) -> Floats:
    """One weight a row; a negative weight leaves its row out, with a warning."""
    if sample_weight is None:
        return np.ones(n)
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(n, float(weights))
    if weights.shape != (n,):
        raise ValueError(f"sample_weight and X have incompatible shapes: {weights.shape} vs {n} rows.")
    if not np.isfinite(weights).all():
        i = int(np.argmin(np.isfinite(weights)))
        raise ValueError(f"sample_weight[{i}] is {weights[i]}, but weights must be finite.")
    negative = int(np.count_nonzero(weights < 0))
    if negative:
        rows = "row of negative weight is" if negative == 1 else "rows of negative weight are"
        warnings.warn(f"{negative} {rows} left out of the fit, like rows of weight zero.", UserWarning, stacklevel=4)
    return weights
