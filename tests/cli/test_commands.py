"""Each command does what the library does, and says it as LIBSVM's programs do."""

import bz2
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from libsvm import svmutil

from maxmargin import SVC, models
from maxmargin.cli import main
from maxmargin.cli.fitting import MACHINES, _folds
from maxmargin.cli.parser import KERNELS, LOSSES, SELECTIONS, TYPES
from maxmargin.data import examples, libsvm

TRAIN, TEST = str(examples.spirals("train")), str(examples.spirals("test"))
X, Y = libsvm.read(TRAIN)
X_TEST, Y_TEST = libsvm.read(TEST)
LINEAR = X.toarray() @ [1.0, -0.5] + 0.3


class Shell:
    """A folder, and a way to run commands in it."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.capsys = folder, capsys

    def __call__(self, line: str, *words: str, code: int = 0) -> str:
        """Standard output of a command that must end with the code."""
        found = main([*line.split(), *words])
        out, self.err = self.capsys.readouterr()
        assert found == code, self.err
        return out

    def json(self, line: str, *words: str, code: int = 0) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self(line, *words, "--json", code=code))
        return found

    def lines(self, name: str) -> list[str]:
        return (self.folder / name).read_text().splitlines()


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.chdir(tmp_path)
    return Shell(tmp_path, capsys)


def test_train_is_the_estimator_with_libsvm_s_defaults(shell: Shell) -> None:
    out = shell(f"train {TRAIN}")
    assert "converged after" in out
    assert shell.err == f"maxmargin train: reading {TRAIN}\n"
    model = models.load("spirals.train.svm.model")
    expected = SVC(gamma=1 / 2, cache_size=100, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X_TEST), expected.predict(X_TEST))
    np.testing.assert_allclose(model.primal_objective_, expected.primal_objective_, rtol=1e-9)


@pytest.mark.parametrize(("kind", "loss"), MACHINES)
def test_every_type_and_loss(kind: str, loss: str | None, shell: Shell) -> None:
    found = shell.json(f"train -s {kind} -g 10 -q {TRAIN} model", *([f"--loss={loss}"] if loss else []))
    assert found["class"] == MACHINES[kind, loss][0] == type(models.load("model")).__name__
    assert found["gap"] < 1e-2
    score = shell.json(f"predict {TEST} model out")
    values = np.array(shell.lines("out"), float)
    np.testing.assert_array_equal(values, models.load("model").predict(X_TEST))
    if "svr" in kind:
        assert score["mean_squared_error"] == pytest.approx(np.mean((values - Y_TEST) ** 2))
        assert score["squared_correlation"] == pytest.approx(np.corrcoef(values, Y_TEST)[0, 1] ** 2)
    else:
        assert score["correct"] == int(np.sum(values == Y_TEST))


@pytest.mark.parametrize("kernel", [name for name in KERNELS if name != "precomputed"])
def test_every_kernel(kernel: str, shell: Shell) -> None:
    libsvm.write("data", abs(X), Y)
    assert shell.json(f"train -t {kernel} -g 0.5 -r 0.5 -q data model")["kernel"] == kernel
    assert models.load("model").kernel_.block(abs(X[:2]), abs(X[:2])).shape == (2, 2)


def test_options_reach_the_estimator(shell: Shell) -> None:
    shell(
        f"train -q {TRAIN} model -c 2 -g 3 -e 1e-4 -m 50 -h 0 -w1 5 -w-1 2 --no-intercept --precision float64",
        "--tol-gap=1e-5",
    )
    shell(f"train -q {TRAIN} more --selection mvp --solver smo -j 1 --max-time 60 --max-iter 100000 --seed 7")
    expected = {"C": 2.0, "gamma": 3.0, "tol": 1e-4, "cache_size": 50.0, "shrinking": False, "precision": "float64"}
    expected |= {"fit_intercept": False, "class_weight": {1.0: 5.0, -1.0: 2.0}, "tol_gap": 1e-5}
    found = models.load("model").get_params()
    assert {key: found[key] for key in expected} == expected
    expected = {
        "selection": "mvp",
        "solver": "smo",
        "n_jobs": 1,
        "max_time": 60.0,
        "max_iter": 100000,
        "random_state": 7,
    }
    found = models.load("more").get_params()
    assert {key: found[key] for key in expected} == expected


@pytest.mark.parametrize(
    "options",
    [
        "--working-set-size 20",
        "--working-set-size 20 --new-variables 6 --half-cached",
        "--working-set-size 100 --inner projection",
        "--inner interior --solver working-set",
    ],
)
def test_working_sets(options: str, shell: Shell) -> None:
    shell(f"train -c 10 -g 10 -q {TRAIN} pairs.model")
    shell(f"train -c 10 -g 10 -q {options} {TRAIN} sets.model")
    pairs, sets = models.load("pairs.model"), models.load("sets.model")
    assert sets.status_ == "converged"
    assert sets.dual_objective_ == pytest.approx(pairs.dual_objective_, rel=1e-4)
    np.testing.assert_array_equal(sets.predict(X_TEST), pairs.predict(X_TEST))


def test_the_parser_knows_what_the_estimators_know() -> None:
    from maxmargin.estimators import parameters

    assert set(KERNELS) == parameters.KERNELS
    assert {kind for kind, _ in MACHINES} == set(TYPES)
    assert {(kind, loss) for kind, losses in LOSSES.items() for loss in losses} == {m for m in MACHINES if m[1]}
    for choices, name in ((SELECTIONS, "selection"), (("auto", "smo", "working-set"), "solver")):
        assert set(choices) == parameters.COMMON[name][0].options


def test_probabilities_are_written_as_svm_predict_does(shell: Shell) -> None:
    shell(f"train -b 1 -g 10 -q {TRAIN} model")
    shell(f"predict -b 1 -q {TEST} model out")
    first, *lines = shell.lines("out")
    assert first == "labels -1 1"
    expected = models.load("model")
    table = np.array([line.split() for line in lines], float)
    np.testing.assert_array_equal(table[:, 0], expected.predict(X_TEST))
    np.testing.assert_array_equal(table[:, 1:], expected.predict_proba(X_TEST))


SENTENCE = """Prob. model for test data: target value = predicted value + z,
z: Laplace distribution e^(-|z|/sigma)/(2sigma),sigma={:g}
"""


@pytest.mark.parametrize("kind", ["epsilon-svr", "nu-svr"])
@pytest.mark.parametrize("form", ["maxmargin", "libsvm"])
def test_the_noise_of_a_regression_is_said_as_svm_predict_does(kind: str, form: str, shell: Shell) -> None:
    out = shell(f"train -s {kind} -b 1 -g 10 --seed 3 --format {form} {TRAIN} model")
    scale = shell.json("info model")["noise_scale"]
    assert scale == (models.load if form == "maxmargin" else models.import_libsvm)("model").noise_scale_
    assert f"\nnoise scale {scale:.6g}\n" in out
    errors = shell(f"predict {TEST} model")
    assert shell(f"predict -b 1 {TEST} model out") == SENTENCE.format(scale) + errors
    shell(f"predict -q {TEST} model plain")
    assert shell.lines("out") == shell.lines("plain")
    assert shell(f"predict -b 1 -q {TEST} model") == ""
    assert shell.json(f"predict -b 1 {TEST} model")["noise_scale"] == scale
    assert "noise_scale" not in shell.json(f"predict {TEST} model")
    assert shell(f"predict -b 1 {TEST} model -").splitlines() == shell.lines("plain")
    assert shell.err.endswith(SENTENCE.format(scale) + errors)


def test_the_seed_is_that_of_the_folds_of_the_noise(shell: Shell) -> None:
    first, again, other = (
        shell.json(f"train -s 3 -b 1 -g 10 --seed {seed} -q {TRAIN} model")["noise_scale"] for seed in (3, 3, 4)
    )
    assert first == again != other


@pytest.mark.parametrize("form", ["maxmargin", "libsvm"])
def test_probabilities_of_a_one_class_machine_are_written_as_svm_predict_does(form: str, shell: Shell) -> None:
    shell(f"train -s 2 -n 0.3 -b 1 -g 10 --format {form} -q {TRAIN} model")
    shell(f"predict -b 1 -q {TEST} model out")
    first, *lines = shell.lines("out")
    assert first == "labels normal outlier"
    model = (models.load if form == "maxmargin" else models.import_libsvm)("model")
    table = np.array([line.split() for line in lines], float)
    np.testing.assert_array_equal(table[:, 0], model.predict(X_TEST))
    np.testing.assert_array_equal(table[:, 1:], model.predict_proba(X_TEST)[:, ::-1])
    if form == "libsvm":
        theirs = svmutil.svm_load_model("model")
        _, _, expected = svmutil.svm_predict([], X_TEST, theirs, "-b 1 -q")
        np.testing.assert_allclose(table[:, 1:], expected, rtol=1e-12)


@pytest.mark.parametrize("kind", ["one-class", "epsilon-svr", "nu-svr"])
def test_cross_validation_needs_no_probabilities(kind: str, shell: Shell) -> None:
    assert shell.json(f"train -s {kind} -b 1 -v 3 -q {TRAIN}") == shell.json(f"train -s {kind} -v 3 -q {TRAIN}")


def test_decision_values_are_written(shell: Shell) -> None:
    shell(f"train -g 10 -q {TRAIN} model")
    shell(f"predict --decision-values -q {TEST} model out")
    table = np.array([line.split() for line in shell.lines("out")], float)
    np.testing.assert_array_equal(table[:, 1], models.load("model").decision_function(X_TEST))


def test_predict_speaks_like_svm_predict(shell: Shell) -> None:
    shell(f"train -g 10 -c 10 -q {TRAIN} model")
    correct = int(np.sum(models.load("model").predict(X_TEST) == Y_TEST))
    expected = f"Accuracy = {correct / 4:g}% ({correct}/400) (classification)\n"
    assert shell(f"predict {TEST} model") == expected
    assert shell(f"predict -q {TEST} model out") == ""
    shell(f"train -s 3 -g 10 -q {TRAIN} model")
    error, correlation = shell(f"predict {TEST} model").splitlines()
    assert error.startswith("Mean squared error = 0.")
    assert error.endswith(" (regression)")
    assert correlation.startswith("Squared correlation coefficient = 0.")


def test_cross_validation(shell: Shell) -> None:
    word, value = shell(f"train -v 5 -g 10 -c 10 -q {TRAIN}").rsplit(" ", 1)
    assert word == "Cross Validation Accuracy ="
    assert float(value.rstrip("%\n")) > 90
    error, correlation = shell(f"train -s 3 -v 5 -g 10 -c 10 -q {TRAIN}").splitlines()
    assert 0 < float(error.removeprefix("Cross Validation Mean squared error = ")) < 0.3
    assert float(correlation.removeprefix("Cross Validation Squared correlation coefficient = ")) > 0.7
    assert shell.json(f"train -v 4 -g 10 -q {TRAIN}") == shell.json(f"train -v 4 -g 10 -q {TRAIN}")
    assert list(shell.folder.iterdir()) == []
    shell("train -v 401", TRAIN, code=2)
    assert "401 folds are more than the 400 rows" in shell.err


def test_folds_may_be_as_many_as_rows_and_classes_as_small_as_one(shell: Shell) -> None:
    libsvm.write("few", np.array([[1.0], [2.0], [3.0], [-1.0]]), [1, 1, 1, -1])
    for folds in (2, 3, 4):
        assert shell.json(f"train -v {folds} -q few")["correct"] == 3  # nobody can know the only one of its class
        shell(f"train -v {folds} -s 3 -q few")
    libsvm.write("two", np.array([[1.0], [2.0], [-1.0], [-2.0]]), [1, 1, -1, -1])
    assert shell("train -v 4 -q -w1 2 two") == "Cross Validation Accuracy = 100%\n"
    libsvm.write("three", np.array([[1.0], [2.0], [-1.0], [-2.0], [9.0]]), [1, 1, -1, -1, 7])
    assert shell("train -v 5 -w7 2 three") == "Cross Validation Accuracy = 80%\n"
    assert shell.err == "maxmargin train: reading three\n"


@pytest.mark.parametrize("count", [2, 3, 10, 50])
def test_folds_are_as_large_as_each_other_and_so_are_their_classes(count: int) -> None:
    y = np.repeat(["a", "b", "c"], [30, 15, 5])
    fold = _folds(y, count, True, 0)
    sizes = np.bincount(fold, minlength=count)
    assert np.ptp(sizes) <= 1
    for label in "abc":
        assert np.ptp(np.bincount(fold[y == label], minlength=count)) <= 1
    assert (_folds(y, count, True, 1) != fold).any()


def numbered(K: np.ndarray, y: np.ndarray) -> str:
    rows = (" ".join(f"{j}:{float(v)!r}" for j, v in enumerate(row, 1)) for row in K)
    return "".join(f"{label:g} 0:{i} {row}\n" for i, (label, row) in enumerate(zip(y, rows, strict=True), 1))


def test_precomputed_kernels_as_libsvm_writes_them(shell: Shell) -> None:
    K = np.exp(-10 * ((X.toarray()[:, None] - X.toarray()) ** 2).sum(axis=2))
    K_test = np.exp(-10 * ((X_TEST.toarray()[:, None] - X.toarray()) ** 2).sum(axis=2))
    Path("K").write_text(numbered(K, Y))
    Path("K_test").write_text(numbered(K_test, Y_TEST))
    shell("train -t 4 -c 10 -q K model")
    shell(f"train -g 10 -c 10 -q {TRAIN} same")
    assert shell("predict K_test model") == shell(f"predict {TEST} same")
    assert "Accuracy" in shell("train -t 4 -c 10 -v 3 -q K")
    shell("convert model K.libsvm -q")
    shell("convert model K.svmlight --format svmlight", code=1)


def test_formats_of_the_model(shell: Shell) -> None:
    score = None
    for name in ("maxmargin", "libsvm"):
        shell(f"train -g 10 -q --format {name} {TRAIN} {name}")
        assert shell.json(f"info {name}")["kind"] == name
        score = score or shell(f"predict {TEST} {name}")
        assert shell(f"predict {TEST} {name}") == score
    shell(f"train -g 10 -q --format svmlight {TRAIN} svmlight")
    assert shell.lines("svmlight")[0] == "SVM-light Version V6.02"
    for options in ("-b 1", "-t laplacian", "--loss least-squares", "-s 2 --format svmlight"):
        shell(f"train --format libsvm {options} {TRAIN} refused", code=2)
        assert "cannot hold" in shell.err
    libsvm.write("three", X, np.where(X[:, 0].toarray().ravel() > 0.5, 1.5, Y))
    for name in ("svmlight", "libsvm"):
        shell(f"train --format {name} three refused", code=1)
        assert f"--format {name} holds whole numbers as labels, and three has 1.5" in shell.err
    libsvm.write("whole", X, np.where(X[:, 0].toarray().ravel() > 0.5, 2, Y))
    shell("train --format svmlight whole refused", code=1)
    assert "--format svmlight is for two classes, and whole has 3" in shell.err
    shell("train --format libsvm --multiclass one-vs-rest whole refused", code=1)
    assert "--format libsvm holds pairs of classes only, so --multiclass one-vs-rest does not fit it" in shell.err
    assert not Path("refused").exists()


def test_test_data_may_have_more_or_fewer_features(shell: Shell) -> None:
    wide = sp.hstack([X_TEST, sp.csr_matrix(np.full((400, 2), 0.5))]).tocsr()
    narrow = X_TEST[:, :1]
    libsvm.write("wide", wide, Y_TEST)
    libsvm.write("narrow", narrow, Y_TEST)
    shell(f"train -g 10 -q {TRAIN} model")
    shell("convert model model.libsvm -q")
    padded = SVC(gamma=10, cache_size=100).fit(sp.hstack([X, sp.csr_matrix((400, 2))]).tocsr(), Y)
    for model in ("model", "model.libsvm"):
        shell(f"predict -q wide {model} wide.out")
        np.testing.assert_array_equal(np.array(shell.lines("wide.out"), float), padded.predict(wide))
        shell(f"predict -q narrow {model} narrow.out")
        padded_rows = sp.hstack([narrow, sp.csr_matrix((400, 1))]).tocsr()
        np.testing.assert_array_equal(
            np.array(shell.lines("narrow.out"), float), models.load("model").predict(padded_rows)
        )


def test_scale_saves_and_restores(shell: Shell) -> None:
    out = shell(f"scale -l 0 -u 1 -y -1 1 -s ranges {TRAIN}")
    Path("scaled").write_text(out)
    scaled, y = libsvm.read("scaled", n_features=2)
    assert (scaled.min(), scaled.max(), y.min(), y.max()) == (0.0, 1.0, -1.0, 1.0)
    shell(f"scale -r ranges {TRAIN} again.gz")
    assert gzip.decompress(Path("again.gz").read_bytes()).decode() == out
    libsvm.write("wide", sp.hstack([X, sp.csr_matrix(np.ones((400, 1)))]).tocsr(), Y)
    assert shell("scale -r ranges wide") == out
    assert shell.err == "maxmargin: warning: ranges has no range for feature 3: removed\n"
    shell("scale -q -r ranges wide")
    assert shell.err == ""
    shell(f"scale -s a -r ranges {TRAIN}", code=2)


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz"])
def test_convert_data_there_and_back(suffix: str, shell: Shell) -> None:
    shell(f"convert -q {TRAIN} data.npz")
    shell(f"convert -q data.npz data{suffix}")
    back, y = libsvm.read(f"data{suffix}")
    assert (back != X).nnz == 0
    np.testing.assert_array_equal(y, Y)
    shell("predict data.npz", trained(shell))


def trained(shell: Shell) -> str:
    shell(f"train -g 10 -q {TRAIN} model")
    return "model"


def test_dense_npz_data(shell: Shell) -> None:
    np.savez("dense.npz", X=X.toarray(), y=Y)
    shell("train -g 10 -q dense.npz model")
    assert shell("predict dense.npz model") == shell("predict dense.npz", trained(shell))
    np.savez("other.npz", a=np.ones(3))
    shell("info other.npz", code=1)
    assert "has the arrays ['a'], and X and y, or" in shell.err
    Path("broken.npz").write_bytes(Path("dense.npz").read_bytes()[:500])
    shell("info broken.npz", code=1)
    assert "broken.npz is a damaged .npz file" in shell.err


def test_info_describes_models_and_data(shell: Shell) -> None:
    found = shell.json("info", trained(shell))
    assert (found["class"], found["features"], found["classes"]) == ("SVC", 2, [-1.0, 1.0])
    assert found["support_vectors"] == len(models.load("model").support_)
    assert found["certificate"]["gap"] == models.load("model").duality_gap_
    assert "class: SVC" in shell("info model")
    shell("convert model libsvm -q")
    assert shell.json("info libsvm")["support_vectors"] == found["support_vectors"]
    found = shell.json(f"info {TRAIN}")
    assert (found["rows"], found["features"], found["labels"]) == (400, 2, {"-1": 200, "1": 200})
    libsvm.write("targets", X, LINEAR)
    assert shell.json("info targets")["target"]["greatest"] == LINEAR.max()


def test_zero_based_text(shell: Shell) -> None:
    libsvm.write("zero", X, Y, zero_based=True)
    shell("train -q zero model", code=1)
    shell("train -q -g 10 --zero-based zero model")
    score = shell("predict --zero-based zero model")
    assert score == shell(f"predict {TRAIN}", trained(shell))


def test_compressed_text_is_trained_on(shell: Shell) -> None:
    Path("data.bz2").write_bytes(bz2.compress(Path(TRAIN).read_bytes()))
    assert shell("train -g 10 -q data.bz2") == ""
    assert shell(f"predict {TEST} data.bz2.model") == shell(f"predict {TEST}", trained(shell))


def test_a_model_of_dense_arrays_predicts_text(shell: Shell) -> None:
    model = SVC(gamma=10).fit(X.toarray(), Y)
    models.save(model, "model")
    libsvm.write("wide", sp.hstack([X_TEST, sp.csr_matrix((400, 1))]).tocsr(), Y_TEST)
    with gzip.open("wide.gz", "wt") as file:
        file.writelines(f"{line} 3:0\n" for line in Path("wide").read_text().splitlines())
    correct = int(np.sum(model.predict(X_TEST.toarray()) == Y_TEST))
    for data in (TEST, "wide", "wide.gz"):
        assert shell.json(f"predict {data} model")["correct"] == correct


def test_a_weight_of_a_class_without_examples_is_a_warning(shell: Shell) -> None:
    shell(f"train -w1 2 -w7 3 {TRAIN} model")
    assert "maxmargin: warning: the class 7 has a weight and no examples" in shell.err
    assert models.load("model").class_weight == {1.0: 2.0}
    shell(f"train -w7 3 -q {TRAIN} same")
    shell(f"train -q {TRAIN} plain")
    assert shell(f"predict {TEST} same") == shell(f"predict {TEST} plain")


@pytest.mark.parametrize(
    "options",
    ["-c 10 -g 10", "-c 10 -g 10 -w1 5 -w-1 2", "-s 1 -n 0.2 -g 10", "-s 2 -n 0.2 -g 5", "-t 3 -g 0.5 -r -0.2 -c 2"],
)
def test_libsvm_trains_the_same_model(options: str, shell: Shell) -> None:
    theirs = svmutil.svm_train(Y, X.toarray(), f"{options} -e 1e-6 -q")
    svmutil.svm_save_model("theirs", theirs)
    shell(f"train -q -e 1e-6 --tol-gap 1e-9 {options} {TRAIN} ours")
    expected, found = (models.import_libsvm("theirs"), models.load("ours"))
    values = expected.decision_function(X_TEST)
    np.testing.assert_allclose(found.decision_function(X_TEST), values, rtol=1e-3, atol=1e-3 * abs(values).max())
    assert len(found.support_) == theirs.get_nr_sv()
