r"""What a kernel is: values between two sets of examples, sums and products of kernels.

A kernel from outside the package needs `block` and `diag` only. The kernels of this package also say how the native
code computes them, through `source`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._native import core

Floats = NDArray[np.float64]

# Of a block of kernel values: bytes, multiplications, and rows that are always worth while.
BLOCK_BYTES, BLOCK_COST, LEAST_ROWS = 2**25, 1.5e9, 12


def part_of(X: Any, ids: NDArray[np.integer]) -> Any:
    """The examples `ids` of an array, a sparse matrix, a data frame or any sequence."""
    if hasattr(X, "iloc"):
        return X.iloc[ids]
    return X[ids] if hasattr(X, "shape") else [X[i] for i in ids]


def count(X: Any) -> int:
    """Number of examples."""
    return X.shape[0] if hasattr(X, "shape") else len(X)


class Kernel(ABC):
    r"""A symmetric positive semi-definite function :math:`k(x, z)`."""

    @abstractmethod
    def block(self, X: Any, Z: Any) -> NDArray:
        """k(x, z) for every x of X and z of Z, shape (len(X), len(Z))."""

    @abstractmethod
    def diag(self, X: Any) -> Floats:
        """k(x, x) for every x of X."""

    def source(self, X: Any, precision: str, threads: int, weights: Floats | None = None) -> Any:
        """Rows of the kernel matrix of X for the native code; here by calls of `block`.

        `weights` say how often each example counts where its data are centred, so that float32 keeps its digits.
        """
        n = count(X)

        def rows(ids: NDArray[np.int64]) -> NDArray:
            return checked(self.block(part_of(X, ids), X), (len(ids), n), precision)

        kind = core.Callback32 if precision == "float32" else core.Callback64
        return kind(checked(self.diag(X), (n,), "float64"), rows)

    def against(self, Z: Any) -> Callable[[Any], NDArray]:
        """From examples X to k(x, z) for every z of Z: `block`, where what Z needs is done once."""
        return lambda X: self.block(X, Z)

    def cost(self, X: Any) -> float:
        """About how many multiplications a value takes; a function from outside counts as dear."""
        return math.inf

    def rounding(self, X: Any, weights: Floats | None = None) -> Floats:
        r"""How far float32 puts the values of each example's row off, in units of its roundoff :math:`2^{-24}`.

        Values that are rounded once are off by themselves, at most :math:`\sqrt{k(x, x)\, k(z, z)}`.
        """
        return share_of_diagonal(self.diag(X))

    def __add__(self, other: Kernel) -> Kernel:
        return Sum((*_terms(self, Sum), *_terms(other, Sum))) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, other: Kernel | float) -> Kernel:
        if isinstance(other, Kernel):
            return Product((*_terms(self, Product), *_terms(other, Product)))
        return Scaled(float(other), self) if isinstance(other, int | float | np.number) else NotImplemented

    def __rmul__(self, other: float) -> Kernel:
        return self * other


def block_rows(width: int, cost: float) -> int:
    """How many rows of that many values to compute at once, for what is computed at once holds Ctrl-C off.

    As many as some memory holds and some hundredths of a second make, but as many as the native code is at its best
    with.
    """
    in_time = BLOCK_COST / (max(1, width) * max(1.0, cost)) if math.isfinite(cost) else math.inf
    return int(max(1, min(BLOCK_BYTES / (8 * max(1, width)), max(LEAST_ROWS, in_time))))


def share_of_diagonal(diagonal: Floats) -> Floats:
    r"""For every x the largest :math:`\sqrt{k(x, x)\, k(z, z)}`, which no :math:`|k(x, z)|` exceeds."""
    diagonal = np.abs(diagonal)
    return np.sqrt(diagonal * diagonal.max(initial=0.0))


def checked(values: Any, shape: tuple[int, ...], dtype: str) -> NDArray:
    """What a kernel returned, as a finite array of the shape it must have."""
    array = np.ascontiguousarray(values, dtype=dtype)
    if array.shape != shape:
        raise ValueError(f"The kernel returned an array of shape {array.shape} where {shape} was asked for.")
    if not np.isfinite(array).all():
        raise ValueError(f"The kernel returned {array[~np.isfinite(array)][0]}, but kernel values must be finite.")
    return array


def _terms(kernel: Kernel, kind: type) -> tuple[Kernel, ...]:
    return kernel.parts if isinstance(kernel, kind) else (kernel,)  # type: ignore[attr-defined]


@dataclass(frozen=True)
class Scaled(Kernel):
    r""":math:`w\, k(x, z)` with a weight :math:`w > 0`."""

    weight: float
    kernel: Kernel

    def __post_init__(self) -> None:
        if not (np.isfinite(self.weight) and self.weight > 0):
            raise ValueError(f"The weight of a kernel is {self.weight}, but it must be positive and finite.")

    def block(self, X: Any, Z: Any) -> NDArray:
        return self.weight * self.kernel.block(X, Z)

    def diag(self, X: Any) -> Floats:
        return self.weight * self.kernel.diag(X)

    def cost(self, X: Any) -> float:
        return self.kernel.cost(X)

    def rounding(self, X: Any, weights: Floats | None = None) -> Floats:
        return self.weight * self.kernel.rounding(X, weights)

    def source(self, X: Any, precision: str, threads: int, weights: Floats | None = None) -> Any:
        return combined([self.kernel.source(X, precision, threads, weights)], [self.weight], False, precision)


@dataclass(frozen=True)
class Sum(Kernel):
    r""":math:`\sum_m k_m(x, z)`."""

    parts: tuple[Kernel, ...]

    def block(self, X: Any, Z: Any) -> NDArray:
        return np.sum([part.block(X, Z) for part in self.parts], axis=0)

    def diag(self, X: Any) -> Floats:
        return np.sum([part.diag(X) for part in self.parts], axis=0)

    def cost(self, X: Any) -> float:
        return sum(part.cost(X) for part in self.parts)

    def rounding(self, X: Any, weights: Floats | None = None) -> Floats:
        return np.sum([part.rounding(X, weights) for part in self.parts], axis=0)

    def source(self, X: Any, precision: str, threads: int, weights: Floats | None = None) -> Any:
        parts = [part.source(X, precision, threads, weights) for part in self.parts]
        return combined(parts, [1.0] * len(parts), False, precision)


@dataclass(frozen=True)
class Product(Kernel):
    r""":math:`\prod_m k_m(x, z)`."""

    parts: tuple[Kernel, ...]

    def block(self, X: Any, Z: Any) -> NDArray:
        return np.prod([part.block(X, Z) for part in self.parts], axis=0)

    def diag(self, X: Any) -> Floats:
        return np.prod([part.diag(X) for part in self.parts], axis=0)

    def cost(self, X: Any) -> float:
        return sum(part.cost(X) for part in self.parts)

    def rounding(self, X: Any, weights: Floats | None = None) -> Floats:
        largest = [float(np.abs(part.diag(X)).max(initial=0.0)) for part in self.parts]
        others = [math.prod(largest[:m] + largest[m + 1 :]) for m in range(len(self.parts))]
        return np.sum(
            [part.rounding(X, weights) * factor for part, factor in zip(self.parts, others, strict=True)], axis=0
        )

    def source(self, X: Any, precision: str, threads: int, weights: Floats | None = None) -> Any:
        parts = [part.source(X, precision, threads, weights) for part in self.parts]
        return combined(parts, [1.0] * len(parts), True, precision)


def combined(parts: list[Any], weights: list[float], product: bool, precision: str) -> Any:
    """A native sum or product of native sources."""
    return (core.Combined32 if precision == "float32" else core.Combined64)(parts, weights, product)
