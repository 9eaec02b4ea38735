"""Killed at any instant, a run resumes bit for bit; files are never half written and never trusted blindly."""

import functools
import importlib
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import filelock
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.base import digests, files
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import param, pytree
from jaxbandits.base.versions import versions
from jaxbandits.engine import checkpoint, driver, identity
from jaxbandits.engine.meters import Metric
from jaxbandits.engine.program import Program
from jaxbandits.linear import HeavyTailed, HvtUCB
from jaxbandits.programs.compilation import RateEstimator
from jaxbandits.results.result import Result
from jaxbandits.simulation import Grid, Meter, compare, simulate, sweep
from tests.polling import wait_until
from tests.toy_problems import Noisy, Shrink, Slow

ROOT = Path(__file__).parents[2]
RUN = {"progress": False, "width": 32, "record_points": 20}

_SCRIPT = """
import sys
import jax
jax.config.update("jax_enable_x64", True)
from jaxbandits.simulation import simulate
from tests.toy_problems import Noisy, Shrink
result = simulate(Shrink(rate=1e-7), Noisy(scale=1.0), 200_000, 96, workers=1, progress=False, width=32,
                  record_points=20, seconds_per_call=0.02, save_every=0.0, checkpoint=sys.argv[1])
result.save(sys.argv[2])
"""


def _launch(directory: Path, out: Path) -> subprocess.Popen:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen([sys.executable, "-c", _SCRIPT, str(directory), str(out)], env=environment)


@pytest.mark.slow
@pytest.mark.system
def test_sigkill_and_resume_end_bit_for_bit_as_the_uninterrupted_run(tmp_path):
    settings = {**RUN, "workers": 1}
    whole = simulate(Shrink(rate=1e-7), Noisy(scale=1.0), 200_000, 96, **settings)
    directory, out = tmp_path / "checkpoint", tmp_path / "result.npz"
    kills = 0
    for batches_before_kill in (1, 2, 3):  # once in the first batch, once in each later one
        process = _launch(directory, out)
        wait_until(
            lambda process=process, n=batches_before_kill: (
                process.poll() is not None or len(list(directory.glob("batch-*.npz"))) >= n
            )
        )
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            kills += 1
        process.wait()
    assert kills >= 1
    assert _launch(directory, out).wait(120) == 0
    resumed = Result.load(out)
    for name in whole.metrics:
        np.testing.assert_array_equal(resumed.get(name), whole.get(name), err_msg=name)


def test_an_unfinished_batch_is_continued_not_recomputed(tmp_path, monkeypatch):
    """Saved in the middle of a block, resumed in other calls: the sums of that block so far are part of the file."""
    whole = simulate(Shrink(rate=0.01), Noisy(scale=1.0), 400, 5, **RUN)
    saved = []
    original = checkpoint.Store.save

    def failing(self, batch, progress):
        original(self, batch, progress)
        saved.append(progress.rounds)
        if progress.rounds == 147:
            raise KeyboardInterrupt

    monkeypatch.setattr(checkpoint.Store, "save", failing)
    monkeypatch.setattr(RateEstimator, "rounds_in", lambda self, seconds, previous: 7)
    with pytest.raises(KeyboardInterrupt):
        simulate(Shrink(rate=0.01), Noisy(scale=1.0), 400, 5, checkpoint=tmp_path, save_every=0.0, **RUN)
    monkeypatch.undo()
    resumed = simulate(Shrink(rate=0.01), Noisy(scale=1.0), 400, 5, checkpoint=tmp_path, **RUN)
    assert saved == list(range(7, 148, 7))
    timing = resumed["Shrink"].timing
    assert timing["rounds"] == 5 * (400 - 147)
    (ns,) = timing["ns_per_round"]  # of all its rounds: those of the first call count too
    assert ns * 1e-9 * 400 * resumed["Shrink"].spec["width"] > timing["run_s"] > 0.0
    for name in whole.metrics:
        np.testing.assert_array_equal(resumed.get(name), whole.get(name))


@pytree
class ShortNumbers(Shrink):
    """The learner with a state in types that NumPy lacks."""

    def init(self, key):
        return super().init(key), jnp.full(3, 0.1, jnp.bfloat16), jnp.full(2, 3, jnp.int4)

    def select(self, key, t, state, obs):
        return super().select(key, t, state[0], obs)

    def update(self, key, t, state, obs, decision, feedback):
        x, halves, quarters = state
        return super().update(key, t, x, obs, decision, feedback), halves + jnp.bfloat16(x), quarters

    def recommend(self, state):
        return state[0] + state[1][0].astype(float) * state[2][1].astype(float)


