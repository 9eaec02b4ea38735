"""A sweep's directory: bitwise the run without files, resumed, sharded, repaired, and never another sweep's."""

import dataclasses
import json
import math
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import filelock
import numpy as np
import pytest

from jaxbandits.base import files
from jaxbandits.base.errors import InputError
from jaxbandits.engine import checkpoint, driver
from jaxbandits.linear import OFUL, HeavyTailed
from jaxbandits.simulation import Grid, Meter
from jaxbandits.sweeps import run as run_lib
from jaxbandits.sweeps import status as status_lib
from jaxbandits.sweeps.directory import Directory
from jaxbandits.sweeps.estimate import estimate_cost
from jaxbandits.sweeps.load import SweepResult, load_sweep
from jaxbandits.sweeps.merge import merge_sweeps
from jaxbandits.sweeps.run import run_sweep
from jaxbandits.sweeps.sweep import Sweep, plan_sweep
from tests.sweeps.toy_sweeps import FILE, SWEEP, change_sweep, whole
from tests.toy_problems import Noisy, Shrink, Slow

ROOT = Path(__file__).parents[2]
N_PARTS = 6 + 1  # one point of 40 seeds a part of at most 70 trials, and the learner that is not swept


def run(directory, sweep=SWEEP, **settings):
    return run_sweep(sweep, directory, progress=False, **settings)


def contents(directory):
    return {p.name: p.read_bytes() for p in sorted((directory / "parts").glob("*.npz"))}


@pytest.fixture(scope="module")
def finished_sweep(tmp_path_factory):
    directory = tmp_path_factory.mktemp("finished") / "sweep"
    run(directory)
    return directory


@pytest.fixture
def copy_of_sweep(finished_sweep, tmp_path):
    return shutil.copytree(finished_sweep, tmp_path / "copied")


@pytest.fixture
def labels_of_parts(monkeypatch):
    """Labels of the parts that are computed from here on."""
    labels = []
    original = driver.run

    def run_and_count(plan, **settings):
        labels.append(plan.jobs[0].label)
        return original(plan, **settings)

    monkeypatch.setattr(driver, "run", run_and_count)
    return labels


def equal(result, other):
    for label in other:
        assert list(result[label].points) == list(other[label].points)
        assert result[label].values.keys() == other[label].values.keys()
        for name, values in other[label].values.items():
            np.testing.assert_array_equal(result[label].get(name), values, err_msg=f"{label} {name}")
        np.testing.assert_array_equal(result[label].healthy, other[label].healthy)
        assert result[label].spec == other[label].spec


def test_a_sweep_is_bit_for_bit_the_run_without_files(finished_sweep):
    found = load_sweep(finished_sweep)
    assert found.labels == ("swept", "fixed") and not found.missing and not found.failures
    assert len(contents(finished_sweep)) == N_PARTS and not list((finished_sweep / "working").iterdir())
    equal(found.load(), whole())
    assert found.load("fixed")["fixed"].timing["rounds"] == 40 * 20


def test_what_is_done_is_not_computed_again(copy_of_sweep, labels_of_parts):
    before = contents(copy_of_sweep)
    run(copy_of_sweep)
    assert labels_of_parts == [] and contents(copy_of_sweep) == before


def test_a_part_of_another_sweep_is_not_read(copy_of_sweep, tmp_path):
    """Not even where the record was brought along, and names the part."""
    other = tmp_path / "other"
    run(other, dataclasses.replace(SWEEP, seed=SWEEP.seed + 1))
    mine, its = sorted((copy_of_sweep / "parts").glob("*.npz"))[0], sorted((other / "parts").glob("*.npz"))[0]
    record, its_record = (files.read_json(path.with_suffix(".json")) for path in (mine, its))
    shutil.copy(its, mine)
    changes = [
        ({"bytes": its_record["bytes"]}, "is not the file that the sweep recorded"),
        (its_record, "of another sweep"),
    ]
    for change, message in changes:
        files.write_json(mine.with_suffix(".json"), record | change | {"part": mine.stem})
        with pytest.raises(InputError, match=message):
            list(load_sweep(copy_of_sweep).parts())


