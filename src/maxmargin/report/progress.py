"""One line of progress on a terminal, or a plain line every few seconds where there is none."""

from __future__ import annotations

import math
import shutil
import sys
import threading
import time
from types import TracebackType
from typing import Any, TextIO

TERMINAL_INTERVAL = 0.1  # seconds between two lines; faster cannot be read
PLAIN_INTERVAL = 5.0


class Progress:
    """A callback that shows how far a solver is.

    On a terminal one line is written over and over (with a carriage return, no escape codes); elsewhere a line is added
    every few seconds. It never asks the solver to stop, and several solvers in several threads may share it.

    Parameters
    ----------
    stream : text stream, optional
        Where to, `sys.stderr` by default.
    interval : float, optional
        Seconds between two lines; 0.1 on a terminal and 5 elsewhere by default.
    label : str
        What the line starts with.

    Examples
    --------
    >>> from maxmargin import SVC
    >>> with Progress() as progress:                                            # doctest: +SKIP
    ...     SVC(callback=progress).fit(X, y)
    """

    def __init__(self, stream: TextIO | None = None, interval: float | None = None, label: str = "") -> None:
        self._asked = stream, interval, label
        self.stream = sys.stderr if stream is None else stream
        self.on_terminal = self.stream.isatty()
        default = TERMINAL_INTERVAL if self.on_terminal else PLAIN_INTERVAL
        self.interval = default if interval is None else interval
        self.label = f"{label}: " if label else ""
        self._lock = threading.Lock()
        self._next = 0.0 if self.on_terminal or interval == 0 else time.monotonic() + self.interval
        self._shown = 0

    def __call__(self, state: Any) -> None:
        """Show the state of a solver, unless the last line is too fresh."""
        if time.monotonic() < self._next:
            return
        with self._lock:
            self._next = time.monotonic() + self.interval
            self._show(self.label + describe(state))

    def close(self) -> None:
        """Wipe the line of a terminal, so that what follows starts on a clean one."""
        with self._lock:
            if self._shown:
                self.stream.write("\r" + " " * self._shown + "\r")
                self.stream.flush()
            self._shown = 0

    def __deepcopy__(self, memo: dict[int, Any]) -> Progress:
        """Itself: scikit-learn's `clone` copies parameters, and all copies of an estimator share one line."""
        return self

    def __reduce__(self) -> tuple[type[Progress], tuple[TextIO | None, float | None, str]]:
        """Made anew, as it was asked for: `sys.stderr` of the process that reads the pickle is another."""
        stream, interval, label = self._asked
        return Progress, (None if stream is sys.stderr else stream, interval, label)

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _show(self, text: str) -> None:
        if self.on_terminal:
            text = text[: shutil.get_terminal_size().columns - 1]  # a line that wraps cannot be written over
            width, self._shown = self._shown, max(self._shown, len(text))  # before: Ctrl-C may come while it is written
            self.stream.write("\r" + text.ljust(width))
        else:
            self.stream.write(text + "\n")
        self.stream.flush()


def describe(state: Any) -> str:
    """The state of a solver as one line."""
    asked = state.rows_computed + state.cache_hits
    parts = [
        f"{state.iteration:,} iterations",
        f"violation {state.violation:.1e}",
        "gap -" if math.isnan(state.gap) else f"gap {state.gap:.1e}",  # unknown while variables are shrunk
        f"active {state.active:,}",
        f"rows {state.rows_computed:,}",
        f"cache hits {100 * state.cache_hits / asked if asked else 0:.0f}%",
        f"{state.time:.1f} s",
    ]
    return ", ".join(parts)
