"""`maxmargin predict`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin import models
from maxmargin.cli import files
from maxmargin.cli.command import OK, UsageError
from maxmargin.cli.output import number, print_json, write_lines
from maxmargin.cli.scores import scores


def run(args: argparse.Namespace) -> int:
    """Predict, write the predictions, print how good they are."""
    model = read_model(args.model)
    X, y = files.read_data(args.data, zero_based=args.zero_based, precomputed=model.kernel == "precomputed")
    model, X = same_width(model, X)
    predicted = model.predict(X)
    if args.output:
        write_lines(args.output, _lines(args, model, X, predicted))
    elif args.probability or args.decision_values:
        raise UsageError("probabilities and decision values need a file to be written to")
    found = scores(model, predicted, y)
    if args.json:
        print_json({**found, "model": args.model, "data": args.data, "output": args.output})
    elif not args.quiet:
        _print(found)
    return OK


def read_model(path: str) -> Any:
    """The estimator of a maxmargin or LIBSVM model file."""
    what = files.kind(path)
    if what == "maxmargin":
        return models.load(path)
    if what == "libsvm":
        return models.import_libsvm(path)
    raise ValueError(f"{path} is no model that can be read: maxmargin and LIBSVM models are")


def same_width(model: Any, X: Any) -> tuple[Any, Any]:
    """Model and sparse data that fit together.

    They get the same number of features, since a feature that one of them does not name is 0 there; a model that was
    trained on a dense array gets a dense array.
    """
    width = getattr(model, "n_features_in_", X.shape[1])
    if model.kernel == "precomputed" or isinstance(X, np.ndarray):
        return model, X
    if width < X.shape[1]:
        model.support_vectors_ = files.widened(model.support_vectors_, X.shape[1])
        model.n_features_in_ = X.shape[1]
    X = files.widened(X, width)
    return model, X if sp.issparse(model.support_vectors_) else X.toarray()


def _lines(args: argparse.Namespace, model: Any, X: Any, predicted: np.ndarray) -> Iterator[str]:
    """One line a row: the prediction, then the values asked for; -b 1 writes svm-predict's line of labels first."""
    columns = []
    if args.probability:
        if not hasattr(model, "predict_proba"):
            raise UsageError(f"{args.model} has no probabilities: train it with -b 1")
        columns.append(model.predict_proba(X))
        yield " ".join(["labels", *(number(label) for label in model.classes_)])
    if args.decision_values:
        if not hasattr(model, "decision_function"):
            raise UsageError(f"a {type(model).__name__} has no decision values besides its predictions")
        columns.append(np.asarray(model.decision_function(X)).reshape(len(predicted), -1))
    values = np.hstack(columns) if columns else np.empty((len(predicted), 0))
    for label, row in zip(predicted, values, strict=True):
        yield " ".join([number(label), *(number(value) for value in row)])


def _print(found: dict[str, Any]) -> None:
    """svm-predict's sentences."""
    if "accuracy" in found:
        print(f"Accuracy = {found['accuracy']:g}% ({found['correct']}/{found['rows']}) (classification)")
    elif "mean_squared_error" in found:
        print(f"Mean squared error = {found['mean_squared_error']:g} (regression)")
        print(f"Squared correlation coefficient = {found['squared_correlation']:g} (regression)")
    else:
        print(f"{found['rows']} rows predicted; the model's classes are no numbers, so there is no accuracy")
