"""The bytes of a model file: a preamble of 64 bytes, a JSON header, aligned little-endian arrays."""

from __future__ import annotations

import hashlib
import json
import math
import os
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Literal

import numpy as np

from maxmargin.models.atomic import replacing

MAGIC = b"maxmargin model\n"
VERSION = 1
MmapMode = Literal["r", "c"]
ALIGNMENT = 64
# magic, format version, zero, bytes of the JSON header (a multiple of 64), SHA-256 of the JSON header
PREAMBLE = struct.Struct("<16sIIQ32s")
_OTHER_FORMATS = {b"svm_type": "a LIBSVM model, which import_libsvm reads", b"SVM-light": "an SVM-light model"}


def write(path: str | os.PathLike[str], header: dict[str, Any], arrays: Sequence[np.ndarray]) -> None:
    """Write ``header`` and ``arrays`` to ``path``, whole or not at all.

    ``header`` gets two entries more: ``arrays`` (dtype, shape, offset in the data, SHA-256 of each) and ``data_bytes``.
    The data begin after the JSON text, which is padded with spaces; every array starts at a multiple of 64 bytes.
    """
    stored = [_little_endian(array) for array in arrays]
    entries, offset = [], 0
    for array in stored:
        digest = hashlib.sha256(_bytes_of(array)).hexdigest()
        entries.append({"dtype": array.dtype.str, "shape": list(array.shape), "offset": offset, "sha256": digest})
        offset += _aligned(array.nbytes)
    text = json.dumps({**header, "arrays": entries, "data_bytes": offset}, ensure_ascii=False, allow_nan=False)
    raw = text.encode("utf-8")
    raw += b" " * (_aligned(len(raw)) - len(raw))
    with replacing(path) as file:
        file.write(PREAMBLE.pack(MAGIC, VERSION, 0, len(raw), hashlib.sha256(raw).digest()))
        file.write(raw)
        for array in stored:
            file.write(_bytes_of(array))
            file.write(bytes(_aligned(array.nbytes) - array.nbytes))


