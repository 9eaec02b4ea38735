"""The figures on matrix completion: in miniature, on files of the real format, and what their knobs and meters are."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

from jaxbandits.algorithms.coco.ofw import OFW
from jaxbandits.base.errors import InputError
from jaxbandits.domains.nuclear import NuclearBall
from jaxbandits.engine.meters import Meter
from jaxbandits.reproduction import EXPERIMENTS
from jaxbandits.reproduction.engine.run import run
from jaxbandits.reproduction.experiments.coco import setting
from jaxbandits.simulation import simulate
from tests.results import factories


@pytest.mark.slow
def test_figure_1_in_miniature():
    """Two learners, every metric: the counted oracle calls, the shares, and no verdict on so few rounds."""
    fig1 = EXPERIMENTS["coco/fig1"]
    small = dataclasses.replace(
        fig1, panels=lambda horizon: {"figure": fig1.panels(horizon)["figure"]}, claims=fig1.claims[:1]
    )
    report = run(small, seeds=3, horizon=80, without=("SCOFW-TVC", "OPDP"), progress=False, record_points=4)
    assert {item.decision for item in report.judged} == {"open"}
    for label, trials in report.results["figure"].trials.items():
        calls = trials.get("oracle_calls")[0, 0]
        # one a round, and of LPM as many as its knobs ask for, up to 100 a block
        assert list(calls) == [20, 40, 60, 80] if label == "OFW-TVC" else 0 < calls[0] < calls[-1] <= 80 * 100
        np.testing.assert_allclose(trials.get("relative_loss"), trials.get("loss") / trials.get("zero_loss"))
        assert np.all(trials.get("relative_violation") < 0.6) and np.all(
            trials.get("relative_violation")[..., -1] > 0.1
        )
        assert np.all(trials.get("oracle_residual") == 0.0)  # exact at this size


def test_on_a_file_of_the_user(tmp_path):
    """Nothing runs: sizes, radius and horizon are those of the densest part, here of the first users and films."""
    users, items = np.divmod(np.arange(100_000), 900)
    path = tmp_path / "ratings"
    path.write_text("".join(f"{u + 1}\t{i + 1}\t3\t0\n" for u, i in zip(users, items, strict=True)))
    experiment = EXPERIMENTS["coco/fig1"].with_data(path)
    assert experiment.horizon == (111 * 256 + 100) // 32  # of the last user a hundred films are known
    drawn = {curves.metric for curves in experiment.figures} | set(experiment.tabulated)
    assert "regret" not in drawn and "violation" in drawn  # there is no comparator at this size
    for panel_name, panel in experiment.panels(experiment.horizon).items():
        environment, constraint = panel.environment, "budget" if panel_name == "budget" else "figure"
        radius = 2.27 * 3.0 * 256.0  # of the norm of a matrix with 3 everywhere
        assert (environment.constraint, environment.batch) == (constraint, 32)
        assert environment.radius == pytest.approx(radius)
        for learner in experiment.algorithms("tuned", experiment.horizon, panel).values():
            assert learner.dim == environment.dim == (256, 256)
            learner.check()
            start = 0.0 if learner.start is None else np.linalg.norm(learner.start)
            assert start == pytest.approx(radius if panel_name == "vertex" else 0.0)
    with pytest.raises(InputError, match="takes no data file"):
        EXPERIMENTS["coco/fig2"].with_data(path)


def test_multipliers_multiply_the_constants_of_the_presets():
    environment = setting.stand_in("figure")
    ones = setting.plain_multipliers(setting.FULL)
    first = dict.fromkeys(("eta", "curvature"), 10.0)
    tens = dict.fromkeys(setting.FULL, first | dict.fromkeys(("gamma", "dual"), 100.0))
    base, moved = (setting.full_information(environment, 100, multipliers) for multipliers in (ones, tens))
    for name, first, second in (
        ("OFW-TVC", "eta_scale", "gamma"),
        ("SCOFW-TVC", "curvature", None),
        ("LPM", "eta", "dual_step"),
        ("OPDP", "eta_scale", "dual_step"),
    ):
        assert getattr(moved[name], first) == pytest.approx(10.0 * getattr(base[name], first))
        assert second is None or getattr(moved[name], second) == pytest.approx(100.0 * getattr(base[name], second))
    for name in ("LPM", "OPDP"):
        assert moved[name].dual_step == pytest.approx(100.0 * base[name].dual_step)
    assert base["OPDP"].damping == pytest.approx(100.0 * moved["OPDP"].damping) and base["LPM"].damping == 0.0
    theory = setting.full_information_theory(environment, 100)["LPM"]
    bound = float(environment.lipschitz)
    assert base["LPM"].eta == pytest.approx(environment.radius / bound * 100**-0.75) and theory.eta is None
    assert base["SCOFW-TVC"].gamma == pytest.approx(
        bound / (bound + base["SCOFW-TVC"].curvature * 2.0 * environment.radius)
    )


def test_regret_under_the_budget_is_against_the_best_that_keeps_it():
    values = {name: np.full((1, 1, 1), k) for k, name in enumerate(("loss", "zero_loss", "violation", "norm"), 1)}
    both = factories.trials({**values, "regret": np.full((1, 1, 1), 9.0), "feasible_regret": np.full((1, 1, 1), 7.0)})
    assert setting.shares(both, None, None)["regret"] == 7.0
    assert "regret" not in setting.shares(factories.trials(values), None, None)


@pytest.mark.slow
def test_the_residual_meter_finds_the_oracle():
    environment = setting.stand_in("figure")
    domain = NuclearBall(radius=float(environment.radius), exact_below=1, iterations=2)
    learner = OFW(dim=environment.dim, horizon=30, domain=domain, lipschitz=float(environment.lipschitz))
    seen = Meter("seen", lambda played: played.next_state.last.guess.residual, "max")
    trials = simulate(learner, environment, 30, 2, meters=[setting.METERS[-1], seen], progress=False, record_points=3)[
        "OFW"
    ]
    np.testing.assert_array_equal(trials.values["oracle_residual"], trials.values["seen"])
    assert trials.values["seen"].min() > 0.0


@pytest.mark.parametrize("constraint", ("figure", "budget"))
def test_the_score_is_one_for_0_and_the_weight_for_ratings_everywhere(constraint, rng):
    """0 loses its whole loss and violates nothing; the violation of a full matrix against draws of the constraints."""
    environment = setting.stand_in(constraint)
    ratings, (m, n) = np.asarray(environment.observed.values), environment.dim
    uniform = rng.uniform(-1.0, 1.0, (4000, m * n))
    if constraint == "figure":
        full, normals, bound = np.sqrt(np.mean(ratings**2)), uniform, 0.0
    else:
        full, normals = np.mean(ratings), (1.0 + 0.5 * uniform) / np.sqrt(m * n)
        bound = 0.2 * full * np.sqrt(m * n)
    violation = np.maximum(normals.sum(axis=1) * full - bound, 0.0).mean()
    loss = 0.5 * environment.batch * np.mean(ratings**2)
    for outcome, expected in (((loss, 0.0), 1.0), ((0.0, violation), setting.VIOLATION_WEIGHT[constraint])):
        played = SimpleNamespace(
            outcome=SimpleNamespace(loss=outcome[0], violation=outcome[1]), environment=environment
        )
        assert float(setting.score(played)) == pytest.approx(expected, rel=0.05)


def test_shares_of_a_learner_that_does_not_move():
    values = {"loss": [[[6.0]]], "zero_loss": [[[12.0]]], "violation": [[[0.0]]], "norm": [[[0.0]]]}
    shares = setting.shares(factories.trials({k: np.asarray(v) for k, v in values.items()}), None, None)
    assert shares["relative_loss"] == 0.5 and shares["relative_violation"] == 0.0