def test_states_in_types_that_numpy_lacks_are_read_back(tmp_path, monkeypatch):
    run = functools.partial(simulate, ShortNumbers(rate=0.1), Noisy(scale=1.0), 40, 5, seconds_per_call=1e-9, **RUN)
    original = checkpoint.Store.save

    def failing(self, batch, progress):
        original(self, batch, progress)
        raise KeyboardInterrupt

    monkeypatch.setattr(checkpoint.Store, "save", failing)
    with pytest.raises(KeyboardInterrupt):
        run(checkpoint=tmp_path, save_every=0.0)
    monkeypatch.undo()
    whole, resumed = run(), run(checkpoint=tmp_path)
    assert resumed["ShortNumbers"].timing["rounds"] < 5 * 40
    for name in whole.metrics:
        np.testing.assert_array_equal(resumed.get(name), whole.get(name))


def test_the_checkpoint_interval_is_kept(tmp_path, monkeypatch):
    saved = []
    original = checkpoint.Store.save
    monkeypatch.setattr(
        checkpoint.Store, "save", lambda self, *args: (saved.append(args[1].rounds), original(self, *args))
    )
    simulate(Shrink(), Noisy(), 40, 5, checkpoint=tmp_path / "often", save_every=0.0, seconds_per_call=1e-9, **RUN)
    assert saved == list(range(1, 41))
    saved.clear()
    simulate(Shrink(), Noisy(), 40, 5, checkpoint=tmp_path / "seldom", save_every=60.0, seconds_per_call=1e-9, **RUN)
    assert saved == [40]


def test_a_run_stopped_before_its_first_record_point_resumes(tmp_path, monkeypatch):
    plan_of_run = []
    original = driver._Run.__init__

    def stop_after(self, *arguments):
        original(self, *arguments)
        plan_of_run.append(self)

    start = Program.start

    def start_and_stop(self, *arguments):
        plan_of_run[-1].stop.set()  # as an interrupt during the start does
        return start(self, *arguments)

    monkeypatch.setattr(driver._Run, "__init__", stop_after)
    monkeypatch.setattr(Program, "start", start_and_stop)
    with pytest.raises(driver._StoppedError):
        simulate(Shrink(), Noisy(scale=1.0), 40, 20, checkpoint=tmp_path, **RUN)
    monkeypatch.undo()
    (batch,) = tmp_path.glob("batch-*.npz")
    assert int(files.read_npz(batch)["rounds"]) == 0
    again = simulate(Shrink(), Noisy(scale=1.0), 40, 20, checkpoint=tmp_path, **RUN)
    whole = simulate(Shrink(), Noisy(scale=1.0), 40, 20, **RUN)
    np.testing.assert_array_equal(again.get("loss"), whole.get("loss"))


def test_an_edited_package_does_not_resume_the_old_run(tmp_path, monkeypatch):
    simulate(Shrink(), Noisy(), 10, 3, checkpoint=tmp_path, **RUN)
    monkeypatch.setattr(identity, "package_digest", lambda: "edited")
    with pytest.raises(InputError, match=r"package was .* now 'edited'"):
        simulate(Shrink(), Noisy(), 10, 3, checkpoint=tmp_path, **RUN)


