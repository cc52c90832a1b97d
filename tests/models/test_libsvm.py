"""LIBSVM's model files, both ways, against LIBSVM itself; SVM-light's against its formula."""

import ctypes
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from libsvm import svmutil  # of the extra `test`: without it these tests fail rather than skip

from maxmargin import estimators, kernels, models
from maxmargin.models import libsvm_text

RNG = np.random.default_rng(1)
X = RNG.normal(0.7, 1.0, size=(80, 5)).round(3)  # LIBSVM writes eight digits of a value
X[RNG.random(X.shape) < 0.2] = 0.0
NEW = RNG.normal(0.7, 1.0, size=(50, 5))
SCORE = X[:, 0] + 0.1 * X[:, 1] ** 2
KERNELS = {
    "linear": "-t 0",
    "poly": "-t 1 -d 2 -g 0.3 -r 0.7",
    "rbf": "-t 2 -g 0.3",
    "sigmoid": "-t 3 -g 0.05 -r -0.1",
}
# Labels in the order of their first appearance, which is not the sorted one.
LABELS = {2: [1, -1], 3: [2, -1, 1], 4: [30, 10, 40, 20]}


def labels(classes: int) -> np.ndarray:
    codes = np.argsort(np.argsort(SCORE)) * classes // len(X)
    seen = list(dict.fromkeys(codes.tolist()))
    names = dict(zip(seen, LABELS[classes], strict=True))
    return np.array([float(names[code]) for code in codes])


