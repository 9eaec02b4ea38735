"""Budgets leave slow learners out, and never all learners of a panel."""

import contextlib
import dataclasses
import subprocess
import sys
from concurrent.futures import Future
from types import SimpleNamespace

import pytest

from jaxbandits import cli
from jaxbandits.commands import report, reproduce
from jaxbandits.engine import process_memory
from jaxbandits.reproduction import EXPERIMENTS, Panel
from jaxbandits.reproduction.engine.budget import n_programs, parts

SHIPPED = [name for name in EXPERIMENTS if not name.startswith("mine/")]


@pytest.fixture
def exclusions(monkeypatch):
    """The labels that runs of the command leave out, by directory."""
    seen = {}

    def note(experiment, data, out, arguments):
        seen[out.name] = arguments.exclude

    monkeypatch.setattr(reproduce, "_reproduce_one", note)
    monkeypatch.setattr(reproduce.report_lib, "write_all", lambda *_: None)
    monkeypatch.setattr(process_memory, "release", lambda: None)  # other tests need the traces of this process
    return seen


@pytest.mark.parametrize("name", ["glm/fig1", "linear/fig1", "coco/fig1"])
def test_the_command_leaves_slow_learners_out(name, exclusions, tmp_path):
    assert cli.main(["reproduce", name, "--budget", "quick", "--out", str(tmp_path)]) == 0
    assert list(exclusions.values()) == [list(EXPERIMENTS[name].slow)]


def test_memory_is_released_between_experiments(exclusions, monkeypatch, tmp_path):
    released = []
    monkeypatch.setattr(process_memory, "release", lambda: released.append(len(exclusions)))
    assert cli.main(["reproduce", "oco/all", "--budget", "quick", "--processes", "1", "--out", str(tmp_path)]) == 0
    assert released == list(range(1, len(exclusions))) and len(exclusions) > 5


def test_learners_that_the_user_leaves_out_stay_out(exclusions, tmp_path):
    cli.main(["reproduce", "linear/fig1", "--budget", "quick", "--exclude", "OFUL", "--out", str(tmp_path)])
    assert list(exclusions.values()) == [["OFUL", "HEAVY-OFUL"]]


@pytest.mark.parametrize("has_png", [False, True])
def test_pages_show_a_large_svg_if_there_is_no_png(has_png, tmp_path, monkeypatch):
    """A quick run writes SVG only; other pages prefer the PNG to a large SVG."""
    monkeypatch.setattr(report, "_LARGEST_SVG", 3)
    for suffix in ("svg", "png")[: 1 + has_png]:
        (tmp_path / f"fig1.{suffix}").write_text("four", encoding="utf-8")
    about = SimpleNamespace(title="regret")
    run = SimpleNamespace(experiment="mine/fig1", about=about, files=("fig1.svg",), directory=tmp_path)
    shown = report._picture(run, tmp_path / "papers", {})  # pyright: ignore[reportArgumentType]
    assert shown == f"![regret](figures/mine-fig1.{'png' if has_png else 'svg'})"


@pytest.mark.parametrize("name", SHIPPED)
def test_every_panel_keeps_a_learner(name):
    experiment = EXPERIMENTS[name]
    for part in parts(experiment, "quick") + parts(experiment, "standard"):
        horizon = part.settings["horizon"] or experiment.horizon
        for panel in experiment.panels(horizon).values():
            labels = experiment.algorithms(experiment.preset(part.settings["preset"]), horizon, panel)
            assert set(labels) - set(part.settings.get("without", ())), (part.suffix, panel.title)


@pytest.mark.parametrize("name", SHIPPED)
def test_a_quick_run_shortens_every_panel(name):
    experiment = EXPERIMENTS[name]
    for part in parts(experiment, "quick"):
        horizon = part.settings["horizon"]
        assert horizon <= 1000
        short, whole = experiment.panels(horizon), experiment.panels(experiment.horizon)
        if short.keys() == whole.keys():  # panels for parts of the horizon have the number of rounds in their names
            for panel, of in short.items():
                rounds = whole[panel].horizon(experiment.horizon)
                assert of.horizon(horizon) <= max(100, rounds / 40), panel
        assert max(of.horizon(horizon) for of in short.values()) <= max(
            100, max(of.horizon(experiment.horizon) for of in whole.values()) / 40
        )


def test_the_size_of_a_run_is_its_number_of_programs():
    (quick,), standard = parts(EXPERIMENTS["linear/fig1"], "quick"), parts(EXPERIMENTS["linear/fig1"], "standard")
    learners, panels = 6, 2
    assert n_programs(EXPERIMENTS["linear/fig1"], quick) == (learners - 1) * panels  # without HEAVY-OFUL
    assert n_programs(EXPERIMENTS["linear/fig1"], standard[0]) == learners * panels


