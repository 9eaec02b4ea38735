"""The generalised linear experiments: the user's data file, precision, the constants of the learners, regions."""

import dataclasses
import math

import jax
import numpy as np
import pytest

from jaxbandits.algorithms.glm.multipliers import MULTIPLIERS
from jaxbandits.base.errors import InputError
from jaxbandits.cli import main
from jaxbandits.reproduction import EXPERIMENTS
from jaxbandits.reproduction.engine.run import run
from jaxbandits.reproduction.experiments.glm.regions import marks, regions_of

COVERTYPE = EXPERIMENTS["glm/covertype"]


def test_a_data_file_takes_the_place_of_the_stand_in(tmp_path):
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.integers(0, 3000, (400, 10)), rng.integers(2, size=(400, 44)), rng.integers(1, 8, 400)])
    path = tmp_path / "covtype.data"
    np.savetxt(path, rows, fmt="%d", delimiter=",")
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


def test_the_comparison_is_with_ecolog_as_published():
    """With the diameter of the ball; the public code's, and a radius of ours, are rows beside it."""
    for name in ("glm/fig1", "glm/fig1-tv"):
        panel = EXPERIMENTS[name].panels(100)["S5"]
        learners = EXPERIMENTS[name].algorithms("experiments", 100, panel)
        rules = {label: (x.radius_rule, x._diameter) for label, x in learners.items() if label.startswith("ECOLog")}
        assert rules == {
            "ECOLog": ("code", 10.0),
            "ECOLog, code": ("code", 5.0),
            "ECOLog, data radius": ("ville", 10.0),
        }


def test_rewards_of_poisson_bandits_are_told_to_be_at_most_100():
    panel = EXPERIMENTS["glm/fig2"].panels(100)["S3"]
    learners = EXPERIMENTS["glm/fig2"].algorithms("experiments", 100, panel)
    assert learners["GLM-UCB"].reward_bound == learners["RS-GLinCB"].reward_bound == 100.0
    assert "ECOLog" not in learners and "OFULog-r" not in learners
    assert learners["OFUGLB"].n_arms == 20 and learners["OFUGLB"].capacity is None
    fresh = EXPERIMENTS["glm/fig1-tv"]
    learners = fresh.algorithms("experiments", 100, fresh.panels(100)["S5"])
    assert learners["OFUGLB"].capacity == 100 and learners["OFUGLB"].n_arms is None and learners["GLB-OMD"].dim == 5


def test_who_promises_coverage_gets_a_claim():
    """One claim a learner and panel; the one about GLB-OMD with lambda = d says that nobody promised it."""
    begins = {"GLB-OMD, lambda = d": "GLB-OMD, lambda = d, which no theorem covers"}
    for name in ("glm/coverage", "glm/coverage-links"):
        experiment = EXPERIMENTS[name]
        for key, panel in experiment.panels(100).items():
            claims = [claim for claim in experiment.claims if f"({key}" in claim.text]
            for label in experiment.algorithms("theory", 100, panel):
                about = [claim.text for claim in claims if claim.text.startswith(begins.get(label, f"{label} keeps"))]
                assert len(about) == 1 and ("no theorem" in about[0]) == (label in begins), (key, label)


def test_marks_end_at_the_horizon():
    assert marks(3000) == (50, 500, 3000)
    assert marks(500) == (50, 500) and marks(50) == (50,) and marks(7) == (7,)


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
