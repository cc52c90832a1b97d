"""Support vector machines, trained exactly, with a certificate."""

from importlib import import_module
from typing import TYPE_CHECKING

from maxmargin import _native as _native  # a missing core is known at the first import, not in the middle of a fit

if TYPE_CHECKING:
    from maxmargin import data, kernels, losses, models, problems, rows, solvers
    from maxmargin.estimators import LSSVC, LSSVR, SVC, SVR, HuberSVR, NuSVC, NuSVR, OneClassSVM, QuantileSVR
    from maxmargin.models import export_libsvm, export_svmlight, import_libsvm, load, save
    from maxmargin.solvers.memory import release_memory

__version__ = "0.1.0"

__all__ = [
    "LSSVC",
    "LSSVR",
    "SVC",
    "SVR",
    "HuberSVR",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "QuantileSVR",
    "__version__",
    "data",
    "export_libsvm",
    "export_svmlight",
    "import_libsvm",
    "kernels",
    "load",
    "losses",
    "models",
    "problems",
    "release_memory",
    "rows",
    "save",
    "solvers",
]
_ROOMS = ("data", "kernels", "losses", "models", "problems", "rows", "solvers")
_FROM_MODELS = ("export_libsvm", "export_svmlight", "import_libsvm", "load", "save")


def __getattr__(name: str) -> object:
    """Import a public name at its first use: the estimators bring scikit-learn, which takes most of a second."""
    if name not in __all__:
        raise AttributeError(f"module 'maxmargin' has no attribute {name!r}")
    if name in _ROOMS:
        return import_module(f"maxmargin.{name}")
    room = "maxmargin.models" if name in _FROM_MODELS else "maxmargin.estimators"
    room = "maxmargin.solvers.memory" if name == "release_memory" else room
    value = globals()[name] = getattr(import_module(room), name)
    return value


def __dir__() -> list[str]:
    return __all__
