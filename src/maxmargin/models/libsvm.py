"""Estimators from and to LIBSVM's model files.

LIBSVM orders the classes by their first appearance in the training data, and counts a positive decision value of the
pair (i, j), i < j, for class i. The estimators order the classes by value; with two classes a positive value is for the
second, with more it is for the first of the pair. Reordering turns the sign of every pair whose order turns.
"""

from __future__ import annotations

import itertools
import os
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin import estimators, kernels
from maxmargin.models import libsvm_text
from maxmargin.models.libsvm_text import LibsvmModel

_ESTIMATORS = {"c_svc": "SVC", "nu_svc": "NuSVC", "one_class": "OneClassSVM", "epsilon_svr": "SVR", "nu_svr": "NuSVR"}
_SVM_TYPES = {name: svm_type for svm_type, name in _ESTIMATORS.items()}
_KERNELS = {"polynomial": "poly"}


def import_libsvm(path: str | os.PathLike[str], *, n_features: int | None = None) -> Any:
    """The fitted estimator that a LIBSVM model file describes.

    Decision values are LIBSVM's, reordered for the sorted classes, and so are the predictions, but for rows on which
    several classes have equally many votes: LIBSVM takes the one that came first in its data, the estimator the least.

    The file does not say with which C, nu or epsilon it was trained, nor how well: those parameters keep their
    defaults, and there are no objectives and no gap. A classifier's probabilities follow another formula than the
    estimators' (one sigmoid with an offset for each pair); they are left out, with a warning. The scale of a
    regression's noise and the marks of a one-class machine mean the same here and are kept.

    Parameters
    ----------
    path : path-like
        The file.
    n_features : int, optional
        Features of the data (for a precomputed kernel: rows of the training data). The file states the greatest index
        that a support vector uses; data with more features need this argument.

    Returns
    -------
    estimator
        SVC, NuSVC, OneClassSVM, SVR or NuSVR, with sparse support vectors.
    """
    model = libsvm_text.read(path)
    if model.label and (model.prob_a or model.prob_b):
        warnings.warn(f"{os.fspath(path)}: the probabilities are left out, their formula is LIBSVM's own", stacklevel=2)
    return to_estimator(model, n_features, os.fspath(path))


def export_libsvm(model: Any, path: str | os.PathLike[str], *, drop_probabilities: bool = False) -> None:
    """Write a fitted estimator as a LIBSVM model file.

    Parameters
    ----------
    model : SVC, NuSVC, OneClassSVM, SVR or NuSVR
        With one of LIBSVM's kernels, and with whole numbers as classes.
    path : path-like
        The file; written whole or not at all.
    drop_probabilities : bool, default False
        The classifiers' probabilities have two slopes for each pair of classes where LIBSVM has one sigmoid, so a
        classifier with probabilities is refused, or with True written without them. True leaves out a regression's
        noise and the probabilities of a one-class machine too, which the file can state.
    """
    stated = from_estimator(model)
    if stated.label and getattr(model, "probability", False) is True and not drop_probabilities:
        raise ValueError(
            "LIBSVM's file cannot state this model's probabilities, which have two slopes for each pair of classes; "
            "drop_probabilities=True exports the model without them"
        )
    libsvm_text.write(replace(stated, prob_a=(), density_marks=()) if drop_probabilities else stated, path)


def from_estimator(model: Any) -> LibsvmModel:
    """What LIBSVM's file would say of a fitted estimator."""
    svm_type = _SVM_TYPES.get(type(model).__name__)
    if svm_type is None:
        raise ValueError(f"LIBSVM has no model for a {type(model).__name__}, only for {', '.join(_SVM_TYPES)}")
    if not hasattr(model, "dual_coef_"):
        raise ValueError(f"this {type(model).__name__} is not fitted, so there is no model to export")
    coef = model.dual_coef_.toarray() if sp.issparse(model.dual_coef_) else np.asarray(model.dual_coef_)
    rho = -np.atleast_1d(np.asarray(model.intercept_, float))
    label: tuple[int, ...] = ()
    n_sv: tuple[int, ...] = ()
    if svm_type in ("c_svc", "nu_svc"):
        label, n_sv = _labels(model.classes_), tuple(np.asarray(model.n_support_).tolist())
        if len(coef) != len(label) - 1:
            raise ValueError("LIBSVM decides between pairs of classes, and this model decides one-vs-rest")
        if len(label) == 2:  # a positive value is for the second class here, for the first in LIBSVM
            coef, rho = -coef, -rho
    precomputed = model.kernel_ is None
    vectors = np.asarray(model.support_, np.int64) + 1 if precomputed else sp.csr_matrix(model.support_vectors_)
    return LibsvmModel(
        svm_type=svm_type,
        rho=rho,
        coef=coef,
        vectors=vectors,
        label=label,
        n_sv=n_sv,
        prob_a=(model.noise_scale_,) if hasattr(model, "noise_scale_") else (),
        density_marks=tuple(getattr(model, "density_marks_", ())),
        **_kernel(model),
    )


def _labels(classes: np.ndarray) -> tuple[int, ...]:
    if classes.dtype.kind not in "biuf" or np.any(classes.astype(float) % 1):
        raise ValueError(f"LIBSVM's labels are whole numbers, and the classes are {classes.tolist()[:5]}")
    return tuple(int(label) for label in classes)


