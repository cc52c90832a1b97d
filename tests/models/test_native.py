"""What is saved is what is loaded, and nothing in a file can run."""

import json
import mmap
import os
import pickle
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

import maxmargin
from maxmargin import estimators, kernels, models
from maxmargin.models import container
from maxmargin.solvers import smo

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
CODES = (X[:, 0] + 0.3 * RNG.normal(size=60) > 0).astype(int) + (X[:, 1] > 0.5)
TARGET = X[:, 0] - 0.5 * X[:, 1] + 0.1 * RNG.normal(size=60)
LABELS = {
    "integers": np.array([-3, 0, 7]),
    "floats": np.array([-1.0, 0.0, 2.0]),
    "strings": np.array(["cat", "dog", "läuse"]),
    "objects": np.array(["cat", "dog", "läuse"], object),
    "booleans": np.array([False, True, True]),
}
CLASSIFIERS = [estimators.SVC(), estimators.NuSVC(nu=0.1), estimators.LSSVC()]
REGRESSORS = [
    estimators.SVR(),
    estimators.NuSVR(),
    estimators.LSSVR(),
    estimators.HuberSVR(),
    estimators.QuantileSVR(),
    estimators.OneClassSVM(nu=0.3),
]


def outputs(model: Any, rows: Any = X) -> list[np.ndarray]:
    """Everything that a model computes."""
    names = ("predict", "decision_function", "score_samples", "predict_proba")
    return [getattr(model, name)(rows) for name in names if hasattr(model, name)]


def assert_same(a: Any, b: Any, where: str = "") -> None:
    """Equality of whatever a fit stores, types included."""
    assert type(a) is type(b), where
    if isinstance(a, np.ndarray) and a.dtype != object:
        assert a.dtype == b.dtype, where
        np.testing.assert_array_equal(a, b, err_msg=where)
    elif sp.issparse(a):
        assert a.shape == b.shape, where
        assert_same(a.toarray(), b.toarray(), where)
    elif isinstance(a, dict):
        assert list(a) == list(b), where
        for key in a:
            assert_same(a[key], b[key], f"{where}.{key}")
    elif isinstance(a, (list, tuple)) or (isinstance(a, np.ndarray) and a.ndim):
        assert len(a) == len(b), where
        for i, (one, other) in enumerate(zip(a, b, strict=True)):
            assert_same(one, other, f"{where}[{i}]")
    elif hasattr(a, "__dataclass_fields__"):
        assert_same(vars(a), vars(b), where)
    else:
        assert a == b or a != a, where


def assert_round_trip(model: Any, path: Path, rows: Any = X) -> Any:
    models.save(model, path)
    loaded = models.load(path)
    assert_same(model.__getstate__(), loaded.__getstate__(), type(model).__name__)
    for mode in (None, "r", "c"):
        for found, expected in zip(outputs(models.load(path, mmap_mode=mode), rows), outputs(model, rows), strict=True):
            np.testing.assert_array_equal(found, expected)
    return loaded


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix, sp.csr_array])
@pytest.mark.parametrize("model", [*CLASSIFIERS, *REGRESSORS], ids=lambda model: type(model).__name__)
def test_every_estimator_is_restored(model: Any, kind: type, tmp_path: Path) -> None:
    target = CODES if model in CLASSIFIERS else TARGET
    assert_round_trip(model.fit(kind(X), target), tmp_path / "model", kind(X))


@pytest.mark.parametrize("labels", LABELS)
def test_classes_of_any_dtype(labels: str, tmp_path: Path) -> None:
    model = estimators.SVC(class_weight={LABELS[labels][0]: 2.0}).fit(X, LABELS[labels][CODES])
    loaded = assert_round_trip(model, tmp_path / "model")
    assert loaded.classes_.dtype == model.classes_.dtype


@pytest.mark.filterwarnings("ignore:The `probability` parameter:FutureWarning")
def test_probabilities(tmp_path: Path) -> None:
    model = estimators.SVC(probability=True, random_state=0).fit(X, CODES)
    loaded = assert_round_trip(model, tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    "model", [estimators.SVR(probability=True), estimators.NuSVR(probability=True, random_state=3)], ids=str
)
def test_the_noise_of_a_regression(model: Any, tmp_path: Path) -> None:
    loaded = assert_round_trip(model.fit(X, TARGET), tmp_path / "model")
    assert loaded.noise_scale_ == model.noise_scale_


