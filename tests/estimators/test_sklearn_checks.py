"""scikit-learn's own checks of estimators, with no expected failure."""

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
    NuSVR(),
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
