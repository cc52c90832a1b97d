"""Parameters: scikit-learn's signatures, what each new one does, and the errors."""

import inspect
import re
import warnings

import numpy as np
import pytest
import sklearn.svm
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import InvalidParameterError

import zoo
from estimators.cases import ESTIMATORS, classes, data_for, targets, values
from maxmargin import estimators
from maxmargin.estimators import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from maxmargin.kernels import Gaussian, Linear
from maxmargin.solvers import smo

each_estimator = pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=ESTIMATORS)


@pytest.mark.parametrize("name", ["SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"])
def test_signature_begins_with_scikit_learns(name):
    ours = inspect.signature(getattr(estimators, name).__init__).parameters
    theirs = inspect.signature(getattr(sklearn.svm, name).__init__).parameters
    common = [(p.name, p.default, p.kind) for p in ours.values()][: len(theirs)]
    assert common == [(p.name, p.default, p.kind) for p in theirs.values()]


@pytest.mark.parametrize("name", ["SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"])
def test_methods_and_attributes_are_scikit_learns(name):
    X, y = classes(40, centers=2)
    y = (y == "a").astype(float)
    ours = getattr(estimators, name)().fit(X, y)
    theirs = getattr(sklearn.svm, name)().fit(X, y)
    public = {n for n in dir(theirs) if not n.startswith("_")} - {"probA_", "probB_", "coef_", "unused_param"}
    public -= {"C", "nu", "epsilon", "class_weight", "probability", "random_state"}  # theirs keeps unused ones
    assert {n for n in public if not hasattr(ours, n)} == set()


@pytest.mark.parametrize(
    ("parameters", "atol"),
    [
        ({"selection": "mvp"}, 1e-6),
        ({"selection": "second-order"}, 1e-6),
        ({"selection": "hmg"}, 1e-6),
        ({"selection": "hmg", "selection_rows": "all"}, 1e-6),
        ({"shrinking": False}, 1e-6),
        ({"shrinking": "history"}, 1e-6),
        ({"precision": "float32"}, 1e-3),
        ({"cache_size": "auto"}, 1e-6),
        ({"n_jobs": 1}, 1e-6),
        ({"solver": smo.solve}, 1e-6),
        ({"tol_gap": 1e-8}, 1e-6),
    ],
)
def test_ways_to_solve_agree(parameters, atol):
    X, y = classes()
    reference = SVC().fit(X, y)
    other = SVC(**parameters).fit(X, y)
    np.testing.assert_allclose(other.decision_function(X), reference.decision_function(X), atol=atol)


def test_the_solver_is_given_every_option():
    seen = {}

    def solver(problem, limits, **options):
        seen.update(options, limits=limits)
        return smo.solve(problem, limits, **options)

    X, y = targets()
    SVR(solver=solver, selection="hmg", selection_rows="one", shrinking="history", tol=1e-4, max_iter=10**6).fit(X, y)
    assert (seen["selection"], seen["rows"], seen["shrinking"]) == ("hmg", "one", "history")
    assert (seen["limits"].tol, seen["limits"].max_iter, seen["start"]) == (1e-4, 10**6, None)
    assert seen["cache_size"] == pytest.approx(200)


@pytest.mark.parametrize(
    "ways",
    [
        [{"shrinking": "bounds"}, {"shrinking": "history"}, {"shrinking": False}],
        [{"selection": "second-order"}, {"selection": "mvp"}, {"selection": "hmg"}],
        [{"selection": "hmg", "selection_rows": rows} for rows in ("one", "two", "all")],
    ],
    ids=["shrinking", "selection", "selection_rows"],
)
def test_ways_to_solve_are_different_ways(ways, monkeypatch):
    monkeypatch.setattr(smo, "SMALL", 0)
    X, y = classes(300, centers=2)
    found = [SVC(C=10.0, tol=1e-6, **way).fit(X, y).solution_ for way in ways]
    assert len({(solution.n_iter, solution.counters["entries_computed"]) for solution in found}) == len(ways)


def test_tol_gap_is_reached():
    X, y = classes(300, centers=2)
    assert SVC(C=100.0, tol=1.0, tol_gap=1e-5).fit(X, y).duality_gap_ <= 1e-5


@pytest.mark.parametrize(
    ("scale", "offset", "precision"),
    [(1.0, 0.0, "float32"), (1e-20, 0.0, "float64"), (1e20, 0.0, "float64"), (1.0, 300.0, "float64")],
)
def test_precision_is_chosen_by_what_float32_holds(scale, offset, precision):
    """A model of mostly zero data, which are not centred, is what its certificate says."""
    rng = np.random.default_rng(0)
    X = np.zeros((2100, 40))
    X[:, :3] = scale * (rng.normal(size=(2100, 3)) + offset)
    y = X[:, 0] > scale * offset
    model = SVC(gamma=0.5 / scale**2).fit(X, y)
    assert model.precision_ == precision
    assert model.certify().gap <= model.duality_gap_ + 1e-9
    assert model.certify().violation <= 1.1e-3


def test_what_float32_cannot_hold_is_refused():
    X = 1e-20 * np.random.default_rng(0).normal(size=(100, 3))
    with pytest.raises(ValueError, match="with itself is nan in float32, but kernel values must be finite"):
        SVC(gamma=1e40, precision="float32").fit(X, X[:, 0] > 0)


