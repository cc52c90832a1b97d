r"""Linear scaling of features and targets to a range, and svm-scale's file of ranges.

In the data that the ranges are taken from, a feature has the least value :math:`a_j` and the greatest :math:`b_j`:

.. math:: x_j \to l + (u - l) \frac{x_j - a_j}{b_j - a_j},

so that :math:`a_j` becomes exactly l and :math:`b_j` exactly u. A feature with :math:`a_j = b_j` says nothing and
becomes 0; a target becomes l then, as with svm-scale.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.models.atomic import replacing


@dataclass(frozen=True, eq=False)
class Range:
    """Columns of values, the range they had and the range they get.

    Parameters
    ----------
    least, greatest : (columns,) float64
        Of the data that the scaling is taken from.
    lower, upper : float
        What these become.
    """

    least: np.ndarray
    greatest: np.ndarray
    lower: float
    upper: float

    def __post_init__(self) -> None:
        if not self.lower < self.upper:
            raise ValueError(f"the lower limit {self.lower:g} must be below the upper limit {self.upper:g}")

    def apply(self, values: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Scaled ``values``, the i-th of which is in column ``columns[i]``."""
        a, b = self.least[columns], self.greatest[columns]
        width = np.where(a < b, b - a, 1.0)
        scaled = self.lower + (self.upper - self.lower) * ((values - a) / width)
        scaled = np.where(values == a, self.lower, np.where(values == b, self.upper, scaled))
        return np.where(a < b, scaled, 0.0)


@dataclass(frozen=True, eq=False)
class Scaling:
    """Ranges for the features and, where ``target`` is not None, for the target."""

    features: Range
    target: Range | None = None

    def transform(self, X: Any) -> Any:
        """``X`` scaled; sparse data stay sparse, and become as dense as the image of 0 makes them.

        Parameters
        ----------
        X : ndarray or sparse, (n, p)
            Columns beyond those that the ranges know become 0. Missing ones are taken as 0, and are in the result.
        """
        _refuse_not_finite(X)
        known = len(self.features.least)
        shape = (X.shape[0], max(known, X.shape[1]))
        if not sp.issparse(X):
            values = np.zeros((X.shape[0], known))
            seen = min(known, X.shape[1])
            values[:, :seen] = X[:, :seen]
            scaled = self.features.apply(values, np.broadcast_to(np.arange(known), values.shape))
            return np.pad(scaled, ((0, 0), (0, shape[1] - known)))
        X = sp.csr_matrix(X)
        if self.features.apply(np.zeros(known), np.arange(known)).any():
            return sp.csr_matrix(self.transform(X.toarray()))
        inside = X.indices < known
        data = np.zeros(X.nnz)
        data[inside] = self.features.apply(X.data[inside].astype(float), X.indices[inside])
        result = sp.csr_matrix((data, X.indices, X.indptr), shape=shape)
        result.eliminate_zeros()
        return result

    def transform_target(self, y: np.ndarray) -> np.ndarray:
        """``y`` scaled, or as it is where the target has no range."""
        if self.target is None:
            return y
        _refuse_target_not_finite(y)
        if self.target.least[0] == self.target.greatest[0]:
            return np.full(len(y), self.target.lower)
        return self.target.apply(np.asarray(y, float), np.zeros(len(y), int))


def fit(
    X: Any,
    y: np.ndarray,
    lower: float = -1.0,
    upper: float = 1.0,
    target: tuple[float, float] | None = None,
) -> Scaling:
    """The scaling that takes the features of ``X`` to [lower, upper], and ``y`` to ``target`` if given.

    Parameters
    ----------
    X : ndarray or sparse, (n, p)
        A value that a sparse matrix does not store is 0.
    y : (n,)
    lower, upper : float
    target : (lower, upper), optional
    """
    if X.shape[0] == 0:
        raise ValueError("there are no rows to take the ranges from")
    _refuse_not_finite(X)
    if sp.issparse(X):
        least, greatest = (np.asarray(bound(axis=0).todense()).ravel() for bound in (X.min, X.max))
    else:
        least, greatest = np.min(X, axis=0), np.max(X, axis=0)
    features = Range(least.astype(float), greatest.astype(float), lower, upper)
    if target is None:
        return Scaling(features)
    _refuse_target_not_finite(y)
    return Scaling(features, Range(np.array([np.min(y)], float), np.array([np.max(y)], float), *target))


