"""LIBSVM's model file as text and as data."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.models.atomic import replacing

SVM_TYPES = ("c_svc", "nu_svc", "one_class", "epsilon_svr", "nu_svr")
KERNEL_TYPES = ("linear", "polynomial", "rbf", "sigmoid", "precomputed")
# Which kernel parameters the file has, by kernel.
PARAMETERS = {"polynomial": ("degree", "gamma", "coef0"), "rbf": ("gamma",), "sigmoid": ("gamma", "coef0")}
_COUNTS = ("degree", "nr_class", "total_sv", "label", "nr_sv")
_NUMBERS = ("gamma", "coef0", "rho", "probA", "probB", "prob_density_marks")
_SINGLE = ("degree", "nr_class", "total_sv", "gamma", "coef0")
# What a type has of probabilities: sigmoids, the scale of its noise, or ten marks.
_PROBABILITIES = {
    "c_svc": ("probA", "probB"),
    "nu_svc": ("probA", "probB"),
    "one_class": ("prob_density_marks",),
    "epsilon_svr": ("probA",),
    "nu_svr": ("probA",),
}
_MARKS = 10


@dataclass(frozen=True, eq=False)
class LibsvmModel:
    r"""What a LIBSVM model file says.

    With k classes, coefficients c and pairs (i, j), i < j, in the order of ``label``, the decision value of a pair is

        sum over the vectors of class i of c[j-1] k(v, x) + sum over those of class j of c[i] k(v, x) - rho[pair],

    and a positive value is a vote for class i. The other types have one row of coefficients and one rho.

    Parameters
    ----------
    svm_type, kernel_type : str
        LIBSVM's names.
    rho : (pairs,)
    coef : (k - 1, total_sv)
    vectors : CSR (total_sv, features), or the 1-based numbers of the training rows (total_sv,) for ``precomputed``
    label, n_sv : (k,) integers, empty but for classification
    prob_a, prob_b, density_marks : arrays, empty where the file has none
    """

    svm_type: str
    kernel_type: str
    rho: np.ndarray
    coef: np.ndarray
    vectors: Any
    degree: int = 3
    gamma: float = 0.0
    coef0: float = 0.0
    label: tuple[int, ...] = ()
    n_sv: tuple[int, ...] = ()
    prob_a: tuple[float, ...] = ()
    prob_b: tuple[float, ...] = ()
    density_marks: tuple[float, ...] = ()


def write(model: LibsvmModel, path: str | os.PathLike[str]) -> None:
    """Write a LIBSVM model file, whole or not at all; every number has the 17 digits that restore it exactly."""
    with replacing(path) as file:
        file.writelines(line.encode("ascii") + b"\n" for line in _lines(model))


def _lines(model: LibsvmModel) -> Iterator[str]:
    yield f"svm_type {model.svm_type}"
    yield f"kernel_type {model.kernel_type}"
    for name in PARAMETERS.get(model.kernel_type, ()):
        yield f"{name} {getattr(model, name):.17g}"
    yield f"nr_class {len(model.label) or 2}"
    yield f"total_sv {model.coef.shape[1]}"
    yield f"rho {_numbers(model.rho)}"
    for name, values in (
        ("label", model.label),
        ("probA", model.prob_a),
        ("probB", model.prob_b),
        ("prob_density_marks", model.density_marks),
        ("nr_sv", model.n_sv),
    ):
        if values:
            yield f"{name} {_numbers(values)}"
    yield "SV"
    vectors = model.vectors
    for i, coefficients in enumerate(model.coef.T):
        if isinstance(vectors, np.ndarray):
            yield f"{_numbers(coefficients)} 0:{vectors[i]:d} "
        else:
            row = slice(vectors.indptr[i], vectors.indptr[i + 1])
            yield f"{_numbers(coefficients)} {_pairs(vectors.indices[row], vectors.data[row])}"


def _numbers(values: np.ndarray | tuple[float, ...]) -> str:
    return " ".join(f"{value:.17g}" for value in values)


def _pairs(indices: np.ndarray, values: np.ndarray) -> str:
    """``index:value`` with indices from 1; a space after each, as LIBSVM writes them."""
    return "".join(f"{i + 1}:{v:.17g} " for i, v in zip(indices.tolist(), values.tolist(), strict=True) if v != 0)


def read(path: str | os.PathLike[str]) -> LibsvmModel:
    """Read a LIBSVM model file."""
    name = os.fspath(path)
    with open(path, encoding="ascii", errors="replace") as file:
        header = _read_header(file, name)
        lines = [line for line in file if not line.isspace()]
    try:
        return _model(header, lines, name)
    except KeyError as error:
        raise ValueError(f"{name} is no LIBSVM model: its header has no line {error.args[0]!r}") from None


def _read_header(file: Iterator[str], name: str) -> dict[str, list[str]]:
    header: dict[str, list[str]] = {"lines": []}
    for number, line in enumerate(file, 1):
        key, *values = line.split() or [""]
        if key == "SV":
            header["lines"] = [str(number)]
            return header
        if number == 1 and key != "svm_type":
            raise ValueError(f"{name} is no LIBSVM model: it does not start with 'svm_type'")
        if key not in (*_COUNTS, *_NUMBERS, "svm_type", "kernel_type"):
            raise ValueError(f"{name}, line {number}: {key!r} is no entry of a LIBSVM model")
        if key in header:
            raise ValueError(f"{name}, line {number}: {key} is stated twice")
        if key in _SINGLE and len(values) != 1:
            raise ValueError(f"{name}, line {number}: {key} should have one value and has {len(values)}")
        try:
            if key in _COUNTS:
                np.array([int(value) for value in values], np.int32)
            elif key in _NUMBERS:
                _finite(values)
        except (ValueError, OverflowError):
            raise ValueError(f"{name}, line {number}: {' '.join(values)!r} is no value of {key}") from None
        header[key] = values
    raise ValueError(f"{name} is cut short: it has no line 'SV'" if header.keys() - {"lines"} else f"{name} is empty")


def _model(header: dict[str, list[str]], lines: list[str], name: str) -> LibsvmModel:
    svm_type, kernel_type = (
        _one_of(header, "svm_type", SVM_TYPES, name),
        _one_of(header, "kernel_type", KERNEL_TYPES, name),
    )
    total = int(header["total_sv"][0])
    if len(lines) != total:
        fault = "is cut short" if len(lines) < total else "has lines after its end"
        raise ValueError(f"{name} {fault}: it states {total} support vectors and has {len(lines)}")
    rho = _finite(header["rho"])
    label, n_sv = _classes(header, total, name) if svm_type in ("c_svc", "nu_svc") else ((), ())
    pairs = max(len(label) * (len(label) - 1) // 2, 1)
    if len(rho) != pairs:
        raise ValueError(f"{name} is damaged: rho should have {pairs} values and has {len(rho)}")
    first = int(header["lines"][0]) + 1
    coef, vectors = _vectors(lines, max(len(label) - 1, 1), kernel_type == "precomputed", first, name)
    kernel = {key: float(header[key][0]) for key in PARAMETERS.get(kernel_type, ())}
    return LibsvmModel(
        svm_type=svm_type,
        kernel_type=kernel_type,
        rho=rho,
        coef=coef,
        vectors=vectors,
        degree=int(kernel.get("degree", 3)),
        gamma=kernel.get("gamma", 0.0),
        coef0=kernel.get("coef0", 0.0),
        label=label,
        n_sv=n_sv,
        **_probabilities(header, svm_type, pairs, name),
    )


def _probabilities(header: dict[str, list[str]], svm_type: str, pairs: int, name: str) -> dict[str, Any]:
    """What the file has of probabilities, which must be what its type has."""
    found: dict[str, tuple[float, ...]] = {}
    for key, field in (("probA", "prob_a"), ("probB", "prob_b"), ("prob_density_marks", "density_marks")):
        values = tuple(_finite(header.get(key, [])).tolist())
        count = _MARKS if field == "density_marks" else pairs
        if key in header and key not in _PROBABILITIES[svm_type]:
            raise ValueError(f"{name} is damaged: a {svm_type} has no {key}")
        if key in header and len(values) != count:
            raise ValueError(f"{name} is damaged: {key} should have {count} values and has {len(values)}")
        found[field] = values
    if svm_type in ("epsilon_svr", "nu_svr") and min(found["prob_a"], default=0.0) < 0:
        raise ValueError(f"{name} is damaged: the scale of its noise, probA, is {found['prob_a'][0]:g}")
    if any(np.diff(found["density_marks"]) < 0):
        raise ValueError(f"{name} is damaged: prob_density_marks do not ascend")
    return found


def _classes(header: dict[str, list[str]], total: int, name: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The labels of the classes and their numbers of support vectors."""
    label, n_sv = tuple(map(int, header["label"])), tuple(map(int, header["nr_sv"]))
    if len(label) < 2:
        raise ValueError(f"{name} has only one class, {header['label']}: there is nothing to predict")
    if int(header["nr_class"][0]) != len(label):
        raise ValueError(
            f"{name} is damaged: nr_class is {header['nr_class'][0]}, and label names {len(label)} classes"
        )
    if min(n_sv, default=0) < 0:
        raise ValueError(f"{name} is damaged: nr_sv has the negative number {min(n_sv)}")
    if len(set(label)) < len(label) or len(n_sv) != len(label) or sum(n_sv) != total:
        raise ValueError(f"{name} is damaged: label, nr_sv and total_sv do not fit together")
    return label, n_sv


