"""Every code block of README.md and docs/*.md runs: what a page shows is what happens.

The ```python blocks of a page run in order, in one namespace, in an empty folder; its ```console blocks run there too,
through bash, each line that starts with `$ ` a command. Blocks in any other language are text.
"""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from types import ModuleType

import pytest

import maxmargin

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>\w*)[^\n]*\n(?P<code>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL
)


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, its text, and the number of lines of the page before its text."""

    language: str
    code: str
    line: int


def blocks(text: str) -> list[Block]:
    """The fenced blocks of a page of Markdown that can be run, in order."""
    found = [
        Block(match["language"], dedent(match["code"]), text.count("\n", 0, match.start("code")))
        for match in FENCE.finditer(text)
    ]
    return [block for block in found if block.language in ("python", "console")]


def commands(code: str) -> str:
    """The lines behind `$ ` and those that continue them; what is left is shown output."""
    kept, continued = [], False
    for line in code.splitlines():
        if continued or line.startswith("$ "):
            kept.append(line if continued else line[2:])
            continued = line.endswith("\\")
    return "\n".join(kept)


def run_console(block: Block, page: Path) -> None:
    """Run the commands of one console block, with this interpreter's scripts and this package first on the paths."""
    env = {
        **os.environ,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "PYTHONPATH": str(Path(maxmargin.__file__).parents[1]),
    }
    script = commands(block.code)
    assert script, f"{page.name}, line {block.line}: a console block without a `$ ` line"
    command = ["bash", "-euo", "pipefail", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=env)
    assert done.returncode == 0, f"{page.name}, line {block.line}: exit {done.returncode}\n{done.stdout}{done.stderr}"


def run_page(page: Path, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Run the blocks of one page in order."""
    monkeypatch.chdir(folder)
    module = ModuleType("page")  # a registered module, so that what a page defines can be pickled and inspected
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.language == "console":
            run_console(block, page)
        else:  # empty lines in front, so that a traceback names the page's own line
            exec(compile("\n" * block.line + block.code, str(page), "exec"), vars(module))


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
        ("console", "$ cp a.txt \\\n    b.txt\nshown output"),
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
