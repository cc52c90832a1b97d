"""The tables that the tests run over: losses, kernels, small random problems, and problems with known answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from maxmargin import losses
from maxmargin.problems import Terms
from oracles import kernels

CLASSIFICATION = {
    "hinge": losses.Hinge(),
    "squared hinge": losses.SquaredHinge(),
    "least squares classification": losses.LeastSquares(),
}
REGRESSION = {
    "least squares": losses.LeastSquares(),
    "epsilon": losses.EpsilonInsensitive(0.1),
    "epsilon zero": losses.EpsilonInsensitive(0.0),
    "squared epsilon": losses.SquaredEpsilonInsensitive(0.1),
    "huber": losses.Huber(0.5),
    "pinball 0.1": losses.Pinball(0.1),
    "pinball 0.5": losses.Pinball(0.5),
}
LOSSES = CLASSIFICATION | REGRESSION
NU = {
    "one-class": losses.OneClass(0.3),
    "one-class all": losses.OneClass(1.0),
    "nu classification": losses.NuClassification(0.4),
    "nu regression": losses.NuRegression(0.4),
}

# Every kernel with parameters that suit the problems below. All but the sigmoid are positive semidefinite there; the
# chi-squared and the intersection kernel want data >= 0.
KERNELS: dict[str, Callable[[NDArray, NDArray], NDArray]] = {
    "linear": kernels.linear,
    "poly": partial(kernels.polynomial, degree=3, gamma=0.5, coef0=1.0),
    "rbf": partial(kernels.gaussian, gamma=0.5),
    "sigmoid": partial(kernels.sigmoid, gamma=0.1, coef0=-0.5),
    "laplacian": partial(kernels.laplacian, gamma=0.3),
    "chi2": partial(kernels.chi_squared, gamma=0.7),
    "intersection": kernels.intersection,
    "matern32": partial(kernels.matern32, gamma=0.5),
    "matern52": partial(kernels.matern52, gamma=0.5),
}
NON_NEGATIVE = ("chi2", "intersection")


@dataclass(frozen=True, eq=False)
class Problem:
    """Data and the weight of each example's loss."""

    X: NDArray
    y: NDArray
    C: NDArray


def classification(seed: int, n: int = 30, d: int = 4, C: float = 1.0, weighted: bool = False) -> Problem:
    """Two overlapping classes, both present."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(X[:, 0] + 0.7 * rng.normal(size=n) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return Problem(X, y, C * _weights(rng, n, weighted))


def regression(seed: int, n: int = 30, d: int = 3, C: float = 1.0, weighted: bool = False) -> Problem:
    """A smooth function with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.sin(2 * X[:, 0]) + 0.5 * X[:, -1] + 0.3 * rng.normal(size=n) + 1.0
    return Problem(X, y, C * _weights(rng, n, weighted))


def _weights(rng: np.random.Generator, n: int, weighted: bool) -> NDArray:
    return rng.uniform(0.2, 3.0, size=n) if weighted else np.ones(n)


def problem(name: str, seed: int, n: int = 30, C: float = 1.0, weighted: bool = False) -> Problem:
    """A small random problem of the kind that the loss of that name wants."""
    make = classification if name in CLASSIFICATION or name == "nu classification" else regression
    return make(seed, n=n, C=C, weighted=weighted)


def terms(name: str, data: Problem, fit_intercept: bool = True) -> Terms:
    """The dual terms of the loss of that name; the nu losses always have their sums."""
    if name.startswith("one-class"):
        return NU[name].dual(data.C)
    if name in NU:
        return NU[name].dual(data.y, data.C)
    return LOSSES[name].dual(data.y, data.C, fit_intercept=fit_intercept)


def random_terms(seed: int, m: int = 14, groups: int = 2, infinite: bool = True, copies: int = 1) -> Terms:
    """Random bounds, some of them infinite or equal, and sums that some point attains."""
    rng = np.random.default_rng(seed)
    lo = rng.normal(size=m) - 1.0
    hi = lo + rng.exponential(2.0, size=m) * (rng.random(m) > 0.1)
    inner = rng.uniform(lo, hi)
    if infinite:
        lo[rng.random(m) < 0.2], hi[rng.random(m) < 0.2] = -np.inf, np.inf
    group = rng.integers(groups, size=m) if groups else None
    sums = np.array([inner[group == g].sum() for g in range(groups)]) if groups else np.empty(0)
    d, e = rng.exponential(size=m) * (rng.random(m) > 0.3), rng.exponential(size=m) * (rng.random(m) > 0.3)
    # Curvature wherever a bound is infinite, so that psi is finite.
    d = np.where(np.isinf(lo) | np.isinf(hi), d + 0.1, d)
    return Terms(rng.normal(size=m), lo, hi, d, e, group, sums, copies)


def standardised(X: NDArray) -> NDArray:
    """Centred and divided by the population standard deviation."""
    return (X - X.mean(axis=0)) / X.std(axis=0)


@dataclass(frozen=True, eq=False)
class Known:
    """A problem whose optimum is known: a Gaussian kernel with that gamma, and the optimum within lower and upper."""

    load: Callable[[], tuple[NDArray, NDArray]]
    loss: object
    C: float
    gamma: float
    lower: float
    upper: float
    intercept: float | None = None
    support: tuple[int, int] | None = None  # support vectors, and how many of them are at their bound


def _breast_cancer() -> tuple[NDArray, NDArray]:
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    return standardised(X), 2.0 * y - 1.0


def _digits() -> tuple[NDArray, NDArray]:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return X / 16.0, np.where(y < 5, 1.0, -1.0)


def _diabetes() -> tuple[NDArray, NDArray]:
    from sklearn.datasets import load_diabetes

    X, y = load_diabetes(return_X_y=True)
    return standardised(X), standardised(y)


KNOWN = {
    "breast cancer": Known(
        _breast_cancer, losses.Hinge(), 1.0, 1 / 30, 59.761345365, 59.761345375, -0.2353672, (119, 62)
    ),
    "breast cancer, C = 100": Known(
        _breast_cancer, losses.Hinge(), 100.0, 0.01, 1377.666931945, 1377.666931955, -1.2351121, (52, 9)
    ),
    "digits": Known(_digits, losses.Hinge(), 10.0, 0.05, 1196.17153345, 1196.17153355, 2.0241769, (313, 115)),
    "diabetes": Known(_diabetes, losses.EpsilonInsensitive(0.1), 1.0, 0.1, 170.7551145, 170.7551195),
}


@dataclass(frozen=True, eq=False)
class Analytic:
    """A solution of the five points below with the linear kernel, in exact fractions."""

    loss: object
    C: float
    beta: NDArray
    intercept: float


FIVE_X = np.array([[0.0, 0.0], [2.0, 2.0], [-1.0, -8.0], [-1.0, -1.0], [3.0, 3.0]])
FIVE_Y = np.array([-1.0, 1.0, -1.0, -1.0, 1.0])
FIVE_POINTS = {
    "hard margin": Analytic(losses.Hinge(), 1e6, np.array([-0.25, 0.25, 0.0, 0.0, 0.0]), -1.0),
    "hinge": Analytic(losses.Hinge(), 0.1, np.array([-0.1, 0.1, 0.0, -0.0125, 0.0125]), -0.5),
    "squared hinge": Analytic(losses.SquaredHinge(), 0.1, np.array([-0.104, 0.104, 0.0, -0.008, 0.008]), -0.48),
}
