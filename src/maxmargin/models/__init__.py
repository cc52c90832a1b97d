"""Saving and loading models, and models in LIBSVM's and SVM-light's files."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maxmargin.models.libsvm import export_libsvm, import_libsvm
    from maxmargin.models.native import describe, load, save
    from maxmargin.models.svmlight import export_svmlight

# Imported at their first use: writing a file whole, which the data files share, needs no estimators.
_HOMES = {
    "describe": "native",
    "export_libsvm": "libsvm",
    "export_svmlight": "svmlight",
    "import_libsvm": "libsvm",
    "load": "native",
    "save": "native",
}

__all__ = ["describe", "export_libsvm", "export_svmlight", "import_libsvm", "load", "save"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'maxmargin.models' has no attribute {name!r}")
    value = getattr(import_module(f"maxmargin.models.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