def _one_of(header: dict[str, list[str]], key: str, known: tuple[str, ...], name: str) -> str:
    value = " ".join(header[key])
    if value not in known:
        raise ValueError(f"{name}: {key} is {value!r}, and only {', '.join(known)} are known")
    return value


def _vectors(lines: list[str], width: int, precomputed: bool, first: int, name: str) -> tuple[np.ndarray, Any]:
    """The coefficients (width, lines) and the vectors."""
    coef = np.empty((width, len(lines)))
    indices: list[np.ndarray] = []
    values: list[np.ndarray] = []
    for i, line in enumerate(lines):
        parts = line.split(maxsplit=width)
        pairs = parts[width] if len(parts) > width else ""
        try:
            coef[:, i] = _finite(parts[:width])
            numbers = _finite(pairs.replace(":", " ").split())
            indices.append(_index(numbers[::2], precomputed))
            values.append(numbers[1::2])
            if not len(values[-1]) == len(indices[-1]) == pairs.count(":"):
                raise ValueError
        except ValueError:
            raise ValueError(f"{name}, line {first + i}: {line.strip()[:60]!r} is no support vector") from None
    if precomputed:
        return coef, np.array([value[0] for value in values], np.int64)
    indptr = np.cumsum([0, *map(len, values)])
    columns = np.concatenate(indices or [np.empty(0, np.int32)])
    data = np.concatenate(values or [np.empty(0)])
    return coef, sp.csr_matrix((data, columns, indptr), shape=(len(lines), int(columns.max(initial=-1)) + 1))


def _finite(words: list[str]) -> np.ndarray:
    numbers = np.array(words, float)
    if not np.isfinite(numbers).all():
        raise ValueError(f"{words} has a number that is not finite")
    return numbers


def _index(numbers: np.ndarray, precomputed: bool) -> np.ndarray:
    """0-based indices: whole, ascending, from 1; just the single index 0 for a precomputed kernel."""
    if np.any(numbers > np.iinfo(np.int32).max):
        raise ValueError
    index = numbers.astype(np.int32)
    if np.any(index != numbers) or np.any(np.diff(index) <= 0):
        raise ValueError
    if precomputed and index.tolist() != [0] or not precomputed and np.any(index < 1):
        raise ValueError
    return index - 1
