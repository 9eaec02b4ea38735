"""One tuner: what a run tunes in its panels, and the written tables that presets read."""

import dataclasses
import math
import re
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

from jaxbandits import cli
from jaxbandits.algorithms import ALGORITHMS
from jaxbandits.algorithms.coco import multipliers as coco_module
from jaxbandits.algorithms.dro import multipliers as dro_module
from jaxbandits.algorithms.glm import multipliers as glm_module
from jaxbandits.algorithms.linear import multipliers as linear_module
from jaxbandits.algorithms.oco import multipliers as oco_module
from jaxbandits.algorithms.oco.anytime_ca_oons import AnytimeCAOONS
from jaxbandits.base.errors import InputError
from jaxbandits.reproduction import EXPERIMENTS, TABLES
from jaxbandits.reproduction.engine.experiment import Panel
from jaxbandits.reproduction.engine.run import run
from jaxbandits.reproduction.engine.tuning import (
    FIRST_SEED,
    MultiplierTable,
    TunedLearner,
    Tuning,
    tune,
    with_multipliers,
)
from jaxbandits.reproduction.experiments.coco import setting as coco
from jaxbandits.reproduction.experiments.linear import setting as linear
from jaxbandits.reproduction.ledger import runs
from jaxbandits.simulation import compare
from tests.toy_problems import Noisy, Shrink

MODULES = {"linear": linear_module, "glm": glm_module, "oco": oco_module, "coco": coco_module, "dro": dro_module}
POINTS = {"linear": {66}, "glm": {36}, "oco": {6**3, 6**4}, "dro": {36}}  # of a learner
ROOT = Path(__file__).parents[2]
PANEL = Panel("toy", Noisy())


def shrink(panel, horizon, multipliers):
    """A learner whose fields are the multipliers."""
    del panel, horizon
    return with_multipliers(Shrink(rate=0.25), multipliers)


def test_a_race_of_several_panels_on_seeds_that_judge_nothing(tmp_path):
    """The mean over panels decides: from -5 a small rate loses least, from 1 a large one, and 5 is more than 1."""
    rates, panels = {"rate": (0.1, 0.5, 0.3)}, {"up": PANEL, "down": Panel("down", Noisy(scale=0.0), x=1.0)}

    def build(panel, horizon, multipliers):
        assert horizon == 20
        return with_multipliers(Shrink(start=-5.0 if panel.x == 1.0 else 1.0), multipliers)

    tuning = Tuning((), lambda learner: rates, "loss", seeds=2)
    choice = tune(tuning, "any", build, panels, 20, progress=False, checkpoint=tmp_path)
    assert choice is not None and choice.multipliers == {"rate": 0.1} and choice.at_edge
    assert (choice.n_points, choice.seeds, choice.horizon, choice.metric) == (3, 2, 20, "loss")
    assert choice.rounds == choice.grid_rounds == 3 * 2 * 2 * 20  # two seeds are too few to drop a point
    assert [path.name for path in tmp_path.iterdir()] == ["grid"]
    played = [
        compare(
            [build(panel, 20, choice.multipliers)], panel.environment, 20, 2, first_seed=FIRST_SEED, progress=False
        )["Shrink"]
        .final("loss")
        .mean()
        for panel in panels.values()
    ]
    assert choice.mean == pytest.approx(np.mean(played), rel=1e-6)
    assert choice.evidence == f"mean loss {choice.mean:.4g} (edge): 3 points, 2 seeds, 20 rounds"


