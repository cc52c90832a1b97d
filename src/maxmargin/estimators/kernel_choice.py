r"""From the parameters `kernel`, `gamma`, `degree` and `coef0` to a kernel and the rows of its matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.estimators.training import Floats, TrainingSet, is_function
from maxmargin.kernels import Callable, Kernel, by_name
from maxmargin.kernels.kernel import share_of_diagonal
from maxmargin.kernels.native import native_data, runs_of_rows
from maxmargin.problems import Terms
from maxmargin.rows import Rows
from maxmargin.rows.computed import ComputedRows
from maxmargin.rows.precomputed import PrecomputedRows

NOT_FINITE = (
    "The dual coefficients or intercepts are not finite. The input data may contain large values and need to be"
    " preprocessed."
)

SINGLE_ROUNDING = 6e-8  # unit roundoff of float32
SMALLEST_SINGLE, LARGEST_SINGLE = 1e-15, 1e15
USEFUL = 100.0  # times the tolerance, up to which float32 takes working sets most of the way
SMALL = 2000  # rows from which float32 pays


@dataclass(frozen=True, eq=False)
class KernelChoice:
    """A kernel, resolved against the training data.

    Parameters
    ----------
    kernel : Kernel or None
        None when the matrix is precomputed.
    gamma : float
        The value used, 0 where there is none.
    largest : float
        Largest Euclidean norm of an example, 0 where examples are not vectors.
    """

    kernel: Kernel | None
    gamma: float
    largest: float = 0.0


def choose_kernel(estimator: Any, data: TrainingSet) -> KernelChoice:
    """The kernel that the parameters of an estimator ask for."""
    kernel = estimator.kernel
    if is_function(kernel):
        return KernelChoice(Callable(kernel), 0.0)
    if isinstance(kernel, str) and kernel == "precomputed":
        return KernelChoice(None, 0.0)
    largest = largest_norm(data.examples)
    if not np.isfinite(largest):
        raise ValueError(NOT_FINITE)
    if isinstance(kernel, Kernel):
        return KernelChoice(kernel, 0.0, largest)
    gamma = resolve_gamma(estimator.gamma, data.examples, data.weights)
    return KernelChoice(by_name(kernel, gamma, estimator.degree, estimator.coef0), gamma, largest)


def resolve_gamma(gamma: str | float, X: Any, weights: Floats) -> float:
    """The number that gamma stands for.

    "scale" is 1 / (n_features * variance of the entries of X), each row counted as often as its weight says: a weight
    of 2 is the row twice. "auto" is 1 / n_features.
    """
    if not isinstance(gamma, str):
        return float(gamma)
    if gamma == "auto":
        return 1.0 / X.shape[1]
    with np.errstate(over="ignore", invalid="ignore"):
        variance = _variance(X, weights)
    return 1.0 / (X.shape[1] * variance) if variance != 0 else 1.0


def _variance(X: Any, weights: Floats) -> float:
    """Variance of the entries of X, each row counted by its weight; in blocks, without a float64 copy of the whole."""
    share = weights / (weights.sum() * X.shape[1])
    if sp.issparse(X):
        return float((share @ _squares(X)).sum()) - float((share @ X).sum()) ** 2
    parts = runs_of_rows(X)
    mean = sum(float(share[part] @ X[part].sum(axis=1, dtype=np.float64)) for part in parts)
    return sum(float(share[part] @ ((X[part].astype(np.float64) - mean) ** 2).sum(axis=1)) for part in parts)


def _squares(X: Any) -> Any:
    """The squares of a sparse matrix, in float64 whatever its type."""
    values = X.data.astype(np.float64)
    return type(X)((values * values, X.indices, X.indptr), shape=X.shape)


def choose_precision(
    estimator: Any, choice: KernelChoice, data: TrainingSet, terms: Sequence[Terms], by_working_sets: bool
) -> str:
    r"""float32 kernel values where their rounding cannot matter, else float64.

    The float32 values of row i are off by about :math:`u r_i`, u = 6e-8 and r the kernel's `rounding`. With
    coefficients of size at most B and errors that add up like independent ones, a decision value is off by
    :math:`u B \|r\|_2`: beyond tol, "auto" means float64. B is the largest bound; where there is none,
    2 max(abs(p)) / d, which no coefficient exceeds. It also means float64 up to 2,000 rows, where float32 saves nothing
    worth having, where pairs are asked for tol_gap, where float32 would overflow, and for the values of a user's
    function, which are float64 already. Working sets go on in float64 by themselves where float32 cannot tell any more,
    and for tol_gap: they start with float32 unless its rounding is a hundred times what tol allows.
    """
    requested: str = estimator.precision
    if requested != "auto":
        return requested
    tight = not by_working_sets and estimator.tol_gap is not None
    if max(part.n for part in terms) <= SMALL or tight:
        return "float64"
    if isinstance(choice.kernel, Callable) or not (_fits_single(choice.largest) and _fits_single(choice.gamma)):
        return "float64"
    size = max(_coefficient_size(part) * np.sqrt(part.n) for part in terms)
    rough = SINGLE_ROUNDING * _rounding(choice, data) * size
    return "float32" if rough <= (USEFUL if by_working_sets else 1.0) * estimator.tol else "float64"


def _fits_single(x: float) -> bool:
    """Whether float32 holds a number and its square with all their digits and room to spare."""
    return x == 0 or SMALLEST_SINGLE <= x <= LARGEST_SINGLE


def _rounding(choice: KernelChoice, data: TrainingSet) -> float:
    """The root mean square of the kernel's `rounding`."""
    if choice.kernel is None:
        rounding = share_of_diagonal(np.diagonal(data.X).astype(np.float64))
    else:
        rounding = choice.kernel.rounding(data.examples, data.weights)
    return float(np.sqrt(np.mean(rounding**2)))


