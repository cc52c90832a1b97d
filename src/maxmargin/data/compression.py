"""Text compressed by gzip, bzip2, xz or zstd: recognised by its first bytes when read, by its suffix when written."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any, BinaryIO

Decompressor = Any  # decompress(bytes) -> bytes, eof, unused_data: what the modules of all four formats offer

MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
SUFFIXES = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd"}
LONGEST_MAGIC = max(map(len, MAGIC))


def kind(start: bytes) -> str | None:
    """The compression of a file that starts with these bytes, or None."""
    return next((name for magic, name in MAGIC.items() if start.startswith(magic)), None)


def decompressed(blocks: Iterator[bytes], kind: str, name: str) -> Iterator[bytes]:
    """The text in compressed blocks; archives that follow each other are read as one.

    Raises
    ------
    ValueError
        If the blocks are damaged or end too early; it names ``name``.
    """
    new, error_type = _decompressor(kind)
    decompressor, inside = new(), False
    for block in blocks:
        while block := block if inside else block.lstrip(b"\0"):  # archives may be padded with zeros
            try:
                text = decompressor.decompress(block)
            except error_type as error:
                raise ValueError(f"{name} is damaged: its {kind} data cannot be decompressed ({error})") from error
            if text:
                yield text
            inside, block = not decompressor.eof, b""
            if not inside:
                block, decompressor = decompressor.unused_data, new()
    if inside:
        raise ValueError(f"{name} is damaged: its {kind} data end too early")


def compressing(file: BinaryIO, path: str | os.PathLike[str]) -> AbstractContextManager[BinaryIO]:
    """A file whose text goes to ``file`` in the compression that the suffix of ``path`` names; ``file`` stays open."""
    kind = SUFFIXES.get(os.path.splitext(os.fspath(path))[1].lower())
    if kind is None:
        return nullcontext(file)
    if kind == "gzip":
        import gzip

        return gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=file, mtime=0)  # type: ignore[return-value]
    if kind == "bzip2":
        import bz2

        return bz2.BZ2File(file, "wb")  # type: ignore[return-value]
    if kind == "xz":
        import lzma

        return lzma.LZMAFile(file, "wb")  # type: ignore[return-value]
    zstd = _zstd()
    if hasattr(zstd, "ZstdFile"):
        return zstd.ZstdFile(file, "wb")
    return zstd.ZstdCompressor().stream_writer(file, closefd=False)


def _decompressor(kind: str) -> tuple[Callable[[], Decompressor], type[Exception] | tuple[type[Exception], ...]]:
    """What makes a decompressor, and the errors that it raises for damaged data."""
    if kind == "gzip":
        return lambda: zlib.decompressobj(wbits=31), zlib.error
    if kind == "bzip2":
        import bz2

        return bz2.BZ2Decompressor, OSError
    if kind == "xz":
        import lzma

        return lzma.LZMADecompressor, lzma.LZMAError
    zstd = _zstd()
    if hasattr(zstd, "ZstdFile"):
        return zstd.ZstdDecompressor, zstd.ZstdError
    return lambda: zstd.ZstdDecompressor().decompressobj(), zstd.ZstdError


def _zstd() -> Any:
    """Python's own module (3.14), else the package zstandard."""
    try:
        from compression import zstd  # type: ignore[import-not-found]
    except ImportError:
        try:
            import zstandard as zstd
        except ImportError:
            raise ImportError(
                "Text compressed by zstd needs Python 3.14 or the package zstandard: `pip install zstandard`",
                name="zstandard",
            ) from None
    return zstd