def test_a_lost_or_damaged_part_is_computed_again(copy_of_sweep, labels_of_parts, capsys):
    before = contents(copy_of_sweep)
    victims = sorted((copy_of_sweep / "parts").glob("*.npz"))[1:4]
    content = bytearray(victims[0].read_bytes())
    content[len(content) // 2] ^= 1
    victims[0].write_bytes(content)
    victims[1].unlink()
    victims[2].with_suffix(".json").write_text("{")
    for half in (victims[1], victims[2].with_suffix(".json"), copy_of_sweep / "manifest.json"):
        half.with_name(f"{half.name}.12.tmp").write_text("{")  # of a process that was killed as it wrote
    assert len(load_sweep(copy_of_sweep).missing) == 2  # the damage of one is seen when it is read
    with pytest.raises(InputError, match=victims[0].name):
        list(load_sweep(copy_of_sweep).parts())
    run(copy_of_sweep)
    assert len(labels_of_parts) == 3 and contents(copy_of_sweep) == before and not list(copy_of_sweep.rglob("*.tmp"))
    assert f"{victims[0].name} is damaged; it is computed again" in capsys.readouterr().err


def test_a_sweep_that_is_out_of_reach_is_not_called_damaged(copy_of_sweep, monkeypatch):
    monkeypatch.chdir(copy_of_sweep.parent)
    result = load_sweep(copy_of_sweep.name)
    assert result.load()["fixed"].usable("loss").all()
    monkeypatch.chdir(copy_of_sweep)
    with pytest.raises(InputError, match=r"copied holds no sweep any more: .* the working directory has changed"):
        result.load()


def test_a_part_under_the_name_of_another_is_not_read(copy_of_sweep):
    first, second = (copy_of_sweep / "parts" / f"{part.name}.npz" for part in plan_sweep(SWEEP).parts[:2])
    shutil.copy(second, first)
    record = first.with_suffix(".json")
    files.write_json(record, files.read_json(record) | {"bytes": first.stat().st_size})
    with pytest.raises(InputError, match=f"{first.name} is not the file that the sweep recorded"):
        list(load_sweep(copy_of_sweep).parts())
    shutil.copy(second.with_suffix(".json"), record)
    assert load_sweep(copy_of_sweep).missing == (first.stem,)


def test_shards_are_bit_for_bit_the_whole(finished_sweep, tmp_path, labels_of_parts):
    for i in (2, 3, 1):
        found = run(tmp_path, shard=(i, 3))
    assert contents(tmp_path) == contents(finished_sweep) and len(labels_of_parts) == N_PARTS and not found.missing
    for shard in ((0, 3), (4, 3), (1, 0), 2, ("1", 2)):
        with pytest.raises(InputError, match="shard"):
            run(tmp_path, shard=shard)


def test_seeds_may_be_cut_too(tmp_path):
    sweep = change_sweep(part_trials=17)
    found = run(tmp_path, sweep)
    assert len(contents(tmp_path)) == 7 * 3
    equal(found.load(), whole())
    mean = found.mean("loss", "swept")
    values = whole()["swept"].get("loss")
    np.testing.assert_allclose(mean.mean, values.mean(axis=1), rtol=1e-13)
    np.testing.assert_allclose(mean.error, values.std(axis=1, ddof=1) / math.sqrt(40), rtol=1e-12)
    assert mean.trials.tolist() == [40] * 6 and mean.failed.tolist() == [0] * 6


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"horizon": 21, "record_points": [5, 10, 15, 21]}, "jobs.swept.horizon was 20 and is now 21"),
        ({"seeds": 41}, "jobs.swept.seeds was 40 and is now 41"),
        ({"seed": 1}, "base_seed was 0 and is now 1"),
        ({"part_trials": 40}, "parts was"),
        ({"metrics": ["loss"]}, "metrics was None and is now"),
        ({"algorithms": dict(reversed(SWEEP.algorithms.items()))}, "labels was"),
        ({"environment": Noisy(scale=2.0)}, "environment.scale was 1.0 and is now 2.0"),
        ({"meters": [Meter("play", lambda r: r.decision.play)]}, "meters"),
        ({"algorithms": {**SWEEP.algorithms, "more": Shrink()}}, "jobs.more"),
    ],
)
def test_another_sweep_is_refused_and_the_field_is_named(finished_sweep, settings, named, labels_of_parts):
    before = contents(finished_sweep)
    with pytest.raises(InputError, match=f"holds another sweep: .*{named}") as error:
        run(finished_sweep, change_sweep(**settings))
    assert "\n" not in str(error.value) and labels_of_parts == [] and contents(finished_sweep) == before


