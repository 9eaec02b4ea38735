"""The generalised linear experiments: the user's data file, precision, the constants of the learners, regions."""

import dataclasses
import math

import jax
import numpy as np
import pytest

from jaxbandits.algorithms.glm.multipliers import MULTIPLIERS
from jaxbandits.base.errors import InputError
from jaxbandits.cli import main
from jaxbandits.environments.datasets import covertype
from jaxbandits.environments.glm import published_instance
from jaxbandits.reproduction import EXPERIMENTS
from jaxbandits.reproduction.engine.claim import Measurements, quote_label
from jaxbandits.reproduction.engine.run import run
from jaxbandits.reproduction.engine.verdict import judge
from jaxbandits.reproduction.experiments.glm.regions import marks, regions_of
from jaxbandits.results.result import Result
from tests.results import factories

COVERTYPE = EXPERIMENTS["glm/covertype"]


def test_a_data_file_takes_the_place_of_the_stand_in(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.integers(0, 3000, (400, 10)), rng.integers(2, size=(400, 44)), rng.integers(1, 8, 400)])
    path = tmp_path / "covtype.data"
    np.savetxt(path, rows, fmt="%d", delimiter=",")
    with pytest.raises(InputError, match=r"has 400 rows, .* has 581,012: an experiment needs the complete file"):
        COVERTYPE.with_data(path)
    monkeypatch.setattr(covertype, "N_ROWS", 400)
    real, stand_in = COVERTYPE.with_data(path), COVERTYPE
    assert "stand-in" not in real.title and "stand-in" in stand_in.title
    for name, panel in real.panels(1000).items():
        assert panel.environment.dataset == "covertype" and panel.environment.n_arms == 60
        assert "stand-in" not in panel.title and "stand-in" in stand_in.panels(1000)[name].title
        assert np.max(np.linalg.norm(panel.environment.arms, axis=1)) == pytest.approx(1.0)


def test_a_data_file_goes_where_one_is_read(tmp_path, capsys):
    with pytest.raises(InputError, match="glm/fig1 takes no data file"):
        EXPERIMENTS["glm/fig1"].with_data(tmp_path / "file")
    for arguments, message in (
        (["glm/covertype", "--data", str(tmp_path / "nowhere")], "nowhere"),
        (["glm/all", "--data", str(tmp_path / "file")], "--data goes with one experiment"),
    ):
        assert main(["reproduce", *arguments, "--out", str(tmp_path / "out")]) == 2
        err = capsys.readouterr().err.strip()
        assert message in err and "\n" not in err


def test_likelihood_methods_are_not_run_in_single_precision():
    jax.config.update("jax_enable_x64", False)
    with pytest.raises(InputError, match="glm/fig1 needs double precision"):
        run(EXPERIMENTS["glm/fig1"], seeds=2, horizon=5, progress=False)


def test_radii_of_covertype_are_shrunk_by_the_factor_of_the_panel():
    panel = COVERTYPE.panels(1000)["x0.02"]
    learners = COVERTYPE.algorithms("experiments", 1000, panel)
    assert learners["GLB-OMD"].beta_scale == learners["OFUGLB"].beta_scale == 0.02
    assert learners["OFULog-r"].gamma_scale == learners["GLM-UCB"].rho_scale == 0.02
    assert learners["RS-GLinCB"].gamma_scale == learners["RS-GLinCB"].beta_scale == 0.02
    assert learners["RS-GLinCB"].kappa == 200.0 and learners["GLOC"].norm_bound == 6.0
    once = COVERTYPE.algorithms("practical", 1000, panel)
    assert once["GLB-OMD"].beta_scale == 0.02 * MULTIPLIERS["glb_omd"]["beta_scale"]
    assert once["RS-GLinCB"].gamma_scale == 0.02 * MULTIPLIERS["rs_glincb"]["gamma_scale"]
    # Tuned in the panel: as many points as elsewhere, none above what the panel gives.
    tuned = COVERTYPE.algorithms("tuned", 1000, panel)
    grids = {name: COVERTYPE.tuning.grid(learner) for name, learner in tuned.items() if name != "uniform"}
    assert {math.prod(map(len, grid.values())) for grid in grids.values()} == {36}
    assert {max(values) for grid in grids.values() for values in grid.values()} == {0.02}
    # The note: after T rounds V <= (lambda + T) I, and the longest arm is still wider than where the warm-up ends.
    longest = np.square(np.asarray(panel.environment.arms)).sum(axis=1).max()
    assert learners["RS-GLinCB"]._threshold < longest / (learners["RS-GLinCB"].ridge + 1000)


def learners(name, preset="experiments", panel="S5"):
    experiment = EXPERIMENTS[name]
    return experiment.algorithms(preset, 100, experiment.panels(100)[panel])


def test_the_comparison_is_with_ecolog_as_in_public_code():
    """With its score, steps and radius, which have no diameter; what its paper proves, and ours, are rows beside it."""
    for name in ("glm/fig1", "glm/fig1-tv", "glm/fig1-fixed"):
        rules = {k: (x.radius_rule, x.score) for k, x in learners(name).items() if k.startswith("ECOLog")}
        assert rules == {
            "ECOLog": ("public", "mean"),
            "ECOLog, link score": ("code", "link"),
            "ECOLog, data radius": ("ville", "link"),
        }
        assert learners(name)["ECOLog, link score"]._diameter == 10.0


