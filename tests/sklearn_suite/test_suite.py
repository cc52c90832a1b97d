"""scikit-learn's tests of its svm module pass with the estimators of maxmargin in its place."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import maxmargin

HERE = Path(__file__).parent
LEAST_PASSES = 250


@pytest.mark.slow
def test_every_test_that_applies_passes(tmp_path):
    source = Path(maxmargin.__file__).parents[1]
    modules = ["sklearn.svm.tests.test_svm", "sklearn.svm.tests.test_sparse"]
    command = [sys.executable, "-m", "pytest", "-p", "plugin", "--pyargs", *modules, "-q", "-p", "no:cacheprovider"]
    paths = [str(HERE), str(source), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path)},
        capture_output=True,
        text=True,
        check=False,
    )
    passed = re.search(r"(\d+) passed", done.stdout)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-1000:]
    assert passed is not None
    assert int(passed.group(1)) >= LEAST_PASSES
