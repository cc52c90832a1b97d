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
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maxmargin._native import core
from maxmargin.problems import Certificate, DualProblem, certificate, feasible_start, fold, project
from maxmargin.problems.certificate import derivatives, violation_of
from maxmargin.solvers.ending import check_decision_values, conclude, roots_of_diagonal, rounding_radius
from maxmargin.solvers.loop import SLICE_SECONDS, Limits, Solution, State, Status, Watch
from maxmargin.solvers.memory import cache_bytes
from maxmargin.solvers.polish import Polish
from maxmargin.solvers.smo import ETA, GAIN_ROWS, SELECTIONS, Pause
from maxmargin.threads import threads

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Ids = NDArray[np.int64]

FIRST = 2048  # members of the first working set
ROOM_PER_FREE, ROOM_BESIDE = 1.2, 256  # members for each free variable, and beside these
LEAST_EXCHANGE = 1000  # members that a round exchanges, where there is room
WIDER = 1.5  # factor of the room where the rounds stagnate
STAGNANT = 4  # rounds
LOOSE = 0.2  # of the violation, to which the next working set is solved
MATRIX_SHARE = 0.5  # of the budget, at most, for the matrix of the working set
NEARER = 0.1  # share of the tolerance to which the rounds go before Newton takes over
TIGHTER, TIGHTEST = 0.1, 1e-6  # factors of the tolerance where Newton's method needs a nearer start
COUNTERS = ("rows_computed", "entries_computed", "cache_hits", "cache_misses", "cache_bytes")
BYTES_PER_EXAMPLE, BESIDE_BYTES = 300, 120e6  # arrays of the variables; what may come on top of the budget
LEAST_SHARE = 0.25  # of the budget that is left for rows
SEED = 0  # of the first working set


def solve(
    problem: DualProblem,
    limits: Limits | None = None,
    *,
    cache_size: float | str = "auto",
    start: ArrayLike | None = None,
    n_jobs: int | None = None,
) -> Solution:
    """Solve a dual problem by large working sets.

    Parameters
    ----------
    problem : DualProblem
        Rows and terms.
    limits : Limits, optional
        When to stop.
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
    budget = cache_bytes(cache_size)
    beta = feasible_start(problem.terms) if start is None else project(problem.terms, start)
    run = _Run(problem, Watch(limits), beta, budget, n_jobs)
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


def _go_on_exactly(run: _Run, tol: float, budget: float, n_jobs: int | None) -> Status:
    """Rounds with float64 rows from where the run stands, which takes over what they find."""
    exact = DualProblem(run.problem.rows.with_precision("float64"), run.terms)
    run.give_back()
    nearer = _Run(exact, run.watch, run.beta, budget, n_jobs)
    status = nearer.add_rows(fold(run.terms, run.beta)) or _rounds(nearer, tol)
    nearer.give_back()
    run.problem, run.beta, run.f, run.steps = exact, nearer.beta, nearer.f, run.steps + nearer.steps
    run.spent = {name: run.spent[name] + nearer.spent[name] for name in run.spent}
    return status


def _close_gap(run: _Run, budget: float, n_jobs: int | None) -> tuple[Certificate, Status]:
    """Newton's method in float64 to the gap that is asked for; where it does not settle, pairs take it nearer."""
    limits = run.watch.limits
    goal = math.inf if limits.tol_gap is None else limits.tol_gap
    tol = limits.tol
    run.give_back()
    while True:
        polish = Polish(run.problem, run.beta, limits, run.look, budget, n_jobs)
        status = polish.run(run.f)
        if polish.f is not None:
            run.beta, run.f = polish.beta, polish.f
        if status is not Status.STALLED or tol < TIGHTEST * limits.tol:
            return certificate(run.terms, run.beta, run.f), status
        tol *= TIGHTER
        status = _go_on_exactly(run, tol, budget, n_jobs)
        result = certificate(run.terms, run.beta, run.f)
        if status is not Status.CONVERGED or result.gap <= goal:
            return result, status


