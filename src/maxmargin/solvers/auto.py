"""Which solver serves a problem: the table behind ``solver="auto"``."""

from __future__ import annotations

from typing import Any

from maxmargin.problems import DualProblem, Terms
from maxmargin.solvers import smo, working_set
from maxmargin.solvers.loop import Limits, Solution

LARGE = 5000  # examples from which working sets pay


def solve(
    problem: DualProblem,
    limits: Limits | None = None,
    *,
    solver: str = "auto",
    selection: str = "auto",
    rows: str = "two",
    shrinking: smo.Shrinking | bool = True,
    **options: Any,
) -> Solution:
    """Solve a dual problem by the solver of that name.

    Parameters
    ----------
    problem : DualProblem
    limits : Limits, optional
    solver : {"auto", "smo", "working-set"}
    selection, rows, shrinking
        Of the pair solver: with "auto" they mean it wherever they are not the defaults. The working sets have none of
        these choices.
    options
        ``cache_size``, ``start`` and ``n_jobs``, which every solver has.

    Returns
    -------
    Solution
    """
    tol_gap = None if limits is None else limits.tol_gap
    chosen = choose_solver(problem.terms, selection, shrinking, tol_gap) if solver == "auto" else solver
    if chosen == "working-set":
        working_set.refuse_pair_options(selection, rows, shrinking)
        return working_set.solve(problem, limits, **options)
    rule: smo.Shrinking = "bounds" if shrinking is True else shrinking
    return smo.solve(problem, limits, selection=selection, rows=rows, shrinking=rule, **options)


def choose_solver(
    terms: Terms,
    selection: str = "auto",
    shrinking: smo.Shrinking | bool = True,
    tol_gap: float | None = None,
) -> str:
    """What ``solver="auto"`` means.

    Pairs for small problems, for a linear system (whose variables are all free, so that working sets save no rows), and
    where somebody says how pairs are to be chosen or set aside; else working sets. Where a gap is asked for these end
    with Newton's method, and pay earlier.
    """
    asks_for_pairs = selection != "auto" or isinstance(shrinking, str)
    least = LARGE if tol_gap is None else smo.SMALL + 1
    return "smo" if terms.n < least or terms.is_linear_system or asks_for_pairs else "working-set"
