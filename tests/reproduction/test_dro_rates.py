"""Rates and bounds of group DRO: the bounds are those printed, runs last as long as samples do, figures show all."""

import math

import numpy as np
import pytest

from jaxbandits.reproduction import EXPERIMENTS
from jaxbandits.reproduction.engine.experiment import Panel
from jaxbandits.reproduction.engine.run import run
from jaxbandits.reproduction.experiments.dro import bounds, rates
from jaxbandits.reproduction.figures import render

ROUNDS, SAMPLES = "$T^{-1/2}$", r"$(m \log m)^{1/2}$"  # the laws in the figure


def test_runs_last_as_long_as_the_samples():
    experiment = EXPERIMENTS["dro/rates"]
    panels = experiment.panels(6400)
    assert experiment.horizons is not None
    assert [panels[name].x for name in rates._ROUNDS] == [100.0, 400.0, 1600.0, 6400.0]
    for name, panel in panels.items():
        learners = experiment.algorithms("theory", 6400, panel)
        lasting = experiment.horizons(6400, panel, learners)
        for label, learner in learners.items():
            many = panel.environment.n_groups if name.startswith("m-") and label.startswith("SMD(m)") else 1
            assert lasting[label] == (6400 // many if name.startswith("m-") else panel.x)
            assert getattr(learner, "horizon", lasting[label]) == lasting[label]  # steps are made for the run
            assert getattr(learner, "k", 1) == panel.environment.top_k


def test_exponents_of_the_laws():
    """Between the ends of the sweep: log(t) / sqrt(t), and sqrt(m log m)."""
    ends = np.array([1000.0, 64_000.0])
    law = np.log(ends) / np.sqrt(ends)
    assert rates._anytime_exponent(64_000) == pytest.approx(np.diff(np.log(law))[0] / math.log(64.0))
    ends = np.array([4.0, 32.0])
    assert rates._groups_exponent() == pytest.approx(np.diff(np.log(np.sqrt(ends * np.log(ends))))[0] / math.log(8.0))


def test_vacuous_bounds_say_so():
    """Two likely bounds are above 1, the largest gap there is; the others are not called vacuous."""
    likely = [claim for claim in EXPERIMENTS["dro/bounds"].claims if claim.sentence.endswith("-likely")]
    called = {claim.labels[0] for claim in likely if claim.cannot_fail}
    above = {name for name, theorem in bounds.THEOREMS.items() if theorem.at(40_000, 16)[1] > 1.0}
    assert called == above == {"SMD(m)_a", "ATkRO(m)_a"} and len(likely) == 8
    assert all(("vacuous" in claim.says) == bool(claim.cannot_fail) for claim in likely)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*intervals of skewed quantities")
def test_bounds_in_small():
    """Fixed steps are measured against the bound at their horizon, anytime ones at every round."""
    without = ("Online(1)", "Online(1)_a", "ATkRO(m)_a", "ATkRO(k)", "ATkRO(1)_a")
    report = run(EXPERIMENTS["dro/bounds"], seeds=3, horizon=300, without=without, progress=False)
    fixed, anytime = (report.results["max"][label] for label in ("SMD(m)", "SMD(m)_a"))
    assert set(fixed.get("mean_bound").ravel()) == {bounds.THEOREMS["SMD(m)"].at(300)[0]}
    at = [bounds.THEOREMS["SMD(m)_a"].at(t)[1] for t in anytime.record_points]
    np.testing.assert_allclose(anytime.get("likely_bound")[0, 0], at)
    np.testing.assert_allclose(anytime.get("share_of_likely"), anytime.get("duality_gap") / np.array(at), rtol=1e-6)
    axes = render.draw(report, report.experiment.figures[0]).axes
    assert [ax.get_title() for ax in axes[:3]] == ["SMD(m), Theorem 1", "SMD(m)_a, Theorem 2", "ATkRO(m), Theorem 12"]
    assert all(item.decision == "open" for item in report.judged)  # three seeds


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*intervals of skewed quantities")
def test_rates_in_small():
    report = run(EXPERIMENTS["dro/rates"], seeds=3, horizon=640, without=("SMD(m)_a", "Online(1)_a"), progress=False)
    gaps = [report.results[name]["SMD(m)"].final("duality_gap").mean() for name in rates._ROUNDS]
    assert gaps[0] > gaps[-1] > 0.0
    legends = [ax.get_legend() for ax in render.draw(report, report.experiment.figures[0]).axes]
    shown = [[text.get_text().partition(":")[0] for text in legend.get_texts()] for legend in legends if legend]
    assert [set(labels) for labels in shown] == [
        {"SMD(m)", "Online(1)", ROUNDS},
        {"ATkRO(m)", "ATkRO(k)", "ATkRO(m)_a", "ATkRO(1)_a", ROUNDS},
        {"SMD(m)", "Online(1)", SAMPLES},
    ]
    assert isinstance(report.panels["m-4"], Panel)
