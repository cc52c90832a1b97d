"""The parameters and attributes that the estimators share, written once and put into each class's docstring."""

from __future__ import annotations

import inspect
from typing import TypeVar

KERNEL = """\
kernel : {'linear', 'poly', 'rbf', 'sigmoid', 'laplacian', 'chi2', 'intersection', 'matern32', 'matern52', \\
        'precomputed'}, Kernel or callable, default='rbf'
    The kernel by name, as an object of `maxmargin.kernels`, or as a function of two lists of examples that returns
    the matrix of kernel values. With 'precomputed', X is that matrix.
degree : int, default=3
    Degree of 'poly'.
gamma : {'scale', 'auto'} or float, default='scale'
    Coefficient of 'rbf', 'poly', 'sigmoid', 'laplacian', 'chi2' and the Matern kernels. 'scale' is
    1 / (n_features * variance of the entries of X), each example counted by its weight; 'auto' is 1 / n_features.
coef0 : float, default=0.0
    Independent term of 'poly' and 'sigmoid'."""

SHRINKING = """\
shrinking : bool or {'bounds', 'history'}, default=True
    Which variables the solver sets aside while it works: those that no step with the most violating partner would
    move ('bounds', the same as True, as LIBSVM), those that have been held at a bound for 100 steps ('history', as
    SVM-light), or none. All come back before the end: the answer is the same."""

SOLVING = """\
tol : float, default=1e-3
    Largest KKT violation of the solution.
cache_size : float or 'auto', default=200
    Megabytes for kernel values; 'auto' is a share of the free memory.
verbose : int, default=False
    Whether to show a line of progress.
max_iter : int, default=-1
    Limit of the iterations of each problem, -1 for none.
fit_intercept : bool, default=True
    Whether the decision function has an intercept, which is not regularised.
tol_gap : float, default=None
    Relative duality gap to reach as well.
max_time : float, default=None
    Limit of the whole fit in seconds.
callback : callable, default=None
    Called with the solver's state several times a second; the fit stops when it returns something true. With several
    problems it is called from several threads.
precision : {'auto', 'float32', 'float64'}, default='auto'
    Precision of the kernel values; 'auto' is float32 where its rounding cannot matter at this `tol`.
solver : {'auto', 'smo', 'working-set'} or callable, default='auto'
    'smo' moves pairs of variables, 'working-set' solves for large sets of them; 'auto' takes the first for small
    problems and wherever `selection`, or `shrinking` by its name, asks for it. Or a function
    ``solver(problem, limits, *, selection, rows, shrinking, cache_size, start, n_jobs)`` that returns a
    `maxmargin.solvers.Solution`.
selection : {'auto', 'second-order', 'mvp', 'mg', 'hmg'}, default='auto'
    How the solver selects the pairs of variables that it moves.
selection_rows : {'two', 'one', 'all'}, default='two'
    Which rows the selections 'mg' and 'hmg' look at: both of the pair before, the newer one, or all stored ones. Where
    'auto' means 'hmg' it looks at the newer one.
n_jobs : int, default=None
    Threads, None for all cores.
warm_start : bool, default=False
    Whether fit starts from the previous solution."""

CLASSES = """\
class_weight : dict or 'balanced', default=None
    Weight of each class, by which the weights of its examples are multiplied. 'balanced' gives all classes the same
    total."""

VOTES = """\
decision_function_shape : {'ovo', 'ovr'}, default='ovr'
    One column of decision values for each pair of classes, or one for each class.
break_ties : bool, default=False
    Whether `predict` breaks ties between votes by the decision values.
random_state : int, RandomState instance or None, default=None
    Seed of the folds of `probability`; None is one fixed seed.
multiclass : {'one-vs-one', 'one-vs-rest'}, default='one-vs-one'
    Which binary problems stand for more than two classes."""

PROBABILITY = """\
probability : bool, default='deprecated'
    Whether `predict_proba` is to be available, from decision values of 5 folds. The most probable class is always
    the one that `predict` says."""

NOISE = """\
probability : bool, default=False
    Whether to estimate the noise of the targets, `noise_scale_`, from the residuals of 5 folds, as LIBSVM does.
random_state : int, RandomState instance or None, default=None
    Seed of the folds of `probability`; None is one fixed seed."""

NOISE_SCALE = """\
noise_scale_ : float
    With ``probability=True`` only: the scale sigma of the targets' noise around their predictions, of which the density
    at z is exp(-abs(z) / sigma) / (2 sigma)."""

FITTED = """\
support_ : ndarray of shape (n_SV,)
    Indices of the support vectors.
support_vectors_ : {ndarray, sparse matrix} of shape (n_SV, n_features)
    The support vectors; empty for precomputed and callable kernels.
n_support_ : ndarray
    Number of support vectors, by class in classification.
dual_coef_ : {ndarray, sparse matrix} of shape (n_rows, n_SV)
    Coefficients of the support vectors, in scikit-learn's layout.
intercept_ : ndarray of shape (n_problems,)
    Intercepts.
coef_ : {ndarray, sparse matrix} of shape (n_problems, n_features)
    Weights of the features; linear kernel only.
fit_status_ : int
    0 if every problem was solved to the tolerance, else 1.
n_iter_ : int or ndarray of shape (n_problems,)
    Iterations.
primal_objective_, dual_objective_, duality_gap_, kkt_violation_ : float or ndarray of shape (n_problems,)
    The certificate: the optimum lies between the objectives, whose relative difference is the gap.
status_ : str or ndarray of shape (n_problems,)
    How the solver ended.
trace_ : dict or list of dict
    The course of the fit.
solution_ : Solution or list of Solution
    What the solver returned.
kernel_ : Kernel or None
    The kernel with its parameters resolved, None when precomputed.
precision_ : {'float32', 'float64'}
    Precision of the kernel values.
shape_fit_ : tuple of int
    Shape of X in fit."""

CLASSIFIED = """\
classes_ : ndarray of shape (n_classes,)
    The labels.
class_weight_ : ndarray of shape (n_classes,)
    Weight of each class."""

SECTIONS = {
    "kernel": KERNEL,
    "shrinking": SHRINKING,
    "solving": SOLVING,
    "classes": CLASSES,
    "votes": VOTES,
    "probability": PROBABILITY,
    "noise": NOISE,
    "noise_scale": NOISE_SCALE,
    "fitted": FITTED,
    "classified": CLASSIFIED,
}

T = TypeVar("T", bound=type)


def documented(cls: T) -> T:
    """Replace the lines ``<section>`` of a class's docstring by the shared text of that name."""
    lines: list[str] = []
    for line in inspect.cleandoc(cls.__doc__ or "").splitlines():
        name = line.strip().removeprefix("<").removesuffix(">")
        lines.append(SECTIONS[name] if line.strip() == f"<{name}>" else line)
    cls.__doc__ = "\n".join(lines) + "\n"
    return cls
