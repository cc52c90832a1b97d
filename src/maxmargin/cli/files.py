"""Data and model files of every kind that the commands read and write."""

from __future__ import annotations

import errno
import os
import zipfile
import zlib
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from maxmargin.data import libsvm
from maxmargin.models import container
from maxmargin.models.atomic import replacing

Kind = Literal["maxmargin", "libsvm", "svmlight", "npz", "text"]
_SPARSE = ("data", "indices", "indptr", "shape")


def kind(path: str | os.PathLike[str]) -> Kind:
    """What a file is, by its first bytes; what is no model and no .npz archive is LIBSVM text, and so is "-"."""
    if path == "-":
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


def read_data(path: str, *, zero_based: bool = False, precomputed: bool = False) -> tuple[Any, np.ndarray]:
    """X and y of a data file.

    Parameters
    ----------
    path : str
        LIBSVM text ("-": standard input), or .npz with `X` and `y`, or with `y` and a CSR matrix in `data`, `indices`,
        `indptr` and `shape`.
    zero_based : bool
        Whether the first feature of a text has index 0. It is not guessed: the data to train on and those to predict
        might be guessed differently.
    precomputed : bool
        The rows of a text are `0:number 1:K(x, x_1) 2:K(x, x_2) ...`, as LIBSVM wants them; X is the dense matrix of
        kernel values.
    """
    what = kind(path)
    if what not in ("npz", "text"):
        raise ValueError(f"{path} is a model, and data are needed here")
    if what == "npz":
        X, y = _read_npz(path)
    else:
        X, y = libsvm.read(path, zero_based=zero_based or precomputed)
        X = X[:, 1:].toarray() if precomputed else X
    if X.shape[0] == 0:
        raise ValueError(f"{path} has no rows")
    return X, y


def widened(X: Any, n_features: int) -> Any:
    """X with columns of zeros up to ``n_features``: what a text file does not name is 0."""
    missing = n_features - X.shape[1]
    if missing <= 0:
        return X
    if sp.issparse(X):
        return type(X)((X.data, X.indices, X.indptr), shape=(X.shape[0], n_features))
    return np.pad(X, ((0, 0), (0, missing)))


def write_data(path: str, X: Any, y: np.ndarray, zero_based: bool = False) -> None:
    """Write X and y as .npz, or as LIBSVM text, compressed by its suffix ("-": standard output)."""
    if Path(path).suffix != ".npz":
        libsvm.write(path, X, y, zero_based=zero_based)
        return
    X = sp.csr_matrix(X)
    parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": np.array(X.shape), "y": y}
    with replacing(path) as file:
        np.savez_compressed(file, **parts)


def _read_npz(path: str) -> tuple[Any, np.ndarray]:
    try:
        return _arrays_of(path)
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise ValueError(f"{path} is a damaged .npz file: {error}") from error


def _arrays_of(path: str) -> tuple[Any, np.ndarray]:
    with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
        names = set(archive.files)
        if {"X", "y"} <= names:
            return archive["X"], archive["y"]
        if {*_SPARSE, "y"} <= names:
            data, indices, indptr, shape = (archive[name] for name in _SPARSE)
            return sp.csr_matrix((data, indices, indptr), shape=tuple(shape)), archive["y"]
    raise ValueError(f"{path} has the arrays {sorted(names)}, and X and y, or {', '.join(_SPARSE)} and y, are needed")


def check_target(path: str) -> None:
    """Raise OSError where no file can be written, before hours of work go into what it should hold."""
    folder = os.path.dirname(os.path.realpath(path))
    if os.path.isdir(path):
        raise IsADirectoryError(errno.EISDIR, "it is a folder, so no file can be written there", path)
    if os.path.exists(path) and not os.path.isfile(path):
        return
    if not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, "its folder does not exist", path)
    if not os.access(folder, os.W_OK):
        raise PermissionError(errno.EACCES, "its folder cannot be written to", path)
