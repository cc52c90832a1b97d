"""The sigmoid kernel, which is positive semi-definite for some parameters only."""

from __future__ import annotations

from dataclasses import dataclass

from maxmargin.kernels.native import NativeKernel
from maxmargin.kernels.ranges import finite_coef0, positive_gamma


@dataclass(frozen=True)
class Sigmoid(NativeKernel):
    r""":math:`k(x, z) = \tanh(\gamma \langle x, z \rangle + c_0)`."""

    gamma: float = 1.0
    coef0: float = 0.0

    pairing = "dot"
    shape = "tanh"
    moves_with_data = False

    def __post_init__(self) -> None:
        positive_gamma(self.gamma)
        finite_coef0(self.coef0)

    def parameters(self) -> tuple[float, float, int]:
        return self.gamma, self.coef0, 1