def test_a_sweep_that_another_process_has_replaced_before_its_first_part_is_refused(tmp_path, monkeypatch):
    """Otherwise it would compute its parts, and return the results of the other sweep, of which none is there."""
    begin, other = Directory.begin, plan_sweep(change_sweep(seed=1))

    def begin_both(directory, *arguments):
        begin(directory, *arguments)
        begin(directory, run_lib.make_manifest(other), lambda *_: pytest.fail("something was computed"))

    with monkeypatch.context() as patch, pytest.raises(InputError, match="holds another sweep: base_seed was 1"):
        patch.setattr(Directory, "begin", begin_both)
        run(tmp_path)
    assert not any(tmp_path.glob("parts/*")) and not any(tmp_path.glob("working/*"))
    assert not run(tmp_path, change_sweep(seed=1)).missing


@pytest.mark.parametrize("part_trials", [16, 70])  # a part for half of the seeds of a point, or for three points
def test_points_that_a_grid_repeats_are_loaded_at_their_positions(tmp_path, part_trials):
    grid = Grid(Shrink(), {"rate": [0.5, 0.1, 0.5]})
    sweep = change_sweep(algorithms={"swept": grid}, part_trials=part_trials, seeds=32, width=16)
    result = run(tmp_path, sweep)
    loaded, plain = result.load()["swept"], whole(sweep)["swept"]
    assert loaded.points == plain.points == ({"rate": 0.5}, {"rate": 0.1}, {"rate": 0.5})
    np.testing.assert_array_equal(loaded.get("loss"), plain.get("loss"))
    np.testing.assert_allclose(result.mean("loss").mean, loaded.get("loss").mean(axis=1), rtol=1e-12)


def test_points_whose_fields_are_in_another_order_are_loaded(tmp_path):
    grid = Grid(Shrink(), [{"rate": 0.5, "start": 1.0}, {"start": 2.0, "rate": 0.1}])
    sweep = change_sweep(algorithms={"swept": grid}, part_trials=32, seeds=32)
    loaded = run(tmp_path, sweep).load()["swept"]
    assert [list(point.items()) for point in loaded.points] == [
        [("rate", 0.5), ("start", 1.0)],
        [("rate", 0.1), ("start", 2.0)],
    ]
    np.testing.assert_array_equal(loaded.get("loss"), whole(sweep)["swept"].get("loss"))


def test_names_of_parts_tell_configurations_apart():
    names = {part.name for part in plan_sweep(SWEEP).parts}
    for settings in ({"seed": 1}, {"horizon": 21}, {"metrics": ["loss"]}, {"first_seed": 40}, {"width": 64},
                     {"environment": Noisy(scale=1.0, fail_at=7.0)}):  # fmt: skip
        assert not names & {part.name for part in plan_sweep(change_sweep(**settings)).parts}, settings
    assert names == {part.name for part in plan_sweep(SWEEP).parts}


def test_points_may_be_infinite(tmp_path, labels_of_parts):
    points = {"environment.fail_at": [math.inf, 5.0, math.inf]}
    sweep = change_sweep(algorithms={"swept": Grid(Shrink(), points)}, part_trials=40)
    run(tmp_path, sweep)
    found = run(tmp_path, sweep).load()["swept"]
    assert len(labels_of_parts) == 3
    assert [point["environment.fail_at"] for point in found.points] == points["environment.fail_at"]
    np.testing.assert_array_equal(found.get("loss"), whole(sweep).get("loss"))


def test_failed_parts_are_recorded_and_the_others_go_on(tmp_path, monkeypatch, capsys):
    original = driver.run

    def failing(plan, **settings):
        if plan.jobs[0].points[0].get("rate") == 0.5:
            raise RuntimeError("no\nluck")
        return original(plan, **settings)

    monkeypatch.setattr(driver, "run", failing)
    assert len(run(tmp_path / "fast", fail_fast=True).failures) == 1
    assert len(contents(tmp_path / "fast")) == 2
    found = run(tmp_path / "all")
    assert len(found.failures) == len(found.missing) == 2 and "luck" in next(iter(found.failures.values()))
    assert capsys.readouterr().err.count("failed: RuntimeError") == 3
    seen = status_lib.read_status(tmp_path / "all")
    assert seen["parts"] == {"total": 7, "done": 5, "running": 0, "failed": 2, "missing": 0}
    assert [f["label"] for f in seen["failures"]] == ["swept", "swept"] and "luck" in status_lib.format_status(seen)
    with pytest.warns(UserWarning, match="swept: 4 of 6 points are complete"):
        assert [p["rate"] for p in found.load()["swept"].points] == [0.1, 0.1, 0.9, 0.9]
    monkeypatch.setattr(driver, "run", original)
    assert len(run(tmp_path / "all").failures) == 2  # not tried unless asked for
    found = run(tmp_path / "all", retry_failed=True)
    assert not found.failures and not found.missing
    equal(found.load(), whole())


