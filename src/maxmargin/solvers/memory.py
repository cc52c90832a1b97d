"""How much memory a solver may use for rows of the kernel matrix."""

from __future__ import annotations

import os
from pathlib import Path

MEGABYTE = 2**20
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


def free_bytes() -> float:
    """Memory that this process can still take: the machine's, or its container's where that is less."""
    free = float("inf")
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                free = 1024.0 * int(line.split()[1])
        limit, used = (Path("/sys/fs/cgroup", name).read_text().strip() for name in ("memory.max", "memory.current"))
        if limit != "max":
            free = min(free, float(limit) - float(used))
    except OSError:
        pass  # no such files here: the machine's own memory decides
    if free == float("inf"):
        free = float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    return max(free, 64.0 * MEGABYTE)
