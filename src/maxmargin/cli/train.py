"""`maxmargin train`: what is wrong with the names is said before the heavy imports begin."""

from __future__ import annotations

import argparse
from pathlib import Path

from maxmargin.cli.command import UsageError


def run(args: argparse.Namespace) -> int:
    """Train, or cross-validate with -v."""
    if args.model == "-":
        raise UsageError("a model needs a file to be written to, not standard output")
    if args.model is None and args.data == "-" and not args.cross_validation:
        raise UsageError("data from standard input need a name for the model file")
    if args.model is None:
        args.model = f"{Path(args.data).name}.model"
    from maxmargin.cli import fitting

    return fitting.cross_validate(args) if args.cross_validation else fitting.train(args)
