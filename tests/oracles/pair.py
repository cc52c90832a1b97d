"""A slow and readable twin of the pair solver.

Given K, the terms and a feasible start, moves along e_i - e_j (one sum a group) or along +-e_i (no sum) to the exact
minimum on that line until the violation is at most tol. References: ALG2 (maximal violating pair), ALG3 (second order)
and ALG5 (tau, for directions without curvature) of Steinwart and Christmann, "Support Vector Machines" (2008); HMG
(hybrid maximum gain) of Glasmachers and Igel, "Maximum-gain working set selection for SVMs" (2006).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from maxmargin.problems import Terms, feasible_start, fold

TAU = 1e-12  # stands for a curvature <= 0
ETA = 1e-8  # HMG: nearer to a bound than this share of the box is at the bound


@dataclass
class State:
    """The point, its decision values, and what the selection rules read."""

    K: NDArray
    terms: Terms
    beta: NDArray
    previous: dict[int, tuple[int, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.f = self.K @ fold(self.terms, self.beta)

    def derivatives(self) -> tuple[NDArray, NDArray]:
        """Right and left derivatives of the dual objective in every variable: up and dn."""
        T, beta = self.terms, self.beta
        smooth = np.tile(self.f, T.copies) + T.p + T.d * beta
        up = np.where(beta >= T.hi, np.inf, smooth + np.where(beta >= 0, T.e, -T.e))
        dn = np.where(beta <= T.lo, -np.inf, smooth + np.where(beta > 0, T.e, -T.e))
        return up, dn

    def curvature(self, i: int, js: NDArray | int) -> NDArray:
        """Second derivative along e_i - e_j, for one j or many."""
        row, rows = i % self.terms.n, js % self.terms.n
        flat = self.K[row, row] + self.K[rows, rows] - 2.0 * self.K[row, rows] + self.terms.d[i] + self.terms.d[js]
        return np.where(flat > 0, flat, TAU)

    def limit(self, v: int, sign: int) -> float:
        """How far variable v may move up (+1) or down (-1)."""
        return self.terms.hi[v] - self.beta[v] if sign > 0 else self.beta[v] - self.terms.lo[v]

    def kinks(self, v: int, sign: int) -> list[tuple[float, float]]:
        """Where variable v, moving, crosses 0, and how much its derivative jumps there."""
        distance = -sign * self.beta[v]
        return [(distance, 2.0 * self.terms.e[v])] if distance > 0 else []

    def move(self, v: int, sign: int, t: float) -> None:
        """Move one variable, exactly onto a bound or 0 where it comes there."""
        old, bound = self.beta[v], self.terms.hi[v] if sign > 0 else self.terms.lo[v]
        if t == self.limit(v, sign):
            self.beta[v] = bound
        else:
            self.beta[v] = 0.0 if t == -sign * old else min(max(old + sign * t, self.terms.lo[v]), self.terms.hi[v])
        self.f += (self.beta[v] - old) * self.K[v % self.terms.n]


def line_minimum(slope: float, curvature: float, kinks: list[tuple[float, float]], limit: float) -> tuple[float, float]:
    """The step to the minimum of a convex piecewise quadratic on [0, limit], and the decrease that it brings."""
    at, value = 0.0, 0.0
    for end, jump in [*sorted(k for k in kinks if k[0] < limit), (limit, np.inf)]:
        free = at - slope / curvature
        if slope >= 0 or free <= end:
            step = max(free - at, 0.0)
            return at + step, -(value + slope * step + 0.5 * curvature * step**2)
        value += slope * (end - at) + 0.5 * curvature * (end - at) ** 2
        slope += curvature * (end - at) + jump
        at = end
    return at, -value


def solve(
    K: NDArray, terms: Terms, tol: float = 1e-9, selection: str = "second order", max_iter: int = 200_000
) -> NDArray:
    """Solve to the violation tol; selection is "maximal violation", "second order" or "maximum gain"."""
    state = State(K, terms, feasible_start(terms))
    step = single_step if terms.group is None else pair_step
    for _ in range(max_iter):
        if step(state, selection) <= tol:
            return state.beta
    raise RuntimeError(f"The twin did not reach {tol} in {max_iter} steps.")


def pair_step(state: State, selection: str) -> float:
    """One step in the group that violates most; returns the violation before it."""
    up, dn = state.derivatives()
    members = [i for _, _, i in state.terms.groups()]
    violations = [dn[i].max() - up[i].min() for i in members]
    g = int(np.argmax(violations))
    if violations[g] > 0:
        i, j = choose_pair(state, selection, g, members[g], up, dn)
        t, _ = pair_minimum(state, i, j, up, dn)
        state.move(i, +1, t)
        state.move(j, -1, t)
        state.previous[g] = (i, j)
    return violations[g]


def pair_minimum(state: State, i: int, j: int, up: NDArray, dn: NDArray) -> tuple[float, float]:
    """Step and gain of the pair along e_i - e_j."""
    if not up[i] < dn[j]:
        return 0.0, 0.0
    kinks = state.kinks(i, +1) + state.kinks(j, -1)
    limit = min(state.limit(i, +1), state.limit(j, -1))
    return line_minimum(up[i] - dn[j], float(state.curvature(i, j)), kinks, limit)


def choose_pair(state: State, selection: str, g: int, members: NDArray, up: NDArray, dn: NDArray) -> tuple[int, int]:
    """The variable to increase and the one to decrease."""
    i, j = int(members[np.argmin(up[members])]), int(members[np.argmax(dn[members])])
    if selection == "second order":
        gain = np.maximum(dn[members] - up[i], 0.0) ** 2 / state.curvature(i, members)
        return i, int(members[np.argmax(gain)])
    if selection == "maximum gain" and not all(near_bound(state, v) for v in state.previous.get(g, ())):
        pairs = [q for v in state.previous[g] for k in members if k != v for q in ((v, int(k)), (int(k), v))]
        gains = [pair_minimum(state, a, b, up, dn)[1] for a, b in pairs]
        if max(gains) > 0:
            return pairs[int(np.argmax(gains))]
    return i, j


def near_bound(state: State, v: int) -> bool:
    """Whether HMG takes variable v to be at a bound; never for a free one."""
    size = state.terms.hi[v] - state.terms.lo[v]
    reach = ETA * size if np.isfinite(size) else 0.0
    return min(state.limit(v, +1), state.limit(v, -1)) <= reach


def single_step(state: State, selection: str) -> float:
    """One step along a single variable, for problems without a sum; returns the violation before it."""
    up, dn = state.derivatives()
    slope = np.maximum(np.maximum(-up, dn), 0.0)
    curvature = np.tile(np.diag(state.K), state.terms.copies) + state.terms.d
    curvature = np.where(curvature > 0, curvature, TAU)
    v = int(np.argmax(slope if selection == "maximal violation" else slope**2 / curvature))
    sign = 1 if -up[v] >= dn[v] else -1
    if slope[v] > 0:
        t, _ = line_minimum(-slope[v], curvature[v], state.kinks(v, sign), state.limit(v, sign))
        state.move(v, sign, t)
    return float(slope.max())
