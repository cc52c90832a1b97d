r"""Probabilities of an outlier detector, from how densely its decision values lie.

The negative decision values of the training examples, in order, are cut into five parts of the same weight, and so are
the others. With :math:`t_0 \le \dots \le t_{10}` the ends of these parts and :math:`t_5 = 0`, the marks are the
middles :math:`m_i = (t_i + t_{i+1}) / 2`, i = 0, ..., 9. An example is normal with probability k / 10 where k of the
marks do not exceed its decision value, and with 0.001 and 0.999 where these are none and all. This is LIBSVM's rule,
which has a hole at the last mark itself: there, alone, it says 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SIDE = 5  # parts on each side of zero, and the least weight of their examples
NORMAL = np.concatenate([[0.001], np.arange(1, 2 * SIDE) / (2 * SIDE), [0.999]])


def density_marks(decisions: Floats, weights: Floats) -> Floats | None:
    """The marks, or None where the examples of one side are too few.

    Parameters
    ----------
    decisions : (n,)
        Decision values of the training examples.
    weights : (n,)
        How often each example counts.
    """
    order = np.argsort(decisions, kind="stable")
    decisions, weights = decisions[order], weights[order]
    negative = decisions < 0
    if min(weights[negative].sum(), weights[~negative].sum()) < SIDE:
        return None
    steps = np.arange(SIDE)
    firsts = _of_parts(decisions[negative], weights[negative], steps, 0.0)
    lasts = _of_parts(decisions[~negative], weights[~negative], steps + 1, -1.0)
    ends = np.concatenate([firsts, [0.0], lasts])
    return (ends[:-1] + ends[1:]) / 2


def _of_parts(values: Floats, weights: Floats, steps: NDArray[np.intp], offset: float) -> Floats:
    """The values at so many fifths of a list, and an offset, in which each stands as often as its weight says."""
    behind = np.cumsum(weights)
    places = np.searchsorted(behind, steps * behind[-1] / SIDE + offset, side="right")
    return values[np.minimum(places, len(values) - 1)]  # the offset is lost beside huge weights


def normal_probabilities(decisions: Floats, marks: Floats) -> Floats:
    """Probability of being normal, for each decision value."""
    return NORMAL[np.searchsorted(marks, decisions, side="right")]
