r"""From a solution of the dual problem to the decision function f(x) = sum_i coef_i k(x_i, x) + intercept."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin.problems import Terms, fold
from maxmargin.solvers.loop import Solution

Floats = NDArray[np.float64]


class Expansion(NamedTuple):
    """A decision function: coefficients (n,) of the training rows and the intercept."""

    coef: Floats
    intercept: float


def expand(terms: Terms, solution: Solution) -> Expansion:
    r"""The decision function that a solution stands for.

    Without a sum there is no intercept, with one it is its multiplier b. With two sums it is their mean; on the same
    variables (nu-classification) half their difference is the margin rho, and the function is (f + b) / rho, which has
    the margin 1 and does not depend on the scale of the weights.
    """
    coef = fold(terms, solution.beta)
    b = solution.certificate.intercepts
    intercept = float(b.mean()) if len(b) else 0.0
    if len(b) == 2 and terms.copies == 1:
        with np.errstate(divide="ignore", invalid="ignore"):
            coef, intercept = coef / margin(terms, solution), float(intercept / margin(terms, solution))
    return Expansion(coef, intercept)


def margin(terms: Terms, solution: Solution) -> np.float64:
    r"""The margin rho of a nu-classification.

    It is half the difference of the two intercepts. At the optimum the primal and the dual meet, so that
    :math:`\rho\,\nu \sum_i w_i = \|f\|^2 + \sum_i w_i \xi_i`: where the solver stopped early, :math:`\|f\|^2` over
    :math:`\nu \sum_i w_i` is a floor that keeps the margin positive.
    """
    b = solution.certificate.intercepts
    floor = solution.f @ fold(terms, solution.beta) / np.abs(terms.sums).sum()
    return np.float64(max(0.5 * (b[1] - b[0]), floor))
