"""Estimators, parameters and data that the tests of this folder share."""

import numpy as np
from sklearn.datasets import make_blobs, make_regression

from maxmargin.estimators import LSSVC, LSSVR, SVC, SVR, HuberSVR, NuSVC, NuSVR, OneClassSVM, QuantileSVR

CLASSIFIERS = {
    "SVC": SVC(),
    "SVC squared hinge": SVC(loss="squared_hinge"),
    "SVC without intercept": SVC(fit_intercept=False),
    "SVC one-vs-rest": SVC(multiclass="one-vs-rest"),
    "NuSVC": NuSVC(nu=0.2),
    "LSSVC": LSSVC(),
}
REGRESSORS = {
    "SVR": SVR(C=10.0),
    "SVR squared": SVR(loss="squared_epsilon_insensitive", fit_intercept=False),
    "NuSVR": NuSVR(C=10.0),
    "QuantileSVR": QuantileSVR(quantile=0.3, C=10.0),
    "HuberSVR": HuberSVR(delta=0.5, C=10.0),
    "LSSVR": LSSVR(),
}
ESTIMATORS = {**CLASSIFIERS, **REGRESSORS, "OneClassSVM": OneClassSVM(nu=0.3)}


def classes(n=90, centers=3, seed=0, spread=2.5):
    """Overlapping classes with the labels 'a', 'b', ..."""
    X, y = make_blobs(n, n_features=3, centers=centers, cluster_std=spread, random_state=seed)
    return X, np.array(list("abcdefgh"))[y]


def targets(n=80, seed=0):
    """A noisy regression of unit scale."""
    X, y = make_regression(n, n_features=4, noise=10.0, random_state=seed)
    return X, y / y.std()


def data_for(estimator, n=80, seed=0):
    """Data that the estimator can be fitted to."""
    return (
        classes(n, seed=seed)
        if hasattr(estimator, "classes_") or "SVC" in type(estimator).__name__
        else targets(n, seed)
    )


def values(estimator, X):
    """Decision values where there are any, else predictions."""
    return estimator.decision_function(X) if hasattr(estimator, "decision_function") else estimator.predict(X)
