"""OPDP against its NumPy loop and the recorded traces."""

import numpy as np
import pytest

from jaxbandits.algorithms.coco.opdp import OPDP
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import validate
from jaxbandits.domains import L2Ball, WholeSpace
from tests.algorithms.coco.replay_blocks import known_trace, random_trace, replay
from tests.algorithms.coco.sets import SETS, LinearOracleOnly, dim, start
from tests.reference import opdp as reference

SOFT = (0.30507005, 0.59889622, 0.38286520), (0.08998610, 0.39951964, 0.43878824)
HARD = (0.29640873, 0.60330797), (0.02103704, 0.42818944, 0.93312080)


@pytest.mark.parametrize(("hard", "expected"), [(False, SOFT), (True, HARD)])
def test_known_traces(hard, expected):
    ours = OPDP(dim=2, horizon=16.0, lipschitz=1.2, dual_step=0.4, damping=0.2, hard=hard)
    _, state, extra = replay(ours, *known_trace())
    for t, numbers in zip((5, 11), expected, strict=True):
        np.testing.assert_allclose([*state.last.x[t], extra["dual"][t]][: len(numbers)], numbers, atol=6e-9)


@pytest.mark.quick_cases("l1")
@pytest.mark.parametrize("name", SETS)
def test_step_by_step(name, rng):
    for case in range(4):
        size, G, mu, theta = np.exp(0.5 * rng.normal(size=4))
        domain, other, shape = SETS[name](size)
        trace, x1, theta = random_trace(rng, shape, 60), start(rng, other, shape), 0.3 * theta
        given = {"dual_step": mu, "damping": theta} if case < 2 else {}
        ours = OPDP(
            dim=dim(shape),
            horizon=60.0,
            domain=LinearOracleOnly(base=domain),
            lipschitz=G,
            hard=case % 2 == 1,
            start=x1,
            **given,
        )
        validate(ours)
        _, state, _ = replay(ours, *trace)
        constants = {"mu": mu, "theta": theta} if given else reference.theory_constants(60.0, G, other.diameter)
        learner, rows = reference.OPDP(other, x1, 60.0, G, hard=case % 2 == 1, **constants), []
        for row in zip(*trace, strict=True):
            learner.step(*row)
            rows.append((learner.x, learner.l))
        x, dual = (np.array(column) for column in zip(*rows, strict=True))
        np.testing.assert_allclose(state.last.x, x, rtol=0, atol=1e-9 * size)
        np.testing.assert_allclose(state.dual, dual, atol=1e-10)
        assert dual.max() > 0.0 and max(other.excess(z) for z in state.last.x) <= 1e-12 * size


def test_preset_set_by_hand():
    base = OPDP.theory(dim=4, horizon=60, lipschitz=1.7, domain=L2Ball(radius=2.0))
    ours = OPDP.practical(dim=4, horizon=60, lipschitz=1.7, domain=L2Ball(radius=2.0))
    theory = reference.theory_constants(60.0, 1.7, 4.0)
    assert (ours.dual_step, ours.damping) == pytest.approx((100.0 * theory["mu"], theory["theta"] / 100.0))
    assert ours.hard and ours.eta_scale == 10.0 * base.eta_scale
    assert OPDP.practical(dim=4, horizon=60, eta_scale=3.0).eta_scale == 3.0


def test_refuses():
    with pytest.raises(InputError, match="'lmo'"):
        validate(OPDP(dim=2, horizon=16, domain=WholeSpace()))