def libsvm_values(model: Any, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Predictions and decision values of LIBSVM, the latter as (rows, problems) in its own order."""
    # Not svm_predict: it makes room for one decision value of nu-SVC, whatever the number of classes.
    k = model.get_nr_class()
    found = (ctypes.c_double * (k * (k - 1) // 2))()
    precomputed = model.param.kernel_type == 4
    predicted, values = [], []
    for row in rows:
        nodes, _ = svmutil.gen_svm_nodearray(row, isKernel=precomputed)
        predicted.append(svmutil.libsvm.svm_predict_values(model, nodes, found))
        values.append(list(found))
    return np.array(predicted), np.array(values)


def ours_in_libsvm_order(model: Any, rows: Any, order: list[int]) -> np.ndarray:
    """Our decision values, by pairs of classes in LIBSVM's order and signs."""
    if not hasattr(model, "classes_"):
        values = model.decision_function(rows) if hasattr(model, "decision_function") else model.predict(rows)
        return values[:, None]
    model.set_params(decision_function_shape="ovo")
    values = model.decision_function(rows).reshape(len(rows), -1)
    classes = model.classes_.tolist()
    if len(classes) == 2:
        return values if order[0] == classes[1] else -values
    column = {pair: k for k, pair in enumerate(itertools.combinations(classes, 2))}
    pairs = itertools.combinations(order, 2)
    return np.stack([values[:, column[p]] if p in column else -values[:, column[p[::-1]]] for p in pairs], axis=1)


def trained(options: str, y: np.ndarray, rows: np.ndarray = X) -> Any:
    return svmutil.svm_train(y, rows, f"{options} -q")


def untied(model: Any, values: np.ndarray) -> np.ndarray:
    """Rows on which one class has the most votes."""
    k = len(model.get_labels())
    votes = np.zeros((len(values), k))
    for column, (i, j) in zip(values.T, itertools.combinations(range(k), 2), strict=True):
        votes[np.arange(len(values)), np.where(column > 0, i, j)] += 1
    return (votes == votes.max(axis=1, keepdims=True)).sum(axis=1) == 1


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("classes", LABELS)
@pytest.mark.parametrize("svm_type", ["-s 0 -c 3", "-s 1 -n 0.2"])
def test_classifiers_are_imported(svm_type: str, classes: int, kernel: str, tmp_path: Path) -> None:
    path = str(tmp_path / "model")
    libsvm = trained(f"{svm_type} {KERNELS[kernel]}", labels(classes))
    svmutil.svm_save_model(path, libsvm)
    assert libsvm.get_labels() == LABELS[classes]
    predicted, values = libsvm_values(libsvm, NEW)
    model = models.import_libsvm(path)
    assert type(model).__name__ == ("SVC" if "-s 0" in svm_type else "NuSVC")
    assert model.classes_.tolist() == sorted(LABELS[classes])
    np.testing.assert_allclose(ours_in_libsvm_order(model, NEW, LABELS[classes]), values, rtol=1e-9, atol=1e-9)
    clear = untied(libsvm, values)
    assert clear.sum() >= 25
    np.testing.assert_array_equal(model.predict(NEW)[clear], predicted[clear])
    np.testing.assert_array_equal(model.predict(sp.csr_matrix(NEW)), model.predict(NEW))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(
    ("svm_type", "name"), [("-s 2 -n 0.3", "OneClassSVM"), ("-s 3 -p 0.2", "SVR"), ("-s 4 -n 0.3", "NuSVR")]
)
def test_the_others_are_imported(svm_type: str, name: str, kernel: str, tmp_path: Path) -> None:
    path = str(tmp_path / "model")
    libsvm = trained(f"{svm_type} {KERNELS[kernel]}", SCORE)
    svmutil.svm_save_model(path, libsvm)
    predicted, values = libsvm_values(libsvm, NEW)
    model = models.import_libsvm(path)
    assert type(model).__name__ == name
    np.testing.assert_allclose(ours_in_libsvm_order(model, NEW, []), values, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.predict(NEW), predicted, rtol=1e-9, atol=1e-9)


def test_a_precomputed_kernel_is_imported(tmp_path: Path) -> None:
    path = str(tmp_path / "model")
    numbered = np.hstack([np.arange(1, 81)[:, None], X @ X.T])
    libsvm = svmutil.svm_train(svmutil.svm_problem(labels(3), numbered, isKernel=True), "-t 4 -q")
    svmutil.svm_save_model(path, libsvm)
    K = NEW @ X.T
    predicted, values = libsvm_values(libsvm, np.hstack([np.zeros((50, 1)), K]))
    model = models.import_libsvm(path, n_features=80)
    np.testing.assert_allclose(ours_in_libsvm_order(model, K, LABELS[3]), values, rtol=1e-9, atol=1e-9)
    clear = untied(libsvm, values)
    np.testing.assert_array_equal(model.predict(K)[clear], predicted[clear])


FITTED = {
    "SVC": lambda kernel, y: estimators.SVC(C=3.0, **kernel).fit(X, y),
    "NuSVC": lambda kernel, y: estimators.NuSVC(nu=0.2, **kernel).fit(X, y),
    "OneClassSVM": lambda kernel, y: estimators.OneClassSVM(nu=0.3, **kernel).fit(X),
    "SVR": lambda kernel, y: estimators.SVR(epsilon=0.2, **kernel).fit(X, SCORE),
    "NuSVR": lambda kernel, y: estimators.NuSVR(nu=0.3, **kernel).fit(X, SCORE),
}
OUR_KERNELS = {
    "linear": {"kernel": "linear"},
    "poly": {"kernel": "poly", "degree": 2, "gamma": 0.3, "coef0": 0.7},
    "rbf": {"kernel": "rbf"},
    "sigmoid": {"kernel": "sigmoid", "gamma": 0.05, "coef0": -0.1},
    "object": {"kernel": kernels.Gaussian(0.3)},
}
MACHINES = [("SVC", 2), ("SVC", 4), ("NuSVC", 2), ("NuSVC", 3), ("OneClassSVM", 2), ("SVR", 2), ("NuSVR", 2)]


@pytest.mark.parametrize("kernel", OUR_KERNELS)
@pytest.mark.parametrize(("name", "classes"), MACHINES)
def test_libsvm_reads_what_is_exported(name: str, classes: int, kernel: str, tmp_path: Path) -> None:
    model = FITTED[name](OUR_KERNELS[kernel], labels(classes))
    models.export_libsvm(model, tmp_path / "model")
    libsvm = svmutil.svm_load_model(str(tmp_path / "model"))
    predicted, values = libsvm_values(libsvm, NEW)
    order = sorted(LABELS[classes]) if hasattr(model, "classes_") else []
    np.testing.assert_allclose(ours_in_libsvm_order(model, NEW, order), values, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.predict(NEW), predicted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("name", "classes"), MACHINES)
def test_export_and_import_restore_every_bit(name: str, classes: int, tmp_path: Path) -> None:
    model = FITTED[name](OUR_KERNELS["rbf"], labels(classes))
    models.export_libsvm(model, tmp_path / "model")
    back = models.import_libsvm(tmp_path / "model")
    np.testing.assert_array_equal(back.dual_coef_.toarray(), model.dual_coef_)
    np.testing.assert_array_equal(back.intercept_, model.intercept_)
    np.testing.assert_array_equal(back.support_vectors_.toarray(), model.support_vectors_)
    assert back.kernel_ == model.kernel_
    models.export_libsvm(back, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
    models.save(back, tmp_path / "native")
    np.testing.assert_array_equal(models.load(tmp_path / "native").predict(NEW), back.predict(NEW))


def test_sparse_and_precomputed_models_are_exported(tmp_path: Path) -> None:
    y = labels(3)
    models.export_libsvm(estimators.SVC().fit(sp.csr_matrix(X), y), tmp_path / "sparse")
    models.export_libsvm(estimators.SVC().fit(X, y), tmp_path / "dense")
    sparse, dense = (libsvm_text.read(tmp_path / kind) for kind in ("sparse", "dense"))
    np.testing.assert_allclose(sparse.coef, dense.coef, atol=1e-6)
    model = estimators.SVC(kernel="precomputed").fit(X @ X.T, y)
    models.export_libsvm(model, tmp_path / "precomputed")
    libsvm = svmutil.svm_load_model(str(tmp_path / "precomputed"))
    _, values = libsvm_values(libsvm, np.hstack([np.zeros((50, 1)), NEW @ X.T]))
    np.testing.assert_allclose(ours_in_libsvm_order(model, NEW @ X.T, sorted(LABELS[3])), values, rtol=1e-9, atol=1e-9)


def test_what_libsvm_cannot_hold_is_refused(tmp_path: Path) -> None:
    y = labels(3)
    cases = [
        (estimators.LSSVC().fit(X, y), "LIBSVM has no model for a LSSVC"),
        (estimators.SVC(kernel="laplacian").fit(X, y), "LIBSVM does not have the kernel Laplacian"),
        (estimators.SVC(multiclass="one-vs-rest").fit(X, y), "this model decides one-vs-rest"),
        (estimators.SVC().fit(X, np.where(y > 0, "a", "b")), "labels are whole numbers, and the classes are"),
        (estimators.SVC().fit(X, np.where(y > 0, "a", "b").astype(object)), "labels are whole numbers"),
        (estimators.SVC(), "this SVC is not fitted"),
    ]
    for model, sentence in cases:
        with pytest.raises(ValueError, match=sentence):
            models.export_libsvm(model, tmp_path / "model")
    assert not (tmp_path / "model").exists()


GOOD = """svm_type c_svc
kernel_type rbf
gamma 0.5
nr_class 2
total_sv 2
rho 0.25
label 1 -1
nr_sv 1 1
SV
1 1:0.5 3:1
-1 2:1
"""


def test_more_features_than_the_vectors_use(tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.write_text(GOOD)
    assert models.import_libsvm(path).n_features_in_ == 3
    model = models.import_libsvm(path, n_features=5)
    assert model.decision_function(np.eye(5)).shape == (5,)
    with pytest.raises(ValueError, match=f"{path} uses feature 3, and n_features is 2"):
        models.import_libsvm(path, n_features=2)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (GOOD, "", "is empty"),
        ("svm_type c_svc\n", "", "it does not start with 'svm_type'"),
        ("c_svc", "d_svc", "svm_type is 'd_svc', and only c_svc, nu_svc"),
        ("kernel_type rbf\n", "", "its header has no line 'kernel_type'"),
        ("rbf", "gauss", "kernel_type is 'gauss', and only linear"),
        ("gamma 0.5", "gamma half", "line 3: 'half' is no value of gamma"),
        ("gamma 0.5", "gamma nan", "line 3: 'nan' is no value of gamma"),
        ("gamma", "sigma", "line 3: 'sigma' is no entry of a LIBSVM model"),
        ("label 1 -1", "label 1 1", "is damaged: label, nr_sv and total_sv do not fit together"),
        ("label 1 -1", "label 1", "has only one class"),
        ("label 1 -1", "label 1 -1 2", "is damaged: nr_class is 2, and label names 3 classes"),
        ("nr_class 2", "nr_class 3", "is damaged: nr_class is 3, and label names 2 classes"),
        ("nr_class 2", "nr_class", "line 4: nr_class should have one value and has 0"),
        ("nr_class 2", "nr_class 2 2", "line 4: nr_class should have one value and has 2"),
        ("nr_class 2\n", "", "its header has no line 'nr_class'"),
        ("total_sv 2", "total_sv", "line 5: total_sv should have one value and has 0"),
        ("total_sv 2", "total_sv 2.0", "line 5: '2.0' is no value of total_sv"),
        ("gamma 0.5", "gamma 0.5 0.5", "line 3: gamma should have one value and has 2"),
        ("rho 0.25", "rho 0.25 1", "is damaged: rho should have 1 values and has 2"),
        ("rho 0.25", "rho", "is damaged: rho should have 1 values and has 0"),
        ("gamma 0.5\n", "", "its header has no line 'gamma'"),
        ("gamma 0.5\n", "gamma 0.5\ngamma 0.6\n", "line 4: gamma is stated twice"),
        ("label 1 -1", "label 1 4294967297", "line 7: '1 4294967297' is no value of label"),
        ("total_sv 2", "total_sv 99999999999999999999", "is no value of total_sv"),
        ("1 1:0.5 3:1", "1 4294967297:1", "line 10: '1 4294967297:1' is no support vector"),
        ("1 1:0.5 3:1", "1 2147483648:1", "line 10: '1 2147483648:1' is no support vector"),
        ("1 1:0.5 3:1", "1 1e300:1", "line 10: '1 1e300:1' is no support vector"),
        ("nr_sv 1 1", "nr_sv 1 2", "is damaged: label, nr_sv and total_sv do not fit together"),
        ("nr_sv 1 1", "nr_sv 2", "is damaged: label, nr_sv and total_sv do not fit together"),
        ("nr_sv 1 1", "nr_sv 3 -1", "is damaged: nr_sv has the negative number -1"),
        ("nr_sv 1 1", "nr_sv", "is damaged: label, nr_sv and total_sv do not fit together"),
        ("SV\n1 1:0.5 3:1\n-1 2:1\n", "", "is cut short: it has no line 'SV'"),
        ("-1 2:1\n", "", "is cut short: it states 2 support vectors and has 1"),
        ("-1 2:1\n", "-1 2:1\n1 3:1\n", "has lines after its end"),
        ("3:1", "3:x", "line 10: '1 1:0.5 3:x' is no support vector"),
        ("3:1", "3", "line 10: '1 1:0.5 3' is no support vector"),
        ("3:1", "0:1", "line 10: '1 1:0.5 0:1' is no support vector"),
        ("-1 2:1", "inf 2:1", "line 11: 'inf 2:1' is no support vector"),
    ],
)
def test_damaged_files_are_refused(old: str, new: str, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "model"
    assert old in GOOD
    path.write_text(GOOD.replace(old, new, 1) if old != GOOD else new)
    with pytest.raises(ValueError, match=sentence) as caught:
        models.import_libsvm(path)
    assert str(path) in str(caught.value)


def svmlight_values(path: Path, rows: np.ndarray) -> np.ndarray:
    """What svm_classify computes from a model file: sum of alpha y k(v, x), less the threshold."""
    lines = path.read_text().splitlines()
    assert lines[0] == "SVM-light Version V6.02"
    words = [
        "kernel type",
        "-d",
        "-g",
        "-s",
        "-r",
        "-u",
        "feature index",
        "training documents",
        "plus 1",
        "threshold b",
    ]
    for line, word in zip(lines[1:11], words, strict=True):
        assert word in line
    kind, degree, gamma, s, r = (float(line.split("#")[0]) for line in lines[1:6])
    width, threshold = int(lines[7].split("#")[0]), float(lines[10].split("#")[0])
    assert int(lines[9].split("#")[0]) == len(lines[11:]) + 1
    values = np.full(len(rows), -threshold)
    for line in lines[11:]:
        assert line.endswith(" #")
        alpha, *pairs = line.removesuffix("#").split()
        v = np.zeros(width)
        for pair in pairs:
            index, value = pair.split(":")
            v[int(index) - 1] = float(value)
        product = rows @ v
        squared = ((rows - v) ** 2).sum(axis=1)
        forms = [product, (s * product + r) ** degree, np.exp(-gamma * squared), np.tanh(s * product + r)]
        values += float(alpha) * forms[int(kind)]
    return values


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "sigmoid"])
@pytest.mark.parametrize("name", ["SVC", "NuSVC", "SVR", "NuSVR"])
def test_svmlight_files_say_what_the_model_says(name: str, kernel: str, tmp_path: Path) -> None:
    model = FITTED[name](OUR_KERNELS[kernel], labels(2))
    models.export_svmlight(model, tmp_path / "model")
    expected = model.decision_function(NEW) if name.endswith("SVC") else model.predict(NEW)
    np.testing.assert_allclose(svmlight_values(tmp_path / "model", NEW), expected, rtol=1e-9, atol=1e-9)


def test_what_svmlight_cannot_hold_is_refused(tmp_path: Path) -> None:
    for model, sentence in [
        (FITTED["SVC"](OUR_KERNELS["rbf"], labels(3)), "for two classes or for regression"),
        (FITTED["OneClassSVM"](OUR_KERNELS["rbf"], None), "for two classes or for regression"),
        (estimators.SVC(kernel="precomputed").fit(X @ X.T, labels(2)), "has no precomputed kernel"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            models.export_svmlight(model, tmp_path / "model")
    assert not (tmp_path / "model").exists()
