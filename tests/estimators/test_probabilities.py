"""Probabilities: consistent with predict, calibrated, weighted, and the same every time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.base import clone

from estimators.cases import classes
from maxmargin.estimators import LSSVC, SVC, NuSVC, calibration

pytestmark = pytest.mark.filterwarnings("ignore:The `probability` parameter:FutureWarning")

MODELS = [
    SVC(probability=True),
    SVC(probability=True, multiclass="one-vs-rest"),
    SVC(probability=True, break_ties=True),
    NuSVC(probability=True, nu=0.2),
    LSSVC(probability=True),
]


@pytest.mark.parametrize("centers", [2, 3, 6])
@pytest.mark.parametrize("model", MODELS)
def test_the_most_probable_class_is_the_predicted_one(model, centers):
    X, y = classes(150, centers, spread=4.0)
    model = clone(model).fit(X, y)
    grid = np.random.RandomState(1).uniform(X.min(), X.max(), (500, 3))
    p = model.predict_proba(grid)
    assert (p >= 0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(grid))
    np.testing.assert_allclose(np.exp(model.predict_log_proba(grid)), p, atol=1e-12)


def sample(n, random):
    """Two classes of equal weight whose log odds are 2 x."""
    y = random.rand(n) < 0.5
    return (random.randn(n) + np.where(y, 1.0, -1.0))[:, None], y


def test_probabilities_are_calibrated():
    random = np.random.RandomState(0)
    X, y = sample(600, random)
    model = SVC(kernel="linear", probability=True).fit(X, y)
    grid = np.linspace(-2, 2, 41)[:, None]
    np.testing.assert_allclose(model.predict_proba(grid)[:, 1], 1 / (1 + np.exp(-2 * grid[:, 0])), atol=0.08)


def test_the_two_sides_have_their_own_slopes():
    scores = np.concatenate([np.full(1000, -1.0), np.full(1000, 1.0)])
    y = np.where(np.arange(2000) % 100 < np.where(scores < 0, 60, 90), np.sign(scores), -np.sign(scores))
    below, above = calibration.fit_slopes(scores, y, np.ones(2000))
    assert 1 / (1 + np.exp(-below)) == pytest.approx(0.6, abs=0.02)
    assert 1 / (1 + np.exp(-above)) == pytest.approx(0.9, abs=0.02)


def test_a_side_without_examples_takes_the_slope_of_the_other():
    below, above = calibration.fit_slopes(np.array([1.0, 2.0, 3.0]), np.array([1.0, -1.0, 1.0]), np.ones(3))
    assert below == pytest.approx(above, rel=1e-4)


def test_slopes_are_positive_where_scores_are_useless():
    below, above = calibration.fit_slopes(np.array([-1.0, 1.0] * 20), np.array([1.0, -1.0] * 20), np.ones(40))
    assert below > 0
    assert above > 0
    assert calibration.fit_slopes(np.zeros(4), np.array([1.0, -1.0, 1.0, -1.0]), np.ones(4))[0] > 0


def test_slopes_take_weights_as_repetition():
    random = np.random.RandomState(3)
    scores, y, weights = random.randn(40), np.sign(random.randn(40)), random.randint(1, 5, 40)
    repeated = calibration.fit_slopes(np.repeat(scores, weights), np.repeat(y, weights), np.ones(weights.sum()))
    np.testing.assert_allclose(calibration.fit_slopes(scores, y, weights.astype(float)), repeated, rtol=1e-5)


def test_weights_move_probabilities():
    X, y = classes(150, 2, spread=5.0)
    even = SVC(probability=True).fit(X, y).predict_proba(X)[:, 0]
    by_sample = SVC(probability=True).fit(X, y, sample_weight=np.where(y == "a", 5.0, 1.0)).predict_proba(X)[:, 0]
    by_class = SVC(probability=True, class_weight={"a": 5.0, "b": 1.0}).fit(X, y).predict_proba(X)[:, 0]
    assert by_sample.mean() > even.mean() + 0.1
    assert by_class.mean() > even.mean() + 0.1


@pytest.mark.parametrize("random_state", [None, 0, 7])
def test_the_same_every_time(random_state):
    X, y = classes(100)
    first, second = (SVC(probability=True, random_state=random_state).fit(X, y).predict_proba(X) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_another_seed_deals_other_folds():
    codes = np.arange(50) % 3
    assert not np.array_equal(calibration.assign_folds(codes, 1), calibration.assign_folds(codes, 2))


@pytest.mark.parametrize("sizes", [[10, 10], [7, 3, 25], [1, 1, 1], [4, 9]])
def test_folds_are_balanced_within_classes_and_over_all(sizes):
    codes = np.repeat(np.arange(len(sizes)), sizes)
    folds = calibration.assign_folds(codes, None)
    for c in range(len(sizes)):
        counts = np.bincount(folds[codes == c], minlength=calibration.FOLDS)
        assert counts.max() - counts.min() <= 1
    counts = np.bincount(folds, minlength=calibration.FOLDS)
    assert counts.max() - counts.min() <= 1


def test_classes_with_one_example():
    X = np.array([[0.0], [1.0], [1.1], [1.2], [2.0], [3.0]])
    y = [0, 1, 1, 1, 1, 2]
    model = SVC(probability=True).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X).argmax(axis=1), model.predict(X))


@pytest.mark.parametrize("model", [SVC(), NuSVC(nu=0.2)])
def test_probabilities_do_not_change_the_model(model):
    X, y = classes(100)
    plain, calibrated = clone(model).fit(X, y), clone(model).set_params(probability=True).fit(X, y)
    np.testing.assert_allclose(calibrated.decision_function(X), plain.decision_function(X), atol=1e-9)


def test_parameters_of_the_curve():
    X, y = classes(100)
    model = SVC(probability=True).fit(X, y)
    with pytest.warns(FutureWarning, match="probA_"):
        assert (model.probA_ < 0).all()
    with pytest.warns(FutureWarning, match="probB_"):
        assert model.probB_.tolist() == [0.0] * 3


def probability_vectors():
    return hnp.arrays(float, st.integers(2, 6), elements=st.floats(0.0, 1.0)).map(
        lambda p: (p + 1e-6) / (p + 1e-6).sum()
    )


@given(probability_vectors(), st.data())
def test_make_consistent_is_the_projection(p, data):
    predicted = data.draw(st.integers(0, len(p) - 1))
    q = calibration.make_consistent(p[None], np.array([predicted]))[0]
    assert q.sum() == pytest.approx(1.0, abs=1e-12)
    assert q.argmax() == predicted
    assert (q >= 0).all()
    lead = np.delete(q[predicted] - q, predicted)
    assert (lead >= 0.99 * calibration.MARGIN).all()
    # The projection's conditions: only rivals that touch the predicted class were lowered, all to one level.
    change = q - p
    others = np.delete(change, predicted)
    assert (others <= 1e-12).all()
    touching = lead <= 1.01 * calibration.MARGIN
    assert np.abs(others[~touching]).max(initial=0.0) <= 1e-12
    assert change[predicted] == pytest.approx(-others.sum(), abs=1e-12)
