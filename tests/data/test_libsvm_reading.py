"""Reading LIBSVM text: what every part of the format becomes, and agreement with scikit-learn's loader."""

from __future__ import annotations

import io
import math
import os
import signal
import subprocess
import sys
import time
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file, load_svmlight_files

from maxmargin.data import libsvm


def read_text(text: str | bytes, **options):
    return libsvm.read(io.BytesIO(text.encode() if isinstance(text, str) else text), **options)


def assert_same(found, wanted) -> None:
    """Same type and shape, same bits."""
    assert found.dtype == wanted.dtype
    assert found.shape == wanted.shape
    assert found.data.tobytes() == wanted.data.tobytes()
    assert np.array_equal(found.indices, wanted.indices)
    assert np.array_equal(found.indptr, wanted.indptr)


def bundled(name: str):
    return resources.files("sklearn.datasets.tests.data").joinpath(name)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("zero_based", ["auto", True, False])
def test_agrees_with_scikit_learn_on_its_file(dtype, zero_based):
    text = bundled("svmlight_classification.txt").read_bytes()
    wanted, labels = load_svmlight_file(io.BytesIO(text), dtype=np.dtype(dtype).type, zero_based=zero_based)
    X, y = read_text(text, dtype=dtype, zero_based=zero_based)
    assert_same(X, wanted)
    assert y.dtype == np.float64
    assert np.array_equal(y, labels)


def test_agrees_with_scikit_learn_on_its_multilabel_file():
    text = bundled("svmlight_multilabel.txt").read_bytes()
    wanted, labels = load_svmlight_file(io.BytesIO(text), multilabel=True)
    X, y = read_text(text, multilabel=True)
    assert_same(X, wanted)
    assert y == labels == [(0, 1), (2,), (), (1, 2)]


@pytest.mark.parametrize("name", ["svmlight_invalid.txt", "svmlight_invalid_order.txt"])
def test_refuses_what_scikit_learn_refuses(name):
    with pytest.raises(ValueError, match="line 1, column "):
        read_text(bundled(name).read_bytes())