def test_slow_learners_have_seeds_and_rounds_of_their_own_and_an_empty_grid_is_not_tuned():
    tuning = Tuning((), lambda learner: {"rate": (0.1, 0.5, 0.9)}, "loss", seeds=32, slow={"slow": (8, 5)})
    found = [tune(tuning, label, shrink, {"one": PANEL}, 40, progress=False) for label in ("slow", "other")]
    assert [(x.seeds, x.horizon) for x in found if x is not None] == [(8, 8), (32, 40)]
    assert found[1] is not None and found[1].rounds < found[1].grid_rounds == 40 * 3 * 32
    nothing = dataclasses.replace(tuning, grid=lambda learner: {})
    assert tune(nothing, "other", shrink, {"one": PANEL}, 40, progress=False) is None
    wrong = dataclasses.replace(tuning, grid=lambda learner: {"rat": (0.1, 0.2)})
    with pytest.raises(InputError, match="rat"):
        tune(wrong, "other", shrink, {"one": PANEL}, 40, progress=False)


def test_nearness_to_1_is_that_of_multipliers_and_not_of_what_they_multiply():
    """All starts lose alike within the tolerance; a start is a hundredth of its multiplier."""

    def build(panel, horizon, multipliers):
        return Shrink(start=0.01 * multipliers.get("start", 1.0), rate=0.5)

    tuning = Tuning((), lambda learner: {"start": (0.9, 1.0, 1.1)}, "loss", seeds=2, tolerance=0.5)
    choice = tune(tuning, "any", build, {"one": PANEL}, 10, progress=False)
    assert choice is not None and choice.multipliers == {"start": 1.0} and not choice.at_edge


@pytest.mark.slow
def test_a_screened_grid_plays_every_other_value_the_neighbours_of_the_best_and_the_best_on_all_seeds():
    """The loss is that of start, and of rate around 0.9: known by hand, and no point is played on a seed twice."""
    grid = {"start": (0.1, 1.0, 10.0, 100.0, 1000.0), "rate": (0.1, 0.5, 0.9, 0.95, 0.99)}
    played = []

    def build(panel, horizon, multipliers):
        played.append(tuple(multipliers.values()))
        return with_multipliers(Shrink(), multipliers)

    tuning = Tuning((), lambda learner: grid, "loss", seeds=4, screening=1)
    choice = tune(tuning, "any", build, {"one": Panel("still", Noisy(scale=0.0))}, 20, progress=False)
    assert choice is not None and choice.multipliers == {"start": 0.1, "rate": 0.99} and choice.at_edge
    coarse = {(start, rate) for start in (0.1, 10.0, 1000.0) for rate in (0.1, 0.9, 0.99)}
    best = [(0.1, 0.99), (0.1, 0.9), (0.1, 0.1)]  # a hundred times the start loses more than any rate mends
    near = {(start, rate) for start in (0.1, 1.0) for rate in grid["rate"]}
    assert set(played[1:]) == coarse | near and best[0] in near and choice.n_points == len(coarse | near)
    finalists = [(0.1, 0.99), (0.1, 0.95), (0.1, 0.9)]
    assert sorted(p for p in set(played) if played.count(p) == 2) == sorted(finalists)
    assert choice.rounds == 20 * (len(coarse | near) + 3 * 3) and choice.grid_rounds == 25 * 4 * 20
    again = compare(
        [with_multipliers(Shrink(), choice.multipliers)], Noisy(scale=0.0), 20, 4, first_seed=FIRST_SEED, progress=False
    )["Shrink"]
    assert choice.mean == pytest.approx(again.final("loss").mean())


@pytest.mark.parametrize("starts", [(1.0, 2.0), (1.0, 2.0, 3.0)])
def test_a_grid_too_small_for_a_screening_is_raced(starts):
    tuning = Tuning((), lambda learner: {"start": starts}, "loss", seeds=2, screening=1)
    panels = {"one": Panel("still", Noisy(scale=0.0))}
    choice = tune(
        tuning, "any", lambda panel, horizon, values: with_multipliers(Shrink(), values), panels, 10, progress=False
    )
    assert choice is not None and choice.multipliers == {"start": 1.0} and choice.n_points == len(starts)


# The written tables ---------------------------------------------------------------------------------------------------


