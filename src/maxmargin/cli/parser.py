"""The options of the command line; imports nothing but argparse, so that --help is immediate."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Sequence

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
SELECTION_ROWS = ("two", "one", "all")
MULTICLASS = ("one-vs-one", "one-vs-rest")
# What the words of --shrinking are to an estimator; 0 and 1 are LIBSVM's.
SHRINKING: dict[str, bool | str] = {"0": False, "1": True, "none": False, "bounds": "bounds", "history": "history"}
MODEL_FORMATS = ("maxmargin", "libsvm", "svmlight")
EXIT_CODES = "exit codes: 0 ok, 1 bad input, 2 usage, 3 not converged (the model is saved), 130 interrupted"

_CLASS_WEIGHT = re.compile(r"-w([+-]?\d+(?:\.\d+)?)")
_NEGATIVE_NUMBER = re.compile(r"-(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$")


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
    """LIBSVM's spelling of class weights as argparse reads it: ``-w-1 2`` as ``--class-weight=-1:2``."""
    words: list[str] = []
    rest = iter(argv)
    for word in rest:
        weight = _CLASS_WEIGHT.fullmatch(word)
        words.append(f"--class-weight={weight[1]}:{next(rest, '')}" if weight else word)
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
    # argparse's own pattern takes -1e-3 for an option in some versions of Python.
    parser._negative_number_matcher = _NEGATIVE_NUMBER
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
        "-b",
        "--probability",
        type=int,
        choices=(0, 1),
        default=0,
        help="fit probabilities; for nu-svr and epsilon-svr the noise of the targets (default 0)",
    )
    output.add_argument("-v", "--cross-validation", type=_FOLDS, metavar="FOLDS", help="cross-validate; saves no model")
    output.add_argument("--seed", type=_SEED, default=0, help="seed of the folds and of the probabilities (default 0)")
    output.add_argument("--format", choices=MODEL_FORMATS, default="maxmargin", help="format of the model file")
    output.add_argument("--progress", action="store_true", help="show progress though stderr is no terminal")
    _reporting(output)


def _problem_options(group: argparse._ArgumentGroup) -> None:
    group.add_argument("-s", "--type", type=_named(TYPES), default="c-svc", help=_numbered(TYPES, "c-svc"))
    group.add_argument("-t", "--kernel", type=_named(KERNELS, 5), default="rbf", help=_numbered(KERNELS, "rbf", 5))
    losses = sorted({loss for known in LOSSES.values() for loss in known})
    group.add_argument("--loss", choices=losses, help="of c-svc (default hinge) or epsilon-svr (epsilon-insensitive)")
    group.add_argument("-d", "--degree", type=_DEGREE, default=3, help="degree of poly (default 3)")
    group.add_argument("-g", "--gamma", type=_gamma, default="auto", help="default: 1 / number of features; or 'scale'")
    group.add_argument("-r", "--coef0", type=_FINITE, default=0.0, help="coef0 of poly and sigmoid (default 0)")
    group.add_argument("-c", "--cost", type=_COST, default=1.0, help="weight C of an example's loss (default 1)")
    group.add_argument("-n", "--nu", type=_NU, default=0.5, help="nu of nu-svc, one-class and nu-svr (default 0.5)")
    group.add_argument(
        "-p", "--epsilon", type=_NOT_NEGATIVE, default=0.1, help="epsilon of the epsilon-insensitive losses (0.1)"
    )
    group.add_argument("--delta", type=_POSITIVE, help="where the Huber loss turns linear (default 1)")
    group.add_argument("--quantile", type=_QUANTILE, help="quantile of the quantile loss (default 0.5)")
    group.add_argument(
        "--class-weight",
        type=_class_weight,
        action="append",
        default=[],
        metavar="LABEL:WEIGHT",
        help="C of a class is WEIGHT * C; LIBSVM's -w1 5 -w-1 2 means the same",
    )
    group.add_argument("--no-intercept", action="store_true", help="fit a model without intercept")
    group.add_argument("--multiclass", choices=MULTICLASS, help="of c-svc and nu-svc (default one-vs-one)")


def _solver_options(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "-e", "--tol", type=_POSITIVE, default=1e-3, help="largest KKT violation at the end (default 0.001)"
    )
    group.add_argument("--tol-gap", type=_POSITIVE, help="stop at this relative duality gap")
    group.add_argument("--max-iter", type=_ITERATIONS, default=-1, help="limit of iterations (default: -1, none)")
    group.add_argument("--max-time", type=_POSITIVE, metavar="SECONDS", help="limit of the time to solve")
    group.add_argument(
        "-m", "--cache-size", type=_CACHE_SIZE, default=100.0, help="cache in MB, or 'auto' (default 100)"
    )
    group.add_argument(
        "-h",
        "--shrinking",
        type=_shrinking,
        metavar=f"{{{','.join(SHRINKING)}}}",
        help="what leaves variables out (default 1, by their bounds)",
    )
    group.add_argument("--precision", choices=("auto", "float32", "float64"), help="of the kernel values")
    group.add_argument("--selection", choices=SELECTIONS, help="how the solver chooses the variables of a step")
    group.add_argument("--selection-rows", choices=SELECTION_ROWS, help="rows that mg and hmg read a step (two)")
    group.add_argument("--solver", choices=("auto", "smo", "working-set"), help="algorithm")
    group.add_argument("--working-set-size", type=_SIZE, metavar="Q", help="of fixed working sets, as in SVM-light")
    group.add_argument("--new-variables", type=_SIZE, metavar="N", help="of these that a round exchanges (half)")
    group.add_argument("--inner", choices=("pair", "projection", "interior"), help="what solves a working set (pair)")
    group.add_argument("--half-cached", action="store_true", help="half of the new members have their rows stored")
    group.add_argument("-j", "--n-jobs", type=_THREADS, help="threads (default: all cores)")


