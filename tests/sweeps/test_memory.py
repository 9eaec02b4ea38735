"""Peak memory of many trials, in processes of their own: 10^5 in one file, 10^6 in a sweep."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
_COMMON = """
import json, sys
import numpy as np
from jaxbandits import Grid, Result, Sweep, load_sweep, run_sweep, simulate
from tests.toy_problems import Noisy, Shrink

def said(**found):
    status = open("/proc/self/status").read()
    peak = int(status.split("VmHWM:")[1].split()[0]) / 1e6
    print(json.dumps({"gb": peak, **found}))
"""
# Without noise, so that a gigabyte of equal rows is written in seconds; what is in memory is the same.
_SWEEP = """
grid = Grid(Shrink(), {"rate": [0.1 * k for k in range(10)]})
sweep = Sweep(algorithms={"a": grid}, environment=Noisy(), horizon=100, seeds=100_000, record_points=100,
              metrics=["loss"])
found = run_sweep(sweep, "all", progress=False)
said(parts=len(found._records), missing=len(found.missing))
"""
_LAZY = """
found = load_sweep("all")
mean = found.mean("loss")
final = found.final("loss")
row = final.summary("loss")[5]
best = final.best()["a"].index
said(mean=mean.mean[5].tolist(), trials=int(mean.trials.sum()), final=row.mean, of=row.trials, best=best)
"""
_ONE_FILE = """
result = simulate(Shrink(), Noisy(scale=1.0), 100, 100_000, record_points=100, progress=False)
result.save("one.npz")
said(metrics=len(result.metrics))
"""
_LOADED = """
result = Result.load("one.npz")
said(trials=result.summary("loss")[0].trials, shape=result.get("loss").shape)
"""


@pytest.mark.slow
@pytest.mark.system
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_many_trials_fit_into_memory(tmp_path):
    def run(script):
        environment = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
        environment |= {"PYTHONPATH": str(ROOT), "JAX_ENABLE_X64": "0"}
        ran = subprocess.run([sys.executable, "-W", "ignore", "-c", _COMMON + script], cwd=tmp_path, env=environment,
                             text=True, capture_output=True, timeout=550)  # fmt: skip
        assert ran.returncode == 0, ran.stderr
        found = json.loads(ran.stdout)
        print(f"{found['gb']:.2f} GB")
        return found

    swept = run(_SWEEP)
    assert swept["missing"] == 0 and swept["parts"] >= 240 and swept["gb"] < 2.0
    lazy = run(_LAZY)
    plays = 0.5 ** np.arange(100)
    assert lazy["trials"] == 1_000_000 and lazy["of"] == 100_000 and lazy["best"] == 9 and lazy["gb"] < 2.0 / 3.0
    np.testing.assert_allclose(lazy["mean"], plays.cumsum(), rtol=1e-5)
    assert lazy["final"] == pytest.approx(2.0, rel=1e-5)
    one = run(_ONE_FILE)
    assert one["metrics"] >= 3 and one["gb"] < 4.0
    loaded = run(_LOADED)
    assert loaded["trials"] == 100_000 and loaded["shape"] == [1, 100_000, 100] and loaded["gb"] < 4.0
