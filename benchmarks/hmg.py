"""Tables 2, 4, 5, 6 and 7 of Glasmachers & Igel (JMLR 7, 2006) on the public sets, ours beside the printed figures.

    python -m benchmarks.hmg [--sets spam,connect-4,mnist-low-high] [--tables 2,4,5,6,7] [--orders 10]
                             [--examples ALL] [--megabytes 40]

Medians over random orders of the examples, which decide the first pair; every selection starts from the same orders.
40 MB of float32 rows, tol = 1e-3, one thread, as there. Times compare only as multiples of second order's
(tables 6, 7: of two rows'): the machines are 20 years apart. "Rows" are kernel values computed, divided by the
number of examples, rebuilt gradients included. The objective is recomputed in float64 for the first order. In tables 2
and 4 a line is added for HMG on the newer row alone, which selection="auto" takes. All of it takes hours, most of them
for MNIST without shrinking and for connect-4 in table 7: --examples and --megabytes make a smaller problem.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

import numpy as np

from benchmarks import sets
from maxmargin.kernels import Gaussian
from maxmargin.losses import Hinge
from maxmargin.problems import DualProblem, certify
from maxmargin.rows.computed import ComputedRows
from maxmargin.solvers import smo
from maxmargin.solvers.loop import Limits

# Printed iterations, seconds and objective by set and selection.
TABLE_2 = {
    "spam": {
        "mvp": (36610, 11.21, 27019.138),
        "second-order": (9228, 8.44, 27019.140),
        "hmg": (10563, 9.17, 27019.140),
    },
    "connect-4": {
        "mvp": (65167, 916, 13557.542),
        "second-order": (45504, 734, 13557.542),
        "hmg": (50281, 633, 13557.536),
    },
    "mnist-low-high": {
        "mvp": (185162, 13657, 143199.142),
        "second-order": (110441, 9957, 143199.146),
        "hmg": (152873, 7485, 143199.160),
    },
}
TABLE_4 = {
    "spam": {"mvp": (33340, 12.77), "second-order": (9123, 8.98), "hmg": (9342, 11.41)},
    "connect-4": {"mvp": (65735, 2223), "second-order": (45466, 1567), "hmg": (49512, 1005)},
    "mnist-low-high": {"mvp": (187653, 94981), "second-order": (110470, 58213), "hmg": (155182, 41097)},
}
TABLE_5 = {20: (958, 766, 656), 40: (916, 734, 633), 100: (758, 649, 583), 200: (603, 547, 555)}
TABLE_6 = {"spam": {"two": (10563, 9.17, 27019.140), "one": (14023, 10.99, 27019.134)},
           "connect-4": {"two": (50281, 633, 13557.536), "one": (83305, 4967, 13557.529)}}  # fmt: skip
TABLE_7 = {"spam": {"two": (10563, 27019.140), "all": (7280, 27019.143)},
           "connect-4": {"two": (50281, 13557.536), "all": (51285, 13557.538)}}  # fmt: skip
SELECTIONS = ("mvp", "second-order", "hmg")


class Set:
    """A training problem in several orders, or its first examples in each of these."""

    def __init__(self, name: str, orders: int, examples: int | None, megabytes: float) -> None:
        self.name, self.problem, self.megabytes = name, sets.problem(name), megabytes
        orders_of_all = (np.random.default_rng(seed).permutation(len(self.problem.y)) for seed in range(orders))
        self.orders = [order[:examples] for order in orders_of_all]

    def run(self, **options: Any) -> dict[str, float]:
        """Medians over the orders, and the objective of the first."""
        p, runs, objective = self.problem, [], 0.0
        for order in self.orders:
            rows = ComputedRows(Gaussian(p.gamma), p.X[order], "float32")
            problem = DualProblem(rows, Hinge().dual(p.y[order].astype(float), p.C))
            began = time.perf_counter()
            found = smo.solve(problem, Limits(tol=1e-3), **{"cache_size": self.megabytes, "n_jobs": 1, **options})
            seconds = time.perf_counter() - began
            objective = objective or certify(problem, found.beta).dual
            runs.append((found.n_iter, found.counters["entries_computed"] / rows.n, seconds))
        medians = zip(("iterations", "rows", "seconds"), map(statistics.median, zip(*runs, strict=True)), strict=True)
        return {**dict(medians), "objective": objective}


Printed = tuple[int | None, float | None, float | None]  # iterations, seconds, objective


def compare(title: str, variants: dict[str, tuple[dict, Printed]], base: str, data: Set) -> None:
    """One table of one set: each variant run, with its time relative to `base`, ours and the printed one."""
    print(f"{title}, {data.name}")
    print(f"  {'':<14}{'iterations':>10}{'rows':>8}{'seconds':>9}{'time':>9}{'objective':>13}", end="")
    print(f"   printed:{'iterations':>11}{'time':>8}{'objective':>13}", flush=True)
    printed_base, base_seconds = variants[base][1][1], 0.0
    for label in sorted(variants, key=lambda label: label != base):  # the base first: a line as soon as it is known
        options, (iterations, seconds, objective) = variants[label]
        ours = data.run(**options)
        base_seconds = base_seconds or ours["seconds"]
        print(
            f"  {label:<14}{ours['iterations']:>10.0f}{ours['rows']:>8.0f}{ours['seconds']:>9.2f}"
            f"{ours['seconds'] / base_seconds:>7.2f} x{ours['objective']:>13.3f}{'':<11}{iterations or '':>11}"
            f"{f'{seconds / printed_base:.2f} x' if seconds and printed_base else '':>8}{objective or '':>13}",
            flush=True,
        )


def by_selection(printed: dict[str, tuple], **options: Any) -> dict[str, tuple[dict, Printed]]:
    """The three selections, and HMG on one row, of which nothing is printed."""
    variants = {s: ({"selection": s, **options}, (*printed[s], None)[:3]) for s in SELECTIONS}
    return {**variants, "hmg, one row": ({"selection": "hmg", "rows": "one", **options}, (None, None, None))}


def table_2(data: Set) -> None:
    """Selections, with shrinking."""
    compare("Table 2", by_selection(TABLE_2[data.name]), "second-order", data)


def table_4(data: Set) -> None:
    """Selections, without shrinking."""
    compare("Table 4 (no shrinking)", by_selection(TABLE_4[data.name], shrinking=False), "second-order", data)


def table_5(data: Set) -> None:
    """Cache sizes on connect-4; printed are seconds of mvp, second order and hmg."""
    if data.name != "connect-4":
        return
    for megabytes, seconds in TABLE_5.items():
        variants = {
            s: ({"selection": s, "cache_size": megabytes}, (None, t, None))
            for s, t in zip(SELECTIONS, seconds, strict=True)
        }
        compare(f"Table 5 ({megabytes} MB)", variants, "second-order", data)


def table_6(data: Set) -> None:
    """Both rows of the pair before, or the newer one."""
    if data.name in TABLE_6:
        variants = {r: ({"selection": "hmg", "rows": r}, TABLE_6[data.name][r]) for r in ("two", "one")}
        compare("Table 6 (rows looked at)", variants, "two", data)


def table_7(data: Set) -> None:
    """Both rows of the pair before, or every row in the cache."""
    if data.name in TABLE_7:
        printed = {r: (steps, None, objective) for r, (steps, objective) in TABLE_7[data.name].items()}
        variants = {r: ({"selection": "hmg", "rows": r}, printed[r]) for r in ("two", "all")}
        compare("Table 7 (rows looked at)", variants, "two", data)


def main() -> None:
    """Run and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default="spam,connect-4,mnist-low-high")
    parser.add_argument("--tables", default="2,4,5,6,7")
    parser.add_argument("--orders", type=int, default=10)
    parser.add_argument("--examples", type=int)
    parser.add_argument("--megabytes", type=float, default=40)
    arguments = parser.parse_args()
    tables = {"2": table_2, "4": table_4, "5": table_5, "6": table_6, "7": table_7}
    print(f"{sets.machine()}; medians over {arguments.orders} orders")
    for name in arguments.sets.split(","):
        data = Set(name, arguments.orders, arguments.examples, arguments.megabytes)
        for number in arguments.tables.split(","):
            tables[number](data)


if __name__ == "__main__":
    main()