def test_a_part_that_another_process_computes_is_left_to_it(tmp_path, labels_of_parts):
    planned = plan_sweep(SWEEP)
    directory, name = Directory(tmp_path), planned.parts[2].name
    with filelock.FileLock(str(make_directory(directory.working_path(name)) / ".lock")):
        found = run(tmp_path)
        assert found.missing == (name,) and len(labels_of_parts) == N_PARTS - 1
        seen = status_lib.read_status(tmp_path)
        assert seen["parts"]["running"] == 1 and seen["running"][0]["part"] == name
        assert seen["seconds_left"] > 0 and "running" in status_lib.format_status(seen)
    assert not run(tmp_path).missing


def make_directory(path):
    path.mkdir(parents=True)
    return path


@pytest.mark.parametrize(("compile_s", "rate"), [(0.5, 800.0), (1.5, 400.0)])
def test_a_rate_leaves_compilation_out_as_far_as_it_is_known(compile_s, rate, copy_of_sweep, monkeypatch):
    """Seconds of compilation may exceed those of the part, which waits for programs that others compile."""
    record = {"wall_s": 1.0, "timing": {"rounds": 400, "compile_s": compile_s}, "failed_trials": 0}
    record["inadmissible_trials"] = 0
    monkeypatch.setattr(Directory, "read_record", lambda *_: record)
    seen = status_lib.read_status(copy_of_sweep)
    assert seen["rounds_per_s"] == pytest.approx(rate)


def test_status_counts(finished_sweep, copy_of_sweep):
    seen = status_lib.read_status(copy_of_sweep)
    assert seen["parts"] == {"total": 7, "done": 7, "running": 0, "failed": 0, "missing": 0}
    assert seen["trials"] == {"total": 280, "done": 280} and seen["rounds"] == {"total": 5600, "done": 5600}
    assert seen["failed_trials"] == 0 and seen["rounds_per_s"] > 0 and seen["seconds_left"] == 0
    json.dumps(seen)
    with pytest.raises(InputError, match="holds no sweep"):
        status_lib.read_status(copy_of_sweep / "parts")
    (copy_of_sweep / "manifest.json").write_text("{}")
    with pytest.raises(InputError, match=r"manifest\.json is damaged"):
        status_lib.read_status(copy_of_sweep)


def test_failed_trials_are_counted_and_left_out(tmp_path):
    sweep = change_sweep(algorithms={"fixed": Shrink()}, environment=Noisy(fail_at=10.0), part_trials=10)
    found = run(tmp_path, sweep)
    lost = (~whole(sweep)["fixed"].usable("loss")).sum()
    assert 0 < lost < 40 and status_lib.read_status(tmp_path)["failed_trials"] == lost
    mean = found.mean("loss")
    assert mean.failed.tolist() == [lost] and np.isfinite(mean.mean).all()


def test_missing_values_are_left_out_of_means(finished_sweep, monkeypatch):
    """A trial without a value at an early record point, and one without any, are not failed."""
    read = SweepResult._read

    def read_with_gaps(self, part):
        trials = read(self, part)
        values = {"loss": trials.values["loss"].copy()}
        values["losses"] = np.stack([trials.values["loss"], values["loss"]], axis=-1)  # the second entry lacks half
        values["losses"][:, ::2, :, 1] = np.nan
        values["loss"][:, 0, 0], values["loss"][:, 1] = np.nan, np.nan
        return dataclasses.replace(trials, values=values, may_be_missing=("loss", "losses"))

    monkeypatch.setattr(SweepResult, "_read", read_with_gaps)
    found = load_sweep(finished_sweep)
    values, mean = found.load("swept")["swept"].get("loss"), found.mean("loss", "swept")
    assert mean.failed.tolist() == [0] * 6 and mean.trials.tolist() == [39] * 6
    n = np.isfinite(values).sum(axis=1)
    assert n[0].tolist() == [38, 39, 39, 39]
    np.testing.assert_allclose(mean.mean, np.nanmean(values, axis=1), rtol=1e-13)
    np.testing.assert_allclose(mean.error, np.nanstd(values, axis=1, ddof=1) / np.sqrt(n), rtol=1e-12)
    losses = found.load("swept")["swept"].get("losses")
    np.testing.assert_allclose(found.mean("losses", "swept").mean, np.nanmean(losses, axis=1), rtol=1e-13)


