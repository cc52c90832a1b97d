"""Reductions: tasks, layouts, votes and coupled probabilities."""

import numpy as np
import pytest
from scipy.optimize import minimize

from maxmargin.reductions import OneVsOne, OneVsRest

CODES = np.array([0, 2, 1, 0, 2, 2, 1, 3])
REDUCTIONS = [OneVsOne(4), OneVsRest(4)]


def test_pairs_in_order_with_the_earlier_class_positive():
    tasks = OneVsOne(4).tasks(CODES)
    sides = [(set(CODES[t.ids[t.y > 0]]), set(CODES[t.ids[t.y < 0]])) for t in tasks]
    assert sides == [({i}, {j}) for i in range(4) for j in range(i + 1, 4)]
    assert all((np.diff(task.ids) > 0).all() for task in tasks)


def test_each_class_against_all_others():
    for c, task in enumerate(OneVsRest(4).tasks(CODES)):
        np.testing.assert_array_equal(task.ids, np.arange(8))
        np.testing.assert_array_equal(task.y > 0, c == CODES)


@pytest.mark.parametrize("reduction", [*REDUCTIONS, OneVsOne(2)])
def test_decisions_from_the_layout_are_those_of_the_tasks(reduction):
    random = np.random.RandomState(0)
    codes = CODES % reduction.n_classes
    K = random.randn(5, 8)
    tasks = reduction.tasks(codes)
    betas = [random.randn(len(task.ids)) for task in tasks]
    expected = np.stack([K[:, task.ids] @ beta for task, beta in zip(tasks, betas, strict=True)], axis=1)
    order = np.argsort(codes, kind="stable")
    layout = reduction.layout(codes, tasks, betas)[:, order]
    n_support = np.bincount(codes, minlength=reduction.n_classes)
    np.testing.assert_allclose(reduction.decide(K[:, order], layout, n_support), expected)
    np.testing.assert_allclose(K[:, order] @ reduction.coefficients(layout, n_support).T, expected)


def test_votes_and_ties_are_libsvms():
    # Pairs 01, 02, 12: a cycle of one vote each goes to class 0, a decision value of 0 to the later class.
    decisions = np.array([[1.0, -1.0, 1.0], [-1.0, -1.0, 1.0], [0.0, 1.0, 1.0], [0.0, 0.0, 0.0]])
    assert OneVsOne(3).predict(decisions).tolist() == [0, 1, 1, 2]


def test_scores_break_ties_by_the_decision_values():
    decisions = np.array([[1.0, -5.0, 1.0]])
    assert OneVsOne(3).predict(decisions).tolist() == [0]
    assert OneVsOne(3).scores(decisions).argmax(axis=1).tolist() == [2]


def test_scores_keep_the_order_of_votes():
    decisions = np.random.RandomState(0).randn(200, 6) * 100
    scores = OneVsOne(4).scores(decisions)
    winners = OneVsOne(4).predict(decisions)
    votes = np.round(scores)
    assert (votes[np.arange(200), winners] == votes.max(axis=1)).all()


def test_largest_value_wins():
    assert OneVsRest(3).predict(np.array([[0.1, 0.5, 0.2], [1.0, 1.0, 0.0]])).tolist() == [1, 0]


def test_coupling_minimises_its_objective():
    random = np.random.RandomState(0)
    positive = random.uniform(0.05, 0.95, (6, 6))
    for r, p in zip(positive, OneVsOne(4).probabilities(positive), strict=True):
        pairs = list(OneVsOne(4).pairs())

        def objective(q, r=r, pairs=pairs):
            return sum(((1 - r[k]) * q[i] - r[k] * q[j]) ** 2 for k, (i, j) in enumerate(pairs))

        constraint = {"type": "eq", "fun": lambda q: q.sum() - 1}
        best = minimize(objective, np.full(4, 0.25), bounds=[(0, 1)] * 4, constraints=constraint, tol=1e-12)
        assert objective(p) <= best.fun + 1e-9
        assert p.sum() == pytest.approx(1.0)


def test_coupling_recovers_consistent_pairs():
    p = np.array([0.5, 0.3, 0.15, 0.05])
    pairs = np.array([[p[i] / (p[i] + p[j]) for i, j in OneVsOne(4).pairs()]])
    np.testing.assert_allclose(OneVsOne(4).probabilities(pairs)[0], p, atol=1e-12)


def test_two_classes_couple_to_the_probability_itself():
    np.testing.assert_allclose(OneVsOne(2).probabilities(np.array([[0.3]])), [[0.3, 0.7]], atol=1e-12)


def test_one_vs_rest_scales_to_the_sum_one():
    np.testing.assert_allclose(OneVsRest(3).probabilities(np.array([[0.2, 0.2, 0.4]])), [[0.25, 0.25, 0.5]])
