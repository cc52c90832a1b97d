"""The linear kernel."""

from __future__ import annotations

from dataclasses import dataclass

from maxmargin.kernels.native import NativeKernel


@dataclass(frozen=True)
class Linear(NativeKernel):
    r""":math:`k(x, z) = \langle x, z \rangle`."""

    pairing = "dot"
    shape = "identity"
    moves_with_data = False

    def parameters(self) -> tuple[float, float, int]:
        return 1.0, 0.0, 1
