"""The Gaussian kernel."""

from __future__ import annotations

from dataclasses import dataclass

from maxmargin.kernels.native import NativeKernel
from maxmargin.kernels.ranges import positive_gamma


@dataclass(frozen=True)
class Gaussian(NativeKernel):
    r""":math:`k(x, z) = \exp(-\gamma \|x - z\|^2)`."""

    gamma: float = 1.0

    pairing = "dot"
    shape = "gaussian"
    moves_with_data = True

    def __post_init__(self) -> None:
        positive_gamma(self.gamma)

    def parameters(self) -> tuple[float, float, int]:
        return self.gamma, 0.0, 1
