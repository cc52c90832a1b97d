"""Every example of a docstring gives what it shows."""

import doctest
import pkgutil
from importlib import import_module

import numpy as np
import pytest

import maxmargin

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(maxmargin.__path__, "maxmargin.")
    if not module.name.endswith(("__main__", "._core", ".demo"))
)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str, tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    with np.printoptions(precision=8, suppress=True):
        assert doctest.testmod(import_module(name), optionflags=options).failed == 0


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder()
    examples = [e for name in MODULES for test in finder.find(import_module(name)) for e in test.examples]
    assert len(examples) > 50
