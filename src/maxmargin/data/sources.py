"""Where text comes from: paths, standard input, file objects, plain or compressed, as blocks of bytes."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import BinaryIO, TypeAlias

from maxmargin.data import compression

Source: TypeAlias = str | os.PathLike[str] | BinaryIO

_COMPRESSED_BYTES = 1 << 16  # of a compressed file at a time: what it expands to stays small


def name_of(source: Source) -> str:
    """What messages call a source; bytes of its path that are no text are shown as such."""
    if isinstance(source, (str, os.PathLike)):
        path = os.fsdecode(source).encode("utf-8", "backslashreplace").decode()
        return "standard input" if source == "-" else path
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else "the file object"


def blocks(source: Source, size: int, ahead: bool) -> Iterator[bytes]:
    """The text of a source in blocks of about ``size`` bytes, cut anywhere.

    Parameters
    ----------
    source : str, path or binary file object
        A path, "-" for standard input, or an object whose ``read(n)`` gives bytes, which stays open.
    size : int
        Bytes a block; a compressed source may exceed it by what 64 KB expand to.
    ahead : bool
        Whether a thread reads and decompresses the next block of a regular file while the caller works on one. What may
        keep its reader waiting (a pipe, a terminal, a socket) is read by the caller's thread, which signals reach.

    Raises
    ------
    OSError
        If the source cannot be read; it names the path.
    ValueError
        If a compressed source is damaged.
    """
    with _opened(source) as file:
        found = _joined(_text(file, size, name_of(source)), size)
        yield from _ahead(found) if ahead and _is_regular(file) else found


@contextmanager
def _opened(source: Source) -> Iterator[BinaryIO]:
    if not isinstance(source, (str, os.PathLike)):
        if not hasattr(source, "read"):
            raise TypeError(f"A source of text is a path, '-' or a binary file object, not {type(source).__name__}")
        yield source
    elif source == "-":
        yield sys.stdin.buffer
    else:
        try:
            file = open(source, "rb", buffering=0)  # noqa: SIM115
        except OSError as error:
            raise _unreadable(source, error) from error
        with closing(file):
            yield file


def _is_regular(file: BinaryIO) -> bool:
    try:
        return stat.S_ISREG(os.fstat(file.fileno()).st_mode)
    except (AttributeError, OSError):  # no file of the system
        return False


def _unreadable(source: Source, error: OSError) -> OSError:
    """The same error with a sentence that names the source."""
    reason = error.strerror or str(error)
    return OSError(error.errno or 0, f"{name_of(source)} cannot be read: {reason[:1].lower()}{reason[1:]}")


def _text(file: BinaryIO, size: int, name: str) -> Iterator[bytes]:
    """The blocks of a file, decompressed if its first bytes say so."""
    start = b""
    while len(start) < compression.LONGEST_MAGIC and (
        more := _read(file, compression.LONGEST_MAGIC - len(start), name)
    ):
        start += more
    kind = compression.kind(start)
    if kind is None:
        yield from _raw(file, start, size, name)
    else:
        yield from compression.decompressed(_raw(file, start, _COMPRESSED_BYTES, name), kind, name)


def _raw(file: BinaryIO, start: bytes, size: int, name: str) -> Iterator[bytes]:
    if start:
        yield start
    while block := _read(file, size, name):
        yield block


def _read(file: BinaryIO, size: int, name: str) -> bytes:
    try:
        block = file.read(size)
    except OSError as error:
        raise _unreadable(name, error) from error
    if isinstance(block, str):
        raise TypeError(f"{name} was opened as text, but must be opened in binary mode ('rb')")
    return block


def _joined(parts: Iterator[bytes], size: int) -> Iterator[bytes]:
    """Blocks of at least ``size`` bytes, but the last, from parts of any size."""
    waiting: list[bytes] = []
    length = 0
    for part in parts:
        if not waiting and len(part) >= size:
            yield part
            continue
        waiting.append(part)
        length += len(part)
        if length >= size:
            yield b"".join(waiting)
            waiting, length = [], 0
    if waiting:
        yield b"".join(waiting)


def _ahead(parts: Iterator[bytes]) -> Iterator[bytes]:
    """The same blocks, each produced on another thread while the caller works on the one before."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        coming = pool.submit(next, parts, b"")
        while block := coming.result():
            coming = pool.submit(next, parts, b"")
            yield block
