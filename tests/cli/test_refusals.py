"""What a command cannot do is said before it works, and nothing is written."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import SVC, models
from maxmargin.cli import main
from maxmargin.data import examples, libsvm

TRAIN = str(examples.spirals("train"))
X, Y = libsvm.read(TRAIN)
DENSE = X.toarray()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data").write_bytes(Path(TRAIN).read_bytes())
    models.save(SVC(gamma=10).fit(X, Y), "model")
    models.save(SVC(), "unfitted")


def refused(words: str, code: int, sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The command ends with this code and sentence, prints nothing else, and leaves every file as it was."""
    before = {name: Path(name).read_bytes() for name in os.listdir()}
    assert main(words.split()) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert sentence in err.splitlines()[-1]
    assert {name: Path(name).read_bytes() for name in os.listdir()} == before


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        ("train data -", 2, "maxmargin train: a model needs a file to be written to, not standard output"),
        ("train data data", 2, "maxmargin train: data would be written over data, which this command needs as it is"),
        ("train ./data data", 2, "data would be written over ./data"),
        ("predict data model data", 2, "data would be written over data"),
        ("predict data model model", 2, "model would be written over model"),
        ("predict data model -b 1", 2, "probabilities and decision values need a file to be written to"),
        ("predict data model --decision-values", 2, "probabilities and decision values need a file"),
        ("predict data model - --json", 2, "predictions and --json both go to standard output"),
        ("predict data model out -b 1", 2, "model has no probabilities for -b/--probability: train it with -b 1"),
        ("predict data unfitted", 1, "maxmargin predict: unfitted holds a SVC that has not been fitted"),
        ("predict data data", 1, "data is no model that can be read"),
        ("predict data -", 1, "- is no file: a model is read from a file"),
        ("predict model model", 1, "model is a model, and data are needed here"),
        ("train model out", 1, "model is a model, and data are needed here"),
        ("convert unfitted out", 1, "unfitted holds a SVC that has not been fitted"),
        ("convert data data", 2, "data would be written over data"),
        ("convert data - --json", 2, "data and --json both go to standard output: name a file for the data"),
        ("convert model -", 2, "a model needs a file to be written to, not standard output"),
        ("convert model model", 2, "model would be written over model"),
        ("convert data out.npz --format libsvm", 2, "--format is for models"),
        ("scale data -s -", 2, "-s - would mix the ranges with data on standard output"),
        ("scale data -s data", 2, "data would be written over data"),
        ("scale data out -s out", 2, "out would be written over out"),
        ("scale data model -r model", 2, "model would be written over model"),
        ("scale data -s a -r model", 2, "-s and -r cannot be combined"),
        ("train data out -s 1 --no-intercept", 2, "--no-intercept is not for nu-svc, whose nu has its meaning"),
        ("train data out -s 2 --no-intercept", 2, "--no-intercept is not for one-class"),
        ("train data out --delta 2", 2, "--delta is not for c-svc"),
        ("train data out -s 3 --quantile 0.3", 2, "--quantile is not for epsilon-svr"),
        ("train data out -s 3 --loss huber --quantile 0.3", 2, "--quantile is not for epsilon-svr with huber"),
        ("train data out -s 3 --multiclass one-vs-rest", 2, "--multiclass is not for epsilon-svr"),
        ("train data out --selection mvp --selection-rows all", 2, "--selection-rows all is for --selection mg and"),
        ("train data out --solver smo --inner interior", 2, "--inner is for --solver working-set"),
        ("train data out --working-set-size 10 --new-variables 12", 2, "new_variables is 12, but it must be from 2 to"),
        ("train data out --half-cached", 2, "new_variables and half_cached are for a working_set_size"),
        ("train data out -s 1 --loss hinge", 2, "--loss hinge is not a loss of nu-svc"),
        ("train data out -b 1 --format libsvm", 2, "--format libsvm cannot hold the probabilities of -b 1"),
        ("train data out -b 1 --format svmlight", 2, "--format svmlight cannot hold the probabilities of -b 1"),
        ("train data out -s 1 -b 1 --format libsvm", 2, "--format libsvm cannot hold the probabilities of -b 1"),
        ("train data out -s 3 -b 1 --format svmlight", 2, "--format svmlight cannot hold the probabilities of -b 1"),
        ("train data out -s 3 -b 1 --loss quantile", 2, "-b/--probability is not for epsilon-svr with quantile"),
        ("train data out -s 3 -b 1 --loss least-squares", 2, "-b/--probability is not for epsilon-svr with least"),
        ("train data out -s 2 --format svmlight", 2, "--format svmlight cannot hold the model of a OneClassSVM"),
        ("train data out -t 4 --format svmlight", 2, "with the kernel precomputed"),
    ],
)
def test_options_that_do_not_go_together(
    words: str, code: int, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    refused(words, code, sentence, capsys)


@pytest.mark.parametrize("kind", ["one-class", "epsilon-svr", "nu-svr"])
def test_models_without_probabilities(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "-q", "-s", kind, "data", "plain"]) == 0
    refused("predict data plain out -b 1", 2, "plain has no probabilities for -b/--probability: train it with", capsys)


