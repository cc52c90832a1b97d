"""Probabilities and noise in LIBSVM's model files, both ways, against LIBSVM itself."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from libsvm import svmutil

from maxmargin import estimators, models
from maxmargin.models import libsvm_text

RNG = np.random.default_rng(2)
X = RNG.normal(size=(80, 5))
NEW = RNG.normal(size=(50, 5))
SCORE = X[:, 0] + 0.1 * X[:, 1] ** 2


def trained(options: str, y: np.ndarray) -> Any:
    return svmutil.svm_train(y, X, f"{options} -q")


def test_probabilities_are_never_dropped_in_silence(tmp_path: Path) -> None:
    path = str(tmp_path / "model")
    svmutil.svm_save_model(path, trained("-b 1", np.sign(SCORE - np.median(SCORE))))
    with pytest.warns(UserWarning, match=f"{path}: the probabilities are left out, their formula is LIBSVM's own"):
        model = models.import_libsvm(path)
    assert not hasattr(model, "predict_proba")
    model.probability = True
    with pytest.raises(ValueError, match="two slopes for each pair of classes; drop_probabilities=True exports"):
        models.export_libsvm(model, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    models.export_libsvm(model, tmp_path / "out", drop_probabilities=True)
    assert libsvm_text.read(tmp_path / "out").prob_a == ()


@pytest.mark.parametrize(("options", "name"), [("-s 3 -p 0.2", "SVR"), ("-s 4 -n 0.3", "NuSVR")])
def test_the_noise_of_a_regression_is_imported(options: str, name: str, tmp_path: Path) -> None:
    libsvm = trained(f"{options} -g 0.3 -b 1", SCORE)
    svmutil.svm_save_model(str(tmp_path / "model"), libsvm)
    model = models.import_libsvm(tmp_path / "model")
    assert (type(model).__name__, model.probability) == (name, True)
    assert model.noise_scale_ == libsvm.get_svr_probability()


def test_the_probabilities_of_a_one_class_machine_are_imported(tmp_path: Path) -> None:
    libsvm = trained("-s 2 -n 0.3 -g 0.3 -b 1", SCORE)
    svmutil.svm_save_model(str(tmp_path / "model"), libsvm)
    _, _, expected = svmutil.svm_predict([], NEW, libsvm, "-b 1 -q")
    model = models.import_libsvm(tmp_path / "model")
    assert model.probability is True
    np.testing.assert_allclose(model.predict_proba(NEW)[:, ::-1], expected, rtol=1e-12)


UNCERTAIN = {
    "SVR": lambda: estimators.SVR(gamma=0.3, probability=True).fit(X, SCORE),
    "NuSVR": lambda: estimators.NuSVR(gamma=0.3, probability=True).fit(X, SCORE),
    "OneClassSVM": lambda: estimators.OneClassSVM(nu=0.3, gamma=0.3, probability=True).fit(X),
}


@pytest.mark.parametrize("name", UNCERTAIN)
def test_libsvm_reads_the_noise_and_the_probabilities(name: str, tmp_path: Path) -> None:
    model = UNCERTAIN[name]()
    models.export_libsvm(model, tmp_path / "model")
    libsvm = svmutil.svm_load_model(str(tmp_path / "model"))
    assert libsvm.is_probability_model()
    if name == "OneClassSVM":
        _, _, found = svmutil.svm_predict([], NEW, libsvm, "-b 1 -q")
        np.testing.assert_allclose(np.array(found)[:, ::-1], model.predict_proba(NEW), rtol=1e-12)
    else:
        assert libsvm.get_svr_probability() == model.noise_scale_
    back = models.import_libsvm(tmp_path / "model")
    assert back.probability is True
    models.export_libsvm(back, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
    models.save(back, tmp_path / "native")
    loaded = models.load(tmp_path / "native")
    for attribute in ("noise_scale_", "density_marks_"):
        np.testing.assert_array_equal(getattr(loaded, attribute, None), getattr(model, attribute, None))
    models.export_libsvm(model, tmp_path / "plain", drop_probabilities=True)
    assert "prob" not in (tmp_path / "plain").read_text()


@pytest.mark.parametrize(
    ("svm_type", "line", "sentence"),
    [
        ("epsilon_svr", "probA 0.5 0.5", "is damaged: probA should have 1 values and has 2"),
        ("epsilon_svr", "probA -0.5", "is damaged: the scale of its noise, probA, is -0.5"),
        ("nu_svr", "probB 0.5", "is damaged: a nu_svr has no probB"),
        ("nu_svr", "probA inf", "line 7: 'inf' is no value of probA"),
        ("one_class", "probA 0.5", "is damaged: a one_class has no probA"),
        ("one_class", "prob_density_marks 0 1 2", "is damaged: prob_density_marks should have 10 values and has 3"),
        ("one_class", "prob_density_marks 0 1 2 3 4 5 6 7 9 8", "is damaged: prob_density_marks do not ascend"),
    ],
)
def test_damaged_probabilities_are_refused(svm_type: str, line: str, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "model"
    text = f"svm_type {svm_type}\nkernel_type rbf\ngamma 0.5\nnr_class 2\ntotal_sv 1\nrho 0.25\nSV\n1 1:0.5\n"
    path.write_text(text)
    assert not hasattr(models.import_libsvm(path), "noise_scale_")
    path.write_text(text.replace("SV\n", f"{line}\nSV\n"))
    with pytest.raises(ValueError, match=sentence) as caught:
        models.import_libsvm(path)
    assert str(path) in str(caught.value)
