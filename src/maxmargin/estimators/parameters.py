"""The parameters that the estimators share: what is allowed, and how a constructor keeps them."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

from sklearn.utils._param_validation import Hidden, Interval, StrOptions

from maxmargin.kernels import Kernel

KERNELS = {
    "linear",
    "poly",
    "rbf",
    "sigmoid",
    "precomputed",
    "laplacian",
    "chi2",
    "intersection",
    "matern32",
    "matern52",
}

POSITIVE = Interval(Real, 0.0, None, closed="neither")
NOT_NEGATIVE = [Interval(Real, 0.0, None, closed="left")]

# Every estimator has these.
COMMON: dict[str, list[Any]] = {
    "kernel": [StrOptions(KERNELS), Kernel, callable],
    "degree": [Interval(Integral, 0, None, closed="left")],
    "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="left")],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "tol": [POSITIVE],
    "cache_size": [POSITIVE, StrOptions({"auto"})],
    "verbose": ["verbose"],
    "max_iter": [Interval(Integral, -1, None, closed="left")],
    "fit_intercept": ["boolean"],
    "tol_gap": [POSITIVE, None],
    "max_time": [POSITIVE, None],
    "callback": [callable, None],
    "precision": [StrOptions({"auto", "float32", "float64"})],
    "solver": [StrOptions({"auto", "smo", "working-set"}), callable],
    "selection": [StrOptions({"auto", "second-order", "mvp", "mg", "hmg"})],
    "selection_rows": [StrOptions({"two", "one", "all"})],
    "n_jobs": [Integral, None],
    "warm_start": ["boolean"],
}

# Every estimator whose dual variables have bounds, which is what shrinking lives on.
BOUNDED: dict[str, list[Any]] = {"shrinking": ["boolean", StrOptions({"bounds", "history"})]}

# Every classifier.
CLASSIFIER: dict[str, list[Any]] = {
    "class_weight": [StrOptions({"balanced"}), dict, None],
    "decision_function_shape": [StrOptions({"ovr", "ovo"})],
    "break_ties": ["boolean"],
    "multiclass": [StrOptions({"one-vs-one", "one-vs-rest"})],
    "probability": ["boolean", Hidden(StrOptions({"deprecated"}))],
    "random_state": ["random_state"],
}

# Every regressor that can estimate the noise of its targets.
NOISE: dict[str, list[Any]] = {"probability": ["boolean"], "random_state": ["random_state"]}

COST = [Interval(Real, 0.0, None, closed="right")]
NU = [Interval(Real, 0.0, 1.0, closed="right")]


def keep(estimator: Any, arguments: Mapping[str, Any]) -> None:
    """Store a constructor's arguments under their own names, unchanged, as scikit-learn's `clone` asks."""
    for name, value in arguments.items():
        if name != "self":
            setattr(estimator, name, value)
