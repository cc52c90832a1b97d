"""From the options of `maxmargin train` to an estimator, its fit, its model file."""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from maxmargin import estimators
from maxmargin.cli import files, parser, precomputed
from maxmargin.cli.command import NOT_CONVERGED, OK, UsageError
from maxmargin.cli.convert import WRITERS
from maxmargin.cli.output import print_json
from maxmargin.cli.scores import noise, scores
from maxmargin.report import Progress

# Type and loss: the class, and what makes it that loss. The first loss of a type is its default.
MACHINES: dict[tuple[str, str | None], tuple[str, dict[str, Any]]] = {
    ("c-svc", "hinge"): ("SVC", {}),
    ("c-svc", "squared-hinge"): ("SVC", {"loss": "squared_hinge"}),
    ("c-svc", "least-squares"): ("LSSVC", {}),
    ("nu-svc", None): ("NuSVC", {}),
    ("one-class", None): ("OneClassSVM", {}),
    ("epsilon-svr", "epsilon-insensitive"): ("SVR", {}),
    ("epsilon-svr", "squared-epsilon-insensitive"): ("SVR", {"loss": "squared_epsilon_insensitive"}),
    ("epsilon-svr", "least-squares"): ("LSSVR", {}),
    ("epsilon-svr", "huber"): ("HuberSVR", {}),
    ("epsilon-svr", "quantile"): ("QuantileSVR", {}),
    ("nu-svr", None): ("NuSVR", {}),
}
# Which classes and kernels the other formats hold.
FOREIGN = {
    "libsvm": (("SVC", "NuSVC", "OneClassSVM", "SVR", "NuSVR"), ("linear", "poly", "rbf", "sigmoid", "precomputed")),
    "svmlight": (("SVC", "NuSVC", "SVR", "NuSVR"), ("linear", "poly", "rbf", "sigmoid")),
}
# Options whose default is the estimator's own, so that one it does not have is an error only when asked for.
OPTIONAL = (
    "delta",
    "quantile",
    "multiclass",
    "tol_gap",
    "max_time",
    "shrinking",
    "precision",
    "selection",
    "selection_rows",
    "solver",
    "n_jobs",
)
CLASSIFIERS = ("c-svc", "nu-svc")
SHORT = {"probability": "-b/", "shrinking": "-h/"}  # what errors put before a long option that has a short one


def estimator(args: argparse.Namespace) -> Any:
    """The estimator that the options describe."""
    _check_options(args)
    known = parser.LOSSES.get(args.type, ())
    name, fixed = MACHINES[args.type, args.loss or (known[0] if known else None)]
    kind = getattr(estimators, name)
    allowed = kind().get_params()
    asked = {key: getattr(args, key) for key in OPTIONAL if getattr(args, key) is not None}
    if args.probability:
        asked["probability"] = True
    for key in asked:
        if key not in allowed:
            option = f"{SHORT.get(key, '')}--{key.replace('_', '-')}"
            raise UsageError(f"{option} is not for {args.type}" + (f" with {args.loss}" if args.loss else ""))
    if args.no_intercept:
        asked["fit_intercept"] = False
    asked |= _working_set(args)
    if args.class_weight and args.type in CLASSIFIERS:
        asked["class_weight"] = dict(args.class_weight)
    elif args.class_weight:  # as in LIBSVM this is no error
        warnings.warn(f"class weights are not for {args.type}: they are passed over", stacklevel=2)
    values = _shared_options(args) | fixed | asked
    return kind(**{key: value for key, value in values.items() if key in allowed})


def _working_set(args: argparse.Namespace) -> dict[str, Any]:
    """The solver that the options of working sets describe, where there are any."""
    from maxmargin.solvers.working_set import WorkingSet

    names = ("working_set_size", "new_variables", "inner")
    chosen = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
    if args.half_cached:
        chosen["half_cached"] = True
    if not chosen:
        return {}
    if args.solver == "smo":
        raise UsageError(f"--{next(iter(chosen)).replace('_', '-')} is for --solver working-set")
    try:
        return {"solver": WorkingSet(**chosen)}
    except ValueError as error:
        raise UsageError(str(error)) from error


