"""`maxmargin scale`."""

from __future__ import annotations

import argparse
import sys

import numpy as np

from maxmargin.cli import files
from maxmargin.cli.command import OK, UsageError
from maxmargin.data import scaling


def run(args: argparse.Namespace) -> int:
    """Scale to the ranges of the data or of a file."""
    if args.save and args.restore:
        raise UsageError("-s and -r cannot be combined: the ranges are either taken from the data or restored")
    # In place is allowed: the data are read whole before they are written.
    files.check_target(args.output, args.restore)
    if args.save:
        if args.save == "-":
            raise UsageError("-s - would mix the ranges with data on standard output: name a file for the ranges")
        files.check_target(args.save, args.data, args.output)
    X, y = files.read_data(args.data, zero_based=args.zero_based)
    if args.target:
        files.require_numbers(args.data, y)
    if args.restore:
        found = scaling.load(args.restore)
        _warn_of_unknown(args, X, found)
    else:
        found = scaling.fit(X, y, args.lower, args.upper, None if args.target is None else tuple(args.target))
    X, y = found.transform(X), found.transform_target(y)
    if args.save:
        scaling.save(found, args.save)
    files.write_data(args.output, X, y, source=args.data, zero_based=args.zero_based)
    return OK


def _warn_of_unknown(args: argparse.Namespace, X: object, found: scaling.Scaling) -> None:
    """Features that the restored ranges do not know are removed, as svm-scale does; it says so too."""
    known = found.features.least < found.features.greatest
    columns = np.unique(X.nonzero()[1])  # type: ignore[attr-defined]
    unknown = columns[(columns >= len(known)) | ~known[np.minimum(columns, len(known) - 1)]] if len(known) else columns
    if len(unknown) and not args.quiet:
        shown = ", ".join(str(j + 1) for j in unknown[:5]) + (", ..." if len(unknown) > 5 else "")
        print(f"maxmargin: warning: {args.restore} has no range for feature {shown}: removed", file=sys.stderr)
