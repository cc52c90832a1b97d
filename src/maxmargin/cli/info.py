"""`maxmargin info`."""

from __future__ import annotations

import argparse
import os
from typing import Any

import numpy as np

from maxmargin import models
from maxmargin.cli import files
from maxmargin.cli.command import OK
from maxmargin.cli.output import number, print_json
from maxmargin.models import libsvm_text


def run(args: argparse.Namespace) -> int:
    """Describe a file by what it is."""
    what = files.kind(args.file)
    found: dict[str, Any] = {"file": args.file, "kind": what}
    if os.path.isfile(args.file):
        found["bytes"] = os.path.getsize(args.file)
    if what == "maxmargin":
        found |= _native(args.file)
    elif what == "libsvm":
        found |= _libsvm(args.file)
    elif what == "svmlight":
        raise ValueError(f"{args.file} is an SVM-light model, and only maxmargin and LIBSVM models are read")
    else:
        found |= _data(args.file, args.zero_based)
    if args.json:
        print_json(found)
    else:
        for key, value in found.items():
            print(f"{key.replace('_', ' ')}: {_shown(value)}")
    return OK


def _native(path: str) -> dict[str, Any]:
    """From the header; the arrays but for the sizes of the model are not read."""
    header = models.describe(path)
    model = models.load(path, mmap_mode="r")
    parameters = {key: value for key, value in model.get_params().items() if isinstance(value, (bool, int, float, str))}
    found = {"class": header["model"]["estimator"], "parameters": parameters, **_sizes(model)}
    return {**found, "certificate": header["certificate"], "provenance": header["provenance"]}


def _sizes(model: Any) -> dict[str, Any]:
    """How large a fitted model is."""
    if not hasattr(model, "support_"):
        return {"fitted": False}
    found: dict[str, Any] = {"fitted": True, "support_vectors": len(model.support_)}
    if hasattr(model, "n_features_in_"):
        found["features"] = int(model.n_features_in_)
    if hasattr(model, "classes_"):
        found["classes"] = model.classes_.tolist()
        found["support_vectors_by_class"] = np.asarray(model.n_support_).tolist()
    if hasattr(model, "noise_scale_"):
        found["noise_scale"] = model.noise_scale_
    return found


def _libsvm(path: str) -> dict[str, Any]:
    model = libsvm_text.read(path)
    found: dict[str, Any] = {"svm_type": model.svm_type, "kernel_type": model.kernel_type}
    found |= {name: getattr(model, name) for name in libsvm_text.PARAMETERS.get(model.kernel_type, ())}
    found["support_vectors"] = model.coef.shape[1]
    if model.label:
        found |= {"classes": list(model.label), "support_vectors_by_class": list(model.n_sv)}
    elif model.prob_a:
        found["noise_scale"] = model.prob_a[0]
    return {**found, "probabilities": bool(model.prob_a or model.density_marks)}


def _data(path: str, zero_based: bool) -> dict[str, Any]:
    """Shape, density, and the labels, or the range of the targets where they are many or not whole."""
    X, y = files.read_data(path, zero_based=zero_based)
    stored = int(np.count_nonzero(X)) if isinstance(X, np.ndarray) else int(X.count_nonzero())
    found: dict[str, Any] = {"rows": X.shape[0], "features": X.shape[1], "nonzeros": stored}
    found["density"] = stored / max(1, X.shape[0] * X.shape[1])
    values, counts = np.unique(y, return_counts=True)
    if len(values) <= 100 and values.dtype.kind in "biuf" and np.all(values % 1 == 0):
        found["labels"] = {number(value): int(count) for value, count in zip(values, counts, strict=True)}
    elif values.dtype.kind in "biuf":
        found["target"] = {"least": float(y.min()), "mean": float(y.mean()), "greatest": float(y.max())}
    return found


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_shown(item)}" for key, item in value.items())
    if isinstance(value, list):
        return " ".join(_shown(item) for item in value)
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