def test_agrees_with_scikit_learn_on_generated_text():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 40)) * 10.0 ** rng.integers(-30, 30, (300, 40)) * (rng.random((300, 40)) < 0.3)
    file = io.BytesIO()
    dump_svmlight_file(X, rng.integers(-2, 3, 300), file, zero_based=False, query_id=np.arange(300) // 7, comment="a:b")
    options = {"query_id": True, "zero_based": False, "n_features": 50}
    wanted = load_svmlight_file(io.BytesIO(file.getvalue()), **options)
    found = read_text(file.getvalue(), **options)
    assert_same(found[0], wanted[0])
    for part, wanted_part in zip(found[1:], wanted[1:], strict=True):
        assert part.dtype == wanted_part.dtype
        assert np.array_equal(part, wanted_part)


def test_every_part_of_a_line():
    X, y, ids = read_text(
        "# a comment, 1:2\n\n  \t\r\n+1 qid:3 1:.5 3:-1.e2# 4:4\n-1.5\tqid:-4   2:0 \r\n2e3 qid:7#\n0 qid:0 9:1",
        query_id=True,
    )
    assert X.toarray().tolist() == [[0.5, 0, -100] + 6 * [0], 9 * [0], 9 * [0], 8 * [0] + [1]]
    assert X.nnz == 4  # the zero in the text is stored
    assert y.tolist() == [1, -1.5, 2000, 0]
    assert ids.tolist() == [3, -4, 7, 0]
    assert (X.indices.dtype, X.indptr.dtype, X.has_canonical_format) == (np.int32, np.int32, True)


def test_query_ids_are_skipped_unless_asked_for():
    assert read_text("1 qid:3 1:2\n1 1:3\n")[0].toarray().tolist() == [[2], [3]]


def test_labels_of_several_come_sorted():
    assert read_text("3,1,7 1:0.5\n1:1\nqid:2\n-2.5\n", multilabel=True)[1] == [(1, 3, 7), (), (), (-2.5,)]


def test_index_zero_decides_for_auto():
    assert read_text("1 1:1 2:2\n")[0].shape == (1, 2)
    assert read_text("1 1:1 2:2\n1 0:1")[0].shape == (2, 3)
    assert read_text("1 1:1 2:2\n", zero_based=True)[0].shape == (1, 3)
    assert read_text("1\n-1\n")[0].shape == (2, 0)


def test_several_files_share_their_columns_and_the_first_index():
    one, two, empty = b"1 1:1 2:2\n", b"-1 0:3\n1 5:1\n", b"1\n"
    sources = [io.BytesIO(text) for text in (one, two, empty)]
    (X1, y1), (X2, _), (X3, _) = libsvm.read_files(sources)
    wanted = load_svmlight_files([io.BytesIO(one), io.BytesIO(two)])
    assert_same(X1, wanted[0])
    assert_same(X2, wanted[2])
    assert (X3.shape, y1.tolist()) == ((1, 6), [1])
    shapes = [X.shape for X, _ in libsvm.read_files([io.BytesIO(one), io.BytesIO(empty), io.BytesIO(b"1 7:1")])]
    assert shapes == [(1, 7)] * 3  # a file without features does not count for "auto"


def test_wide_indices():
    X, _ = read_text("1 3:1\n1 2147483648:2 999999999999999999:3\n")
    assert X.indices.dtype == X.indptr.dtype == np.int64
    assert X.shape == (2, 999999999999999999)
    assert X.indices.tolist() == [2, 2147483647, 999999999999999998]
    assert read_text("1 2147483646:1\n", zero_based=False)[0].indices.dtype == np.int32
    assert read_text("1 3:1\n", n_features=2**31)[0].indices.dtype == np.int64


@given(
    st.floats(allow_nan=False, allow_infinity=False) | st.decimals(allow_nan=False, allow_infinity=False), st.booleans()
)
@example(5e-324, False)
@example(-0.0, True)
def test_numbers_are_those_of_python(number, exponent):
    text = f"{number:e}" if exponent else str(number)
    value = float(text)
    if math.isinf(value):
        with pytest.raises(ValueError, match="is beyond the range of float64"):
            read_text(f"1 1:{text}")
    else:
        X, y = read_text(f"{text} 1:{text}")
        assert X.data.tobytes() == y.tobytes() == np.float64(value).tobytes()


def long_text(rows: int) -> bytes:
    rng = np.random.default_rng(1)
    pairs = [
        f"{3 * j + k}:{v:.4g}" for j, (k, v) in enumerate(zip(rng.integers(1, 4, 60), rng.random(60), strict=True))
    ]
    lines = [f"{i % 3} qid:{i // 5} {' '.join(pairs[i % 7 : i % 53])} # {i}" for i in range(rows)]
    return "\n".join(lines).encode()


def test_any_number_of_threads_gives_the_same():
    text = long_text(40_000)
    wanted = read_text(text, query_id=True, n_jobs=1)
    for n_jobs in (2, 5, None, -1):
        X, y, ids = read_text(text, query_id=True, n_jobs=n_jobs)
        assert_same(X, wanted[0])
        assert np.array_equal(y, wanted[1])
        assert np.array_equal(ids, wanted[2])


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_blocks_are_the_whole(n_jobs):
    text = long_text(20_000)
    options = {"query_id": True, "zero_based": False, "n_jobs": n_jobs}
    X, y, ids = read_text(text, **options)
    found = list(libsvm.read_blocks(io.BytesIO(text), n_features=X.shape[1], block_bytes=200_000, **options))
    assert len(found) > len(text) // 400_000
    assert all(block[0].shape[0] < X.shape[0] / 4 for block in found)
    assert np.vstack([block[0].toarray() for block in found]).tobytes() == X.toarray().tobytes()
    assert np.concatenate([block[1] for block in found]).tolist() == y.tolist()
    assert np.concatenate([block[2] for block in found]).tolist() == ids.tolist()


def test_blocks_widen_with_the_text():
    shapes = [X.shape for X, _ in libsvm.read_blocks(io.BytesIO(b"1 2:1\n1 4:1\n1 1:1\n"), block_bytes=6)]
    assert shapes == [(1, 2), (1, 4), (1, 4)]


class Trickle:
    """A file object that gives a few bytes at a time."""

    def __init__(self, text: bytes, step: int) -> None:
        self.file, self.step = io.BytesIO(text), step

    def read(self, size: int) -> bytes:
        return self.file.read(min(size, self.step))


@pytest.mark.parametrize("step", [1, 7])
def test_a_file_object_may_give_less_than_asked(step):
    text = long_text(20)
    assert_same(libsvm.read(Trickle(text, step))[0], read_text(text)[0])


def test_paths_and_open_files(tmp_path: Path):
    path = tmp_path / "data.svm"
    path.write_bytes(b"1 1:2\n-1 2:3\n")
    for source in (path, str(path)):
        assert libsvm.read(source)[0].toarray().tolist() == [[2, 0], [0, 3]]
    with path.open("rb") as file:
        assert libsvm.read(file)[1].tolist() == [1, -1]
        assert not file.closed


def test_standard_input():
    code = "from maxmargin.data import libsvm; X, y = libsvm.read('-'); print(X.toarray().tolist(), y.tolist())"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    for text, wanted in (
        (b"1 1:2 3:4\n", "[[2.0, 0.0, 4.0]] [1.0]\n"),
        (b"1 1:\n", "standard input, line 1, column 5: "),
    ):
        done = subprocess.run(
            [sys.executable, "-c", code], input=text, capture_output=True, env=environment, check=False
        )
        assert wanted in (done.stdout if done.returncode == 0 else done.stderr).decode()


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupt_does_not_wait_for_a_silent_pipe(n_jobs):
    code = f"from maxmargin.data import libsvm; print('ready', flush=True); libsvm.read('-', n_jobs={n_jobs})"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", code], env=environment, **pipes) as process:
        assert process.stdout.readline() == b"ready\n"
        process.stdin.write(b"1 1:2\n")
        process.stdin.flush()
        time.sleep(0.3)  # it waits for more
        process.send_signal(signal.SIGINT)
        try:
            assert process.wait(timeout=10) != 0
            assert process.stderr.read().endswith(b"KeyboardInterrupt\n")
        finally:
            process.kill()
