"""A small data set that comes with the package, for demonstrations and documentation.

Two interleaved spirals, 400 rows to train on and 400 to test on: with r² uniform on [0.04, 1] and y = ±1 (half of
each), a row is y r (cos 3πr, sin 3πr) plus normal noise of standard deviation 0.07 in both coordinates. The rows were
drawn once and are kept as LIBSVM text with four decimals. They were made for this package and fall under its licence.
"""

from pathlib import Path
from typing import Literal

__all__ = ["spirals"]


def spirals(part: Literal["train", "test"]) -> Path:
    """Path of the LIBSVM text file of one part of the two spirals.

    Parameters
    ----------
    part : {"train", "test"}
        Which 400 rows.

    Returns
    -------
    pathlib.Path
        A file with labels +1 and -1 and two features, readable by `maxmargin.data.libsvm.read`.
    """
    if part not in ("train", "test"):
        raise ValueError(f"part must be 'train' or 'test', got {part!r}")
    return Path(__file__).parent / f"spirals.{part}.svm"
