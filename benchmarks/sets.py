"""The training problems of the benchmarks, from the folder that MAXMARGIN_DATA names."""

from __future__ import annotations

import importlib.util
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np


def problem(name: str) -> Any:
    """A problem of the data folder's loader: X, y, C, gamma, and what the texts print about it.

    Spam is standardised in float64 from the decimals of its file, for the printed objective to all its digits.
    """
    module = loader()
    found = module.problem(name)
    if name == "spam":
        X = np.round(module.load("spambase")[0].astype(np.float64), 3)
        found = replace(found, X=(X - X.mean(axis=0)) / X.std(axis=0))
    return found


def loader() -> Any:
    """The module `load` of the data folder."""
    folder = Path(os.environ.get("MAXMARGIN_DATA", "../shared/data"))
    if not (folder / "load.py").exists():
        sys.exit(f"{folder} holds no load.py: set MAXMARGIN_DATA to the folder of the data sets.")
    spec = importlib.util.spec_from_file_location("load", folder / "load.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["load"] = module
    spec.loader.exec_module(module)
    return module


def machine() -> str:
    """What this was measured on."""
    from maxmargin._native import core

    model = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    return f"{os.cpu_count()} x {model[0].split(':')[1].strip() if model else 'unknown'}, vector code {core.isa()}"
