"""The budget for rows: what is given, or a share of what is free."""

import numpy as np
import pytest

from maxmargin.solvers import memory


def test_megabytes():
    assert memory.cache_bytes(1.5) == 1.5 * 2**20
    assert memory.cache_bytes(np.float32(5000)) == 5000 * 2**20  # beyond what 32 bits count


@pytest.mark.parametrize("size", [0, -1.0, float("nan"), "large"])
def test_bad_budgets(size):
    with pytest.raises(ValueError, match="cache_size is .*, but it must be a positive number of megabytes"):
        memory.cache_bytes(size)


@pytest.mark.parametrize("files", memory.CONTAINER_FILES)
def test_auto_is_half_of_what_a_container_leaves(files, tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "CONTROL_GROUPS", tmp_path)
    for name, size in zip(files, (300, 100), strict=True):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"{size * 2**20}\n")
    assert memory.cache_bytes("auto") == 100 * 2**20


def test_a_container_without_limit_has_the_memory_of_the_machine(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "CONTROL_GROUPS", tmp_path)
    monkeypatch.setattr(memory, "_machine", lambda: 8e9)
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("12345\n")
    assert memory.cache_bytes("auto") == 4e9
