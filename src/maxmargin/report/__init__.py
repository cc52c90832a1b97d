"""Reports on fits: progress while they run."""

from maxmargin.report.progress import Progress

__all__ = ["Progress"]
