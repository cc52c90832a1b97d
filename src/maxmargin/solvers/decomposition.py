"""A decomposition in progress: solve among the members, bring all decision values up to date, price everybody."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._native import core
from maxmargin.problems import DualProblem, Terms, violation
from maxmargin.problems.certificate import derivatives, violation_of
from maxmargin.solvers import interior, projection
from maxmargin.solvers.dense import product
from maxmargin.solvers.ending import noise, roots_of_diagonal
from maxmargin.solvers.loop import SLICE_SECONDS, State, Status, Watch
from maxmargin.solvers.members import FIRST, Choice, Ids, Prices, Standing
from maxmargin.solvers.polish import restricted, variables
from maxmargin.solvers.smo import ETA, GAIN_ROWS, SELECTIONS, Pause
from maxmargin.threads import threads

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Minimise = Callable[[Terms, NDArray, Floats, float, Callable], tuple[Floats, int, "Status | None"]]

INNER: dict[str, Minimise] = {"projection": projection.minimise, "interior": interior.minimise}
INNER_SHARE = 0.1  # of what the members violate, to which a working set is solved at least
MATRIX_SHARE = 0.5  # of the budget, at most, for the matrix of the working set
COUNTERS = ("rows_computed", "entries_computed", "cache_hits", "cache_misses", "cache_bytes")
BYTES_PER_EXAMPLE, BESIDE_BYTES = 300, 120e6  # arrays of the variables; what may come on top of the budget
LEAST_SHARE = 0.25  # of the budget that is left for rows


class Run:
    """Where the method stands: beta, f = K beta, the working set, and what has been spent."""

    def __init__(
        self,
        problem: DualProblem,
        watch: Watch,
        choice: Choice,
        inner: str,
        beta: Floats,
        budget: float,
        n_jobs: int | None,
    ) -> None:
        self.problem, self.terms, self.watch = problem, problem.terms, watch
        self.choice, self.inner = choice, inner
        self.beta, self.f = beta, np.zeros(self.terms.n)
        self.members: Ids = np.empty(0, np.int64)
        self.steps = 0
        single = problem.rows.precision == "float32"
        source = problem.rows.source(n_jobs)
        self.roots = roots_of_diagonal(source.diagonal(), problem.rows.precision)
        # What the examples take beside the rows is small, or goes off the budget.
        beside = source.bytes + BYTES_PER_EXAMPLE * self.terms.m
        budget = max(LEAST_SHARE * budget, budget - max(0.0, beside - BESIDE_BYTES))
        most = choice.size or max(FIRST, math.isqrt(int(MATRIX_SHARE * budget) // (4 if single else 8)))
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

    def noise(self) -> float:
        """Violation that rounding alone leaves."""
        return noise(self.terms, self.roots, self.beta)

    def standing(self) -> Standing:
        """What the choice of members looks at."""
        stored = np.zeros(self.terms.n, bool) if self.store is None else self.store.stored()
        return Standing(self.terms, self.beta, self.is_free(), self.members, self.most_members, stored)

    # 1. The problem of the working set --------------------------------------------------------------------------------

    def solve_members(self, eps: float) -> Status | None:
        """Minimise among the members, to eps or to a tenth of what they violate; then f for all examples."""
        t, at = self.terms, variables(self.terms, self.members)
        before = self.beta[at]
        after, stop = (self._by_pairs if self.inner == "pair" else self._by_matrix)(at, before, eps)
        self.beta[at] = after
        change = (after - before).reshape(t.copies, -1).sum(axis=0)
        if self.holds_all():
            self.f[self.members] += product(self.matrix.values(), change)
            return stop
        everywhere = np.zeros(t.n)
        everywhere[self.members] = change
        return self.add_rows(everywhere) or stop

    def _by_pairs(self, at: Ids, before: Floats, eps: float) -> tuple[Floats, Status | None]:
        t = self.terms
        pairs = self._pairs(at, before)
        pairs.start_from(np.tile(self.f[self.members], t.copies) + t.p[at] + t.d[at] * before)
        stop = self._run_pairs(pairs, max(eps / 2, INNER_SHARE * pairs.violation))
        self.steps += pairs.steps
        return pairs.beta(), stop

    def _by_matrix(self, at: Ids, before: Floats, eps: float) -> tuple[Floats, Status | None]:
        """By a solver that takes the whole matrix of the members."""
        t, K = self.terms, self.matrix.values()
        coef = before.reshape(t.copies, -1).sum(axis=0)
        part = restricted(t, self.members, self.beta, self.f[self.members] - product(K, coef))
        goal = max(eps / 2, INNER_SHARE * violation(part, before, product(K, coef)))

        def look(iteration: int, worst: float) -> Status | None:
            if self.watch.iterations_left(self.steps + iteration) == 0:
                return Status.MAX_ITER
            return None if self.watch.slice() > 0 else self.look(math.nan, steps=iteration)

        after, iterations, stop = INNER[self.inner](part, K, before, goal, look)
        self.steps += iterations
        return after, stop

    def _run_pairs(self, pairs: Any, goal: float) -> Status | None:
        while True:
            left = self.watch.iterations_left(self.steps + pairs.steps)
            pause = Pause(pairs.run(left, self.watch.slice(), goal, 0))
            if pause is Pause.TIME:
                stop = self.look(math.nan, steps=pairs.steps)
                if stop is not None:
                    return stop
                if pairs.violation <= self.noise():
                    return Status.STALLED
                continue
            return {
                Pause.CONVERGED: None,
                Pause.STEPS: Status.MAX_ITER,
                Pause.STALLED: Status.STALLED,
                Pause.UNBOUNDED: Status.UNBOUNDED,
            }[pause]

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
        worth = self.is_free() if self.choice.keeps_free_rows else np.ones(self.terms.n, bool)
        self.store.keep(np.flatnonzero(worth & self.choice.keeps_free_rows).astype(np.int64))
        stop: Status | None = None
        done = 0
        while done < len(ids):
            rest = ids[done:]
            done += self.store.accumulate(rest, change[rest], worth[rest], SLICE_SECONDS, self.f)
            stop = self.look(math.nan) or stop
        return stop

    # 3. Prices, and who leaves and joins ------------------------------------------------------------------------------

    def prices(self) -> Prices:
        t = self.terms
        up, dn = derivatives(t, self.beta, self.f)
        level: Any = 0.0 if t.group is None else self._levels(up, dn)[t.group]
        rise = (level - up).reshape(t.copies, t.n).max(axis=0)
        fall = (dn - level).reshape(t.copies, t.n).max(axis=0)
        return Prices(up, dn, np.maximum(rise, fall), rise > fall, violation_of(t, up, dn))

    def _levels(self, up: Floats, dn: Floats) -> Floats:
        """For each sum the gradient that its members agree on; as long as there are none, of all variables."""
        t = self.terms
        assert t.group is not None
        at = variables(t, self.members) if len(self.members) else np.arange(t.m)
        levels = np.zeros(len(t.sums))
        for g in range(len(levels)):
            mine = at[t.group[at] == g]
            ends = [dn[mine].max(initial=-np.inf), up[mine].min(initial=np.inf)]
            finite = [end for end in ends if np.isfinite(end)]
            levels[g] = sum(finite) / len(finite) if finite else 0.0
        return levels

    def set_members(self, wanted: Ids) -> int:
        """These are the members now; how many have joined."""
        leaving = np.flatnonzero(~np.isin(self.members, wanted))
        joining = np.setdiff1d(wanted, self.members, assume_unique=True)
        self.matrix.exchange(leaving.astype(np.int64), joining.astype(np.int64))
        self.members = self.matrix.members()
        return len(joining)

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