def _rounds(run: _Run, tol: float) -> Status:
    """Rounds until the largest violation over all variables is at most the tolerance."""
    prices = run.prices()
    run.change_members(np.empty(0, np.int64), run.first_members(prices))
    eps, room, progress = LOOSE * prices.violation, float(FIRST), _Progress()
    while True:
        stop = run.solve_members(tol if run.holds_all() else max(tol / 2, eps))
        if stop not in (None, Status.STALLED):
            return stop
        prices = run.prices()
        if prices.violation <= tol:
            return Status.CONVERGED
        if stop is Status.STALLED and (run.holds_all() or eps <= tol / 2):
            return Status.STALLED
        stop = run.look(prices.violation)
        if stop is not None:
            return stop
        if progress.stagnates(prices.violation, int(np.count_nonzero(prices.score > tol / 2))):
            room = WIDER * room
        room = max(room, FIRST, ROOM_PER_FREE * run.count_free() + ROOM_BESIDE)
        run.exchange(prices.score, tol / 2, int(min(room, run.most_members)))
        eps = LOOSE * prices.violation


class _Progress:
    """Whether the rounds get on."""

    def __init__(self) -> None:
        self.violation, self.violators, self.rounds = math.inf, math.inf, 0

    def stagnates(self, violation: float, violators: int) -> bool:
        """Neither the violation nor the number of violators has fallen for some rounds."""
        if violation < 0.9 * self.violation or violators < 0.95 * self.violators:
            self.rounds = 0
            self.violation, self.violators = min(self.violation, violation), min(self.violators, violators)
        self.rounds += 1
        if self.rounds <= STAGNANT:
            return False
        self.rounds = 0
        return True


class _Prices(NamedTuple):
    """What the gradient says of each example.

    Parameters
    ----------
    score : (n,)
        How far it lies on the wrong side of the level of the working set; negative: how deep inside it rests.
    rises : (n,)
        Whether it would rise.
    violation : float
        The largest KKT violation.
    """

    score: Floats
    rises: Flags
    violation: float


