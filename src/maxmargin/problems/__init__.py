"""The optimisation problems, as frozen data, and the certificate of a solution."""

from maxmargin.problems.certificate import Certificate, best_intercepts, certificate, certify, violation
from maxmargin.problems.dual import DualProblem, Terms, feasible_start, fold, project

__all__ = [
    "Certificate",
    "DualProblem",
    "Terms",
    "best_intercepts",
    "certificate",
    "certify",
    "feasible_start",
    "fold",
    "project",
    "violation",
]
