"""The histogram intersection kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from maxmargin.kernels.native import NativeKernel, refuse_negative


@dataclass(frozen=True)
class Intersection(NativeKernel):
    r""":math:`k(x, z) = \sum_k \min(x_k, z_k)` for histograms."""

    pairing = "minimum"
    shape = "identity"
    moves_with_data = False

    def check(self, X: Any) -> None:
        refuse_negative(X, "intersection")

    def parameters(self) -> tuple[float, float, int]:
        return 1.0, 0.0, 1
