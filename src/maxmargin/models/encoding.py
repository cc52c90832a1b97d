"""Fitted estimators as a tree of JSON values and a list of arrays, and back, without running any stored code.

None, booleans, strings, integers and finite floats are themselves, a list is a list; everything else is an object with
one key that names its kind:

    {"float": "inf"}                      a float that JSON has no word for: inf, -inf, nan
    {"array": k}                          array k of the file
    {"scalar": k}                         a NumPy scalar: array k of the file, of shape ()
    {"objects": [...], "shape": [...]}    an array of Python objects (strings, as a rule), row by row
    {"sparse": "csr_array", ...}          a SciPy matrix in its three arrays
    {"tuple": [...]}, {"dict": [[key, value], ...]}
    {"enum": "solvers.Status", "value": "converged"}
    {"class": "kernels.Gaussian", "fields": {...}}               a dataclass of this package
    {"estimator": "SVC", "parameters": {...}, "attributes": {...}}
"""

from __future__ import annotations

import dataclasses
import enum
import math
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp

PACKAGE = __name__.split(".")[0]
_ROOMS = {"kernels": "kernels", "problems": "problems", "solvers": "solvers.loop"}
_SPARSE = {
    "csr_matrix": sp.csr_matrix,
    "csr_array": sp.csr_array,
    "csc_matrix": sp.csc_matrix,
    "csc_array": sp.csc_array,
}


class Encoder:
    """Turns values into JSON values; the arrays on the way are collected in ``arrays``, each once."""

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []
        self._index: dict[int, int] = {}
        self._alive: list[object] = []  # an id is only unique while its object lives

    def encode(self, value: Any, where: str) -> Any:
        """The JSON value of ``value``; ``where`` names it in errors."""
        if value is None or isinstance(value, (bool, str, int)) and type(value) in (bool, str, int):
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if isinstance(value, np.ndarray):
            return self._array(value, where)
        if isinstance(value, np.generic):
            return {"scalar": self._store(np.asarray(value), where)}
        if sp.issparse(value):
            return self._sparse(value, where)
        if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
            items = [self.encode(item, f"{where}[{i}]") for i, item in enumerate(value)]
            return items if type(value) is list else {"tuple": items}
        if isinstance(value, dict):
            pairs = value.items()
            return {"dict": [[self.encode(k, where), self.encode(v, f"{where}[{k!r}]")] for k, v in pairs]}
        return self._object(value, where)

    def _object(self, value: Any, where: str) -> Any:
        """Objects of this package; anything else would need its code stored."""
        kind = type(value)
        if kind.__module__.startswith(f"{PACKAGE}."):
            if hasattr(kind, "get_params"):
                return self.estimator(value, where)
            name = f"{kind.__module__.split('.')[1]}.{kind.__qualname__}"
            if isinstance(value, enum.Enum):
                return {"enum": name, "value": value.value}
            if dataclasses.is_dataclass(kind):
                fields = [f.name for f in dataclasses.fields(kind)]
                return {"class": name, "fields": {f: self.encode(getattr(value, f), f"{where}.{f}") for f in fields}}
        if callable(value):
            name = getattr(value, "__name__", kind.__name__)
            raise ValueError(
                f"{where} is the function {name!r} and a model file holds no code: "
                f"use a kernel of {PACKAGE}.kernels to save this model"
            )
        raise ValueError(f"{where} is of type {kind.__module__}.{kind.__qualname__}, which a model file cannot hold")

    def estimator(self, model: Any, where: str = "") -> dict[str, Any]:
        """The JSON value of an estimator: its parameters, and the attributes that its fit has set."""
        parameters = model.get_params(deep=False) | _forgotten(model)
        attributes = {key: value for key, value in stored_attributes(model).items() if key not in parameters}
        prefix = f"{where}." if where else ""
        return {
            "estimator": type(model).__name__,
            "parameters": {key: self.encode(value, prefix + key) for key, value in parameters.items()},
            "attributes": {key: self.encode(value, prefix + key) for key, value in attributes.items()},
        }

    def _array(self, value: np.ndarray, where: str) -> Any:
        if value.dtype != object:
            return {"array": self._store(value, where)}
        items = [self.encode(item, f"{where}[{i}]") for i, item in enumerate(value.reshape(-1))]
        return {"objects": items, "shape": list(value.shape)}

    def _sparse(self, value: Any, where: str) -> Any:
        name = type(value).__name__
        if name not in _SPARSE:
            raise ValueError(f"{where} is a SciPy {name}, and a model file holds CSR and CSC only")
        parts = {part: self.encode(getattr(value, part), where) for part in ("data", "indices", "indptr")}
        return {"sparse": name, "shape": list(value.shape), **parts}

    def _store(self, value: np.ndarray, where: str) -> int:
        dtype = value.dtype
        wide = dtype.kind in "fc" and dtype.itemsize > {"f": 8, "c": 16}[dtype.kind]  # longdouble differs by processor
        if dtype.kind not in "biufcSUmM" or wide:
            raise ValueError(f"{where} is an array of dtype {dtype}, which a model file cannot hold")
        if id(value) not in self._index:
            self._index[id(value)] = len(self.arrays)
            self._alive.append(value)
            self.arrays.append(value)
        return self._index[id(value)]