def test_the_probabilities_of_a_one_class_machine(tmp_path: Path) -> None:
    model = estimators.OneClassSVM(nu=0.3, probability=True).fit(X)
    loaded = assert_round_trip(model, tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


def test_feature_names(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b", "c", "ü"])
    loaded = assert_round_trip(estimators.SVR().fit(frame, TARGET), tmp_path / "model", frame)
    assert loaded.feature_names_in_.tolist() == ["a", "b", "c", "ü"]
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame[["b", "a", "c", "ü"]])


def test_precomputed_kernel(tmp_path: Path) -> None:
    K = X @ X.T
    assert_round_trip(estimators.SVC(kernel="precomputed").fit(K, CODES), tmp_path / "model", K)


@pytest.mark.parametrize(
    "kernel",
    [
        kernels.Gaussian(0.3),
        2.5 * kernels.Linear() + kernels.Polynomial(2, 0.5, 1.0),
        kernels.Gaussian(np.float64(0.3)) * kernels.Laplacian(0.1) + kernels.Matern32(1.0) * kernels.Matern52(2.0),
        kernels.Intersection() + kernels.ChiSquared(0.5),
    ],
    ids=str,
)
def test_kernel_objects(kernel: kernels.Kernel, tmp_path: Path) -> None:
    loaded = assert_round_trip(estimators.SVC(kernel=kernel).fit(abs(X), CODES), tmp_path / "model", abs(X))
    assert loaded.kernel == kernel


def test_the_certificate_is_kept_and_the_training_rows_are_not(tmp_path: Path) -> None:
    marked = X.copy()
    model = estimators.SVR(epsilon=10.0, callback=lambda state: None).fit(marked, TARGET)
    models.save(model, tmp_path / "model")
    loaded = models.load(tmp_path / "model")
    assert loaded.callback is None
    assert (loaded.primal_objective_, loaded.duality_gap_) == (model.primal_objective_, model.duality_gap_)
    assert marked[0].tobytes() not in (tmp_path / "model").read_bytes()
    with pytest.raises(NotFittedError, match="fit it again to certify it"):
        loaded.certify()


def test_a_model_without_a_fit(tmp_path: Path) -> None:
    models.save(estimators.SVC(C=3.5, gamma=0.1), tmp_path / "model")
    loaded = models.load(tmp_path / "model")
    assert loaded.get_params() == estimators.SVC(C=3.5, gamma=0.1).get_params()
    with pytest.raises(NotFittedError):
        loaded.predict(X)


def test_the_header_says_what_the_file_is(tmp_path: Path) -> None:
    model = estimators.SVC().fit(X, CODES)
    models.save(model, tmp_path / "model")
    header = models.describe(tmp_path / "model")
    assert header["model"]["estimator"] == "SVC"
    assert header["certificate"]["gap"] == model.duality_gap_.tolist()
    assert header["certificate"]["status"] == ["converged"] * 3


def test_provenance_says_which_program_wrote_the_file_and_when(tmp_path: Path) -> None:
    model = estimators.SVC().fit(X, CODES)
    before = datetime.now(UTC).replace(microsecond=0)
    models.save(model, tmp_path / "model")
    provenance = models.describe(tmp_path / "model")["provenance"]
    assert before <= datetime.fromisoformat(provenance.pop("written")) <= datetime.now(UTC)
    assert provenance == {
        "maxmargin": maxmargin.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "data_shape": [60, 4],
    }


def is_mapped(array: Any) -> bool:
    """Whether the memory of the array is that of a mapped file."""
    while not isinstance(array, mmap.mmap):
        array = array.obj if isinstance(array, memoryview) else getattr(array, "base", None)
        if array is None:
            return False
    return True


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("mmap_mode", [None, "r", "c"])
def test_a_model_is_mapped_where_that_is_asked_for(mmap_mode: Any, kind: type, tmp_path: Path) -> None:
    models.save(estimators.SVC().fit(kind(X), CODES), tmp_path / "model")
    model = models.load(tmp_path / "model", mmap_mode=mmap_mode)
    vectors = model.support_vectors_
    parts = [vectors.data, vectors.indices, vectors.indptr] if sp.issparse(vectors) else [vectors]
    assert [is_mapped(part) for part in [*parts, model.support_]] == [mmap_mode is not None] * (len(parts) + 1)


def dot(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    return A @ B.T


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"kernel": dot}, "kernel is the function 'dot' and a model file holds no code"),
        ({"kernel": kernels.Callable(dot)}, "kernel.function is the function 'dot'"),
    ],
)
def test_what_cannot_be_stored_is_refused_by_name(parameters: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    model = estimators.SVC(**parameters).fit(X, CODES)
    with pytest.raises(ValueError, match=sentence):
        models.save(model, tmp_path / "model")
    assert os.listdir(tmp_path) == []


def test_other_objects_are_refused(tmp_path: Path) -> None:
    from sklearn.svm import SVC

    for other in (SVC(), estimators.SVC, "SVC"):
        with pytest.raises(ValueError, match="save takes an estimator of maxmargin, not a "):
            models.save(other, tmp_path / "model")


def forged(path: Path, model: Any) -> Path:
    container.write(path, {"model": model}, [])
    return path


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        ({"estimator": "KernelMachine"}, "the estimator 'KernelMachine', which this maxmargin does not have"),
        ({"estimator": "__builtins__"}, "the estimator '__builtins__'"),
        (
            {"class": "os.system", "fields": {"command": "touch x"}},
            "the class 'os.system', which this maxmargin does not have",
        ),
        ({"class": "kernels.kernel.part_of", "fields": {}}, "the class 'kernels.kernel.part_of'"),
        ({"class": "kernels.by_name", "fields": {"name": "rbf"}}, "the class 'kernels.by_name'"),
        ({"class": "kernels.Gaussian", "fields": {"sigma": 1.0}}, "an entry that no maxmargin writes"),
        ({"call": "print"}, "a value of the unknown kind 'call'"),
        ({"array": 3}, "an entry that no maxmargin writes"),
        ({}, "a value of the unknown kind None"),
        ({"estimator": "SVC", "parameters": {"colour": 1}, "attributes": {}}, "an entry that no maxmargin writes"),
    ],
    ids=str,
)
def test_a_forged_header_makes_nothing(model: Any, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"{tmp_path / 'model'} cannot be loaded: its header holds {sentence}"):
        models.load(forged(tmp_path / "model", model))


