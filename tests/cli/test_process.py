"""The command as a process: how fast it answers, how it ends, what it leaves behind."""

import gzip
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import maxmargin
from maxmargin.cli import main
from maxmargin.data import examples, libsvm

TRAIN = str(examples.spirals("train"))
# The package that is tested, wherever the process runs.
ENVIRONMENT = {**os.environ, "PYTHONUNBUFFERED": "", "PYTHONPATH": str(Path(maxmargin.__file__).parents[1])}
COMMAND = [sys.executable, "-m", "maxmargin.cli"]

FIRST_LINE = """
import sys
class Recorder:
    heavy = None
    def write(self, text):
        if Recorder.heavy is None:
            Recorder.heavy = sorted({"numpy", "scipy", "sklearn"} & set(sys.modules))
    def flush(self): pass
real, sys.stdout, sys.stderr = sys.stdout, Recorder(), Recorder()
from maxmargin.cli import main
main(sys.argv[1:])
real.write(repr(Recorder.heavy))
"""

LIMITED = """
import resource, sys
from maxmargin.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300))
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    "words",
    [["--help"], ["train", "--help"], ["train", "no-such-file"], ["predict", "no-such-file", "model"], ["--version"]],
    ids=str,
)
def test_the_first_line_waits_for_no_heavy_import(words: list[str]) -> None:
    done = subprocess.run([sys.executable, "-c", FIRST_LINE, *words], capture_output=True, text=True, check=True)
    assert done.stdout == "[]"


@contextmanager
def waiting_for_data(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A training that has said its first line and waits for its standard input."""
    command = [*COMMAND, "train", "-", "model"]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, cwd=folder, env=ENVIRONMENT, **pipes) as process:
        yield process
        process.kill()


def test_the_first_line_comes_at_once(tmp_path: Path) -> None:
    times = []
    for _ in range(3):
        began = time.perf_counter()
        with waiting_for_data(tmp_path) as process:
            assert process.stderr is not None
            assert process.stderr.readline() == "maxmargin train: reading -\n"
            times.append(time.perf_counter() - began)
    assert min(times) < 0.5


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.parametrize(
    ("number", "code", "word"), [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")]
)
def test_signals_end_with_one_word(number: int, code: int, word: str, tmp_path: Path) -> None:
    with waiting_for_data(tmp_path) as process:
        assert process.stderr is not None
        process.stderr.readline()
        process.send_signal(number)
        assert process.wait(timeout=20) == code
        assert process.stderr.read() == f"maxmargin train: {word}\n"
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(sys.platform == "win32", reason="named pipes")
def test_data_come_through_a_pipe_whole_and_a_model_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")

    def through_the_pipe(text: bytes, words: str) -> int:
        writer = threading.Thread(target=Path("pipe").write_bytes, args=[text])
        writer.start()
        code = main(words.split())
        writer.join()
        return code

    text = Path(TRAIN).read_bytes()
    assert through_the_pipe(text, "info --json pipe") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["kind"], found["rows"], found["nonzeros"], "bytes" in found) == ("text", 400, 800, False)
    assert through_the_pipe(gzip.compress(text), "train -q -g 10 pipe model") == 0
    assert main(f"train -q -g 10 {TRAIN} same".split()) == 0
    assert main(["predict", TRAIN, "model"]) == main(["predict", TRAIN, "same"]) == 0
    piped, same = capsys.readouterr().out.splitlines()
    assert piped == same
    assert main(["predict", TRAIN, "pipe"]) == 1
    assert capsys.readouterr().err.splitlines()[-1] == (
        "maxmargin predict: pipe is no file: a model is read from a file, only data from standard input or a pipe"
    )


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX terminals and signals")
def test_ctrl_c_stops_a_fit_whose_progress_a_terminal_shows(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    X, y = random.normal(size=(3000, 20)).round(2), random.choice([-1.0, 1.0], 3000)
    libsvm.write(tmp_path / "hard", X, y)  # labels of chance, a hard margin: this takes minutes
    master, slave = os.openpty()
    command = [*COMMAND, "train", "-c", "1e8", "-g", "0.001", "-e", "1e-10", "hard", "model"]
    with subprocess.Popen(command, stderr=slave, stdout=slave, cwd=tmp_path, env=ENVIRONMENT) as process:
        shown = read_until(master, b" iterations, violation")
        process.send_signal(signal.SIGINT)
        shown += read_until(master, b"interrupted\r\n")
        assert process.wait(timeout=20) == 130
    os.close(master)
    os.close(slave)
    assert shown.endswith(b" \rmaxmargin train: interrupted\r\n")
    assert os.listdir(tmp_path) == ["hard"]


def read_until(terminal: int, word: bytes) -> bytes:
    """What a terminal shows, up to and with a word, or what it shows in 20 seconds."""
    shown = b""
    while word not in shown and select.select([terminal], [], [], 20.0)[0]:
        shown += os.read(terminal, 4096)
    return shown


@pytest.mark.skipif(sys.platform != "linux", reason="needs RLIMIT_FSIZE")
def test_a_full_disk_while_saving(tmp_path: Path) -> None:
    (tmp_path / "model").write_bytes(b"old")
    command = [sys.executable, "-c", LIMITED, "train", "-q", TRAIN, "model"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=ENVIRONMENT)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "maxmargin train: model: File too large\n")
    assert (tmp_path / "model").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["model"]


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX pipes")
def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    line = f"{sys.executable} -m maxmargin.cli scale {TRAIN} | head -n 1"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, cwd=tmp_path, env=ENVIRONMENT)
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""


