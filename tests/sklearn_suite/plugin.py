"""Pytest plugin: scikit-learn's own tests run on the estimators of maxmargin.

The tests reach the estimators as `svm.SVC` and by `from sklearn.svm import SVC`: the attributes are replaced when this
plugin is imported, before any test module is.
"""

from __future__ import annotations

import sklearn.svm

from maxmargin import estimators

REPLACED = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM")

for name in REPLACED:
    setattr(sklearn.svm, name, getattr(estimators, name))
