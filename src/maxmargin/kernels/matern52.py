"""The Matern kernel of smoothness 5/2."""

from __future__ import annotations

from dataclasses import dataclass

from maxmargin.kernels.native import NativeKernel
from maxmargin.kernels.ranges import positive_gamma


@dataclass(frozen=True)
class Matern52(NativeKernel):
    r""":math:`k(x, z) = (1 + s + s^2/3) e^{-s}` with :math:`s = \sqrt{5 \gamma}\, \|x - z\|`.

    The length scale is :math:`1/\sqrt\gamma`.
    """

    gamma: float = 1.0

    pairing = "dot"
    shape = "matern52"
    moves_with_data = True

    def __post_init__(self) -> None:
        positive_gamma(self.gamma)

    def parameters(self) -> tuple[float, float, int]:
        return self.gamma, 0.0, 1
