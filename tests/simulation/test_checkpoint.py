"""Killed at any instant, a run resumes bit for bit; files are never half written and never trusted blindly."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import filelock
import numpy as np
import pytest

from jaxbandits.core import files
from jaxbandits.core.errors import InputError
from jaxbandits.simulation import Result, checkpoint, driver, plan, simulate
from jaxbandits.simulation.program import Program
from tests.toys import Noisy, Shrink

ROOT = Path(__file__).parents[2]
RUN = {"progress": False, "width": 32, "record": 20, "calls_of": 1}

_SCRIPT = """
import sys
import jax
jax.config.update("jax_enable_x64", True)
from jaxbandits.simulation import driver, simulate
from tests.toys import Noisy, Shrink
driver._SAVE_EVERY = 0.0
result = simulate(Shrink(rate=1e-7), Noisy(scale=1.0), 200_000, 96, workers=1, progress=False, width=32, record=20,
                  calls_of=1, checkpoint=sys.argv[1])
result.save(sys.argv[2])
"""


def _launch(directory: Path, out: Path) -> subprocess.Popen:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen([sys.executable, "-c", _SCRIPT, str(directory), str(out)], env=environment)


@pytest.mark.system
def test_sigkill_and_resume_end_bit_for_bit_as_the_uninterrupted_run(tmp_path):
    settings = {**RUN, "workers": 1}
    whole = simulate(Shrink(rate=1e-7), Noisy(scale=1.0), 200_000, 96, **settings)
    directory, out = tmp_path / "checkpoint", tmp_path / "result.npz"
    kills = 0
    for pieces_before_kill in (1, 2, 3):  # once in the first piece, once in each later one
        process = _launch(directory, out)
        deadline = time.monotonic() + 60
        while process.poll() is None and len(list(directory.glob("piece-*.npz"))) < pieces_before_kill:
            assert time.monotonic() < deadline
            time.sleep(0.002)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            kills += 1
        process.wait()
    assert kills >= 1
    assert _launch(directory, out).wait(120) == 0
    resumed = Result.load(out)
    for name, values in whole.values.items():
        np.testing.assert_array_equal(resumed.values[name], values, err_msg=name)


def test_an_unfinished_piece_is_continued_not_recomputed(tmp_path, monkeypatch):
    monkeypatch.setattr(driver, "_SAVE_EVERY", 0.0)
    whole = simulate(Shrink(rate=0.01), Noisy(scale=1.0), 400, 5, **RUN)
    calls = []
    original = checkpoint.Store.save

    def failing(self, piece, progress):
        original(self, piece, progress)
        calls.append(progress.records)
        if progress.records == 7:
            raise KeyboardInterrupt

    monkeypatch.setattr(checkpoint.Store, "save", failing)
    with pytest.raises(KeyboardInterrupt):
        simulate(Shrink(rate=0.01), Noisy(scale=1.0), 400, 5, checkpoint=tmp_path, **RUN)
    monkeypatch.setattr(checkpoint.Store, "save", original)
    # Resumed in other calls: what is saved is a record point, not a call.
    resumed = simulate(Shrink(rate=0.01), Noisy(scale=1.0), 400, 5, checkpoint=tmp_path, **{**RUN, "calls_of": 4})
    assert max(calls) == 7
    assert resumed.timing["Shrink"]["rounds"] == 5 * 13 * 20  # 13 of 20 calls were left
    for name, values in whole.values.items():
        np.testing.assert_array_equal(resumed.values[name], values)


def test_a_run_stopped_before_its_first_record_point_resumes(tmp_path, monkeypatch):
    plan_of_run = []
    original = driver._Run.__init__

    def stopped(self, *arguments):
        original(self, *arguments)
        plan_of_run.append(self)

    start = Program.start

    def start_and_stop(self, *arguments):
        plan_of_run[-1].stop.set()  # as an interrupt during the start does
        return start(self, *arguments)

    monkeypatch.setattr(driver._Run, "__init__", stopped)
    monkeypatch.setattr(Program, "start", start_and_stop)
    with pytest.raises(driver._StoppedError):
        simulate(Shrink(), Noisy(scale=1.0), 40, 20, checkpoint=tmp_path, **RUN)
    monkeypatch.undo()
    (piece,) = tmp_path.glob("piece-*.npz")
    assert int(files.read_npz(piece)["records"]) == 0
    again = simulate(Shrink(), Noisy(scale=1.0), 40, 20, checkpoint=tmp_path, **RUN)
    whole = simulate(Shrink(), Noisy(scale=1.0), 40, 20, **RUN)
    np.testing.assert_array_equal(again.get("loss"), whole.get("loss"))


def test_an_edited_algorithm_does_not_resume_the_old_one(tmp_path, monkeypatch):
    simulate(Shrink(), Noisy(), 10, 3, checkpoint=tmp_path, **RUN)
    monkeypatch.setattr(plan, "_source_digest", lambda cls: "edited")
    with pytest.raises(InputError, match=r"algorithms.Shrink.source was .* now 'edited'"):
        simulate(Shrink(), Noisy(), 10, 3, checkpoint=tmp_path, **RUN)


def test_discarding_a_checkpoint_spares_other_files(tmp_path):
    (tmp_path / "mine.txt").write_text("keep")
    simulate(Shrink(), Noisy(), 10, 3, checkpoint=tmp_path, **RUN)
    checkpoint.discard(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_changed_run_is_refused_and_the_field_is_named(tmp_path):
    simulate(Shrink(rate=0.25), Noisy(), 10, 3, checkpoint=tmp_path, **RUN)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for algorithm, environment, horizon, seeds, named in (
        (Shrink(rate=0.5), Noisy(), 10, 3, "algorithms.Shrink.rate was .*0.25.*now .*0.5"),
        (Shrink(rate=0.25), Noisy(scale=1.0), 10, 3, "environments.Shrink.scale"),
        (Shrink(rate=0.25), Noisy(), 12, 3, "horizon was 10, now 12"),
        (Shrink(rate=0.25), Noisy(), 10, 4, "seeds was 3, now 4"),
    ):
        with pytest.raises(InputError, match=named):
            simulate(algorithm, environment, horizon, seeds, checkpoint=tmp_path, **RUN)
    after = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert before == after


def test_two_writers_are_refused(tmp_path):
    with filelock.FileLock(str(tmp_path / ".lock")), pytest.raises(InputError, match="another process is writing"):
        simulate(Shrink(), Noisy(), 5, 2, checkpoint=tmp_path, **RUN)


def test_a_damaged_piece_is_named_and_the_others_survive(tmp_path):
    simulate(Shrink(), Noisy(scale=1.0), 40, 80, checkpoint=tmp_path, **RUN)
    victim, *others = sorted(tmp_path.glob("piece-*.npz"))
    content = victim.read_bytes()
    for damaged in (b"", content[: len(content) // 2], b"not an npz file"):
        victim.write_bytes(damaged)
        with pytest.raises(InputError, match=victim.name):
            simulate(Shrink(), Noisy(scale=1.0), 40, 80, checkpoint=tmp_path, **RUN)
        assert all(path.exists() for path in others)
    victim.unlink()
    again = simulate(Shrink(), Noisy(scale=1.0), 40, 80, checkpoint=tmp_path, **RUN)
    whole = simulate(Shrink(), Noisy(scale=1.0), 40, 80, **RUN)
    np.testing.assert_array_equal(again.get("loss"), whole.get("loss"))


def test_a_strange_directory_is_refused(tmp_path):
    (tmp_path / "spec.json").write_text("{}")
    with pytest.raises(InputError, match="not a checkpoint"):
        simulate(Shrink(), Noisy(), 5, 2, checkpoint=tmp_path, **RUN)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot create"):
        simulate(Shrink(), Noisy(), 5, 2, checkpoint=tmp_path / "file" / "below", **RUN)


def test_another_version_warns_but_resumes(tmp_path):
    simulate(Shrink(), Noisy(), 5, 2, checkpoint=tmp_path, **RUN)
    saved = json.loads((tmp_path / "spec.json").read_text())
    saved["versions"]["jax"] = "0.0.1"
    (tmp_path / "spec.json").write_text(json.dumps(saved))
    with pytest.warns(UserWarning, match="0.0.1"):
        simulate(Shrink(), Noisy(), 5, 2, checkpoint=tmp_path, **RUN)


def test_a_write_that_fails_keeps_the_old_file_and_names_the_path(tmp_path, monkeypatch):
    path = tmp_path / "result.npz"
    files.write_atomically(path, b"old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(InputError, match="No space left on device"):
        files.write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["result.npz"]


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 half", b"\x93NUMPY"])
def test_loading_a_damaged_result_is_one_clear_line(tmp_path, content):
    path = tmp_path / "r.npz"
    path.write_bytes(content)
    with pytest.raises(InputError, match="damaged or not") as error:
        Result.load(path)
    assert "\n" not in str(error.value)


def test_loading_never_unpickles(tmp_path):
    np.savez(tmp_path / "r.npz", header=np.array([{"format": "jaxbandits result 2"}], dtype=object))
    with pytest.raises(InputError):
        Result.load(tmp_path / "r.npz")
    np.savez(tmp_path / "other.npz", values=np.zeros(3))
    with pytest.raises(InputError, match="damaged or not a jaxbandits result"):
        Result.load(tmp_path / "other.npz")
    with pytest.raises(InputError, match="no such file"):
        Result.load(tmp_path / "missing.npz")
