"""The options of the command line; imports nothing but argparse, so that --help is immediate."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence

TYPES = ("c-svc", "nu-svc", "one-class", "epsilon-svr", "nu-svr")
KERNELS = (
    "linear",
    "poly",
    "rbf",
    "sigmoid",
    "precomputed",
    "laplacian",
    "chi2",
    "intersection",
    "matern32",
    "matern52",
)
LOSSES = {
    "c-svc": ("hinge", "squared-hinge", "least-squares"),
    "epsilon-svr": ("epsilon-insensitive", "squared-epsilon-insensitive", "least-squares", "huber", "quantile"),
}
SELECTIONS = ("auto", "second-order", "mvp", "mg", "hmg")
MODEL_FORMATS = ("maxmargin", "libsvm", "svmlight")
EXIT_CODES = "exit codes: 0 ok, 1 bad input, 2 usage, 3 not converged (the model is saved), 130 interrupted"

_CLASS_WEIGHT = re.compile(r"-w([+-]?\d+(?:\.\d+)?)")
_NEGATIVE_NUMBER = re.compile(r"-(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The parsed command line; argparse exits with code 2 after a usage error."""
    parser = argparse.ArgumentParser(
        prog="maxmargin",
        description="Train support vector machines exactly, with a certificate.",
        epilog=EXIT_CODES,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for add in (_train, _predict, _scale, _info, _convert):
        add(commands)
    args = parser.parse_args(rewritten(argv))
    if args.command is None and not args.version:
        parser.error("a command is needed: train, predict, scale, info or convert")
    return args


def rewritten(argv: Sequence[str]) -> list[str]:
    """LIBSVM's spellings as argparse reads them: ``-w-1 2`` as ``--class-weight=-1:2``, ``-r -1e-3`` as ``-r-1e-3``."""
    words: list[str] = []
    rest = iter(argv)
    for word in rest:
        weight = _CLASS_WEIGHT.fullmatch(word)
        if weight:
            words.append(f"--class-weight={weight[1]}:{next(rest, '')}")
        elif words and re.fullmatch(r"-[a-z]", words[-1]) and words[-1] != "-y" and _NEGATIVE_NUMBER.fullmatch(word):
            words[-1] += word
        else:
            words.append(word)
    return words


def _command(
    commands: argparse._SubParsersAction, name: str, text: str, short_help: bool = True
) -> argparse.ArgumentParser:
    parser = commands.add_parser(
        name,
        help=text,
        description=f"{text[0].upper()}{text[1:]}.",
        epilog=EXIT_CODES,
        add_help=False,
        allow_abbrev=False,
    )
    parser.add_argument(*(["-h"] if short_help else []), "--help", action="help", help="show this help and exit")
    return parser


def _train(commands: argparse._SubParsersAction) -> None:
    # -h is LIBSVM's shrinking here.
    parser = _command(commands, "train", "train a model on a data file (svm-train)", short_help=False)
    _data(parser)
    parser.add_argument("model", nargs="?", help="model file (default: the data file's name + .model, in this folder)")
    _problem_options(parser.add_argument_group("problem"))
    _solver_options(parser.add_argument_group("solver"))
    output = parser.add_argument_group("output")
    output.add_argument(
        "-b", "--probability", type=int, choices=(0, 1), default=0, help="fit probabilities (default 0)"
    )
    output.add_argument("-v", "--cross-validation", type=_folds, metavar="FOLDS", help="cross-validate; saves no model")
    output.add_argument("--seed", type=int, default=0, help="seed of the folds and of the probabilities (default 0)")
    output.add_argument("--format", choices=MODEL_FORMATS, default="maxmargin", help="format of the model file")
    output.add_argument("--progress", action="store_true", help="show progress though stderr is no terminal")
    _reporting(output)


def _problem_options(group: argparse._ArgumentGroup) -> None:
    group.add_argument("-s", "--type", type=_named(TYPES), default="c-svc", help=_numbered(TYPES, "c-svc"))
    group.add_argument("-t", "--kernel", type=_named(KERNELS, 5), default="rbf", help=_numbered(KERNELS, "rbf", 5))
    losses = sorted({loss for known in LOSSES.values() for loss in known})
    group.add_argument("--loss", choices=losses, help="of c-svc (default hinge) or epsilon-svr (epsilon-insensitive)")
    group.add_argument("-d", "--degree", type=int, default=3, help="degree of poly (default 3)")
    group.add_argument("-g", "--gamma", type=_gamma, default="auto", help="default: 1 / number of features; or 'scale'")
    group.add_argument("-r", "--coef0", type=float, default=0.0, help="coef0 of poly and sigmoid (default 0)")
    group.add_argument("-c", "--cost", type=float, default=1.0, help="weight C of an example's loss (default 1)")
    group.add_argument("-n", "--nu", type=float, default=0.5, help="nu of nu-svc, one-class and nu-svr (default 0.5)")
    group.add_argument(
        "-p", "--epsilon", type=float, default=0.1, help="epsilon of the epsilon-insensitive losses (0.1)"
    )
    group.add_argument("--delta", type=float, default=1.0, help="where the Huber loss turns linear (default 1)")
    group.add_argument("--quantile", type=float, default=0.5, help="quantile of the quantile loss (default 0.5)")
    group.add_argument(
        "--class-weight",
        type=_class_weight,
        action="append",
        default=[],
        metavar="LABEL:WEIGHT",
        help="C of a class is WEIGHT * C; LIBSVM's -w1 5 -w-1 2 means the same",
    )
    group.add_argument("--no-intercept", action="store_true", help="fit a model without intercept")


def _solver_options(group: argparse._ArgumentGroup) -> None:
    group.add_argument("-e", "--tol", type=float, default=1e-3, help="largest KKT violation at the end (default 0.001)")
    group.add_argument("--tol-gap", type=float, help="stop at this relative duality gap")
    group.add_argument("--max-iter", type=int, default=-1, help="limit of iterations (default: none)")
    group.add_argument("--max-time", type=float, metavar="SECONDS", help="limit of the time to solve")
    group.add_argument(
        "-m", "--cache-size", type=_cache_size, default=100.0, help="cache in MB, or 'auto' (default 100)"
    )
    group.add_argument("-h", "--shrinking", type=int, choices=(0, 1), default=1, help="shrinking heuristic (default 1)")
    group.add_argument("--precision", choices=("auto", "float32", "float64"), help="of the kernel values")
    group.add_argument("--selection", choices=SELECTIONS, help="how the solver chooses the variables of a step")
    group.add_argument("--solver", choices=("auto", "smo"), help="algorithm")
    group.add_argument("-j", "--n-jobs", type=int, help="threads (default: all cores)")


def _predict(commands: argparse._SubParsersAction) -> None:
    parser = _command(commands, "predict", "predict the rows of a data file with a model (svm-predict)")
    _data(parser)
    parser.add_argument("model", help="model file: maxmargin or LIBSVM")
    parser.add_argument("output", nargs="?", help="file for the predictions, one a line (default: none is written)")
    parser.add_argument("-b", "--probability", type=int, choices=(0, 1), default=0, help="write probabilities too")
    parser.add_argument("--decision-values", action="store_true", help="write decision values too")
    _reporting(parser)


def _scale(commands: argparse._SubParsersAction) -> None:
    parser = _command(commands, "scale", "scale features, and targets, to a range (svm-scale)")
    _data(parser)
    parser.add_argument("output", nargs="?", default="-", help="file for the scaled data (default: standard output)")
    parser.add_argument("-l", "--lower", type=float, default=-1.0, help="lower limit of a feature (default -1)")
    parser.add_argument("-u", "--upper", type=float, default=1.0, help="upper limit of a feature (default 1)")
    parser.add_argument("-y", "--target", type=float, nargs=2, metavar=("LOWER", "UPPER"), help="scale the targets too")
    parser.add_argument("-s", "--save", metavar="FILE", help="save the ranges to this file")
    parser.add_argument("-r", "--restore", metavar="FILE", help="take the ranges from this file, not from the data")
    parser.add_argument("-q", "--quiet", action="store_true", help="no warnings")


def _info(commands: argparse._SubParsersAction) -> None:
    parser = _command(commands, "info", "describe a model file or a data file")
    parser.add_argument("file", help="model file (maxmargin, LIBSVM) or data file (LIBSVM text, .npz)")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    _zero_based(parser)


def _convert(commands: argparse._SubParsersAction) -> None:
    parser = _command(commands, "convert", "convert a data file or a model file to another format")
    parser.add_argument("source", help="data (LIBSVM text, .npz) or model (maxmargin, LIBSVM)")
    parser.add_argument("target", help="data: .npz, or text whose suffix .gz, .bz2, .xz or .zst compresses it")
    parser.add_argument(
        "--format", choices=MODEL_FORMATS, help="of a model (default: maxmargin from LIBSVM, else libsvm)"
    )
    _zero_based(parser)
    _reporting(parser)


def _data(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", help="LIBSVM text, compressed or not, or .npz; - for text on standard input")
    _zero_based(parser)


def _zero_based(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--zero-based", action="store_true", help="the first feature of a text has index 0, not 1")


def _reporting(group: argparse._ActionsContainer) -> None:
    group.add_argument("-q", "--quiet", action="store_true", help="print errors only")
    group.add_argument("--json", action="store_true", help="print one JSON object on standard output")


def _numbered(names: tuple[str, ...], default: str, count: int | None = None) -> str:
    numbered = [f"{i} or {name}" if count is None or i < count else name for i, name in enumerate(names)]
    return f"{', '.join(numbered)} (default {default})"


class _named:
    """A name, or LIBSVM's number for it."""

    def __init__(self, names: tuple[str, ...], count: int | None = None) -> None:
        self.names, self.count = names, len(names) if count is None else count

    def __call__(self, word: str) -> str:
        if word in self.names:
            return word
        if word.isdecimal() and int(word) < self.count:
            return self.names[int(word)]
        raise argparse.ArgumentTypeError(f"{word!r} is none of 0 to {self.count - 1}, {', '.join(self.names)}")


def _gamma(word: str) -> float | str:
    if word in ("auto", "scale"):
        return word
    value = float(word)
    return value if value != 0 else "auto"  # as in LIBSVM, 0 is the default


def _cache_size(word: str) -> float | str:
    return word if word == "auto" else float(word)


def _folds(word: str) -> int:
    count = int(word)
    if count < 2:
        raise argparse.ArgumentTypeError(f"{count} folds are too few, at least 2 are needed")
    return count


def _class_weight(word: str) -> tuple[float, float]:
    label, separator, weight = word.rpartition(":")
    try:
        return float(label), float(weight)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{word!r} is not LABEL:WEIGHT, such as -1:2.5") from None