class _Run:
    """Where the method stands: beta, f = K beta, the working set, and what has been spent."""

    def __init__(self, problem: DualProblem, watch: Watch, beta: Floats, budget: float, n_jobs: int | None) -> None:
        self.problem, self.terms, self.watch = problem, problem.terms, watch
        self.beta, self.f = beta, np.zeros(self.terms.n)
        self.members: Ids = np.empty(0, np.int64)
        self.steps = self.round = 0
        self.since = np.zeros(self.terms.n, np.int64)  # the round in which a member joined
        single = problem.rows.precision == "float32"
        source = problem.rows.source(n_jobs)
        roots_of_diagonal(source.diagonal(), problem.rows.precision)
        # What the examples take beside the rows is small, or goes off the budget.
        beside = source.bytes + BYTES_PER_EXAMPLE * self.terms.m
        budget = max(LEAST_SHARE * budget, budget - max(0.0, beside - BESIDE_BYTES))
        most = max(FIRST, math.isqrt(int(MATRIX_SHARE * budget) // (4 if single else 8)))
        self.most_members = min(self.terms.n, most)
        self.matrix: Any = (core.WorkingMatrix32 if single else core.WorkingMatrix64)(source, self.most_members)
        self.store: Any = (core.RowStore32 if single else core.RowStore64)(
            source, (1 - MATRIX_SHARE) * budget, threads(n_jobs)
        )
        self.spent = dict.fromkeys(COUNTERS, 0.0)
        self.pair_solver = core.PairSolver32 if single else core.PairSolver64

    def holds_all(self) -> bool:
        return len(self.members) == self.terms.n

    def is_free(self) -> Flags:
        """Whether an example has a variable strictly between its bounds and off its kink."""
        t, beta = self.terms, self.beta
        free = (beta > t.lo) & (beta < t.hi) & ((t.e == 0) | (beta != 0))
        return free.reshape(t.copies, t.n).any(axis=0)

    def count_free(self) -> int:
        return int(np.count_nonzero(self.is_free()))

    # 1. The problem of the working set --------------------------------------------------------------------------------

    def solve_members(self, eps: float) -> Status | None:
        """Pairs among the members, to eps or to a tenth of what they violate; then f for all examples."""
        t, at = self.terms, self._variables()
        before = self.beta[at]
        here = np.tile(self.f[self.members], t.copies)
        pairs = self._pairs(at, before)
        pairs.start_from(here + t.p[at] + t.d[at] * before)
        stop = self._run_pairs(pairs, max(eps / 2, 0.1 * pairs.violation))
        self.steps += pairs.steps
        self.beta[at] = pairs.beta()
        if self.holds_all():
            self.f[self.members] = (pairs.gradient() - t.p[at] - t.d[at] * self.beta[at])[: len(self.members)]
            return stop
        change = np.zeros(t.n)
        change[self.members] = (self.beta[at] - before).reshape(t.copies, -1).sum(axis=0)
        return self.add_rows(change) or stop

    def _run_pairs(self, pairs: Any, goal: float) -> Status | None:
        while True:
            left = self.watch.iterations_left(self.steps + pairs.steps)
            pause = Pause(pairs.run(left, self.watch.slice(), goal, 0))
            if pause is Pause.TIME:
                stop = self.look(math.nan, steps=pairs.steps)
                if stop is not None:
                    return stop
                continue
            return {
                Pause.CONVERGED: None,
                Pause.STEPS: Status.MAX_ITER,
                Pause.STALLED: Status.STALLED,
                Pause.UNBOUNDED: Status.UNBOUNDED,
            }[pause]

    def _variables(self) -> Ids:
        """The members' variables, copy after copy."""
        return np.concatenate([self.members + c * self.terms.n for c in range(self.terms.copies)])

    def _pairs(self, at: Ids, beta: Floats) -> Any:
        t = self.terms
        group, sums = np.empty(0, np.int32), t.sums
        if t.group is not None:
            group = t.group[at].astype(np.int32)
            total = np.bincount(t.group, self.beta, len(sums))
            sums = t.sums - (total - np.bincount(group, beta, len(sums)))
        second_order, two = SELECTIONS["second-order"], GAIN_ROWS["two"]
        arrays = (t.p[at], t.lo[at], t.hi[at], t.d[at], t.e[at], beta)
        return self.pair_solver(self.matrix, *arrays, group, sums, t.copies, second_order, two, ETA, 0.0)

    # 2. The decision values of all examples ---------------------------------------------------------------------------

    def add_rows(self, change: Floats) -> Status | None:
        """f += K change, by the rows that the change has; whole, whatever wants to stop."""
        ids = np.flatnonzero(change).astype(np.int64)
        free = self.is_free()
        self.store.keep(np.flatnonzero(free).astype(np.int64))
        stop: Status | None = None
        done = 0
        while done < len(ids):
            rest = ids[done:]
            done += self.store.accumulate(rest, change[rest], free[rest], SLICE_SECONDS, self.f)
            stop = self.look(math.nan) or stop
        return stop

    # 3. Prices, and who leaves and joins ------------------------------------------------------------------------------

    def prices(self) -> _Prices:
        t = self.terms
        up, dn = derivatives(t, self.beta, self.f)
        level: Any = 0.0 if t.group is None else self._levels(up, dn)[t.group]
        rise = (level - up).reshape(t.copies, t.n).max(axis=0)
        fall = (dn - level).reshape(t.copies, t.n).max(axis=0)
        return _Prices(np.maximum(rise, fall), rise > fall, violation_of(t, up, dn))

    def _levels(self, up: Floats, dn: Floats) -> Floats:
        """For each sum the gradient that its members agree on; as long as there are none, of all variables."""
        t = self.terms
        assert t.group is not None
        at = self._variables() if len(self.members) else np.arange(t.m)
        levels = np.zeros(len(t.sums))
        for g in range(len(levels)):
            mine = at[t.group[at] == g]
            ends = [dn[mine].max(initial=-np.inf), up[mine].min(initial=np.inf)]
            finite = [end for end in ends if np.isfinite(end)]
            levels[g] = sum(finite) / len(finite) if finite else 0.0
        return levels

    def first_members(self, prices: _Prices) -> Ids:
        """What a warm start has free, and random violators, half of them of those that would rise."""
        random = np.random.default_rng(SEED)
        moved = fold(self.terms, self.beta) != 0
        chosen = np.zeros(self.terms.n, bool)
        warm = random.permutation(np.flatnonzero(self.is_free() & moved))
        chosen[warm[: self.most_members // 2]] = True
        for side in (prices.rises, ~prices.rises):
            violators = random.permutation(np.flatnonzero(side & ~chosen & (prices.score > 0)))
            chosen[violators[: FIRST // 2]] = True
        missing = min(FIRST, self.terms.n) - np.count_nonzero(chosen)
        if missing > 0:
            rest = np.flatnonzero(~chosen)
            chosen[rest[np.argsort(-prices.score[rest], kind="stable")[:missing]]] = True
        return np.flatnonzero(chosen)[: self.most_members].astype(np.int64)

    def exchange(self, score: Floats, least: float, room: int) -> None:
        """The worst violators join; as many members leave as have no room, those that rest deepest inside first."""
        outside = np.ones(self.terms.n, bool)
        outside[self.members] = False
        violators = np.flatnonzero(outside & (score > least))
        free = self.is_free()[self.members]
        most = max(LEAST_EXCHANGE, int(np.count_nonzero(self.beta)) // 2)
        half = max(len(self.members) // 2, 1)
        most = min(most, half, max(room - int(np.count_nonzero(free)), half // 2))
        if len(violators) > most:
            violators = violators[np.argpartition(-score[violators], most)[:most]]
        too_many = len(self.members) + len(violators) - room
        # Bounded ones leave first, the deepest first; where free ones must leave, the oldest.
        order = np.lexsort((np.where(free, self.since[self.members], score[self.members]), free))
        self.change_members(np.sort(order[: max(too_many, 0)]), np.sort(violators))

    def change_members(self, leaving: Ids, joining: Ids) -> None:
        self.round += 1
        self.since[joining] = self.round
        self.matrix.exchange(leaving.astype(np.int64), joining.astype(np.int64))
        self.members = self.matrix.members()

    # Reports ----------------------------------------------------------------------------------------------------------

    def look(self, violation: float, gap: float = math.nan, steps: int = 0) -> Status | None:
        """Record where the run stands; a status when it must stop."""
        spent = self.counters()
        rows, hits = int(spent["rows_computed"]), int(spent["cache_hits"])
        return self.watch.look(
            State(self.watch.seconds, self.steps + steps, violation, gap, len(self.members), rows, hits)
        )

    def counters(self) -> dict[str, float]:
        """Rows computed, and what the stores held at last."""
        if self.store is None:
            return self.spent
        rows = self.store.rows_computed
        now = {
            "rows_computed": rows,
            "entries_computed": float(rows) * self.terms.n + self.matrix.entries_computed,
            "cache_hits": self.store.hits,
            "cache_misses": rows,
            "cache_bytes": self.store.bytes + self.matrix.bytes,
        }
        return {name: value + self.spent[name] for name, value in now.items()}

    def give_back(self) -> None:
        """The memory of the rows, for what comes next."""
        self.spent = self.counters() | {"cache_bytes": 0.0}
        self.store = self.matrix = None
