"""One problem for each class against all others; with two classes use one-vs-one, whose one problem is the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maxmargin.reductions.reduction import Codes, Floats, Task


@dataclass(frozen=True)
class OneVsRest:
    """Reduction to one binary problem for each class; the class with the largest decision value wins."""

    n_classes: int

    def tasks(self, codes: Codes) -> list[Task]:
        """One task for each class, over all rows."""
        ids = np.arange(len(codes))
        return [Task(ids, np.where(codes == c, 1.0, -1.0)) for c in range(self.n_classes)]

    def layout(self, codes: Codes, tasks: Sequence[Task], coefficients: Sequence[Floats]) -> Floats:
        """Shape (n_classes, n)."""
        return np.stack(coefficients)

    def decide(self, K: NDArray, layout: Floats, n_support: NDArray) -> Floats:
        """Decision values without intercepts."""
        return K @ layout.T

    def coefficients(self, layout: Floats, n_support: NDArray) -> Floats:
        """The layout itself."""
        return layout

    def predict(self, decisions: Floats) -> Codes:
        """The class of the largest decision value, the first of the tied ones."""
        return np.argmax(decisions, axis=1)

    def scores(self, decisions: Floats) -> Floats:
        """The decision values themselves."""
        return decisions

    def probabilities(self, positive: Floats) -> Floats:
        """Each class's probability against the rest, scaled to the sum 1."""
        return positive / positive.sum(axis=1, keepdims=True)
