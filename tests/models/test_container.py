"""The bytes of a model file: what is written is read, and what is damaged is refused."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from maxmargin.models import container

ARRAYS = [
    np.arange(7.0),
    np.array(3.5),
    np.zeros((0, 3)),
    np.arange(6, dtype=">i4").reshape(2, 3),
    np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    np.array(["a", "längere", ""]),
    np.array([b"x", b"yz"]),
    np.array([True, False]),
    np.array([np.nan, np.inf, -0.0], np.float32),
    np.arange(10)[::3],
]


def equal(a: np.ndarray, b: np.ndarray) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype.newbyteorder("<") and a.tobytes() == b.astype(a.dtype).tobytes()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "file.model"
    container.write(path, {"name": "ü", "value": 0.1}, ARRAYS)
    return path


@pytest.mark.parametrize("mmap_mode", [None, "r", "c"])
def test_what_is_written_is_read(path: Path, mmap_mode: str | None) -> None:
    header, arrays = container.read(path, mmap_mode)
    assert (header["name"], header["value"]) == ("ü", 0.1)
    assert all(equal(found, written) for found, written in zip(arrays, ARRAYS, strict=True))
    assert container.read_header(path) == header


def test_arrays_start_at_multiples_of_64_bytes(path: Path) -> None:
    raw = path.read_bytes()
    header_bytes = int.from_bytes(raw[24:32], "little")
    entries = json.loads(raw[64 : 64 + header_bytes])["arrays"]
    for entry, array in zip(entries, ARRAYS, strict=True):
        start = 64 + header_bytes + entry["offset"]
        assert start % 64 == 0
        assert equal(np.frombuffer(raw, entry["dtype"], array.size, start).reshape(entry["shape"]), array)


def test_memory_and_copy_on_write_can_be_written_to_and_the_map_cannot(path: Path) -> None:
    before = path.read_bytes()
    for mode in (None, "c"):
        array = container.read(path, mode)[1][0]
        array[0] = 99.0
        assert path.read_bytes() == before
    with pytest.raises(ValueError, match="read-only"):
        container.read(path, "r")[1][0][0] = 99.0
    with pytest.raises(ValueError, match="mmap_mode must be None, 'r' or 'c', not 'w'"):
        container.read(path, "w")


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    array=hnp.arrays(
        dtype=st.one_of(hnp.integer_dtypes(), hnp.floating_dtypes(sizes=(16, 32, 64)), hnp.boolean_dtypes()),
        shape=hnp.array_shapes(min_dims=0, min_side=0),
    )
)
def test_any_array_is_restored_bit_by_bit(tmp_path: Path, array: np.ndarray) -> None:
    container.write(tmp_path / "one", {}, [array])
    for mode in (None, "r"):
        assert equal(container.read(tmp_path / "one", mode)[1][0], array)


def test_a_file_cut_anywhere_is_refused(path: Path) -> None:
    raw = path.read_bytes()
    for size in [*range(0, len(raw), 37), len(raw) - 1]:
        path.write_bytes(raw[:size])
        for mode in (None, "r"):
            with pytest.raises(ValueError, match=f"{path} is (cut short|empty)"):
                container.read(path, mode)


def test_a_changed_byte_is_noticed(path: Path) -> None:
    raw = bytearray(path.read_bytes())
    header, _ = container.read(path)
    start = len(raw) - header["data_bytes"]
    covered = [*range(64, start, 53)]
    covered += [start + e["offset"] for e, a in zip(header["arrays"], ARRAYS, strict=True) if a.size]
    for position in covered:
        raw[position] ^= 0xFF
        path.write_bytes(raw)
        with pytest.raises(ValueError, match="is damaged: .* SHA-256"):
            container.read(path)
        raw[position] ^= 0xFF


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is empty, not a maxmargin model"),
        (b"\x80\x04pickle" + bytes(100), "is not a maxmargin model"),
        (b"svm_type c_svc\n", "is not a maxmargin model: it is a LIBSVM model, which import_libsvm reads"),
        (b"SVM-light Version V6.02\n", "is not a maxmargin model: it is an SVM-light model"),
        (container.MAGIC, "is cut short: it ends in its preamble, after 16 of 64 bytes"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: bytes, sentence: str) -> None:
    path = tmp_path / "other"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"{path} {sentence}"):
        container.read(path)


def test_a_newer_version_is_refused(path: Path) -> None:
    raw = bytearray(path.read_bytes())
    raw[16:20] = (7).to_bytes(4, "little")
    path.write_bytes(raw)
    with pytest.raises(ValueError, match="has format version 7 and this maxmargin reads up to 1: upgrade maxmargin"):
        container.read(path)


def test_bytes_after_the_end_are_refused(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"more")
    with pytest.raises(ValueError, match="has bytes after its end"):
        container.read(path)


def forged(path: Path, entry: dict[str, Any]) -> None:
    """A file whose hashes are right and whose one array is ``entry``."""
    text = json.dumps({"arrays": [{"sha256": "", "offset": 0, **entry}], "data_bytes": 64}).encode().ljust(192)
    preamble = container.PREAMBLE.pack(container.MAGIC, 1, 0, len(text), hashlib.sha256(text).digest())
    path.write_bytes(preamble + text + bytes(64))


@pytest.mark.parametrize("mmap_mode", [None, "r"])
@pytest.mark.parametrize(
    "entry",
    [
        {"dtype": "|O", "shape": [8]},
        {"dtype": "<f8", "shape": [10**15]},
        {"dtype": "<f8", "shape": [-1]},
        {"dtype": "<f8", "shape": [1], "offset": 8},
        {"dtype": "<f8", "shape": [1], "offset": -64},
        {"dtype": "<f8", "shape": [9]},
        {"dtype": "f9", "shape": [1]},
        {"dtype": "<f8", "shape": 1},
        {"dtype": "<f8", "shape": ["1"]},
        {"shape": [1]},
    ],
    ids=str,
)
def test_a_forged_array_is_refused(tmp_path: Path, entry: dict[str, Any], mmap_mode: str | None) -> None:
    forged(tmp_path / "forged", entry)
    with pytest.raises(ValueError, match="array 0 of its header is one that no model file has"):
        container.read(tmp_path / "forged", mmap_mode)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b"[]", "its header is one that no model file has"),
        (b"{}", "its header is one that no model file has"),
        (b'{"arrays": 3, "data_bytes": 0}', "its header is one that no model file has"),
        (b'{"arrays": [], "data_bytes": "64"}', "its header is one that no model file has"),
        (b'{"arrays": [', "its header is no JSON text"),
        (b"\xff", "its header is no JSON text"),
        (b"[" * 10**5, "its header is no JSON text"),
    ],
    ids=lambda part: str(part)[:40],
)
def test_a_forged_header_is_refused(tmp_path: Path, text: bytes, sentence: str) -> None:
    digest = hashlib.sha256(text).digest()
    (tmp_path / "forged").write_bytes(container.PREAMBLE.pack(container.MAGIC, 1, 0, len(text), digest) + text)
    with pytest.raises(ValueError, match=f"forged is damaged: {sentence}"):
        container.read(tmp_path / "forged")


@pytest.mark.parametrize("length", [2**64 - 64, 2**63, 10**12])
def test_a_length_beyond_the_file_is_not_read(path: Path, length: int) -> None:
    raw = bytearray(path.read_bytes())
    raw[24:32] = length.to_bytes(8, "little")
    path.write_bytes(raw)
    with pytest.raises(ValueError, match=f"is cut short: its header ends at byte {64 + length}"):
        container.read(path)


def test_version_zero_is_refused(path: Path) -> None:
    raw = bytearray(path.read_bytes())
    raw[16:20] = bytes(4)
    path.write_bytes(raw)
    with pytest.raises(ValueError, match="is damaged: it has format version 0, and the first is 1"):
        container.read(path)