def test_figures_are_on_the_published_instance():
    """One table of arms and one direction of theta* in all panels; rivals get the instance's kappa and delta."""
    direction, arms = published_instance.draw(100)
    for name in ("glm/fig1", "glm/fig2", "glm/fig3"):
        for panel in EXPERIMENTS[name].panels(100).values():
            np.testing.assert_array_equal(panel.environment.table, arms)
            np.testing.assert_allclose(panel.environment.theta, panel.x * direction)
    kappa = np.max(2.0 + 2.0 * np.cosh(5.0 * arms @ direction))
    found = learners("glm/fig1")
    assert found["RS-GLinCB"].kappa == pytest.approx(kappa) and found["RS-GLinCB"].ridge == 5.0
    assert float(found["RS-GLinCB"]._threshold) == pytest.approx(1.0 / (0.01 * kappa * 25.0 * 5.0))
    assert found["GLOC"].curvature == pytest.approx(1.0 / kappa)
    assert {x.delta for label, x in found.items() if label != "uniform"} == {0.01}
    assert "kappa 21" in EXPERIMENTS["glm/fig1"].panels(3000)["S3"].title


def test_all_six_values_of_kappa_come_out_as_stated():
    """Played by the simulator, to the last digit that is printed."""
    verdicts = run(EXPERIMENTS["glm/kappas"], progress=False).judged
    assert [verdict.decision for verdict in verdicts] == ["holds"] * 6
    assert all(verdict.claim.high - verdict.claim.low == 1.0 for verdict in verdicts)


def test_a_difference_is_shown_as_a_share_of_the_axis():
    """(165 - 97) / 220, beside a ratio that is the same as without."""
    spread = np.linspace(0.98, 1.02, 64)
    levels = {"GLB-OMD": 165.0, "OFUGLB": 97.0, "GLOC": 220.0}
    results = {"S3": Result({k: factories.trials({"regret": (v * spread)[None, :, None]}) for k, v in levels.items()})}
    (claim,) = [c for c in EXPERIMENTS["glm/fig1"].claims if c.id == "modest/ofuglb/s3"]
    verdict = judge(claim, Measurements(results, {}))
    companions = dict(verdict.companions)
    assert verdict.decision == "holds" and verdict.value == pytest.approx(165.0 / 97.0)
    assert companions["share of the axis to GLOC"] == pytest.approx(68.0 / 220.0)
    without = {"S3": Result({k: results["S3"][k] for k in ("GLB-OMD", "OFUGLB")})}
    assert "share of the axis to GLOC" not in dict(judge(claim, Measurements(without, {})).companions)


def test_rewards_of_poisson_bandits_are_told_to_be_at_most_100():
    found = learners("glm/fig2", panel="S3")
    assert found["GLM-UCB"].reward_bound == found["RS-GLinCB"].reward_bound == 100.0
    assert "ECOLog" not in found and "OFULog-r" not in found
    assert found["OFUGLB"].capacity == 100 and found["OFUGLB"].n_arms is None and found["GLB-OMD"].dim == 5
    fixed = learners("glm/fig2-fixed", panel="S3")
    assert fixed["OFUGLB"].n_arms == 20 and fixed["OFUGLB"].capacity is None


def test_who_promises_coverage_gets_a_claim():
    """One claim a learner and panel; the one about GLB-OMD with lambda = d says that nobody promised it."""
    exceptions = {"GLB-OMD, lambda = d": "'GLB-OMD, lambda = d', which no theorem covers, in"}
    for name in ("glm/coverage", "glm/coverage-links"):
        experiment = EXPERIMENTS[name]
        for key, panel in experiment.panels(100).items():
            claims = [claim for claim in experiment.claims if f"({key}" in claim.text]
            for label in experiment.algorithms("theory", 100, panel):
                words = f"theta* lies in all confidence sets of {exceptions.get(label, f'{quote_label(label)} in')} "
                about = [claim.text for claim in claims if claim.text.startswith(words)]
                assert len(about) == 1 and ("no theorem" in about[0]) == (label in exceptions), (key, label)


def test_marks_end_at_the_horizon():
    assert marks(3000) == (50, 500, 3000)
    assert marks(500) == (50, 500) and marks(50) == (50,) and marks(7) == (7,)


@pytest.mark.slow
def test_regions_come_from_the_recorded_trace():
    """Of GLB-OMD's own plays: its region has its own estimate and radius; areas are those of the drawn polygons."""
    experiment = dataclasses.replace(EXPERIMENTS["glm/regions"], claims=())
    trials = run(experiment, seeds=2, horizon=60, progress=False).results["S3"]["GLB-OMD"]
    (first, second, third), theta, norm = regions_of(trials, 1, 60)
    assert norm == 3.0 and np.linalg.norm(theta) == pytest.approx(3.0)
    assert np.linalg.norm(first.center - theta) == pytest.approx(trials.final("estimation_error")[0, 1])
    assert not np.array_equal(trials.get("arm")[0, 0], trials.get("arm")[0, 1])
    assert trials.final("area GLM-UCB")[0] == pytest.approx([1.0, 1.0], abs=1e-3)  # covers the ball
    assert np.all(trials.final("area OFUGLB") < 1.0) and third.contains(theta[None])[0]
    assert trials.final("inside OFUGLB")[0, 1] == second.contains(theta[None])[0]
