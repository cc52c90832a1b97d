"""What every loss checks of its numbers, and the sum that an intercept adds."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def targets(y: ArrayLike) -> Floats:
    """Real targets as float64."""
    y = np.asarray(y, dtype=np.float64)
    if y.ndim != 1:
        raise ValueError(f"y must be one-dimensional, got shape {y.shape}.")
    if not np.isfinite(y).all():
        i = int(np.argmin(np.isfinite(y)))
        raise ValueError(f"y[{i}] is {y[i]}, but targets must be finite.")
    return y


def labels(y: ArrayLike) -> Floats:
    """Labels -1 and +1 as float64."""
    y = targets(y)
    if not (np.abs(y) == 1).all():
        i = int(np.argmax(np.abs(y) != 1))
        raise ValueError(f"y[{i}] is {y[i]:g}, but a classification loss takes the labels -1 and +1 only.")
    return y


def weights(C: ArrayLike, n: int, name: str = "C") -> Floats:
    """The weight of each of n examples as float64; one number serves them all."""
    C = np.asarray(C, dtype=np.float64)
    if C.shape not in ((), (n,)):
        raise ValueError(f"{name} must be one number or {n}, one for each example, got shape {C.shape}.")
    if not (C > 0).all():
        i = int(np.argmin(C > 0))
        place = f"{name}[{i}]" if C.ndim else name
        raise ValueError(f"{place} is {C.flat[i]:g}, but it must be positive: leave out examples of weight zero.")
    return np.full(n, C) if C.ndim == 0 else C


def finite_weights(C: ArrayLike, n: int, name: str) -> Floats:
    """As `weights`, for the losses whose sums are a share of all weights."""
    C = weights(C, n, name)
    if not np.isfinite(C).all():
        i = int(np.argmin(np.isfinite(C)))
        raise ValueError(f"{name}[{i}] is {C[i]:g}, but a nu loss needs finite weights.")
    return C


def not_negative(name: str, value: float) -> None:
    """Raise ValueError unless the parameter is finite and at least 0."""
    if not 0 <= value < np.inf:
        raise ValueError(f"{name} is {value}, but it must be finite and not negative.")


def positive(name: str, value: float) -> None:
    """Raise ValueError unless the parameter is finite and above 0."""
    if not 0 < value < np.inf:
        raise ValueError(f"{name} is {value}, but it must be finite and positive.")


def share(name: str, value: float) -> None:
    """Raise ValueError unless the parameter lies in (0, 1]."""
    if not 0 < value <= 1:
        raise ValueError(f"{name} is {value}, but it must lie in (0, 1].")


def intercept_sum(n: int, fit_intercept: bool) -> tuple[NDArray[np.int8] | None, Floats]:
    """The group and the sums of an unpenalised intercept: all beta sum to 0."""
    return (np.zeros(n, dtype=np.int8), np.zeros(1)) if fit_intercept else (None, np.empty(0))
