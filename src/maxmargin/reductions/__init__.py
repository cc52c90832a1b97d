"""From many classes to binary problems and back."""

from maxmargin.reductions.one_vs_one import OneVsOne
from maxmargin.reductions.one_vs_rest import OneVsRest
from maxmargin.reductions.reduction import Reduction, Task
from maxmargin.reductions.side_by_side import Part, solve_side_by_side

__all__ = ["OneVsOne", "OneVsRest", "Part", "Reduction", "Task", "solve_side_by_side"]