def _check_options(args: argparse.Namespace) -> None:
    """Refuse options that do not go together."""
    known = parser.LOSSES.get(args.type, ())
    if args.loss is not None and args.loss not in known:
        raise UsageError(
            f"--loss {args.loss} is not a loss of {args.type}" + (f": {', '.join(known)}" if known else "")
        )
    if args.no_intercept and args.type in ("nu-svc", "one-class", "nu-svr"):
        raise UsageError(f"--no-intercept is not for {args.type}, whose nu has its meaning from the intercept")
    if args.selection_rows in ("one", "all") and args.selection not in ("mg", "hmg"):
        raise UsageError(
            f"--selection-rows {args.selection_rows} is for --selection mg and hmg, not {args.selection or 'auto'}"
        )


def _shared_options(args: argparse.Namespace) -> dict[str, Any]:
    """What LIBSVM has for every problem and a problem ignores that has no use for it."""
    return {
        "kernel": args.kernel,
        "degree": args.degree,
        "gamma": args.gamma,
        "coef0": args.coef0,
        "C": args.cost,
        "nu": args.nu,
        "epsilon": args.epsilon,
        "tol": args.tol,
        "max_iter": args.max_iter,
        "cache_size": args.cache_size,
        "random_state": args.seed,
    }


def train(args: argparse.Namespace) -> int:
    """Fit on all rows and save; 3 if the limits stopped it first."""
    model = estimator(args)
    _check_format(args, model)
    files.check_target(args.model, args.data)
    X, y, columns = _read(args)
    _check_labels(args, y)
    _forget_unknown_weights(model, y)
    began = time.perf_counter()
    with _progress(args, model):
        model.fit(X if columns is None else X[:, columns], y)
    model.set_params(callback=None)
    if columns is not None:
        precomputed.count_by_columns(model, columns, X.shape[1])
    WRITERS[args.format](model, args.model)
    found = outcome(model) | {"seconds": round(time.perf_counter() - began, 3), "data": args.data, "model": args.model}
    if args.json:
        print_json(found)
    elif not args.quiet:
        _print(found, X.shape)
    return OK if found["converged"] else NOT_CONVERGED


def cross_validate(args: argparse.Namespace) -> int:
    """Predict every row by a model that has not seen it, and print how good that is."""
    from sklearn.base import clone
    from sklearn.exceptions import ConvergenceWarning

    model = estimator(args)
    X, y, columns = _read(args)
    _forget_unknown_weights(model, y)
    classes = args.type in CLASSIFIERS
    if args.probability and not classes:
        model.set_params(probability=False)  # the predictions are the same, and nothing else is looked at
    if args.cross_validation > X.shape[0]:
        raise UsageError(f"{args.cross_validation} folds are more than the {X.shape[0]} rows of {args.data}")
    X = X if columns is None else X[:, columns]
    fold = _folds(y, args.cross_validation, classes, args.seed)
    predicted = np.empty_like(y) if classes else np.empty(len(y))
    stopped = 0
    with _progress(args, model), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # one warning below for all folds
        for k in range(args.cross_validation):
            fit, rest = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
            if classes and np.all(y[fit] == y[fit[0]]):
                predicted[rest] = y[fit[0]]  # as in LIBSVM
                continue
            fitted = clone(model)
            _forget_unknown_weights(fitted, y[fit], warn=False)
            fitted.fit(_cut(X, fit, fit, args), y[fit])
            predicted[rest] = fitted.predict(_cut(X, rest, fit, args))
            stopped += not outcome(fitted)["converged"]
    if stopped:
        warnings.warn(f"{stopped} of {args.cross_validation} folds did not converge within the limits", stacklevel=2)
    _print_folds(args, scores(model, predicted, y) | {"converged": not stopped})
    return NOT_CONVERGED if stopped else OK


def _folds(y: np.ndarray, count: int, classes: bool, seed: int) -> np.ndarray:
    """The fold of each row: dealt out in random order, class by class where there are classes, so all are as large."""
    order = np.random.RandomState(seed).permutation(len(y))
    if classes:
        order = order[np.argsort(y[order], kind="stable")]
    fold = np.empty(len(y), int)
    fold[order] = np.arange(len(y)) % count
    return fold


def _print_folds(args: argparse.Namespace, found: dict[str, Any]) -> None:
    """svm-train's sentences about a cross-validation."""
    if args.json:
        print_json(found | {"data": args.data, "folds": args.cross_validation})
    elif "accuracy" in found:
        print(f"Cross Validation Accuracy = {found['accuracy']:g}%")
    else:
        print(f"Cross Validation Mean squared error = {found['mean_squared_error']:g}")
        print(f"Cross Validation Squared correlation coefficient = {found['squared_correlation']:g}")


