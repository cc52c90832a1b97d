"""Estimators in scikit-learn's manner."""

from maxmargin.estimators.classification import SVC, NuSVC
from maxmargin.estimators.least_squares import LSSVC, LSSVR
from maxmargin.estimators.outliers import OneClassSVM
from maxmargin.estimators.regression import SVR, NuSVR
from maxmargin.estimators.robust import HuberSVR, QuantileSVR

__all__ = ["LSSVC", "LSSVR", "SVC", "SVR", "HuberSVR", "NuSVC", "NuSVR", "OneClassSVM", "QuantileSVR"]
