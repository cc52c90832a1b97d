"""The table of solver="auto"."""

from __future__ import annotations

import numpy as np
import pytest

import maxmargin
from maxmargin import SVC, losses
from maxmargin.solvers import auto

N = auto.LARGE


def terms(n: int, loss=None):
    """Of n examples."""
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    return (loss or losses.Hinge()).dual(y, 1.0)


@pytest.mark.parametrize(
    ("problem", "options", "expected"),
    [
        (terms(N - 1), {}, "smo"),
        (terms(N), {}, "working-set"),
        (terms(N), {"shrinking": False}, "working-set"),
        (terms(1000), {"tol_gap": 1e-8}, "smo"),
        (terms(1001), {"tol_gap": 1e-8}, "working-set"),
        (terms(N), {"selection": "hmg"}, "smo"),
        (terms(N), {"shrinking": "history"}, "smo"),
        (terms(N, losses.LeastSquares()), {}, "smo"),
        (terms(N, losses.EpsilonInsensitive(0.1)), {}, "working-set"),
        (terms(N, losses.SquaredHinge()), {}, "working-set"),
    ],
)
def test_what_auto_means(problem, options, expected):
    assert auto.choose_solver(problem, **options) == expected


@pytest.fixture(scope="module")
def large():
    """Two overlapping classes, more than pairs are for."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N + 500, 5))
    return X, (X[:, 0] + rng.normal(size=len(X)) > 0).astype(int)


def test_solvers_agree(large):
    X, y = large
    fits = [SVC(solver=solver, tol=1e-4).fit(X, y) for solver in ("auto", "smo", "working-set")]
    assert all(model.status_ == "converged" for model in fits)
    for model in fits:
        assert model.dual_objective_ == pytest.approx(fits[1].dual_objective_, rel=1e-4)
        np.testing.assert_allclose(model.decision_function(X[:50]), fits[1].decision_function(X[:50]), atol=5e-3)


def test_gap_that_is_asked_for(large):
    model = SVC(tol_gap=1e-9).fit(*large)
    assert model.status_ == "converged"
    assert model.duality_gap_ <= 1e-9
    assert model.certify().gap <= 1.1e-9


@pytest.mark.parametrize("options", [{"selection": "mvp"}, {"shrinking": "history"}, {"shrinking": "bounds"}])
def test_working_sets_refuse_what_is_for_pairs(options, large):
    name, value = next(iter(options.items()))
    with pytest.raises(ValueError, match=f"{name}='{value}' is for the pair solver"):
        SVC(solver="working-set", **options).fit(*large)


def test_several_classes(large):
    X, _ = large
    y = np.digitize(X[:, 0] + 0.3 * X[:, 1], [-0.5, 0.5])
    model = SVC(solver="working-set").fit(X, y)
    assert (model.status_ == "converged").all()
    assert model.score(X, y) > 0.9


def test_threads_and_row_order(large):
    X, y = large
    one = SVC(n_jobs=1, tol=1e-5).fit(X, y)
    two = SVC(n_jobs=2, tol=1e-5).fit(X, y)
    assert two.dual_objective_ == pytest.approx(one.dual_objective_, rel=1e-9)
    order = np.random.default_rng(1).permutation(len(y))
    other = SVC(tol=1e-5).fit(X[order], y[order])
    assert other.dual_objective_ == pytest.approx(one.dual_objective_, rel=1e-5)


def test_sample_weights_are_repetitions(large):
    X, y = large
    weight = 1 + np.arange(len(y)) % 2
    weighted = SVC(gamma=0.2, tol=1e-5).fit(X, y, sample_weight=weight)
    repeated = SVC(gamma=0.2, tol=1e-5).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert weighted.dual_objective_ == pytest.approx(repeated.dual_objective_, rel=1e-6)
    np.testing.assert_allclose(weighted.decision_function(X[:50]), repeated.decision_function(X[:50]), atol=1e-3)


def test_memory_is_kept_and_given_back(large):
    maxmargin.release_memory()
    SVC(solver="working-set").fit(*large)
    assert maxmargin.release_memory() > 2**20
    assert maxmargin.release_memory() == 0
