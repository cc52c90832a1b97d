r"""The variable projection method: the general dual problem by projected gradient steps of varying length.

Given the matrix K and terms (p, lo, hi, d, e, sums), minimises

.. math::
    g(z) = \tfrac12 z^T Q z + \sum_i (p_i z_i + e_i |z_i|), \qquad Q = K + \mathrm{diag}(d)

over the bounds and sums (variables that share a row of K share it in Q). With a positive diagonal S, iteration l is

.. math::
    \bar z^{(l)} &= \arg\min_z\; \tfrac1{2\rho_l} z^T S z + \bigl(p + (Q - S / \rho_l) z^{(l-1)}\bigr)^T z + e^T |z|
    \quad\text{over the bounds and sums} \qquad (6) \\
    z^{(l)} &= z^{(l-1)} + \theta_l d^{(l)}, \quad d^{(l)} = \bar z^{(l)} - z^{(l-1)}, \quad
    \theta_l = \arg\min_{0 < \theta \le 1} g(z^{(l-1)} + \theta d^{(l)}), \quad \theta_1 = 1,

and the projection parameter follows from the two spectral step lengths of d,

.. math::
    \rho^{(1)} = \frac{d^T S d}{d^T Q d}, \qquad \rho^{(2)} = \frac{d^T Q d}{d^T Q S^{-1} Q d}, \qquad
    \rho^{(2)} \le \rho^{(1)},

which stays as it is where :math:`\|Q d\|^2 \le \epsilon \kappa^2 \|d\|^2` (kappa is the largest diagonal entry of Q, 1
in the text), and else is

* ``"alternating"``: :math:`\rho^{(2)}` in the first half of every period of six iterations (mod(l, 6) < 3), and
  :math:`\rho^{(1)}` in the second: the method of Serafini, Zanghirati and Zanni, "Large quadratic programs in training
  Gaussian support vector machines" (2003), section 3, with their :math:`\rho_1 = 1` and :math:`\epsilon = 10^{-16}`;
* ``"barzilai-borwein"``: one of the two for three to ten iterations, until it lies between the next two or turned out
  far too long (theta < 0.1) or too short (the minimum lies beyond 5 d): the adaptive successor of the same authors,
  "Gradient projection methods for quadratic programs and applications in training support vector machines" (Optim.
  Methods Softw. 20, 2005), section 2. Q d is reduced to the variables that moved and to directions that keep the sums
  before :math:`\rho^{(2)}` is taken, as in Crisci, Porta, Ruggiero and Zanni, "Spectral properties of Barzilai-Borwein
  rules in solving singly linearly constrained optimization problems subject to lower and upper bounds" (SIAM J. Optim.
  30, 2020).

(6) is separable but for the sums, and solved in O(n) (`separable`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maxmargin.problems import DualProblem, Terms, fold, project, violation
from maxmargin.solvers import dense
from maxmargin.solvers.dense import Look, product
from maxmargin.solvers.ending import noise
from maxmargin.solvers.loop import Limits, Solution, Status
from maxmargin.solvers.separable import Separable

Floats = NDArray[np.float64]

EPSILON = 1e-16
PERIOD = 6
LEAST_RUN, LONGEST_RUN = 3, 10  # iterations for which the adaptive rule keeps to one of the step lengths
FAR_TOO_LONG, FAR_TOO_SHORT = 0.1, 5.0  # where along d the minimum lies when it ends them early
ONE_ROUNDING = 2.0**-51  # share of z that a step back to 0 may miss it by


def solve(
    problem: DualProblem,
    limits: Limits | None = None,
    *,
    steps: str = "alternating",
    cache_size: float | str = "auto",
    start: ArrayLike | None = None,
    n_jobs: int | None = None,
) -> Solution:
    """Solve a dual problem whose kernel matrix fits in memory by variable projections.

    Parameters
    ----------
    problem : DualProblem
        Rows and terms.
    limits : Limits, optional
        When to stop.
    steps : {"alternating", "barzilai-borwein"}
        How the projection parameter is chosen.
    cache_size : float or "auto"
        Megabytes for the kernel matrix; "auto" takes a share of the memory that is free now.
    start : (m,) array, optional
        Where to start; projected onto the feasible set.
    n_jobs : int, optional
        Threads that compute the matrix; all cores by default.

    Returns
    -------
    Solution

    Raises
    ------
    ValueError
        When the matrix does not fit the memory budget.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.kernels import Linear
    >>> from maxmargin.losses import Hinge
    >>> from maxmargin.rows.computed import ComputedRows
    >>> X, y = np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0])
    >>> solve(DualProblem(ComputedRows(Linear(), X, "float64"), Hinge().dual(y, 10.0))).beta
    array([-0.5,  0.5])
    """
    _rule(steps, problem.terms, np.ones(0), 0.0)  # refused before the matrix is computed
    return dense.solve(partial(minimise, steps=steps), problem, limits, cache_size, start, n_jobs)


def minimise(
    terms: Terms,
    K: NDArray,
    beta: Floats,
    tol: float,
    look: Look,
    *,
    steps: str = "alternating",
    scaling: Floats | None = None,
) -> tuple[Floats, int, Status | None]:
    r"""Minimise from a feasible start until the KKT violation is at most tol.

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
    steps : {"alternating", "barzilai-borwein"}
        How the projection parameter is chosen.
    scaling : (m,) float64, optional
        The diagonal of S, positive; ones by default.

    Returns
    -------
    beta : (m,) float64
        Feasible.
    iterations : int
    status : Status or None
        None where tol is reached, else why not: what ``look`` returned, `Status.STALLED` where only rounding errors
        would move, `Status.UNBOUNDED` where there is no minimum.
    """
    S = np.ones(terms.m) if scaling is None else np.asarray(scaling, dtype=np.float64)
    kappa = dense.largest_curvature(terms, K)
    argmin, next_rho = Separable(terms, S), _rule(steps, terms, S, EPSILON * kappa**2)
    z, rho, ell = beta.copy(), 1.0, 0
    roots, t, fresh = dense.norms(K), product(K, fold(terms, z)), True  # t = K z, by row of K
    while True:
        gradient = np.tile(t, terms.copies) + terms.p + terms.d * z
        reached = violation(terms, z, t)
        if reached <= tol and fresh:
            return project(terms, z), ell, None
        stalled = reached <= noise(terms, roots, z)
        if (stalled or reached <= tol) and not fresh:
            t, fresh = product(K, fold(terms, z)), True  # without the rounding of its updates
            continue
        status = look(ell, reached) or (Status.STALLED if stalled else None)
        if status is not None:
            return project(terms, z), ell, status
        ell += 1
        zbar = argmin(z - rho / S * gradient, rho)  # (6)
        d = zbar - z
        Kd = _change(terms, K, zbar, d, t)
        Qd = np.tile(Kd, terms.copies) + terms.d * d
        if dense.falls_without_end(terms, d, Qd, kappa):
            return project(terms, z), ell, Status.UNBOUNDED
        # d keeps the sums, so the multipliers take nothing from the slope but its rounding.
        slope = float((gradient - argmin.multipliers()) @ d)
        line = _Line(terms, z, d, slope, curvature=float(d @ Qd))
        theta = line.minimum() if ell > 1 else 1.0
        z = zbar if theta == 1.0 else line.at(theta)
        t, fresh = t + theta * Kd, False
        rho = next_rho(ell, rho, d, Qd, line)


def _change(terms: Terms, K: NDArray, zbar: Floats, d: Floats, t: Floats) -> Floats:
    """K d = K zbar - t, from whichever of d and zbar has fewer components."""
    moved, whole = fold(terms, d), fold(terms, zbar)
    if np.count_nonzero(moved) <= np.count_nonzero(whole):
        return product(K, moved)
    return product(K, whole) - t


class _Line:
    r"""g on the line z + theta d, whose derivative is slope + curvature theta and what the kinks add.

    It jumps by :math:`2 e_i |d_i|` where variable i crosses 0.
    """

    def __init__(self, terms: Terms, z: Floats, d: Floats, slope: float, curvature: float) -> None:
        self.terms, self.z, self.d, self.curvature = terms, z, d, curvature
        self.slope = slope + float(terms.e @ np.where(z == 0, np.abs(d), np.sign(z) * d))

    def minimum(self) -> float:
        """The theta in (0, 1] of least g."""
        e, z, d = self.terms.e, self.z, self.d
        crossing = np.flatnonzero((e > 0) & (z * (z + d) < 0))
        crossing = crossing[np.argsort(-z[crossing] / d[crossing])]
        kinks = -z[crossing] / d[crossing]
        jumps = np.concatenate([[0.0], np.cumsum(2 * e[crossing] * np.abs(d[crossing]))])
        before = self.slope + self.curvature * kinks + jumps[:-1]
        k = int(np.argmax(np.append(before + np.diff(jumps) >= 0, True)))  # the piece that ends the descent ends at k
        if k < len(kinks) and before[k] < 0:
            return float(kinks[k])
        if self.curvature <= 0:  # concave: the descent goes on to the end
            return 1.0
        start = kinks[k - 1] if k else 0.0
        return float(min(max(-(self.slope + jumps[k]) / self.curvature, start), 1.0))

    def at(self, theta: float) -> Floats:
        """The point, exactly 0 where theta is a kink, and within the bounds whatever the rounding."""
        z = np.clip(self.z + theta * self.d, self.terms.lo, self.terms.hi)
        z[(self.terms.e > 0) & (np.abs(z) <= ONE_ROUNDING * np.abs(self.z))] = 0.0
        return z


def _rule(steps: str, terms: Terms, S: Floats, flat: float) -> Callable[[int, float, Floats, Floats, _Line], float]:
    """The rule of that name for the next rho, which stays where |Q d|^2 is at most ``flat`` times |d|^2."""
    if steps == "alternating":
        return partial(_alternating, S, flat)
    if steps == "barzilai-borwein":
        return _Adaptive(terms, S, flat)
    raise ValueError(f"steps is {steps!r}, but it must be one of 'alternating', 'barzilai-borwein'.")


def _alternating(S: Floats, flat: float, ell: int, rho: float, d: Floats, Qd: Floats, line: _Line) -> float:
    """Step 5: the one step length for three iterations, then the other for three."""
    if Qd @ Qd <= flat * (d @ d) or line.curvature <= 0:  # the latter where Q is not positive semi-definite
        return rho
    if ell % PERIOD < PERIOD / 2:
        return line.curvature / float(Qd @ (Qd / S))
    return float(d @ (S * d)) / line.curvature


class _Adaptive:
    """Either step length, for as long as it serves."""

    def __init__(self, terms: Terms, S: Floats, flat: float) -> None:
        self.S, self.flat, self.short, self.run = S, flat, True, 1
        self.group = terms.group
        self.sums = len(terms.sums)

    def __call__(self, ell: int, rho: float, d: Floats, Qd: Floats, line: _Line) -> float:
        reduced = self._reduced(d, Qd)
        if reduced @ reduced <= self.flat * (d @ d) or line.curvature <= 0:
            return rho
        longer = float(d @ (self.S * d)) / line.curvature
        shorter = line.curvature / float(reduced @ (reduced / self.S))
        minimum = -line.slope / line.curvature
        failed = minimum > FAR_TOO_SHORT if self.short else minimum < FAR_TOO_LONG
        if self.run >= LONGEST_RUN or (self.run >= LEAST_RUN and (failed or shorter < rho < longer)):
            self.short, self.run = not self.short, 0
        self.run += 1
        return shorter if self.short else longer

    def _reduced(self, d: Floats, Qd: Floats) -> Floats:
        """Q d on the variables that moved, less its S-weighted mean in each sum."""
        if self.group is None:
            return np.where(d != 0, Qd, 0.0)
        weight = np.where(d != 0, 1 / self.S, 0.0)
        total, count = (np.bincount(self.group, w, self.sums) for w in (weight * Qd, weight))
        mean = np.divide(total, count, out=np.zeros(self.sums), where=count > 0)
        return np.where(d != 0, Qd - mean[self.group], 0.0)