@pytest.mark.slow
def test_an_edited_estimator_does_not_resume_its_learner(tmp_path, monkeypatch):
    """Hvt-UCB computes with `hvt_estimator.py`, which is not the module of its class."""
    copied, checkpoint = tmp_path / "jaxbandits", tmp_path / "checkpoint"
    shutil.copytree(digests._PACKAGE, copied, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(digests, "_PACKAGE", copied)
    monkeypatch.setattr(identity, "package_digest", digests.package_digest.__wrapped__)  # as a new process finds it
    algorithm, environment = HvtUCB.practical(dim=2, horizon=10, eps=0.99), HeavyTailed(dim=2, n_arms=3)
    for _ in range(2):
        simulate(algorithm, environment, 10, 2, checkpoint=checkpoint, **RUN)
    edited = copied / "algorithms" / "linear" / "hvt_estimator.py"
    edited.write_text(edited.read_text() + "# another constant\n")
    with pytest.raises(InputError, match="package was "):
        simulate(algorithm, environment, 10, 2, checkpoint=checkpoint, **RUN)


def test_another_measure_under_the_same_name_does_not_resume(tmp_path):
    def run(measure, reduce="sum", number=1.0):
        meters = [Meter("m", measure, reduce)]
        return simulate(Shrink(), Noisy(), 10, 3, checkpoint=tmp_path, meters=meters, **RUN)

    def scale_play(factor):
        return lambda r: factor * r.decision.play

    first = run(scale_play(1.0))
    np.testing.assert_array_equal(run(scale_play(1.0)).get("m"), first.get("m"))  # the same code, another object
    for measure, reduce in (
        (scale_play(2.0), "sum"),
        (lambda r: r.decision.play + 1.0, "sum"),
        (scale_play(1.0), "max"),
    ):
        with pytest.raises(InputError, match=r"the code of Shrink, or a value|jobs\.Shrink\.meters\.m\."):
            run(measure, reduce)


@pytree
class Schedule(Shrink):
    factors: Any = param(None, None, "factors of the state by number of the phase")

    def update(self, key, t, state, obs, decision, feedback):
        return state * self.factors[0]


def test_other_numbers_in_a_dictionary_without_text_keys_do_not_resume(tmp_path):
    """Such a field is an argument of the program, so only the specification shows its numbers."""
    simulate(Schedule(factors={0: 0.5}), Noisy(), 10, 3, checkpoint=tmp_path, **RUN)
    simulate(Schedule(factors={0: 0.5}), Noisy(), 10, 3, checkpoint=tmp_path, **RUN)
    with pytest.raises(InputError, match=r"jobs\.Schedule\.algorithm\.factors\.children was \[0\.5\] and is now"):
        simulate(Schedule(factors={0: 0.25}), Noisy(), 10, 3, checkpoint=tmp_path, **RUN)


_USER = """
from jaxbandits.base.pytree import pytree
from tests.toy_problems import Shrink
from {helper} import factor

@pytree
class Mine(Shrink):
    def update(self, key, t, state, obs, decision, feedback):
        return factor() * state
"""


def test_an_edited_module_behind_the_learner_does_not_resume(tmp_path, monkeypatch):
    """The code that computes the numbers may lie in another file than the class of the learner."""
    monkeypatch.syspath_prepend(tmp_path)

    def learner(source):
        for name in ("their_learner", "their_helper"):
            sys.modules.pop(name, None)
        (tmp_path / "their_helper.py").write_text(source)
        (tmp_path / "their_learner.py").write_text(_USER.format(helper="their_helper"))
        importlib.invalidate_caches()
        shutil.rmtree(tmp_path / "__pycache__", ignore_errors=True)
        return importlib.import_module("their_learner").Mine()

    directory = tmp_path / "checkpoint"
    simulate(learner("def factor():\n    return 0.5\n"), Noisy(), 10, 3, checkpoint=directory, **RUN)
    simulate(learner("def factor():\n    return 0.5\n"), Noisy(), 10, 3, checkpoint=directory, **RUN)
    with pytest.raises(InputError, match="the code of Mine, or a value that it reads while"):
        simulate(learner("def factor():\n    return 0.25\n"), Noisy(), 10, 3, checkpoint=directory, **RUN)


def test_discarding_a_checkpoint_spares_other_files(tmp_path):
    (tmp_path / "mine.txt").write_text("keep")
    simulate(Shrink(), Noisy(), 10, 3, checkpoint=tmp_path, **RUN)
    checkpoint.discard(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_changed_run_is_refused_and_the_field_is_named(tmp_path):
    simulate(Shrink(rate=0.25), Noisy(), 10, 3, checkpoint=tmp_path, **RUN)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for algorithm, environment, horizon, seeds, named in (
        (Shrink(rate=0.5), Noisy(), 10, 3, "jobs.Shrink.algorithm.rate was 0.25 and is now 0.5"),
        (Shrink(rate=0.25), Noisy(scale=1.0), 10, 3, "jobs.Shrink.environment.scale was 0.0 and is now 1.0"),
        (Shrink(rate=0.25), Noisy(), 12, 3, "jobs.Shrink.horizon was 10 and is now 12"),
        (Shrink(rate=0.25), Noisy(), 10, 4, "jobs.Shrink.seeds was 3 and is now 4"),
    ):
        with pytest.raises(InputError, match=named):
            simulate(algorithm, environment, horizon, seeds, checkpoint=tmp_path, **RUN)
    for change, named in (
        ({"seed": 1}, "base_seed was 0 and is now 1"),
        ({"first_seed": 1}, "jobs.Shrink.first_seed was 0 and is now 1"),
        ({"width": 64}, "jobs.Shrink.width was 32 and is now 64"),
        ({"record_points": 5}, "jobs.Shrink.record_points was"),
    ):
        with pytest.raises(InputError, match=named):
            simulate(Shrink(rate=0.25), Noisy(), 10, 3, checkpoint=tmp_path, **{**RUN, **change})
    with pytest.raises(InputError, match="points was"):
        sweep(Shrink(rate=0.25), Noisy(), 10, 3, grid={"rate": [0.25]}, checkpoint=tmp_path, **RUN)
    after = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert before == after


@pytest.mark.slow
def test_labels_that_look_like_numbered_jobs_are_guarded_too(tmp_path):
    def run(rate):
        learners = {"m 1": Shrink(rate=rate), "m": Grid(Slow(), {"work": [1, 2]})}
        return compare(learners, Noisy(), 10, 3, checkpoint=tmp_path, **RUN)

    run(0.25)
    with pytest.raises(InputError, match=r"jobs.m 1.algorithm.rate was 0.25 and is now 0.5"):
        run(0.5)


@pytest.mark.parametrize("n_points", [2, 70])  # a specification holds up to 64 points, or else their digest
def test_points_may_be_infinite(tmp_path, n_points):
    def play(last):
        points = {"environment.fail_at": [*np.arange(1.0, n_points), last]}
        settings = RUN | {"record_points": 1, "checkpoint": tmp_path}
        return sweep(Shrink(), Noisy(scale=1.0), 2, 1, grid=points, **settings).get("loss")

    np.testing.assert_array_equal(play(np.inf), play(np.inf))
    with pytest.raises(InputError, match="points"):
        play(1e9)


def test_two_writers_are_refused(tmp_path):
    with filelock.FileLock(str(tmp_path / ".lock")), pytest.raises(InputError, match="another process is writing"):
        simulate(Shrink(), Noisy(), 5, 2, checkpoint=tmp_path, **RUN)


def test_a_damaged_batch_is_named_and_the_others_survive(tmp_path):
    simulate(Shrink(), Noisy(scale=1.0), 40, 80, checkpoint=tmp_path, **RUN)
    victim, *others = sorted(tmp_path.glob("batch-*.npz"))
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


@pytest.mark.parametrize("metric", [Metric("sum", "loss"), Metric("snapshot", "norm: largest")])
def test_metrics_are_read_as_they_are_written(metric):
    assert Metric.parse(str(metric)) == metric


@pytest.mark.parametrize("text", ["loss", "mean:loss", "sum:", ""])
def test_a_metric_without_a_reduction_is_refused(text):
    with pytest.raises(InputError, match="a metric must be written as reduction:name"):
        Metric.parse(text)


def test_a_strange_directory_is_refused(tmp_path):
    (tmp_path / "spec.json").write_text("{}")
    with pytest.raises(InputError, match=r"spec\.json is damaged or not a jaxbandits file"):
        simulate(Shrink(), Noisy(), 5, 2, checkpoint=tmp_path, **RUN)
    files.write_json(tmp_path / "spec.json", {"format": "another"})
    with pytest.raises(InputError, match="not a checkpoint of this version"):
        simulate(Shrink(), Noisy(), 5, 2, checkpoint=tmp_path, **RUN)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot create"):
        simulate(Shrink(), Noisy(), 5, 2, checkpoint=tmp_path / "file" / "below", **RUN)


def test_another_version_is_refused(tmp_path, monkeypatch):
    simulate(Shrink(), Noisy(), 5, 2, checkpoint=tmp_path, **RUN)
    monkeypatch.setattr(identity, "versions", lambda: {**versions(), "jaxlib": "99.0"})
    with pytest.raises(InputError, match=r"versions.jaxlib was .* and is now '99.0'"):
        simulate(Shrink(), Noisy(), 5, 2, checkpoint=tmp_path, **RUN)


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000, '{"spec": 3}', "\x00"])
def test_a_damaged_spec_is_one_line_that_names_the_file(tmp_path, text):
    simulate(Shrink(), Noisy(), 5, 2, checkpoint=tmp_path, **RUN)
    (tmp_path / "spec.json").write_text(text)
    with pytest.raises(InputError, match=r"spec\.json") as error:
        simulate(Shrink(), Noisy(), 5, 2, checkpoint=tmp_path, **RUN)
    assert "\n" not in str(error.value)
