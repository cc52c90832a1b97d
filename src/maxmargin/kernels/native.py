"""Kernels whose values the native code computes from inner products, distances or coordinates."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from maxmargin._native import core
from maxmargin.kernels.kernel import Floats, Kernel, share_of_diagonal

# As in core/vector_table.hpp.
PAIRINGS = ("dot", "absolute", "chi_squared", "minimum")
SHAPES = ("identity", "polynomial", "gaussian", "tanh", "exponential", "matern32", "matern52")

CONVERTED = 2**20  # values that are made float64 at a time
MOSTLY_ZERO = 0.5  # centring would fill the zeros that make sparse rows cheap


class NativeKernel(Kernel):
    """A kernel that is one of the native shapes of one of the native sums over the coordinates."""

    pairing: ClassVar[str] = "dot"
    shape: ClassVar[str]
    moves_with_data: ClassVar[bool] = False  # k(x + a, z + a) = k(x, z): the data may be centred
    coordinate_cost: ClassVar[float] = 1.0  # multiplications that one coordinate is worth

    @abstractmethod
    def parameters(self) -> tuple[float, float, int]:
        """gamma, coef0 and degree, as the native shape uses them."""

    def check(self, X: Any) -> None:
        """Raise ValueError where the kernel is not defined."""

    def source(self, X: Any, precision: str, threads: int, weights: Floats | None = None) -> Any:
        self.check(X)
        data = native_data(X)
        codes = self._codes(data, precision, threads)
        centre = np.empty(0) if codes is not None else self._centre(X, precision, weights)
        return self._engine(data, centre, codes, precision, threads)

    def block(self, X: Any, Z: Any, precision: str = "float64") -> NDArray:
        """k(x, z) for every x of X and z of Z, shape (len(X), len(Z))."""
        return self.against(Z, precision)(X)

    def against(self, Z: Any, precision: str = "float64") -> Callable[[Any], NDArray]:
        """From examples X to their kernel values against Z, which is packed once; safe from several threads."""
        self.check(Z)
        z = native_data(Z)
        columns = self._engine(z, self._centre(Z, precision), None, precision, 1)

        def values(X: Any) -> NDArray:
            self.check(X)
            x = native_data(X)
            if x.columns != z.columns:
                raise ValueError(f"X has {x.columns} features, but Z has {z.columns}: they must be the same.")
            out = np.empty((x.rows, core.padded(z.rows)), precision)
            columns.block(x, 0, x.rows, out)
            return out[:, : z.rows]

        return values

    def cost(self, X: Any) -> float:
        some = X if sp.issparse(X) else X[:: max(1, len(X) // 1000)]
        nonzeros = X.nnz if sp.issparse(X) else np.count_nonzero(some)
        return self.coordinate_cost * float(nonzeros) / max(1, some.shape[0])

    def diag(self, X: Any) -> Floats:
        self.check(X)
        return core.diagonal(self._spec(), self._norms(X, np.empty(0)))

    def rounding(self, X: Any, weights: Floats | None = None) -> Floats:
        r"""The sums that a value comes from are rounded too, and the function of them passes that on.

        A squared distance :math:`\|x\|^2 + \|z\|^2 - 2 \langle x, z \rangle` is off by some roundoffs of the
        norms, which matters where it is small, that is, for examples of similar norms: hence :math:`1 + 2 \gamma
        \|x\|^2` after centring. Other distances are off by roundoffs of the coordinates, hence of the 1-norm; inner
        products by roundoffs of themselves.
        """
        gamma, _, degree = self.parameters()
        if self._is_one_at_zero():
            return 1.0 + 2.0 * gamma * self._norms(X, self._centre(X, "float32", weights))
        if self.shape == "tanh":
            return 1.0 + gamma * share_of_diagonal(self._norms(X, np.empty(0)))
        return (degree + (self.shape == "polynomial")) * share_of_diagonal(self.diag(X))

    def _norms(self, X: Any, centre: Floats) -> Floats:
        """Squared norms for inner products and what is made of them, else 1-norms."""
        return native_data(X).norms(self.pairing == "dot", centre)

    def _is_one_at_zero(self) -> bool:
        """Whether k(x, x) = 1, as for every function of a distance."""
        return self.pairing in ("absolute", "chi_squared") or self.shape in ("gaussian", "matern32", "matern52")

    def _engine(self, data: Any, centre: Floats, codes: Any, precision: str, threads: int) -> Any:
        kind = core.Engine32 if precision == "float32" else core.Engine64
        return kind(data, self._spec(), centre, codes, threads)

    def _codes(self, data: Any, precision: str, threads: int) -> Any:
        """The data as integers of one unit, of which the native code makes exact sums; None where they are not."""
        roundoff = 2.0**-24 if precision == "float32" else 2.0**-53
        return core.find_codes(data, roundoff, not self.moves_with_data, threads) if self.pairing == "dot" else None

    def _spec(self) -> Any:
        return core.KernelSpec(PAIRINGS.index(self.pairing), SHAPES.index(self.shape), *self.parameters())

    def _centre(self, X: Any, precision: str, weights: Floats | None = None) -> Floats:
        """What is taken off every example, so that float32 distances keep their digits; in float64 nothing.

        It is the mean of the examples, each counted by its weight.
        """
        if precision == "float64" or not self.moves_with_data or sp.issparse(X) or np.asarray(X).dtype.kind == "b":
            return np.empty(0)
        if np.count_nonzero(X) < MOSTLY_ZERO * X.size:
            return np.empty(0)
        if weights is None:
            return np.asarray(X.mean(axis=0, dtype=np.float64))
        share = weights / weights.max()
        return sum_of_rows(X, share / share.sum())


def sum_of_rows(X: NDArray, weights: Floats) -> Floats:
    """The weighted sum of the rows, in blocks, without a float64 copy of the whole."""
    return np.sum([weights[part] @ X[part].astype(np.float64) for part in runs_of_rows(X)], axis=0)


def runs_of_rows(X: NDArray) -> list[slice]:
    """The rows in runs that are made float64 one at a time."""
    step = max(1, CONVERTED // max(1, X.shape[1]))
    return [slice(first, first + step) for first in range(0, len(X), step)]


def native_data(X: Any) -> Any:
    """X as the native code reads it: the caller's own arrays wherever their number types allow.

    Raises
    ------
    ValueError
        Where a sparse matrix has an index outside of its shape.
    """
    if not sp.issparse(X):
        return core.Data(_readable(np.asarray(X)))
    refuse_malformed(X)
    X = X.tocsr()
    if not X.has_canonical_format:  # indices must rise: dense and sparse examples are summed in one order
        X = X.copy()
        X.sum_duplicates()
    return _sparse_data(X, X.shape[1])


def refuse_malformed(X: Any) -> None:
    """Raise ValueError where a sparse matrix has an index outside of its shape, through which SciPy would write."""
    if X.format in ("csr", "csc"):
        _sparse_data(X, X.shape[1] if X.format == "csr" else X.shape[0])


def _sparse_data(X: Any, width: int) -> Any:
    indices, indptr = X.indices, X.indptr
    if indices.dtype != indptr.dtype:
        indices, indptr = indices.astype(np.int64), indptr.astype(np.int64)
    return core.Data(_readable(X.data), indices, indptr, width)


def _readable(values: NDArray) -> NDArray:
    simple = values.dtype.kind in "biuf" and values.dtype.isnative and values.dtype not in (np.float16, np.longdouble)
    whole = values.flags.aligned and not any(stride % values.itemsize for stride in values.strides)
    return values if simple and whole else values.astype(np.float64)


def refuse_negative(X: Any, name: str) -> None:
    """Raise ValueError where a kernel of histograms meets a negative value."""
    values = X.data if sp.issparse(X) else np.asarray(X)
    if values.size and values.min() < 0:
        raise ValueError(f"The {name} kernel compares histograms, but X holds the negative value {values.min()}.")