def _coefficient_size(terms: Terms) -> float:
    bound = np.maximum(np.abs(terms.lo), np.abs(terms.hi))
    unbounded = np.isinf(bound)
    with np.errstate(divide="ignore"):
        bound[unbounded] = 2 * np.max(np.abs(terms.p), initial=0.0) / terms.d[unbounded]
    return float(bound.max())


def largest_norm(X: Any) -> float:
    """Largest Euclidean norm of a row, infinite where its square overflows."""
    return float(np.sqrt(native_data(X).norms(True, np.empty(0)).max()))


def make_rows(choice: KernelChoice, data: TrainingSet, precision: str, budget: float) -> Rows:
    """The rows of the kernel matrix of the examples of positive weight.

    A function is called once with all examples, as scikit-learn does, when its matrix fits the budget in bytes.
    """
    if choice.kernel is None:
        return _subset(PrecomputedRows(data.X, precision), data)
    if isinstance(choice.kernel, Callable):
        if np.dtype(precision).itemsize * data.n_rows**2 > budget:
            return _subset(ComputedRows(choice.kernel, data.X, precision), data)
        return _subset(PrecomputedRows(_whole_matrix(choice.kernel, data), precision), data)
    return ComputedRows(choice.kernel, data.examples, precision, data.weights)


def _subset(rows: Rows, data: TrainingSet) -> Rows:
    return rows if data.complete else rows.part(data.kept)


def _whole_matrix(kernel: Callable, data: TrainingSet) -> Floats:
    """kernel(X, X); a single number stands for a constant kernel."""
    K = function_values(kernel.function, data.X, data.X)
    n = data.n_rows
    if K.shape == (1, 1):
        return np.full((n, n), K[0, 0])
    if K.shape != (n, n):
        raise ValueError(f"The kernel function returned an array of shape {K.shape} for {n} examples, not ({n}, {n}).")
    return K


def function_values(function: Any, X: Any, Z: Any) -> Floats:
    """What a user's kernel function returns, as a finite float64 matrix."""
    K = function(X, Z)
    K = np.asarray(K.toarray() if sp.issparse(K) else K, dtype=np.float64)
    if K.ndim != 2:
        raise ValueError(f"The kernel function returned an array of shape {K.shape}, but kernel values form a matrix.")
    if not np.isfinite(K).all():
        i, j = np.argwhere(~np.isfinite(K))[0]
        raise ValueError(
            f"The kernel function returned {K[i, j]} for the examples {i} and {j}, but kernel values must be finite."
        )
    return K