def _refuse_not_finite(X: Any) -> None:
    """Raise ValueError at the first NaN or infinity, which would take the range of its feature with it."""
    if sp.issparse(X):
        X = sp.csr_matrix(X)
        places = np.flatnonzero(~np.isfinite(X.data))
        rows, columns, values = np.searchsorted(X.indptr, places, "right") - 1, X.indices[places], X.data[places]
    else:
        rows, columns = np.nonzero(~np.isfinite(X))
        values = X[rows, columns]
    if len(rows):
        raise ValueError(
            f"row {rows[0] + 1} has the value {values[0]} of feature {columns[0] + 1}, both counted from 1, and only"
            " finite values can be scaled"
        )


def _refuse_target_not_finite(y: np.ndarray) -> None:
    rows = np.flatnonzero(~np.isfinite(y))
    if len(rows):
        raise ValueError(f"row {rows[0] + 1} has the target {y[rows[0]]}, and only finite targets can be scaled")


def save(scaling: Scaling, path: str | os.PathLike[str]) -> None:
    """Write the ranges as svm-scale does, whole or not at all; a feature without a range has no line."""
    lines = []
    if scaling.target is not None:
        lines += [
            "y",
            *_range_lines(scaling.target)[:1],
            f"{scaling.target.least[0]:.17g} {scaling.target.greatest[0]:.17g}",
        ]
    lines += ["x", *_range_lines(scaling.features)]
    with replacing(path) as file:
        file.write("".join(f"{line}\n" for line in lines).encode("ascii"))


def _range_lines(part: Range) -> list[str]:
    rows = zip(part.least.tolist(), part.greatest.tolist(), strict=True)
    columns = [f"{j} {a:.17g} {b:.17g}" for j, (a, b) in enumerate(rows, 1) if a < b]
    return [f"{part.lower:.17g} {part.upper:.17g}", *columns]


def load(path: str | os.PathLike[str]) -> Scaling:
    """Read the ranges that `save` or svm-scale has written."""
    with open(path, encoding="ascii", errors="replace") as file:
        lines = [(number, line.split()) for number, line in enumerate(file, 1) if line.strip()]
    rows = iter(lines)
    name = os.fspath(path)
    target = None
    number, words = next(rows, (0, [""]))
    if words == ["y"]:
        limits, ends = (_floats(next(rows, (number, [])), 2, name) for _ in range(2))
        target = Range(ends[:1], ends[1:], *limits)
        number, words = next(rows, (number, [""]))
    if words != ["x"]:
        raise ValueError(f"{name} is no file of ranges: it does not start with a line 'x' or 'y'")
    limits = _floats(next(rows, (number, [])), 2, name)
    columns = [_floats(row, 3, name) for row in rows]
    table = np.array(columns).reshape(-1, 3)
    if np.any(table[:, 0] < 1) or np.any(table[:, 0] % 1):
        raise ValueError(f"{name} has a feature number that is no whole number from 1 on")
    index = table[:, 0].astype(int) - 1
    least, greatest = np.zeros((2, int(index.max(initial=-1)) + 1))
    least[index], greatest[index] = table[:, 1], table[:, 2]
    return Scaling(Range(least, greatest, *limits), target)


def _floats(row: tuple[int, list[str]], count: int, name: str) -> np.ndarray:
    number, words = row
    try:
        values = np.array(words, float)
    except ValueError:
        values = np.empty(0)
    if len(values) != count or not np.isfinite(values).all():
        raise ValueError(f"{name}, line {number}: {' '.join(words)!r} should be {count} numbers")
    return values
