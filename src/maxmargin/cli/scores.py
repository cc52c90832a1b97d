"""The figures that svm-train and svm-predict print, in their words."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_regressor


def scores(model: Any, predicted: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """Accuracy of a classifier or outlier detector; mean squared error and squared correlation of a regressor.

    The squared correlation is that of the predictions and the targets, NaN where either is constant. A classifier whose
    classes are strings has no accuracy on numbers, nor the other way round.
    """
    if is_regressor(model):
        p, t = np.asarray(predicted, float), np.asarray(y, float)
        p, t, error = p - p.mean(), t - t.mean(), float(np.mean((p - t) ** 2))
        spread = float(p @ p) * float(t @ t)
        return {
            "mean_squared_error": error,
            "squared_correlation": float(p @ t) ** 2 / spread if spread else float("nan"),
        }
    if (np.asarray(predicted).dtype.kind in "biuf") != (y.dtype.kind in "biuf"):
        return {"rows": len(y)}
    correct = int(np.sum(predicted == y))
    return {"accuracy": 100.0 * correct / len(y), "correct": correct, "rows": len(y)}


def noise(model: Any) -> dict[str, float]:
    """The scale of a regression's noise, where the fit has estimated it."""
    return {"noise_scale": model.noise_scale_} if hasattr(model, "noise_scale_") else {}
