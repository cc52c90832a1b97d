"""The dual problem and the nearest feasible point by an independent interior point solver, for small problems."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

from maxmargin.problems import Terms, fold

TOLERANCES = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}


def objective(K: NDArray, terms: Terms, beta: NDArray) -> float:
    """Q(beta), the dual objective to be minimised."""
    coef = fold(terms, beta)
    separable = terms.p * beta + 0.5 * terms.d * beta**2 + terms.e * np.abs(beta)
    return float(0.5 * coef @ K @ coef + separable.sum())


def factor(K: NDArray) -> NDArray:
    """L with K = L L^T, for any positive semidefinite K."""
    values, vectors = np.linalg.eigh(K)
    kept = values > 1e-13 * max(values.max(), 1e-300)
    return vectors[:, kept] * np.sqrt(values[kept])


def constraints(terms: Terms, beta: cp.Variable) -> list[cp.Constraint]:
    """The finite bounds and the sums."""
    below, above = np.isfinite(terms.lo), np.isfinite(terms.hi)
    found = []
    if below.any():
        found.append(beta[below] >= terms.lo[below])
    if above.any():
        found.append(beta[above] <= terms.hi[above])
    if terms.group is not None:
        found += [cp.sum(beta[terms.group == g]) == total for g, total in enumerate(terms.sums)]
    return found


def solve(K: NDArray, terms: Terms) -> NDArray:
    """A minimiser of Q, feasible to rounding in the box and to the solver's tolerance in the sums."""
    beta = cp.Variable(terms.m)
    coef = sum(beta[k * terms.n : (k + 1) * terms.n] for k in range(terms.copies))
    cost = 0.5 * cp.sum_squares(factor(K).T @ coef) + terms.p @ beta
    if (terms.d > 0).any():
        cost += 0.5 * cp.sum_squares(cp.multiply(np.sqrt(terms.d), beta))
    if (terms.e > 0).any():
        cost += terms.e @ cp.abs(beta)
    minimise(cost, constraints(terms, beta))
    return np.clip(beta.value, terms.lo, terms.hi)


def nearest(terms: Terms, point: NDArray) -> NDArray:
    """The Euclidean projection onto the feasible set."""
    beta = cp.Variable(terms.m)
    minimise(cp.sum_squares(beta - point), constraints(terms, beta))
    return beta.value


def minimise(cost: cp.Expression, subject_to: list[cp.Constraint]) -> float:
    """The minimum, by Clarabel; a solve that does not reach its tolerances raises."""
    problem = cp.Problem(cp.Minimize(cost), subject_to)
    problem.solve(solver=cp.CLARABEL, **TOLERANCES)
    if problem.status != cp.OPTIMAL:
        raise RuntimeError(f"The oracle stopped with status {problem.status}.")
    return float(problem.value)
