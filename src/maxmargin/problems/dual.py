r"""The dual problem that every exact kernel machine shares.

.. math::
    \min_\beta\; \tfrac12 \beta^T K \beta + \sum_i (p_i \beta_i + \tfrac12 d_i \beta_i^2 + e_i |\beta_i|)
    \quad\text{s.t.}\quad lo_i \le \beta_i \le hi_i, \quad \sum_{i \in g} \beta_i = s_g \;\text{ for each group } g

The loss is wholly in `Terms`, the kernel and the data wholly in the rows of K.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from maxmargin.rows import Rows

Floats = NDArray[np.float64]

# A sum that misses its target by less than this share of its terms missed it by rounding only.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Terms:
    r"""Five arrays and the sums: the whole loss.

    Parameters
    ----------
    p, lo, hi, d, e : (m,) float64
        Linear term, bounds (may be infinite), quadratic term (>= 0) and weight of the absolute value (>= 0).
    group : (m,) int8, optional
        The sum that each variable belongs to; None when there are no sums.
    sums : (G,) float64
        The value s_g of each sum.
    copies : int
        m = copies * n, and variable v uses row v % n of K.
    """

    p: Floats
    lo: Floats
    hi: Floats
    d: Floats
    e: Floats
    group: NDArray[np.int8] | None = None
    sums: Floats = field(default_factory=lambda: np.empty(0))
    copies: int = 1

    def __post_init__(self) -> None:
        for name in ("p", "lo", "hi", "d", "e", "sums"):
            object.__setattr__(self, name, _vector(name, getattr(self, name)))
        for name in ("lo", "hi", "d", "e"):
            if len(getattr(self, name)) != self.m:
                raise ValueError(f"{name} has {len(getattr(self, name))} entries, but p has {self.m}.")
        if self.copies < 1 or self.m % self.copies:
            raise ValueError(f"{self.m} variables cannot be {self.copies} copies of the same rows.")
        _reject("p", self.p, ~np.isfinite(self.p), "it must be finite")
        _reject("d", self.d, ~((self.d >= 0) & np.isfinite(self.d)), "it must be finite and not negative")
        _reject("e", self.e, ~((self.e >= 0) & np.isfinite(self.e)), "it must be finite and not negative")
        _reject("lo", self.lo, np.isnan(self.lo) | (self.lo == np.inf), "a lower bound must be a number below +inf")
        _reject("hi", self.hi, np.isnan(self.hi) | (self.hi == -np.inf), "an upper bound must be a number above -inf")
        _reject("lo", self.lo, self.lo > self.hi, "it exceeds its upper bound")
        _reject("sums", self.sums, ~np.isfinite(self.sums), "it must be finite")
        object.__setattr__(self, "group", self._checked_group())

    @property
    def m(self) -> int:
        """Number of variables."""
        return len(self.p)

    @property
    def n(self) -> int:
        """Number of rows of K."""
        return self.m // self.copies

    @property
    def is_linear_system(self) -> bool:
        """Whether the optimum is where the gradient vanishes: no bounds, no kinks."""
        return bool(np.isinf(self.lo).all() and np.isinf(self.hi).all() and not self.e.any())

    def groups(self) -> Iterator[tuple[int, float, NDArray[np.intp]]]:
        """Each group: its number, its sum, and its variables in order."""
        if self.group is not None:
            for g, total in enumerate(self.sums):
                yield g, float(total), np.flatnonzero(self.group == g)

    def _checked_group(self) -> NDArray[np.int8] | None:
        if self.group is None:
            if self.sums.size:
                raise ValueError(f"{self.sums.size} sums are given, but no variable is in a group.")
            return None
        if self.sums.size > np.iinfo(np.int8).max:
            raise ValueError(f"There can be at most {np.iinfo(np.int8).max} sums, got {self.sums.size}.")
        group = np.asarray(self.group)
        if group.shape != (self.m,) or group.dtype.kind not in "iu":
            raise ValueError(f"group must be {self.m} integers, got {group.dtype} of shape {group.shape}.")
        _reject("group", group, (group < 0) | (group >= self.sums.size), f"there are {self.sums.size} sums")
        return np.ascontiguousarray(group, dtype=np.int8)


@dataclass(frozen=True, eq=False)
class DualProblem:
    """A dual problem: the rows of K and the terms of the loss."""

    rows: Rows
    terms: Terms

    def __post_init__(self) -> None:
        if self.rows.n != self.terms.n:
            raise ValueError(f"K has {self.rows.n} rows, but the terms are for {self.terms.n}.")


def fold(terms: Terms, beta: ArrayLike) -> Floats:
    """Sum of beta over the copies: the coefficient of each row of K, shape (n,)."""
    return np.asarray(beta, dtype=np.float64).reshape(terms.copies, terms.n).sum(axis=0)


def feasible_start(terms: Terms) -> Floats:
    """A feasible point: zero where it may be; each sum is filled greedily in the variables' order, as LIBSVM does."""
    beta = np.clip(0.0, terms.lo, terms.hi)
    for g, total, members in terms.groups():
        _check_sum(terms, g, total, members)
        beta[members] = _filled(beta[members], terms.lo[members], terms.hi[members], total)
    return beta


