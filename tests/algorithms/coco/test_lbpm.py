"""LBPM against its NumPy loop."""

import numpy as np
import pytest

from jaxbandits.algorithms.coco.lbpm import LBPM
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import validate
from jaxbandits.domains import Simplex
from tests.algorithms.coco.replay_blocks import random_bandit_trace, replay_bandit
from tests.algorithms.coco.sets import INTERIOR, SETS, LinearOracleOnly, dim, start
from tests.reference import lpm as reference


@pytest.mark.quick_cases("matrix ball")
@pytest.mark.parametrize("name", INTERIOR)
def test_step_by_step(name, rng):
    total = 0
    for _ in range(3):
        size, eta, eta_l, theta = np.exp(0.5 * rng.normal(size=4))
        domain, other, shape = SETS[name](size)
        delta = 0.3 * other.inner
        us, fs, gs = random_bandit_trace(rng, shape, 60)
        x1, eta, theta = start(rng, other, shape, 0.3), 0.1 * eta * delta * size, 0.2 * theta
        ours = LBPM(
            dim=dim(shape), horizon=60, block=4, domain=LinearOracleOnly(base=domain),
            eta=eta, delta=delta, start=x1, damping=theta,
            dual_step=eta_l, cut_first=False, most_calls=100_000,
        )  # fmt: skip
        validate(ours)
        decision, state, extra = replay_bandit(ours, us, fs, gs)
        learner, rows = reference.LBPM(other, x1, eta, 4, theta, eta_l, delta), []
        for t in range(60):
            play = learner.play(us[t])
            learner.step(fs[t, 0], gs[t, 0])
            rows.append((play, learner.x, learner.base.y, learner.l, learner.calls))
        play, x, y, dual, calls = (np.array(column) for column in zip(*rows, strict=True))
        np.testing.assert_allclose(decision.play, play, rtol=0, atol=1e-9 * size)
        np.testing.assert_allclose(state.run.x, x, rtol=0, atol=1e-9 * size)
        np.testing.assert_allclose(state.run.y, y, rtol=0, atol=1e-9 * size)
        np.testing.assert_allclose(state.dual, dual, atol=1e-10)
        np.testing.assert_array_equal(np.cumsum(extra["oracle_calls"]), calls)
        assert max(other.excess(z) for z in decision.play) <= 1e-12 * size
        total += calls[-1]
    assert total > 10


def test_theory_constants():
    """eta = R (d M)^{-1/2} T^{-3/4}, eps = delta^2 / 3 on the shrunk set, the dual's as LPM's with K = sqrt(T)."""
    domain, other, shape = SETS["ball"](2.0)
    T, G, M, c = 400, 1.7, 0.6, 0.8
    us, fs, gs = random_bandit_trace(np.random.default_rng(0), shape, T)
    _, state, _ = replay_bandit(LBPM(dim=4, horizon=T, domain=domain, lipschitz=G, value_bound=M, c=c), us, fs, gs)
    eta_l, delta = T**-0.75 / (G * 2.0), c * T**-0.25
    theta = min(20.0 * 2.0 * G * T**-0.25, 1.0 / (eta_l * 20))
    learner = reference.LBPM(other, np.zeros(4), 2.0 * (4 * M) ** -0.5 * T**-0.75, 20, theta, eta_l, delta)
    for t in range(T):
        learner.play(us[t])
        learner.step(fs[t, 0], gs[t, 0])
    assert learner.calls > 0
    np.testing.assert_allclose(state.dual[-1], learner.l, rtol=1e-12)
    np.testing.assert_allclose(state.run.y[-1], learner.base.y, atol=1e-9)


def test_preset_set_by_hand():
    ours = LBPM.practical(dim=4, horizon=400, domain=SETS["ball"](2.0)[0], lipschitz=1.7, value_bound=0.6)
    decay = 400**-0.75
    assert ours.eta == pytest.approx(10.0 * 2.0 * (4 * 0.6) ** -0.5 * decay)
    assert ours.dual_step == pytest.approx(100.0 * decay / (1.7 * 2.0)) and ours.radius == pytest.approx(0.6)
    assert LBPM.practical(dim=4, horizon=400, eta=0.5).eta == 0.5


@pytest.mark.parametrize(("fields", "words"), [({"delta": 1.0}, "inner radius"), ({"domain": Simplex()}, "'center'")])
def test_refuses(fields, words):
    with pytest.raises(InputError, match=words):
        validate(LBPM(**{"dim": 2, "horizon": 16} | fields))


def test_a_step_depends_on_the_units_of_losses(rng):
    """eta is divided by the root of M alone, while estimates are proportional to it: 16 times the losses, 4 times."""
    us, fs, gs = random_bandit_trace(rng, (4,), 60)

    def centers(s, **changes):
        learner = LBPM(dim=4, horizon=60, lipschitz=s, value_bound=s, **changes)
        return replay_bandit(learner, us, s * fs, s * gs)[1].run.x

    eta = (4.0) ** -0.5 * 60**-0.75
    np.testing.assert_allclose(centers(1.0, eta=eta), centers(1.0), rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(centers(16.0), centers(1.0, eta=4.0 * eta), rtol=0.0, atol=1e-12)
