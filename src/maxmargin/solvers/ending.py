"""How a run of a solver ends: what float rounding leaves unknown, and whether the tolerances are kept."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from maxmargin.problems import Certificate, DualProblem, Terms, certificate, certify, fold
from maxmargin.solvers.loop import Limits, Status

Floats = NDArray[np.float64]

FLOAT32_ROUNDING, FLOAT64_ROUNDING = 2.0**-24, 2.0**-52
ROUNDING_MATTERS = 1e-6  # tolerance below which the final certificate is made in float64
ROUNDING_LIMIT = 4.0  # times the tolerance, beyond which rounded rows cannot tell whether it is kept
SLACK = 0.01  # of a tolerance, for the rounding of a gradient that was updated many times


def conclude(
    problem: DualProblem, beta: Floats, f: Floats, status: Status, limits: Limits, n_jobs: int | None
) -> tuple[Certificate, Status]:
    """The certificate of where a run stopped, and the status that it allows."""
    if min(limits.tol, limits.tol if limits.tol_gap is None else limits.tol_gap) < ROUNDING_MATTERS:
        return judged(certify(problem, beta, n_jobs), status, limits)
    radius = rounding_radius(problem, beta)
    if status is Status.CONVERGED and radius > ROUNDING_LIMIT * limits.tol:
        status = Status.STALLED  # the gradient that the solver saw says nothing at this tolerance
    return judged(certificate(problem.terms, beta, f, radius), status, limits)


def judged(result: Certificate, status: Status, limits: Limits) -> tuple[Certificate, Status]:
    """What does not keep the tolerances has not converged."""
    stalled = status is Status.CONVERGED and not holds(result, limits)
    return result, Status.STALLED if stalled else status


def holds(result: Certificate, limits: Limits) -> bool:
    """Whether the final certificate, which knows of rounding, keeps the tolerances that the pairs reached."""
    goal = math.inf if limits.tol_gap is None else limits.tol_gap
    return result.violation <= (1 + SLACK) * limits.tol and result.gap <= (1 + SLACK) * goal


def check_decision_values(problem: DualProblem, f: Floats) -> None:
    """Raise ValueError for values that are not finite, as of an indefinite kernel: NaN would pass for an optimum."""
    _check_finite(f, f"Example {{i}} has a kernel value that is infinite or NaN in {problem.rows.precision}")


def roots_of_diagonal(diagonal: Floats, precision: str) -> Floats:
    """The norms of the examples; by Cauchy and Schwarz every entry of K is finite where the diagonal is."""
    _check_finite(diagonal, f"The kernel value of example {{i}} with itself is {{value}} in {precision}")
    return np.sqrt(np.abs(diagonal))


def _check_finite(values: Floats, fault: str) -> None:
    """Raise ValueError, with the fault at the first example i that has one, unless all values are finite."""
    finite = np.isfinite(values)
    if not finite.all():
        i = int(np.argmin(finite))
        where = fault.format(i=i, value=values[i])
        raise ValueError(f"{where}, but kernel values must be finite: scale the data, or use float64.")


def rounding_radius(problem: DualProblem, beta: Floats) -> float:
    r"""How far rounded kernel values may put a decision value off: four standard deviations of independent errors.

    The float32 values of row i are off by about :math:`u r_i`, u = 2^-24 and r the rows' own `rounding`, so a decision
    value by a sum of such errors with the coefficients as weights: :math:`4 u \|r \cdot \beta\|_2`.
    """
    if problem.rows.precision == "float64":
        return 0.0
    return 4 * FLOAT32_ROUNDING * float(np.linalg.norm(problem.rows.rounding() * fold(problem.terms, beta)))


def noise(terms: Terms, roots: Floats, beta: Floats) -> float:
    r"""Violation that rounding alone leaves in the gradient :math:`K\beta + p + d\beta`; ``roots`` are the norms.

    Four units of roundoff of its parts, where the first is a sum of random signs, about
    :math:`\max_i \sqrt{K_{ii}}\, \|\sqrt{K_{jj}} \beta_j\|_2`.
    """
    size = float(roots.max(initial=0.0) * np.linalg.norm(roots * fold(terms, beta)))
    return 4 * FLOAT64_ROUNDING * (size + float(np.max(np.abs(terms.p) + np.abs(terms.d * beta), initial=0.0)))