def test_every_family_with_tuned_learners_has_a_table():
    families = {name.partition("/")[0] for name in EXPERIMENTS if not name.startswith("mine/")}
    assert set(TABLES) == families - {"classics"}  # whose learners have the constants of their papers


@pytest.mark.parametrize("family", TABLES)
def test_a_table_is_as_the_command_writes_it(family):
    """Byte for byte, every learner of the declaration and no other (but those of data files)."""
    table, module = TABLES[family], MODULES[family]
    assert table.module is module and table.text({}) == table.path.read_text()
    assert set(module.EVIDENCE) == set(module.MULTIPLIERS)
    on_data = set() if table.from_file is None else set(table.from_file(linear.__file__))  # which is not read yet
    assert set(module.MULTIPLIERS) == set(table.learners) | on_data


@pytest.mark.parametrize("family", POINTS)
def test_a_table_holds_points_of_its_grid_as_many_for_every_learner(family):
    sizes = set()
    for name, tuned in TABLES[family].learners.items():
        panels, horizon = tuned.problems()
        grid = TABLES[family].tuning.grid(tuned.build(next(iter(panels.values())), horizon, {}))
        sizes.add(math.prod(map(len, grid.values())))
        multipliers = MODULES[family].MULTIPLIERS[name]
        assert set(multipliers) == set(grid), name
        for field, value in multipliers.items():
            assert any(float(f"{x:.4g}") == value for x in grid[field]), (name, field)
    assert sizes == POINTS[family]
    assert max(experiment.seeds for experiment in EXPERIMENTS.values()) < FIRST_SEED


def test_no_judged_seed_is_a_tuning_seed():
    """Of the experiments as declared and of every run in the ledger, which names its seeds."""
    last = max(run.first_seed + run.seeds for run in runs.read(ROOT / "docs" / "ledger.csv", EXPERIMENTS))
    assert 20_000 < last <= FIRST_SEED


def test_a_verdict_cannot_use_the_seeds_of_tuning(tmp_path, capsys):
    experiment = EXPERIMENTS["linear/noiseless"]
    for first_seed in (FIRST_SEED - 1, FIRST_SEED, 2 * FIRST_SEED):
        with pytest.raises(InputError, match="with 2 seeds, the first seed can be at most 999,998, got"):
            run(experiment, seeds=2, horizon=4, first_seed=first_seed)
    command = ["reproduce", "linear/noiseless", "--first-seed", str(FIRST_SEED), "--out", str(tmp_path / "out")]
    assert cli.main(command) == 2 and "are for tuning and cannot decide a verdict" in capsys.readouterr().err


def test_presets_read_the_table():
    """The tuned learners at the points of the table are those that presets play."""
    for name, tuned in TABLES["linear"].learners.items():
        panels, horizon = tuned.problems()
        for panel in panels.values():
            built = (tuned.build(panel, horizon, multipliers) for multipliers in (linear_module.MULTIPLIERS[name], {}))
            assert len(set(map(repr, built))) == 1, name
    labels = {tuned.label: name for name, tuned in TABLES["glm"].learners.items()}
    for panel in next(iter(TABLES["glm"].learners.values())).problems()[0].values():
        for label, learner in EXPERIMENTS["glm/fig1-fixed"].algorithms("practical", 3000, panel).items():
            if label in labels:
                tuned, multipliers = TABLES["glm"].learners[labels[label]], glm_module.MULTIPLIERS[labels[label]]
                assert repr(tuned.build(panel, 3000, multipliers)) == repr(learner), label
    for figure, labels in (("fig1", coco.FULL), ("fig2", coco.BANDIT)):
        experiment = EXPERIMENTS[f"coco/{figure}"]
        for panel_name, problem in (("figure", figure), ("budget", f"{figure}-budget")):
            panel = experiment.panels(experiment.horizon)[panel_name]
            played = experiment.algorithms("tuned", experiment.horizon, panel)
            for label in labels:
                name = f"{problem}/{label}"
                tuned, multipliers = TABLES["coco"].learners[name], coco_module.MULTIPLIERS[name]
                built = tuned.build(panel, experiment.horizon, multipliers)
                assert repr(built) == repr(played[label]), name
                assert set(multipliers) == set(coco.SCALED[type(built)]), name
                problems, horizon = tuned.problems()
                assert horizon == experiment.horizon
                assert next(iter(problems.values())).environment.constraint == panel.environment.constraint


