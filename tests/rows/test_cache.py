"""The cache of a solver: what is computed, what is found, what stays within the budget."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from maxmargin import kernels, losses
from maxmargin.problems import DualProblem, certify
from maxmargin.rows.computed import ComputedRows
from maxmargin.solvers import smo
from maxmargin.solvers.loop import Limits

N = 1200


def problem(kernel=None, n=N):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
    return DualProblem(ComputedRows(kernel or kernels.Gaussian(0.5), X), losses.Hinge().dual(y, 100.0))


def counters(share: float, **options):
    return smo.solve(problem(), cache_size=share * 4 * N**2 / 2**20, **options).counters


def test_a_cache_for_all_computes_each_row_once():
    found = counters(1.1, shrinking=False)
    assert found["rows_computed"] == found["cache_misses"] <= N
    assert found["entries_computed"] == found["rows_computed"] * N
    assert found["cache_hits"] > found["cache_misses"]
    assert found["cache_bytes"] == pytest.approx(found["rows_computed"] * 4 * N, rel=0.03)  # rows are padded


def test_a_smaller_cache_keeps_its_budget_and_computes_more():
    found = [counters(share, shrinking=False) for share in (1.1, 0.3, 0.1, 0.02)]
    rows = [c["rows_computed"] for c in found]
    assert rows == sorted(rows)
    assert rows[-1] > 2 * rows[0]
    for share, c in zip((1.1, 0.3, 0.1, 0.02), found, strict=True):
        assert c["cache_bytes"] <= share * 4 * N**2
        assert c["cache_hits"] + c["cache_misses"] >= rows[0]


@pytest.mark.parametrize(("share", "most"), [(1.1, 2.5), (0.1, 0.4)])
def test_rows_hold_the_columns_of_active_variables_only(share, most):
    """While variables are out rows are short, and more of them stay; what returns costs missing columns only."""
    active, whole = counters(share, shrinking="bounds"), counters(share, shrinking=False)
    assert whole["entries_computed"] == whole["rows_computed"] * N
    assert active["entries_computed"] < 0.95 * active["rows_computed"] * N
    assert active["entries_computed"] < most * whole["entries_computed"]


def test_the_values_counted_are_those_asked_of_the_kernel():
    values = [0]

    def kernel(A, B):
        values[0] += len(A) * len(B)
        return kernels.Gaussian(0.5).block(A, B)

    found = smo.solve(problem(kernels.Callable(kernel), n=N), cache_size=100, shrinking=False).counters
    assert values[0] == pytest.approx(found["entries_computed"], abs=2 * N)  # and the diagonal


PEAK = """
import resource
import numpy as np
from maxmargin import kernels, losses
from maxmargin.problems import DualProblem
from maxmargin.rows.computed import ComputedRows
from maxmargin.solvers import smo

def solve(n, megabytes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5)).astype(np.float32)
    y = np.where(X[:, 0] + X[:, 1] ** 2 > 1, 1.0, -1.0)
    problem = DualProblem(ComputedRows(kernels.Gaussian(0.2), X), losses.Hinge().dual(y, 10.0))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = smo.solve(problem, cache_size=megabytes, n_jobs=1)
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024, found.counters["rows_computed"]

solve(100, 1)
print(*solve(30_000, 60))
"""


def test_the_budget_holds_for_the_peak_of_the_process():
    """Beside the rows: the packed data, 0.6 MB, and some dozens of arrays of 0.23 MB."""
    done = subprocess.run([sys.executable, "-c", PEAK], capture_output=True, text=True, check=True)
    megabytes, rows = map(float, done.stdout.split())
    assert rows * 4 * 30_000 / 2**20 > 60  # more rows than the budget holds
    assert megabytes < 60 + 15


@pytest.mark.slow
def test_a_cache_beyond_two_gigabytes():
    """Rows beyond byte 2^31 of the cache are as right as the first: the certificate recomputed from beta agrees."""
    n = 23_600
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, 2)), rng.normal(size=n)
    rows = ComputedRows(kernels.Gaussian(4.0), X)
    large = DualProblem(rows, losses.EpsilonInsensitive(0.0).dual(y, 1.0))
    solution = smo.solve(large, Limits(tol=1e-9, max_iter=30_000), cache_size=2400, shrinking=False)
    assert solution.counters["cache_bytes"] > 2**31
    proved = certify(large, solution.beta)
    assert solution.certificate.dual == pytest.approx(proved.dual, rel=1e-4)
    assert solution.certificate.violation == pytest.approx(proved.violation, rel=1e-3)
