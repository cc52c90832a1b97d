"""Several dual problems over parts of the same rows, solved side by side."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.problems import DualProblem, Terms
from maxmargin.rows import Rows
from maxmargin.rows.precomputed import PrecomputedRows
from maxmargin.rows.shared import SharedRows
from maxmargin.solvers.loop import Limits, Solution
from maxmargin.threads import threads

Solver = Callable[..., Solution]

LEAVE_SECONDS = 0.08  # that abandoned problems are given to leave; one that makes its certificate may take longer


class Abandoned(Exception):
    """Ends the problems that still run when another one failed, or Ctrl-C came."""


@dataclass(frozen=True, eq=False)
class Part:
    """A dual problem over some of the rows.

    Parameters
    ----------
    ids : (n,) intp
        The rows, ascending.
    terms : Terms
        The loss.
    """

    ids: NDArray[np.intp]
    terms: Terms

    def problem(self, rows: Rows) -> DualProblem:
        """The problem over its own rows of K."""
        return DualProblem(rows if len(self.ids) == rows.n else rows.part(self.ids), self.terms)


def shared_rows(rows: Rows, parts: Sequence[Part], budget: float, n_jobs: int | None) -> Rows:
    """The rows that the parts are to read: shared within half of the budget where several problems compute them.

    The other half is for the solvers' own caches. A matrix that is already there is read where it stands.
    """
    if len(parts) < 2 or isinstance(rows, PrecomputedRows):
        return rows
    return SharedRows(rows, [part.ids for part in parts], budget / 2, max(1, threads(n_jobs) // len(parts)))


def solve_side_by_side(
    solve: Solver,
    rows: Rows,
    parts: Sequence[Part],
    limits: Limits,
    *,
    cache_size: float,
    starts: Sequence[NDArray | None],
    n_jobs: int | None,
) -> list[Solution]:
    """Solve every part; the limit of time is for all of them together, the cache is divided among those that run.

    Parameters
    ----------
    solve : callable
        ``solve(problem, limits, cache_size=..., start=..., n_jobs=...)`` returns a Solution.
    rows : Rows
        The rows that the parts' ids refer to.
    parts : sequence of Part
    limits : Limits
    cache_size : float
        Megabytes for all problems together.
    starts : sequence of (m,) arrays or None
        Where each solver starts.
    n_jobs : int, optional
        Threads for all problems together.
    """
    workers = min(threads(n_jobs), len(parts))
    stopped = threading.Event()
    began = time.perf_counter()

    def one(part: Part, start: NDArray | None) -> Solution:
        left = _limits_left(limits, time.perf_counter() - began)
        if workers > 1:
            left = replace(left, callback=_stoppable(limits.callback, stopped))
        options = {"cache_size": cache_size / workers, "n_jobs": max(1, threads(n_jobs) // workers)}
        return solve(part.problem(rows), left, start=start, **options)

    if workers == 1:
        return [one(part, start) for part, start in zip(parts, starts, strict=True)]
    pool = ThreadPoolExecutor(workers)
    futures: list[Future[Solution]] = []
    try:
        futures += [pool.submit(one, part, start) for part, start in zip(parts, starts, strict=True)]
        return [future.result() for future in futures]
    except BaseException:
        stopped.set()
        pool.shutdown(wait=False, cancel_futures=True)
        wait(futures, LEAVE_SECONDS)
        raise
    finally:
        pool.shutdown(wait=False)


def _limits_left(limits: Limits, seconds: float) -> Limits:
    """The limits of a problem that starts so many seconds after the first."""
    return limits if limits.max_time is None else replace(limits, max_time=max(0.0, limits.max_time - seconds))


def _stoppable(callback: Callable[[Any], Any] | None, stopped: threading.Event) -> Callable[[Any], Any]:
    """The callback, which leaves the solver once the fit is abandoned."""

    def call(state: Any) -> Any:
        if stopped.is_set():
            raise Abandoned
        return callback(state) if callback is not None else None

    return call