def test_final_values_and_tables(finished_sweep):
    found = load_sweep(finished_sweep)
    final = found.final("loss")
    np.testing.assert_array_equal(final["swept"].final("loss"), whole()["swept"].final("loss"))
    assert final["swept"].get("loss").shape == (6, 40, 1) and final.metrics == ("loss",)
    assert found.final("loss", "fixed").labels == ("fixed",)
    with pytest.warns(UserWarning, match="40 seeds"):
        assert [row.trials for row in final.summary("loss")] == [40] * 7
    for wrong in (lambda: found.final("regret"), lambda: found.load("swep"), lambda: found.points("x")):
        with pytest.raises(InputError, match="unknown"):
            wrong()
    with pytest.raises(InputError, match=r"choose one of .* with label=$"):
        found.mean("loss")
    assert "7 of 7 parts" in repr(found) and found.points("swept")[0] == {"rate": 0.1, "environment.scale": 0.5}


def test_a_trial_lost_on_the_way_is_lost_at_the_end(finished_sweep, tmp_path, monkeypatch):
    """Only the last record is kept, but a value that was NaN before it is not forgotten."""
    read = SweepResult._read

    def load_damaged_part(self, part):
        trials = read(self, part)
        loss = trials.values["loss"].copy()
        loss[:, 0, 0] = np.nan
        return dataclasses.replace(trials, values=trials.values | {"loss": loss})

    monkeypatch.setattr(SweepResult, "_read", load_damaged_part)
    usable = load_sweep(finished_sweep).final("loss", "swept")["swept"].usable("loss")
    assert not usable[:, 0].any() and usable[:, 1:].all()
    header, *rows = load_sweep(finished_sweep).to_csv(tmp_path / "final.csv", final=True).read_text().splitlines()
    healthy = header.split(",").index("healthy")
    assert [row.split(",")[healthy] for row in rows].count("False") == 7


def test_csv_has_the_columns_of_every_program(tmp_path):
    """The entries of a metric whose length is that of a swept dimension."""
    points = [{"dim": 1, "environment.dim": 1}, {"dim": 2, "environment.dim": 2}]
    action = Meter("action", lambda r: r.decision.x, "last")
    sweep = Sweep(
        algorithms={"a": Grid(OFUL(dim=1), points)}, environment=HeavyTailed(dim=1, n_arms=3), horizon=4, seeds=2,
        record_points=1, meters=[action], metrics=["action"],
    )  # fmt: skip
    found = run(tmp_path / "sweep", sweep)
    header, *rows = found.to_csv(tmp_path / "all.csv").read_text().splitlines()
    ends = [row.split(",")[header.split(",").index("action[0]") :] for row in rows]
    assert header.endswith("action[0],action[1]") and [[bool(x) for x in end] for end in ends] == [
        *[[True, False]] * 2,
        *[[True, True]] * 2,
    ]


def test_csv_is_that_of_the_whole(finished_sweep, tmp_path):
    found = load_sweep(finished_sweep)
    ours, theirs = found.to_csv(tmp_path / "ours.csv"), found.load().to_csv(tmp_path / "theirs.csv")
    assert ours.read_bytes() == theirs.read_bytes()
    rows = found.to_csv(tmp_path / "final.csv", final=True).read_text().splitlines()
    assert len(rows) == 1 + 280 and set(rows[1:]) < set(ours.read_text().splitlines())
    with pytest.raises(InputError, match="cannot create"):
        found.to_csv(tmp_path / "ours.csv" / "below" / "x.csv")


def test_only_the_metrics_asked_for_are_kept(tmp_path):
    found = run(tmp_path / "one", change_sweep(metrics=["newest", "loss"]))
    assert set(found.load().metrics) == {"newest", "loss"}
    with pytest.raises(InputError, match="metrics: unknown metric 'los'; did you mean 'loss'"):
        run(tmp_path / "wrong", change_sweep(metrics=["los"]))
    assert not contents(tmp_path / "wrong")
    assert run(tmp_path / "wrong", change_sweep(metrics=["loss"])).final().metrics == ("loss",)  # nothing was there yet


