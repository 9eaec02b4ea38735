"""The figures on matrix completion: in miniature, on files of the real format, and what their knobs and meters are."""

import dataclasses

import numpy as np
import pytest

from jaxbandits.algorithms.coco.ofw import OFW
from jaxbandits.domains.nuclear import NuclearBall
from jaxbandits.experiments import EXPERIMENTS
from jaxbandits.experiments.coco import setting
from jaxbandits.experiments.coco.setting import Knobs
from jaxbandits.experiments.coco.tuning import search
from jaxbandits.experiments.run import run
from jaxbandits.simulation import simulate
from jaxbandits.simulation.meters import Meter
from tests.results import made


def test_figure_1_in_miniature():
    """Two learners, every metric: the counted oracle calls, the shares, and no verdict on so few rounds."""
    fig1 = EXPERIMENTS["coco/fig1"]
    small = dataclasses.replace(
        fig1, panels=lambda horizon: {"figure": fig1.panels(horizon)["figure"]}, claims=fig1.claims[:1]
    )
    report = run(small, seeds=3, horizon=80, without=("SCOFW-TVC", "OPDP"), progress=False, record=4)
    assert {item.verdict for item in report.judged} == {"not decided"}
    for label, trials in report.results["figure"].trials.items():
        calls = trials.get("oracle_calls")[0, 0]
        assert list(calls) == [20, 40, 60, 80] if label == "OFW-TVC" else 0 < calls[-1] < 80
        np.testing.assert_allclose(trials.get("relative_loss"), trials.get("loss") / trials.get("zero_loss"))
        assert np.all(trials.get("violation_share") < 0.6) and np.all(trials.get("violation_share")[..., -1] > 0.1)
        assert np.all(trials.get("oracle_residual") == 0.0)  # exact at this size


@pytest.mark.parametrize(
    ("name", "line", "lines", "batch"),
    [("coco/fig1", "{}\t{}\t{}\t0\n", 100_000, 100), ("coco/fig2", "{} {} {}\n", 35_497, 8)],
)
def test_on_a_file_of_the_user(tmp_path, name, line, lines, batch):
    """Nothing runs: sizes, radius and horizon are those of the data set."""
    users, items = np.divmod(np.arange(lines), 900)
    path = tmp_path / "ratings"
    path.write_text("".join(line.format(u + 1, i + 1, 3) for u, i in zip(users, items, strict=True)))
    experiment = EXPERIMENTS[name].on(path)
    assert experiment.horizon == lines // batch
    for constraint, panel in experiment.panels(experiment.horizon).items():
        environment = panel.environment
        assert (environment.constraint, environment.batch, environment.radius) == (constraint, batch, 1e4)
        for learner in experiment.algorithms("tuned", experiment.horizon, panel).values():
            assert learner.dim == environment.dim == (943, 1682) if name == "coco/fig1" else (1508, 2071)
            learner.check()


def test_knobs_multiply_the_constants_of_the_presets():
    environment = setting.stand_in("figure")
    ones = {name: Knobs() for name in setting.FULL}
    base, moved = (
        setting.full_information(environment, 100, knobs) for knobs in (ones, {k: Knobs(10.0, 100.0) for k in ones})
    )
    for name, first, second in (
        ("OFW-TVC", "eta_scale", "gamma"), ("SCOFW-TVC", "curvature", None), ("LPM", "eta", "dual_step"),
        ("OPDP", "eta_scale", "dual_step"),
    ):  # fmt: skip
        assert getattr(moved[name], first) == pytest.approx(10.0 * getattr(base[name], first))
        assert second is None or getattr(moved[name], second) == pytest.approx(100.0 * getattr(base[name], second))
    theory = setting.full_information_theory(environment, 100)["LPM"]
    bound = float(environment.lipschitz)
    assert base["LPM"].eta == pytest.approx(environment.radius / bound * 100**-0.75) and theory.eta is None
    assert base["SCOFW-TVC"].gamma == pytest.approx(
        bound / (bound + base["SCOFW-TVC"].curvature * 2.0 * environment.radius)
    )


def test_every_problem_has_knobs_for_its_learners():
    for name, knobs in setting.TUNED.items():
        _, _, labels = setting.PROBLEMS[name]()
        assert set(knobs) == set(labels)
        assert {value for pair in knobs.values() for value in pair} <= set(setting.GRID)
    for name, experiment in (("fig1", EXPERIMENTS["coco/fig1"]), ("fig2", EXPERIMENTS["coco/fig2"])):
        for panel in experiment.panels(10).values():
            assert setting.problem(name, panel.environment) in setting.TUNED


def test_search_orders_by_loss():
    grid = [Knobs(first, 1.0) for first in (1e-4, 1.0, 100.0)]
    found = search(setting.stand_in("figure"), setting.full_information, "OPDP", setting.FULL, 60, grid)
    losses = [loss for loss, *_ in found]
    assert losses == sorted(losses) and {knobs for *_, knobs in found} == set(grid) and losses[0] < losses[-1]


def test_the_residual_meter_finds_the_oracle():
    environment = setting.stand_in("figure")
    domain = NuclearBall(radius=float(environment.radius), exact_below=1, iterations=2)
    learner = OFW(dim=environment.dim, horizon=30, domain=domain, lipschitz=float(environment.lipschitz))
    seen = Meter("seen", lambda played: played.next_state.last.guess.residual, "max")
    trials = simulate(learner, environment, 30, 2, meters=[setting.METERS[-1], seen], progress=False, record=3)["OFW"]
    np.testing.assert_array_equal(trials.values["oracle_residual"], trials.values["seen"])
    assert trials.values["seen"].min() > 0.0


def test_shares_of_a_learner_that_does_not_move():
    values = {"loss": [[[6.0]]], "zero_loss": [[[12.0]]], "violation": [[[0.0]]], "norm": [[[0.0]]]}
    shares = setting.shares(made.trials({k: np.asarray(v) for k, v in values.items()}), None, None)
    assert shares["relative_loss"] == 0.5 and shares["violation_share"] == 0.0
