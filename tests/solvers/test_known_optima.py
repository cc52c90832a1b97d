"""Optima of real data that several solvers agree on, to all their digits, in float64."""

from __future__ import annotations

import importlib
import os

import numpy as np
import pytest

import zoo
from maxmargin import kernels
from maxmargin.losses import Hinge
from maxmargin.problems import DualProblem
from maxmargin.rows.computed import ComputedRows
from maxmargin.solvers import smo
from maxmargin.solvers.loop import Limits, Status

AGREEMENT = 2e-10  # of the solvers that the optima come from


def bounded(terms, beta) -> int:
    """Number of coefficients that are exactly at a bound other than 0."""
    return int(np.count_nonzero((beta != 0) & ((beta == terms.lo) | (beta == terms.hi))))


@pytest.mark.parametrize("selection", ["second-order", "hmg"])
@pytest.mark.parametrize("name", zoo.KNOWN)
def test_known_optimum(name, selection):
    known = zoo.KNOWN[name]
    X, y = known.load()
    terms = known.loss.dual(y, known.C)
    problem = DualProblem(ComputedRows(kernels.Gaussian(known.gamma), X, "float64"), terms)
    solution = smo.solve(problem, Limits(tol=1e-7, tol_gap=1e-11), selection=selection)
    assert solution.status is Status.CONVERGED
    assert known.lower * (1 - AGREEMENT) <= solution.certificate.dual
    assert solution.certificate.primal <= known.upper * (1 + AGREEMENT)
    if known.intercept is not None:
        assert solution.certificate.intercepts[0] == pytest.approx(known.intercept, abs=1e-7)
    if known.support is not None:
        assert (np.count_nonzero(solution.beta), bounded(terms, solution.beta)) == known.support


@pytest.mark.parametrize("name", zoo.KNOWN)
def test_default_precision_comes_within_its_tolerance(name):
    known = zoo.KNOWN[name]
    X, y = known.load()
    terms = known.loss.dual(y, known.C)
    solution = smo.solve(DualProblem(ComputedRows(kernels.Gaussian(known.gamma), X), terms))
    assert solution.status is Status.CONVERGED
    assert solution.certificate.violation <= 1e-3
    assert solution.certificate.dual == pytest.approx(known.lower, rel=5e-4)
    assert solution.certificate.primal >= known.lower * (1 - 1e-7)


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.skipif("MAXMARGIN_DATA" not in os.environ, reason="MAXMARGIN_DATA names no folder of data sets")
@pytest.mark.parametrize(
    ("name", "objective", "within", "intercept", "support", "free_choice"),
    [
        ("spam", 27019.13943, 5e-6, -1.7969939, (838, 537), 1),
        ("adult-a1a", 567.78675664, 1e-8, -0.4285148, (691, 585), 0),  # 567.786756632908 in extended precision
    ],
)
def test_known_optimum_of_the_texts(name, objective, within, intercept, support, free_choice, monkeypatch):
    """To the digits given; the coefficients of examples that stand twice may be divided between them in any way."""
    monkeypatch.syspath_prepend(os.environ["MAXMARGIN_DATA"])
    load = importlib.import_module("load")
    given = load.problem(name)
    X = given.X
    if name == "spam":  # the file's decimals, which float32 does not hold
        X = zoo.standardised(np.round(load.load("spambase")[0].astype(np.float64), 3))
    terms = Hinge().dual(given.y, given.C)
    problem = DualProblem(ComputedRows(kernels.Gaussian(given.gamma), X, "float64"), terms)
    solution = smo.solve(problem, Limits(tol=1e-8, tol_gap=1e-11))
    assert solution.status is Status.CONVERGED
    assert solution.certificate.dual == pytest.approx(objective, abs=within)
    assert solution.certificate.intercepts[0] == pytest.approx(intercept, abs=5e-8)
    assert np.count_nonzero(solution.beta) == pytest.approx(support[0], abs=free_choice)
    assert bounded(terms, solution.beta) == pytest.approx(support[1], abs=free_choice)
