"""The line of progress on a terminal and elsewhere."""

import io
import threading
from types import SimpleNamespace

import pytest
from sklearn.base import clone

from maxmargin import SVC
from maxmargin.report import Progress

STATE = SimpleNamespace(
    iteration=12345, violation=0.0123, gap=4.5e-5, active=678, rows_computed=25, cache_hits=75, time=12.34
)
LINE = "12,345 iterations, violation 1.2e-02, gap 4.5e-05, active 678, rows 25, cache hits 75%, 12.3 s"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_has_one_line_that_is_wiped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    stream = Terminal()
    with Progress(stream, interval=0, label="SVC") as progress:
        assert progress(STATE) is None  # type: ignore[func-returns-value]
        progress(SimpleNamespace(**{**vars(STATE), "iteration": 9}))
    first, second, wiped, end = stream.getvalue().split("\r")[1:]
    assert first == f"SVC: {LINE}"
    assert second.rstrip() == f"SVC: {LINE}".replace("12,345", "9")
    assert len(second) == len(first)
    assert wiped.isspace()
    assert end == ""


def test_a_line_never_wraps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    stream = Terminal()
    Progress(stream, interval=0)(STATE)
    assert stream.getvalue() == "\r" + LINE[:39]


def test_elsewhere_lines_are_plain_and_rare() -> None:
    stream = io.StringIO()
    with Progress(stream) as progress:
        progress(STATE)
    assert stream.getvalue() == ""
    with Progress(stream, interval=0) as progress:
        progress(STATE)
    assert stream.getvalue() == LINE + "\n"


def test_too_early_calls_show_nothing() -> None:
    stream = Terminal()
    progress = Progress(stream, interval=1000)
    for _ in range(5):
        progress(STATE)
    assert stream.getvalue().count("\r") == 1


def test_several_threads_write_whole_lines() -> None:
    stream = io.StringIO()
    progress = Progress(stream, interval=0)
    threads = [threading.Thread(target=lambda: [progress(STATE) for _ in range(50)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(stream.getvalue().splitlines()) == {LINE}


def test_clones_of_an_estimator_share_the_line() -> None:
    progress = Progress(io.StringIO())
    assert clone(SVC(callback=progress)).callback is progress


def test_no_rows_asked_for_is_no_division_by_zero() -> None:
    stream = io.StringIO()
    Progress(stream, interval=0)(SimpleNamespace(**{**vars(STATE), "rows_computed": 0, "cache_hits": 0}))
    assert "cache hits 0%" in stream.getvalue()
