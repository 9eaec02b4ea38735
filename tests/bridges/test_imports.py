"""Bridges import no other package, and `import jaxbandits` imports no bridge."""

import subprocess
import sys

OTHERS = {
    *("bayesianbandits", "coba", "contextualbandits", "dask", "distributed", "gymnasium", "joblib", "mabwiser"),
    *("mlflow", "mpi4py", "obp", "optuna", "polars", "ray", "river", "sklearn", "submitit", "tensorboardX", "torch"),
    *("vowpalwabbit", "wandb"),
}


def test_no_other_package_is_imported():
    code = (
        "import sys, jaxbandits; jaxbandits.play; print('jaxbandits.bridges' in sys.modules)\n"
        f"import jaxbandits.bridges; print(sorted({OTHERS!r} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split("\n") == ["False", "[]", ""]
