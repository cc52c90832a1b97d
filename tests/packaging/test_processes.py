"""Fitted models travel between processes, and fits behave after fork and spawn, nested, and on fewer processors.

Each scenario is a script in a process of its own: a deadlock is a time-out here, not a suite that hangs.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import maxmargin

pytestmark = pytest.mark.slow

DATA = """
import multiprocessing, os, threading, warnings
import numpy as np
from maxmargin import SVC

rng = np.random.default_rng(0)
X = rng.normal(size=(600, 5))
y = np.where(np.sin(2 * X[:, 0]) + X[:, 1] ** 2 > 0.7, 1, -1)

def decision(n_jobs=None):
    return SVC(kernel="rbf", C=10.0, gamma=0.3, tol=1e-6, n_jobs=n_jobs).fit(X, y).decision_function(X)
"""


def run(folder: Path, body: str, before: tuple[str, ...] = (), **environment: str) -> str:
    """Run a script in `folder` behind the words `before` and return what it prints."""
    (folder / "script.py").write_text(f"{DATA}\n{body}")
    command = [*before, sys.executable, "script.py"]
    env = {**os.environ, "PYTHONPATH": str(Path(maxmargin.__file__).parents[1]), **environment}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=env, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def check_agreement(folder: Path, body: str) -> None:
    """Run a script whose `answers` must all equal the decision values of a fit in the parent."""
    worst = run(folder, f"{body}\n    print(max(np.abs(a - decision()).max() for a in answers))")
    assert float(worst) < 1e-4


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_fit_in_a_child_after_a_fit_in_the_parent(method: str, tmp_path: Path) -> None:
    check_agreement(
        tmp_path,
        f"""
def child(queue):
    queue.put(decision())

if __name__ == "__main__":
    decision()
    context = multiprocessing.get_context("{method}")
    queue = context.Queue()
    process = context.Process(target=child, args=(queue,))
    process.start()
    answers = [queue.get(timeout=60)]
    process.join()
""",
    )


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_fits_nested_in_joblib(backend: str, tmp_path: Path) -> None:
    check_agreement(
        tmp_path,
        f"""
from joblib import Parallel, delayed

if __name__ == "__main__":
    answers = Parallel(n_jobs=2, backend="{backend}")(delayed(decision)(n) for n in (1, 2, None, -1))
""",
    )


def test_workers_of_joblib_divide_the_processors(tmp_path: Path) -> None:
    """Two workers on two processors are one thread each, whatever they fit."""
    printed = run(
        tmp_path,
        """
from joblib import Parallel, cpu_count, delayed
from maxmargin.threads import threads

def counted():
    decision()
    return threads(None)

if __name__ == "__main__":
    os.environ.pop("OMP_NUM_THREADS", None)
    for n_jobs in range(1, cpu_count() + 1):
        counts = Parallel(n_jobs=n_jobs, backend="loky")(delayed(counted)() for _ in range(n_jobs))
        print(n_jobs == 1 or max(counts) * n_jobs <= cpu_count())
""",
    )
    assert set(printed.split()) == {"True"}


def test_fits_nested_in_a_grid_search(tmp_path: Path) -> None:
    check_agreement(
        tmp_path,
        """
from sklearn.model_selection import GridSearchCV

if __name__ == "__main__":
    model = SVC(kernel="rbf", gamma=0.3, tol=1e-6, n_jobs=2)
    search = GridSearchCV(model, {"C": [0.1, 10.0]}, n_jobs=2, cv=3).fit(X, y)
    answers = [search.best_estimator_.set_params(C=10.0).fit(X, y).decision_function(X)]
""",
    )


@pytest.mark.parametrize("reader", ["pickle", "joblib"])
def test_pickled_model_predicts_in_another_process(reader: str, tmp_path: Path) -> None:
    write = f"""
import {reader}
model = SVC(kernel="rbf", C=10.0, gamma=0.3).fit(X, y)
with open("model", "wb") as file:
    {reader}.dump((model, X, model.decision_function(X)), file)
"""
    read = f"""
import {reader}
with open("model", "rb") as file:
    model, X, expected = {reader}.load(file)
print(np.abs(model.decision_function(X) - expected).max())
"""
    run(tmp_path, write)
    assert float(run(tmp_path, read)) < 1e-12


# Rows so long that two of them are worth a thread; the watcher never sleeps, because threads live for one call.
NEW_THREADS = """
X = rng.normal(size=(3000, 2000))
y = np.where(X[:, 0] > 0, 1, -1)
done, most = threading.Event(), 0

def count():
    return len(os.listdir("/proc/self/task"))

def watch():
    global most
    while not done.is_set():
        most = max(most, count())

watcher = threading.Thread(target=watch)
watcher.start()
before = count()
warnings.simplefilter("ignore")  # of stopping early
SVC(kernel="rbf", gamma=1e-3, max_iter=100, n_jobs={n_jobs}).fit(X, y)
done.set()
watcher.join()
print(most - before)
"""

# In a mount namespace of its own, as a container would see it: one processor's time.
QUOTA = """
mount -t tmpfs none /sys/fs/cgroup || exit 1
echo 100000 100000 > /sys/fs/cgroup/cpu.max
exec "$0" "$@"
"""

linux = pytest.mark.skipif(sys.platform != "linux", reason="counts threads in /proc")
two_processors = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two processors")


@linux
@two_processors
def test_default_uses_every_processor(tmp_path: Path) -> None:
    body = NEW_THREADS.format(n_jobs=None)
    assert int(run(tmp_path, body, OMP_NUM_THREADS="")) >= len(os.sched_getaffinity(0)) - 1


@linux
@pytest.mark.parametrize(
    ("before", "n_jobs", "environment"),
    [
        ("", 1, {}),
        ("", None, {"OMP_NUM_THREADS": "1"}),
        ("os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})", None, {}),
    ],
    ids=["n_jobs", "OMP_NUM_THREADS", "affinity"],
)
def test_one_processor_means_no_further_thread(
    before: str, n_jobs: int | None, environment: dict[str, str], tmp_path: Path
) -> None:
    assert int(run(tmp_path, f"{before}\n{NEW_THREADS.format(n_jobs=n_jobs)}", **environment)) == 0


@linux
@two_processors
@pytest.mark.skipif(
    subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode != 0,
    reason="makes a mount namespace",
)
def test_a_quota_of_one_processor_means_no_further_thread(tmp_path: Path) -> None:
    body = NEW_THREADS.format(n_jobs=None)
    assert int(run(tmp_path, body, before=("unshare", "-m", "sh", "-c", QUOTA), OMP_NUM_THREADS="")) == 0
