"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a binary file that takes the place of ``path`` only when the block ends without an error.

    The bytes go to a file of their own in the same folder (``.<name>.<random>.tmp``); at the end they are forced to the
    disk and the file is renamed over ``path``, which is one step for every reader. After an error the old file is as
    it was and the new one is removed; after a kill or a power cut the old file is as it was. A path that exists and is
    no regular file (a pipe, ``/dev/stdout``) is written straight, and a file without permission to write stays.

    Raises
    ------
    OSError
        If a byte could not be written; it names ``path``.
    """
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        with _naming(path), open(path, "wb") as file:
            yield file
        return
    target = Path(os.path.realpath(path))
    with _naming(path):
        if target.is_dir():
            raise IsADirectoryError(f"{os.fspath(path)} is a folder, so no file can be written there")
        if target.exists():  # the folder's permission suffices to rename over a file that may not be written
            os.close(os.open(target, os.O_WRONLY))
        short = os.fsdecode(os.fsencode(target.name)[:200])  # systems allow 255 bytes, and the rest needs room
        aside = target.with_name(f".{short}.{secrets.token_hex(8)}.tmp")
        # os.open rather than tempfile: the file gets the permissions that the umask gives to any new file.
        descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        try:
            with open(descriptor, "wb") as file:
                if target.exists():
                    os.chmod(aside, target.stat().st_mode & 0o7777)
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(aside, target)
        except BaseException:
            with contextlib.suppress(OSError):
                aside.unlink(missing_ok=True)
            raise
        _sync_folder(target.parent)


@contextlib.contextmanager
def _naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Name the file that the caller asked for in every OSError of the block that comes from the operating system."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.strerror is None or _is_other_file(error, path):
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error


def _is_other_file(error: OSError, path: str | os.PathLike[str]) -> bool:
    """Whether the error is about a file of the caller's block, such as one that it reads from."""
    if error.filename is None:
        return False
    name = os.path.basename(os.fsdecode(error.filename)) if not isinstance(error.filename, int) else ""
    return not (name.endswith(".tmp") or name == os.path.basename(os.path.realpath(path)))


def _sync_folder(folder: Path) -> None:
    """Force the new name to the disk, where the system can open a folder."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