def test_a_directory_that_cannot_be_written(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot create"):
        run(tmp_path / "file" / "below")
    monkeypatch.setattr(files.os, "access", lambda *_: False)  # as of a read-only directory, whoever runs this test
    with pytest.raises(InputError, match=f"cannot write to {tmp_path}"):
        run(tmp_path)


def test_a_full_disk_ends_the_run_and_spares_what_is_done(tmp_path, monkeypatch):
    original, written = files.os.replace, []

    def full(source, target):
        written.append(target)
        if len(list(tmp_path.glob("parts/*.json"))) == 3:
            raise OSError(28, "No space left on device")
        original(source, target)

    monkeypatch.setattr(files.os, "replace", full)
    with pytest.raises(InputError, match=r"cannot write .*No space left on device"):
        run(tmp_path)
    monkeypatch.undo()
    assert len(contents(tmp_path)) == 3 and not list(tmp_path.rglob("*.tmp")) and not load_sweep(tmp_path).failures
    equal(run(tmp_path).load(), whole())


def test_strange_directories_are_refused(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "x.npz").write_text("")
    with pytest.raises(InputError, match="no manifest"):
        run(tmp_path)
    for wrong in (None, 3, ""):
        with pytest.raises(InputError, match="directory"):
            run_sweep(SWEEP, wrong)
    with pytest.raises(InputError, match="must be a Sweep"):
        run(tmp_path, {"horizon": 3})
    other = tmp_path / "other"  # of a reproduction, say: nothing of a sweep is there yet
    other.mkdir()
    (other / "manifest.json").write_text(text := '{"experiment": "linear/fig1"}')
    with pytest.raises(InputError, match="not that of a sweep"):
        run(other)
    assert (other / "manifest.json").read_text() == text and len(list(other.iterdir())) <= 2  # and a lock


def test_estimate():
    found = estimate_cost(plan_sweep(SWEEP), workers=2)
    assert (found.trials, found.rounds, found.parts, found.programs) == (280, 5600, 7, 2)
    assert found.part_bytes == 40 * 8 * 4 * len(whole()["swept"].values | {"healthy": 0})
    assert found.run_s > 0 and "280 trials, 5,600 rounds" in found.format()


@pytest.mark.slow
def test_a_file_with_a_program_per_static_value(tmp_path, monkeypatch):
    path = tmp_path / "mine.toml"
    path.write_text(FILE)
    monkeypatch.chdir(tmp_path)
    found = run_sweep(path, progress=False)
    assert found.path.as_posix() == "results/mine" and found.load()["oful"].final("regret").shape == (4, 4)
    assert [p["dim"] for p in found.load()["oful"].points] == [2, 2, 3, 3]
    path.write_text(FILE.replace(", n = 2 }", ", n = 3 }"))
    with pytest.raises(InputError, match=r"mine.toml: results/mine holds another sweep: algorithms.oful.ridge.n was 2"):
        run_sweep(path, progress=False)
    assert not load_sweep("results/mine").missing  # the old results are readable
    path.write_text(FILE.replace("{ logspace = [0.1, 1.0], n = 2 }", "{ values = [0.1, 1.0] }"))
    assert run_sweep(path, progress=False).missing == ()  # the same points in other words


@pytest.mark.slow
def test_points_of_static_fields_come_out_in_their_order(tmp_path):
    """Two programs, whose points alternate."""
    grid = Grid(Slow(), {"environment.scale": [0.5, 1.0], "work": [2, 1]})
    sweep = change_sweep(algorithms={"g": grid}, part_trials=40)
    found = run(tmp_path, sweep)
    equal(found.load(), whole(sweep))
    np.testing.assert_allclose(found.mean("loss").mean, whole(sweep)["g"].get("loss").mean(axis=1), rtol=1e-13)


def test_an_interrupted_part_goes_on_where_it_was(tmp_path, monkeypatch):
    """Finished batches that were held back are written down, and are not computed again."""
    sweep = change_sweep(part_trials=240)
    collected, original = [], driver._Run._collect

    def collect_then_interrupt(self, batch, rows):
        original(self, batch, rows)
        collected.append(batch.index)
        if len(collected) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(driver._Run, "_collect", collect_then_interrupt)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, sweep, workers=1)
    monkeypatch.undo()
    assert len(list(tmp_path.rglob("batch-*.npz"))) == 3 and not contents(tmp_path)
    seen = status_lib.read_status(tmp_path)
    assert seen["parts"]["missing"] == 2 and seen["rounds"]["done"] == 3 * 32 * 20
    found = run(tmp_path, sweep, workers=1)
    assert found.load("swept")["swept"].timing["rounds"] == (240 - 3 * 32) * 20
    equal(found.load(), whole())