def _forgotten(model: Any) -> dict[str, Any]:
    """Parameters that only a fit uses and that a file has no words for, as what takes their place."""
    stated = model.get_params(deep=False)
    forgotten: dict[str, Any] = {"callback": None}
    if callable(stated.get("solver")):
        forgotten["solver"] = "auto"
    if isinstance(stated.get("random_state"), np.random.RandomState):
        forgotten["random_state"] = None
    return {key: value for key, value in forgotten.items() if key in stated}


def stored_attributes(model: Any) -> dict[str, Any]:
    """The attributes of an estimator that go into a file: those that it would pickle, so without its training rows."""
    return {key: value for key, value in model.__getstate__().items() if key != "_sklearn_version"}


class Decoder:
    """Turns JSON values back into values; only classes of this package are made."""

    def __init__(self, arrays: list[np.ndarray]) -> None:
        self.arrays = arrays

    def decode(self, node: Any) -> Any:
        """The value of a JSON value."""
        if isinstance(node, list):
            return [self.decode(item) for item in node]
        if not isinstance(node, dict):
            return node
        kind = next(iter(node), None)
        if kind not in ("float", "array", "scalar", "objects", "sparse", "tuple", "dict", "enum", "class", "estimator"):
            raise ValueError(f"a value of the unknown kind {kind!r}")
        return getattr(self, f"_{kind}")(node)

    def _float(self, node: dict[str, Any]) -> float:
        return float(node["float"])

    def _array(self, node: dict[str, Any]) -> np.ndarray:
        return self.arrays[node["array"]]

    def _scalar(self, node: dict[str, Any]) -> np.generic:
        return self.arrays[node["scalar"]][()]

    def _objects(self, node: dict[str, Any]) -> np.ndarray:
        array = np.empty(len(node["objects"]), object)
        for i, item in enumerate(node["objects"]):
            array[i] = self.decode(item)
        return array.reshape(node["shape"])

    def _sparse(self, node: dict[str, Any]) -> Any:
        parts = tuple(self.decode(node[part]) for part in ("data", "indices", "indptr"))
        try:
            matrix = _SPARSE[node["sparse"]](parts, shape=tuple(node["shape"]), copy=False)
            matrix.check_format(full_check=True)  # SciPy reads and writes through any index without a look at it
        except ValueError as error:
            raise ValueError(f"a {node['sparse']} whose parts do not fit together ({error})") from error
        return matrix

    def _tuple(self, node: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(self.decode(item) for item in node["tuple"])

    def _dict(self, node: dict[str, Any]) -> dict[Any, Any]:
        return {self.decode(key): self.decode(value) for key, value in node["dict"]}

    def _enum(self, node: dict[str, Any]) -> enum.Enum:
        return _class_of_package(node["enum"])(node["value"])

    def _class(self, node: dict[str, Any]) -> Any:
        return _class_of_package(node["class"])(**{key: self.decode(value) for key, value in node["fields"].items()})

    def _estimator(self, node: dict[str, Any]) -> Any:
        estimators = import_module(f"{PACKAGE}.estimators")
        if node["estimator"] not in estimators.__all__:
            raise ValueError(f"the estimator {node['estimator']!r}, which this {PACKAGE} does not have")
        kind = getattr(estimators, node["estimator"])
        model = kind(**{key: self.decode(value) for key, value in node["parameters"].items()})
        vars(model).update({key: self.decode(value) for key, value in node["attributes"].items()})
        return model


def _class_of_package(name: str) -> Any:
    """The dataclass or enumeration ``name`` of this package, from one of the modules that hold such data."""
    room, _, public = name.partition(".")
    kind = None
    if room in _ROOMS and public.isidentifier() and not public.startswith("_"):
        kind = getattr(import_module(f"{PACKAGE}.{_ROOMS[room]}"), public, None)
    data = isinstance(kind, type) and (dataclasses.is_dataclass(kind) or issubclass(kind, enum.Enum))
    if not data or not kind.__module__.startswith(f"{PACKAGE}."):
        raise ValueError(f"the class {name!r}, which this {PACKAGE} does not have")
    return kind
