"""Budgets leave slow learners out, and never all learners of a panel."""

import pytest

from jaxbandits import cli
from jaxbandits.commands import reproduce
from jaxbandits.experiments import EXPERIMENTS
from jaxbandits.experiments.engine.budget import parts

SHIPPED = [name for name in EXPERIMENTS if not name.startswith("mine/")]


@pytest.fixture
def asked(monkeypatch):
    """The labels that runs of the command leave out, by directory."""
    seen = {}

    def note(experiment, out, arguments):
        seen[out.name] = arguments.exclude

    monkeypatch.setattr(reproduce, "_reproduce_one", note)
    monkeypatch.setattr(reproduce.report_lib, "write", lambda *_: None)
    return seen


@pytest.mark.parametrize("name", ["glm/fig1", "linear/fig1", "coco/fig1"])
def test_the_command_leaves_slow_learners_out(name, asked, tmp_path):
    assert cli.main(["reproduce", name, "--budget", "quick", "--out", str(tmp_path)]) == 0
    assert list(asked.values()) == [list(EXPERIMENTS[name].slow)]


def test_learners_that_the_user_leaves_out_stay_out(asked, tmp_path):
    cli.main(["reproduce", "linear/fig1", "--budget", "quick", "--exclude", "OFUL", "--out", str(tmp_path)])
    assert list(asked.values()) == [["OFUL", "HEAVY-OFUL"]]


@pytest.mark.parametrize("name", SHIPPED)
def test_every_panel_keeps_a_learner(name):
    experiment = EXPERIMENTS[name]
    for part in parts(experiment, "quick") + parts(experiment, "standard"):
        horizon = part.settings["horizon"] or experiment.horizon
        for panel in experiment.panels(horizon).values():
            labels = experiment.algorithms(experiment.preset(part.settings["preset"]), horizon, panel)
            assert set(labels) - set(part.settings.get("without", ())), (part.suffix, panel.title)
