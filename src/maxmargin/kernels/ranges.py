"""The values that the parameters of kernels may take."""

from __future__ import annotations

import math


def positive_gamma(gamma: float) -> None:
    """Raise ValueError unless gamma is a finite number, zero (a constant kernel) or more."""
    if not (math.isfinite(gamma) and gamma >= 0):
        raise ValueError(f"gamma is {gamma}, but it must be finite and not negative.")


def finite_coef0(coef0: float) -> None:
    """Raise ValueError unless coef0 is finite."""
    if not math.isfinite(coef0):
        raise ValueError(f"coef0 is {coef0}, but it must be finite.")


def natural_degree(degree: int) -> None:
    """Raise ValueError unless the degree is a whole number, zero or more."""
    if not (float(degree).is_integer() and degree >= 0):
        raise ValueError(f"degree is {degree}, but it must be a whole number, zero or more.")
