"""`maxmargin convert`."""

from __future__ import annotations

import argparse
import os

from maxmargin import models
from maxmargin.cli import files
from maxmargin.cli.command import OK, UsageError
from maxmargin.cli.output import print_json
from maxmargin.cli.predict import read_model

WRITERS = {"maxmargin": models.save, "libsvm": models.export_libsvm, "svmlight": models.export_svmlight}


def run(args: argparse.Namespace) -> int:
    """Convert data to data or a model to a model, by what the source is."""
    if args.target == "-" and args.json:
        raise UsageError("data and --json both go to standard output: name a file for the data")
    files.check_target(args.target, args.source)
    source = files.kind(args.source)
    if source in ("npz", "text"):
        if args.format:
            raise UsageError("--format is for models; the format of data follows from the target's suffix")
        X, y = files.read_data(args.source, zero_based=args.zero_based)
        files.write_data(args.target, X, y, source=args.source, zero_based=args.zero_based)
        written = "npz" if args.target.endswith(".npz") else "text"
    elif args.target == "-":
        raise UsageError("a model needs a file to be written to, not standard output")
    else:
        written = args.format or ("maxmargin" if source == "libsvm" else "libsvm")
        WRITERS[written](read_model(args.source), args.target)
    if args.json:
        found = {"source": args.source, "from": source, "target": args.target, "to": written}
        print_json({**found, "bytes": os.path.getsize(args.target)})
    elif not args.quiet and args.target != "-":
        print(f"{args.source} ({source}) -> {args.target} ({written}, {os.path.getsize(args.target):,} bytes)")
    return OK
