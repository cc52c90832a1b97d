"""What all kernel machines share: solving, storing what the solver found, and decision values."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, check_is_fitted

from maxmargin.estimators import kernel_choice
from maxmargin.estimators.expansion import Expansion, expand
from maxmargin.estimators.prediction import in_blocks
from maxmargin.estimators.training import TrainingSet, is_function, read_examples
from maxmargin.kernels import Kernel, Linear
from maxmargin.kernels.kernel import block_rows
from maxmargin.problems import Certificate, DualProblem, certify
from maxmargin.reductions.side_by_side import Part, shared_rows, solve_side_by_side
from maxmargin.report import Progress
from maxmargin.rows import Rows
from maxmargin.solvers import auto
from maxmargin.solvers.loop import Limits, Solution, Status
from maxmargin.solvers.memory import MEGABYTE, cache_bytes
from maxmargin.solvers.working_set import refuse_pair_options
from maxmargin.threads import threads

Floats = NDArray[np.float64]


class KernelMachine(BaseEstimator):
    """Base of all estimators: a child turns its data into dual problems, and their solutions into coefficients."""

    kernel: str | Kernel | Callable[[Any, Any], Any]
    degree: int
    gamma: str | float
    coef0: float
    tol: float
    cache_size: float | str
    verbose: int
    max_iter: int
    fit_intercept: bool
    tol_gap: float | None
    max_time: float | None
    callback: Callable[[Any], Any] | None
    precision: str
    solver: str | Callable[..., Solution]
    selection: str
    selection_rows: str
    n_jobs: int | None
    warm_start: bool

    support_: NDArray[np.int32]
    support_vectors_: Any
    dual_coef_: Any
    intercept_: Floats
    solution_: Solution | list[Solution]
    kernel_: Kernel | None
    _n_support: NDArray[np.int32]
    _dual_coef_: Any
    _intercept_: Floats
    _problems: list[DualProblem]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        precomputed = isinstance(self.kernel, str) and self.kernel == "precomputed"
        tags.input_tags.pairwise = precomputed
        tags.input_tags.sparse = not precomputed
        return tags

    def __getstate__(self) -> dict[str, Any]:
        """The state without the training rows, which only `certify` reads."""
        state: dict[str, Any] = super().__getstate__()
        return {key: value for key, value in state.items() if key != "_problems"}

    def certify(self) -> Certificate | list[Certificate]:
        """Primal, dual, gap and KKT violation of the fitted model, with all decision values recomputed in float64.

        Returns
        -------
        Certificate or list of Certificate
            One for each problem that was solved, in the order of `intercept_`.
        """
        check_is_fitted(self)
        if not hasattr(self, "_problems"):
            raise NotFittedError(
                f"This {type(self).__name__} no longer holds its training rows, which a pickled or saved model leaves"
                " out: fit it again to certify it."
            )
        solutions = self.solution_ if isinstance(self.solution_, list) else [self.solution_]
        pairs = zip(self._problems, solutions, strict=True)
        found = [certify(problem, solution.beta, self.n_jobs) for problem, solution in pairs]
        return found if len(found) > 1 else found[0]

    @property
    def n_support_(self) -> NDArray[np.int32]:
        """Number of support vectors, for each class in classification."""
        try:
            check_is_fitted(self)
        except NotFittedError:
            raise AttributeError(f"This {type(self).__name__} has no n_support_ before it is fitted.") from None
        return self._n_support

    @property
    def coef_(self) -> Any:
        """Weights of the features when the kernel is linear, one row for each problem solved."""
        if not (isinstance(self.kernel, Linear) or (isinstance(self.kernel, str) and self.kernel == "linear")):
            raise AttributeError("coef_ is only available when using a linear kernel")
        coef = self._primal_coef()
        (coef.data if sp.issparse(coef) else coef).flags.writeable = False
        return coef

    def _primal_coef(self) -> Any:
        return self.dual_coef_ @ self.support_vectors_

    # Fitting ----------------------------------------------------------------------------------------------------------

    def _refuse_no_intercept(self) -> None:
        """For the machines whose sum constraint is their intercept."""
        if not self.fit_intercept:
            raise ValueError(
                f"{type(self).__name__} cannot be fitted with fit_intercept=False: the sums over its dual variables,"
                " from which nu has its meaning, are its intercept."
            )

    def _solve(
        self, data: TrainingSet, parts: Sequence[Part], extra: Sequence[Part] = (), spent: float = 0.0
    ) -> tuple[list[Solution], Rows]:
        """Solve the model's problems and the extra ones beside them; the rows that they read come along.

        `spent` are the seconds of `max_time` that are gone already.
        """
        choice = kernel_choice.choose_kernel(self, data)
        budget = cache_bytes(self.cache_size)
        everything = [*parts, *extra]
        solvers = self._solvers(everything)
        by_pairs, by_working_sets = solvers == {"smo"}, solvers == {"working-set"}
        precision = kernel_choice.choose_precision(self, choice, data, [part.terms for part in parts], by_working_sets)
        rows = kernel_choice.make_rows(choice, data, precision, budget)
        shared = shared_rows(rows, everything, budget, self.n_jobs) if by_pairs else rows
        with self._reporting() as callback:
            max_time = None if self.max_time is None else max(0.0, self.max_time - spent)
            limits = Limits(self.tol, self.tol_gap, self.max_iter, max_time, callback)
            solutions = solve_side_by_side(
                self._solver(),
                shared,
                everything,
                limits,
                cache_size=(budget if shared is rows else budget / 2) / MEGABYTE,
                starts=self._starts(parts) + [None] * len(extra),
                n_jobs=self.n_jobs,
            )
        self.kernel_, self._gamma, self.precision_ = choice.kernel, choice.gamma, precision
        self._problems = [part.problem(rows) for part in parts]
        return solutions, shared

    def _solver(self) -> Callable[..., Solution]:
        if self.selection_rows != "two" and self.selection not in ("mg", "hmg"):
            raise ValueError(
                f"selection_rows={self.selection_rows!r} is for the selections 'mg' and 'hmg', not {self.selection!r}."
            )
        shrinking: Any = getattr(self, "shrinking", False)  # without bounds there is nothing to shrink
        if isinstance(shrinking, np.bool_):
            shrinking = bool(shrinking)
        if callable(self.solver):
            shrinking = "bounds" if shrinking is True else shrinking
            return partial(self.solver, selection=self.selection, rows=self.selection_rows, shrinking=shrinking)
        options = {"selection": self.selection, "rows": self.selection_rows, "shrinking": shrinking}
        if self.solver == "working-set":
            refuse_pair_options(**options)
        return partial(auto.solve, solver=self.solver, **options)

    def _solvers(self, parts: Sequence[Part]) -> set[str]:
        """The solvers of the problems; a user's function asks for row by row, for all that is known."""
        if self.solver != "auto":
            return {self.solver} if self.solver == "working-set" else {"smo"}
        shrinking = getattr(self, "shrinking", True)
        return {auto.choose_solver(part.terms, self.selection, shrinking, self.tol_gap) for part in parts}

    @contextmanager
    def _reporting(self) -> Iterator[Callable[[Any], Any] | None]:
        """The user's callback, with a line of progress before it when verbose."""
        if not self.verbose:
            yield self.callback
            return
        with Progress(label=type(self).__name__) as progress:
            yield partial(_call_all, progress, self.callback) if self.callback else progress

    def _starts(self, parts: Sequence[Part]) -> list[NDArray | None]:
        """Where the solvers start: at the previous fit's solutions when warm."""
        if not (self.warm_start and hasattr(self, "solution_")):
            return [None] * len(parts)
        previous = self.solution_ if isinstance(self.solution_, list) else [self.solution_]
        if [len(solution.beta) for solution in previous] != [part.terms.m for part in parts]:
            raise ValueError(
                f"warm_start=True goes on from the previous fit of {len(previous)} problems with"
                f" {sum(len(s.beta) for s in previous)} variables, but the new data make {len(parts)} with"
                f" {sum(part.terms.m for part in parts)}: fit with warm_start=False."
            )
        return [solution.beta for solution in previous]

    def _expand(self, parts: Sequence[Part], solutions: Sequence[Solution]) -> list[Expansion]:
        expansions = [expand(part.terms, solution) for part, solution in zip(parts, solutions, strict=True)]
        if not all(np.isfinite(e.coef).all() and np.isfinite(e.intercept) for e in expansions):
            raise ValueError(kernel_choice.NOT_FINITE)
        return expansions

    def _store_solutions(self, solutions: list[Solution], extra: Sequence[Solution] = ()) -> None:
        """The certificate of each problem, a scalar when there is just one, and one warning when limits were hit."""
        certificates = [solution.certificate for solution in solutions]
        self.primal_objective_ = _scalar_or_array([c.primal for c in certificates])
        self.dual_objective_ = _scalar_or_array([c.dual for c in certificates])
        self.duality_gap_ = _scalar_or_array([c.gap for c in certificates])
        self.kkt_violation_ = _scalar_or_array([c.violation for c in certificates])
        self.status_ = _scalar_or_array([s.status.value for s in solutions])
        self.trace_ = [s.trace for s in solutions] if len(solutions) > 1 else solutions[0].trace
        self.solution_ = solutions if len(solutions) > 1 else solutions[0]
        statuses = [s.status for s in (*solutions, *extra)]
        self.fit_status_ = int(any(status is not Status.CONVERGED for status in statuses))
        self._warn(statuses)

    def _warn(self, statuses: Sequence[Status]) -> None:
        early = [s for s in statuses if s not in (Status.CONVERGED, Status.STOPPED)]
        if not early:
            return
        text = early[0].advice
        if early[0] is Status.MAX_ITER:
            text = (
                f"Solver terminated early (max_iter={self.max_iter}).  Consider pre-processing your data with"
                " StandardScaler or MinMaxScaler."
            )
        if len(statuses) > 1:
            text += f" This holds for {len(early)} of {len(statuses)} problems."
        warnings.warn(text, ConvergenceWarning, stacklevel=4)

    def _store_support(self, data: TrainingSet, order: NDArray[np.intp], layout: Floats, intercepts: Floats) -> None:
        """Support vectors in the given order of the kept rows; layout holds one column for each kept row."""
        self._sparse = sp.issparse(data.X) and not is_function(self.kernel)
        self.shape_fit_ = data.X.shape if hasattr(data.X, "shape") else (data.n_rows,)
        self.support_ = data.kept[order].astype(np.int32)
        dual_coef = np.ascontiguousarray(layout[:, order])
        if is_function(self.kernel):
            self._examples = data.X
        on_rows = self.kernel_ is None or is_function(self.kernel)
        self.support_vectors_ = np.empty((0, 0)) if on_rows else _as_floats(data.X[self.support_])
        self.dual_coef_ = self._dual_coef_ = type(data.X)(dual_coef) if self._sparse else dual_coef
        self.intercept_, self._intercept_ = intercepts, intercepts.copy()

    # Decision values --------------------------------------------------------------------------------------------------

    def _validate_for_predict(self, X: Any) -> Any:
        check_is_fitted(self)
        if is_function(self.kernel):
            return X
        X = read_examples(self, X, reset=False)
        if sp.issparse(X) and not self._sparse:
            raise ValueError(f"cannot use sparse input in {type(self).__name__!r} trained on dense data")
        if self._sparse and not sp.issparse(X):
            X = type(self.support_vectors_)(X)
        if self.kernel_ is None:
            self._check_columns(X.shape[1])
        elif not self._sparse and self._n_support.sum() != self.support_vectors_.shape[0]:
            raise ValueError(f"The internal representation of {type(self).__name__} was altered")
        return X

    def _check_columns(self, columns: int) -> None:
        if columns != self.shape_fit_[0]:
            raise ValueError(
                f"X.shape[1] = {columns} should be equal to {self.shape_fit_[0]},"
                " the number of samples at training time"
            )

    def _decision_values(self, X: Any) -> Floats:
        """Decision values in the signs of `_dual_coef_` and `_intercept_`, (n, problems)."""
        X = self._validate_for_predict(X)
        n, coef = _num_samples(X), self._dual_coef_
        coef = coef.toarray() if sp.issparse(coef) else coef
        if coef.shape[1] == 0:
            return np.tile(self._intercept_, (n, 1))
        columns = self.shape_fit_[0] if is_function(self.kernel) else coef.shape[1]
        block = self._kernel_block(X, n)
        workers = 1 if is_function(self.kernel) else threads(self.n_jobs)
        most = block_rows(columns, 1.0 if self.kernel_ is None else self.kernel_.cost(self.support_vectors_))
        return in_blocks(lambda rows: self._decide(block(rows), coef) + self._intercept_, n, most, workers)

    def _decide(self, K: NDArray, coef: Floats) -> Floats:
        """Decision values without intercepts from kernel values against the support vectors."""
        return K @ coef.T

    def _kernel_block(self, X: Any, n: int) -> Callable[[slice], NDArray]:
        """From a slice of the rows of X to their kernel values against the support vectors."""
        if self.kernel_ is None:
            return lambda rows: X[rows][:, self.support_]
        if not is_function(self.kernel):
            values = self.kernel_.against(self.support_vectors_)
            return lambda rows: values(X[rows])
        if 8 * n * self.shape_fit_[0] <= cache_bytes(self.cache_size):
            K = self._function_values(X)
            return lambda rows: K[rows]
        return lambda rows: self._function_values(_safe_indexing(X, np.arange(n)[rows]))

    def _function_values(self, X: Any) -> Floats:
        K = kernel_choice.function_values(self.kernel, X, self._examples)
        self._check_columns(K.shape[1])
        if K.shape[0] != _num_samples(X):
            raise ValueError(f"The kernel function returned {K.shape[0]} rows for {_num_samples(X)} examples.")
        return K[:, self.support_]


def _as_floats(X: Any) -> Any:
    """Support vectors are floating-point numbers, also of integer data, as in scikit-learn."""
    return X if X.dtype.kind == "f" else X.astype(np.float64)


def _scalar_or_array(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else np.array(values)


def _call_all(first: Callable[[Any], Any], second: Callable[[Any], Any], state: Any) -> Any:
    first(state)
    return second(state)
