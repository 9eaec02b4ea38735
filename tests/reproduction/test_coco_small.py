"""The constrained experiments: measures by hand, and that they see what is wrong."""

import dataclasses
import math
import types

import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms.coco.lyapunov import Lyapunov, QuadraticLyapunov
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import pytree
from jaxbandits.coco import OFWTVC, SCOFWTVC, QuadraticConstraints, SinhaVaze
from jaxbandits.diagnostics import coco as meters
from jaxbandits.domains import L1Ball, L2Ball
from jaxbandits.reproduction import EXPERIMENTS
from jaxbandits.reproduction.engine.run import run
from jaxbandits.reproduction.experiments.coco import certificates, errata, setting, tradeoff
from jaxbandits.simulation import Meter, compare
from jaxbandits.theory import coco as theory
from tests.results import factories


def test_shares_are_of_the_bound_of_the_learner():
    trials = factories.trials(
        {"feasible_regret": np.asarray([[[1.0, 6.0]]]), "violation": np.asarray([[[0.5, 2.0]]])},
        record_points=np.asarray([4, 16]),
    )
    bound = theory.theorem_1(1.5, 2.0, 16.0)
    found = setting.shares_of_bounds(trials, OFWTVC(dim=2, horizon=16, lipschitz=1.5, constraint_scale=3.0), None)
    np.testing.assert_allclose(found["regret_share"], [[[1.0 / bound.regret, 6.0 / bound.regret]]])
    np.testing.assert_allclose(found["violation_share"], [[[1.5 / bound.violation, 6.0 / bound.violation]]])
    bound = theory.theorem_2(1.0, 2.0, 16.0, 0.5)
    found = setting.shares_of_bounds(trials, SCOFWTVC(dim=2, horizon=16, curvature=0.5), None)
    np.testing.assert_allclose(found["regret_share"][..., -1], 6.0 / bound.regret)


@pytest.mark.slow
def test_certificates_hold_and_can_fail():
    """With an oracle that answers half of the vertex the gap certifies too much, and Lemma 4 fails."""
    setting = {"dim": 3, "horizon": 60, "lipschitz": 2.1, "domain": L1Ball()}
    wanted = (
        Meter("lemma_4", meters.lemma_4, "max"),
        Meter("gap_excess", meters.gap_excess, "max"),
        Meter("shortfall", meters.oracle_shortfall(lambda domain: L1Ball()), "max"),
    )
    learners = {
        "ofw": OFWTVC(**setting),
        "scofw": SCOFWTVC(**setting, curvature=1.0),
        "halved": OFWTVC(**setting | {"domain": HalfL1Ball()}, eta_scale=100.0),
    }
    environment = QuadraticConstraints(dim=3, domain=L2Ball())
    result = compare(learners, environment, 60, 3, record_points=2, progress=False, width=32, meters=wanted)
    final = {label: {name: trials.final(name) for name in trials.metrics} for label, trials in result.trials.items()}
    for label in ("ofw", "scofw"):
        assert final[label]["lemma_4"].max() <= 1.0 and final[label]["gap_excess"].max() <= 1e-12
        assert np.abs(final[label]["shortfall"]).max() <= 1e-12
    assert final["ofw"]["lemma_4"].min() > 0.05  # and is not nothing
    assert final["halved"]["gap_excess"].min() > 0.1 and final["halved"]["lemma_4"].min() > 1.0
    np.testing.assert_allclose(final["halved"]["shortfall"], 0.5, rtol=1e-9)


@pytree
class HalfL1Ball(L1Ball):
    """Answers with half of a vertex; its best value is still asked of `project`."""

    def lmo(self, direction, guess=None):
        vertex, guess = super().lmo(direction, guess)
        return 0.5 * vertex, guess


def test_learners_without_a_quadratic_are_named():
    played = types.SimpleNamespace(next_state=types.SimpleNamespace(), algorithm=SinhaVaze(dim=2, horizon=9))
    with pytest.raises(InputError, match="SinhaVaze takes no Frank-Wolfe step"):
        meters.followed_quadratic(played)


def test_the_potential_is_the_integral_of_the_weight():
    """Phi(beta Q) / (beta gamma) is the sum of rho over small steps of Q, for both families."""
    for surrogate in (Lyapunov(2.0, 0.5, 0.25), QuadraticLyapunov(2.0, 0.5, 1.0)):
        queue = types.SimpleNamespace(total=jnp.asarray(3.0))
        played = types.SimpleNamespace(next_state=types.SimpleNamespace(surrogate=surrogate, queue=queue))
        steps = jnp.linspace(0.0, 3.0, 6001)
        integral = jnp.mean(surrogate.weight(0.5 * (steps[1:] + steps[:-1]))) * 3.0
        assert float(certificates._potential(played)) == pytest.approx(float(integral), rel=1e-6)


