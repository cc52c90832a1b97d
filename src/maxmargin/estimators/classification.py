"""C- and nu-support vector classification."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.estimators.classifier import ONE_CLASS, KernelClassifier, TermsMaker
from maxmargin.estimators.docs import documented
from maxmargin.estimators.expansion import Expansion, margin
from maxmargin.estimators.parameters import BOUNDED, CLASSIFIER, COMMON, COST, NU, StrOptions, keep
from maxmargin.estimators.training import TrainingSet
from maxmargin.losses import Hinge, NuClassification, SquaredHinge
from maxmargin.problems import Terms
from maxmargin.reductions import Part, Task
from maxmargin.solvers.loop import Solution, Status

Floats = NDArray[np.float64]

LOSSES: dict[str, Hinge | SquaredHinge] = {"hinge": Hinge(), "squared_hinge": SquaredHinge()}


@documented
class SVC(KernelClassifier):
    r"""C-support vector classification.

    For two classes, with y_i = +1 and -1,

    .. math:: \min_{f, b}\; \tfrac12 \|f\|^2 + C \sum_i w_i L(y_i, f(x_i) + b), \qquad L(y, t) = \max(0, 1 - yt)

    or its square. The signature is scikit-learn's, and what follows `random_state` is new.

    Parameters
    ----------
    C : float, default=1.0
        Weight of one example's loss; may be infinite (hard margin).
    <kernel>
    <shrinking>
    <probability>
    <classes>
    <votes>
    loss : {'hinge', 'squared_hinge'}, default='hinge'
        The loss L.
    <solving>

    Attributes
    ----------
    <classified>
    <fitted>

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import SVC
    >>> X = np.array([[-1.0, -1.0], [-2.0, -1.0], [1.0, 1.0], [2.0, 1.0]])
    >>> model = SVC(gamma="auto").fit(X, ["a", "a", "b", "b"])
    >>> model.predict([[-0.8, -1.0]]).tolist()
    ['a']
    >>> bool(model.duality_gap_ < 1e-3)
    True
    """

    shrinking: bool | str
    C: float
    loss: str

    _parameter_constraints: dict[str, list[Any]] = {
        **COMMON,
        **BOUNDED,
        **CLASSIFIER,
        "C": COST,
        "loss": [StrOptions(set(LOSSES))],
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        shrinking: bool | str = True,
        probability: bool | str = "deprecated",
        tol: float = 1e-3,
        cache_size: float | str = 200,
        class_weight: dict[Any, float] | str | None = None,
        verbose: int = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: int | np.random.RandomState | None = None,
        loss: str = "hinge",
        multiclass: str = "one-vs-one",
        fit_intercept: bool = True,
        tol_gap: float | None = None,
        max_time: float | None = None,
        callback: Callable[[Any], Any] | None = None,
        precision: str = "auto",
        solver: str | Callable[..., Any] = "auto",
        selection: str = "auto",
        selection_rows: str = "two",
        n_jobs: int | None = None,
        warm_start: bool = False,
    ) -> None:
        keep(self, locals())

    def _terms(self, y: Floats, weights: Floats, part_of_data: bool = False) -> Terms:
        return LOSSES[self.loss].dual(y, self.C * weights, self.fit_intercept)


@documented
class NuSVC(KernelClassifier):
    r"""Nu-support vector classification.

    For two classes, with y_i = +1 and -1,

    .. math:: \min_{f, b, \rho}\; \tfrac12 \|f\|^2 + \sum_i w_i \max(0, \rho - y_i (f(x_i) + b)) - \rho\,\nu \sum_i w_i,

    and the classifier is (f + b) / rho, which is the C-support vector classifier of C = 1 / rho. `class_weight`
    multiplies the losses of that classifier: nu sets C without it, and a second problem is solved with it.
    (scikit-learn's NuSVC passes over `class_weight`.) The signature is scikit-learn's, and what follows `random_state`
    is new.

    Parameters
    ----------
    nu : float, default=0.5
        Upper bound of the share of margin errors and lower bound of the share of support vectors, in (0, 1].
    <kernel>
    <shrinking>
    <probability>
    <classes>
    <votes>
    <solving>

    Attributes
    ----------
    <classified>
    <fitted>

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import NuSVC
    >>> X = np.array([[-1.0, -1.0], [-2.0, -1.0], [1.0, 1.0], [2.0, 1.0]])
    >>> model = NuSVC(nu=0.5, gamma="auto").fit(X, [1, 1, 2, 2])
    >>> model.predict([[-0.8, -1.0]]).tolist()
    [1]
    """

    shrinking: bool | str
    nu: float

    _parameter_constraints: dict[str, list[Any]] = {**COMMON, **BOUNDED, **CLASSIFIER, "nu": NU}

    def __init__(
        self,
        *,
        nu: float = 0.5,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        shrinking: bool | str = True,
        probability: bool | str = "deprecated",
        tol: float = 1e-3,
        cache_size: float | str = 200,
        class_weight: dict[Any, float] | str | None = None,
        verbose: int = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: int | np.random.RandomState | None = None,
        multiclass: str = "one-vs-one",
        fit_intercept: bool = True,
        tol_gap: float | None = None,
        max_time: float | None = None,
        callback: Callable[[Any], Any] | None = None,
        precision: str = "auto",
        solver: str | Callable[..., Any] = "auto",
        selection: str = "auto",
        selection_rows: str = "two",
        n_jobs: int | None = None,
        warm_start: bool = False,
    ) -> None:
        keep(self, locals())

    def _one_class_message(self) -> str:
        return f"The specified nu is infeasible: {ONE_CLASS}"

    def _terms(self, y: Floats, weights: Floats, part_of_data: bool = False) -> Terms:
        self._refuse_no_intercept()
        nu = self.nu
        if part_of_data:  # the classes' shares, and with them the largest nu, differ a little from fold to fold
            nu = min(nu, 2 * min(weights[y > 0].sum(), weights[y < 0].sum()) / weights.sum())
        return NuClassification(nu).dual(y, weights)

    def _expand(self, parts: Sequence[Part], solutions: Sequence[Solution]) -> list[Expansion]:
        if any(_has_no_margin(part, solution) for part, solution in zip(parts, solutions, strict=True)):
            raise ValueError(
                f"The classes cannot be parted at nu={self.nu}: the margin is zero, as where the examples of both"
                " classes are the same to the kernel. Raise nu, or scale the data."
            )
        trivial = sum(_may_be_trivial(solution) for solution in solutions)
        if trivial:
            warnings.warn(
                f"The classes cannot be parted at nu={self.nu}: in {trivial} of {len(solutions)} problems the margin is"
                " zero to within the tolerance, and the decision values are arbitrary. Raise nu, or lower tol.",
                UserWarning,
                stacklevel=4,
            )
        return super()._expand(parts, solutions)

    def _makers(self, data: TrainingSet, tasks: Sequence[Task]) -> tuple[list[TermsMaker], list[Solution]]:
        if self.class_weight is None:
            return super()._makers(data, tasks)
        parts = [Part(task.ids, self._terms(task.y, data.weights[task.ids])) for task in tasks]
        solutions, _ = self._solve(data, parts)
        self._expand(parts, solutions)  # a margin of 0 is refused here
        margins = [margin(part.terms, solution) for part, solution in zip(parts, solutions, strict=True)]
        return [partial(_hinge_terms, C=1.0 / rho) for rho in margins], solutions


def _may_be_trivial(solution: Solution) -> bool:
    """Whether the certificate of a nu-problem leaves room for its trivial solution f = 0, rho = 0 of objective 0."""
    found = solution.certificate
    return solution.status is Status.CONVERGED and len(found.intercepts) == 2 and found.gap > 0.5


def _has_no_margin(part: Part, solution: Solution) -> bool:
    return len(solution.certificate.intercepts) == 2 and bool(margin(part.terms, solution) == 0)


def _hinge_terms(y: Floats, weights: Floats, part_of_data: bool = False, *, C: float) -> Terms:
    return Hinge().dual(y, C * weights)
