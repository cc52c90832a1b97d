"""`import maxmargin` is cheap, its public names are there, and a missing or broken core is one clear ImportError."""

import os
import platform
import shutil
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import numpy as np
import pytest

import maxmargin

PACKAGE = Path(maxmargin.__file__).parent
SITES = [str(PACKAGE.parent), str(Path(np.__file__).parents[1])]


def python(source: str, *, sites: list[str] = SITES) -> subprocess.CompletedProcess[str]:
    """Run a script in a new interpreter that finds packages in `sites` only: -S leaves out editable installations."""
    script = f"import sys; sys.path[:0] = {sites!r}\n{source}"
    return subprocess.run([sys.executable, "-S", "-c", script], capture_output=True, text=True, timeout=120)


def output(source: str) -> str:
    done = python(source)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_import_adds_at_most_60_ms_to_numpy() -> None:
    source = "import numpy, time; t = time.perf_counter(); import maxmargin; print(time.perf_counter() - t)"
    seconds = [float(output(source)) for _ in range(7)]
    assert min(seconds) <= 0.060


def test_import_leaves_heavy_packages_alone() -> None:
    loaded = set(output("import maxmargin; print(*sys.modules)").split())
    assert not loaded & {"sklearn", "scipy", "scipy.sparse", "joblib", "pandas"}


def test_public_names_are_there() -> None:
    assert dir(maxmargin) == sorted(maxmargin.__all__)
    for name in maxmargin.__all__:
        assert getattr(maxmargin, name) is not None, name


def test_every_estimator_is_public() -> None:
    from maxmargin import estimators

    assert set(estimators.__all__) <= set(maxmargin.__all__)


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'maxmargin' has no attribute 'SVMachine'"):
        maxmargin.SVMachine  # noqa: B018


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the package without its compiled core."""
    ignore = shutil.ignore_patterns("_core*", "__pycache__")
    return Path(shutil.copytree(PACKAGE, tmp_path / "maxmargin", ignore=ignore))


def import_error(package: Path) -> str:
    """The last line of the only traceback that importing a package gives."""
    done = python("import maxmargin", sites=[str(package.parent), SITES[1]])
    assert done.returncode == 1
    assert done.stderr.count("Traceback") == 1
    return done.stderr.strip().splitlines()[-1]


def test_missing_core_is_one_clear_import_error(copied: Path) -> None:
    assert import_error(copied) == (
        f"ImportError: The compiled core of maxmargin is missing from {copied}; "
        "build it with `pip install .` in the source folder"
    )


def test_broken_core_is_one_clear_import_error(copied: Path) -> None:
    (copied / f"_core{EXTENSION_SUFFIXES[0]}").write_bytes(b"not a shared library" * 1000)
    assert import_error(copied).startswith("ImportError: The compiled core of maxmargin does not load: ")


def narrower_isas() -> list[str]:
    flags = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    return ["v2", *(["v3"] if " avx2 " in flags else []), *(["v4"] if " avx512vl " in flags else [])]


@pytest.mark.skipif(platform.machine() != "x86_64", reason="other machines have one vector width")
@pytest.mark.parametrize("isa", narrower_isas())
@pytest.mark.parametrize("name", ["{isa}", "x86-64-{isa}"])
def test_the_instruction_set_is_the_one_asked_for(isa: str, name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from maxmargin._native import core; print(core.isa())"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "MAXMARGIN_ISA": name.format(isa=isa), "PYTHONPATH": SITES[0]},
    )
    assert done.stdout.strip() == isa


def test_unknown_instruction_set_is_named() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import maxmargin"],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "MAXMARGIN_ISA": "v9"},
    )
    assert done.returncode == 1
    assert "MAXMARGIN_ISA" in done.stderr.strip().splitlines()[-1]
    assert "v9" in done.stderr.strip().splitlines()[-1]
