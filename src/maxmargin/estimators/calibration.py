r"""Class probabilities that agree with predict.

A decision value s becomes the probability :math:`1 / (1 + e^{-a s})` of the positive side, with one slope a for s < 0
and another for s > 0: the curve passes through 1/2 at s = 0, where the prediction changes. The slopes are fitted to
out-of-fold decision values by penalised maximum likelihood with Platt's targets.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.utils import check_random_state

from maxmargin.estimators.expansion import Expansion
from maxmargin.estimators.prediction import in_blocks
from maxmargin.kernels.kernel import block_rows
from maxmargin.reductions import Task
from maxmargin.rows import Rows

Floats = NDArray[np.float64]

FOLDS = 5
LEAST_SLOPE = 1e-3  # in units of the mean decision value: the curve rises everywhere
CERTAIN = 1e-7  # no task's probability is closer than this to 0 or 1, as in LIBSVM
MARGIN = 1e-9  # by which the predicted class leads


def assign_folds(codes: NDArray[np.intp], random_state: int | np.random.RandomState | None) -> NDArray[np.intp]:
    """A fold for each row: the rows of each class are shuffled and dealt out in turn; None is one fixed seed."""
    random = check_random_state(0 if random_state is None else random_state)
    shuffled = random.permutation(len(codes))
    dealt = shuffled[np.argsort(codes[shuffled], kind="stable")]
    folds = np.empty(len(codes), dtype=np.intp)
    folds[dealt] = np.arange(len(codes)) % FOLDS
    return folds


def training_part(task: Task, folds: NDArray[np.intp], fold: int) -> Task:
    """The task without the rows of one fold."""
    keep = folds[task.ids] != fold
    return Task(task.ids[keep], task.y[keep])


def fit_slopes(scores: Floats, y: Floats, weights: Floats) -> tuple[float, float]:
    r"""Slopes below and above zero.

    They minimise, with u the decision values in units of their mean magnitude,

    .. math:: \sum_i w_i \bigl[\log(1 + e^{a_i u_i}) - \tau_i a_i u_i\bigr] + \tfrac12 (a_- - a_+)^2,

    a_i the slope of the side of u_i, tau_i Platt's targets (N+ + 1) / (N+ + 2) and 1 / (N- + 2), N+ and N- the weight
    of each side. The last term is what a side without examples has to go by.

    Parameters
    ----------
    scores : (n,)
        Out-of-fold decision values.
    y : (n,)
        +1 or -1.
    weights : (n,)
        How often each example counts.
    """
    scale = np.average(np.abs(scores), weights=weights) or 1.0
    u = scores / scale
    positive, negative = weights[y > 0].sum(), weights[y < 0].sum()
    target = np.where(y > 0, (positive + 1) / (positive + 2), 1 / (negative + 2))
    above = u > 0

    def objective(slopes: Floats) -> tuple[float, Floats]:
        au = np.where(above, slopes[1], slopes[0]) * u
        residual = weights * (expit(au) - target) * u
        apart = slopes[0] - slopes[1]
        value = float(weights @ (np.logaddexp(0.0, au) - target * au)) + 0.5 * apart**2
        return value, np.array([residual[~above].sum() + apart, residual[above].sum() - apart])

    bounds = [(LEAST_SLOPE, None)] * 2
    options = {"ftol": 1e-14, "gtol": 1e-9, "maxiter": 500}
    found = minimize(objective, np.ones(2), jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    below, above_zero = found.x / scale
    return float(below), float(above_zero)


def positive_probabilities(scores: Floats, slopes: Floats) -> Floats:
    """Probability of the positive side of each task: scores (n, tasks), slopes (tasks, 2) below and above zero."""
    p = expit(np.where(scores > 0, slopes[:, 1], slopes[:, 0]) * scores)
    return np.clip(p, CERTAIN, 1.0 - CERTAIN)


def make_consistent(p: Floats, predicted: NDArray[np.intp]) -> Floats:
    """The L2-closest probability vectors in which the predicted class leads every other by at least 1e-9.

    Where it already leads nothing changes. Otherwise the predicted class and the t largest others meet at their mean:
    the smallest t for which no further class exceeds that mean.
    """
    p = p.copy()
    rows = np.arange(len(p))
    rivals = p.copy()
    rivals[rows, predicted] = -np.inf
    for row in np.flatnonzero(p[rows, predicted] < rivals.max(axis=1) + MARGIN):
        _lift(p[row], int(predicted[row]))
    return p


def _lift(p: Floats, predicted: int) -> None:
    order = np.argsort(-p, kind="stable")
    order = order[order != predicted]
    total, t = p[predicted], 0
    while t < len(order) and p[order[t]] > (total - MARGIN) / (t + 1):
        total += p[order[t]]
        t += 1
    share = (total - MARGIN) / (t + 1)
    p[order[:t]] = share
    p[predicted] = share + MARGIN


def decision_values(rows: Rows, ids: NDArray[np.intp], training: NDArray[np.intp], expansion: Expansion) -> Floats:
    """Decision values of the examples `ids` under a model of the examples `training`, read from the rows of both."""
    support = np.flatnonzero(expansion.coef)
    if len(support) == 0:
        return np.full(len(ids), expansion.intercept)
    columns, coef = training[support], expansion.coef[support]
    values = in_blocks(
        lambda run: rows.block(ids[run], columns) @ coef, len(ids), block_rows(rows.n, rows.entry_cost), workers=1
    )
    return values + expansion.intercept