def read_header(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The JSON header of a model file, checked against its hash, and the file's size against the header."""
    with open(path, "rb") as file:
        return _header(file, os.fspath(path))[0]


def read(path: str | os.PathLike[str], mmap_mode: MmapMode | None = None) -> tuple[dict[str, Any], list[np.ndarray]]:
    """The header and the arrays of a model file.

    Parameters
    ----------
    mmap_mode : None, "r" or "c"
        None reads every array and checks its hash. "r" maps the file and gives read-only arrays; "c" gives arrays that
        can be written to, in memory only. Mapped arrays are not hashed: nothing is read before it is used.
    """
    if mmap_mode not in (None, "r", "c"):
        raise ValueError(f"mmap_mode must be None, 'r' or 'c', not {mmap_mode!r}")
    name = os.fspath(path)
    with open(path, "rb") as file:
        header, start = _header(file, name)
        if mmap_mode is None:
            return header, [
                _read_array(file, _layout(header, k, name), start, name) for k in range(len(header["arrays"]))
            ]
    whole = np.asarray(np.memmap(path, dtype=np.uint8, mode=mmap_mode))
    return header, [_view(whole, _layout(header, k, name), start) for k in range(len(header["arrays"]))]


@dataclass(frozen=True)
class _Layout:
    """Where and what one array is."""

    dtype: np.dtype
    shape: tuple[int, ...]
    offset: int
    sha256: str

    @property
    def count(self) -> int:
        return math.prod(self.shape)


def _header(file: BinaryIO, name: str) -> tuple[dict[str, Any], int]:
    """The header and the offset of the first array."""
    size = os.fstat(file.fileno()).st_size
    first = file.read(PREAMBLE.size)
    if not first:
        raise ValueError(f"{name} is empty, not a maxmargin model")
    if not MAGIC.startswith(first[: len(MAGIC)]):
        found = next((f": it is {what}" for start, what in _OTHER_FORMATS.items() if first.startswith(start)), "")
        raise ValueError(f"{name} is not a maxmargin model{found}")
    if len(first) < PREAMBLE.size:
        raise ValueError(f"{name} is cut short: it ends in its preamble, after {len(first)} of {PREAMBLE.size} bytes")
    _, version, _, length, digest = PREAMBLE.unpack(first)
    if version < 1:
        raise ValueError(f"{name} is damaged: it has format version {version}, and the first is 1")
    if version > VERSION:
        raise ValueError(
            f"{name} has format version {version} and this maxmargin reads up to {VERSION}: upgrade maxmargin"
        )
    if PREAMBLE.size + length > size:
        raise ValueError(f"{name} is cut short: its header ends at byte {PREAMBLE.size + length}, the file at {size}")
    raw = file.read(length)
    if hashlib.sha256(raw).digest() != digest:
        raise ValueError(f"{name} is damaged: its header does not have the SHA-256 that its preamble states")
    header = _checked(raw, name)
    start = PREAMBLE.size + length
    end = start + header["data_bytes"]
    if size != end:
        fault = "is cut short" if size < end else "has bytes after its end"
        raise ValueError(f"{name} {fault}: it should have {end} bytes and has {size}")
    return header, start


def _checked(raw: bytes, name: str) -> dict[str, Any]:
    """The header of its text; whoever forges a file gets its hash right."""
    try:
        header = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{name} is damaged: its header is no JSON text ({error})") from error
    known = isinstance(header, dict) and isinstance(header.get("arrays"), list)
    if not known or not isinstance(header.get("data_bytes"), int):
        raise ValueError(f"{name} is damaged: its header is one that no model file has")
    return header


def _layout(header: dict[str, Any], k: int, name: str) -> _Layout:
    """Entry ``k`` of the header, checked: no dtype of Python objects is made, no memory beyond the file asked for."""
    try:
        entry = header["arrays"][k]
        layout = _Layout(np.dtype(entry["dtype"]), tuple(entry["shape"]), entry["offset"], entry["sha256"])
        known = not layout.dtype.hasobject and layout.dtype.names is None and layout.offset % ALIGNMENT == 0
        inside = min(layout.shape, default=0) >= 0 <= layout.offset
        inside = inside and layout.offset + layout.count * layout.dtype.itemsize <= header["data_bytes"]
    except (KeyError, TypeError, ValueError):
        known = inside = False
    if not known or not inside:
        raise ValueError(f"{name} is damaged: array {k} of its header is one that no model file has")
    return layout


def _read_array(file: BinaryIO, layout: _Layout, start: int, name: str) -> np.ndarray:
    """One array, in memory, checked against its hash."""
    file.seek(start + layout.offset)
    raw = bytearray(file.read(layout.count * layout.dtype.itemsize))
    if hashlib.sha256(raw).hexdigest() != layout.sha256:
        raise ValueError(
            f"{name} is damaged: the array at byte {start + layout.offset} does not have the SHA-256 of its header"
        )
    return np.frombuffer(raw, layout.dtype).reshape(layout.shape)


def _view(whole: np.ndarray, layout: _Layout, start: int) -> np.ndarray:
    """One array as a view of its part of the mapped file: SciPy copies small views of large arrays."""
    first, size = start + layout.offset, layout.count * layout.dtype.itemsize
    if size == 0:
        return np.empty(layout.shape, layout.dtype)
    return np.frombuffer(whole.data[first : first + size], layout.dtype).reshape(layout.shape)


def _little_endian(array: np.ndarray) -> np.ndarray:
    contiguous = np.ascontiguousarray(array).reshape(array.shape)  # ascontiguousarray makes 0-d arrays 1-d
    return contiguous.astype(contiguous.dtype.newbyteorder("<"), copy=False)


def _bytes_of(array: np.ndarray) -> memoryview:
    return array.reshape(-1).view(np.uint8).data if array.nbytes else memoryview(b"")


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
