"""The Laplacian kernel."""

from __future__ import annotations

from dataclasses import dataclass

from maxmargin.kernels.native import NativeKernel
from maxmargin.kernels.ranges import positive_gamma


@dataclass(frozen=True)
class Laplacian(NativeKernel):
    r""":math:`k(x, z) = \exp(-\gamma \|x - z\|_1)`."""

    gamma: float = 1.0

    pairing = "absolute"
    shape = "exponential"
    moves_with_data = True

    def __post_init__(self) -> None:
        positive_gamma(self.gamma)

    def parameters(self) -> tuple[float, float, int]:
        return self.gamma, 0.0, 1