def test_a_one_class_machine_with_too_few_outliers_has_no_probabilities(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "-s", "2", "-n", "0.001", "-b", "1", "data", "plain"]) == 0
    assert "maxmargin: warning: There are no probabilities: they take 5 outliers and 5" in capsys.readouterr().err
    refused("predict data plain out -b 1", 2, "it was trained on too few outliers, or on too few others", capsys)


def test_fewer_rows_than_the_folds_of_the_noise(capsys: pytest.CaptureFixture[str]) -> None:
    Path("few").write_text("1 1:1\n2 1:2\n3 1:3\n4 1:4\n")
    refused("train -s 3 -b 1 few out", 1, "which take at least 5 examples of positive weight, but there are", capsys)


def test_other_names_of_the_data_are_no_targets_either(capsys: pytest.CaptureFixture[str]) -> None:
    os.symlink("data", "link")
    os.link("data", "twin")
    refused("train data link", 2, "link would be written over data", capsys)
    refused("train link data", 2, "data would be written over link", capsys)
    refused("predict data model twin", 2, "twin would be written over data", capsys)


def test_names_that_no_file_can_have(capsys: pytest.CaptureFixture[str]) -> None:
    os.symlink("loop", "loop2")
    os.symlink("loop2", "loop")
    for name, code, sentence in (
        ("", 2, "maxmargin train: the name of the file to write is empty\n"),
        ("a" * 256, 1, f"maxmargin train: {'a' * 256}: File name too long\n"),
        ("loop", 1, "maxmargin train: loop: Too many levels of symbolic links\n"),
    ):
        assert main(["train", "-q", "data", name]) == code
        assert capsys.readouterr().err == sentence
    assert os.path.islink("loop")


@pytest.mark.parametrize("option", ["-c", "-g", "-r", "-n", "-p", "-e", "-m", "--delta", "--quantile", "--tol-gap",
                                    "--max-time", "-d", "-v", "--seed", "-j", "--max-iter"])  # fmt: skip
@pytest.mark.parametrize("value", ["nan", "NaN", "x", "1e", "1_0", ""])
def test_numbers_that_are_none(option: str, value: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "data", "out", option, value]) == 2
    assert f"{value!r} is not a" in capsys.readouterr().err
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("option", "value"),
    [("-c", "0"), ("-g", "-1"), ("-g", "inf"), ("-n", "0"), ("-n", "1.01"), ("-p", "-0.1"), ("-e", "0"), ("-m", "0"),
     ("--delta", "0"), ("--quantile", "1"), ("--quantile", "0"), ("-d", "-1"), ("-d", "2.5"), ("--seed", "-1"),
     ("--seed", "4294967296"), ("-j", "0"), ("--max-iter", "-2"), ("-r", "inf")],
)  # fmt: skip
def test_numbers_out_of_range(option: str, value: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "data", "out", option, value]) == 2
    assert f"{value!r} is not a" in capsys.readouterr().err


