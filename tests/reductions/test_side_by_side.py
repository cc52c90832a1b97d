"""Problems solved side by side: shared rows, limits, threads, and what happens when one fails."""

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from maxmargin.kernels import Gaussian
from maxmargin.losses import Hinge
from maxmargin.reductions import OneVsOne, OneVsRest, Part, solve_side_by_side
from maxmargin.reductions.side_by_side import Abandoned, shared_rows
from maxmargin.rows.computed import ComputedRows
from maxmargin.rows.precomputed import PrecomputedRows
from maxmargin.rows.shared import blocks
from maxmargin.solvers import smo
from maxmargin.solvers.loop import Limits

X = np.random.RandomState(0).randn(60, 3)
CODES = np.arange(60) % 3
ROWS = ComputedRows(Gaussian(0.5), X, "float64")


def parts_of(reduction):
    return [Part(task.ids, Hinge().dual(task.y, 1.0)) for task in reduction.tasks(CODES)]


def solve_all(parts, rows=ROWS, solve=smo.solve, limits=None, n_jobs=1):
    starts = [None] * len(parts)
    return solve_side_by_side(solve, rows, parts, limits or Limits(), cache_size=10.0, starts=starts, n_jobs=n_jobs)


@pytest.mark.parametrize("reduction", [OneVsOne(3), OneVsRest(3)])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_each_part_is_solved_as_if_alone(reduction, n_jobs):
    parts = parts_of(reduction)
    found = solve_all(parts, n_jobs=n_jobs)
    for part, solution in zip(parts, found, strict=True):
        alone = smo.solve(part.problem(ROWS), Limits())
        assert solution.certificate.primal == pytest.approx(alone.certificate.primal, rel=1e-8)
        np.testing.assert_allclose(solution.f, alone.f, atol=1e-7)


def test_rows_are_shared_where_several_problems_compute_them():
    parts = parts_of(OneVsRest(3))
    shared = shared_rows(ROWS, parts, budget=1e9, n_jobs=1)
    for part in parts:
        part.problem(shared).rows.block(np.arange(60))
    assert shared.store.pieces_computed == 60
    assert shared.store.hits == 2 * 60
    assert shared_rows(ROWS, parts[:1], budget=1e9, n_jobs=1) is ROWS
    there = PrecomputedRows(ROWS.block(np.arange(60)))
    assert shared_rows(there, parts, budget=1e9, n_jobs=1) is there


@pytest.mark.parametrize("budget", [1e9, 2000.0])
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_shared_rows_are_the_rows(precision, budget):
    rows = ROWS.with_precision(precision)
    for reduction in (OneVsOne(3), OneVsRest(3)):
        parts = parts_of(reduction)
        shared = shared_rows(rows, parts, budget, n_jobs=2)
        with ThreadPoolExecutor(4) as pool:
            blocks = pool.map(lambda part, rows=shared: part.problem(rows).rows.block(np.arange(len(part.ids))), parts)
            for part, block in zip(parts, blocks, strict=True):
                np.testing.assert_array_equal(block, rows.block(part.ids, part.ids))


def test_blocks_are_the_coarsest_that_parts_are_made_of():
    found = blocks(6, [np.array([0, 1, 2]), np.array([2, 3, 4])])
    assert sorted(block.tolist() for block in found) == [[0, 1], [2], [3, 4], [5]]


def test_cache_and_threads_are_divided():
    given = []

    def solve(problem, limits, **options):
        given.append((options["cache_size"], options["n_jobs"]))
        return smo.solve(problem, limits, **options)

    solve_all(parts_of(OneVsOne(3)), solve=solve, n_jobs=2)
    assert given == [(5.0, 1)] * 3


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_failure_stops_the_problems_that_still_run(n_jobs):
    stopped = []

    def solve(problem, limits, **options):
        if len(stopped) == 0 and problem.terms.p[0] < 0:
            stopped.append("failed")
            raise ValueError("cannot")
        try:
            for _ in range(500):
                limits.callback(None)
                time.sleep(0.01)
        except Abandoned:
            stopped.append("abandoned")
            raise
        return smo.solve(problem, Limits(), **options)

    began = time.perf_counter()
    with pytest.raises(ValueError, match="cannot"):
        solve_all(parts_of(OneVsRest(3)), solve=solve, n_jobs=n_jobs)
    assert time.perf_counter() - began < 3.0
    assert stopped[0] == "failed"
    assert "abandoned" in stopped or n_jobs == 1
