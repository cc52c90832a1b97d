"""`maxmargin predict`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import Any, TextIO

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_outlier_detector, is_regressor

from maxmargin import models
from maxmargin.cli import files, precomputed
from maxmargin.cli.command import OK, UsageError
from maxmargin.cli.output import number, print_json, write_lines
from maxmargin.cli.scores import noise, scores

# svm-predict's words.
NOISE = (
    "Prob. model for test data: target value = predicted value + z,\n"
    "z: Laplace distribution e^(-|z|/sigma)/(2sigma),sigma={:g}"
)

UNWRITTEN = "probabilities and decision values need a file to be written to"


def run(args: argparse.Namespace) -> int:
    """Predict, write the predictions, print how good they are."""
    _check_output(args)
    model = read_model(args.model)
    _check_values(args, model)
    model, X, y = _fitting_rows(args, model)
    if is_regressor(model):
        files.require_numbers(args.data, y)
    report_to = sys.stderr if args.output == "-" else sys.stdout
    uncertain = noise(model) if args.probability else {}
    if uncertain and not (args.quiet or args.json):
        print(NOISE.format(uncertain["noise_scale"]), file=report_to)
    predicted = model.predict(X)
    if args.output:
        write_lines(args.output, _lines(args, model, X, predicted))
    found = scores(model, predicted, y)
    if args.json:
        print_json({**found, **uncertain, "model": args.model, "data": args.data, "output": args.output})
    elif not args.quiet:
        _print(found, report_to)
    return OK


def read_model(path: str) -> Any:
    """The fitted estimator of a maxmargin or LIBSVM model file."""
    if path == "-" or files.is_stream(path):
        raise ValueError(f"{path} is no file: a model is read from a file, only data from standard input or a pipe")
    what = files.kind(path)
    if what == "libsvm":
        return models.import_libsvm(path)
    if what != "maxmargin":
        raise ValueError(f"{path} is no model that can be read: maxmargin and LIBSVM models are")
    model = models.load(path)
    if not hasattr(model, "kernel_"):
        raise ValueError(f"{path} holds a {type(model).__name__} that has not been fitted")
    return model


def _check_output(args: argparse.Namespace) -> None:
    """Refuse what cannot be written before anything is read."""
    if args.output is None and args.decision_values:
        raise UsageError(UNWRITTEN)
    if args.output == "-" and args.json:
        raise UsageError("predictions and --json both go to standard output: name a file for the predictions")
    if args.output is not None:
        files.check_target(args.output, args.data, args.model)


def _check_values(args: argparse.Namespace, model: Any) -> None:
    """Refuse values that the model does not have."""
    if args.probability and args.output is None and not is_regressor(model):
        raise UsageError(UNWRITTEN)
    if args.probability and not _has_probabilities(model):
        too_few = is_outlier_detector(model) and model.probability
        reason = "it was trained on too few outliers, or on too few others" if too_few else "train it with -b 1"
        raise UsageError(f"{args.model} has no probabilities for -b/--probability: {reason}")
    if args.decision_values and not hasattr(model, "decision_function"):
        raise UsageError(f"a {type(model).__name__} has no decision values besides its predictions")


def _has_probabilities(model: Any) -> bool:
    """Whether the fit found what -b 1 asks for: of a regression the scale of its noise."""
    return bool(noise(model)) if is_regressor(model) else hasattr(model, "predict_proba")


def _fitting_rows(args: argparse.Namespace, model: Any) -> tuple[Any, Any, np.ndarray]:
    """The model and the data, made to fit together."""
    if model.kernel_ is not None:
        X, y = files.read_data(args.data, zero_based=args.zero_based)
        return *same_width(model, X), y
    K, y, _ = precomputed.read(args.data)
    if files.kind(args.model) == "libsvm":
        precomputed.widen(model, K)
    return model, K, y


def same_width(model: Any, X: Any) -> tuple[Any, Any]:
    """Model and sparse data that fit together.

    They get the same number of features, since a feature that one of them does not name is 0 there; a model that was
    trained on a dense array gets a dense array.
    """
    width = getattr(model, "n_features_in_", X.shape[1])
    if isinstance(X, np.ndarray):
        return model, X
    if width < X.shape[1]:
        model.support_vectors_ = files.widened(model.support_vectors_, X.shape[1])
        model.n_features_in_ = X.shape[1]
    X = files.widened(X, width)
    return model, X if sp.issparse(model.support_vectors_) else X.toarray()


def _lines(args: argparse.Namespace, model: Any, X: Any, predicted: np.ndarray) -> Iterator[str]:
    """One line a row: the prediction, then the values asked for; -b 1 writes svm-predict's line of labels first."""
    columns = []
    if args.probability and not is_regressor(model):
        names, probabilities = _probabilities(model, X)
        columns.append(probabilities)
        yield " ".join(["labels", *names])
    if args.decision_values:
        columns.append(np.asarray(model.decision_function(X)).reshape(len(predicted), -1))
    values = np.hstack(columns) if columns else np.empty((len(predicted), 0))
    for label, row in zip(predicted, values, strict=True):
        yield " ".join([number(label), *(number(value) for value in row)])


def _probabilities(model: Any, X: Any) -> tuple[list[str], np.ndarray]:
    """The probabilities in svm-predict's order of columns, and its names of these."""
    probabilities = model.predict_proba(X)
    if is_outlier_detector(model):
        return ["normal", "outlier"], probabilities[:, ::-1]
    return [number(label) for label in model.classes_], probabilities


def _print(found: dict[str, Any], file: TextIO) -> None:
    """svm-predict's sentences."""
    if "accuracy" in found:
        print(f"Accuracy = {found['accuracy']:g}% ({found['correct']}/{found['rows']}) (classification)", file=file)
    elif "mean_squared_error" in found:
        print(f"Mean squared error = {found['mean_squared_error']:g} (regression)", file=file)
        print(f"Squared correlation coefficient = {found['squared_correlation']:g} (regression)", file=file)
    else:
        print(f"{found['rows']} rows predicted; the labels of model and data are numbers and strings", file=file)
