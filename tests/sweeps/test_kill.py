"""Killed at any instant, the same command goes on, and ends with the same bytes."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tests.sizes import sizes
from tests.sweeps.test_run import contents

ROOT = Path(__file__).parents[2]
_SCRIPT = """
import sys, jax
jax.config.update("jax_enable_x64", True)
from jaxbandits.simulation import Grid
from jaxbandits.sweeps.run import run_sweep
from jaxbandits.sweeps.sweep import Sweep
from tests.toys import Noisy, Shrink
sweep = Sweep(algorithms=[Grid(Shrink(), {"rate": [1e-7, 1e-6, 1e-5]})], environment=Noisy(scale=1.0),
              horizon=int(sys.argv[2]), seeds=32, record=5, width=32, part_trials=32)
run_sweep(sweep, sys.argv[1], workers=1, save_every=0.0, progress=False)
"""


def _launch(directory, horizon):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen([sys.executable, "-c", _SCRIPT, str(directory), str(horizon)], env=environment)


def _written(directory):
    """Files of results and checkpoints, and when they were written."""
    found = {}
    for path in directory.rglob("*.npz"):
        with contextlib.suppress(FileNotFoundError):  # replaced or discarded while we look
            found[path] = path.stat().st_mtime_ns
    return found


@pytest.mark.system
@pytest.mark.parametrize("kills", sizes(2, slow=[20]))
def test_sigkill_at_random_instants(kills, tmp_path, rng: np.random.Generator, monkeypatch):
    """As many real kills as asked for: a sweep that ends first is compared, and another one begun."""
    horizon = 200_000
    monkeypatch.setattr(sys, "argv", ["undisturbed", str(tmp_path / "whole"), str(horizon)])
    exec(_SCRIPT)
    whole = contents(tmp_path / "whole")
    assert len(whole) == 3
    count, ended = 0, 0
    while count < kills:
        directory = tmp_path / f"killed-{ended}"
        process = _launch(directory, horizon)
        seen = _written(directory)
        while process.poll() is None and _written(directory) == seen:
            time.sleep(0.002)  # until it has computed something
        time.sleep(rng.uniform(0.0, 0.2))
        process.send_signal(signal.SIGKILL)
        if process.wait() == -signal.SIGKILL:
            count += 1
            continue
        assert process.returncode == 0 and contents(directory) == whole
        ended += 1
        assert ended <= kills, "hardly any sweep lives long enough to be killed"
    directory = tmp_path / f"killed-{ended}"
    assert _launch(directory, horizon).wait(300) == 0
    assert contents(directory) == whole
    assert not list(tmp_path.rglob("*.tmp"))
