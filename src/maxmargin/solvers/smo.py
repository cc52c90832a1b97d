r"""The pair solver: sequential minimal optimisation of the general dual problem.

Given rows of K and terms (p, lo, hi, d, e, sums), minimises
:math:`Q(\beta) = \tfrac12\beta^T K\beta + \sum_i (p_i\beta_i + \tfrac12 d_i\beta_i^2 + e_i|\beta_i|)` over the bounds
and sums, by exact steps along pairs of one sum (without sums: of one or two variables). Returns a `Solution`.

Pairs are chosen by

* ``"mvp"``: the most violating pair (ALG2);
* ``"second-order"``: the most violating i, and the j of largest unclipped gain (ALG3; Fan, Chen & Lin 2005);
* ``"mg"``, ``"hmg"``: maximum gain and its hybrid (Glasmachers & Igel 2006): the pair of largest exact gain (3) among
  those that keep a variable of the pair before, so that at most one row is new; hybrid falls back on the most violating
  pair when both variables of the pair before are within eta = 1e-8 of their bounds. MG alone may stop short of the
  optimum (their Theorem 7) and then says so.
* ``"auto"``: hmg on the newer row where the cache holds a small share of the matrix and rows are dear
  (`choose_selection`), else second-order.

Singular pairs take the step of ALG5 with tau = 1e-12. ALG2, ALG3 and ALG5 are named as in Steinwart & Christmann,
Support Vector Machines (2008), section 11.2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maxmargin._native import core
from maxmargin.problems import Certificate, DualProblem, Terms, certificate, feasible_start, project
from maxmargin.rows import Rows
from maxmargin.solvers.ending import check_decision_values, conclude, holds, judged, noise, roots_of_diagonal
from maxmargin.solvers.finish import ROUNDS, SMALL, finish
from maxmargin.solvers.loop import SLICE_SECONDS, Limits, Solution, State, Status, Watch
from maxmargin.solvers.memory import cache_bytes

Floats = NDArray[np.float64]
Shrinking = Literal["bounds", "history", False]

SELECTIONS = {"second-order": 0, "mvp": 1, "mg": 2, "hmg": 3}
GAIN_ROWS = {"two": 0, "one": 1, "all": 2}
SHRINKING = {False: 0, "bounds": 1, "history": 2}
ETA = 1e-8  # of HMG
HISTORY = 100  # steps for which a multiplier must hold its variable at a bound
SHRINK_INTERVAL = 1000  # most steps between two looks at what may be removed
LEAST_SHRINK_INTERVAL = 16  # steps of very few variables
UNSHRINK_AT = 10.0  # times the tolerance: all variables come back for the last steps
DEAR_ENTRY = 100  # multiplications for a kernel value from which HMG's fewer rows outweigh its more steps
PATIENCE = 0.25  # seconds of pairs after which the exact finish is tried; then again whenever these have doubled
SMALL_SHARE = 0.05  # of the matrix in the cache, below which rows are computed again and again


class Pause(IntEnum):
    """Why the native steps came back, as in core/pair_solver.hpp."""

    CONVERGED = 0
    STEPS = 1
    TIME = 2
    SHRINK_DUE = 3
    STALLED = 4
    UNBOUNDED = 5


@dataclass(frozen=True)
class Options:
    """How pairs are chosen and variables removed."""

    selection: str = "auto"
    rows: str = "two"
    shrinking: Shrinking = "bounds"

    def __post_init__(self) -> None:
        _one_of("selection", self.selection, ["auto", *SELECTIONS])
        _one_of("rows", self.rows, list(GAIN_ROWS))
        _one_of("shrinking", self.shrinking, list(SHRINKING))


def solve(
    problem: DualProblem,
    limits: Limits | None = None,
    *,
    selection: str = "auto",
    rows: str = "two",
    shrinking: Shrinking = "bounds",
    cache_size: float | str = "auto",
    start: ArrayLike | None = None,
    n_jobs: int | None = None,
) -> Solution:
    """Solve a dual problem pair by pair.

    Parameters
    ----------
    problem : DualProblem
        Rows and terms.
    limits : Limits, optional
        When to stop.
    selection : {"auto", "second-order", "mvp", "mg", "hmg"}
        How pairs are chosen.
    rows : {"two", "one", "all"}
        The rows that MG and HMG look at: both of the pair before, the newer one, or all in the cache; "auto" takes
        its own.
    shrinking : {"bounds", "history", False}
        Which variables are removed on the way: those that not even the extreme partner would move (LIBSVM), those held
        at their bound by their multiplier for 100 steps (SVM-light), or none.
    cache_size : float or "auto"
        Megabytes for rows; "auto" takes a share of the memory that is free now.
    start : (m,) array, optional
        Where to start; projected onto the feasible set.
    n_jobs : int, optional
        Threads; all cores by default.

    Returns
    -------
    Solution

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.kernels import Linear
    >>> from maxmargin.losses import Hinge
    >>> from maxmargin.rows.computed import ComputedRows
    >>> X, y = np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0])
    >>> solution = solve(DualProblem(ComputedRows(Linear(), X, "float64"), Hinge().dual(y, 10.0)))
    >>> solution.beta
    array([-0.5,  0.5])
    """
    options = Options(selection, rows, shrinking)
    limits = limits or Limits()
    watch = Watch(limits)
    budget = cache_bytes(cache_size)
    beta = feasible_start(problem.terms) if start is None else project(problem.terms, start)
    source = problem.rows.source(n_jobs)
    roots = roots_of_diagonal(source.diagonal(), problem.rows.precision)
    solved_at_once = problem.terms.n <= SMALL and problem.terms.is_linear_system
    if solved_at_once:
        # Where the curvature is small, pairs would take for ever; and any start would only cost digits.
        beta, _ = finish(problem, feasible_start(problem.terms))
    pairs = _native_solver(problem, source, beta, options, budget)
    status, exact = _rebuild(pairs, watch), None
    patience = PATIENCE if problem.terms.n <= SMALL else math.inf
    while status is None:
        status = _run(pairs, problem, watch, options, patience, roots)
        if status is None:
            status, exact = _finish_early(pairs, problem, watch)
            patience = 2 * watch.seconds
    _unshrink(pairs, watch)
    beta = pairs.beta()
    f = _decision_values(problem.terms, beta, pairs.gradient())
    check_decision_values(problem, f)
    if status is Status.CONVERGED and problem.terms.n <= SMALL:
        rounds = _Rounds(pairs, watch, ROUNDS)
        beta, f = finish(problem, beta if exact is None else exact, rounds)
        result, status = judged(certificate(problem.terms, beta, f), status, limits)
    else:
        result, status = conclude(problem, beta, f, status, limits, n_jobs)
    watch.look(_state(watch, pairs, result.violation, result.gap))
    return Solution(
        beta, f, result, status, pairs.steps + solved_at_once, watch.seconds, watch.trace(), _counters(pairs)
    )


def _run(
    pairs: Any, problem: DualProblem, watch: Watch, options: Options, patience: float, roots: Floats
) -> Status | None:
    """Pair steps, shrinking and limits, until the tolerance holds for all variables; None after so many seconds."""
    tol = watch.limits.tol
    goal = UNSHRINK_AT * tol if options.shrinking else tol
    interval = _shrink_interval(options.shrinking, pairs.size)
    while True:
        left = watch.iterations_left(pairs.steps)
        whole = pairs.active == pairs.size
        pause = Pause(pairs.run(left, watch.slice(), goal, interval))
        if pause is Pause.SHRINK_DUE:
            pairs.shrink(SHRINKING[options.shrinking], HISTORY)
            if watch.since_look() < SLICE_SECONDS:
                continue
        if pause in (Pause.CONVERGED, Pause.STALLED) and pairs.active < pairs.size:
            stop = _unshrink(pairs, watch)
            if stop is not None:
                return stop
            goal = tol
            if pairs.violation > tol:
                # With the gradients just made, few need to stay; what stalled needs them all.
                if pause is Pause.CONVERGED:
                    pairs.shrink(SHRINKING[options.shrinking], HISTORY)
                continue
            pause = Pause.CONVERGED
        if pause is Pause.CONVERGED:
            if goal > tol >= 0 and pairs.violation > tol:
                goal = tol
                continue
            if _gap_reached(pairs, problem, watch.limits):
                return Status.CONVERGED
            tol = goal = 0.3 * min(tol, pairs.violation)
            if tol < 1e-15:
                return Status.STALLED
            continue
        if pause is Pause.STALLED:
            return Status.STALLED
        if pause is Pause.UNBOUNDED:
            return Status.UNBOUNDED
        if pause is Pause.STEPS:
            return Status.MAX_ITER
        gap = watch.sparingly("gap", lambda: _current_certificate(pairs, problem.terms).gap) if whole else math.nan
        stop = watch.look(_state(watch, pairs, pairs.violation, gap))
        if stop is not None or watch.seconds > patience:
            return stop
        if pairs.violation <= watch.sparingly("noise", lambda: noise(problem.terms, roots, pairs.beta())):
            stop = _unshrink(pairs, watch)
            if stop is not None or pairs.violation <= noise(problem.terms, roots, pairs.beta()):
                return stop or Status.STALLED
            goal = tol


def _finish_early(pairs: Any, problem: DualProblem, watch: Watch) -> tuple[Status | None, Floats | None]:
    """The exact finish where pairs take long, for at most as long as they took: converged with its beta, or nothing."""
    rounds = _Rounds(pairs, watch, math.inf, until=2 * watch.seconds)
    beta, f = finish(problem, pairs.beta(), rounds)
    if rounds.stop is None and holds(certificate(problem.terms, beta, f), watch.limits):
        return Status.CONVERGED, beta
    return rounds.stop, None


@dataclass
class _Rounds:
    """Rounds of the exact finish, within the limits of the run; `stop` is the status when one of these came."""

    pairs: Any
    watch: Watch
    most: float
    until: float = math.inf
    stop: Status | None = None

    def __iter__(self) -> Iterator[None]:
        done = 0
        while self.stop is None and done < self.most and self.watch.seconds < self.until:
            yield
            done += 1
            if self.watch.since_look() >= SLICE_SECONDS:
                self.stop = self.watch.look(_state(self.watch, self.pairs, self.pairs.violation, math.nan))


def _unshrink(pairs: Any, watch: Watch) -> Status | None:
    """All variables again, with their gradients; a status when the run must stop here."""
    if pairs.active < pairs.size:
        pairs.unshrink()
        return _rebuild(pairs, watch)
    return None


def _rebuild(pairs: Any, watch: Watch) -> Status | None:
    """Gradients of a warm start or of returning variables, in slices; they are made whole whatever wants to stop."""
    stop: Status | None = None
    while not pairs.rebuild(SLICE_SECONDS):
        stop = watch.look(_state(watch, pairs, pairs.violation, math.nan)) or stop
    return stop


def choose_selection(rows: Rows, share: float) -> tuple[str, str]:
    """What ``selection="auto"`` means, and the rows to look at.

    HMG below a cached share of 0.05 when a value takes 100 multiplications. The newer row alone halves its search and
    costs no steps worth speaking of.
    """
    dear = share < SMALL_SHARE and rows.entry_cost >= DEAR_ENTRY
    return ("hmg", "one") if dear else ("second-order", "two")


def _native_solver(problem: DualProblem, source: Any, beta: Floats, options: Options, budget: float) -> Any:
    rows, terms = problem.rows, problem.terms
    share = budget / max(1.0, np.dtype(rows.precision).itemsize * float(rows.n) ** 2)
    asked = options.selection, options.rows
    selection, gain_rows = choose_selection(rows, share) if options.selection == "auto" else asked
    group = np.empty(0, np.int32) if terms.group is None else terms.group.astype(np.int32)
    kind = core.PairSolver32 if rows.precision == "float32" else core.PairSolver64
    return kind(
        source,
        terms.p,
        terms.lo,
        terms.hi,
        terms.d,
        terms.e,
        beta,
        group,
        terms.sums,
        terms.copies,
        SELECTIONS[selection],
        GAIN_ROWS[gain_rows],
        ETA,
        budget,
    )


def _shrink_interval(shrinking: Shrinking, n: int) -> int:
    if shrinking == "history":
        return HISTORY // 4
    return min(max(n, LEAST_SHRINK_INTERVAL), SHRINK_INTERVAL) if shrinking else 0


def _decision_values(terms: Terms, beta: Floats, gradient: Floats) -> Floats:
    """f = K beta, from the gradient f + p + d beta of the first copy."""
    n = terms.n
    return gradient[:n] - terms.p[:n] - terms.d[:n] * beta[:n]


def _gap_reached(pairs: Any, problem: DualProblem, limits: Limits) -> bool:
    if limits.tol_gap is None:
        return True
    return _current_certificate(pairs, problem.terms).gap <= limits.tol_gap


def _current_certificate(pairs: Any, terms: Terms) -> Certificate:
    beta = pairs.beta()
    return certificate(terms, beta, _decision_values(terms, beta, pairs.gradient()))


def _state(watch: Watch, pairs: Any, violation: float, gap: float) -> State:
    return State(watch.seconds, pairs.steps, violation, gap, pairs.active, pairs.rows_computed, pairs.cache_hits)


def _counters(pairs: Any) -> dict[str, float]:
    names = ("rows_computed", "entries_computed", "cache_hits", "cache_misses", "cache_bytes")
    return {name: getattr(pairs, name) for name in names}


def _one_of(name: str, value: object, allowed: list) -> None:
    if value not in allowed:
        raise ValueError(f"{name} is {value!r}, but it must be one of {', '.join(map(repr, allowed))}.")
