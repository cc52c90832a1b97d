r"""The separable problem under bounds and sums: what projections onto the feasible set of a dual problem are.

.. math::
    \min_z\; \sum_i \Bigl( \frac{s_i}{2\rho} (z_i - u_i)^2 + e_i |z_i| \Bigr)
    \quad\text{s.t.}\quad lo_i \le z_i \le hi_i, \quad \sum_{i \in g} z_i = s_g

Given the multipliers lambda of the sums, its solution is a soft threshold and a clip,

.. math::
    z_i(\lambda) = \mathrm{clip}\bigl(\mathrm{soft}(u_i + \tfrac\rho{s_i} \lambda_{g(i)},\; \tfrac\rho{s_i} e_i),\;
    lo_i,\; hi_i\bigr),

and the sum over a group is nondecreasing and piecewise linear in its multiplier, which the safeguarded secant search of
Dai and Fletcher finds ("New algorithms for singly linearly constrained quadratic programs subject to lower and upper
bounds", Math. Program. 106, 2006, section 3): O(n) a step, and about six steps from where the last search ended.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from maxmargin.problems import Terms

Floats = NDArray[np.float64]

SECANT_STEPS = 100
ROUNDING = 1e-14  # share of its terms by which a sum may be missed


class Separable:
    """The problem for the bounds, kinks and sums of these terms and a positive diagonal S.

    Each multiplier is where the next search of its group begins.
    """

    def __init__(self, terms: Terms, S: Floats) -> None:
        self.S = S
        self.groups = [_Group(terms, members, total) for _, total, members in terms.groups()]
        self.ungrouped = _Group(terms, np.arange(terms.m), 0.0) if terms.group is None else None

    def __call__(self, u: Floats, rho: float) -> Floats:
        """The solution for the point u; a sum that the bounds do not allow is brought as near as they do."""
        if self.ungrouped is not None:
            return self.ungrouped.at(0.0, u, rho / self.S)
        z = np.empty_like(u)
        for group in self.groups:
            z[group.members] = group.search(u[group.members], rho / self.S[group.members])
        return z

    def multipliers(self) -> Floats:
        """Of the last solution, by variable."""
        found = np.zeros(len(self.S))
        for group in self.groups:
            found[group.members] = group.multiplier
        return found


class _Group:
    """The part of the problem in one sum."""

    def __init__(self, terms: Terms, members: NDArray[np.intp], total: float) -> None:
        self.members, self.multiplier = members, 0.0
        self.lo, self.hi, self.e = terms.lo[members], terms.hi[members], terms.e[members]
        self.kinks = bool(self.e.any())
        # A sum that only rounding puts outside what the bounds allow is that of all at their bounds.
        self.total = min(max(total, float(self.lo.sum())), float(self.hi.sum()))

    def at(self, multiplier: float, u: Floats, rate: Floats) -> Floats:
        """z(lambda), where rate is rho / s."""
        z = u + multiplier * rate
        if self.kinks:
            z -= np.clip(z, -rate * self.e, rate * self.e)
        return np.clip(z, self.lo, self.hi)

    def search(self, u: Floats, rate: Floats) -> Floats:
        r"""The solution, where :math:`r(\lambda) = \sum_i z_i(\lambda) - s`, which is nondecreasing, is 0."""

        def r(multiplier: float) -> float:
            z = self.at(multiplier, u, rate)
            missed = float(z.sum()) - self.total
            return missed if abs(missed) > ROUNDING * float(np.abs(z).sum()) else 0.0

        first = r(self.multiplier)
        if first != 0.0:
            free = self._free(self.at(self.multiplier, u, rate))
            newton = abs(first) / float((rate[free] if free.any() else rate).sum())
            self.multiplier = _root(r, self.multiplier, first, newton)
        z = self.at(self.multiplier, u, rate)
        free = self._free(z)
        if free.any():  # they share what the multiplier's own rounding leaves
            z[free] += (self.total - z.sum()) / np.count_nonzero(free)
        return np.clip(z, self.lo, self.hi)

    def _free(self, z: Floats) -> NDArray[np.bool_]:
        return (self.lo < z) & (z < self.hi) & ((z != 0) | (self.e == 0))


def _root(r: Callable[[float], float], at: float, value: float, step: float) -> float:
    """A root of the nondecreasing function r, from r(at) = value != 0 and a first step."""
    way, left = -np.sign(value), SECANT_STEPS
    last, before = at, value
    while value * before > 0:  # bracketing phase
        last, before = at, value
        at = last + way * step
        value = r(at)
        left -= 1
        if value == 0.0 or left == 0:
            return at
        step += step / max(before / value - 1, 0.1)
    low, below, high, above = (last, before, at, value) if way > 0 else (at, value, last, before)
    s = 1 - below / above
    at = high - (high - low) / s
    while low < at < high and left > 0:  # secant phase
        value = r(at)
        left -= 1
        if value == 0.0:
            break
        if (value > 0) == (s <= 2):  # the far end is replaced
            low, below, high, above = (low, below, at, value) if value > 0 else (at, value, high, above)
            s = 1 - below / above
            at = high - (high - low) / s
            continue
        if value > 0:
            shift = (high - at) / max(above / value - 1, 0.1)
            high, above, at = at, value, max(at - shift, 0.75 * low + 0.25 * at)
        else:
            shift = (at - low) / max(below / value - 1, 0.1)
            low, below, at = at, value, min(at + shift, 0.75 * high + 0.25 * at)
        s = (high - low) / (high - at) if at < high else 1.0
    return at
