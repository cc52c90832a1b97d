"""How the commands write numbers, lines and JSON."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable
from typing import Any

from maxmargin.models.atomic import replacing


def number(value: Any) -> str:
    """A label or value with the digits that restore it, whole numbers without a point."""
    return value if isinstance(value, str) else f"{float(value):.17g}"


def write_lines(path: str, lines: Iterable[str]) -> None:
    """Write lines of text, whole or not at all; "-" is standard output."""
    coded = (f"{line}\n".encode() for line in lines)
    if path == "-":
        sys.stdout.buffer.writelines(coded)
        sys.stdout.buffer.flush()
        return
    with replacing(path) as file:
        file.writelines(coded)


def print_json(found: dict[str, Any]) -> None:
    """One object on one line; infinity and NaN, for which JSON has no word, are null."""
    print(json.dumps(_finite(found), ensure_ascii=False, allow_nan=False))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
