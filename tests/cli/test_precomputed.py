"""Files of kernel values, whose columns are named by serials, as LIBSVM's programs read and write them."""

from pathlib import Path

import numpy as np
import pytest
from libsvm import svmutil

from maxmargin import models
from maxmargin.cli import main

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 3))
Y = np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0)
K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
PART = RNG.permutation(90)[:50]  # the rows to train on, in any order
REST = np.setdiff1d(np.arange(90), PART)
OPTIONS = ["-s 0 -c 5", "-s 1 -n 0.3", "-s 2 -n 0.3", "-s 3 -c 2 -p 0.05", "-s 4 -c 2 -n 0.4"]


def write(name: str, rows: np.ndarray, serials: list[object] | None = None) -> None:
    """Rows of the kernel matrix of the whole set, with the numbers that they have in it."""
    lines = []
    for i, serial in zip(rows, serials or [f"0:{i + 1}" for i in rows], strict=True):
        lines.append(f"{Y[i]:g} {serial} " + " ".join(f"{j}:{float(v)!r}" for j, v in enumerate(K[i], 1)) + "\n")
    Path(name).write_text("".join(lines))


def nodes(rows: np.ndarray) -> list[dict[int, float]]:
    return [{0: i + 1, **dict(enumerate(K[i].tolist(), 1))} for i in rows]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write("part", PART)
    write("rest", REST)


@pytest.mark.parametrize("options", OPTIONS)
def test_a_part_of_the_rows_is_named_by_serials(options: str, capsys: pytest.CaptureFixture[str]) -> None:
    problem = svmutil.svm_problem(Y[PART].tolist(), nodes(PART), isKernel=True)
    theirs = svmutil.svm_train(problem, f"-t 4 {options} -e 1e-8 -q")
    svmutil.svm_save_model("theirs", theirs)
    assert main(f"train -q -t 4 {options} -e 1e-8 part ours".split()) == 0
    assert main(["convert", "-q", "ours", "exported"]) == 0
    exported = svmutil.svm_load_model("exported")
    for rows, name in ((PART, "part"), (REST, "rest")):
        wanted = values(theirs, rows)
        np.testing.assert_allclose(values(exported, rows), wanted, atol=1e-5)
        for model in ("ours", "theirs", "exported"):
            assert main(f"predict -q {name} {model} found".split()) == 0
            found = np.loadtxt("found")
            if "-s 3" in options or "-s 4" in options:
                np.testing.assert_allclose(found, wanted, atol=1e-5)
            else:
                np.testing.assert_array_equal(found[abs(wanted) > 1e-5], np.sign(wanted)[abs(wanted) > 1e-5])


def values(model: object, rows: np.ndarray) -> np.ndarray:
    """The decision values of a LIBSVM model, positive for the class 1."""
    labels = model.get_labels()  # type: ignore[attr-defined]
    found = svmutil.svm_predict([], nodes(rows), model, "-q")[2]
    return np.ravel(found) * (-1.0 if labels and labels[0] == -1 else 1.0)


def test_the_rows_of_the_whole_set_in_another_order_are_the_same_model(capsys: pytest.CaptureFixture[str]) -> None:
    write("whole", np.arange(90))
    write("turned", np.arange(90)[::-1])
    for name in ("whole", "turned"):
        assert main(f"train -q -t 4 -c 5 --tol-gap 1e-9 {name} {name}.model".split()) == 0
        assert main(f"predict -q --decision-values whole {name}.model {name}.out".split()) == 0
    np.testing.assert_allclose(np.loadtxt("whole.out"), np.loadtxt("turned.out"), atol=1e-5)
    supports = [set(models.load(f"{name}.model").support_.tolist()) for name in ("whole", "turned")]
    assert supports[0] == supports[1]


def test_folds_of_a_part_use_the_columns_of_their_rows(capsys: pytest.CaptureFixture[str]) -> None:
    inner = K[np.ix_(PART, PART)]
    np.savez("inner.npz", X=inner, y=Y[PART])
    assert main(["train", "-q", "-t", "4", "-c", "5", "-v", "5", "part"]) == 0
    assert main(["train", "-q", "-t", "4", "-c", "5", "-v", "5", "inner.npz"]) == 0
    part, matrix = capsys.readouterr().out.splitlines()
    assert part == matrix


def test_the_serials_of_rows_to_predict_say_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "-q", "-t", "4", "part", "model"]) == 0
    write("numbered", REST, [f"0:{i}" for i in range(len(REST))])
    write("bare", REST, [""] * len(REST))
    for name in ("rest", "numbered", "bare"):
        assert main(["predict", name, "model"]) == 0
    assert len(set(capsys.readouterr().out.splitlines())) == 1


@pytest.mark.parametrize(
    ("serial", "fault"),
    [("", "no serial number"), ("0:0", "the serial number 0"), ("0:91", "the serial number 91"),
     ("0:1.5", "the serial number 1.5"), ("0:-1", "the serial number -1")],
)  # fmt: skip
@pytest.mark.parametrize("folds", ["", "-v 3"])
def test_a_row_without_a_column_is_refused(
    serial: str, fault: str, folds: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write("wrong", PART[:10], ["0:1"] * 6 + [serial] + ["0:1"] * 3)
    assert main(f"train -q -t 4 {folds} wrong refused".split()) == 1
    sentence = "a precomputed kernel needs 0:SERIAL with the number of the row's own column, from 1 to 90"
    assert capsys.readouterr().err == f"maxmargin train: wrong, row 7 has {fault}, and {sentence}\n"
    assert not Path("refused").exists()


def test_fewer_columns_than_the_model_needs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "-q", "-t", "4", "part", "model"]) == 0
    Path("narrow").write_text("1 0:1 1:0.5 2:0.5\n")
    assert main(["predict", "narrow", "model"]) == 1
    assert "X has 2 features, but SVC is expecting 90 features as input." in capsys.readouterr().err


def test_a_kernel_that_is_not_symmetric_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    Path("askew").write_text("1 0:1 1:1 2:0.5\n-1 0:2 1:0.2 2:1\n")
    assert main(["train", "-q", "-t", "4", "askew", "model"]) == 1
    assert "symmetric" in capsys.readouterr().err
    assert not Path("model").exists()
