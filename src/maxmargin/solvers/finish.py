r"""The exact end of a small problem: a primal active-set method from a nearly optimal point, in float64.

Variables at a bound, or at the kink of :math:`e_i|\beta_i|`, are fixed; on the free ones F, Q is a quadratic under the
sums, whose minimiser solves

.. math::
    \begin{pmatrix} K_{FF} + D_F & E \\ E^T & 0 \end{pmatrix} \begin{pmatrix} \Delta \\ \mu \end{pmatrix}
    = \begin{pmatrix} -g_F \\ 0 \end{pmatrix}

with g the gradient and E the membership in the sums. Each round steps towards it as far as the bounds allow, then fixes
what it met; at the minimiser the worst violator among the fixed is freed. Q never rises. A round that neither fixes nor
frees a variable and does not lower the violation only moves rounding errors: it is the last.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

from maxmargin.problems import DualProblem, Terms, fold, violation

Floats = NDArray[np.float64]

SMALL = 1000  # examples up to which problems are finished exactly
ROUNDS = 200
EXACT = 1e-13  # violation, in the scale of the gradient, that rounding leaves
NEARLY_SINGULAR = 1e-5  # ratio of Cholesky's pivots, whose square is about that of the eigenvalues
FLAT = 1e-12  # share of the largest curvature, or of the gradient, that is rounding


def finish(problem: DualProblem, beta: Floats, rounds: Iterable[object] = range(ROUNDS)) -> tuple[Floats, Floats]:
    """The optimum beta and its decision values f in float64, from a nearly optimal feasible beta.

    Where K is not positive semi-definite, rounding stops the progress, or the rounds come to their end, the best point
    on the way is returned.
    """
    terms = problem.terms
    K = problem.rows.with_precision("float64").block(np.arange(problem.rows.n))
    walk = _Walk(terms, K, beta)
    best, best_violation = walk.beta.copy(), walk.violation()
    for _ in rounds:
        free = walk.free.copy()
        if best_violation <= EXACT * walk.scale() or not walk.step():
            break
        now = walk.violation()
        if now < best_violation:
            best, best_violation = walk.beta.copy(), now
        elif np.array_equal(free, walk.free):
            break
    return best, K @ fold(terms, best)


class _Walk:
    """Where the method stands: beta, its gradient, and which variables are free."""

    def __init__(self, terms: Terms, K: Floats, beta: Floats) -> None:
        self.terms, self.K, self.beta = terms, K, beta.copy()
        self.row = np.arange(terms.m) % terms.n
        self.group = np.zeros(terms.m, dtype=int) if terms.group is None else terms.group.astype(int)
        self.bordered = terms.group is not None
        self.free = (beta > terms.lo) & (beta < terms.hi) & ((terms.e == 0) | (beta != 0))
        self.sign = np.sign(beta)
        self._refresh()

    def _refresh(self) -> None:
        self.f = self.K @ fold(self.terms, self.beta)
        self.smooth = self.f[self.row] + self.terms.p + self.terms.d * self.beta

    def violation(self) -> float:
        return violation(self.terms, self.beta, self.f)

    def scale(self) -> float:
        return max(1e-300, float(np.max(np.abs(self.f)) + np.max(np.abs(self.terms.p))))

    def step(self) -> bool:
        """One round; False when nothing more can be done."""
        direction, level = self._towards_minimum()
        length, blocked = self._room(direction)
        F = np.flatnonzero(self.free)
        moved = bool(np.any(self.beta[F] + length * direction != self.beta[F]))
        self._move(F, length * direction, blocked)
        if blocked.size:
            self.free[blocked] = False
            return True
        freed = self._release(level)
        return freed or moved

    def _move(self, F: NDArray[np.intp], change: Floats, blocked: NDArray[np.intp]) -> None:
        before = self.beta.copy()
        self.beta[F] = np.clip(before[F] + change, self.terms.lo[F], self.terms.hi[F])
        for v in blocked:  # exactly on what it met
            rising = self.beta[v] > before[v] or (self.beta[v] == before[v] and self.terms.hi[v] == before[v])
            stops = [self.terms.lo[v], self.terms.hi[v]] + ([0.0] if self.terms.e[v] > 0 else [])
            stops = [s for s in stops if np.isfinite(s) and (s >= before[v] if rising else s <= before[v])]
            self.beta[v] = min(stops, key=lambda s: abs(s - self.beta[v]))
        self._refresh()

    def _towards_minimum(self) -> tuple[Floats, Floats]:
        """Step of the free variables to the minimiser of Q on them, and the level of the gradient there by group."""
        terms, F = self.terms, np.flatnonzero(self.free)
        groups = np.unique(self.group[F]) if self.bordered else np.empty(0, int)
        gradient = self.smooth[F] + terms.e[F] * self.sign[F]
        level = np.zeros(max(1, len(terms.sums)))
        level[:] = np.nan if self.bordered else 0.0
        if not F.size:
            return np.empty(0), level
        H = self.K[np.ix_(self.row[F], self.row[F])] + np.diag(terms.d[F])
        E = (self.group[F][:, None] == groups).astype(float)
        step, multiplier = _solve(H, E, gradient)
        level[groups] = -multiplier
        return step, level

    def _room(self, direction: Floats) -> tuple[float, NDArray[np.intp]]:
        """How much of the direction, at most all, and the variables that stop it."""
        terms, F = self.terms, np.flatnonzero(self.free)
        up, down = direction > 0, direction < 0
        limit = np.full(F.size, np.inf)
        high = np.where((terms.e[F] > 0) & (self.sign[F] < 0), np.minimum(terms.hi[F], 0.0), terms.hi[F])
        low = np.where((terms.e[F] > 0) & (self.sign[F] > 0), np.maximum(terms.lo[F], 0.0), terms.lo[F])
        limit[up] = (high[up] - self.beta[F][up]) / direction[up]
        limit[down] = (low[down] - self.beta[F][down]) / direction[down]
        length = float(min(1.0, limit.min(initial=np.inf)))
        return length, F[limit <= length] if length < 1 else F[limit < 1]

    def _release(self, level: Floats) -> bool:
        """Free the worst violator; in a group without free variables, its worst pair."""
        terms, e = self.terms, self.terms.e
        up = np.where(self.beta >= terms.hi, np.inf, self.smooth + np.where(self.beta >= 0, e, -e))
        down = np.where(self.beta <= terms.lo, -np.inf, self.smooth + np.where(self.beta > 0, e, -e))
        up[self.free], down[self.free] = np.inf, -np.inf
        worst, members = EXACT * self.scale(), []
        for g, value in enumerate(level):
            mine = np.flatnonzero(self.group == g) if self.bordered else np.arange(terms.m)
            if not mine.size:
                continue
            rises, falls = mine[np.argmin(up[mine])], mine[np.argmax(down[mine])]
            if np.isnan(value):
                found = [(down[falls] - up[rises], [(rises, 1.0), (falls, -1.0)])]
            else:
                found = [(value - up[rises], [(rises, 1.0)]), (down[falls] - value, [(falls, -1.0)])]
            for amount, pair in found:
                if np.isfinite(amount) and amount > worst:
                    worst, members = amount, pair
        for v, sign in members:
            self.free[v] = True
            if self.beta[v] == 0:
                self.sign[v] = sign
        return bool(members)


def _solve(H: Floats, E: Floats, gradient: Floats) -> tuple[Floats, Floats]:
    """The step and the multipliers of the bordered system; the sums of the step are 0 to rounding."""
    share = E / E.sum(axis=0)  # share.T averages over each group
    step = _regular_step(H, E, gradient)
    if step is None:
        step = _singular_step(H, E, share, gradient)
    step -= E @ (share.T @ step)
    return step, -(share.T @ (gradient + H @ step))


def _regular_step(H: Floats, E: Floats, gradient: Floats) -> Floats | None:
    """The step by Cholesky's factors; None where H is too near to singular for them."""
    try:
        factor = cho_factor(H, check_finite=False)
    except LinAlgError:
        return None
    pivots = np.diagonal(factor[0])
    if pivots.min() < NEARLY_SINGULAR * pivots.max():
        return None
    inner = cho_solve(factor, np.column_stack([gradient, E]), check_finite=False)
    multiplier = np.linalg.solve(E.T @ inner[:, 1:], -E.T @ inner[:, 0]) if E.shape[1] else np.empty(0)
    return -inner[:, 0] - inner[:, 1:] @ multiplier


def _singular_step(H: Floats, E: Floats, share: Floats, gradient: Floats) -> Floats:
    """The least step to a minimiser under the sums; where Q falls without end, a step far down such a direction."""
    slope = gradient - E @ (share.T @ gradient)
    half = H - E @ (share.T @ H)
    curvature, axes = eigh(half - (half @ share) @ E.T, check_finite=False)
    along = axes.T @ slope
    flat = curvature <= FLAT * max(curvature[-1], 0.0)
    along[flat & (np.abs(along) <= FLAT * np.abs(gradient).max())] = 0.0
    least = FLAT * max(curvature[-1], FLAT)
    return -(axes @ (along / np.where(flat, least, curvature)))
