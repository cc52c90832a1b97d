r"""The interior point method: the general dual problem by Newton steps along its central path.

Given the matrix K and terms (p, lo, hi, d, e, sums), minimises

.. math::
    Q(\beta) = \tfrac12\beta^T K\beta + \sum_i (p_i\beta_i + \tfrac12 d_i\beta_i^2 + e_i|\beta_i|)

over the bounds and sums. In its smooth parts x (`interior_system`), with slacks s of the bounds, their multipliers z
and the multipliers nu of the sums, the central path is where

.. math::
    A^T K A x + c + D x - T z - E \nu = 0, \quad E^T x = sums, \quad s_k z_k = \mu \text{ for all } k, \quad \mu \to 0.

One iteration factorises once, and solves for Mehrotra's predictor and corrector ("On the implementation of a
primal-dual interior point method", SIAM J. Optim. 2, 1992) and up to two of Gondzio's corrections ("Multiple centrality
corrections in a primal-dual method for linear programming", Comput. Optim. Appl. 6, 1996), on the system reduced to x
and nu with :math:`\Theta = D + T (Z/S) T^T`, as in Vanderbei's LOQO ("LOQO: an interior point code for quadratic
programming", Optim. Methods Softw. 11, 1999). Where it is not positive definite, by rounding or because the kernel is
not, Theta is raised.

Every iteration ends with a feasible beta: a part whose slack is less than its multiplier would take from it on the
part's own curvature, :math:`s_k (K_{rr} + d) < z_k`, is put at its bound, exactly, and the sums are restored by the
nearest point on the face of the others. The first such beta within the tolerance is the solution.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import LinAlgError

from maxmargin.problems import DualProblem, Terms, fold, project, violation
from maxmargin.solvers import dense
from maxmargin.solvers.dense import Look, product
from maxmargin.solvers.interior_system import Newton, Parts
from maxmargin.solvers.loop import Limits, Solution, Status
from maxmargin.solvers.separable import Separable

Floats = NDArray[np.float64]

TO_BOUND = 0.999  # share of the way to the nearest bound that a step takes
CORRECTIONS = 2  # at most, an iteration
LONG = 0.9  # share of the step from which corrections are not worth their solve
REACH, GAIN = 0.3, 0.1  # by how much one is to lengthen the step, and the share of it that it must
NEAR = (0.1, 10.0)  # times its target: where a product s z is no outlier
LEAST_THETA = 1e-12  # share of the largest curvature of one part
TOO_FLAT = 1e-3  # share of it below which a part's own curvature does not say where its bound is near
RAISE, LOWER = 100.0, 10.0  # of the least Theta, when B is not positive definite, and once it is again
END_OF_PATH = 1e-30  # share of the first mu
PATIENCE = 10  # iterations without a smaller violation at the end of the path, after which rounding is to blame
LONGEST_WAIT = 100  # the same anywhere on it
BYTES = 8.0  # of an entry of B


def solve(
    problem: DualProblem,
    limits: Limits | None = None,
    *,
    cache_size: float | str = "auto",
    start: ArrayLike | None = None,
    n_jobs: int | None = None,
) -> Solution:
    """Solve a dual problem whose kernel matrix fits in memory by an interior point method.

    Parameters
    ----------
    problem : DualProblem
        Rows and terms.
    limits : Limits, optional
        When to stop.
    cache_size : float or "auto"
        Megabytes for the kernel matrix and its factor; "auto" takes a share of the memory that is free now.
    start : (m,) array, optional
        Where to start; projected onto the feasible set, then moved into its interior.
    n_jobs : int, optional
        Threads that compute the matrix; all cores by default.

    Returns
    -------
    Solution

    Raises
    ------
    ValueError
        When the matrix and its factor do not fit the memory budget.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.kernels import Linear
    >>> from maxmargin.losses import Hinge
    >>> from maxmargin.rows.computed import ComputedRows
    >>> X, y = np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0])
    >>> solve(DualProblem(ComputedRows(Linear(), X, "float64"), Hinge().dual(y, 10.0))).beta.round(3)
    array([-0.5,  0.5])
    """
    return dense.solve(minimise, problem, limits, cache_size, start, n_jobs, BYTES)


def minimise(terms: Terms, K: NDArray, beta: Floats, tol: float, look: Look) -> tuple[Floats, int, Status | None]:
    """Minimise from a feasible start until the KKT violation is at most tol.

    Parameters
    ----------
    terms : Terms
    K : (n, n) float32 or float64
        Symmetric; rows may lie apart.
    beta : (m,) float64
        The feasible start.
    tol : float
        Largest KKT violation.
    look : callable
        Asked before each iteration with their number so far and the violation; a status that it returns stops the
        method.

    Returns
    -------
    beta : (m,) float64
        Feasible; of least Q among the start and what the iterations ended with, unless tol is reached.
    iterations : int
    status : Status or None
        None where tol is reached, else why not: what ``look`` returned, `Status.STALLED` where only rounding errors
        would move, `Status.UNBOUNDED` where there is no minimum.
    """
    f = product(K, fold(terms, beta))
    best, least = beta, dense.objective(terms, beta, f)
    reached, path, iteration = violation(terms, beta, f), _Path(terms, K, beta), 0
    while reached > tol:
        status = look(iteration, reached) or path.dead_end(reached)
        if status is not None:
            return best, iteration, status
        iteration += 1
        path.advance()
        beta = path.feasible()
        f = product(K, fold(terms, beta))
        reached, value = violation(terms, beta, f), dense.objective(terms, beta, f)
        if value < least:
            best, least = beta, value
    return beta, iteration, None


@dataclass(frozen=True)
class _Direction:
    """Changes of x, nu, s and z."""

    x: Floats
    nu: Floats
    s: Floats
    z: Floats

    def __add__(self, other: _Direction) -> _Direction:
        return _Direction(self.x + other.x, self.nu + other.nu, self.s + other.s, self.z + other.z)


class _Path:
    """Where the method stands: x, the slacks s with their multipliers z, and the multipliers nu of the sums."""

    def __init__(self, terms: Terms, K: NDArray, beta: Floats) -> None:
        self.terms, self.K, self.parts = terms, K, Parts(terms)
        own = np.diagonal(K).astype(np.float64)[self.parts.row] + self.parts.d
        self.largest = dense.largest_curvature(terms, K) or 1.0
        self.own = np.maximum(own, TOO_FLAT * self.largest)
        self.least_theta = LEAST_THETA * self.largest
        self.work = np.empty(terms.n**2)  # for B
        self.x = self._inside(self.parts.split(beta))
        self.s = self.parts.Tt(self.x) - np.concatenate(
            [self.parts.lo[self.parts.lower], -self.parts.hi[self.parts.upper]]
        )
        self.f = product(K, self.parts.A(self.x))
        self.nu, self.z = self._multipliers()
        self.first_mu = self.mu()
        self.moved = self.curved = np.zeros(terms.m)
        self.least, self.waited = math.inf, 0

    def _inside(self, x: Floats) -> Floats:
        """x at least as far from its bounds as one part alone would go, or in the middle."""
        alone = float(np.abs(self.parts.c).max(initial=0.0) / np.median(self.own))
        margin = np.minimum((self.parts.hi - self.parts.lo) / 2, alone or np.inf)
        margin[np.isinf(margin)] = 1.0
        return np.clip(x, self.parts.lo + margin, self.parts.hi - margin)

    def _multipliers(self) -> tuple[Floats, Floats]:
        """nu in the middle of each sum's gradient, and for all z the size that the rest of it typically has."""
        parts, gradient = self.parts, self._gradient()
        nu = np.zeros(len(parts.sums))
        for g in range(len(nu)):
            members = (parts.sign * gradient)[(parts.group == g) & parts.movable]
            nu[g] = np.median(members) if members.size else 0.0
        rest = np.abs(gradient - parts.E(nu))[parts.movable]
        return nu, np.full(len(self.s), float(rest.mean()) if rest.any() else 1.0)

    def mu(self) -> float:
        """The mean complementarity."""
        return float(self.s @ self.z) / max(1, len(self.s))

    def advance(self) -> None:
        """Predictor, corrector, corrections of outliers, and the step that they are taken for."""
        s, z, parts = self.s, self.z, self.parts
        newton = self._factorised(parts.d + sum(parts.sides(z / s)))
        residual = parts.T(z) + parts.E(self.nu) - self._gradient()
        missing = parts.sums - parts.Et(self.x)

        def change(sz: Floats, share: float = 1.0) -> _Direction:
            """Of the products s z by sz, and of what is still wrong by that share of it."""
            x, nu = newton.solve(share * residual + parts.T(sz / s), share * missing)
            ds = parts.Tt(x)
            return _Direction(x, nu, ds, (sz - z * ds) / s)

        step = change(-s * z)
        if len(s):
            length, mu = self._room(step), self.mu()
            affine = float((s + length * step.s) @ (z + length * step.z)) / len(s)
            target = (affine / mu) ** 3 * mu
            step = self._centred(change(target - s * z - step.s * step.z), target, partial(change, share=0.0))
        length = min(1.0, TO_BOUND * self._room(step, math.inf))
        self.s, self.z, self.nu = s + length * step.s, z + length * step.z, self.nu + length * step.nu
        self._move(np.clip(self.x + length * step.x, parts.lo, parts.hi))

    def _centred(self, step: _Direction, target: float, change: Callable[[Floats], _Direction]) -> _Direction:
        """With Gondzio's corrections: products that would be far from their target are brought nearer.

        A correction counts where it lengthens the step; without them two products can take turns in stopping it short.
        """
        for _ in range(CORRECTIONS):
            length = self._room(step)
            if length >= LONG:
                break
            further = min(1.0, length + REACH)
            products = (self.s + further * step.s) * (self.z + further * step.z)
            wanted = np.clip(products, NEAR[0] * target, NEAR[1] * target) - products
            corrected = step + change(np.maximum(wanted, -NEAR[1] * target))
            if self._room(corrected) < length + GAIN * REACH:
                break
            step = corrected
        return step

    def _room(self, step: _Direction, most: float = 1.0) -> float:
        """How much of the step, at most so much, keeps s and z positive."""
        nearest = max(np.max(-step.s / self.s, initial=0.0), np.max(-step.z / self.z, initial=0.0))
        return min(most, 1 / nearest) if nearest > 0 else most

    def _move(self, x: Floats) -> None:
        f = product(self.K, self.parts.A(x))
        self.moved = self.parts.beta(x) - self.parts.beta(self.x)
        self.curved = np.tile(f - self.f, self.terms.copies) + self.terms.d * self.moved
        self.x, self.f = x, f

    def _gradient(self) -> Floats:
        parts = self.parts
        return parts.sign * self.f[parts.row] + parts.c + parts.d * self.x

    def _factorised(self, theta: Floats) -> Newton:
        """The factorised system, with Theta raised where B would not be positive definite."""
        floor = LEAST_THETA * self.largest
        while True:
            inverse = np.where(self.parts.movable, 1 / np.maximum(theta, self.least_theta), 0.0)
            try:
                newton = Newton(self.parts, self.K, inverse, self.work)
            except LinAlgError:
                self.least_theta *= RAISE
                continue
            self.least_theta = max(self.least_theta / LOWER, floor)
            return newton

    def feasible(self) -> Floats:
        """A feasible beta, at its bounds where the multipliers say so."""
        parts = self.parts
        below, above = parts.sides(self.z / self.s)
        down, up = below > np.maximum(self.own, above), above > np.maximum(self.own, below)
        x = np.where(down, parts.lo, np.where(up, parts.hi, self.x))
        free = parts.movable & ~down & ~up
        lo, hi = (parts.sign * np.where(free, bound, x) for bound in (parts.lo, parts.hi))
        lo, hi, zero = np.minimum(lo, hi), np.maximum(lo, hi), np.zeros(len(x))
        face = Terms(zero, lo, hi, zero, zero, parts.group, parts.sums)
        nearest = Separable(face, np.ones(len(x)))(parts.sign * x, 1.0)
        return project(self.terms, parts.beta(parts.sign * nearest))

    def dead_end(self, reached: float) -> Status | None:
        """Why the path leads no further than to this violation."""
        ray = self.parts.beta(self.x)
        pull = np.tile(self.f, self.terms.copies) + self.terms.d * ray
        for step, curved in ((self.moved, self.curved), (ray, pull)):
            if dense.falls_without_end(self.terms, step, curved, self.largest):
                return Status.UNBOUNDED
        self.waited = 0 if reached < self.least else self.waited + 1
        self.least = min(self.least, reached)
        ended = self.mu() <= END_OF_PATH * self.first_mu and self.waited >= PATIENCE
        return Status.STALLED if ended or self.waited >= LONGEST_WAIT else None
