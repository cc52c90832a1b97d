"""The command `maxmargin`: argument parsing, and calls of what the library offers."""

from maxmargin.cli.command import main

__all__ = ["main"]
