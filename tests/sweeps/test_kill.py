"""Killed at any instant, the same command goes on, and ends with the same bytes."""

import contextlib
import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from jaxbandits.sweeps import status as status_lib
from jaxbandits.sweeps.directory import Directory
from jaxbandits.sweeps.run import run_sweep
from tests.polling import wait_until
from tests.sweeps import player_process
from tests.sweeps.test_run import contents

ROOT = Path(__file__).parents[2]


class Player:
    """Processes that play the sweep, one at a time."""

    def __init__(self):
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}  # no threads before a fork
        command = [sys.executable, "-W", "ignore", "-m", "tests.sweeps.player_process"]
        self._process = subprocess.Popen(
            command, env=environment, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def begin(self, *how):
        print(json.dumps(how), file=self._process.stdin, flush=True)
        return int(self._process.stdout.readline())

    def end(self):
        return int(self._process.stdout.readline())

    def close(self):
        self._process.communicate()


@pytest.fixture
def player():
    player = Player()
    yield player
    player.close()


def _times(directory):
    """Return the times at which files of results and checkpoints were written."""
    found = {}
    for path in directory.rglob("*.npz"):
        with contextlib.suppress(FileNotFoundError):  # replaced or discarded while we look
            found[path] = path.stat().st_mtime_ns
    return found


def _rounds_on_disk(directory):
    """Rounds of every batch that are on disk now, infinity for those of finished parts."""
    found = {}
    for path in directory.glob("working/*/checkpoint/batch-*.npz"):
        with np.load(path) as arrays:
            found[path.parents[1].name, int(path.stem[-5:])] = int(arrays["rounds"])
    for path in directory.glob("parts/*.json"):
        if Directory(directory).read_record(path.stem):
            found |= dict.fromkeys([(path.stem, batch) for batch in (0, 1)], math.inf)
    return found


def _journal(directory, what):
    path = player_process.journal(directory)
    rows = [line.split() for line in path.read_text().splitlines()] if path.exists() else []
    return [((part, int(batch)), int(rounds)) for kind, part, batch, rounds, _ in rows if kind == what]


def _finished_rounds(directory):
    return status_lib.read_status(directory)["rounds"]["done"] if (directory / "manifest.json").exists() else 0


# The kills, the rounds of the sweep, the seconds between checkpoints, and the longest time from the first of a life on.
# Of 100 half strike while a file is written.
@pytest.mark.slow_after_first
@pytest.mark.system
@pytest.mark.parametrize(
    ("kills", "horizon", "save_every", "patience"), [(2, 40_000, 0.0, 0.2), (100, 400_000, 1.0, 1.5)]
)
def test_sigkill_at_random_instants(kills, horizon, save_every, patience, tmp_path, rng, player):
    """Real kills: what a checkpoint held is never lost, and every sweep that ends is that of an undisturbed run."""
    run_sweep(player_process.sweep(horizon), tmp_path / "whole", workers=1, progress=False)
    whole = contents(tmp_path / "whole")
    assert len(whole) == 3
    count, ended, resumed = 0, 0, 0
    while count < kills:
        directory = tmp_path / f"killed-{ended}"
        before, kept, read = _finished_rounds(directory), _rounds_on_disk(directory), len(_journal(directory, "loaded"))
        instant = int(rng.integers(1, 16)) if kills > 2 and count % 2 else 0
        process, seen = player.begin(str(directory), horizon, save_every, instant), _times(directory)
        if not instant:
            wait_until(lambda directory=directory, seen=seen: _times(directory) != seen)  # it has computed something
            time.sleep(rng.uniform(0.0, patience))
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        code = player.end()
        for batch, rounds in _journal(directory, "loaded")[read:]:
            assert rounds == kept.get(batch, rounds)  # it goes on from where the last one was
            resumed += batch in kept
        assert _finished_rounds(directory) >= before
        now = _rounds_on_disk(directory)
        assert all(now[batch] >= rounds for batch, rounds in _journal(directory, "saved"))
        assert all(now[batch] >= rounds for batch, rounds in kept.items())
        if code == -signal.SIGKILL:
            count += 1
            continue
        assert code == 0 and contents(directory) == whole
        ended += 1
        assert ended <= kills, "hardly any sweep lives long enough to be killed"
    directory = tmp_path / f"killed-{ended}"
    player.begin(str(directory), horizon, save_every, 0)
    assert player.end() == 0
    assert contents(directory) == whole and resumed >= kills // 4
    assert not list(tmp_path.rglob("*.tmp")) and not list((directory / "working").iterdir())
    print(f"{count} kills, {ended} sweeps ended in between, {resumed} batches resumed")
