"""Saving and loading fitted estimators: one file, no pickle, nothing in it can run."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from typing import Any

import numpy as np

from maxmargin import __version__
from maxmargin.models import container
from maxmargin.models.encoding import PACKAGE, Decoder, Encoder

_CERTIFICATE = {
    "primal": "primal_objective_",
    "dual": "dual_objective_",
    "gap": "duality_gap_",
    "violation": "kkt_violation_",
    "status": "status_",
}


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Save an estimator to one file, whole or not at all.

    The file holds the parameters (``callback`` as None) and everything that the fit has set, but for the training rows
    (the support vectors are in it). It is written aside, forced to the disk and renamed over ``path``: a reader sees
    the old file or the new one, whatever happens in between. docs/model-format.md describes it byte by byte.

    Parameters
    ----------
    model : estimator
        An estimator of this package, fitted or not.
    path : path-like
        The file; any suffix.

    Raises
    ------
    ValueError
        If a parameter or attribute cannot be stored: a callable kernel is code, and no code is saved.
    OSError
        If the file cannot be written; ``path`` is then as it was.
    """
    if not type(model).__module__.startswith(f"{PACKAGE}.") or not hasattr(model, "get_params"):
        raise ValueError(
            f"save takes an estimator of {PACKAGE}, not a {type(model).__module__}.{type(model).__qualname__}"
        )
    encoder = Encoder()
    header = {
        "format": f"{PACKAGE} model",
        "version": container.VERSION,
        "provenance": _provenance(model),
        "certificate": _certificate(model),
        "model": encoder.estimator(model),
    }
    container.write(path, header, encoder.arrays)


def load(path: str | os.PathLike[str], *, mmap_mode: container.MmapMode | None = None) -> Any:
    """Load an estimator that `save` has written.

    Parameters
    ----------
    path : path-like
        The file.
    mmap_mode : {None, "r", "c"}, default None
        None reads the arrays into memory and checks their hashes. "r" maps them read-only: several processes then share
        one copy and only what is used is read. "c" maps them copy-on-write.

    Returns
    -------
    estimator
        It predicts exactly as the saved one. The training rows are not in the file, so `certify` refuses.

    Raises
    ------
    ValueError
        If the file is no model, is cut short or damaged, or is of a newer format.
    """
    header, arrays = container.read(path, mmap_mode)
    try:
        return Decoder(arrays).decode(header["model"])
    except ModuleNotFoundError as error:
        raise ValueError(f"{os.fspath(path)} needs {error.name}, which this {PACKAGE} does not have") from error
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError, RecursionError) as error:
        raise ValueError(f"{os.fspath(path)} cannot be loaded: its header holds {_reason(error)}") from error


def describe(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The header of a model file: class, parameters, certificate, provenance, and where the arrays are."""
    return container.read_header(path)


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, ValueError) else f"an entry that no {PACKAGE} writes ({error})"


def _provenance(model: Any) -> dict[str, Any]:
    """Which program wrote the file, when, and the shape of the training data."""
    shape = getattr(model, "shape_fit_", None)
    return {
        PACKAGE: __version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "data_shape": None if shape is None else [int(size) for size in shape],
    }


def _certificate(model: Any) -> dict[str, Any] | None:
    """The certificate in plain JSON: numbers for one problem, lists for several; infinities and NaN as strings."""
    return {key: _plain(getattr(model, name)) for key, name in _CERTIFICATE.items() if hasattr(model, name)} or None


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple, np.ndarray)) and np.ndim(value):
        return [_plain(item) for item in value]
    if isinstance(value, str):
        return str(value.value) if hasattr(value, "value") else str(value)
    number = float(value)
    return number if np.isfinite(number) else str(number)
