"""What a kernel does not take, and the sentence that says so."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import kernels
from maxmargin.losses import LeastSquares
from maxmargin.problems import DualProblem
from maxmargin.rows.computed import ComputedRows
from maxmargin.solvers import smo

X = np.random.default_rng(0).normal(size=(6, 3))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: kernels.Gaussian(-1.0), "gamma is -1.0, but it must be finite and not negative"),
        (lambda: kernels.Laplacian(np.nan), "gamma is nan"),
        (lambda: kernels.Matern32(np.inf), "gamma is inf"),
        (lambda: kernels.Matern52(-0.1), "gamma is -0.1"),
        (lambda: kernels.ChiSquared(-0.1), "gamma is -0.1"),
        (lambda: kernels.Polynomial(gamma=-2.0), "gamma is -2.0"),
        (lambda: kernels.Polynomial(degree=2.5), "degree is 2.5, but it must be a whole number, zero or more"),
        (lambda: kernels.Polynomial(degree=-1), "degree is -1, but it must be a whole number"),
        (lambda: kernels.Polynomial(coef0=np.inf), "coef0 is inf, but it must be finite"),
        (lambda: kernels.Sigmoid(coef0=np.nan), "coef0 is nan, but it must be finite"),
        (lambda: -1 * kernels.Linear(), "weight of a kernel is -1.0, but it must be positive and finite"),
        (lambda: kernels.Linear() * np.nan, "weight of a kernel is nan"),
        (lambda: kernels.by_name("gauss", 1.0), "no kernel named 'gauss'; there are linear, poly, rbf"),
    ],
)
def test_parameters(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_only_kernels_are_added():
    with pytest.raises(TypeError, match="unsupported operand"):
        kernels.Linear() + 1
    with pytest.raises(TypeError, match="sequence"):
        kernels.Linear() * "2"


@pytest.mark.parametrize(
    ("kernel", "name"), [(kernels.ChiSquared(), "chi-squared"), (kernels.Intersection(), "intersection")]
)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_histograms_are_not_negative(kernel, name, form):
    bad = np.abs(X)
    bad[2, 1] = -0.25
    for call in (
        lambda: kernel.block(form(bad), form(np.abs(X))),
        lambda: kernel.block(form(np.abs(X)), form(bad)),
        lambda: kernel.diag(form(bad)),
        lambda: ComputedRows(kernel, form(bad)).block([0]),
    ):
        with pytest.raises(
            ValueError, match=f"The {name} kernel compares histograms, but X holds the negative value -0.25"
        ):
            call()


def test_examples_of_different_widths():
    with pytest.raises(ValueError, match="X has 2 features, but Z has 3"):
        kernels.Gaussian().block(X[:, :2], X)
    with pytest.raises(ValueError, match="X has 3 features, but Z has 2"):
        kernels.Linear().block(sp.csr_array(X), X[:, :2])
    with pytest.raises(ValueError, match="two dimensions"):
        kernels.Linear().block(X[0], X)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda A, B: np.full((len(A), len(B)), np.nan), "The kernel returned nan, but kernel values must be finite"),
        (lambda A, B: np.full((len(A), len(B)), np.inf), "The kernel returned inf"),
        (lambda A, B: np.ones((len(A), 2)), r"The kernel returned an array of shape \(1, 2\) where \(1, "),
        (lambda A, B: np.ones(len(A)), r"The kernel returned an array of shape \(1,\) where \(1, 6\) was asked for"),
    ],
)
def test_what_a_function_returns(function, message):
    kernel = kernels.Callable(function)
    with pytest.raises(ValueError, match=message):
        kernel.block(X[:1], X)
    with pytest.raises(ValueError, match="The kernel returned"):
        ComputedRows(kernel, X).block([0])


def test_an_error_inside_a_function_comes_out_as_it_is():
    def function(A, B):
        raise LookupError("no such pair")

    with pytest.raises(LookupError, match="no such pair"):
        ComputedRows(kernels.Callable(function), X).block([0])

    def later(A, B):
        if len(B) > 1:
            raise LookupError("not in a fit either")
        return A @ B.T

    with pytest.raises(LookupError, match="not in a fit either"):
        smo.solve(DualProblem(ComputedRows(kernels.Callable(later), X), LeastSquares().dual(X[:, 0], 1.0)))


@pytest.mark.parametrize(
    "kernel", [kernels.Linear(), kernels.Polynomial(9, 1.0, 0.0), kernels.Linear() * kernels.Linear()]
)
def test_values_beyond_float32_are_refused_by_a_fit(kernel):
    y = np.array([-1.0, 1.0, 1.0, -1.0, 1.0, -1.0])
    huge = 1e30 * X
    terms = LeastSquares().dual(y, 1.0)
    with pytest.raises(ValueError, match="example 0 with itself is inf in float32"):
        smo.solve(DualProblem(ComputedRows(kernel, huge, "float32"), terms))
    broken = X.copy()
    broken[4, 1] = np.nan
    with pytest.raises(ValueError, match="example 4 with itself is nan in float64"):
        smo.solve(DualProblem(ComputedRows(kernel, broken, "float64"), terms))
