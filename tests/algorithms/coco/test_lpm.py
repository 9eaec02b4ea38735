"""LPM against its NumPy loop and the recorded trace."""

import numpy as np
import pytest

from jaxbandits.algorithms.coco.lpm import LPM, dual_constants
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import validate
from jaxbandits.domains import L2Ball, WholeSpace
from tests.algorithms.coco.replay_blocks import known_trace, random_trace, replay
from tests.algorithms.coco.sets import SETS, LinearOracleOnly, dim, start
from tests.reference import lpm as reference


def test_known_trace():
    ours = LPM(dim=2, horizon=16, block=3, eta=0.5, eps=0.002, damping=0.2, dual_step=0.4)
    _, state, extra = replay(ours, *known_trace())
    np.testing.assert_allclose([*state.run.x[5], state.dual[5]], (-0.29396781, 0.31482620, 0.74807955), atol=6e-9)
    np.testing.assert_allclose([*state.run.x[11], state.dual[11]], (-0.75462245, 0.54377678, 0.99439712), atol=6e-9)
    assert extra["oracle_calls"].sum() == 13


@pytest.mark.parametrize("radius", [np.uint8(200), np.int32(60_000), np.float16(400)])
def test_the_practical_accuracy_does_not_overflow(radius):
    """eps contains the square of the radius of the domain."""
    made, same = (LPM.practical(dim=2, horizon=16, domain=L2Ball(radius=r)) for r in (radius, float(radius)))
    assert float(made.eps) == same.eps


@pytest.mark.quick_cases("matrix ball")
@pytest.mark.parametrize("name", SETS)
def test_step_by_step(name, rng):
    for _ in range(3):
        size, eta, eta_l, theta = np.exp(0.5 * rng.normal(size=4))
        domain, other, shape = SETS[name](size)
        trace = random_trace(rng, shape, 60)
        x1, eta, eps, theta = start(rng, other, shape), 0.2 * eta * size, 0.01 * size**2, 0.2 * theta
        ours = LPM(
            dim=dim(shape), horizon=60, block=4, domain=LinearOracleOnly(base=domain), eta=eta, eps=eps, start=x1,
            damping=theta, dual_step=eta_l, cut_first=False, most_calls=100_000,
        )  # fmt: skip
        validate(ours)
        _, state, extra = replay(ours, *trace)
        learner, rows = reference.LPM(other, x1, eta, eps, 4, theta, eta_l), []
        for row in zip(*trace, strict=True):
            learner.step(*row)
            rows.append((learner.x, learner.base.y, learner.l, learner.calls))
        x, y, dual, calls = (np.array(column) for column in zip(*rows, strict=True))
        np.testing.assert_allclose(state.run.x, x, rtol=0, atol=1e-9 * size)
        np.testing.assert_allclose(state.run.y, y, rtol=0, atol=1e-9 * size)
        np.testing.assert_allclose(state.dual, dual, atol=1e-10)
        np.testing.assert_array_equal(np.cumsum(extra["oracle_calls"]), calls)
        assert dual.max() > 0.1 and max(other.excess(z) for z in state.run.x) <= 1e-12 * size


def test_theory_is_that_of_the_reference():
    for T in (100, 1500, 10_000):
        expected = reference.theory_constants(T, 1.7, 2.5)
        eta_l, theta = dual_constants(None, None, T, expected["K"], 1.7 * 2.5)
        assert (eta_l, float(theta)) == pytest.approx((expected["eta_l"], expected["theta"]))
        assert LPM.theory(dim=2, horizon=T)._block == min(expected["K"], T)


def test_from_the_origin_the_theory_does_not_move():
    """Erratum, milder on the card than it is: with y cut back to the ball, no y is sqrt(180) R T^{-1/4} from 0."""
    T = 400
    trace = np.tile([1.0, 0.0], (T, 1)), np.ones(T), np.tile([1.0, 0.0], (T, 1))
    _, state, _ = replay(LPM.theory(dim=2, horizon=T), *trace)
    assert np.all(state.run.x == 0.0) and state.dual[-1] > 0.0
    _, state, _ = replay(LPM.practical(dim=2, horizon=T), *trace)
    assert np.any(state.run.x != 0.0)


def test_the_queue_keeps_all_violation_and_the_damped_multiplier_only_that_of_the_last_block():
    """Against the definition: l is eta_l Q_t over finished blocks; with the defaults it forgets below T = 10^4."""
    T = 400
    g = np.linspace(-1.0, 2.0, T)
    trace = np.tile([1.0, 0.0], (T, 1)), g, np.tile([1.0, 0.0], (T, 1))
    fields = {"dim": 2, "horizon": T, "dual_step": 0.01}
    block = 20  # sqrt(T)
    ends = slice(block - 1, None, block)
    _, state, _ = replay(LPM.queue(**fields), *trace)
    np.testing.assert_allclose(state.dual[ends], 0.01 * np.cumsum(np.maximum(g, 0.0))[ends], rtol=1e-12)
    _, state, _ = replay(LPM.practical(**fields, damping=1.0 / (0.01 * block)), *trace)
    np.testing.assert_allclose(state.dual[ends], 0.01 * np.maximum(g, 0.0).reshape(-1, block).sum(axis=1), atol=1e-12)


def test_refuses():
    with pytest.raises(InputError, match="'lmo'"):
        validate(LPM(dim=2, horizon=16, domain=WholeSpace()))
