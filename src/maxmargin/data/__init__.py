"""Data in files: LIBSVM and SVM-light text, scaling, and a small example."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maxmargin.data import examples, libsvm, scaling

__all__ = ["examples", "libsvm", "scaling"]


def __getattr__(name: str) -> object:
    if name in __all__:
        return import_module(f"maxmargin.data.{name}")
    raise AttributeError(f"module 'maxmargin.data' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