def _filled(beta: Floats, lo: Floats, hi: Floats, total: float) -> Floats:
    """The variables, moved greedily in their order until their sum is the total."""
    missing = total - math.fsum(beta)
    bound = hi if missing > 0 else lo
    room = np.abs(bound - beta)
    wanted = np.minimum(room, abs(missing))  # finite, so that the running sum is too
    before = np.concatenate([[0.0], np.cumsum(wanted)[:-1]])
    taken = np.clip(abs(missing) - before, 0.0, wanted)
    # A full variable is put at its bound itself: beta + (bound - beta) may round past it.
    return np.where(taken == room, bound, beta + np.copysign(taken, missing))


def project(terms: Terms, beta: ArrayLike) -> Floats:
    r"""The nearest feasible point, :math:`\beta_i \to clip(\beta_i + \lambda_g, lo_i, hi_i)`.

    The sum over a group is nondecreasing and piecewise linear in :math:`\lambda_g`, with the breakpoints lo - beta and
    hi - beta: a binary search over them finds the piece that holds s_g, on which the equation is solved exactly.
    """
    beta = np.array(beta, dtype=np.float64)
    if beta.shape != (terms.m,):
        raise ValueError(f"beta has shape {beta.shape}, but there are {terms.m} variables.")
    _reject("beta", beta, ~np.isfinite(beta), "it must be finite")
    grouped = np.zeros(terms.m, dtype=bool)
    for g, total, members in terms.groups():
        _check_sum(terms, g, total, members)
        beta[members] = _project_group(beta[members], terms.lo[members], terms.hi[members], total)
        grouped[members] = True
    return np.where(grouped, beta, np.clip(beta, terms.lo, terms.hi))


def _project_group(beta: Floats, lo: Floats, hi: Floats, total: float) -> Floats:
    """Projection onto one box with one sum, which is known to be attainable."""
    clipped = np.clip(beta, lo, hi)
    if abs(clipped.sum() - total) <= ROUNDING * np.abs(clipped).sum():
        return clipped  # feasible as it is: a solution keeps its bounds to the last bit
    breaks = np.unique(np.concatenate([lo - beta, hi - beta]))
    breaks = breaks[np.isfinite(breaks)]
    left, right = -1, len(breaks)  # the sum is below the total at breaks[left] and not below at breaks[right]
    while right - left > 1:
        middle = (left + right) // 2
        if np.clip(beta + breaks[middle], lo, hi).sum() < total:
            left = middle
        else:
            right = middle
    below = breaks[left] if left >= 0 else -np.inf
    above = breaks[right] if right < len(breaks) else np.inf
    free = (lo - beta <= below) & (hi - beta >= above)
    # No free variable: the piece is flat, and the total is the sum at its ends up to rounding.
    shift = next((x for x in (above, below) if np.isfinite(x)), 0.0)
    projected = np.clip(beta + shift, lo, hi)
    if free.any():
        for _ in range(2):  # the second pass removes the rounding of the first
            missing = total - projected.sum()
            projected[free] = np.clip(projected[free] + missing / free.sum(), lo[free], hi[free])
    return _filled(projected, lo, hi, total)  # what far-off starts and flat pieces lost by rounding


def _check_sum(terms: Terms, g: int, total: float, members: NDArray[np.intp]) -> None:
    """Raise ValueError when no point of the box has the sum of group g."""
    least, most = terms.lo[members].sum(), terms.hi[members].sum()
    slack = ROUNDING * max(abs(total), *(abs(x) for x in (least, most) if np.isfinite(x)), 0.0)
    if not least - slack <= total <= most + slack:
        raise ValueError(f"The sum over group {g} must be {total:g}, but the bounds allow only [{least:g}, {most:g}].")


def _vector(name: str, values: ArrayLike) -> Floats:
    array = np.ascontiguousarray(values, dtype=np.float64)
    if np.ndim(values) != 1:
        raise ValueError(f"{name} must be one-dimensional, got shape {np.shape(values)}.")
    return array


def _reject(name: str, values: NDArray, bad: NDArray[np.bool_], reason: str) -> None:
    if bad.any():
        i = int(np.argmax(bad))
        raise ValueError(f"{name}[{i}] is {values[i]}: {reason}.")
