"""The line of progress on a terminal and elsewhere."""

import io
import os
import pickle
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

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


@pytest.mark.parametrize("explicit", [True, False])
def test_a_pickle_writes_to_the_stderr_of_its_process(explicit: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    with open(os.devnull, "w") as here:  # a file, as stderr is: it has no pickle
        monkeypatch.setattr(sys, "stderr", here)
        sent = pickle.dumps(SVC(callback=Progress(here if explicit else None, interval=0, label="SVC")))
    there = io.StringIO()
    monkeypatch.setattr(sys, "stderr", there)
    pickle.loads(sent).callback(STATE)
    assert there.getvalue() == f"SVC: {LINE}\n"


def test_a_pickle_of_another_file_is_refused(tmp_path: Path) -> None:
    with open(tmp_path / "log", "w") as file, pytest.raises(TypeError, match="cannot pickle"):
        pickle.dumps(Progress(file))


def test_a_search_in_processes_takes_progress() -> None:
    X = np.random.default_rng(0).normal(size=(40, 2))
    search = GridSearchCV(SVC(callback=Progress()), {"C": [0.1, 1.0]}, cv=2, n_jobs=2)
    with parallel_config("loky"):
        assert search.fit(X, X[:, 0] > 0).best_score_ > 0.5


def test_no_rows_asked_for_is_no_division_by_zero() -> None:
    stream = io.StringIO()
    Progress(stream, interval=0)(SimpleNamespace(**{**vars(STATE), "rows_computed": 0, "cache_hits": 0}))
    assert "cache hits 0%" in stream.getvalue()
