"""Pytest plugin: scikit-learn's own tests run on the estimators of maxmargin.

The tests reach the estimators as `svm.SVC` and by `from sklearn.svm import SVR`: the attributes are replaced when this
plugin is imported, which is before any test module.
"""

import pytest
import sklearn.svm
from deselected import DESELECTED

from maxmargin import estimators

for name in ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"):
    setattr(sklearn.svm, name, getattr(estimators, name))


def pytest_collection_modifyitems(config, items):
    """Leave out the tests that do not apply, each of which must exist."""
    left_out = [item for item in items if item.originalname in DESELECTED]
    gone = DESELECTED.keys() - {item.originalname for item in left_out}
    if gone:
        raise pytest.UsageError(f"scikit-learn has no test {', '.join(sorted(gone))}: it need not be left out")
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item.originalname not in DESELECTED]