def test_long_panels_are_compiled_with_optimisation():
    """Also where the panel, not the run, has many rounds."""
    experiment = EXPERIMENTS["classics/besson-tables"]
    (quick,) = parts(experiment, "quick")
    long = {"long": Panel("long", next(iter(experiment.panels(100).values())).environment, rounds=5_000)}
    (also,) = parts(dataclasses.replace(experiment, panels=lambda horizon: long), "quick")
    assert quick.settings.get("compile") == "fast" and "compile" not in also.settings


def test_runs_in_several_processes_start_with_the_largest(tmp_path, monkeypatch):
    started = []

    @contextlib.contextmanager
    def processes(*_):
        def submit(_, name, part, *__):
            started.append(n_programs(EXPERIMENTS[name], part))
            future = Future()
            future.set_result(reproduce._Outcome(name, True, 0.0))
            return future

        yield submit

    monkeypatch.setattr(reproduce, "_processes", processes)
    monkeypatch.setattr(reproduce.report_lib, "write_all", lambda *_: None)
    command = ["reproduce", "oco/all", "--budget", "quick", "--processes", "2", "--out", str(tmp_path)]
    assert cli.main(command) == 0
    assert len(set(started)) > 5 and started == sorted(started, reverse=True)


def test_an_experiment_that_raises_has_size_0():
    def raise_error(*_):
        raise ValueError("not today")

    (quick,) = parts(EXPERIMENTS["linear/fig1"], "quick")
    assert reproduce._size(dataclasses.replace(EXPERIMENTS["linear/fig1"], algorithms=raise_error), quick) == 0


_TWO = """
from jaxbandits import InputError
from jaxbandits.environments.linear.heavy_tailed import HeavyTailed
from jaxbandits.reproduction import Experiment, Panel, register_experiment
from jaxbandits.linear import OFUL

def learners(preset, horizon, panel):
    return {"OFUL": OFUL(dim=2)}

def refuse(preset, horizon, panel):
    raise InputError("not today")

for name, of in (("mine/works", learners), ("mine/refuses", refuse)):
    register_experiment(Experiment(
        name=name, title="a race", source="ours", horizon=100, seeds=4, presets={"plain": "by hand"}, metric="regret",
        algorithms=of, panels=lambda horizon: {"p": Panel("two", HeavyTailed(dim=2, n_arms=3))},
    ))
"""


@pytest.mark.slow
def test_experiments_side_by_side(tmp_path):
    """Each in a process that has the plug-in; one that fails is named, and what it said is printed."""
    plugin, out = tmp_path / "two_of_mine.py", tmp_path / "out"
    plugin.write_text(_TWO, encoding="utf-8")
    command = ["reproduce", "mine/all", "--plugin", plugin, "--budget", "quick", "--out", out]
    done = subprocess.run([sys.executable, "-m", "jaxbandits", *command], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "1 of 2 runs failed: mine-refuses" in done.stderr, done.stderr
    assert "jaxbandits: mine-refuses: not today" in done.stderr and "[2/2] mine-" in done.stderr
    assert (
        "panel p: regret after 100 rounds" in done.stdout and "mine/works" in (out / "pages/papers/mine.md").read_text()
    )


_DIES = """
import multiprocessing
import os
from jaxbandits.environments.linear.heavy_tailed import HeavyTailed
from jaxbandits.reproduction import Experiment, Panel, register_experiment

def learners(*_):
    if multiprocessing.parent_process() is not None:  # the process of the command reads the declarations too
        os.kill(os.getpid(), 9)
    return {}

for name in ("mine/one", "mine/two"):
    register_experiment(Experiment(
        name=name, title="a race", source="ours", horizon=100, seeds=4, presets={"plain": "by hand"}, metric="regret",
        panels=lambda horizon: {"p": Panel("two", HeavyTailed(dim=2, n_arms=3))}, algorithms=learners,
    ))
"""


@pytest.mark.slow
def test_a_process_that_is_killed_ends_the_command(tmp_path):
    """One line, and no wait for an answer that never comes."""
    plugin = tmp_path / "dies.py"
    plugin.write_text(_DIES, encoding="utf-8")
    command = ["reproduce", "mine/all", "--plugin", plugin, "--budget", "quick", "--processes", "2", "--out", tmp_path]
    command = [sys.executable, "-m", "jaxbandits", *command]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 2 and "jaxbandits: a process was killed" in done.stderr, done.stderr


def test_what_is_about_times_has_no_quick_run(tmp_path, capsys):
    assert cli.main(["reproduce", "oco/cost", "--budget", "quick", "--out", str(tmp_path)]) == 2
    assert "oco/cost only measures times, which the budget quick does not include" in capsys.readouterr().err


def test_processes_are_of_a_budget(capsys):
    assert cli.main(["reproduce", "linear/fig1", "--processes", "2"]) == 2
    assert cli.main(["reproduce", "linear/fig1", "--budget", "quick", "--processes", "0"]) == 2
    said = capsys.readouterr().err
    assert "--processes goes with --budget" in said and "--processes must be a whole number in [1, inf), got 0" in said