@pytest.mark.parametrize(("family", "preset"), [("oco", "tuned"), ("dro", "practical")])
def test_presets_of_the_classes_read_the_table(family, preset):
    """With the sizes of the problem that they are tuned on."""
    assert TABLES[family].preset == preset
    for name, tuned in TABLES[family].learners.items():
        panels, horizon = tuned.problems()
        built = tuned.build(next(iter(panels.values())), horizon, MODULES[family].MULTIPLIERS[name])
        assert type(built) is ALGORITHMS[f"{family}/{name}"].cls
        names = {field.name for field in dataclasses.fields(built)} & {"dim", "n_groups", "budgets", "k", "horizon"}
        sizes = {field: getattr(built, field) for field in names} | ({"horizon": horizon} if "horizon" in names else {})
        assert repr(getattr(type(built), preset)(**sizes)) == repr(built), name


def test_the_restarted_learner_has_the_constants_of_the_one_that_knows_the_horizon():
    for field, multiplier in oco_module.MULTIPLIERS["ca_oons"].items():
        tuned, paper = (make(dim=2, horizon=100).learner for make in (AnytimeCAOONS.tuned, AnytimeCAOONS.theory))
        assert getattr(tuned, field) == multiplier * getattr(paper, field)


def test_runs_and_tables_of_a_family_are_tuned_alike():
    for family, figure in (("linear", "linear/fig1"), ("glm", "glm/fig1")):
        own, tuning = TABLES[family].tuning, EXPERIMENTS[figure].tuning
        assert tuning is not None
        assert (own.grid, own.metric, own.seeds, own.tolerance) == (
            tuning.grid,
            tuning.metric,
            tuning.seeds,
            tuning.tolerance,
        )
        assert tuning.slow.items() <= own.slow.items()


def test_figures_that_compare_learners_have_three_presets():
    """And none says tuned without tuning."""
    for name in [*(f"linear/fig{i}" for i in range(1, 6)), "linear/mdp"]:
        assert {"theory", "practical", "tuned"} <= set(EXPERIMENTS[name].presets), name
    for name in (
        "glm/fig1",
        "glm/fig1-tv",
        "glm/fig1-fixed",
        "glm/fig2",
        "glm/fig2-fixed",
        "glm/fig3",
        "glm/covertype",
    ):
        assert {"experiments", "theory", "practical", "tuned"} <= set(EXPERIMENTS[name].presets), name
    for name, experiment in EXPERIMENTS.items():
        if name.startswith(("linear/", "glm/")):
            assert ("tuned" in experiment.presets) == (experiment.tuning is not None), name


# The command ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A table of two learners in a file of its own."""
    path = tmp_path / "toys" / "multipliers.py"
    path.parent.mkdir()
    module = types.SimpleNamespace(
        __file__=str(path),
        MULTIPLIERS={"a/first": {"rate": 0.1}, "b": {"rate": 0.2}},
        EVIDENCE={"a/first": "by hand", "b": "by hand"},
    )
    tuned = TunedLearner("any", shrink, lambda: ({"one": PANEL}, 40))
    tuning = Tuning((), lambda learner: {"rate": (0.04, 0.123456, 0.5)}, "loss", seeds=32)
    table = MultiplierTable(module, tuning, {"a/first": tuned, "b": tuned}, lambda path: {"c": tuned})
    monkeypatch.setitem(TABLES, "toys", table)
    monkeypatch.chdir(tmp_path)
    return path