def sparse(**changes: Any) -> dict[str, Any]:
    parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": np.array(X.shape), "y": Y}
    return parts | changes


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ({"X": DENSE, "y": Y[:-1]}, "X has 400 rows and y has 399 labels, and they must be as many"),
        ({"X": DENSE[:, 0], "y": Y}, "X has the shape (400,), and a 2-dimensional array is needed"),
        ({"X": DENSE, "y": Y[:, None]}, "y has the shape (400, 1), and a 1-dimensional array is needed"),
        ({"X": DENSE.astype(str), "y": Y}, "X holds values of the type <U32, and numbers are needed"),
        ({"X": DENSE + 1j, "y": Y}, "X holds values of the type complex128, and numbers are needed"),
        ({"X": DENSE, "y": Y.astype(complex)}, "y holds values of the type complex128, and numbers or strings"),
        ({"X": DENSE, "y": Y.astype(object)}, "its arrays cannot be read: one holds Python objects"),
        ({"X": DENSE[:0], "y": Y[:0]}, "has no rows"),
        ({"X": DENSE}, "has the arrays ['X'], and X and y, or data, indices, indptr, shape and y, are needed"),
        (sparse(indices=X.indices + 1), "data, indices, indptr and shape are no CSR matrix"),
        (sparse(indices=-X.indices - 1), "data, indices, indptr and shape are no CSR matrix"),
        (sparse(indptr=X.indptr[::-1]), "data, indices, indptr and shape are no CSR matrix"),
        (sparse(indptr=X.indptr * 2), "data, indices, indptr and shape are no CSR matrix"),
        (sparse(shape=np.array([400])), "data, indices, indptr and shape are no CSR matrix"),
        (sparse(shape=np.array([400, -2])), "data, indices, indptr and shape are no CSR matrix"),
        (sparse(indices=X.indices.astype(float)), "indices holds values of the type float64, and whole numbers"),
        (sparse(data=X.data[:, None]), "data has the shape (800, 1), and a 1-dimensional array is needed"),
    ],
)
@pytest.mark.parametrize("command", ["train -q {} out", "predict {} model out", "scale {} out", "info {}"])
def test_archives_that_hold_no_data(
    arrays: dict[str, Any], sentence: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez("bad.npz", **arrays)
    refused(command.format("bad.npz"), 1, sentence, capsys)


def test_damaged_archives(capsys: pytest.CaptureFixture[str]) -> None:
    np.savez_compressed("whole.npz", X=DENSE, y=Y)
    raw = bytearray(Path("whole.npz").read_bytes())
    random = np.random.default_rng(0)
    for position in random.choice(len(raw), 60, replace=False):
        raw[position] ^= 0x55
        Path("bad.npz").write_bytes(raw)
        raw[position] ^= 0x55
        assert main(["info", "bad.npz"]) in (0, 1)
        assert "Traceback" not in capsys.readouterr().err


def test_labels_that_are_strings(capsys: pytest.CaptureFixture[str]) -> None:
    names = np.where(Y > 0, "up", "down")
    np.savez("names.npz", X=DENSE, y=names)
    assert main(["train", "-q", "-g", "10", "names.npz", "out"]) == 0
    assert main(["predict", "names.npz", "out", "predicted"]) == 0
    assert "Accuracy = 9" in capsys.readouterr().out
    assert set(Path("predicted").read_text().split()) == {"up", "down"}
    assert main(["predict", "data", "out"]) == 0
    assert capsys.readouterr().out == "400 rows predicted; the labels of model and data are numbers and strings\n"
    assert main(["train", "-q", "-s", "3", "data", "regressor"]) == 0
    holds = "names.npz: y holds strings such as "
    for words in ("train -q -s 3 names.npz x", "train -q -s 2 names.npz x", "predict names.npz regressor",
                  "scale names.npz", "scale -y 0 1 names.npz x", "convert names.npz x.txt"):  # fmt: skip
        refused(words, 1, holds, capsys)
    refused("train -q --format libsvm names.npz x", 1, "holds whole numbers as labels, and names.npz has down", capsys)
    refused("convert out x", 1, "LIBSVM's labels are whole numbers, and the classes are ['down', 'up']", capsys)


@pytest.mark.parametrize(("value", "shown"), [(np.nan, "nan"), (np.inf, "inf"), (-np.inf, "-inf")])
def test_what_is_not_finite_is_not_scaled(value: float, shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scale", "-s", "ranges", "data", "scaled"]) == 0
    wrong = DENSE.copy()
    wrong[7, 1] = value
    target = Y.copy()
    target[3] = value
    np.savez("dense.npz", X=wrong, y=Y)
    S = sp.csr_matrix(wrong)
    np.savez("sparse.npz", data=S.data, indices=S.indices, indptr=S.indptr, shape=S.shape, y=Y)
    np.savez("target.npz", X=DENSE, y=target)
    for name in ("dense.npz", "sparse.npz"):
        for option in ("", "-r ranges"):
            sentence = f"row 8 has the value {shown} of feature 2, both counted from 1, and only finite"
            refused(f"scale {option} {name} out", 1, sentence, capsys)
        refused(f"train -q {name} out", 1, "", capsys)
    refused("scale -y 0 1 target.npz out", 1, f"row 4 has the target {shown}, and only finite targets", capsys)


def test_standard_output_takes_data_and_leaves_the_words_to_standard_error(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    assert main(["predict", "data", "model", "-"]) == 0
    out, err = capfdbinary.readouterr()
    np.testing.assert_array_equal(np.array(out.split(), float), models.load("model").predict(X))
    assert err.splitlines()[1].startswith(b"Accuracy = ")
    assert main(["predict", "-q", "--decision-values", "data", "model", "-"]) == 0
    out, err = capfdbinary.readouterr()
    assert (out.count(b"\n"), err) == (400, b"")
    assert main(["convert", "data", "-"]) == 0
    out, err = capfdbinary.readouterr()
    Path("back").write_bytes(out)
    assert (libsvm.read("back")[0] != X).nnz == 0
    assert err == b""


def test_folds_that_did_not_converge(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "-v", "4", "--max-iter", "3", "data"]) == 3
    out, err = capsys.readouterr()
    assert out.startswith("Cross Validation Accuracy = ")
    assert err.splitlines()[1:] == ["maxmargin: warning: 4 of 4 folds did not converge within the limits"]
    assert main(["train", "-q", "-v", "4", "--max-iter", "3", "--json", "data"]) == 3
    assert json.loads(capsys.readouterr().out)["converged"] is False


def test_weights_of_classes_where_there_are_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "-s", "3", "-w1", "5", "data", "out"]) == 0
    assert "maxmargin: warning: class weights are not for epsilon-svr: they are passed over" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("--selection hmg --selection-rows all", {"selection": "hmg", "selection_rows": "all"}),
        ("--multiclass one-vs-rest", {"multiclass": "one-vs-rest"}),
        ("-h 0", {"shrinking": False}),
        ("-h none", {"shrinking": False}),
        ("-h history", {"shrinking": "history"}),
        ("--shrinking bounds", {"shrinking": "bounds"}),
        ("-s 3 --loss huber --delta 0.5", {"delta": 0.5}),
        ("-s 3 --loss quantile --quantile 0.9", {"quantile": 0.9}),
        ("-m auto", {"cache_size": "auto"}),
        ("-g scale", {"gamma": "scale"}),
    ],
)
def test_newer_options_reach_the_estimator(words: str, expected: dict[str, Any]) -> None:
    assert main(f"train -q {words} data out".split()) == 0
    found = models.load("out").get_params()
    assert {key: found[key] for key in expected} == expected


def test_a_model_of_another_version_and_a_damaged_one(capsys: pytest.CaptureFixture[str]) -> None:
    raw = bytearray(Path("model").read_bytes())
    for position, sentence in ((16, "model has format version"), (len(raw) - 64, "model is damaged"), (70, "model is")):
        changed = raw.copy()
        changed[position] ^= 0x02
        Path("model").write_bytes(changed)
        refused("predict data model out", 1, sentence, capsys)
