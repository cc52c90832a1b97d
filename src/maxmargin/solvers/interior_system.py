r"""A dual problem in smooth parts, and the Newton system of the interior point method in them.

A variable whose kink lies inside its bounds is the difference of two parts, :math:`\beta = u - v` with
:math:`0 \le u \le hi` and :math:`0 \le v \le -lo`, and pays :math:`(p+e)u + (e-p)v + \tfrac12 d(u^2 + v^2)`, which is
the same where one of them is 0, and more elsewhere. So the problem is smooth in its parts x, and the coefficients of
the rows of K are A x, with one entry of +-1 for each part:

.. math::
    \min_x\; \tfrac12 (Ax)^T K (Ax) + c^T x + \tfrac12 x^T D x \quad\text{s.t.}\quad E^T x = sums,\;
    \text{a slack } s_k = \pm(x - bound) \ge 0 \text{ for each finite bound } k

T has the signs of the slacks. In the Newton system

.. math::
    \begin{pmatrix} A^T K A + \Theta & -E \\ E^T & 0 \end{pmatrix}
    \begin{pmatrix} \Delta x \\ \Delta\nu \end{pmatrix} = \begin{pmatrix} r \\ missing \end{pmatrix}

with a positive diagonal Theta the parts are eliminated: with :math:`W = A\Theta^{-1}A^T`, which is diagonal, what is
factorised is n x n, whatever the number of variables that share a row,

.. math::
    B = I + W^{1/2} K W^{1/2} = L L^T.

Its eigenvalues are at least 1, also where K is singular; rows whose parts are all fixed drop out.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from maxmargin.problems import Terms

Floats = NDArray[np.float64]

BLOCK = 64  # rows of B that are made at once


class Parts:
    """The smooth problem in x, and A, E and T as maps."""

    def __init__(self, terms: Terms) -> None:
        kinked = (terms.e > 0) & (terms.lo < 0) & (terms.hi > 0)
        split = np.flatnonzero(kinked)
        self.of = np.concatenate([np.arange(terms.m), split])
        self.row, self.d = self.of % terms.n, terms.d[self.of]
        self.sign = np.where(np.arange(len(self.of)) < terms.m, 1.0, -1.0)
        e = np.where(kinked | (terms.lo >= 0), terms.e, -terms.e)
        self.c = np.concatenate([terms.p + e, (terms.e - terms.p)[split]])
        self.lo = np.concatenate([np.where(kinked, 0.0, terms.lo), np.zeros(len(split))])
        self.hi = np.concatenate([terms.hi, -terms.lo[split]])
        self.m, self.n, self.sums = terms.m, terms.n, terms.sums
        self.group = None if terms.group is None else terms.group[self.of]
        self.movable = self.lo < self.hi
        self.lower = np.flatnonzero(self.movable & np.isfinite(self.lo))
        self.upper = np.flatnonzero(self.movable & np.isfinite(self.hi))

    def split(self, beta: Floats) -> Floats:
        """The parts of beta."""
        return np.clip(self.sign * beta[self.of], self.lo, self.hi)

    def beta(self, x: Floats) -> Floats:
        """What x are the parts of."""
        return _sums(self.of, self.sign * x, self.m)

    def A(self, x: Floats) -> Floats:
        """The coefficients of the rows of K."""
        return _sums(self.row, self.sign * x, self.n)

    def E(self, nu: Floats) -> Floats:
        """What the multipliers of the sums are to each part."""
        return np.zeros(len(self.of)) if self.group is None else self.sign * nu[self.group]

    def Et(self, x: Floats) -> Floats:
        """The sums."""
        return np.empty(0) if self.group is None else _sums(self.group, self.sign * x, len(self.sums))

    def T(self, z: Floats) -> Floats:
        """What the multipliers of the slacks are to each part."""
        below, above = self.sides(z)
        return below - above

    def Tt(self, x: Floats) -> Floats:
        """How the slacks change with x: those of the lower bounds, then those of the upper."""
        return np.concatenate([x[self.lower], -x[self.upper]])

    def sides(self, z: Floats) -> tuple[Floats, Floats]:
        """What belongs to the lower and to the upper bound of each part; 0 where it is not finite."""
        below, above = np.zeros((2, len(self.of)))
        below[self.lower], above[self.upper] = z[: len(self.lower)], z[len(self.lower) :]
        return below, above


class Newton:
    """The factorised system.

    Parameters
    ----------
    parts : Parts
    K : (n, n) float32 or float64
    inverse : float64
        1 / Theta by part, 0 where the part is not to move.
    work : (n * n,) float64
        Room for B, which is this system's until the next takes it.

    Raises
    ------
    scipy.linalg.LinAlgError
        When B is not positive definite.
    """

    def __init__(self, parts: Parts, K: NDArray, inverse: Floats, work: Floats) -> None:
        self.parts, self.inverse = parts, inverse
        W = _sums(parts.row, inverse, parts.n)
        self.share = np.divide(inverse, W[parts.row], out=np.zeros_like(inverse), where=inverse > 0)
        self.used = np.flatnonzero(W > 0)
        self.root = np.sqrt(W[self.used])
        k = len(self.used)
        B = work[: k * k].reshape(k, k)
        for first in range(0, k, BLOCK):  # of which only the lower triangle is read
            rows, left = slice(first, first + BLOCK), slice(0, first + BLOCK)
            taken = K[rows, left] if k == parts.n else K[np.ix_(self.used[rows], self.used[left])]
            np.multiply(taken, self.root[left], out=B[rows, left])
            B[rows, left] *= self.root[rows, None]
        B.flat[:: k + 1] += 1.0
        self.factor = cho_factor(B.T, overwrite_a=True, check_finite=False)  # transposed, as LAPACK orders columns
        G = len(parts.sums)
        self.columns = np.array([self._inverse(parts.E(unit)) for unit in np.eye(G)]).reshape(G, len(inverse)).T
        schur = np.array([parts.Et(column) for column in self.columns.T]).reshape(G, G)
        self.scale = np.sqrt(np.where(np.diagonal(schur) > 0, np.diagonal(schur), 1.0))
        self.schur = schur / np.outer(self.scale, self.scale)

    def solve(self, r: Floats, missing: Floats) -> tuple[Floats, Floats]:
        """dx and dnu with (A' K A + Theta) dx - E dnu = r and E' dx = missing."""
        dx = self._inverse(r)
        if not len(missing):
            return dx, missing
        lacking = (missing - self.parts.Et(dx)) / self.scale
        dnu = np.linalg.lstsq(self.schur, lacking, rcond=None)[0] / self.scale  # a sum of fixed variables has none
        return dx + self.columns @ dnu, dnu

    def _inverse(self, r: Floats) -> Floats:
        r"""(A' K A + Theta)^-1 r.

        With the mean :math:`\bar r = W^{-1} A \Theta^{-1} r` over the parts that share a row, the rows' coefficients
        change by :math:`\delta = W^{1/2} B^{-1} W^{1/2} \bar r`, and the parts by :math:`\Theta^{-1} (r - A^T \bar r +
        A^T W^{-1} \delta)`: no digits cancel, as they would in :math:`r - A^T K \delta`.
        """
        parts = self.parts
        mean, delta = parts.A(self.share * r), np.zeros(parts.n)
        delta[self.used] = self.root * cho_solve(self.factor, self.root * mean[self.used], check_finite=False)
        return self.inverse * (r - parts.sign * mean[parts.row]) + parts.sign * self.share * delta[parts.row]


def _sums(ids: NDArray[np.integer], values: Floats, n: int) -> Floats:
    """The sum of the values of each id below n."""
    return np.bincount(ids, values, n).astype(np.float64, copy=False)
