"""Files appear whole or not at all."""

import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

import maxmargin
from maxmargin import load
from maxmargin.models.atomic import replacing

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(maxmargin.__file__).parents[1])}

SLOW_WRITER = """
import sys, time
from maxmargin.models.atomic import replacing
with replacing(sys.argv[1]) as file:
    file.write(b"new" * 100_000)
    file.flush()
    print("written", flush=True)
    time.sleep(60)
"""

LIMITED_WRITER = """
import resource, sys
from maxmargin.models.atomic import replacing
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
try:
    with replacing(sys.argv[1]) as file:
        file.write(b"new" * 100_000)
except OSError as error:
    print(error.filename, error.strerror)
"""


def test_a_file_is_replaced_and_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o640)
    with replacing(path) as file:
        file.write(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == ["file"]


def test_the_bytes_are_on_the_disk_before_the_name_and_the_name_before_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done, fsync, replace = [], os.fsync, os.replace

    def synced(descriptor: int) -> None:
        found = os.fstat(descriptor)
        done.append("folder" if stat.S_ISDIR(found.st_mode) else f"{found.st_size} bytes")
        fsync(descriptor)

    def replaced(source: object, target: object) -> None:
        done.append("name")
        replace(source, target)  # type: ignore[type-var]

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    with replacing(tmp_path / "file") as file:
        file.write(b"new")
    assert done == ["3 bytes", "name", "folder"]


def test_a_new_file_gets_the_permissions_of_the_umask(tmp_path: Path) -> None:
    plain, replaced = tmp_path / "plain", tmp_path / "replaced"
    plain.write_bytes(b"")
    with replacing(replaced):
        pass
    assert replaced.stat().st_mode == plain.stat().st_mode


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_bytes(b"old")
    link.symlink_to(real)
    with replacing(link) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def fail() -> None:
        with replacing(path) as file:
            file.write(b"new")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("name", ["a" * 255, "ä" * 127])
def test_a_name_as_long_as_systems_allow(name: str, tmp_path: Path) -> None:
    with replacing(tmp_path / name) as file:
        file.write(b"new")
    assert os.listdir(tmp_path) == [name]


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX")
def test_a_kill_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    command = [sys.executable, "-c", SLOW_WRITER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "written\n"
        writer.send_signal(signal.SIGKILL)
        writer.wait()
    assert path.read_bytes() == b"old"


ENDLESS_SAVER = """
import sys
import numpy as np
from maxmargin import SVC, save
X = np.random.default_rng(0).normal(size=(400, 50))
models = [SVC(C=C).fit(X, X[:, 0] > 0) for C in (1.0, 3.0)]
save(models[0], sys.argv[1])
print("begun", flush=True)
while True:
    for model in models:
        save(model, sys.argv[1])
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX")
def test_a_kill_at_any_moment_leaves_one_of_the_models(tmp_path: Path) -> None:
    path = tmp_path / "model"
    found = set()
    for turn in range(8):
        command = [sys.executable, "-c", ENDLESS_SAVER, str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT) as saver:
            assert saver.stdout is not None
            assert saver.stdout.readline() == "begun\n"
            time.sleep(0.013 * turn)
            saver.send_signal(signal.SIGKILL)
            saver.wait()
        found.add(load(path).C)
    assert found <= {1.0, 3.0}
    assert len(list(tmp_path.glob(".model.*.tmp"))) == len(os.listdir(tmp_path)) - 1


UNWELCOME = """
import os, sys
import maxmargin.cli, maxmargin.models, maxmargin.data.libsvm, sklearn.svm
from maxmargin.cli import main
from maxmargin.data import examples
train = str(examples.spirals("train"))
text = open(train).read()
open("data", "w").write(text)
main(["train", "-q", "data", "model"])
os.mkdir("folder")
for name in ("folder/old", "kept"):
    open(name, "w").write("old")
for name, mode in [("data", 0), ("model", 0), ("folder/old", 0o644), ("folder", 0o555), ("kept", 0o444)]:
    os.chmod(name, mode)
open("good", "w").write(text)
if os.geteuid() == 0:
    os.chmod(".", 0o777)
    os.chown("folder/old", 65534, 65534)
    os.seteuid(65534)
for words in (["train", "data", "x"], ["predict", "good", "model"], ["train", "good", "folder/new"],
              ["convert", "good", "folder/old"], ["train", "good", "kept"], ["convert", "good", "kept"]):
    print(main([words[0], "-q", *words[1:]]), flush=True)
try:
    maxmargin.save(maxmargin.SVC(), "kept")
except PermissionError as error:
    print(error.filename, open("kept").read())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
def test_paths_without_permission_are_named() -> None:
    """As root, who may do everything, as a user without rights: hence a folder that this user can reach."""
    command = [sys.executable, "-c", UNWELCOME]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=ENVIRONMENT)
    assert done.stdout.split() == [*["1"] * 6, "kept", "old"], done.stderr
    assert done.stderr.splitlines() == [
        "maxmargin train: data: Permission denied",
        "maxmargin predict: model: Permission denied",
        "maxmargin train: folder/new: Permission denied",
        "maxmargin convert: folder/old: Permission denied",
        "maxmargin train: kept: Permission denied",
        "maxmargin convert: kept: Permission denied",
    ]


@pytest.mark.skipif(sys.platform != "linux", reason="needs RLIMIT_FSIZE")
def test_a_full_disk_leaves_the_old_file_and_names_it(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    done = subprocess.run([sys.executable, "-c", LIMITED_WRITER, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout == f"{path} File too large\n"
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


FULL_DISK = """
import os
import numpy as np
from maxmargin import SVC, models
from maxmargin.data import libsvm
X = np.random.default_rng(0).normal(size=(400, 50))
y = np.where(X[:, 0] > 0, 1.0, -1.0)
model = SVC().fit(X, y)
calls = {
    "save": lambda path: models.save(model, path),
    "export_libsvm": lambda path: models.export_libsvm(model, path),
    "export_svmlight": lambda path: models.export_svmlight(model, path),
    "write": lambda path: libsvm.write(path, X, y),
}
for name, call in calls.items():
    with open(name, "w") as file:
        file.write("old")
    try:
        call(name)
    except OSError as error:
        print(error)
    print(open(name).read(), len(os.listdir(".")))
    os.remove(name)
"""
TINY_DISK = 'mount -t tmpfs -o size=64k tmpfs "$0" && cd "$0" && exec "$@"'


@pytest.mark.skipif(
    shutil.which("unshare") is None
    or subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode != 0,
    reason="needs the right to mount",
)
def test_a_disk_that_fills_up_leaves_the_old_file_and_names_it(tmp_path: Path) -> None:
    command = ["unshare", "-m", "sh", "-c", TINY_DISK, str(tmp_path), sys.executable, "-c", FULL_DISK]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, check=False)
    assert done.returncode == 0, done.stderr
    expected = []
    for name in ("save", "export_libsvm", "export_svmlight", "write"):
        expected += [f"[Errno 28] No space left on device: '{name}'", "old 1"]
    assert done.stdout.splitlines() == expected


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_device_is_written_straight() -> None:
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"), replacing("/dev/full") as file:
        file.write(b"new")
    with replacing("/dev/null") as file:
        file.write(b"new")
    assert not Path("/dev/null").is_file()


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="needs /dev/stdout")
def test_a_pipe_is_written_straight() -> None:
    code = "from maxmargin.models.atomic import replacing\nwith replacing('/dev/stdout') as f: f.write(b'through')"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"through"


def test_errors_name_the_path_that_was_asked_for(tmp_path: Path) -> None:
    for path in (tmp_path / "missing" / "file", tmp_path / "plain" / "file"):
        (tmp_path / "plain").touch()
        with pytest.raises(OSError, match=f"'{path}'"), replacing(path):
            pass
    with pytest.raises(IsADirectoryError, match=f"{tmp_path} is a folder"), replacing(tmp_path):
        pass


def test_an_error_about_another_file_keeps_its_name(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="'/no/such/source'"), replacing(tmp_path / "file"):
        open("/no/such/source")  # noqa: SIM115
    assert os.listdir(tmp_path) == []


def test_writers_at_the_same_time_do_not_meet(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with replacing(path) as first:
        first.write(b"first")
        with replacing(path) as second:
            second.write(b"second, longer")
        assert path.read_bytes() == b"second, longer"
    assert path.read_bytes() == b"first"
    assert time.time() - path.stat().st_mtime < 60