@pytest.mark.skipif(sys.platform != "linux", reason="file names of any bytes")
def test_names_that_are_no_text(tmp_path: Path) -> None:
    data, model, wrong = (os.fsencode(tmp_path / "") + name for name in (b"a\xff", b"b\xff", b"c\xff"))
    Path(os.fsdecode(data)).write_bytes(Path(TRAIN).read_bytes())
    Path(os.fsdecode(wrong)).write_bytes(b"1 1:x\n")
    environment = {**ENVIRONMENT, "PYTHONIOENCODING": "utf-8:strict"}

    def run(*words: str | bytes) -> tuple[int, bytes, bytes]:
        done = subprocess.run([*COMMAND, *words], capture_output=True, cwd=tmp_path, env=environment)
        return done.returncode, done.stdout, done.stderr

    code, out, err = run("train", "-g", "10", data, model)
    assert (code, out[-8:]) == (0, b"b\\udcff\n"), err
    code, out, err = run("predict", "--json", data, model)
    found = json.loads(out)
    assert (code, os.fsencode(found["model"])) == (0, model), err
    assert run("info", wrong)[2].endswith(b'c\\udcff, line 1, column 5: the value "x" is not a number\n')


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX pipes")
@pytest.mark.parametrize("words", ["scale {data}", "info {data}", "train {data} model", "train no-such-file"])
def test_a_reader_that_is_gone_before_the_first_line(words: str, tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [*COMMAND, *words.format(data=TRAIN).split()]
    assert subprocess.run(command, stdout=writing, stderr=writing, cwd=tmp_path, env=ENVIRONMENT).returncode == 141
    os.close(writing)
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX shells")
@pytest.mark.parametrize(
    ("line", "code", "sentence"),
    [
        ("train -q {data} model >&-", 0, ""),
        ("train {data} model 2>&-", 0, "saved model"),
        ("predict -q {data} saved predictions <&- >&- 2>&-", 0, ""),
        ("train - model <&-", 1, "maxmargin train: standard input holds no examples"),
        ("scale {data} >&-", 1, "maxmargin scale: Bad file descriptor"),
        ("predict {data} saved - >&-", 1, "maxmargin predict: Bad file descriptor"),
    ],
)
def test_closed_streams(line: str, code: int, sentence: str, tmp_path: Path) -> None:
    assert main(["train", "-q", TRAIN, str(tmp_path / "saved")]) == 0
    shell = f"{sys.executable} -m maxmargin.cli {line.format(data=TRAIN)}"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, cwd=tmp_path, env=ENVIRONMENT)
    assert done.returncode == code
    shown = (done.stdout + done.stderr).splitlines()
    assert sentence in (shown[-1] if shown else "")
    assert "Traceback" not in done.stderr
    assert (tmp_path / "model").exists() == (code == 0 and line.startswith("train"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    "words", ["scale {data}", "predict {data} model", "info {data}", "predict {data} model /dev/full"]
)
def test_a_full_device(words: str, tmp_path: Path) -> None:
    assert main(["train", "-q", TRAIN, str(tmp_path / "model")]) == 0
    command = [*COMMAND, *words.format(data=TRAIN).split()]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=ENVIRONMENT)
    name = "/dev/full: " if "full" in words else ""
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"maxmargin {words.split()[0]}: {name}No space left on device"


