r"""Newton's method with an active set, on a dense matrix in float64: the exact end of what is nearly solved.

Variables at a bound, or at the kink of :math:`e_i|\beta_i|`, are fixed there; on the free ones F the minimiser under
the sums solves

.. math::
    \begin{pmatrix} K_{FF} + D_F & E \\ E^T & 0 \end{pmatrix} \begin{pmatrix} \Delta_F \\ -\lambda \end{pmatrix}
    = \begin{pmatrix} -g_F \\ s - E^T \beta \end{pmatrix}

with g the gradient and E the membership in the sums. Every free variable that this step takes past the end of its piece
is then fixed there, every fixed one whose derivative has the wrong sign is freed, all at once, and the step is solved
for again: the primal-dual active set method (Hintermueller, Ito & Kunisch 2002), a semismooth Newton method. It
ends after a few steps from a point that is nearly optimal. It need not converge from afar: then it says so.

:math:`K_{FF}` is factorised once. What a later set has less or more than the factorised one borders its system, by the
Schur complement, as long as that is little.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from maxmargin._native import core
from maxmargin.problems import Terms, fold, violation
from maxmargin.solvers.loop import Status

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

MOST_STEPS = 30
MOST_CHANGES = 400  # of the factorised set, and at most a fifth of it
RIDGE = 1e-12  # of the mean of the diagonal, where K_FF is singular; ten, a hundred, ... times that if it must be
RIDGES = 5
WILD = 100.0  # times the distance between its bounds: no step of a variable is that long but by rounding
LEAST_FREED = 64  # variables, at most, that a step frees, or a quarter of those that are free
KEPT = 1e-12  # share of a sum that it may miss by
EXACT = 1e-13  # violation, in the scale of the gradient, that rounding leaves


def minimise(
    terms: Terms, K: NDArray, beta: Floats, tol: float, look: Callable[[int, float], Status | None]
) -> tuple[Floats, int, Status | None]:
    """Minimise from a nearly optimal feasible beta until the KKT violation is at most tol.

    Parameters
    ----------
    terms : Terms
    K : (n, n) array
    beta : (m,)
        Feasible.
    tol : float
    look : callable
        Called with the steps and the violation after each step; a status ends the method.

    Returns
    -------
    beta : (m,)
        Feasible; the start where the method did not converge.
    steps : int
    status : Status or None
        None when the tolerance is reached, `STALLED` when the active sets do not settle.
    """
    walk = _ActiveSet(terms, np.asarray(K, np.float64), beta)
    for step in range(1, MOST_STEPS + 1):
        try:
            walk.solve()
        except LinAlgError:
            return beta, step, Status.STALLED
        changed = walk.revise()
        if not changed:
            found = walk.feasible()
            worst = violation(terms, found, walk.K @ fold(terms, found))
            if worst <= max(tol, EXACT * walk.scale()) and _keeps_sums(terms, found):
                return found, step, None
            return beta, step, Status.STALLED
        stop = look(step, np.nan)
        if stop is not None:
            return beta, step, stop
    return beta, MOST_STEPS, Status.STALLED


def _keeps_sums(terms: Terms, beta: Floats) -> bool:
    """Whether the sums hold, to rounding: where all free variables of one pass their bounds, clipping breaks it."""
    return all(
        abs(beta[mine].sum() - total) <= KEPT * (np.abs(beta[mine]).sum() + abs(total))
        for _, total, mine in terms.groups()
    )


class _ActiveSet:
    """Which variables are free and on which piece; beta, which may be past its bounds; the gradient; the levels."""

    def __init__(self, terms: Terms, K: Floats, beta: Floats) -> None:
        self.terms, self.K, self.beta = terms, K, beta.copy()
        self.row = np.arange(terms.m) % terms.n
        self.group = np.zeros(terms.m, np.intp) if terms.group is None else terms.group.astype(np.intp)
        self.free = (beta > terms.lo) & (beta < terms.hi) & ((terms.e == 0) | (beta != 0))
        self.sign = np.sign(beta)
        self.smooth = (K @ fold(terms, beta))[self.row] + terms.p + terms.d * beta
        self.levels = np.zeros(max(1, len(terms.sums)))
        self.factor: _Factor | None = None

    def scale(self) -> float:
        return max(1e-300, float(np.abs(self.smooth - self.terms.p).max() + np.abs(self.terms.p).max()))

    def solve(self) -> None:
        """The minimiser for this active set: beta, its gradient, the levels of its sums."""
        t, F = self.terms, np.flatnonzero(self.free)
        groups = np.empty(0, np.intp) if t.group is None else np.unique(self.group[F])
        E = (self.group[F][:, None] == groups).astype(np.float64)
        owed = np.array([t.sums[g] - self.beta[self.group == g].sum() for g in groups])
        gradient = self.smooth[F] + t.e[F] * self.sign[F]
        if self.factor is None or not self.factor.is_near(F):
            self.factor = _Factor(self._bordered, F)
        delta, multipliers = self.factor.solve(F, E, -gradient, owed, self._bordered)
        self.levels[:] = np.nan
        self.levels[groups] = multipliers
        if t.group is None:
            self.levels[0] = 0.0
        wild = np.abs(delta) > WILD * (t.hi[F] - t.lo[F])
        if wild.any():  # along a direction without curvature: to the bound, and the others again
            self._fix(F[wild], np.where(delta[wild] > 0, t.hi[F[wild]], t.lo[F[wild]]))
            return self.solve()
        self.beta[F] += delta
        self._move(F, delta)
        return None

    def _block(self, rows: NDArray, columns: NDArray) -> Floats:
        return self.K[np.ix_(self.row[rows], self.row[columns])]

    def _bordered(self, rows: NDArray, columns: NDArray) -> Floats:
        """K + D between variables."""
        if rows is not columns:
            return self._block(rows, columns)
        block: Floats = core.square(self.K, self.row[rows])
        block[np.diag_indices_from(block)] += self.terms.d[columns]
        return block

    def _move(self, at: NDArray, change: Floats) -> None:
        step = np.bincount(self.row[at], change, self.terms.n)
        self.smooth += (self.K @ step)[self.row]
        self.smooth[at] += self.terms.d[at] * change

    def _fix(self, at: NDArray, target: Floats) -> None:
        self._move(at, target - self.beta[at])
        self.beta[at] = target
        self.free[at] = False

    def revise(self) -> bool:
        """Fix what is past the end of its piece, free what wants to leave its bound; whether anything changed."""
        t = self.terms
        low = np.where((t.e > 0) & (self.sign > 0), np.maximum(t.lo, 0.0), t.lo)
        high = np.where((t.e > 0) & (self.sign < 0), np.minimum(t.hi, 0.0), t.hi)
        past = self.free & ((self.beta < low) | (self.beta > high))
        rises, falls = self._released()
        at = np.flatnonzero(past)
        self._fix(at, np.clip(self.beta[at], low[at], high[at]))
        for which, sign in ((rises, 1.0), (falls, -1.0)):
            self.free[which] = True
            self.sign[which] = np.where(self.beta[which] == 0, sign, np.sign(self.beta[which]))
        return bool(at.size or rises.any() or falls.any())

    def _released(self) -> tuple[Flags, Flags]:
        """Fixed variables that would rise, and that would fall, at the levels of their sums."""
        level = self.levels[self.group]
        if np.isnan(level).any():
            level = np.where(np.isnan(level), self._middles()[self.group], level)
        up, dn = self._derivatives()
        rise, fall = (np.where(self.free, -np.inf, amount) for amount in (level - up, dn - level))
        worst = np.maximum(rise, fall)
        least, most = self._noise(), max(LEAST_FREED, int(np.count_nonzero(self.free)) // 4)
        if np.count_nonzero(worst > least) > most:  # many at once are more likely too many
            least = float(np.partition(worst, -most)[-most])
        return rise > least, fall > least

    def _derivatives(self) -> tuple[Floats, Floats]:
        """up and dn of all variables, as the certificate has them."""
        t = self.terms
        up = np.where(self.beta >= t.hi, np.inf, self.smooth + np.where(self.beta >= 0, t.e, -t.e))
        dn = np.where(self.beta <= t.lo, -np.inf, self.smooth + np.where(self.beta > 0, t.e, -t.e))
        return up, dn

    def _noise(self) -> float:
        """By how much the derivatives of the free variables, which the step made equal, differ from their levels."""
        F = np.flatnonzero(self.free)
        rest = self.smooth[F] + self.terms.e[F] * self.sign[F] - self.levels[self.group[F]]
        return max(EXACT * self.scale(), 4 * float(np.max(np.abs(rest), initial=0.0)))

    def _middles(self) -> Floats:
        """Of sums without free variables: the middle between what holds its members down and what holds them up."""
        up, dn = self._derivatives()
        middles = np.zeros(len(self.levels))
        for g in range(len(middles)):
            mine = self.group == g
            ends = [x for x in (dn[mine].max(initial=-np.inf), up[mine].min(initial=np.inf)) if np.isfinite(x)]
            middles[g] = sum(ends) / len(ends) if ends else 0.0
        return middles

    def feasible(self) -> Floats:
        """beta exactly within its bounds."""
        return np.clip(self.beta, self.terms.lo, self.terms.hi)


class _Factor:
    """Cholesky's factor of K_FF + D for a set F, which serves for sets that differ from it by little."""

    def __init__(self, block: Callable[[NDArray, NDArray], Floats], F: NDArray) -> None:
        self.F = F
        self.factor = _factorised(lambda: block(F, F))

    def is_near(self, F: NDArray) -> bool:
        changes = len(np.setxor1d(F, self.F, assume_unique=True))
        return changes <= min(MOST_CHANGES, max(1, len(self.F) // 5))

    def solve(
        self, F: NDArray, E: Floats, right: Floats, owed: Floats, block: Callable[[NDArray, NDArray], Floats]
    ) -> tuple[Floats, Floats]:
        """x and the multipliers y of (H x - E y = right, E' x = owed) on the set F."""
        kept, here, there = np.intersect1d(F, self.F, assume_unique=True, return_indices=True)
        joined = np.setdiff1d(np.arange(len(F)), here)
        left = np.setdiff1d(np.arange(len(self.F)), there)
        joining = F[joined]
        n, j, r, s = len(self.F), len(joined), len(left), E.shape[1]
        # The borders: columns of those that joined, the sums, and unit columns that hold at 0 those that left.
        B = np.zeros((n, j + s + r))
        B[:, :j] = block(self.F, joining)
        B[there, j : j + s] = -E[here]
        B[left, j + s + np.arange(r)] = 1.0
        C = np.zeros((j + s + r, j + s + r))
        C[:j, :j] = block(joining, joining)
        C[np.arange(j), np.arange(j)] *= 1.0 + RIDGE  # of examples that are the same
        C[:j, j : j + s] = -E[joined]
        C[j : j + s, :j] = -E[joined].T
        top, bottom = np.zeros(n), np.zeros(j + s + r)
        top[there], bottom[:j], bottom[j : j + s] = right[here], right[joined], -owed
        inner = (
            cho_solve(self.factor, np.column_stack([top, B]), check_finite=False)
            if n
            else np.zeros((0, 1 + B.shape[1]))
        )
        border = np.empty(0)
        if B.shape[1]:
            border = np.linalg.solve(C - B.T @ inner[:, 1:], bottom - B.T @ inner[:, 0])
        x = np.empty(len(F))
        x[here] = (inner[:, 0] - inner[:, 1:] @ border)[there]
        x[joined] = border[:j]
        return x, border[j : j + s]


def _factorised(matrix: Callable[[], Floats]) -> tuple[Floats, bool]:
    """Cholesky's factor, of the matrix with a small ridge where it is singular; made in the place of the matrix."""
    for ridge in (0.0, *(RIDGE * 10.0**k for k in range(RIDGES))):
        H = matrix()
        H[np.diag_indices_from(H)] += ridge * (float(np.mean(np.diagonal(H))) if len(H) else 1.0)
        try:
            return cho_factor(H.T, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            continue
    raise LinAlgError("The matrix of the free variables is not positive semi-definite.")