def _read(args: argparse.Namespace) -> tuple[Any, np.ndarray, np.ndarray | None]:
    """X and y; of a text of kernel values the columns that belong to its rows too, which LIBSVM trains on."""
    columns = None
    if args.kernel == "precomputed":
        X, y, serials = precomputed.read(args.data)
        columns = None if serials is None else precomputed.own_columns(args.data, X, serials)
    else:
        X, y = files.read_data(args.data, zero_based=args.zero_based)
    if args.type not in CLASSIFIERS:
        files.require_numbers(args.data, y)
    return X, y, columns


def _cut(X: Any, rows: np.ndarray, columns: np.ndarray, args: argparse.Namespace) -> Any:
    """Some rows; of a precomputed matrix just the columns of the training rows."""
    return X[np.ix_(rows, columns)] if args.kernel == "precomputed" else X[rows]


def outcome(model: Any) -> dict[str, Any]:
    """What a fit has come to; of several problems the sums of the objectives and the worst of the rest."""
    statuses = [str(getattr(status, "value", status)) for status in np.atleast_1d(np.asarray(model.status_, object))]
    stopped = [status for status in statuses if status != "converged"]
    found = {
        "class": type(model).__name__,
        "kernel": model.kernel,
        "status": stopped[0] if stopped else "converged",
        "converged": not stopped,
        "iterations": int(np.sum(model.n_iter_)),
        "primal": float(np.sum(model.primal_objective_)),
        "dual": float(np.sum(model.dual_objective_)),
        "gap": float(np.max(model.duality_gap_)),
        "violation": float(np.max(model.kkt_violation_)),
        "support_vectors": len(model.support_),
    }
    return found | noise(model)


def _forget_unknown_weights(model: Any, y: np.ndarray, warn: bool = True) -> None:
    """As in LIBSVM the weight of a class without examples is no error, but is spoken of."""
    weights = getattr(model, "class_weight", None)
    if weights is None:
        return
    known = set(y.tolist())
    for label in weights.keys() - known if warn else ():
        warnings.warn(f"the class {label:g} has a weight and no examples", stacklevel=2)
    model.set_params(class_weight={label: weight for label, weight in weights.items() if label in known})


def _check_format(args: argparse.Namespace, model: Any) -> None:
    """Refuse, before the fit, what the format cannot hold whatever the fit finds."""
    if args.format == "maxmargin":
        return
    if args.probability and (args.format == "svmlight" or args.type in CLASSIFIERS):
        raise UsageError(f"--format {args.format} cannot hold the probabilities of -b 1; --format maxmargin can")
    classes, kernels = FOREIGN[args.format]
    name = type(model).__name__
    if name not in classes or args.kernel not in kernels:
        raise UsageError(f"--format {args.format} cannot hold the model of a {name} with the kernel {args.kernel}")


def _check_labels(args: argparse.Namespace, y: np.ndarray) -> None:
    """The same for what the data decide."""
    if args.format == "maxmargin" or args.type not in CLASSIFIERS:
        return
    labels = np.unique(y)
    unfit = labels if labels.dtype.kind == "U" else labels[labels % 1 != 0]
    if len(unfit):
        raise ValueError(f"--format {args.format} holds whole numbers as labels, and {args.data} has {unfit[0]}")
    if args.format == "svmlight" and len(labels) > 2:
        raise ValueError(f"--format svmlight is for two classes, and {args.data} has {len(labels)}")
    if args.multiclass == "one-vs-rest" and len(labels) > 2:
        raise ValueError("--format libsvm holds pairs of classes only, so --multiclass one-vs-rest does not fit it")


@contextlib.contextmanager
def _progress(args: argparse.Namespace, model: Any) -> Iterator[None]:
    """Progress on standard error, where someone looks or asks for it."""
    if args.quiet or not (args.progress or sys.stderr.isatty()):
        yield
        return
    with Progress() as progress:
        model.set_params(callback=progress)
        yield


def _print(found: dict[str, Any], shape: tuple[int, ...]) -> None:
    print(f"{found['class']}, {found['kernel']} kernel, {shape[0]:,} rows, {shape[1]:,} features")
    print(f"{found['status']} after {found['iterations']:,} iterations, {found['seconds']:.2f} s")
    print(f"primal {found['primal']:.8g}, dual {found['dual']:.8g}")
    print(f"relative gap {found['gap']:.1e}, KKT violation {found['violation']:.1e}")
    print(f"{found['support_vectors']:,} support vectors")
    if "noise_scale" in found:
        print(f"noise scale {found['noise_scale']:.6g}")
    print(f"saved {found['model']}")
