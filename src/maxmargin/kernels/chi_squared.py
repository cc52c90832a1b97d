"""The exponential chi-squared kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from maxmargin.kernels.native import NativeKernel, refuse_negative
from maxmargin.kernels.ranges import positive_gamma


@dataclass(frozen=True)
class ChiSquared(NativeKernel):
    r""":math:`k(x, z) = \exp(-\gamma \sum_k (x_k - z_k)^2 / (x_k + z_k))` for histograms, with 0/0 = 0."""

    gamma: float = 1.0

    pairing = "chi_squared"
    shape = "exponential"
    moves_with_data = False
    coordinate_cost = 16.0  # a division

    def __post_init__(self) -> None:
        positive_gamma(self.gamma)

    def check(self, X: Any) -> None:
        refuse_negative(X, "chi-squared")

    def parameters(self) -> tuple[float, float, int]:
        return self.gamma, 0.0, 1