def _kernel(model: Any) -> dict[str, Any]:
    """Name and parameters of the kernel that was fitted, whatever the parameters say since, as LIBSVM has them."""
    if model.kernel_ is None:
        return {"kernel_type": "precomputed"}
    match model.kernel_:
        case kernels.Linear():
            return {"kernel_type": "linear"}
        case kernels.Gaussian(gamma=gamma):
            return {"kernel_type": "rbf", "gamma": gamma}
        case kernels.Polynomial(degree=degree, gamma=gamma, coef0=coef0) if degree == int(degree):
            return {"kernel_type": "polynomial", "degree": int(degree), "gamma": gamma, "coef0": coef0}
        case kernels.Sigmoid(gamma=gamma, coef0=coef0):
            return {"kernel_type": "sigmoid", "gamma": gamma, "coef0": coef0}
    raise ValueError(f"LIBSVM does not have the kernel {model.kernel_}")


def to_estimator(model: LibsvmModel, n_features: int | None = None, name: str = "the model") -> Any:
    """The fitted estimator that LIBSVM's file describes."""
    coef, rho, vectors, n_sv = model.coef, model.rho, model.vectors, np.array([model.coef.shape[1]])
    order = np.argsort(model.label)
    if model.label:
        coef, rho, rows = reordered(model, order)
        vectors, n_sv = vectors[rows], np.array(model.n_sv)[order]
    precomputed = isinstance(vectors, np.ndarray)
    used = int(vectors.max(initial=0)) if precomputed else vectors.shape[1]
    if n_features is not None and n_features < used:
        raise ValueError(f"{name} uses feature {used}, and n_features is {n_features}")
    width = used if n_features is None else n_features
    if not precomputed:
        vectors = sp.csr_matrix((vectors.data, vectors.indices, vectors.indptr), shape=(len(coef[0]), width))
    sign = -1.0 if len(model.label) == 2 else 1.0
    estimator = _constructed(model)
    vars(estimator).update(_expansion(coef, -rho, sign, precomputed) | _uncertainty(model))
    estimator.support_vectors_ = np.empty((0, 0)) if precomputed else vectors
    estimator.support_ = (vectors - 1 if precomputed else np.arange(coef.shape[1])).astype(np.int32)
    estimator.kernel_ = None if precomputed else _kernel_object(model)
    estimator.n_features_in_ = width
    estimator.shape_fit_ = (width if precomputed else coef.shape[1], width)
    estimator._gamma, estimator.precision_, estimator.fit_status_ = model.gamma, "float64", 0
    estimator._n_support = n_sv.astype(np.int32)
    estimator.n_iter_ = np.zeros(len(rho), np.int32) if model.label else 0
    if model.label:
        estimator.classes_, estimator._slopes = np.array(model.label)[order], np.empty((0, 2))
        estimator.class_weight_ = np.ones(len(order))
    if model.svm_type == "one_class":
        estimator.offset_ = -estimator.intercept_
    return estimator


def _constructed(model: LibsvmModel) -> Any:
    """The estimator, not fitted yet, with the parameters that the file states."""
    named = {"kernel": _KERNELS.get(model.kernel_type, model.kernel_type)}
    stated = libsvm_text.PARAMETERS.get(model.kernel_type, ())
    parameters = {parameter: getattr(model, parameter) for parameter in stated}
    if _uncertainty(model):
        parameters["probability"] = True
    return getattr(estimators, _ESTIMATORS[model.svm_type])(**named, **parameters)


def _uncertainty(model: LibsvmModel) -> dict[str, Any]:
    """The fitted attributes that the file states of a regression's noise or of a one-class machine's probabilities."""
    if model.density_marks:
        return {"density_marks_": np.array(model.density_marks)}
    return {"noise_scale_": model.prob_a[0]} if model.prob_a and not model.label else {}


def _kernel_object(model: LibsvmModel) -> kernels.Kernel:
    name = _KERNELS.get(model.kernel_type, model.kernel_type)
    return kernels.by_name(name, model.gamma, model.degree, model.coef0)


def _expansion(coef: np.ndarray, intercept: np.ndarray, sign: float, dense: bool) -> dict[str, Any]:
    """Coefficients and intercepts in the estimators' signs, and with an underscore in LIBSVM's."""
    public, hidden = (values if dense else sp.csr_matrix(values) for values in (sign * coef, coef))
    return {
        "dual_coef_": public,
        "intercept_": sign * intercept,
        "_dual_coef_": hidden,
        "_intercept_": intercept,
        "_sparse": not dense,
    }


def reordered(model: LibsvmModel, order: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Coefficients, rho and the order of the vectors when class ``order[a]`` of the file becomes class a.

    The coefficients of class i in the pair (i, j) stand in row j - 1, where i < j, or row j of its vectors' columns.
    """
    k = len(order)
    ends = np.cumsum(model.n_sv)
    columns = [np.arange(end - count, end) for end, count in zip(ends, model.n_sv, strict=True)]
    pairs = {pair: p for p, pair in enumerate(itertools.combinations(range(k), 2))}
    parts, rho = [], np.empty(len(pairs))
    for a, i in enumerate(order):
        part = np.empty((k - 1, len(columns[i])))
        for b, j in enumerate(order):
            if a != b:
                turned = -1.0 if (a < b) != (i < j) else 1.0
                part[b - (b > a)] = turned * model.coef[j - (j > i), columns[i]]
        parts.append(part)
    for (a, b), p in pairs.items():
        i, j = order[a], order[b]
        rho[p] = model.rho[pairs[(i, j)]] if i < j else -model.rho[pairs[(j, i)]]
    return np.hstack(parts), rho, np.concatenate([columns[i] for i in order])
