"""`python -m maxmargin.demo [MODEL]`: train on the spirals, show the certificate, save the model, predict with it."""

import sys
import tempfile
from pathlib import Path

import numpy as np

from maxmargin import SVC, models
from maxmargin.data import examples, libsvm


def run(model_path: Path) -> float:
    """Train, certify, save, load and predict; returns the accuracy of the loaded model on the test rows."""
    X, y = libsvm.read(examples.spirals("train"))
    X_test, y_test = libsvm.read(examples.spirals("test"), n_features=X.shape[1])
    model = SVC(kernel="rbf", C=10.0, gamma=10.0).fit(X, y)
    print(f"trained     SVC(kernel='rbf', C=10, gamma=10) on {X.shape[0]} rows of two spirals")
    print(f"certificate primal {model.primal_objective_:.6f}, dual {model.dual_objective_:.6f}")
    print(f"            relative gap {model.duality_gap_:.1e}, KKT violation {model.kkt_violation_:.1e}")
    print(f"            {model.n_support_.sum()} support vectors, status {model.status_}")
    models.save(model, model_path)
    print(f"saved       {model_path}, {model_path.stat().st_size:,} bytes")
    accuracy = float(np.mean(models.load(model_path).predict(X_test) == y_test))
    print(f"predicted   {X_test.shape[0]} test rows with the loaded model: accuracy {accuracy:.4f}")
    return accuracy


def main() -> None:
    """Run with the model path of the command line, or with a temporary one."""
    if len(sys.argv) > 1:
        run(Path(sys.argv[1]))
        return
    with tempfile.TemporaryDirectory() as folder:
        run(Path(folder) / "spirals.model")


if __name__ == "__main__":
    main()
