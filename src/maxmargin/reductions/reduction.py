"""What every reduction of a multi-class problem to binary ones offers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Task:
    """One binary problem: which rows take part, and on which side.

    Parameters
    ----------
    ids : (m,) intp
        Rows of the training set, ascending.
    y : (m,) float64
        +1 or -1.
    """

    ids: Codes
    y: Floats


class Reduction(Protocol):
    """A multi-class problem as binary tasks; classes are the codes 0 ... n_classes - 1.

    Decision values, intercepts and tasks share one order. Coefficients are laid out in columns, one for each support
    vector, grouped by class.
    """

    @property
    def n_classes(self) -> int:
        """Number of classes."""

    def tasks(self, codes: Codes) -> list[Task]:
        """The binary problems."""

    def layout(self, codes: Codes, tasks: Sequence[Task], coefficients: Sequence[Floats]) -> Floats:
        """The tasks' coefficients in the rows of one array, one column for each training row."""

    def decide(self, K: NDArray, layout: Floats, n_support: NDArray) -> Floats:
        """Decision values without intercepts, (n, tasks), from rows K of kernel values against the support vectors."""

    def coefficients(self, layout: Floats, n_support: NDArray) -> Floats:
        """One row of coefficients for each task."""

    def predict(self, decisions: Floats) -> Codes:
        """The predicted class of each row of decision values."""

    def scores(self, decisions: Floats) -> Floats:
        """One score a class, (n, n_classes)."""

    def probabilities(self, positive: Floats) -> Floats:
        """Class probabilities (n, n_classes) from the probability of each task's positive side."""
