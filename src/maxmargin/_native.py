"""The native core: `from maxmargin._native import core`, or one ImportError that says what to do."""

from pathlib import Path

try:
    import maxmargin._core as core
except ImportError as error:
    if isinstance(error, ModuleNotFoundError) and error.name == "maxmargin._core":
        reason = f"is missing from {Path(__file__).parent}; build it with `pip install .` in the source folder"
    else:
        reason = f"does not load: {error}"
    raise ImportError(f"The compiled core of maxmargin {reason}", name="maxmargin._core") from None

__all__ = ["core"]
