"""From the command line to an exit code: one sentence for an error, no traceback."""

from __future__ import annotations

import argparse
import io
import os
import signal
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from types import FrameType
from typing import Any, NoReturn

from maxmargin.cli import parser

OK, BAD_INPUT, USAGE, NOT_CONVERGED, BROKEN_PIPE, INTERRUPTED, TERMINATED = 0, 1, 2, 3, 141, 130, 143
SLOW_TO_START = ("train", "predict")  # with scikit-learn: these say first what they are about to do


class UsageError(Exception):
    """Options that do not go together."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    argv : sequence of str, optional
        The words after the program's name; those of this process by default.

    Returns
    -------
    int
        0 ok, 1 bad input, 2 usage, 3 not converged, 130 interrupted, 141 the reader of standard output went away.
    """
    _open_closed_streams()
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")  # a file's name may be no text
    try:
        args = parser.parse(sys.argv[1:] if argv is None else argv)
    except SystemExit as stop:  # argparse has printed the help, or the usage and the error
        return int(stop.code or 0)
    if args.version:
        from maxmargin import __version__

        print(f"maxmargin {__version__}")
        return OK
    status = OK
    with _Signals() as signals:
        try:
            status = _run(args, signals)
        except KeyboardInterrupt:
            signals.came = signal.SIGINT
        except _Terminated:
            signals.came = signal.SIGTERM
    if signals.came == signal.SIGTERM:
        return _fail(args, TERMINATED, "terminated")
    return _fail(args, INTERRUPTED, "interrupted") if signals.came else status


def _open_closed_streams() -> None:
    """Stand in for standard streams that the caller has closed (``>&-``), before another file gets their numbers.

    There is nothing to read, what goes to standard output fails, messages have nobody to go to.
    """
    for name, access, mode in (("stdin", os.O_RDONLY, "r"), ("stdout", os.O_RDONLY, "w"), ("stderr", os.O_WRONLY, "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, access), mode))


def _run(args: argparse.Namespace, signals: _Signals) -> int:
    """Run the command; what goes wrong becomes a sentence and a code."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is said to programmers
            warnings.simplefilter("default", UserWarning)
            warnings.showwarning = _ignore if getattr(args, "quiet", False) else _show_warning
            if args.command in SLOW_TO_START and not args.quiet:
                print(f"maxmargin {args.command}: reading {args.data}", file=sys.stderr, flush=True)
            # The commands are imported here: NumPy and scikit-learn take longer than --help may.
            status: int = import_module(f"maxmargin.cli.{args.command}").run(args)
            sys.stdout.flush()
            return status
    except UsageError as error:
        return _fail(args, USAGE, str(error))
    except BrokenPipeError:
        _flush_or_forget()
        return BROKEN_PIPE
    except (ValueError, OSError, ImportError, MemoryError, OverflowError) as error:
        # An import that a signal cuts off reports a broken module instead.
        return BAD_INPUT if signals.came else _fail(args, BAD_INPUT, _sentence(error))


class _Terminated(BaseException):
    """SIGTERM has come: files that are being written are to be removed first."""


class _Signals:
    """Ctrl-C and SIGTERM as exceptions, and which of them came: native code may turn the exception into another."""

    def __init__(self) -> None:
        self.came: int = 0
        self._before: dict[int, Any] = {}

    def __enter__(self) -> _Signals:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._set(number, self._raise)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _set(self, number: int, handler: Any) -> None:
        before = signal.getsignal(number)
        if before is None or (number == signal.SIGINT and before is not signal.default_int_handler):
            return  # somebody else's handler, or none: in the background a shell makes Ctrl-C ignored
        try:
            signal.signal(number, handler)
            self._before[number] = before
        except ValueError:  # main is called from another thread, which receives no signals
            return

    def _raise(self, number: int, frame: FrameType | None) -> NoReturn:
        self.came = number
        raise KeyboardInterrupt if number == signal.SIGINT else _Terminated


def _fail(args: argparse.Namespace, status: int, sentence: str) -> int:
    _flush_or_forget()
    print(f"maxmargin {args.command}: {sentence}", file=sys.stderr)
    return status


def _flush_or_forget() -> None:
    """Flush the standard streams; what they do not take goes nowhere, or the interpreter fails at its end once more."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _sentence(error: Exception) -> str:
    """The error as one line."""
    if isinstance(error, OSError) and error.strerror:
        place = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, (str, bytes)) else ""
        return f"{place}{error.strerror}"
    if isinstance(error, MemoryError):
        return f"not enough memory: {error}" if str(error) else "not enough memory"
    return " ".join(str(error).split())


def _show_warning(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
    print(f"maxmargin: warning: {' '.join(str(message).split())}", file=sys.stderr)


def _ignore(*what: Any, **more: Any) -> None:
    """Show no warning."""
