"""The losses: a loss knows its values, its subgradients, and the terms of its dual problem."""

from maxmargin.losses.epsilon_insensitive import EpsilonInsensitive
from maxmargin.losses.hinge import Hinge
from maxmargin.losses.huber import Huber
from maxmargin.losses.least_squares import LeastSquares
from maxmargin.losses.nu_classification import NuClassification
from maxmargin.losses.nu_regression import NuRegression
from maxmargin.losses.one_class import OneClass
from maxmargin.losses.pinball import Pinball
from maxmargin.losses.squared_epsilon_insensitive import SquaredEpsilonInsensitive
from maxmargin.losses.squared_hinge import SquaredHinge

__all__ = [
    "EpsilonInsensitive",
    "Hinge",
    "Huber",
    "LeastSquares",
    "NuClassification",
    "NuRegression",
    "OneClass",
    "Pinball",
    "SquaredEpsilonInsensitive",
    "SquaredHinge",
]
