r"""Decomposition by large working sets: price all variables, solve among the worst, and look again.

Given rows of K and terms (p, lo, hi, d, e, sums), minimises
:math:`Q(\beta) = \tfrac12\beta^T K\beta + \sum_i (p_i\beta_i + \tfrac12 d_i\beta_i^2 + e_i|\beta_i|)` over the bounds
and sums. Each round

1. solves the problem of the working set W by pairs, on its own matrix :math:`K_{WW}`, the rest fixed;
2. brings the decision values f = K beta of all examples up to date: the rows of those members whose coefficient
   changed, in blocks, each entry used while it is in the processor;
3. stops where the largest KKT violation over all variables is at most `tol`; else exchanges members that rest deep
   inside their bounds for the worst violators.

Few large rounds make the rows that are ever computed little more than the support vectors, and computing them one large
product. Osuna, Freund & Girosi (1997) proved that such exchanges converge; Joachims (1999) chose the members by their
gradients; Zanni, Serafini & Zanghirati (2006) made the working sets large.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maxmargin.problems import Certificate, DualProblem, certificate, feasible_start, fold, project
from maxmargin.solvers.decomposition import INNER, Run
from maxmargin.solvers.ending import check_decision_values, conclude, rounding_radius
from maxmargin.solvers.loop import Limits, Solution, Status, Watch
from maxmargin.solvers.members import Choice, Priced, Steepest
from maxmargin.solvers.memory import cache_bytes
from maxmargin.solvers.polish import Polish

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

LOOSE = 0.2  # of the violation, to which the next working set is solved
NEARER = 0.1  # share of the tolerance to which the rounds go before Newton takes over
TIGHTER, TIGHTEST = 0.1, 1e-6  # factors of the tolerance where Newton's method needs a nearer start


def solve(
    problem: DualProblem,
    limits: Limits | None = None,
    *,
    working_set_size: int | None = None,
    new_variables: int | None = None,
    inner: str = "pair",
    half_cached: bool = False,
    cache_size: float | str = "auto",
    start: ArrayLike | None = None,
    n_jobs: int | None = None,
) -> Solution:
    """Solve a dual problem by working sets.

    Parameters
    ----------
    problem : DualProblem
        Rows and terms.
    limits : Limits, optional
        When to stop.
    working_set_size : int, optional
        Members of every working set, chosen along the steepest feasible direction as in SVM-light; by default as many
        as it pays to have.
    new_variables : int, optional
        How many of these may be new in a round; half of them by default.
    inner : {"pair", "projection", "interior"}
        What solves the problem of a working set.
    half_cached : bool
        Whether at least half of the new members are to be such whose rows are stored.
    cache_size : float or "auto"
        Megabytes for rows and for the matrix of the working set; "auto" takes a share of the memory that is free now.
    start : (m,) array, optional
        Where to start; projected onto the feasible set.
    n_jobs : int, optional
        Threads; all cores by default.

    Returns
    -------
    Solution
    """
    limits = limits or Limits()
    method = WorkingSet(working_set_size, new_variables, inner, half_cached)
    budget = cache_bytes(cache_size)
    beta = feasible_start(problem.terms) if start is None else project(problem.terms, start)
    run = Run(problem, Watch(limits), method.choice(), inner, beta, budget, n_jobs)
    tol = limits.tol if limits.tol_gap is None else NEARER * limits.tol
    status = run.add_rows(fold(problem.terms, beta)) or _rounds(run, tol)
    check_decision_values(problem, run.f)
    if status is Status.CONVERGED and rounding_radius(problem, run.beta) > limits.tol:
        status = _go_on_exactly(run, limits.tol, budget, n_jobs)
    result, status = conclude(run.problem, run.beta, run.f, status, replace(limits, tol_gap=None), n_jobs)
    if limits.tol_gap is not None and status is Status.CONVERGED and result.gap > limits.tol_gap:
        result, status = _close_gap(run, budget, n_jobs)
    run.look(result.violation, result.gap)
    return Solution(run.beta, run.f, result, status, run.steps, run.watch.seconds, run.watch.trace(), run.counters())


def _go_on_exactly(run: Run, tol: float, budget: float, n_jobs: int | None) -> Status:
    """Rounds with float64 rows from where the run stands, which takes over what they find."""
    exact = DualProblem(run.problem.rows.with_precision("float64"), run.terms)
    run.give_back()
    nearer = Run(exact, run.watch, run.choice.again(), run.inner, run.beta, budget, n_jobs)
    nearer.steps = run.steps
    status = nearer.add_rows(fold(run.terms, run.beta)) or _rounds(nearer, tol)
    nearer.give_back()
    run.problem, run.beta, run.f, run.steps = exact, nearer.beta, nearer.f, nearer.steps
    run.spent = {name: run.spent[name] + nearer.spent[name] for name in run.spent}
    return status


def _close_gap(run: Run, budget: float, n_jobs: int | None) -> tuple[Certificate, Status]:
    """Newton's method in float64 to the gap that is asked for; where it does not settle, pairs take it nearer."""
    limits = run.watch.limits
    goal = math.inf if limits.tol_gap is None else limits.tol_gap
    tol = limits.tol
    run.give_back()
    while True:
        polish = Polish(run.problem, run.beta, limits, run.look, budget, n_jobs)
        status = polish.run(run.f)
        if polish.f is not None:
            run.problem = DualProblem(run.problem.rows.with_precision("float64"), run.terms)
            run.beta, run.f = polish.beta, polish.f
        del polish  # its memory goes to what comes next
        if status is not Status.STALLED or tol < TIGHTEST * limits.tol:
            return certificate(run.terms, run.beta, run.f, rounding_radius(run.problem, run.beta)), status
        tol *= TIGHTER
        status = _go_on_exactly(run, tol, budget, n_jobs)
        result = certificate(run.terms, run.beta, run.f)
        if status is not Status.CONVERGED or result.gap <= goal:
            return result, status