BAD = [
    ("train missing", 1, "missing: No such file or directory"),
    ("train . model", 1, ".: Is a directory"),
    ("train empty model", 1, "empty"),
    ("train malformed model", 1, "malformed, line 2"),
    ("train one-class model", 1, "number of classes has to be greater than one"),
    (f"train {TRAIN} no/such/folder/model", 1, "no/such/folder/model: its folder does not exist"),
    (f"train {TRAIN} .", 1, ".: it is a folder, so no file can be written there"),
    (f"train -s nu-svr --loss huber {TRAIN} model", 2, "--loss huber is not a loss of nu-svr"),
    (f"train -s 3 -b 1 --loss huber {TRAIN} model", 2, "-b/--probability is not for epsilon-svr with huber"),
    ("train -", 2, "data from standard input need a name for the model file"),
    (f"predict {TRAIN} {TRAIN}", 1, "is no model that can be read"),
    (f"predict {TRAIN} cut", 1, "cut is cut short"),
    ("scale -l 1 -u -1 " + TRAIN, 1, "the lower limit 1 must be below the upper limit -1"),
    (f"scale -r malformed {TRAIN}", 1, "malformed is no file of ranges"),
    ("info missing", 1, "missing: No such file or directory"),
    (f"convert --format libsvm {TRAIN} out", 2, "--format is for models"),
    (f"convert {TRAIN} no/such/folder/out.npz", 1, "no/such/folder/out.npz: its folder does not exist"),
]


@pytest.mark.parametrize(("line", "code", "sentence"), BAD, ids=[line.replace(TRAIN, "DATA") for line, _, _ in BAD])
def test_bad_input_is_one_sentence(
    line: str,
    code: int,
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty").touch()
    Path("malformed").write_text("1 1:0.5\n1 1:0.5 2:x\n")
    Path("one-class").write_text("1 1:0.5\n1 1:0.7\n")
    Path("cut").write_bytes(b"maxmargin model\n" + bytes(10))
    before = sorted(os.listdir())
    command, *words = line.split()
    assert main([command, *(["-q"] if command in ("train", "predict", "convert") else []), *words]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"maxmargin {command}: ")
    assert err.count("\n") == 1
    assert sentence in err
    assert sorted(os.listdir()) == before


def test_a_fit_that_did_not_converge_is_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["train", "--max-iter", "2", TRAIN, "model"]) == 3
    out, err = capsys.readouterr()
    assert "max_iter after 2 iterations" in out
    assert "maxmargin: warning: Solver terminated early (max_iter=2)." in err
    assert main(["predict", "-q", TRAIN, "model"]) == 0


def test_progress_is_shown_when_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("maxmargin.report.progress.PLAIN_INTERVAL", 0.0)
    assert main(["train", "--progress", TRAIN, "model"]) == 0
    _, *lines = capsys.readouterr().err.splitlines()
    assert lines
    for word in ("iterations, violation", "gap", "active", "rows", "cache hits", " s"):
        assert all(word in line for line in lines)
    assert main(["train", "--progress", "-v", "3", TRAIN]) == 0
    assert "iterations, violation" in capsys.readouterr().err
    assert main(["train", "--progress", "-q", TRAIN, "model"]) == 0
    assert capsys.readouterr().err == ""


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"maxmargin {maxmargin.__version__}\n"
