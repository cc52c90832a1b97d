"""Fitted estimators as SVM-light 6.02's model files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from maxmargin.models.atomic import replacing
from maxmargin.models.libsvm import from_estimator
from maxmargin.models.libsvm_text import LibsvmModel

_KERNELS = {"linear": 0, "polynomial": 1, "rbf": 2, "sigmoid": 3}


def export_svmlight(model: Any, path: str | os.PathLike[str]) -> None:
    r"""Write a fitted classifier of two classes, or a regressor, as SVM-light's svm_learn would.

    SVM-light's decision value is :math:`\sum_i \alpha_i y_i k(v_i, x) - b`, positive for the second class of
    ``model.classes_``. Its kernels are :math:`x^T z`, :math:`(s\, x^T z + r)^d`, :math:`e^{-g \|x - z\|^2}` and
    :math:`\tanh(s\, x^T z + r)`. svm_classify keeps feature values in float32, so its values differ from the
    estimator's in the seventh digit. Probabilities and noise have no place in the file and are left out.

    Parameters
    ----------
    model : SVC, NuSVC, SVR or NuSVR
        With one of these kernels; a classifier with two classes.
    path : path-like
        The file; written whole or not at all.
    """
    stated = from_estimator(model)
    if stated.kernel_type not in _KERNELS:
        raise ValueError("SVM-light's file has no precomputed kernel")
    if stated.svm_type == "one_class" or len(stated.label) > 2:
        raise ValueError("SVM-light's file is for two classes or for regression")
    sign = -1.0 if stated.label else 1.0  # LIBSVM's positive values are for the first class
    documents = int(getattr(model, "shape_fit_", [stated.coef.shape[1]])[0])
    with replacing(path) as file:
        file.writelines(line.encode("ascii") + b"\n" for line in _lines(stated, sign, documents))


def _lines(model: LibsvmModel, sign: float, documents: int) -> Iterator[str]:
    """The eleven lines of the header, in svm_learn's order and words, then a line for each support vector."""
    vectors = model.vectors
    polynomial = model.kernel_type == "polynomial"
    with_dot = model.kernel_type in ("polynomial", "sigmoid")
    yield "SVM-light Version V6.02"
    yield f"{_KERNELS[model.kernel_type]} # kernel type"
    yield f"{model.degree if polynomial else 3} # kernel parameter -d "
    yield f"{model.gamma if model.kernel_type == 'rbf' else 1:.17g} # kernel parameter -g "
    yield f"{model.gamma if with_dot else 1:.17g} # kernel parameter -s "
    yield f"{model.coef0 if with_dot else 1:.17g} # kernel parameter -r "
    yield "empty# kernel parameter -u "
    yield f"{vectors.shape[1]} # highest feature index "
    yield f"{documents} # number of training documents "
    yield f"{model.coef.shape[1] + 1} # number of support vectors plus 1 "
    yield f"{sign * model.rho[0]:.17g} # threshold b, each following line is a SV (starting with alpha*y)"
    for i, coefficient in enumerate(np.ravel(model.coef)):
        row = slice(vectors.indptr[i], vectors.indptr[i + 1])
        pairs = zip(vectors.indices[row].tolist(), vectors.data[row].tolist(), strict=True)
        yield f"{sign * coefficient:.17g} {''.join(f'{j + 1}:{value:.17g} ' for j, value in pairs if value)}#"
