"""scikit-learn's own checks of estimators, with no expected failure."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin.estimators import LSSVC, LSSVR, SVC, SVR, HuberSVR, NuSVC, NuSVR, OneClassSVM, QuantileSVR

ESTIMATORS = [
    SVC(),
    SVC(kernel="precomputed"),
    SVC(loss="squared_hinge", fit_intercept=False, multiclass="one-vs-rest"),
    NuSVC(nu=0.3),  # the default nu is infeasible for the classes of the checks of sample weights
    LSSVC(),
    SVR(),
    SVR(kernel="precomputed"),
    SVR(loss="squared_epsilon_insensitive", fit_intercept=False),
    SVR(probability=True),
    NuSVR(),
    NuSVR(probability=True),
    QuantileSVR(),
    HuberSVR(),
    LSSVR(),
    OneClassSVM(),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # some checks set max_iter
@parametrize_with_checks(ESTIMATORS)
def test_check(estimator, check):
    check(estimator)


def test_checks_that_scipy_must_be_asked_for():
    """Those of array_api are skipped unless this variable is set before SciPy is imported."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-k",
        "test_check and array_api",
        __file__,
    ]
    environment = os.environ | {
        "SCIPY_ARRAY_API": "1",
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }
    folder = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert re.match(r"\d+ passed(, \d+ deselected)? in", done.stdout.splitlines()[-1]), done.stdout[-5000:]
