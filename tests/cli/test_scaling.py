"""Scaling and svm-scale's file of ranges."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin.data import scaling

X = np.array([[0.0, 2.0, 5.0, -1.0], [1.0, 4.0, 5.0, 0.0], [3.0, 3.0, 5.0, 0.0]])
Y = np.array([10.0, 20.0, 15.0])
SCALED = np.array([[-1.0, -1.0, 0.0, -1.0], [-1 / 3, 1.0, 0.0, 1.0], [1.0, 0.0, 0.0, 1.0]])


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix, sp.csr_array])
def test_every_feature_takes_the_range_and_a_constant_one_becomes_zero(kind: type) -> None:
    found = scaling.fit(kind(X), Y, target=(0.0, 1.0))
    scaled = found.transform(kind(X))
    dense = scaled.toarray() if sp.issparse(scaled) else scaled
    np.testing.assert_allclose(dense, SCALED, atol=1e-15)
    assert (dense[np.isin(SCALED, (-1.0, 1.0))] == SCALED[np.isin(SCALED, (-1.0, 1.0))]).all()
    assert found.transform_target(Y).tolist() == [0.0, 1.0, 0.5]


def test_sparse_data_stay_sparse_where_zero_stays_zero() -> None:
    counts = sp.random(50, 40, density=0.1, random_state=0, format="csr")
    found = scaling.fit(counts, np.zeros(50), 0.0, 1.0)
    scaled = found.transform(counts)
    assert scaled.nnz == counts.nnz
    np.testing.assert_array_equal(scaled.toarray(), found.transform(counts.toarray()))


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("limits", [(-1.0, 1.0), (0.0, 1.0)])
def test_new_data_may_be_narrower_or_wider(kind: type, limits: tuple[float, float]) -> None:
    found = scaling.fit(np.abs(X), Y, *limits)
    wide = found.transform(kind(np.hstack([np.abs(X), np.ones((3, 2))])))
    narrow = found.transform(kind(np.abs(X)[:, :2]))
    wide, narrow = (part.toarray() if sp.issparse(part) else part for part in (wide, narrow))
    full = found.transform(np.abs(X))
    without = found.transform(np.abs(X) * [1, 1, 0, 0])
    np.testing.assert_array_equal(wide, np.hstack([full, np.zeros((3, 2))]))
    np.testing.assert_array_equal(narrow, without)


@pytest.mark.parametrize("target", [None, (-1.0, 2.0)])
def test_ranges_are_restored_exactly(tmp_path: Path, target: tuple[float, float] | None) -> None:
    data = np.random.default_rng(0).normal(size=(20, 5)) / 3
    found = scaling.fit(data, data[:, 0], -1.0, 1.0, target)
    scaling.save(found, tmp_path / "ranges")
    restored = scaling.load(tmp_path / "ranges")
    np.testing.assert_array_equal(restored.transform(data), found.transform(data))
    np.testing.assert_array_equal(restored.transform_target(data[:, 0]), found.transform_target(data[:, 0]))


def test_the_file_is_svm_scale_s(tmp_path: Path) -> None:
    scaling.save(scaling.fit(X, Y, target=(0.0, 1.0)), tmp_path / "ranges")
    assert (tmp_path / "ranges").read_text() == "y\n0 1\n10 20\nx\n-1 1\n1 0 3\n2 2 4\n4 -1 0\n"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "is no file of ranges"),
        ("z\n", "is no file of ranges"),
        ("x\n-1\n", "line 2: '-1' should be 2 numbers"),
        ("x\n-1 1\n1 0 much\n", "line 3: '1 0 much' should be 3 numbers"),
        ("x\n-1 1\n1 0 nan\n", "line 3: '1 0 nan' should be 3 numbers"),
        ("x\n-1 1\n0 0 1\n", "a feature number that is no whole number from 1 on"),
        ("x\n1 -1\n1 0 1\n", "the lower limit 1 must be below the upper limit -1"),
        ("y\n0 1\n", "should be 2 numbers"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "ranges"
    path.write_text(text)
    with pytest.raises(ValueError, match=sentence):
        scaling.load(path)


def test_limits_and_rows_are_checked() -> None:
    with pytest.raises(ValueError, match="the lower limit 1 must be below the upper limit 1"):
        scaling.fit(X, Y, 1.0, 1.0)
    with pytest.raises(ValueError, match="there are no rows"):
        scaling.fit(X[:0], Y[:0])


def test_a_constant_target_becomes_the_lower_limit(tmp_path: Path) -> None:
    found = scaling.fit(X, np.full(3, 7.0), target=(5.0, 10.0))
    scaling.save(found, tmp_path / "ranges")
    for used in (found, scaling.load(tmp_path / "ranges")):
        assert used.transform_target(np.full(3, 7.0)).tolist() == [5.0, 5.0, 5.0]
