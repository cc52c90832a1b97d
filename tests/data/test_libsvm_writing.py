"""Writing LIBSVM text: it reads back to the same bits, and no partial file is left."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.datasets import load_svmlight_file

from maxmargin.data import libsvm


def written(X, y, **options) -> bytes:
    file = io.BytesIO()
    libsvm.write(file, X, y, **options)
    return file.getvalue()


def matrices(dtype):
    numbers = hnp.from_dtype(np.dtype(dtype), allow_nan=False, allow_infinity=False)
    return hnp.arrays(dtype, hnp.array_shapes(min_dims=2, max_dims=2, max_side=6), elements=numbers)


@given(matrices("float64") | matrices("float32"), st.booleans(), st.booleans(), st.data())
def test_round_trip(X, sparse, zero_based, data):
    n, d = X.shape
    y = data.draw(hnp.arrays("float64", n, elements=st.floats(allow_nan=False, allow_infinity=False)))
    ids = data.draw(hnp.arrays("int64", n))
    text = written(sp.csr_matrix(X) if sparse else X, y, zero_based=zero_based, query_id=ids, comment="one\ntwo: 3:4")
    back, labels, found_ids = libsvm.read(
        io.BytesIO(text), n_features=d, dtype=X.dtype, zero_based=zero_based, query_id=True, n_jobs=1
    )
    assert back.data.tobytes() == sp.csr_matrix(X).data.tobytes()
    assert np.array_equal(back.toarray(), X)
    assert labels.tobytes() == y.tobytes()
    assert np.array_equal(found_ids, ids)


def test_the_text_itself():
    X = np.array([[1, 0.5, 0], [0, 0, 1e22], [-3, 0, 1e-7]])
    assert written(X, [1, -1, 0.25]) == b"1 1:1 2:0.5\n-1 3:1e+22\n0.25 1:-3 3:1e-07\n"
    assert written(X, [1, -1, 3], zero_based=True, comment="a\nb").startswith(b"# a\n# b\n1 0:1 1:0.5\n")
    assert written(np.float32([[0.1]]), [1]) == b"1 1:0.1\n"
    assert written([[True, False, True]], [10**15]) == b"1000000000000000 1:1 3:1\n"


def test_stored_zeros_and_unsorted_or_doubled_entries():
    X = sp.csr_matrix(([1.0, 0.0, -0.0], [0, 1, 2], [0, 3]), shape=(1, 3))
    assert written(X, [1]) == b"1 1:1 2:0 3:-0\n"
    doubled = sp.csr_matrix(([1.0, 2.0, 5.0], [2, 0, 2], [0, 3]), shape=(1, 3))
    assert written(doubled, [1]) == b"1 1:2 3:6\n"
    assert doubled.data.tolist() == [1, 2, 5]  # the caller's matrix stays as it is


def test_multilabel():
    X = np.eye(3)
    sets = [(1, 3.5), (), {7}]
    text = written(X, sets, multilabel=True)
    assert text == b"1,3.5 1:1\n 2:1\n7 3:1\n"
    assert libsvm.read(io.BytesIO(text), multilabel=True)[1] == [(1, 3.5), (), (7,)]
    for indicator in (np.array([[0, 1], [1, 1], [0, 0]]), sp.csr_matrix([[0, 1], [1, 1], [0, 0]])):
        assert libsvm.read(io.BytesIO(written(X, indicator, multilabel=True)), multilabel=True)[1] == [(1,), (0, 1), ()]


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix, sp.csc_array])
def test_many_blocks(make):
    rng = np.random.default_rng(0)
    X = np.round(rng.standard_normal((4000, 150)), 3) * (rng.random((4000, 150)) < 0.9)
    X[1000:1500] = 0
    y = rng.integers(0, 9, 4000)
    text = written(make(X), y)
    back, labels = libsvm.read(io.BytesIO(text), n_features=150)
    assert np.array_equal(back.toarray(), X)
    assert np.array_equal(labels, y)
    theirs, _ = load_svmlight_file(io.BytesIO(text[: text.index(b"\n", 200_000) + 1]), n_features=150, zero_based=False)
    assert np.array_equal(theirs.toarray(), X[: theirs.shape[0]])


REFUSED = [
    (np.ones((2, 2)), [1], {}, "X has 2 rows, but y has 1"),
    (np.ones((0, 2)), [], {}, "X has no rows, so there is nothing to write"),
    (np.ones(3), [1, 2, 3], {}, "X must have two dimensions, got 1"),
    (np.ones((1, 1), complex), [1], {}, "X must hold real numbers, got complex128"),
    (np.array([[1, 2], [3, np.inf]]), [1, 2], {},
     "X has inf in row 1, column 1, and LIBSVM text holds finite numbers only"),
    (sp.csr_matrix([[0, np.nan]]), [1], {}, "X has nan in row 0, column 1, and LIBSVM text holds finite numbers only"),
    (np.ones((2, 1)), [1, np.nan], {}, "The label of row 1 is nan, and LIBSVM text holds finite numbers only"),
    (np.ones((2, 1)), [(1,), (2, np.inf)], {"multilabel": True},
     "The label of row 1 is inf, and LIBSVM text holds finite numbers only"),
    (np.ones((1, 1)), ["a"], {}, "y must be one number a row, got an array of <U1 of shape (1,)"),
    (np.ones((1, 1)), [("a",)], {"multilabel": True}, "y must be a collection of numbers for each row"),
    (np.zeros((2, 1)), [(1,), ()], {"multilabel": True},
     "Row 1 has neither labels nor features: its line would be blank, and blank lines are skipped"),
    (np.ones((1, 1)), [1], {"query_id": [1.5]}, "query_id must be 1 integers, got an array of float64 of shape (1,)"),
    (np.ones((1, 1)), [1], {"query_id": np.array([2**63], np.uint64)},
     "query_id holds 9223372036854775808, which is no signed integer of 64 bits"),
]  # fmt: skip


@pytest.mark.parametrize(("X", "y", "options", "sentence"), REFUSED)
def test_refused_without_a_trace(tmp_path: Path, X, y, options, sentence):
    path = tmp_path / "out.svm"
    path.write_text("what was there before")
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        libsvm.write(path, X, y, **options)
    assert path.read_text() == "what was there before"
    assert os.listdir(tmp_path) == ["out.svm"]


def test_an_error_halfway_leaves_nothing(tmp_path: Path):
    X = np.ones((60_000, 20))
    X[-1, -1] = np.nan
    for name in ("out.svm", "out.svm.gz", "out.svm.zst"):
        with pytest.raises(ValueError, match="X has nan in row 59999, column 19"):
            libsvm.write(tmp_path / name, X, np.ones(60_000))
    assert os.listdir(tmp_path) == []


def test_places_that_cannot_be_written(tmp_path: Path):
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(NotADirectoryError, match=re.escape(str(file / "out.svm"))):
        libsvm.write(file / "out.svm", [[1]], [1])
    with pytest.raises(IsADirectoryError, match=re.escape(str(tmp_path))):
        libsvm.write(tmp_path, [[1]], [1])
    with pytest.raises(TypeError, match="The target is a path, '-' or a binary file object, not float"):
        libsvm.write(0.5, [[1]], [1])
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs Linux's /dev/full")
def test_full_disk():
    with pytest.raises(OSError, match="No space left on device"):
        libsvm.write("/dev/full", np.ones((2000, 50)), np.ones(2000))
    assert not os.path.isfile("/dev/full")  # still the device


def test_standard_output():
    code = "from maxmargin.data import libsvm; libsvm.write('-', [[1, 0, 2.5]], [3])"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment, check=True)
    assert done.stdout == b"3 1:1 3:2.5\n"
