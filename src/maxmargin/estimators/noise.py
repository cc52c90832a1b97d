r"""The noise of a regression: what the targets are beside their predictions.

The residuals :math:`z = y - f(x) - b` of models that have not seen the example are taken for Laplace noise, of density
:math:`e^{-|z| / \sigma} / (2 \sigma)`, of which the mean of :math:`|z|` is the maximum likelihood estimate of
:math:`\sigma`. As in LIBSVM, residuals beyond five standard deviations, :math:`5 \sqrt 2\, \sigma`, are left out of a
second mean.

C.-J. Lin and R. C. Weng, Simple probabilistic predictions for support vector regression, 2004.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from maxmargin.estimators.calibration import FOLDS, assign_folds, decision_values
from maxmargin.estimators.regressor import KernelRegressor
from maxmargin.estimators.training import TrainingSet
from maxmargin.reductions import Part
from maxmargin.rows import Rows
from maxmargin.solvers.loop import Solution

Floats = NDArray[np.float64]

FARTHEST = 5.0  # standard deviations, beyond which a residual says nothing of the others


def laplace_scale(residuals: Floats, weights: Floats) -> float:
    r"""The scale :math:`\sigma` of Laplace noise, without the residuals that lie too far out.

    Parameters
    ----------
    residuals : (n,)
        Of models that have not seen the example.
    weights : (n,)
        How often each example counts.
    """
    size = np.abs(residuals)
    deviation = np.sqrt(2.0) * np.average(size, weights=weights)
    near = size <= FARTHEST * deviation
    return float(np.average(size[near], weights=weights[near]))


class NoisyRegressor(KernelRegressor):
    """Base of the regressors that can estimate the noise of their targets."""

    probability: bool
    random_state: int | np.random.RandomState | None

    noise_scale_: float

    def _fit_targets(self, data: TrainingSet) -> None:
        parts = self._fold_parts(data) if self.probability else []
        solutions, rows = self._fit_one(data, self._terms(data.y, self.C * data.weights), parts)
        self.__dict__.pop("noise_scale_", None)  # an earlier fit's
        if self.probability:
            self.noise_scale_ = laplace_scale(self._residuals(data, rows, parts, solutions[1:]), data.weights)

    def _fold_parts(self, data: TrainingSet) -> list[Part]:
        """The problem without each fold."""
        n = len(data.y)
        if n < FOLDS:
            raise ValueError(
                f"probability=True estimates the noise from {FOLDS} folds, which take at least {FOLDS} examples of"
                f" positive weight, but there are only n_samples = {n}."
            )
        folds = assign_folds(np.zeros(n, dtype=np.intp), self.random_state)
        training = [np.flatnonzero(folds != fold) for fold in range(FOLDS)]
        return [Part(ids, self._terms(data.y[ids], self.C * data.weights[ids])) for ids in training]

    def _residuals(self, data: TrainingSet, rows: Rows, parts: Sequence[Part], solutions: Sequence[Solution]) -> Floats:
        """Targets less the predictions of the model that has not seen them."""
        predicted = np.empty(len(data.y))
        for part, expansion in zip(parts, self._expand(parts, solutions), strict=True):
            unseen = np.setdiff1d(np.arange(len(predicted)), part.ids, assume_unique=True)
            predicted[unseen] = decision_values(rows, unseen, part.ids, expansion)
        return data.y - predicted
