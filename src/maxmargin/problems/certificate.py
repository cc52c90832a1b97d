r"""How good a solution is: primal and dual objective, their gap, and the KKT violation.

With t_i = f(x_i) + b_g(i), weak duality is the sum of one Fenchel-Young inequality per variable,

.. math::
    P(f, b) - D(\beta)
    = \sum_i \bigl[\, t_i \beta_i + p_i \beta_i + \tfrac12 d_i \beta_i^2 + e_i |\beta_i| + \psi_i(t_i) \bigr],

    \psi_i(t) = \max_{lo_i \le \beta \le hi_i} -t\beta - p_i \beta - \tfrac12 d_i \beta^2 - e_i |\beta|,

and every bracket is at least 0. The gap is computed as this sum, so that no digits cancel; the primal is dual + gap.
The intercepts b are not the solver's: they are the exact minimisers of P for the given f.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from maxmargin.problems.dual import DualProblem, Floats, Terms, fold
from maxmargin.problems.intercept import best_intercept


@dataclass(frozen=True, eq=False)
class Certificate:
    """What is proved about a feasible beta.

    Parameters
    ----------
    primal, dual : float
        The optimum lies between them.
    gap : float
        (primal - dual) / max(abs(primal), abs(dual)), 0 where both are 0.
    violation : float
        Largest KKT violation.
    intercepts : (G,) float64
        The best intercept of each sum.
    """

    primal: float
    dual: float
    gap: float
    violation: float
    intercepts: Floats


def certificate(terms: Terms, beta: ArrayLike, f: ArrayLike, radius: float = 0.0) -> Certificate:
    """Certificate of a feasible beta.

    Parameters
    ----------
    terms : Terms
    beta : (m,)
        A feasible point.
    f : (n,)
        K @ fold(terms, beta), the decision values without intercept.
    radius : float
        Every f_i is known only to +- radius. A bracket is convex in f_i, so it is at most its value at the worse end:
        primal - dual bounds the gap of every f within the radius, while the dual is that of the f given.
    """
    beta, f = _checked(terms, beta, f)
    intercepts = best_intercepts(terms, f)
    t = np.tile(f, terms.copies)
    if terms.group is not None:
        t += intercepts[terms.group]
    brackets = _brackets(terms, beta, t - radius)
    if radius > 0:
        brackets = np.maximum(brackets, _brackets(terms, beta, t + radius))
    linear = terms.p * beta + 0.5 * terms.d * beta**2 + terms.e * np.abs(beta)
    coef = fold(terms, beta)
    # beta' f / 2 is off too; by this much where the errors of the f_i are independent.
    rounding = 0.5 * radius * float(np.linalg.norm(coef))
    dual = -0.5 * float(np.sum(coef * f)) - float(linear.sum()) - rounding
    gap = float(brackets.sum()) + 2 * rounding
    primal = dual + gap
    return Certificate(primal, dual, _relative(gap, primal, dual), violation(terms, beta, f), intercepts)


def certify(problem: DualProblem, beta: ArrayLike, n_jobs: int | None = None) -> Certificate:
    """Certificate of a feasible beta with decision values recomputed in float64."""
    f = problem.rows.with_precision("float64").apply(fold(problem.terms, beta), n_jobs=n_jobs)
    return certificate(problem.terms, beta, f)


def best_intercepts(terms: Terms, f: ArrayLike) -> Floats:
    r"""For each sum the exact minimiser over b of :math:`\sum_{i \in g} \psi_i(f_i + b) + s_g b`.

    An interval of minimisers gives its midpoint, or its finite end when it has just one.
    """
    f = np.tile(np.asarray(f, dtype=np.float64), terms.copies)
    intercepts = np.zeros(len(terms.sums))
    for g, total, members in terms.groups():
        lo, hi, d, e = (a[members] for a in (terms.lo, terms.hi, terms.d, terms.e))
        intercepts[g] = best_intercept(-(f + terms.p)[members], lo, hi, d, e, total)
    return intercepts


def derivatives(terms: Terms, beta: Floats, f: Floats) -> tuple[Floats, Floats]:
    """up and dn, shape (m,): infinite where a variable may not move that way."""
    smooth = np.tile(f, terms.copies) + terms.p + terms.d * beta
    up = np.where(beta >= terms.hi, np.inf, smooth + np.where(beta >= 0, terms.e, -terms.e))
    dn = np.where(beta <= terms.lo, -np.inf, smooth + np.where(beta > 0, terms.e, -terms.e))
    return up, dn


def violation(terms: Terms, beta: ArrayLike, f: ArrayLike) -> float:
    r"""Largest KKT violation.

    With sums it is the largest over the groups of max dn - min up, without sums the largest projected gradient. up_i
    and dn_i are the derivatives of the dual objective to the right and left of beta_i, where it may move that way.
    """
    return violation_of(terms, *derivatives(terms, *_checked(terms, beta, f)))


def violation_of(terms: Terms, up: Floats, dn: Floats) -> float:
    """The same of the derivatives."""
    if terms.group is None:
        return max(0.0, float(np.max(dn, initial=0.0)), float(np.max(-up, initial=0.0)))
    gaps = [dn[i].max(initial=-np.inf) - up[i].min(initial=np.inf) for _, _, i in terms.groups()]
    return max(0.0, float(max(gaps)))


def _brackets(terms: Terms, beta: Floats, t: Floats) -> Floats:
    r"""The Fenchel-Young gaps, written around the maximiser :math:`\hat\beta` of psi to keep their digits.

    With u = -(t + p) a bracket is u (bhat - beta) - e (|bhat| - |beta|) - d (bhat^2 - beta^2) / 2.
    """
    u = -(t + terms.p)
    best = _maximiser(terms, u)
    infinite = np.isinf(best)  # d = 0 and a bound at infinity: psi is unbounded
    best[infinite] = 0.0
    step = best - beta
    brackets = step * (u - 0.5 * terms.d * (best + beta)) - terms.e * (np.abs(best) - np.abs(beta))
    brackets[infinite] = np.inf
    return np.maximum(brackets, 0.0)  # below 0 by rounding only


def _maximiser(terms: Terms, u: Floats) -> Floats:
    """A maximiser of u beta - d beta^2 / 2 - e |beta| between the bounds; infinite where there is none."""
    slope = np.sign(u) * np.maximum(np.abs(u) - terms.e, 0.0)
    curved = terms.d > 0
    free = np.divide(slope, terms.d, out=np.zeros_like(u), where=curved)
    free[~curved & (slope > 0)] = np.inf
    free[~curved & (slope < 0)] = -np.inf
    return np.clip(free, terms.lo, terms.hi)


def _relative(gap: float, primal: float, dual: float) -> float:
    scale = max(abs(primal), abs(dual))
    if np.isinf(gap):
        return np.inf
    return gap / scale if scale > 0 else 0.0


def _checked(terms: Terms, beta: ArrayLike, f: ArrayLike) -> tuple[Floats, Floats]:
    beta, f = np.asarray(beta, dtype=np.float64), np.asarray(f, dtype=np.float64)
    if beta.shape != (terms.m,) or f.shape != (terms.n,):
        raise ValueError(f"beta and f must have shapes ({terms.m},) and ({terms.n},), got {beta.shape} and {f.shape}.")
    return beta, f
