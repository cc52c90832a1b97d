r"""One problem for each pair of classes, in LIBSVM's order, signs and layout.

The problem of the pair (i, j), i < j, has class i on its positive side. Its coefficients go to the column of their
support vector: for a vector of class i to row j - 1 of the layout, for a vector of class j to row i.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maxmargin.reductions.reduction import Codes, Floats, Task


@dataclass(frozen=True)
class OneVsOne:
    """Reduction to one binary problem for each pair of classes; the class with the most votes wins."""

    n_classes: int

    def pairs(self) -> Iterator[tuple[int, int]]:
        """The classes (positive side, negative side) of each task."""
        for i in range(self.n_classes):
            for j in range(i + 1, self.n_classes):
                yield i, j

    def tasks(self, codes: Codes) -> list[Task]:
        """One task for each pair: the rows of its two classes."""
        tasks = []
        for positive, negative in self.pairs():
            ids = np.flatnonzero((codes == positive) | (codes == negative))
            tasks.append(Task(ids, np.where(codes[ids] == positive, 1.0, -1.0)))
        return tasks

    def layout(self, codes: Codes, tasks: Sequence[Task], coefficients: Sequence[Floats]) -> Floats:
        """Shape (n_classes - 1, n)."""
        layout = np.zeros((self.n_classes - 1, len(codes)))
        for (i, j), task, beta in zip(self.pairs(), tasks, coefficients, strict=True):
            row = np.where(codes[task.ids] == i, j - 1, i)
            layout[row, task.ids] = beta
        return layout

    def decide(self, K: NDArray, layout: Floats, n_support: NDArray) -> Floats:
        """Decision values without intercepts; each support vector is multiplied with its own class's rows only."""
        ends = np.cumsum(n_support)
        parts = [K[:, e - c : e] @ layout[:, e - c : e].T for e, c in zip(ends, n_support, strict=True)]
        columns = []
        for i, j in self.pairs():
            columns.append(parts[i][:, j - 1] + parts[j][:, i])
        return np.stack(columns, axis=1)

    def coefficients(self, layout: Floats, n_support: NDArray) -> Floats:
        """Shape (n_pairs, n_support_vectors); a pair's row is zero outside its two classes."""
        codes = np.repeat(np.arange(self.n_classes), n_support)
        out = np.zeros((self.n_classes * (self.n_classes - 1) // 2, layout.shape[1]))
        for row, (i, j) in zip(out, self.pairs(), strict=True):
            for c, source in ((i, j - 1), (j, i)):
                row[codes == c] = layout[source, codes == c]
        return out

    def predict(self, decisions: Floats) -> Codes:
        """Most votes; the first of the tied classes. As in LIBSVM a decision value of 0 counts for the later class."""
        votes = np.zeros((len(decisions), self.n_classes), dtype=np.intp)
        for dec, (i, j) in zip(decisions.T, self.pairs(), strict=True):
            votes[:, i] += dec > 0
            votes[:, j] += dec <= 0
        return np.argmax(votes, axis=1)

    def scores(self, decisions: Floats) -> Floats:
        r"""Votes plus the summed decision values s of a class squeezed into (-1/3, 1/3) by s / (3 (abs(s) + 1)).

        As in scikit-learn a decision value of 0 is here a vote for the earlier class.
        """
        votes = np.zeros((len(decisions), self.n_classes))
        sums = np.zeros_like(votes)
        for dec, (i, j) in zip(decisions.T, self.pairs(), strict=True):
            sums[:, i] += dec
            sums[:, j] -= dec
            votes[:, i] += dec >= 0
            votes[:, j] += dec < 0
        return votes + sums / (3 * (np.abs(sums) + 1))

    def probabilities(self, positive: Floats) -> Floats:
        r"""Pairwise coupling, the second method of Wu, Lin and Weng (2004).

        With r_ij the probability of class i among {i, j} it is the minimiser of
        :math:`\sum_i \sum_{j \ne i} (r_{ji} p_i - r_{ij} p_j)^2` subject to :math:`\sum_i p_i = 1`. It is nonnegative
        and solves the linear system [Q e; e' 0] [p; b] = [0; 1], Q_ii = sum_j r_ji^2, Q_ij = -r_ji r_ij.
        """
        k = self.n_classes
        r = np.zeros((len(positive), k, k))
        for column, (i, j) in zip(positive.T, self.pairs(), strict=True):
            r[:, i, j], r[:, j, i] = column, 1.0 - column
        system = np.zeros((len(positive), k + 1, k + 1))
        system[:, :k, :k] = -r * r.transpose(0, 2, 1)
        diagonal = np.arange(k)
        system[:, diagonal, diagonal] = (r**2).sum(axis=1)
        system[:, k, :k] = system[:, :k, k] = 1.0
        right = np.zeros((len(positive), k + 1, 1))
        right[:, k] = 1.0
        p = np.maximum(np.linalg.solve(system, right)[:, :k, 0], 0.0)
        return p / p.sum(axis=1, keepdims=True)