def test_the_comparator_satisfies_the_tightest_constraint():
    environment = QuadraticConstraints(dim=2, domain=L2Ball())
    target, normal = jnp.asarray([0.8, 0.0]), jnp.asarray([0.9, 0.4])
    state = types.SimpleNamespace(target=target, normal=normal)
    point = certificates._comparator(types.SimpleNamespace(environment=environment, env_state=state))
    assert float(1.5 * normal @ point) == pytest.approx(0.2)  # s_t at most 1.5, b_t at least 0.2
    state.normal = -normal
    free = certificates._comparator(types.SimpleNamespace(environment=environment, env_state=state))
    np.testing.assert_allclose(free, target)


def test_inequality_7_is_left_where_a_term_is_missing():
    rows = {
        "surrogate_regret": [[[3.0, 3.0]]],
        "loss_regret": [[[1.0, 2.0]]],
        "potential": [[[1.0, 3.0]]],
        "feasible_regret": [[[0.0, 0.0]]],
        "violation": [[[0.0, 0.0]]],
    }
    trials = factories.trials(
        {name: np.asarray(values) for name, values in rows.items()}, record_points=np.asarray([1, 2])
    )
    found = certificates._derive(trials, OFWTVC(dim=2, horizon=2), None)["inequality_7"]
    np.testing.assert_allclose(found, [[[-0.2, 0.25]]])


def test_every_case_of_the_errata_has_two_learners_and_its_own_rounds():
    panels = EXPERIMENTS["coco/errata"].panels(100)
    assert [name for name in panels if name not in errata._CASES] == ["units-1", "units-100"]
    for name, panel in panels.items():
        if name in errata._UNITS:
            continue
        labels = EXPERIMENTS["coco/errata"].algorithms("theory", 100, panel)
        assert tuple(labels) == errata._pair(name)
        told = {getattr(learner, "horizon", panel.rounds) for learner in labels.values()}
        assert told == {panel.rounds}


@pytest.mark.slow
def test_a_panel_with_rounds_of_its_own_is_run_that_long():
    whole = EXPERIMENTS["coco/rates"]
    small = dataclasses.replace(
        whole,
        float64=False,
        panels=lambda horizon: {name: whole.panels(horizon)[name] for name in ("T-0", "T-1")},
        algorithms=lambda *given: {"SCOFW-TVC": whole.algorithms(*given)["SCOFW-TVC"]},
        claims=(),
    )
    report = run(small, horizon=20_000, seeds=2, progress=False)
    assert [report.results[name]["SCOFW-TVC"].horizon for name in report.panels] == [20, 63]
    assert [panel.x for panel in report.panels.values()] == [20.0, 63.0]


def swept(regret, violation):
    """Two seeds, three weights; a horizon of 10."""
    values = {"feasible_regret": regret, "violation": violation}
    arrays = {name: np.asarray(v, float)[..., None] for name, v in values.items()}
    return factories.trials(arrays, points=[{"gamma": g} for g in (1.0, 0.1, 0.01)], record_points=np.asarray([10]))


def test_the_frontier_compares_the_best_admitted_points():
    """At 0.2 a round the first may use its middle weight, the second only its last."""
    first = swept([[0, 0], [10, 30], [50, 70]], [[9, 9], [1, 1], [0, 0]])
    second = swept([[0, 0], [5, 5], [80, 60]], [[9, 9], [5, 5], [1, 1]])
    measured_ = types.SimpleNamespace(results={"half-space": {"a": first, "b": second}})
    estimate = tradeoff.frontier_difference("a", "b", 0.2)(measured_)
    assert float(estimate.mean) == pytest.approx((10 + 30 - 80 - 60) / 2 / 10)
    assert math.isnan(float(tradeoff.frontier_difference("a", "b", 0.0)(measured_).mean))
    assert float(tradeoff.heavier("a", "violation")(measured_).mean) == pytest.approx(-0.9)


def test_the_frontier_leaves_failed_trials_out():
    """The last weight of the first never has a value, and its middle weight only on the second seed."""
    first = swept([[0, 0], [math.nan, 30], [math.nan] * 2], [[9, 9], [1, 1], [0, 0]])
    second = swept([[0, 0], [5, 5], [80, 60]], [[9, 9], [5, 5], [1, 1]])
    measured_ = types.SimpleNamespace(results={"half-space": {"a": first, "b": second}})
    estimate = tradeoff.frontier_difference("a", "b", 0.2)(measured_)
    assert float(estimate.mean) == pytest.approx((30 - 60) / 10) and estimate.failed == 1
    np.testing.assert_allclose(tradeoff.mean_points(first), [[0.0, 3.0, math.nan], [0.9, 0.1, math.nan]])
