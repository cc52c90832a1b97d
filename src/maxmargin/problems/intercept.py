r"""The best intercept of one sum, exactly.

.. math::
    \min_b \sum_i \psi_i(f_i + b) + s b, \qquad
    \psi_i(f_i + b) = \max_{lo_i \le \beta \le hi_i} (a_i - b) \beta - \tfrac12 d_i \beta^2 - e_i |\beta|

with a_i = -(f_i + p_i). b is a minimiser exactly when s lies in H(b), the sum of the maximisers. Let c_i be 0 clipped
to [lo_i, hi_i]. As b falls, maximiser i climbs from c_i to hi_i, and as b grows it sinks from c_i to lo_i, each along
one ramp of slope 1/d_i (a jump where d_i = 0). So H is nonincreasing and piecewise linear with at most four breakpoints
a variable: a binary search over the sorted breakpoints finds the pieces on which it meets s; one interpolation ends it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from maxmargin.problems.dual import Floats

# H(b) meets s when it misses it by less than this share of the terms summed: several times what float64 sums lose.
ROUNDING = 1e-13


def best_intercept(a: Floats, lo: Floats, hi: Floats, d: Floats, e: Floats, total: float) -> float:
    """The midpoint of the interval of minimisers, or its finite end, or 0 when every b is one."""
    centre = np.clip(0.0, lo, hi)
    # A jump to infinity forbids every b beyond it.
    forbidden_below = np.max((a - e)[(d == 0) & np.isinf(hi)], initial=-np.inf)
    forbidden_above = np.min((a + e)[(d == 0) & np.isinf(lo)], initial=np.inf)
    if forbidden_below > forbidden_above:  # no b has a finite primal: violate both sides equally
        return float(forbidden_below + forbidden_above) / 2
    climbs = _ramps(a - d * centre - e, hi - centre, d)
    sinks = _ramps(-(a - d * centre + e), centre - lo, d)
    sum_of_maximisers = Staircase(climbs, sinks, float(centre.sum()), float(np.abs(centre).sum()))
    first = _first_at_most(sum_of_maximisers, total)
    last = -_first_at_most(sum_of_maximisers.mirrored(), -total)
    first, last = (min(max(b, forbidden_below), forbidden_above) for b in (first, last))
    ends = [b for b in (first, last) if np.isfinite(b)]
    return float(sum(ends) / len(ends)) if ends else 0.0


class Ramps(NamedTuple):
    """Functions of b that are 0 from `foot` on, and climb to `height` as b falls to `top`."""

    foot: Floats
    top: Floats
    height: Floats
    rate: Floats

    def at(self, b: float, closed: bool) -> Floats:
        """The values at b; a jump at b itself has been taken when closed."""
        climbed = np.clip(self.rate * (self.foot - b), 0.0, self.height)
        full = b <= self.top if closed else (b < self.top) | ((b == self.top) & (self.top < self.foot))
        return np.where(full, self.height, climbed)


def _ramps(foot: Floats, height: Floats, d: Floats) -> Ramps:
    keep = (height > 0) & ~((d == 0) & np.isinf(height))
    foot, height, d = foot[keep], height[keep], d[keep]
    top = foot - d * height
    # The rate that fits the rounded ends; a ramp too short for float64 is a jump.
    finite = np.isfinite(height)
    rate = np.zeros_like(d)
    np.divide(1.0, d, out=rate, where=~finite)
    np.divide(height, foot - top, out=rate, where=finite & (top < foot))
    return Ramps(foot, top, height, rate)


@dataclass(frozen=True, eq=False)
class Staircase:
    """H(b), the sum of the maximisers."""

    climbs: Ramps
    sinks: Ramps  # functions of -b
    base: float
    size: float  # sum of the absolute values that base is the sum of

    def mirrored(self) -> Staircase:
        """The function -H(-b), nonincreasing as well."""
        return Staircase(self.sinks, self.climbs, -self.base, self.size)

    def breakpoints(self) -> Floats:
        """Where the slope of H changes, sorted."""
        points = np.unique(np.concatenate([self.climbs.foot, self.climbs.top, -self.sinks.foot, -self.sinks.top]))
        return points[np.isfinite(points)]

    def limit(self, b: float, left: bool) -> tuple[float, float]:
        """The left (larger) or right limit of H at b, and the size of what rounding may have cost it."""
        up = float(self.climbs.at(b, closed=left).sum())
        down = float(self.sinks.at(-b, closed=not left).sum())
        return self.base + up - down, ROUNDING * (self.size + up + down)

    def slope_outside(self, left: bool) -> float:
        """The absolute slope of H before its first breakpoint or after its last."""
        ramps = self.climbs if left else self.sinks
        return float(ramps.rate[np.isinf(ramps.top)].sum())


def _first_at_most(h: Staircase, total: float) -> float:
    """The infimum of the b at which H(b) is at most the total: -inf or inf when it always or never is."""
    points = h.breakpoints()

    def at_most(value: tuple[float, float]) -> bool:
        return value[0] <= total + value[1]

    before, after = -1, len(points)  # H exceeds the total right of points[before], and not right of points[after]
    while after - before > 1:
        middle = (before + after) // 2
        if at_most(h.limit(points[middle], left=False)):
            after = middle
        else:
            before = middle
    if after < len(points) and not at_most(h.limit(points[after], left=True)):
        return float(points[after])
    if len(points) == 0:
        return -np.inf if at_most((h.base, ROUNDING * h.size)) else np.inf
    if before < 0 or after == len(points):
        return _on_outer_ray(h, points, total, left=before < 0)
    high, low = h.limit(points[before], left=False)[0], h.limit(points[after], left=True)[0]
    share = min(max((high - total) / (high - low), 0.0), 1.0) if high > low else 0.0
    return float(points[before] + share * (points[after] - points[before]))


def _on_outer_ray(h: Staircase, points: Floats, total: float, left: bool) -> float:
    """Where H meets the total before its first breakpoint (left) or after its last."""
    slope = h.slope_outside(left)
    if slope == 0.0:
        return -np.inf if left else np.inf
    end = points[0] if left else points[-1]
    return float(end + (h.limit(end, left)[0] - total) / slope)
