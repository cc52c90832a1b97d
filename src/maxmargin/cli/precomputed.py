"""Precomputed kernels as LIBSVM's text has them: `label 0:serial 1:K(x, x_1) 2:K(x, x_2) ...`.

The columns count the examples of a whole set from 1, and a file to train on may hold some of these in any order: the
serial of a row is the number of its own column. A model counts its support vectors by their serials, so that the rows
to predict, whose serials say nothing, need not be cut.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.cli import files


def read(path: str) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Kernel values (n, columns), labels (n,), and serials (n,), NaN where a row has none; an .npz has no serials."""
    X, y = files.read_data(path, zero_based=True)
    if files.kind(path) == "npz":
        return X.toarray() if sp.issparse(X) else X, y, None
    first = X[:, [0]].tocoo() if X.shape[1] else sp.coo_matrix((X.shape[0], 1))
    serials = np.full(X.shape[0], np.nan)
    serials[first.row] = first.data
    return X[:, 1:].toarray(), y, serials


def own_columns(path: str, K: np.ndarray, serials: np.ndarray) -> np.ndarray:
    """The column of each row, from 0 on; a serial that names no column is refused."""
    width = K.shape[1]
    wrong = ~((serials >= 1) & (serials <= width) & (serials % 1 == 0))
    if wrong.any():
        row = int(np.argmax(wrong))
        fault = "no serial number" if np.isnan(serials[row]) else f"the serial number {serials[row]:g}"
        raise ValueError(
            f"{path}, row {row + 1} has {fault}, and a precomputed kernel needs 0:SERIAL with the number of the row's"
            f" own column, from 1 to {width}"
        )
    return serials.astype(np.intp) - 1


def count_by_columns(model: Any, columns: np.ndarray, width: int) -> None:
    """Count the support vectors of a fitted model by the columns of the file that its rows come from."""
    model.support_ = columns[model.support_].astype(np.int32)
    _set_width(model, width)


def widen(model: Any, K: np.ndarray) -> None:
    """Let a model of a LIBSVM file, which states its greatest serial but no number of columns, take these rows."""
    _set_width(model, max(K.shape[1], model.n_features_in_))


def _set_width(model: Any, width: int) -> None:
    model.shape_fit_, model.n_features_in_ = (width, width), width