def _rounds(run: Run, tol: float) -> Status:
    """Rounds until the largest violation over all variables is at most the tolerance."""
    prices = run.prices()
    run.set_members(run.choice.first(run.standing(), prices))
    eps = LOOSE * prices.violation
    while True:
        steps = run.steps
        stop = run.solve_members(tol if run.holds_all() else max(tol / 2, eps))
        if stop not in (None, Status.STALLED):
            return stop
        prices = run.prices()
        if prices.violation <= tol:
            return Status.CONVERGED
        if stop is Status.STALLED and (run.holds_all() or eps <= tol / 2):
            return Status.STALLED
        if prices.violation <= run.noise():
            return Status.STALLED  # steps would only move rounding errors
        stop = run.look(prices.violation)
        if stop is not None:
            return stop
        joined = run.set_members(run.choice.next(run.standing(), prices, tol))
        if joined == 0 and run.steps == steps and eps <= LOOSE * prices.violation:
            return Status.STALLED  # the next round would be this one again
        eps = LOOSE * prices.violation


@dataclass(frozen=True)
class WorkingSet:
    """Working sets with the choices made: a solver that estimators take, ``SVC(solver=WorkingSet(...))``.

    Parameters
    ----------
    working_set_size, new_variables, inner, half_cached
        As `solve` takes them.
    """

    working_set_size: int | None = None
    new_variables: int | None = None
    inner: str = "pair"
    half_cached: bool = False

    def __post_init__(self) -> None:
        if self.inner not in ("pair", *INNER):
            raise ValueError(f"inner is {self.inner!r}, but it must be one of 'pair', 'projection', 'interior'.")
        if self.working_set_size is None:
            if self.new_variables is not None or self.half_cached:
                raise ValueError("new_variables and half_cached are for a working_set_size.")
            return
        if self.working_set_size < 2:
            raise ValueError(f"working_set_size is {self.working_set_size}, but a step takes two variables.")
        if self.new_variables is not None and not 2 <= self.new_variables <= self.working_set_size:
            raise ValueError(
                f"new_variables is {self.new_variables}, but it must be from 2 to {self.working_set_size}, the"
                " working_set_size."
            )

    def __call__(
        self,
        problem: DualProblem,
        limits: Limits | None = None,
        *,
        selection: str = "auto",
        rows: str = "two",
        shrinking: object = True,
        **options: Any,
    ) -> Solution:
        # Estimators hand "bounds" on for shrinking=True.
        refuse_pair_options(selection, rows, True if shrinking == "bounds" else shrinking)
        return solve(
            problem,
            limits,
            working_set_size=self.working_set_size,
            new_variables=self.new_variables,
            inner=self.inner,
            half_cached=self.half_cached,
            **options,
        )

    def choice(self) -> Choice:
        """Who chooses the members."""
        size = self.working_set_size
        return Priced() if size is None else Steepest(size, self.new_variables or max(2, size // 2), self.half_cached)


def refuse_pair_options(selection: str, rows: str, shrinking: object) -> None:
    """Raise ValueError for options of the pair solver that a working set has no use for."""
    for name, value, allowed in (("selection", selection, ("auto",)), ("shrinking", shrinking, ())):
        if isinstance(value, str) and value not in allowed:
            raise ValueError(f'{name}={value!r} is for the pair solver: use solver="smo", or leave it out.')
    if rows != "two":
        raise ValueError(f'selection_rows={rows!r} is for the pair solver: use solver="smo", or leave it out.')