@pytest.mark.parametrize(
    ("indices", "indptr"), [([0, 10**9], [0, 2]), ([0, -1], [0, 2]), ([0, 1], [0, 10**9]), ([0, 1], [0, 3]), ([], [])]
)
@pytest.mark.parametrize("mmap_mode", [None, "r"])
def test_a_forged_sparse_matrix_is_refused(indices: Any, indptr: Any, mmap_mode: Any, tmp_path: Path) -> None:
    parts = {"data": {"array": 0}, "indices": {"array": 1}, "indptr": {"array": 2}}
    arrays = [np.ones(2), np.array(indices, np.int32), np.array(indptr, np.int32)]
    container.write(tmp_path / "model", {"model": {"sparse": "csr_matrix", "shape": [1, 2], **parts}}, arrays)
    with pytest.raises(ValueError, match="its header holds a csr_matrix whose parts do not fit together"):
        models.load(tmp_path / "model", mmap_mode=mmap_mode)


def test_a_pickle_is_not_opened(tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(tmp_path / "exploded"),)

    (tmp_path / "model").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(ValueError, match="is not a maxmargin model"):
        models.load(tmp_path / "model")
    assert os.listdir(tmp_path) == ["model"]


def test_numpy_and_json_read_a_model(tmp_path: Path) -> None:
    model = estimators.SVR(kernel="linear").fit(X, TARGET)
    models.save(model, tmp_path / "model")
    raw = (tmp_path / "model").read_bytes()
    length = int.from_bytes(raw[24:32], "little")
    header = json.loads(raw[64 : 64 + length])
    entry = header["arrays"][header["model"]["attributes"]["support_vectors_"]["array"]]
    start = 64 + length + entry["offset"]
    count = int(np.prod(entry["shape"]))
    found = np.frombuffer(raw, entry["dtype"], count, start).reshape(entry["shape"])
    np.testing.assert_array_equal(found, model.support_vectors_)


def test_a_model_is_loaded_in_another_process(tmp_path: Path) -> None:
    model = estimators.SVC().fit(X, CODES)
    models.save(model, tmp_path / "model")
    np.save(tmp_path / "X.npy", X)
    code = "import sys, numpy, maxmargin.models as m; print(m.load(sys.argv[1]).predict(numpy.load(sys.argv[2])))"
    command = [sys.executable, "-c", code, str(tmp_path / "model"), str(tmp_path / "X.npy")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(model.predict(X))


def test_parameters_that_only_a_fit_uses_are_left_out(tmp_path: Path) -> None:
    def solver(problem: Any, limits: Any, **options: Any) -> Any:
        return smo.solve(problem, limits, **options)

    state = np.random.RandomState(0)
    model = estimators.SVC(solver=solver, random_state=state, callback=lambda state: None)
    model.fit(X, CODES)
    models.save(model, tmp_path / "model")
    assert model.random_state is state
    assert model.solver is solver
    loaded = models.load(tmp_path / "model")
    assert (loaded.solver, loaded.random_state, loaded.callback) == ("auto", None, None)
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