def _predict(commands: argparse._SubParsersAction) -> None:
    parser = _command(commands, "predict", "predict the rows of a data file with a model (svm-predict)")
    _data(parser)
    parser.add_argument("model", help="model file: maxmargin or LIBSVM")
    parser.add_argument("output", nargs="?", help="file for the predictions; - is standard output (default: none)")
    parser.add_argument(
        "-b",
        "--probability",
        type=int,
        choices=(0, 1),
        default=0,
        help="write probabilities too; of a regression, print the noise of the targets",
    )
    parser.add_argument("--decision-values", action="store_true", help="write decision values too")
    _reporting(parser)


def _scale(commands: argparse._SubParsersAction) -> None:
    parser = _command(commands, "scale", "scale features, and targets, to a range (svm-scale)")
    _data(parser)
    parser.add_argument("output", nargs="?", default="-", help="file for the scaled data (default: standard output)")
    parser.add_argument("-l", "--lower", type=_FINITE, default=-1.0, help="lower limit of a feature (default -1)")
    parser.add_argument("-u", "--upper", type=_FINITE, default=1.0, help="upper limit of a feature (default 1)")
    parser.add_argument(
        "-y", "--target", type=_FINITE, nargs=2, metavar=("LOWER", "UPPER"), help="scale the targets too"
    )
    parser.add_argument("-s", "--save", metavar="FILE", help="save the ranges to this file")
    parser.add_argument("-r", "--restore", metavar="FILE", help="take the ranges from this file, not from the data")
    parser.add_argument("-q", "--quiet", action="store_true", help="no warnings")


def _info(commands: argparse._SubParsersAction) -> None:
    parser = _command(commands, "info", "describe a model file or a data file")
    parser.add_argument(
        "file", help="model file (maxmargin, LIBSVM) or data file (LIBSVM text, .npz); - for text on standard input"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object")
    _zero_based(parser)


def _convert(commands: argparse._SubParsersAction) -> None:
    parser = _command(commands, "convert", "convert a data file or a model file to another format")
    parser.add_argument("source", help="data (LIBSVM text, .npz) or model (maxmargin, LIBSVM)")
    parser.add_argument("target", help="data: .npz, or text, compressed by .gz, .bz2, .xz or .zst; - is stdout")
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


class _number:
    """A number that an option takes, or one of a few words; any other value is refused in words."""

    def __init__(
        self,
        wanted: str,
        fits: Callable[[float], bool],
        kind: Callable[[str], float] = float,
        words: tuple[str, ...] = (),
    ) -> None:
        self.wanted, self.fits, self.kind, self.words = wanted, fits, kind, words

    def __call__(self, word: str) -> float | str:
        if word in self.words:
            return word
        try:
            value = math.nan if "_" in word else self.kind(word)  # Python's own spelling of digits is nobody else's
        except ValueError:
            value = math.nan
        if not self.fits(value):  # no comparison holds for NaN
            raise argparse.ArgumentTypeError(f"{word!r} is not {' or '.join([self.wanted, *self.words])}")
        return value


_FINITE = _number("a finite number", math.isfinite)
_POSITIVE = _number("a finite number above 0", lambda value: 0 < value < math.inf)
_NOT_NEGATIVE = _number("a finite number from 0 on", lambda value: 0 <= value < math.inf)
_COST = _number("a number above 0", lambda value: value > 0)  # inf is the hard margin
_NU = _number("a number above 0 and up to 1", lambda value: 0 < value <= 1)
_QUANTILE = _number("a number between 0 and 1", lambda value: 0 < value < 1)
_GAMMA = _number(_NOT_NEGATIVE.wanted, _NOT_NEGATIVE.fits, words=("auto", "scale"))
_CACHE_SIZE = _number(_POSITIVE.wanted, _POSITIVE.fits, words=("auto",))
_DEGREE = _number("a whole number from 0 on", lambda value: value >= 0, int)
_ITERATIONS = _number("a whole number from -1 on", lambda value: value >= -1, int)
_FOLDS = _SIZE = _number("a whole number from 2 on", lambda value: value >= 2, int)
_SEED = _number("a whole number from 0 to 4294967295", lambda value: 0 <= value < 2**32, int)
_THREADS = _number("a whole number other than 0", lambda value: value > 0 or value < 0, int)


def _gamma(word: str) -> float | str:
    return _GAMMA(word) or "auto"  # as in LIBSVM, 0 is the default


def _shrinking(word: str) -> bool | str:
    if word not in SHRINKING:
        raise argparse.ArgumentTypeError(f"{word!r} is none of {', '.join(SHRINKING)}")
    return SHRINKING[word]


def _class_weight(word: str) -> tuple[float, float]:
    label, _, weight = word.rpartition(":")
    try:
        found = float(label), float(weight)
    except ValueError:
        found = math.nan, math.nan
    if not (math.isfinite(found[0]) and 0 < found[1] < math.inf):
        raise argparse.ArgumentTypeError(f"{word!r} is not LABEL:WEIGHT with a weight above 0, such as -1:2.5")
    return found
