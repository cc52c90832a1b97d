"""Data and model files of every kind that the commands read and write."""

from __future__ import annotations

import contextlib
import errno
import os
import tokenize
import zipfile
import zlib
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from maxmargin.cli.command import UsageError
from maxmargin.data import libsvm
from maxmargin.models import container
from maxmargin.models.atomic import replacing

Kind = Literal["maxmargin", "libsvm", "svmlight", "npz", "text"]
_SPARSE = ("data", "indices", "indptr", "shape")
# What NumPy lets through of the modules that it reads an archive with.
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, SyntaxError, tokenize.TokenError)


def kind(path: str | os.PathLike[str]) -> Kind:
    """What a file is, by its first bytes; what is no model and no .npz archive is LIBSVM text.

    So are "-" and pipes, whose first bytes can be read only once.
    """
    if path == "-" or is_stream(path):
        return "text"
    with open(path, "rb") as file:
        start = file.read(len(container.MAGIC))
    if start == container.MAGIC:
        return "maxmargin"
    if start.startswith(b"svm_type"):
        return "libsvm"
    if start.startswith(b"SVM-light"):
        return "svmlight"
    return "npz" if start.startswith(b"PK\x03\x04") else "text"


def is_stream(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a pipe or a device, no file in a folder."""
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


def read_data(path: str, *, zero_based: bool = False) -> tuple[Any, np.ndarray]:
    """X and y of a data file.

    Parameters
    ----------
    path : str
        LIBSVM text ("-": standard input), or .npz with `X` and `y`, or with `y` and a CSR matrix in `data`, `indices`,
        `indptr` and `shape`. The y of an .npz may be strings.
    zero_based : bool
        Whether the first feature of a text has index 0. It is not guessed: the data to train on and those to predict
        might be guessed differently.
    """
    what = kind(path)
    if what not in ("npz", "text"):
        raise ValueError(f"{path} is a model, and data are needed here")
    X, y = _read_npz(path) if what == "npz" else libsvm.read(path, zero_based=zero_based)
    if X.shape[0] == 0:
        raise ValueError(f"{path} has no rows")
    return X, y


def require_numbers(path: str, y: np.ndarray) -> None:
    """Raise ValueError where the labels of a data file are strings, and the command has no use for these."""
    if y.dtype.kind == "U":
        raise ValueError(f"{path}: y holds strings such as {str(y[0])!r}, and numbers are needed here")


def widened(X: Any, n_features: int) -> Any:
    """X with columns of zeros up to ``n_features``: what a text file does not name is 0."""
    missing = n_features - X.shape[1]
    if missing <= 0:
        return X
    if sp.issparse(X):
        return type(X)((X.data, X.indices, X.indptr), shape=(X.shape[0], n_features))
    return np.pad(X, ((0, 0), (0, missing)))


def write_data(path: str, X: Any, y: np.ndarray, *, source: str, zero_based: bool = False) -> None:
    """Write X and y as .npz, or as LIBSVM text, compressed by its suffix ("-": standard output)."""
    if Path(path).suffix != ".npz":
        require_numbers(source, y)
        libsvm.write(path, X, y, zero_based=zero_based)
        return
    X = sp.csr_matrix(X)
    parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": np.array(X.shape), "y": y}
    with replacing(path) as file:
        np.savez_compressed(file, **parts)


def _read_npz(path: str) -> tuple[Any, np.ndarray]:
    arrays = _arrays_of(path)
    y = arrays.pop("y")
    fault = _array_fault(arrays, y)
    if fault:
        raise ValueError(f"{path}: {fault}")
    X = arrays["X"] if "X" in arrays else _csr(path, **arrays)
    if X.shape[0] != len(y):
        raise ValueError(f"{path}: X has {X.shape[0]} rows and y has {len(y)} labels, and they must be as many")
    return X, y


def _arrays_of(path: str) -> dict[str, np.ndarray]:
    """The arrays of an archive that are data."""
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            names = set(archive.files)
            for wanted in ({"X", "y"}, {*_SPARSE, "y"}):
                if wanted <= names:
                    return {name: np.asarray(archive[name]) for name in wanted}
    except ValueError as error:
        reason = "one holds Python objects" if "Object arrays" in str(error) else str(error)
        raise ValueError(f"{path}: its arrays cannot be read: {reason}") from error
    except _DAMAGE as error:
        raise ValueError(f"{path} is a damaged .npz file: {error}") from error
    raise ValueError(f"{path} has the arrays {sorted(names)}, and X and y, or {', '.join(_SPARSE)} and y, are needed")


def _array_fault(arrays: dict[str, np.ndarray], y: np.ndarray) -> str | None:
    """What makes the arrays no rows of numbers with one label each."""
    for name, array in sorted(arrays.items()):
        wanted = "iu" if name in ("indices", "indptr", "shape") else "biuf"
        dimensions = 2 if name == "X" else 1
        if array.ndim != dimensions:
            return f"{name} has the shape {array.shape}, and a {dimensions}-dimensional array is needed"
        if array.dtype.kind not in wanted:
            return f"{name} holds values of the type {array.dtype}, and {'whole ' * (wanted == 'iu')}numbers are needed"
    if y.ndim != 1:
        return f"y has the shape {y.shape}, and a 1-dimensional array is needed"
    if y.dtype.kind not in "biufU":
        return f"y holds values of the type {y.dtype}, and numbers or strings are needed"
    return None


def _csr(path: str, data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: np.ndarray) -> sp.csr_matrix:
    try:
        X = sp.csr_matrix((data, indices, indptr), shape=tuple(shape.tolist()))
        X.check_format(full_check=True)  # every index: SciPy and the native code read and write through them
    except (ValueError, TypeError, IndexError) as error:
        raise ValueError(f"{path}: data, indices, indptr and shape are no CSR matrix: {error}") from error
    return X


def check_target(path: str, *others: str | None) -> None:
    """Raise where no file can be written, before hours of work go into what it should hold.

    Parameters
    ----------
    path : str
        The file to write; "-" is standard output.
    others : str or None
        Files that it must not take the place of: a UsageError.
    """
    if path == "-":
        return
    for other in others:
        if other not in (None, "-") and _is_same(path, str(other)):
            raise UsageError(f"{path} would be written over {other}, which this command needs as it is")
    if not path:
        raise UsageError("the name of the file to write is empty")
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        os.stat(path)  # a name that is too long, a loop of links
    folder = os.path.dirname(os.path.realpath(path))
    if os.path.isdir(path):
        raise IsADirectoryError(errno.EISDIR, "it is a folder, so no file can be written there", path)
    if is_stream(path):
        return
    if os.path.isfile(path):
        os.close(os.open(path, os.O_WRONLY))
    if not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, "its folder does not exist", path)
    if not os.access(folder, os.W_OK):
        raise PermissionError(errno.EACCES, "its folder cannot be written to", path)


def _is_same(path: str, other: str) -> bool:
    """Whether two names are of one file; devices and pipes are not taken the place of."""
    if os.path.isfile(path) and os.path.exists(other):
        return os.path.samefile(path, other)
    return not os.path.exists(path) and os.path.realpath(path) == os.path.realpath(other)
