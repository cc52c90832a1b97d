"""Malformed LIBSVM text: each fault has one sentence that names the place."""

from __future__ import annotations

import io
import re
import time

import numpy as np
import pytest

from maxmargin.data import libsvm


class Named(io.BytesIO):
    name = "train.svm"


FAULTS = [
    # text, options, line, column, sentence
    (b"abc 1:1", {}, 1, 1, 'the label "abc" is not a number'),
    (b"nan 1:1", {}, 1, 1, 'the label "nan" is not finite'),
    (b"1 1:1\n -Inf 1:1", {}, 2, 2, 'the label "-Inf" is not finite'),
    (b"1e400 1:1", {}, 1, 1, 'the label "1e400" is beyond the range of float64'),
    (b"1_0 1:1", {}, 1, 1, 'the label "1_0" is not a number'),
    (b"0x1 1:1", {}, 1, 1, 'the label "0x1" is not a number'),
    (b"1:0.5 2:1", {}, 1, 1, '"1:0.5" stands where the label should be'),
    (b"1,3 1:1", {}, 1, 1, '"1,3" holds several labels, which only multilabel=True reads'),
    (b"1,x,2 1:1", {"multilabel": True}, 1, 3, 'the label "x,2" is not a number'),
    (b"1, 1:1", {"multilabel": True}, 1, 3, "the label is missing"),
    (b"1 qid:x 1:1", {}, 1, 7, 'the query id "x" is not an integer of 64 bits'),
    (b"1 qid:9223372036854775808", {}, 1, 7, 'the query id "9223372036854775808" is not an integer of 64 bits'),
    (b"1 1:1", {"query_id": True}, 1, 3,
     "the example has no query id (qid:1 after the label), which query_id=True needs"),
    (b"1 1:1 qid:3", {}, 1, 7, '"qid:3" is not a pair index:value'),
    (b"1 1:1 7", {}, 1, 7, '"7" is not a pair index:value'),
    (b"1 1 :1", {}, 1, 3, '"1" is not a pair index:value'),
    (b"1 :1", {}, 1, 3, '":1" is not a pair index:value'),
    (b"1 1:1\n1 1.5:1", {}, 2, 3, '"1.5:1" is not a pair index:value'),
    (b"1 -3:1", {}, 1, 3, 'the index in "-3:1" is negative'),
    (b"1 9999999999999999999:1", {}, 1, 3, 'the index in "9999999999999999999:1" has more than 18 digits'),
    (b"# 1\n1 0:1", {"zero_based": False}, 2, 3,
     'the index in "0:1" is 0, and the first index is 1 unless zero_based=True (--zero-based) says 0'),
    (b"1 5:1 3:1", {}, 1, 7,
     'the index in "3:1" does not exceed the one before it, 5: indices must increase along a line'),
    (b"1 5:1 5:2", {}, 1, 7,
     'the index in "5:2" does not exceed the one before it, 5: indices must increase along a line'),
    (b"1 3:", {}, 1, 5, "the value is missing"),
    (b"1 3:\n", {}, 1, 5, "the value is missing"),
    (b"1 3: 4:1\n", {}, 1, 5, "the value is missing"),
    (b"1 3:1.2.3", {}, 1, 5, 'the value "1.2.3" is not a number'),
    (b"1 3:1e", {}, 1, 5, 'the value "1e" is not a number'),
    (b"1 3:+-1", {}, 1, 5, 'the value "+-1" is not a number'),
    (b"1 3:1,5", {}, 1, 5, 'the value "1,5" is not a number'),
    (b"1 3:NaN", {}, 1, 5, 'the value "NaN" is not finite'),
    (b"1 3:infinity", {}, 1, 5, 'the value "infinity" is not finite'),
    (b"1 3:-1e309", {}, 1, 5, 'the value "-1e309" is beyond the range of float64'),
    (b"1 3:1e39", {"dtype": "float32"}, 1, 5, 'the value "1e39" is beyond the range of float32'),
    (b"1 3:1\0\xff", {}, 1, 5, r'the value "1\x00\xff" is not a number'),
    (b"1 3:" + 40 * b"z", {}, 1, 5, f'the value "{30 * "z"}..." is not a number'),
]  # fmt: skip


@pytest.mark.parametrize(("text", "options", "line", "column", "sentence"), FAULTS)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_fault(text, options, line, column, sentence, n_jobs):
    wanted = f"train.svm, line {line}, column {column}: {sentence}"
    with pytest.raises(ValueError, match=f"^{re.escape(wanted)}$"):
        libsvm.read(Named(text), n_jobs=n_jobs, **options)


def test_the_place_is_named_in_a_long_text():
    line = b"+1 3:1 11:0.25\n"
    text = 1_000_000 * line + b"-1 3:1 11:abc\n" + 1000 * line + b"-1 x\n"
    start = time.perf_counter()
    with pytest.raises(ValueError, match='^train.svm, line 1000001, column 11: the value "abc" is not a number$'):
        libsvm.read(Named(text))
    assert time.perf_counter() - start < 5


@pytest.mark.parametrize("text", [b"", b"\n\n", b"# only comments\n\n", b" "])
def test_no_examples(text):
    with pytest.raises(ValueError, match=r"^train\.svm holds no examples$"):
        libsvm.read(Named(text))
    with pytest.raises(ValueError, match=r"^train\.svm holds no examples$"):
        list(libsvm.read_blocks(Named(text)))


def test_too_few_features():
    with pytest.raises(ValueError, match=r"^train\.svm has an index 3 \(the first is 1\), but n_features is 2$"):
        libsvm.read(Named(b"1 3:1\n"), n_features=2)
    with pytest.raises(ValueError, match=r"^train\.svm has an index 2 \(the first is 0\), but n_features is 2$"):
        libsvm.read(Named(b"1 0:1 2:1\n"), n_features=2)


def test_sources_that_cannot_be_read(tmp_path):
    missing = tmp_path / "missing.svm"
    with pytest.raises(FileNotFoundError, match=re.escape(f"{missing} cannot be read: no such file or directory")):
        libsvm.read(missing)
    with pytest.raises(IsADirectoryError, match=re.escape(f"{tmp_path} cannot be read: is a directory")):
        libsvm.read(tmp_path)
    with pytest.raises(TypeError, match="was opened as text, but must be opened in binary mode"):
        libsvm.read(io.StringIO("1 1:1"))
    with pytest.raises(TypeError, match="A source of text is a path, '-' or a binary file object, not float"):
        libsvm.read(0.5)
    with pytest.raises(TypeError, match="read_files takes a list of sources; read takes a single one"):
        libsvm.read_files("train.svm")


def test_options_that_mean_nothing():
    with pytest.raises(ValueError, match="dtype must be float32 or float64, got int64"):
        libsvm.read(Named(b"1 1:1"), dtype=np.int64)
    with pytest.raises(ValueError, match="zero_based must be True, False or 'auto', got 'no'"):
        libsvm.read(Named(b"1 1:1"), zero_based="no")
    with pytest.raises(ValueError, match="n_jobs is 0"):
        libsvm.read(Named(b"1 1:1"), n_jobs=0)
