r"""What the solvers that hold the whole kernel matrix share: products with it, and the way to a `Solution`.

Such a solver is a function ``minimise(terms, K, beta, tol, look)``. From a feasible beta it lowers

.. math::
    Q(\beta) = \tfrac12\beta^T K\beta + \sum_i (p_i\beta_i + \tfrac12 d_i\beta_i^2 + e_i|\beta_i|)

until the KKT violation is at most tol, and returns beta, the number of iterations, and None or the status that stopped
it. ``look(iteration, violation)`` is asked before every iteration, and stops it by returning a status. So a
decomposition method can have it solve its subproblems.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maxmargin.problems import DualProblem, Terms, certificate, feasible_start, fold, project
from maxmargin.solvers.ending import conclude
from maxmargin.solvers.loop import Limits, Solution, State, Status, Watch
from maxmargin.solvers.memory import MEGABYTE, cache_bytes

Floats = NDArray[np.float64]
Look = Callable[[int, float], Status | None]
Minimise = Callable[[Terms, NDArray, Floats, float, Look], tuple[Floats, int, Status | None]]

BLOCK = 2**17  # entries of K that are gathered or widened at once: a megabyte, which stays in the processor's cache
GATHERED = 0.7  # share of the rows of a float64 matrix from which gathering them takes longer than using all
FLAT = 1e-8  # share of a direction that counts as none of it
BEYOND_REASON = 1e100  # a coefficient that large is on its way to infinity
LEAST_TOL = 1e-15  # no gap asks for a smaller violation than this
MOST_TIGHTENING = 1e-3  # of the tolerance at once


def product(K: NDArray, x: Floats) -> Floats:
    """K x in float64, in blocks of the rows where x is not 0; K is symmetric, of any precision, and never copied."""
    n = len(x)
    used = np.flatnonzero(x)
    if K.dtype == np.float64 and used.size > GATHERED * n:
        return K @ x
    result = np.zeros(n)
    step = max(1, BLOCK // n)
    for first in range(0, used.size, step):
        ids = used[first : first + step]
        rows = K[ids[0] : ids[-1] + 1] if ids[-1] - ids[0] < ids.size else K[ids]
        result += x[ids] @ rows.astype(np.float64, copy=False)
    return result


def objective(terms: Terms, beta: Floats, f: Floats) -> float:
    """Q(beta), where f is K fold(beta)."""
    separable = terms.p * beta + 0.5 * terms.d * beta**2 + terms.e * np.abs(beta)
    return float(0.5 * np.sum(fold(terms, beta) * f) + separable.sum())


def norms(K: NDArray) -> Floats:
    r"""The norms of the examples, :math:`\sqrt{K_{ii}}`."""
    return np.sqrt(np.abs(np.diagonal(K).astype(np.float64)))


def largest_curvature(terms: Terms, K: NDArray) -> float:
    r"""The largest :math:`K_{ii} + d`, by which curvatures are small or large."""
    own = np.tile(np.diagonal(K).astype(np.float64), terms.copies) + terms.d
    return float(np.max(np.abs(own), initial=0.0))


def falls_without_end(terms: Terms, step: Floats, curved: Floats, largest: float) -> bool:
    r"""Whether Q has no minimum along the direction ``step``; ``curved`` is (K + D) step, by variable.

    It has none where no bound is ever met, the curvature is not positive (to FLAT of the largest), and the slope at
    infinity, :math:`p^T step + e^T |step|`, is negative or the curvature is.
    """
    size = float(np.abs(step).max(initial=0.0))
    if size > BEYOND_REASON:
        return True
    met = np.isfinite(np.where(step > 0, terms.hi, terms.lo))
    if size == 0 or np.abs(step[met]).max(initial=0.0) > FLAT * size:
        return False
    if step @ curved < -FLAT * (np.abs(step) @ np.abs(curved)):
        return True
    flat = np.linalg.norm(curved) <= FLAT * largest * np.linalg.norm(step)
    slope = terms.p @ step + terms.e @ np.abs(step)
    return bool(flat and slope < -FLAT * (np.abs(terms.p) @ np.abs(step)))


def solve(
    minimise: Minimise,
    problem: DualProblem,
    limits: Limits | None,
    cache_size: float | str,
    start: ArrayLike | None,
    n_jobs: int | None,
    work: float = 0.0,
) -> Solution:
    """Compute the matrix, minimise within the limits until violation and gap are reached, and certify the result.

    Parameters
    ----------
    minimise : callable
        As above.
    problem, limits, cache_size, start, n_jobs
        As `smo.solve` takes them.
    work : float
        Bytes that the solver needs beside the matrix, per entry of it.

    Raises
    ------
    ValueError
        When the matrix does not fit the memory budget, or a kernel value is not finite.
    """
    limits = limits or Limits()
    watch = Watch(limits)
    terms = problem.terms
    beta = feasible_start(terms) if start is None else project(terms, start)
    K = _whole_matrix(problem, cache_size, work, n_jobs)
    tol, n_iter, status = limits.tol, 0, None
    while status is None:
        looking = _Looking(watch, terms.m, terms.n, n_iter)
        beta, done, status = minimise(terms, K, beta, tol, looking)
        n_iter += done
        f = product(K, fold(terms, beta))
        if status is None:
            proof = certificate(terms, beta, f)
            if limits.tol_gap is None or proof.gap <= limits.tol_gap:
                status = Status.CONVERGED
            else:
                tol = min(tol, proof.violation) * _tightening(limits.tol_gap / proof.gap)
                status = Status.STALLED if tol < LEAST_TOL else None
    result, status = conclude(problem, beta, f, status, limits, n_jobs)
    watch.look(_state(watch, n_iter, result.violation, result.gap, terms.m, terms.n))
    return Solution(beta, f, result, status, n_iter, watch.seconds, watch.trace(), _counters(K))


class _Looking:
    """The limits of a run, as the inner loop asks for them."""

    def __init__(self, watch: Watch, m: int, n: int, before: int) -> None:
        self.watch, self.m, self.n, self.before = watch, m, n, before

    def __call__(self, iteration: int, violation: float) -> Status | None:
        done = self.before + iteration
        if self.watch.iterations_left(done) == 0:
            return Status.MAX_ITER
        if self.watch.slice() > 0:
            return None
        return self.watch.look(_state(self.watch, done, violation, math.nan, self.m, self.n))


def _tightening(share: float) -> float:
    """What the tolerance is multiplied by when the gap must fall to this share.

    A gap falls with the square of the violation where the loss is smooth; where it falls more slowly, another turn
    follows.
    """
    return 0.3 * min(1.0, max(math.sqrt(share), MOST_TIGHTENING))


def _whole_matrix(problem: DualProblem, cache_size: float | str, work: float, n_jobs: int | None) -> NDArray:
    """All rows, where they and the solver's own memory fit the budget."""
    rows, budget = problem.rows, cache_bytes(cache_size)
    needed = float(rows.n) ** 2 * (np.dtype(rows.precision).itemsize + work)
    if needed > budget:
        raise ValueError(
            f"This solver holds the whole kernel matrix and needs {needed / MEGABYTE:.1f} MB for its {rows.n} rows, but"
            f" cache_size allows {budget / MEGABYTE:.1f} MB."
        )
    K = rows.block(np.arange(rows.n), n_jobs=n_jobs)
    if K.size and not np.isfinite([K.max(), K.min()]).all():  # of which NaN makes NaN
        i = next(i for i, row in enumerate(K) if not np.isfinite(row).all())
        raise ValueError(
            f"Example {i} has a kernel value that is infinite or NaN in {rows.precision}, but kernel values must be"
            " finite: scale the data, or use float64."
        )
    return K


def _state(watch: Watch, iteration: int, violation: float, gap: float, m: int, n: int) -> State:
    return State(watch.seconds, iteration, violation, gap, m, n, 0)


def _counters(K: NDArray) -> dict[str, float]:
    n = len(K)
    return {
        "rows_computed": n,
        "entries_computed": n * n,
        "cache_hits": 0,
        "cache_misses": n,
        "cache_bytes": K.nbytes,
    }
