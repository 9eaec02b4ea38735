"""Every declared experiment runs, draws and judges; verdicts follow from the results alone."""

import numpy as np
import pytest

from jaxbandits.core.errors import InputError
from jaxbandits.experiments import EXPERIMENTS, linear_theory
from jaxbandits.experiments.declare import chosen
from jaxbandits.experiments.run import run
from jaxbandits.report import files

FAST = ("linear/sysid", "linear/sensitivity")
TINY = {"seeds": 50, "horizon": 120, "progress": False}


def check(experiment, directory, **settings):
    """Runs an experiment far below its size and writes everything it would write."""
    report = run(experiment, **TINY, **settings)
    names = {path.name for path in files.write(report, directory)}
    stem = experiment.name.rpartition("/")[2]
    assert {f"{stem}.png", f"{stem}.svg", f"{stem}.pdf", f"{stem}.txt", "manifest.json"} <= names
    assert (directory / f"{stem}.png").stat().st_size > 10_000
    assert len(report.judged) == len(experiment.claims)
    assert {item.verdict for item in report.judged} <= {"not decided"}  # too few rounds for any verdict
    for result in report.results.values():
        assert not result.failed(experiment.metric).any()
    return report


@pytest.mark.parametrize("name", FAST)
def test_an_experiment_runs_draws_and_judges(name, tmp_path):
    check(EXPERIMENTS[name], tmp_path)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*intervals of skewed quantities")  # of slow learners, on few seeds by design
@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if name not in FAST])
def test_every_experiment_runs_draws_and_judges(name, tmp_path):
    check(EXPERIMENTS[name], tmp_path)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_declaration_is_complete(name):
    experiment = EXPERIMENTS[name]
    assert experiment.name == name and experiment.title and experiment.source
    for preset in experiment.presets:
        for panel in experiment.panels(100).values():
            labels = experiment.algorithms(preset, 100, panel)
            assert set(experiment.slow) | set(experiment.not_drawn) <= set(labels)
    assert (experiment.grid is None) == ("heatmap" not in experiment.figures)
    assert experiment.width is None or experiment.width % 32 == 0
    texts = [claim.text for claim in experiment.claims]
    assert len(set(texts)) == len(texts)


def test_groups_of_experiments():
    family = chosen(EXPERIMENTS, "linear/all")
    assert [e.name for e in family] == [name for name in EXPERIMENTS if name.startswith("linear/")]
    assert len(chosen(EXPERIMENTS, "all")) == len(EXPERIMENTS)
    assert [e.name for e in chosen(EXPERIMENTS, "linear/fig4")] == ["linear/fig4"]
    with pytest.raises(InputError, match="did you mean"):
        chosen(EXPERIMENTS, "linear/fig44")


def test_the_explicit_bound_of_theorem_1_by_hand():
    """At d = 2, T = 18000, eps = 0.99: kappa 33.647, tau0 1.44246, ell 32.167, beta_T 5092 (hand-checked constants).

    On its third branch w_t^2 is tau_0 t^e / (2 sqrt(alpha) beta_{t-1}), alpha = 4: hence the 4 of the second term.
    """
    panel = EXPERIMENTS["linear/bound"].panels(18_000)["student"]
    (algorithm,) = EXPERIMENTS["linear/bound"].algorithms("theory", 18_000, panel).values()
    rounds = np.asarray([18_000])
    got = linear_theory.theorem_1(algorithm, rounds, np.asarray([18_000 * 1.31**2]))
    c = np.sqrt(12.0) / 1.44246 + 107 * 32.167
    expected = 4 * 5092 * (np.sqrt(2 * 33.647) * np.sqrt(18_000 * 1.31**2 + 1) + 4.0 * c * 33.647 / np.sqrt(2.0))
    np.testing.assert_allclose(got, expected, rtol=1e-3)