def test_precision_is_chosen_by_size_and_asked_for_by_name():
    X, y = classes(60, centers=2)
    assert SVC().fit(X, y).precision_ == "float64"
    assert SVC(precision="float32").fit(X, y).precision_ == "float32"


def test_large_problems_take_float32_unless_their_coefficients_are_large():
    random = np.random.RandomState(0)
    X = random.randn(2100, 2)
    y = X[:, 0] > 0
    assert SVC().fit(X, y).precision_ == "float32"
    assert SVC(tol_gap=1e-7, solver="smo").fit(X, y).precision_ == "float64"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert SVC(C=1e6, max_iter=1).fit(X, y).precision_ == "float64"


@pytest.mark.parametrize("name", ["laplacian", "matern32", "matern52", Gaussian(0.2), Linear() + Gaussian(0.2)])
def test_more_kernels(name):
    X, y = classes(centers=2)
    model = SVC(kernel=name).fit(X, y)
    K = model.kernel_.block(X, X)
    same = SVC(kernel="precomputed").fit(K, y)
    np.testing.assert_allclose(model.decision_function(X), same.decision_function(K), atol=1e-8)


@pytest.mark.parametrize("name", ["chi2", "intersection"])
def test_kernels_of_histograms(name):
    X, y = classes(centers=2)
    model = SVC(kernel=name).fit(np.abs(X), y)
    K = zoo.KERNELS[name](np.abs(X), np.abs(X), **({} if name == "intersection" else {"gamma": model.kernel_.gamma}))
    same = SVC(kernel="precomputed").fit(K, y)
    np.testing.assert_allclose(model.decision_function(np.abs(X)), same.decision_function(K), atol=1e-6)
    with pytest.raises(ValueError, match="histograms"):
        SVC(kernel=name).fit(X, y)


def test_linear_kernel_object_has_coef():
    X, y = targets()
    model = SVR(kernel=Linear()).fit(X, y)
    np.testing.assert_allclose(X @ model.coef_[0] + model.intercept_, model.predict(X), atol=1e-9)


@each_estimator
def test_verbose_shows_progress_without_another_result(estimator, capsys):
    X, y = data_for(estimator)
    quiet = clone(estimator).fit(X, y)
    loud = clone(estimator).set_params(verbose=1).fit(X, y)
    np.testing.assert_allclose(values(loud, X), values(quiet, X), atol=1e-9)
    assert capsys.readouterr().out == ""


def test_verbose_writes_a_line(monkeypatch, capsys):
    monkeypatch.setattr("maxmargin.report.progress.PLAIN_INTERVAL", 0.0)
    X, y = targets()
    model = SVR(verbose=1).fit(X, y)
    last = capsys.readouterr().err.splitlines()[-1]
    number = r"[\d,.]+(e[-+]\d+)?"
    names = [
        f"SVR: {model.n_iter_:,} iterations",
        f"violation {number}",
        f"gap {number}",
        f"active {len(y)}",
        f"rows {number}",
    ]
    assert re.fullmatch(", ".join([*names, f"cache hits {number}%", f"{number} s"]), last)


@pytest.mark.parametrize("estimator", [NuSVC(fit_intercept=False), NuSVR(fit_intercept=False)])
def test_nu_machines_refuse_no_intercept(estimator):
    with pytest.raises(ValueError, match="cannot be fitted with fit_intercept=False"):
        estimator.fit(*(classes() if isinstance(estimator, NuSVC) else targets()))


def test_one_class_refuses_no_intercept():
    with pytest.raises(ValueError, match="OneClassSVM cannot be fitted with fit_intercept=False"):
        OneClassSVM(fit_intercept=False).fit(targets()[0])


def test_without_intercept_there_is_none():
    X, y = targets()
    model = SVR(kernel="linear", fit_intercept=False).fit(X, y)
    assert model.intercept_.tolist() == [0.0]
    np.testing.assert_allclose(model.predict(np.zeros((1, X.shape[1]))), 0.0, atol=1e-12)


@pytest.mark.parametrize(
    "parameters",
    [
        {"kernel": "cubic"},
        {"C": 0.0},
        {"tol": 0.0},
        {"tol_gap": -1.0},
        {"max_time": 0.0},
        {"precision": "float16"},
        {"solver": "newton"},
        {"selection": "third-order"},
        {"selection_rows": "three"},
        {"shrinking": "gap"},
        {"cache_size": "all"},
        {"multiclass": "many"},
        {"loss": "logistic"},
        {"callback": 3},
        {"warm_start": "yes"},
        {"fit_intercept": None},
    ],
)
def test_bad_parameters_are_named(parameters):
    with pytest.raises(InvalidParameterError, match=f"The '{next(iter(parameters))}' parameter of SVC must be"):
        SVC(**parameters).fit(*classes())


def test_selection_rows_needs_a_selection_that_has_them():
    with pytest.raises(ValueError, match="selection_rows='one' is for the selections 'mg' and 'hmg', not 'mvp'"):
        SVC(selection="mvp", selection_rows="one").fit(*classes())
    with pytest.raises(ValueError, match="not 'auto'"):
        SVC(selection_rows="all").fit(*classes())


def test_no_threads_are_refused():
    with pytest.raises(ValueError, match="n_jobs is 0"):
        SVC(n_jobs=0).fit(*classes())


def test_nu_svr_needs_a_finite_C():
    with pytest.raises(ValueError, match="NuSVR needs a finite C"):
        NuSVR(C=np.inf).fit(*targets())
