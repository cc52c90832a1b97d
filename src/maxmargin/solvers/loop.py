"""What every solver shares: limits, the reasons to stop, progress, the trace, and the solution."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.problems import Certificate

Floats = NDArray[np.float64]

SLICE_SECONDS = 0.05  # native code comes back this often: for limits, callbacks and Ctrl-C
TRACE = ("time", "iteration", "violation", "gap", "active", "rows_computed", "cache_hits")


class Status(StrEnum):
    """Why a solver stopped."""

    CONVERGED = "converged"
    MAX_ITER = "max_iter"
    MAX_TIME = "max_time"
    STOPPED = "stopped"
    STALLED = "stalled"
    UNBOUNDED = "unbounded"

    @property
    def advice(self) -> str:
        """What a user can do about it."""
        return _ADVICE[self]


_ADVICE = {
    Status.CONVERGED: "The tolerance was reached.",
    Status.MAX_ITER: "The limit of iterations came before the tolerance: raise max_iter or tol, or scale the data.",
    Status.MAX_TIME: "The limit of time came before the tolerance: raise max_time or tol, or scale the data.",
    Status.STOPPED: "The callback asked to stop before the tolerance was reached.",
    Status.STALLED: "No step makes progress any more, but the tolerance is not reached: raise tol, use float64, or"
    " another selection.",
    Status.UNBOUNDED: "The coefficients grow without end. Where the kernel is not positive semi-definite, use another"
    " kernel, or a loss whose coefficients are bounded; where C is infinite, no function fits the data: lower C.",
}


@dataclass(frozen=True)
class Limits:
    """When to stop.

    Parameters
    ----------
    tol : float
        Largest KKT violation.
    tol_gap : float, optional
        Largest relative duality gap, as well.
    max_iter : int
        Most iterations; -1 for no limit.
    max_time : float, optional
        Most seconds.
    callback : callable, optional
        Called with a `State` about every 50 ms; a true answer stops the solver.
    """

    tol: float = 1e-3
    tol_gap: float | None = None
    max_iter: int = -1
    max_time: float | None = None
    callback: Callable[[State], Any] | None = None


@dataclass(frozen=True)
class State:
    """Where a solver stands.

    `gap` is NaN while removed variables make it unknown, and where it would take too long to measure.
    """

    time: float
    iteration: int
    violation: float
    gap: float
    active: int
    rows_computed: int
    cache_hits: int


@dataclass(frozen=True, eq=False)
class Solution:
    """What a solver found.

    Parameters
    ----------
    beta : (m,) float64
        The variables, feasible.
    f : (n,) float64
        Decision values of the training examples, without intercept.
    certificate : Certificate
        Objectives, gap, violation and intercepts.
    status : Status
        Why it stopped.
    n_iter : int
        Iterations.
    seconds : float
        Time.
    trace : dict of arrays
        `State` by `State`.
    counters : dict
        Rows computed, cache hits and misses, bytes in the cache.
    """

    beta: Floats
    f: Floats
    certificate: Certificate
    status: Status
    n_iter: int
    seconds: float
    trace: dict[str, NDArray] = field(default_factory=dict)
    counters: dict[str, float] = field(default_factory=dict)


class Watch:
    """Time, limits, callback and trace of one run."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.began = time.perf_counter()
        self.states: list[State] = []
        self._next_measure: dict[str, float] = {}

    @property
    def seconds(self) -> float:
        """Time since the run began."""
        return time.perf_counter() - self.began

    def since_look(self) -> float:
        """Seconds since the last look, or since the beginning."""
        return self.seconds - (self.states[-1].time if self.states else 0.0)

    def slice(self) -> float:
        """Seconds that native code may take before the next look, however often it comes back for something else."""
        last = self.states[-1].time if self.states else 0.0
        end = math.inf if self.limits.max_time is None else self.limits.max_time
        return max(0.0, min(last + SLICE_SECONDS, end) - self.seconds)

    def iterations_left(self, done: int) -> int:
        """Iterations that the limit leaves."""
        return 2**62 if self.limits.max_iter < 0 else max(0, self.limits.max_iter - done)

    def look(self, state: State) -> Status | None:
        """Record a state; a status when the run must stop here."""
        self.states.append(state)
        if self.limits.callback is not None and self.limits.callback(state):
            return Status.STOPPED
        if self.limits.max_time is not None and state.time >= self.limits.max_time:
            return Status.MAX_TIME
        return None

    def sparingly(self, name: str, measure: Callable[[], float]) -> float:
        """What `measure` says, or NaN where asking again for what is so named would take more than 2 % of the time."""
        began = self.seconds
        if began < self._next_measure.get(name, 0.0):
            return math.nan
        value = measure()
        self._next_measure[name] = self.seconds + 50 * (self.seconds - began)
        return value

    def trace(self) -> dict[str, NDArray]:
        """The recorded states as arrays."""
        return {name: np.array([getattr(state, name) for state in self.states]) for name in TRACE}
