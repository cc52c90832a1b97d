"""A user's function as a kernel."""

from __future__ import annotations

import collections.abc
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.kernels.kernel import Floats, Kernel, checked, count, part_of


@dataclass(frozen=True)
class Callable(Kernel):
    """k(x, z) as ``function(X, Z)`` returns it, a matrix with a row for each x and a column for each z."""

    function: collections.abc.Callable[[Any, Any], Any]

    def block(self, X: Any, Z: Any) -> NDArray:
        return checked(self.function(X, Z), (count(X), count(Z)), "float64")

    def diag(self, X: Any) -> Floats:
        examples = (part_of(X, np.array([i])) for i in range(count(X)))
        return np.array([self.block(x, x)[0, 0] for x in examples])