def test_a_damaged_batch_is_computed_again(tmp_path, monkeypatch, capsys):
    sweep, original = change_sweep(algorithms={"fixed": Shrink()}, seeds=96, part_trials=96), driver._Run._collect

    def collect_then_interrupt(self, batch, rows):
        original(self, batch, rows)
        if batch.index == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(driver._Run, "_collect", collect_then_interrupt)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, sweep, workers=1)
    monkeypatch.undo()
    victim, *others = sorted(tmp_path.rglob("batch-*.npz"))
    assert len(others) == 1
    victim.write_bytes(victim.read_bytes()[:50])
    found = run(tmp_path, sweep, workers=1)
    assert f"{victim.name} is damaged" in capsys.readouterr().err and not found.failures
    assert found.load("fixed")["fixed"].timing["rounds"] == 2 * 32 * 20
    equal(found.load(), whole(sweep))


@pytest.mark.parametrize(("save_every", "files_written"), [(0.0, 8), (1e9, 0)])
def test_finished_batches_are_written_every_so_often(tmp_path, monkeypatch, save_every, files_written):
    written, original = [], checkpoint.Store.save
    monkeypatch.setattr(checkpoint.Store, "save", lambda self, *args: (written.append(args), original(self, *args)))
    run(tmp_path, change_sweep(algorithms={"fixed": Shrink()}, seeds=250, part_trials=250), save_every=save_every)
    assert len(written) == files_written


def test_shards_on_machines_of_their_own_merge_to_the_whole(finished_sweep, tmp_path):
    places = [tmp_path / f"machine-{i}" for i in (1, 2, 3)]
    for i, place in enumerate(places, start=1):
        run(place, shard=(i, 3))
    found = merge_sweeps(places[:2], tmp_path / "all")
    assert len(found.missing) == 2
    found = merge_sweeps([str(place) for place in places], tmp_path / "all")  # again, when the third is done
    assert contents(tmp_path / "all") == contents(finished_sweep) and not found.missing
    assert not list((tmp_path / "all" / "working").iterdir())
    equal(found.load(), load_sweep(finished_sweep).load())
    assert found.load("fixed")["fixed"].timing["rounds"] == 40 * 20  # costs come along