def read_module(path):
    """The two dictionaries of a module."""
    found: dict = {}
    exec(path.read_text(), found)
    return found["MULTIPLIERS"], found["EVIDENCE"]


def test_the_command_writes_what_it_tuned(toy, capsys):
    assert cli.main(["tune", "toys", "--include", "a", "--quiet", "--write"]) == 0
    multipliers, evidence = read_module(toy)
    assert multipliers == {"a/first": {"rate": 0.5}, "b": {"rate": 0.2}}
    assert evidence["b"] == "by hand" and "(edge): 3 points, 32 seeds, 40 rounds" in evidence["a/first"]
    assert "`practical`" in toy.read_text() and "jaxbandits tune toys" in toy.read_text()
    said = capsys.readouterr()
    assert "[1/1] a/first: rate = 0.5; mean loss" in said.err and "50 % of the rounds of the full grid" in said.err
    assert str(toy) in said.out
    assert not [path for path in (toy.parents[1] / "results").rglob("*") if path.is_file() and path.name != ".lock"]
    assert cli.main(["tune", "toys", "--data", "some-file", "--quiet", "--write"]) == 0
    assert set(read_module(toy)[0]) == {"a/first", "b", "c"}


@pytest.mark.parametrize("arguments", [(), ("--dry-run",), ("--seeds", "8"), ("--horizon", "20")])
def test_the_table_is_printed_and_nothing_written_unless_asked(toy, capsys, arguments):
    assert cli.main(["tune", "toys", "--include", "b", "--quiet", *arguments]) == 0
    said = capsys.readouterr()
    assert not toy.exists() and "MULTIPLIERS" in said.out
    assert ("--dry-run is deprecated" in said.err) == ("--dry-run" in arguments)


@pytest.mark.parametrize("arguments", [("--horizon", "0"), ("--seeds", "0"), ("--horizon", "-3"), ("--workers", "0")])
def test_0_is_refused_and_not_taken_for_nothing(toy, capsys, arguments):
    """By `tune`, which wrote the package's table with multipliers of one round; also where it may write."""
    assert cli.main(["tune", "toys", "--include", "b", "--quiet", *arguments]) == 2
    name = arguments[0].removeprefix("--")
    said = capsys.readouterr().err
    assert f"{name} must be a whole number in [1, " in said and f", got {arguments[1]}" in said
    assert cli.main(["tune", "toys", "--include", "b", "--quiet", "--write", *arguments]) == 2
    assert not toy.exists()


