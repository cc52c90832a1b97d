"""Rows of the kernel matrix: computed from data, or read from a matrix; one interface."""

from maxmargin.rows.rows import Rows

__all__ = ["Rows"]
