"""Compressed LIBSVM text: written by suffix, recognised by first bytes, damage noticed."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
from pathlib import Path

import numpy as np
import pytest

from maxmargin.data import compression, libsvm


def zstd(text: bytes) -> bytes:
    module = compression._zstd()
    return module.ZstdCompressor().compress(text) if not hasattr(module, "ZstdFile") else module.compress(text)


COMPRESS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zst": zstd}
rng = np.random.default_rng(0)
LINES = [f"{i % 2} 1:{a:.3f} 5:{b:.3f}\n".encode() for i, (a, b) in enumerate(rng.random((20_000, 2)))]
TEXT = b"".join(LINES)


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_recognised_whatever_the_name(tmp_path: Path, suffix, n_jobs):
    path = tmp_path / "plain.txt"
    path.write_bytes(COMPRESS[suffix](TEXT))
    X, y = libsvm.read(io.BytesIO(TEXT))
    for source in (path, io.BytesIO(path.read_bytes())):
        found, labels = libsvm.read(source, n_jobs=n_jobs)
        assert (found != X).nnz == 0
        assert np.array_equal(labels, y)


@pytest.mark.parametrize("suffix", COMPRESS)
def test_archives_one_after_the_other(suffix):
    half = len(LINES) // 2
    parts = [COMPRESS[suffix](b"".join(lines)) for lines in (LINES[:half], LINES[half:])]
    assert (libsvm.read(io.BytesIO(b"".join(parts)))[0] != libsvm.read(io.BytesIO(TEXT))[0]).nnz == 0


def test_padding_after_an_archive():
    assert libsvm.read(io.BytesIO(gzip.compress(b"1 1:1\n") + 512 * b"\0"))[0].shape == (1, 1)


@pytest.mark.parametrize("suffix", COMPRESS)
def test_written_by_suffix(tmp_path: Path, suffix):
    path = tmp_path / f"data.svm{suffix}"
    X, y = libsvm.read(io.BytesIO(TEXT))
    libsvm.write(path, X, y)
    assert compression.kind(path.read_bytes()) == compression.SUFFIXES[suffix]
    found, labels = libsvm.read(path)
    assert (found != X).nnz == 0
    assert np.array_equal(labels, y)


@pytest.mark.parametrize("suffix", COMPRESS)
def test_damage(suffix):
    whole = COMPRESS[suffix](TEXT)
    for length in (len(whole) - 1, len(whole) // 2, 8):
        with pytest.raises(ValueError, match=f"is damaged: its {compression.SUFFIXES[suffix]} data end too early$"):
            libsvm.read(io.BytesIO(whole[:length]))
    with pytest.raises(ValueError, match=f"is damaged: its {compression.SUFFIXES[suffix]} data cannot be decompressed"):
        libsvm.read(io.BytesIO(whole + b"rubbish that is no archive"))


def test_faults_inside_are_placed():
    with pytest.raises(ValueError, match="line 20001, column 5: the value is missing"):
        libsvm.read(io.BytesIO(gzip.compress(TEXT + b"1 3:")))


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="Python 3.14 has zstd itself")
def test_zstd_without_its_package(monkeypatch, tmp_path: Path):
    archive = zstd(TEXT)
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(ImportError, match="^Text compressed by zstd needs Python 3.14 or the package zstandard: `pip"):
        libsvm.read(io.BytesIO(archive))
    with pytest.raises(ImportError, match="`pip install zstandard`$"):
        libsvm.write(tmp_path / "out.zst", [[1]], [1])
    assert list(tmp_path.iterdir()) == []