def test_a_killed_tuning_resumes(toy, monkeypatch, capsys):
    """What a race had played is read from its checkpoint; files of others stay."""
    calls = []
    tuned = MultiplierTable.tune

    def kill_after_second(self, name, *arguments, **settings):
        calls.append(name)
        choice = tuned(self, name, *arguments, **settings)
        if calls == ["a/first"]:
            raise KeyboardInterrupt
        return choice

    monkeypatch.setattr(MultiplierTable, "tune", kill_after_second)
    assert cli.main(["tune", "toys", "--quiet", "--write", "--out", "here"]) == 130
    saved = {path: path.stat().st_mtime_ns for path in toy.parents[1].glob("here/a-first/**/batch-*.npz")}
    assert saved and not toy.exists()
    (toy.parents[1] / "here" / "mine.txt").write_text("stays")
    seen = []
    monkeypatch.setattr(MultiplierTable, "tune", lambda self, *a, **s: seen.append(dict(saved)) or tuned(self, *a, **s))
    assert cli.main(["tune", "toys", "--quiet", "--write", "--out", "here"]) == 0
    assert len(seen) == 2 and read_module(toy)[0]["b"] == {"rate": 0.5}
    assert (toy.parents[1] / "here" / "mine.txt").exists() and not (toy.parents[1] / "here" / "a-first").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("tune", "lineal"), "did you mean 'linear'"),
        (("tune", "linear", "--include", "hvt"), "hvt_ucb"),
        (("tune", "linear", "--data", "file"), "linear takes no data file: omit --data"),
        (("tune", "linear", "--seeds", "0"), "seeds must be a whole number"),
        (("tune", "linear", "--horizon", "9", "--write"), "omit --horizon and --seeds"),
    ],
)
def test_a_mistake_is_one_line(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main([*arguments]) == 2
    said = capsys.readouterr().err
    assert message in said and said.count("\n") == 1


@pytest.mark.slow
def test_a_piece_of_the_tuning_gives_the_table_again(tmp_path):
    """CRMM: 66 points, 64 seeds, both panels of Figure 1, in less than half of the rounds of the grid."""
    command = [sys.executable, "-m", "jaxbandits", "tune", "linear", "--include", "crmm", "--quiet"]
    done = subprocess.run([*command, "--out", str(tmp_path)], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    found: dict = {}
    exec(done.stdout, found)  # the module that would be written
    assert found["MULTIPLIERS"] == linear_module.MULTIPLIERS
    assert found["EVIDENCE"]["crmm"].endswith(": 66 points, 64 seeds, 18,000 rounds")
    share = re.search(r"rounds, (\d+) % of the rounds of the full grids", done.stderr)
    assert share is not None and int(share[1]) < 50


def test_a_study_proposes_multipliers_within_the_ranges_of_the_grid(tmp_path):
    """The mean over panels is what it is told, on the seeds of tuning."""
    asked = []

    class Study:
        def __init__(self):
            self.told = {}

        def ask(self):
            asked.append({})
            return Trial(asked[-1])

        def tell(self, trial, values):
            self.told[trial.params["rate"]] = values

    class Trial:
        def __init__(self, params):
            self.params = params

        def suggest_float(self, name, low, high, *, log):
            assert (name, low, high, log) == ("rate", 0.1, 0.5, True)
            self.params[name] = [0.1, 0.2, 0.3, 0.5, 0.4, 0.35][len(asked) - 1]
            return self.params[name]

        def set_user_attr(self, key, value):
            assert key in ("standard_error", "seeds")

    tuning = Tuning((), lambda learner: {"rate": (0.1, 0.3, 0.5)}, "loss", seeds=5)
    panels, study = {"one": PANEL, "two": Panel("two", Noisy(scale=0.0))}, Study()
    settings = {"progress": False, "checkpoint": tmp_path}
    choice = tune(tuning, "any", shrink, panels, 20, study=study, batches=(1, 6), **settings)
    expected = {}
    for rate in (0.1, 0.2, 0.3, 0.35, 0.4, 0.5):
        environments = {name: panel.environment for name, panel in panels.items()}
        learners = {name: Shrink(rate=rate) for name in panels}
        result = compare(learners, environments, 20, 5, first_seed=FIRST_SEED, record_points=1, progress=False)
        expected[rate] = np.mean([trials.final("loss").mean() for trials in result.values()])
    assert study.told == pytest.approx(expected, rel=1e-12)
    winner = min(expected, key=expected.__getitem__)
    assert choice.multipliers == {"rate": winner} and choice.at_edge == (winner in (0.1, 0.5))
    assert choice.mean == study.told[winner] and (choice.n_points, choice.seeds, choice.rounds) == (
        6,
        5,
        6 * 5 * 20 * 2,
    )


def test_a_study_that_maximises_is_refused():
    study = types.SimpleNamespace(ask=None, tell=None, direction=types.SimpleNamespace(name="MAXIMIZE"))
    tuning = Tuning((), lambda learner: {"rate": (0.1, 0.5)}, "loss")
    with pytest.raises(InputError, match="direction='minimize'"):
        tune(tuning, "any", shrink, {"one": PANEL}, 20, study=study)
