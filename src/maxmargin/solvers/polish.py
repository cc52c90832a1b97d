r"""From a nearly optimal beta to one that is optimal to rounding, in float64.

On the examples that are free or near to it, the members, Newton's method with an active set solves the problem exactly,
the rest fixed; then the decision values of all examples are made in float64, and whoever violates its conditions among
the others joins. Most of what this takes is one product of the support vectors' rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from maxmargin._native import core
from maxmargin.problems import Certificate, DualProblem, Terms, certificate, fold
from maxmargin.problems.certificate import derivatives
from maxmargin.solvers import active_set
from maxmargin.solvers.loop import SLICE_SECONDS, Limits, Status
from maxmargin.threads import threads

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]

ROUNDS = 12
NEAR = 10.0  # times the violation: who is nearer than that to moving is a member from the start
LEAST_NEAR = 1000  # of these, at most, or a quarter of the free ones
COPIES = 3  # of the members' matrix that Newton's method holds
EXACT = 1e-13  # violation, in the scale of the decision values, that rounding leaves


class Polish:
    """The method and where it stands: `beta` feasible; `f` its decision values in float64, once they are made.

    Parameters
    ----------
    problem : DualProblem
    beta : (m,)
        Feasible.
    limits : Limits
        `tol` and `tol_gap` say how far to go.
    look : callable
        Called several times a second with the violation; a status ends the method.
    budget : float
        Bytes for the members' matrix and its factor.
    n_jobs : int, optional
        Threads.
    """

    def __init__(
        self,
        problem: DualProblem,
        beta: Floats,
        limits: Limits,
        look: Callable[[float], Status | None],
        budget: float,
        n_jobs: int | None,
    ) -> None:
        self.terms, self.beta, self.limits, self.look = problem.terms, beta.copy(), limits, look
        self.f: Floats | None = None
        self.certificate: Certificate | None = None
        self.most = min(problem.terms.n, math.isqrt(int(budget / (8 * COPIES))))
        source = problem.rows.with_precision("float64").source(n_jobs)
        self.store = core.RowStore64(source, 0.0, threads(n_jobs))
        self.matrix = core.WorkingMatrix64(source, self.most)

    def run(self, f: Floats) -> Status:
        """From about f = K beta to the tolerances.

        Converged; stalled where the members outgrow the budget, Newton's method does not settle, or nobody violates
        anything any more; or what `look` said.
        """
        joining = self._near(f)
        for _ in range(ROUNDS):
            if len(joining) == 0 or self.matrix.size + len(joining) > self.most:
                return Status.STALLED
            self.matrix.exchange(np.empty(0, np.int64), joining)
            stop = self._solve_members() or self._bring_up_to_date()
            if stop is not None:
                return stop
            if self._is_done():
                return Status.CONVERGED
            joining = self._violators()
        return Status.STALLED

    def _solve_members(self) -> Status | None:
        t, members = self.terms, self.matrix.members()
        K, at = self.matrix.values(), variables(t, members)
        before = self.beta[at]
        coef = before.reshape(t.copies, -1).sum(axis=0)
        here = self._products(members) if self.f is None else self.f[members]
        part = restricted(t, members, self.beta, here - K @ coef)
        found, _, stop = active_set.minimise(part, K, before, 0.0, lambda step, violation: self.look(violation))
        if stop is None:
            self.change = np.zeros(t.n)
            self.change[members] = found.reshape(t.copies, -1).sum(axis=0) - coef
            self.beta[at] = found
        return stop

    def _products(self, members: Ids) -> Floats:
        """The members' decision values."""
        coef = fold(self.terms, self.beta)
        used, sums = np.flatnonzero(coef).astype(np.int64), np.zeros(len(members))
        self.store.products(used, coef[used], members, sums)
        return sums

    def _bring_up_to_date(self) -> Status | None:
        """The decision values of all examples; whole, whatever wants to stop."""
        change = self.change
        if self.f is None:
            self.f, change = np.zeros(self.terms.n), fold(self.terms, self.beta)
        ids = np.flatnonzero(change).astype(np.int64)
        stop, done = None, 0
        while done < len(ids):
            rest = ids[done:]
            done += self.store.accumulate(rest, change[rest], np.zeros(len(rest), bool), SLICE_SECONDS, self.f)
            stop = self.look(math.nan) or stop
        return stop

    def _is_done(self) -> bool:
        assert self.f is not None
        self.certificate = certificate(self.terms, self.beta, self.f)
        goal = math.inf if self.limits.tol_gap is None else self.limits.tol_gap
        return self.certificate.violation <= self.limits.tol and self.certificate.gap <= goal

    def _near(self, f: Floats) -> Ids:
        """Who is free, or not far from it."""
        t = self.terms
        free = ((self.beta > t.lo) & (self.beta < t.hi) & ((t.e == 0) | (self.beta != 0))).reshape(t.copies, t.n)
        score, violation = self._scores(f)
        score[free.any(axis=0)] = np.inf
        sure = int(np.count_nonzero(free.any(axis=0)))
        most = sure + max(LEAST_NEAR, sure // 4)
        near = np.flatnonzero(score > -NEAR * violation)
        if len(near) > most:
            near = near[np.argpartition(-score[near], most)[:most]]
        return np.sort(near).astype(np.int64)

    def _violators(self) -> Ids:
        assert self.f is not None
        score, _ = self._scores(self.f)
        score[self.matrix.members()] = -np.inf
        return np.flatnonzero(score > EXACT * (np.abs(self.f).max() + np.abs(self.terms.p).max())).astype(np.int64)

    def _scores(self, f: Floats) -> tuple[Floats, float]:
        """How far each example lies on the wrong side of the levels of its sums, and the largest violation."""
        t = self.terms
        up, dn = derivatives(t, self.beta, f)
        level = np.zeros(t.m)
        worst = 2 * max(0.0, float(np.max(dn, initial=0.0)), float(np.max(-up, initial=0.0)))
        if t.group is not None:
            worst = 0.0
            for _, _, mine in t.groups():
                low, high = dn[mine].max(initial=-np.inf), up[mine].min(initial=np.inf)
                ends = [end for end in (low, high) if np.isfinite(end)]
                level[mine] = sum(ends) / len(ends) if ends else 0.0
                worst = max(worst, low - high)
        score = np.maximum(dn - level, level - up).reshape(t.copies, t.n).max(axis=0)
        return score, worst / 2


def restricted(terms: Terms, members: Ids, beta: Floats, outside: Floats) -> Terms:
    """The terms of the members alone, while the rest of beta adds `outside` to their decision values."""
    at = variables(terms, members)
    group, sums = None, np.empty(0)
    if terms.group is not None:
        group = terms.group[at]
        everywhere = np.bincount(terms.group, beta, len(terms.sums))
        sums = terms.sums - (everywhere - np.bincount(group, beta[at], len(terms.sums)))
    p = terms.p[at] + np.tile(outside, terms.copies)
    return Terms(p, terms.lo[at], terms.hi[at], terms.d[at], terms.e[at], group, sums, terms.copies)


def variables(terms: Terms, members: Ids) -> Ids:
    """The members' variables, copy after copy."""
    return np.concatenate([members + c * terms.n for c in range(terms.copies)])
