"""Every code block of README.md and docs/*.md runs: what a page shows is what happens.

The ```python blocks of a page run in order, in one namespace, in an empty folder; a ```text block right behind one is
what it prints. The ```console blocks run there too, through bash, each line that starts with `$ ` a command, and the
lines behind it, where there are any, its output. `...` stands for any text. Blocks in any other language are text.
"""

import contextlib
import doctest
import io
import os
import re
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import Any

import pytest

import maxmargin

ROOT = Path(__file__).parents[2]
MARK = "=== the next command ==="
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>\w*)[^\n]*\n(?P<code>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL
)


@dataclass(frozen=True)
class Block:
    """One fenced block: its language and text, the lines before it on the page, and what it is shown to print."""

    language: str
    code: str
    line: int
    shown: str = ""


def blocks(text: str) -> list[Block]:
    """The fenced blocks of a page of Markdown that can be run, in order."""
    found: list[Block] = []
    end = 0
    for match in FENCE.finditer(text):
        block = Block(match["language"], dedent(match["code"]), text.count("\n", 0, match.start("code")))
        if block.language in ("python", "console"):
            found.append(block)
        elif (
            block.language == "text"
            and found
            and found[-1].language == "python"
            and not text[end : match.start()].strip()
        ):
            found[-1] = replace(found[-1], shown=block.code)
        end = match.end()
    return found


def commands(code: str) -> list[tuple[str, str]]:
    """Each command behind `$ ` with the lines that continue it, and the output that is shown behind it."""
    found: list[tuple[str, str]] = []
    continued = False
    for line in code.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], ""))
        elif continued:
            found[-1] = (f"{found[-1][0]}\n{line}", "")
        elif found:
            found[-1] = (found[-1][0], f"{found[-1][1]}{line}\n")
        continued = line.endswith("\\") and not (found and found[-1][1])
    return found


def check_shown(shown: str, printed: str, where: str) -> None:
    """What a page shows, where it shows anything, is what is printed."""
    same = not shown or doctest.OutputChecker().check_output(shown, printed, doctest.ELLIPSIS)
    assert same, f"{where}: the page shows\n{shown}but this is printed\n{printed}"


def run_console(block: Block, page: Path) -> None:
    """Run the commands of one console block, with this interpreter's scripts and this package first on the paths."""
    env = {
        **os.environ,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "PYTHONPATH": str(Path(maxmargin.__file__).parents[1]),
    }
    where = f"{page.name}, line {block.line}"
    found = commands(block.code)
    assert found, f"{where}: a console block without a `$ ` line"
    script = "exec 2>&1\n" + "\n".join(f"echo '{MARK}'\n{command}" for command, _ in found)
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script], stdout=subprocess.PIPE, text=True, timeout=300, env=env, check=False
    )
    assert done.returncode == 0, f"{where}: exit {done.returncode}\n{done.stdout}"
    for (command, shown), printed in zip(found, done.stdout.split(f"{MARK}\n")[1:], strict=True):
        check_shown(shown, printed, f"{where}, {command}")


def run_python(block: Block, page: Path, namespace: dict[str, Any]) -> None:
    """Run one Python block."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):  # empty lines in front, so that a traceback names the page's own line
        exec(compile("\n" * block.line + block.code, str(page), "exec"), namespace)
    check_shown(block.shown, printed.getvalue(), f"{page.name}, line {block.line}")


def run_page(page: Path, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Run the blocks of one page in order."""
    monkeypatch.chdir(folder)
    module = ModuleType("page")  # a registered module, so that what a page defines can be pickled and inspected
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.language == "console":
            run_console(block, page)
        else:
            run_python(block, page, vars(module))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_page(page, monkeypatch, tmp_path)


def write_page(folder: Path, *blocks_of_page: tuple[str, str]) -> Path:
    page = folder / "page.md"
    page.write_text("\n".join(f"```{language}\n{code}\n```\n" for language, code in blocks_of_page))
    return page


def test_blocks_share_one_namespace_and_one_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = write_page(
        tmp_path,
        ("python", "from pathlib import Path\nPath('a.txt').write_text('shared')"),
        ("console", "$ cp a.txt \\\n    b.txt\n$ cat b.txt; echo\nsha...\n$ echo not shown"),
        ("text", "not code"),
        ("python", "assert Path('b.txt').read_text() == 'shared'"),
    )
    run_page(page, monkeypatch, tmp_path)


def test_failing_python_names_the_line_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = write_page(tmp_path, ("python", "x = 1"), ("python", "1 / 0"))
    with pytest.raises(ZeroDivisionError) as caught:
        run_page(page, monkeypatch, tmp_path)
    assert caught.traceback[-1].lineno + 1 == page.read_text().splitlines().index("1 / 0") + 1


@pytest.mark.parametrize("code", ["$ false", "$ false\n$ true", "$ false | true", "$ echo $UNSET_VARIABLE"])
def test_failing_command_fails_the_page(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AssertionError, match=r"page\.md, line 1: exit"):
        run_page(write_page(tmp_path, ("console", code)), monkeypatch, tmp_path)


@pytest.mark.parametrize(
    "shown",
    [[("console", "$ true\n$ echo 5 steps\n6 steps")], [("python", "print('5 steps')"), ("text", "6 steps")]],
    ids=["console", "python"],
)
def test_output_that_is_not_what_is_shown_fails_the_page(
    shown: list[tuple[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(AssertionError, match=r"(?s)the page shows.*6 steps.*but this is printed.*5 steps"):
        run_page(write_page(tmp_path, *shown), monkeypatch, tmp_path)
