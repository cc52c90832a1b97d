"""The kernels: one file each; `block(X, Z)` and `diag(X)` are all that the rest of the package needs."""

from __future__ import annotations

from maxmargin.kernels.chi_squared import ChiSquared
from maxmargin.kernels.function import Callable
from maxmargin.kernels.gaussian import Gaussian
from maxmargin.kernels.intersection import Intersection
from maxmargin.kernels.kernel import Kernel, Product, Scaled, Sum
from maxmargin.kernels.laplacian import Laplacian
from maxmargin.kernels.linear import Linear
from maxmargin.kernels.matern32 import Matern32
from maxmargin.kernels.matern52 import Matern52
from maxmargin.kernels.native import NativeKernel
from maxmargin.kernels.polynomial import Polynomial
from maxmargin.kernels.sigmoid import Sigmoid

__all__ = [
    "Callable",
    "ChiSquared",
    "Gaussian",
    "Intersection",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern32",
    "Matern52",
    "NativeKernel",
    "Polynomial",
    "Product",
    "Scaled",
    "Sigmoid",
    "Sum",
    "by_name",
]


def by_name(name: str, gamma: float, degree: int = 3, coef0: float = 0.0) -> Kernel:
    """The kernel of a name, with the parameters that it has.

    Examples
    --------
    >>> by_name("rbf", gamma=0.5)
    Gaussian(gamma=0.5)
    """
    match name:
        case "linear":
            return Linear()
        case "poly":
            return Polynomial(degree, gamma, coef0)
        case "rbf":
            return Gaussian(gamma)
        case "sigmoid":
            return Sigmoid(gamma, coef0)
        case "laplacian":
            return Laplacian(gamma)
        case "chi2":
            return ChiSquared(gamma)
        case "intersection":
            return Intersection()
        case "matern32":
            return Matern32(gamma)
        case "matern52":
            return Matern52(gamma)
    names = "linear, poly, rbf, sigmoid, laplacian, chi2, intersection, matern32, matern52"
    raise ValueError(f"There is no kernel named {name!r}; there are {names}.")
