"""The spellings of LIBSVM and our own mean the same; what cannot be is refused with code 2."""

import shlex

import pytest

from maxmargin.cli.parser import parse

PAIRS = [
    ("-s 3", "--type epsilon-svr"),
    ("-s nu-svc", "--type 1"),
    ("-t 4", "--kernel precomputed"),
    ("-d 5", "--degree 5"),
    ("-g 0.25", "--gamma 0.25"),
    ("-r -1e-3", "--coef0=-0.001"),
    ("-c 10", "--cost 10"),
    ("-n .2", "--nu 0.2"),
    ("-p 0.01", "--epsilon 0.01"),
    ("-m 2000", "--cache-size 2000"),
    ("-e 1e-6", "--tol 1e-6"),
    ("-h 0", "--shrinking 0"),
    ("-b 1", "--probability 1"),
    ("-w1 5 -w-1 2.5", "--class-weight 1:5 --class-weight=-1:2.5"),
    ("-v 10", "--cross-validation 10"),
    ("-q", "--quiet"),
    ("-g 0", "--gamma auto"),
]


@pytest.mark.parametrize(("short", "long"), PAIRS)
def test_short_and_long_options_mean_the_same(short: str, long: str) -> None:
    default = parse(["train", "data", "model"])
    found = parse(["train", *shlex.split(short), "data", "model"])
    assert found == parse(["train", *shlex.split(long), "data", "model"])
    assert (found == default) == (short == "-g 0")


def test_the_defaults_are_those_of_svm_train() -> None:
    args = vars(parse(["train", "data"]))
    expected = {
        "type": "c-svc",
        "kernel": "rbf",
        "degree": 3,
        "gamma": "auto",
        "coef0": 0.0,
        "cost": 1.0,
        "nu": 0.5,
        "epsilon": 0.1,
        "cache_size": 100.0,
        "tol": 1e-3,
        "shrinking": None,  # the estimators' own, which is 1
        "probability": 0,
        "class_weight": [],
    }
    assert {key: args[key] for key in expected} == expected


def test_negative_limits_of_scale() -> None:
    args = parse(["scale", "-l", "-1e-1", "-u", "2", "-y", "-5", "5", "data"])
    assert (args.lower, args.upper, args.target, args.data) == (-0.1, 2.0, [-5.0, 5.0], "data")


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("", "a command is needed"),
        ("fit data", "invalid choice: 'fit'"),
        ("train", "arguments are required: data"),
        ("train -s 5 data", "'5' is none of 0 to 4, c-svc"),
        ("train -t 5 data", "'5' is none of 0 to 4, linear"),
        ("train -v 1 data", "argument -v/--cross-validation: '1' is not a whole number from 2 on"),
        ("train -w1 much data", "'1:much' is not LABEL:WEIGHT"),
        ("train -w1", "'1:' is not LABEL:WEIGHT"),
        ("train -c much data", "argument -c/--cost: 'much' is not a number above 0"),
        ("train --nonsense data", "unrecognized arguments: --nonsense"),
        ("train --prob 1 data", "unrecognized arguments: --prob"),
    ],
)
def test_usage_errors(line: str, sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        parse(line.split())
    assert stop.value.code == 2
    assert sentence in capsys.readouterr().err