def test_merge_refuses_what_does_not_belong_together(finished_sweep, copy_of_sweep, tmp_path):
    run(tmp_path / "other", change_sweep(seeds=32), shard=(1, 7))
    with pytest.raises(InputError, match=r"hold different sweeps: .*seeds was 40 and is now 32"):
        merge_sweeps([finished_sweep, tmp_path / "other"], tmp_path / "all")
    with pytest.raises(InputError, match="hold different sweeps"):
        merge_sweeps([finished_sweep], tmp_path / "other")
    for wrong in ([], "here", None):
        with pytest.raises(InputError, match="merge needs a list"):
            merge_sweeps(wrong, tmp_path / "all")
    victim = next((copy_of_sweep / "parts").glob("*.npz"))
    content = bytearray(victim.read_bytes())
    content[len(content) // 2] ^= 1
    victim.write_bytes(content)
    with pytest.raises(InputError, match=f"{victim.name} is damaged"):
        merge_sweeps([copy_of_sweep], tmp_path / "all")
    assert not (tmp_path / "all" / "parts" / victim.name).exists()
    merge_sweeps([copy_of_sweep, finished_sweep], tmp_path / "both")  # another has it whole
    merge_sweeps([finished_sweep], copy_of_sweep)  # also if the target itself has the damaged part
    assert contents(copy_of_sweep) == contents(finished_sweep)
    assert contents(tmp_path / "both") == contents(finished_sweep)
    record = files.read_json(victim.with_suffix(".json"))
    files.write_json(victim.with_suffix(".json"), {**record, "sha256": "0" * 64})
    with pytest.raises(InputError, match="differs between"):
        merge_sweeps([finished_sweep, copy_of_sweep], tmp_path / "all")


def test_merge_adds_nothing_to_results_of_code_that_has_no_digest(copy_of_sweep, tmp_path):
    """Also if each machine is merged by a separate call."""
    manifest = files.read_json(copy_of_sweep / "manifest.json")
    manifest["spec"]["host code"] = ["swept uses a callback to Python"]
    files.write_json(copy_of_sweep / "manifest.json", manifest)
    merge_sweeps([copy_of_sweep], tmp_path / "all")
    with pytest.raises(InputError, match="nor merged: swept uses a callback to Python; no digest identifies"):
        merge_sweeps([copy_of_sweep], tmp_path / "all")


def test_the_memory_of_every_program_is_checked(monkeypatch, tmp_path):
    """Also of programs that share an algorithm, as those of a sweep file with several environments do."""
    learner, checked = Shrink(), []
    sweep = change_sweep(
        algorithms={"a": learner, "b": learner}, environment={"a": Noisy(), "b": Noisy(scale=1.0)}, part_trials=10
    )
    monkeypatch.setattr(run_lib, "check_job", lambda job, *_: checked.append(job.label))
    run(tmp_path, sweep)
    assert checked == ["a", "b"]


def test_what_failed_everywhere_stays_failed(copy_of_sweep, tmp_path):
    victim = next((copy_of_sweep / "parts").glob("*.npz"))
    for path in (victim, victim.with_suffix(".json")):
        path.unlink()
    Directory(copy_of_sweep).write_failure(victim.stem, "no memory")
    found = merge_sweeps([copy_of_sweep], tmp_path / "all")
    assert found.failures == {victim.stem: "no memory"} and found.missing == (victim.stem,)


_SHARE = """
import sys
from jaxbandits import run_sweep
from tests.sweeps.toy_sweeps import SWEEP
for directory in sys.argv[1:]:
    run_sweep(SWEEP, directory, progress=False)
"""


@pytest.mark.slow
def test_processes_share_the_work_of_a_directory(finished_sweep, tmp_path):
    """Three at once, on twelve sweeps in turn: all end well, with the bytes of one that was alone."""
    directories = [tmp_path / str(i) for i in range(12)]
    environment = {**os.environ, "JAX_ENABLE_X64": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", _SHARE, *map(str, directories)]
    processes = [subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    errors = [process.communicate(timeout=300)[1] for process in processes]
    assert [process.returncode for process in processes] == [0] * 3, "\n".join(errors)
    for directory in directories:
        found = load_sweep(directory)
        assert not found.missing and not found.failures
        assert contents(directory) == contents(finished_sweep)
        assert not list((directory / "working").iterdir())


def test_a_line_on_a_part_estimates_the_rest():
    """From what was saved since this process began, not from what it found."""
    assert run_lib._minute("part 1 of 2", 60.0, 0.0, 0.0) == "part 1 of 2: computing for 60 s"
    assert run_lib._minute("part 1 of 2", 60.0, 0.5, 0.5) == "part 1 of 2: computing for 60 s"
    assert run_lib._minute("part 1 of 2", 60.0, 0.5, 0.75) == (
        "part 1 of 2: computing for 60 s, 75 % saved, about 60 s left"
    )


def test_status_estimates_the_rest_before_a_part_is_done(tmp_path, monkeypatch):
    """From the rounds in the checkpoint of the part that runs, and the age of its first file."""

    def break_run(*_, **__):
        raise RuntimeError("luck")

    monkeypatch.setattr(driver, "run", break_run)
    run(tmp_path)
    directory, part = Directory(tmp_path), plan_sweep(SWEEP).parts[0]
    working = make_directory(directory.working_path(part.name) / "checkpoint")
    with filelock.FileLock(str(working.parent / ".lock")):
        assert status_lib.read_status(tmp_path)["seconds_left"] is None  # nothing is saved yet
        np.savez(working / "batch-0-00000.npz", rounds=np.asarray(10))
        (working / "spec.json").write_text("{}")
        os.utime(working / "spec.json", (time.time() - 20.0,) * 2)
        seen = status_lib.read_status(tmp_path)
    (running,) = seen["running"]
    played = min(part.rounds, 10 * part.job.width)
    assert running["rounds"] == played < part.rounds and seen["parts"]["done"] == 0
    assert seen["rounds_per_s"] == pytest.approx(played / 20.0, rel=0.3)
    assert seen["seconds_left"] == pytest.approx((part.rounds - played) / seen["rounds_per_s"])
    assert directory.seconds_since_begin("nobody") == 0.0


def test_a_part_prints_lines_where_there_is_no_bar(tmp_path, monkeypatch, capsys):
    """Off a terminal a long part is not silent; without progress it is."""
    monkeypatch.setattr(run_lib, "_REPORT_S", 0.001)
    run_sweep(SWEEP, tmp_path / "loud")
    assert "part 1 of 7: computing for 0 s" in capsys.readouterr().err
    run_sweep(SWEEP, tmp_path / "quiet", progress=False)
    assert "computing for" not in capsys.readouterr().err
