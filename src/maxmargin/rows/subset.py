"""Part of the rows and columns of other rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from maxmargin.rows.rows import Rows


def SubsetRows(rows: Rows, ids: NDArray[np.integer]) -> Rows:
    return rows.part(ids)
