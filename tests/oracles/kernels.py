"""The kernels in a line of NumPy each: the twins of the native ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def _squared(X: NDArray, Z: NDArray) -> NDArray:
    """Squared Euclidean distances, by differences: no digits cancel."""
    return ((X[:, None, :] - Z[None, :, :]) ** 2).sum(axis=2)


def linear(X: NDArray, Z: NDArray) -> NDArray:
    """<x, z>."""
    return X @ Z.T


def polynomial(X: NDArray, Z: NDArray, degree: int = 3, gamma: float = 1.0, coef0: float = 0.0) -> NDArray:
    """(gamma <x, z> + coef0)^degree."""
    return (gamma * (X @ Z.T) + coef0) ** degree


def gaussian(X: NDArray, Z: NDArray, gamma: float = 1.0) -> NDArray:
    """exp(-gamma |x - z|_2^2)."""
    return np.exp(-gamma * _squared(X, Z))


def sigmoid(X: NDArray, Z: NDArray, gamma: float = 1.0, coef0: float = 0.0) -> NDArray:
    """tanh(gamma <x, z> + coef0), which is not positive semidefinite."""
    return np.tanh(gamma * (X @ Z.T) + coef0)


def laplacian(X: NDArray, Z: NDArray, gamma: float = 1.0) -> NDArray:
    """exp(-gamma |x - z|_1)."""
    return np.exp(-gamma * np.abs(X[:, None, :] - Z[None, :, :]).sum(axis=2))


def chi_squared(X: NDArray, Z: NDArray, gamma: float = 1.0) -> NDArray:
    """exp(-gamma sum (x - z)^2 / (x + z)) of data >= 0, where 0/0 is 0."""
    total = X[:, None, :] + Z[None, :, :]
    square = (X[:, None, :] - Z[None, :, :]) ** 2
    return np.exp(-gamma * np.divide(square, total, out=np.zeros_like(square), where=total > 0).sum(axis=2))


def intersection(X: NDArray, Z: NDArray) -> NDArray:
    """Sum of min(x, z)."""
    return np.minimum(X[:, None, :], Z[None, :, :]).sum(axis=2)


def matern32(X: NDArray, Z: NDArray, gamma: float = 1.0) -> NDArray:
    """(1 + s) exp(-s), s = sqrt(3 gamma) |x - z|_2."""
    s = np.sqrt(3.0 * gamma * _squared(X, Z))
    return (1.0 + s) * np.exp(-s)


def matern52(X: NDArray, Z: NDArray, gamma: float = 1.0) -> NDArray:
    """(1 + s + s^2 / 3) exp(-s), s = sqrt(5 gamma) |x - z|_2."""
    s = np.sqrt(5.0 * gamma * _squared(X, Z))
    return (1.0 + s + s**2 / 3.0) * np.exp(-s)
