"""How many threads a call may use."""

from __future__ import annotations

import os

import joblib


def available() -> int:
    """Cores that this process may use: its CPU affinity and quota, and OMP_NUM_THREADS where that is lower.

    The workers of joblib and loky set OMP_NUM_THREADS, so nested calls share the machine instead of crowding it.
    """
    cores = int(joblib.cpu_count())
    limit = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    return max(1, min(cores, int(limit))) if limit.isdigit() and int(limit) > 0 else cores


def threads(n_jobs: int | None) -> int:
    """Number of threads: all that are available for None, counted from the last core for negative numbers."""
    if n_jobs is None:
        return available()
    if n_jobs == 0:
        raise ValueError("n_jobs is 0, but it must be a number of threads, or negative to count from all cores.")
    return n_jobs if n_jobs > 0 else max(1, available() + 1 + n_jobs)
