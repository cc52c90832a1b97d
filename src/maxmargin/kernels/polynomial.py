"""The polynomial kernel."""

from __future__ import annotations

from dataclasses import dataclass

from maxmargin.kernels.native import NativeKernel
from maxmargin.kernels.ranges import finite_coef0, natural_degree, positive_gamma


@dataclass(frozen=True)
class Polynomial(NativeKernel):
    r""":math:`k(x, z) = (\gamma \langle x, z \rangle + c_0)^{degree}`."""

    degree: int = 3
    gamma: float = 1.0
    coef0: float = 0.0

    pairing = "dot"
    shape = "polynomial"
    moves_with_data = False

    def __post_init__(self) -> None:
        positive_gamma(self.gamma)
        finite_coef0(self.coef0)
        natural_degree(self.degree)

    def parameters(self) -> tuple[float, float, int]:
        return self.gamma, self.coef0, int(self.degree)
