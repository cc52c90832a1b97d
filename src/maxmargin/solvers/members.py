"""Who belongs to the working set: by price, as many as pay; or a fixed number along SVM-light's steepest direction."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from maxmargin.problems import Terms

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Ids = NDArray[np.int64]

FIRST = 2048  # members of the first working set
ROOM_PER_FREE, ROOM_BESIDE = 1.2, 256  # members for each free variable, and beside these
LEAST_EXCHANGE = 1000  # members that a round exchanges, where there is room
WIDER = 1.5  # factor of the room where the rounds stagnate
STAGNANT = 4  # rounds
SEED = 0  # of the first working set


class Prices(NamedTuple):
    """What the gradient says.

    Parameters
    ----------
    up, dn : (m,)
        Derivatives of the dual objective to the right and left of each variable; infinite where it may not move.
    score : (n,)
        How far an example lies on the wrong side of the level of the working set; negative: how deep inside it rests.
    rises : (n,)
        Whether it would rise.
    violation : float
        The largest KKT violation.
    """

    up: Floats
    dn: Floats
    score: Floats
    rises: Flags
    violation: float


class Standing(NamedTuple):
    """Where a run stands when it asks for members.

    Parameters
    ----------
    terms : Terms
    beta : (m,)
    free : (n,)
        Examples with a variable strictly between its bounds and off its kink.
    members : ids
    most : int
        Members that there is memory for.
    stored : (n,)
        Examples whose rows are stored.
    """

    terms: Terms
    beta: Floats
    free: Flags
    members: Ids
    most: int
    stored: Flags


class Choice(Protocol):
    """Chooses the members of a working set."""

    keeps_free_rows: bool  # whether free examples' rows stay in the store before all others, or the last ones used

    @property
    def size(self) -> int | None:
        """Members of every set, where that is fixed."""

    def again(self) -> Choice:
        """The same choice for a run from the beginning."""

    def first(self, at: Standing, prices: Prices) -> Ids:
        """The first members."""

    def next(self, at: Standing, prices: Prices, tol: float) -> Ids:
        """The members of the next round."""


class Priced:
    """The worst violators join, at most half as many as there are members; bounded ones leave, deepest inside first.

    There is room for the free variables and some more; for half as many again where neither the violation nor the
    number of violators has fallen for some rounds.
    """

    keeps_free_rows = True
    size = None

    def __init__(self) -> None:
        self.room = float(FIRST)
        self.violation, self.violators, self.rounds = math.inf, math.inf, 0
        self.since: Ids | None = None  # the round in which an example joined
        self.round = 0

    def again(self) -> Choice:
        return Priced()

    def first(self, at: Standing, prices: Prices) -> Ids:
        """What a warm start has free, and random violators, half of them of those that would rise."""
        n, random = at.terms.n, np.random.default_rng(SEED)
        chosen = np.zeros(n, bool)
        moved = at.beta.reshape(at.terms.copies, n).any(axis=0)
        warm = random.permutation(np.flatnonzero(at.free & moved))
        chosen[warm[: at.most // 2]] = True
        for side in (prices.rises, ~prices.rises):
            violators = random.permutation(np.flatnonzero(side & ~chosen & (prices.score > 0)))
            chosen[violators[: FIRST // 2]] = True
        missing = min(FIRST, n) - np.count_nonzero(chosen)
        if missing > 0:
            rest = np.flatnonzero(~chosen)
            chosen[rest[np.argsort(-prices.score[rest], kind="stable")[:missing]]] = True
        return np.flatnonzero(chosen)[: at.most].astype(np.int64)

    def next(self, at: Standing, prices: Prices, tol: float) -> Ids:
        n, score, members = at.terms.n, prices.score, at.members
        outside = np.ones(n, bool)
        outside[members] = False
        violators = np.flatnonzero(outside & (score > tol / 2))
        self._widen(prices.violation, int(np.count_nonzero(score > tol / 2)))
        free = at.free[members]
        self.room = max(self.room, FIRST, ROOM_PER_FREE * int(np.count_nonzero(at.free)) + ROOM_BESIDE)
        room = int(min(self.room, at.most))
        half = max(len(members) // 2, 1)
        most = min(max(LEAST_EXCHANGE, int(np.count_nonzero(at.beta)) // 2), half)
        most = min(most, max(room - int(np.count_nonzero(free)), half // 2))
        if len(violators) > most:
            violators = violators[np.argpartition(-score[violators], most)[:most]]
        # Bounded ones leave first, the deepest first; where free ones must leave, the oldest; those that hold the level
        # of a sum never, for others would take their place in turn.
        since = np.zeros(n, np.int64) if self.since is None else self.since
        rank = np.where(_holds_level(at, prices)[members], 2, free.astype(int))
        order = np.lexsort((np.where(free, since[members], score[members]), rank))
        staying = members[order[max(len(members) + len(violators) - room, 0) :]]
        self.round += 1
        since[violators] = self.round
        self.since = since
        return np.sort(np.concatenate([staying, violators])).astype(np.int64)

    def _widen(self, violation: float, violators: int) -> None:
        if violation < 0.9 * self.violation or violators < 0.95 * self.violators:
            self.rounds = 0
            self.violation, self.violators = min(self.violation, violation), min(self.violators, violators)
        self.rounds += 1
        if self.rounds > STAGNANT:
            self.room, self.rounds = WIDER * self.room, 0


@dataclass(frozen=True)
class Steepest:
    r"""SVM-light's working sets: a fixed size, new members along the steepest feasible direction.

    The new members are those of the solution of

    .. math::
        \min_d\; \nabla Q(\beta)^T d \quad\text{s.t.}\quad \sum_{i \in g} d_i = 0, \quad -1 \le d_i \le 1, \quad
        \#\{d_i \ne 0\} \le N_c, \quad \beta + \epsilon d \text{ within the bounds}

    (Joachims 1998, problem OP3): in each sum as many of the largest derivatives of those that may fall as of the
    smallest of those that may rise. Members of the set before fill it up, the free ones first, then those at their
    lower bound (Serafini, Zanghirati & Zanni 2003, section 4).

    Parameters
    ----------
    size : int
        Members.
    new : int
        N_c, at most.
    half_stored : bool
        Whether at least half of the new members are to be such whose rows are stored, as long as there are any.
    """

    size: int
    new: int
    half_stored: bool = False
    keeps_free_rows = False

    def again(self) -> Choice:
        return self

    def first(self, at: Standing, prices: Prices) -> Ids:
        """The same without members before."""
        return self._filled(at, self._steepest(at, prices, self.size))

    def next(self, at: Standing, prices: Prices, tol: float) -> Ids:
        return self._filled(at, self._steepest(at, prices, self.new))

    def _steepest(self, at: Standing, prices: Prices, count: int) -> Ids:
        chosen = np.zeros(at.terms.n, bool)
        if self.half_stored:
            self._take(chosen, at.terms, prices, count // 2, at.stored)
        self._take(chosen, at.terms, prices, count, np.ones(at.terms.n, bool))
        return np.flatnonzero(chosen)

    def _take(self, chosen: Flags, terms: Terms, prices: Prices, count: int, allowed: Flags) -> None:
        """From both ends of each sum, as long as the ends are apart; the sum that is violated most comes first."""
        row = np.arange(terms.m) % terms.n
        group = np.zeros(terms.m, np.int8) if terms.group is None else terms.group
        members = [np.flatnonzero((group == g) & allowed[row]) for g in range(max(1, len(terms.sums)))]
        ends = []
        for mine in members:
            up, dn = prices.up[mine], prices.dn[mine]
            least, most = (0.0, 0.0) if terms.group is None else (up.min(initial=np.inf), dn.max(initial=-np.inf))
            rising, falling = mine[up < most], mine[dn > least]
            apart = max(dn.max(initial=-np.inf) - least, most - up.min(initial=np.inf))
            ends.append((apart, rising, falling))
        ends.sort(key=lambda end: -end[0])
        for k, (_, rising, falling) in enumerate(ends):
            left = count - int(np.count_nonzero(chosen))
            share = max(1, math.ceil(left / (2 * (len(ends) - k))))
            _mark(chosen, row, falling, -prices.dn[falling], min(share, left))
            left = count - int(np.count_nonzero(chosen))
            _mark(chosen, row, rising, prices.up[rising], min(share, left))

    def _filled(self, at: Standing, new: Ids) -> Ids:
        rest = np.setdiff1d(at.members, new)
        lower = (at.beta <= at.terms.lo).reshape(at.terms.copies, at.terms.n).any(axis=0)
        order = np.lexsort((np.logical_not(lower)[rest], ~at.free[rest]))
        return np.union1d(new, rest[order[: max(0, self.size - len(new))]]).astype(np.int64)


def _mark(chosen: Flags, row: Ids, variables: Ids, worst: Floats, count: int) -> None:
    """Choose the examples of so many of the variables, the least first."""
    count = max(0, count)
    few = np.argpartition(worst, count)[:count] if count < len(worst) else np.arange(len(worst))
    chosen[row[variables[few]]] = True


def _holds_level(at: Standing, prices: Prices) -> Flags:
    """The examples of the largest dn and of the smallest up among the members of each sum."""
    holds = np.zeros(at.terms.n, bool)
    if at.terms.group is None:
        return holds
    mine = np.isin(np.arange(at.terms.m) % at.terms.n, at.members)
    for g in range(len(at.terms.sums)):
        group = np.flatnonzero(mine & (at.terms.group == g))
        if group.size:
            holds[group[[np.argmax(prices.dn[group]), np.argmin(prices.up[group])]] % at.terms.n] = True
    return holds
