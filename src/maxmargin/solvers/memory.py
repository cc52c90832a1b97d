"""How much memory a solver may use for rows of the kernel matrix."""

from __future__ import annotations

import os
from pathlib import Path

from maxmargin._native import core

MEGABYTE = 2**20
CONTROL_GROUPS = Path("/sys/fs/cgroup")
# Limit and use of a container's memory, under version 2 and version 1 of control groups.
CONTAINER_FILES = (
    ("memory.max", "memory.current"),
    ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
)
SHARE = 0.5  # of the free memory, for cache_size="auto"


def cache_bytes(cache_size: float | str) -> float:
    """The budget in bytes: megabytes given, or half of the memory that is free now.

    Raises
    ------
    ValueError
        When it is neither "auto" nor a positive number.
    """
    if cache_size == "auto":
        return SHARE * free_bytes()
    if isinstance(cache_size, str) or not cache_size > 0:
        raise ValueError(f'cache_size is {cache_size!r}, but it must be a positive number of megabytes or "auto".')
    return float(cache_size) * MEGABYTE


def release_memory() -> int:
    """Give the memory that fits have left for the next one to the system.

    Returns
    -------
    int
        How many bytes.
    """
    return int(core.release_memory())


def free_bytes() -> float:
    """Memory that this process can still take: the machine's, or its container's where that is less."""
    free = min([_machine(), *(limit - used for limit, used in map(_container, CONTAINER_FILES))])
    return max(free, 64.0 * MEGABYTE)


def _machine() -> float:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(1024.0 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):  # not Linux: all of the memory there is
        return float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")


def _container(names: tuple[str, str]) -> tuple[float, float]:
    """The limit and the use of a control group, where there is one."""
    try:
        limit, used = (float(Path(CONTROL_GROUPS, name).read_text().replace("max", "inf")) for name in names)
        return limit, used
    except OSError:
        return float("inf"), 0.0
