"""LOO-BOGD against its NumPy loop and the recorded trace."""

import numpy as np
import pytest

from jaxbandits.algorithms.coco.loo_bogd import LOOBOGD
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import validate
from jaxbandits.domains import L2Ball, WholeSpace
from tests.algorithms.coco.replay_blocks import known_trace, random_trace, replay
from tests.algorithms.coco.sets import SETS, LinearOracleOnly, dim, start
from tests.reference import loo_bogd as reference


def test_known_trace():
    decision, state, extra = replay(LOOBOGD(dim=2, horizon=16, block=3, eta=0.5, eps=0.002), *known_trace())
    np.testing.assert_allclose(state.run.x[5], (0.13612941, 0.08211167), atol=6e-9)
    np.testing.assert_allclose(state.run.x[11], (0.29102904, 0.12684514), atol=6e-9)
    assert extra["oracle_calls"].sum() == 6 and not extra["unfinished"].any()
    np.testing.assert_array_equal(decision.play[1:], state.run.x[:-1])


@pytest.mark.quick_cases("matrix ball")
@pytest.mark.parametrize("name", SETS)
def test_step_by_step(name, rng):
    for _ in range(3):
        size, eta = np.exp(0.5 * rng.normal(size=2))
        domain, other, shape = SETS[name](size)
        dfs, gs, dgs = random_trace(rng, shape, 60)
        x1, eta, eps = start(rng, other, shape), 0.3 * eta * size, 0.01 * size**2
        ours = LOOBOGD(
            dim=dim(shape), horizon=60, block=4, domain=LinearOracleOnly(base=domain), eta=eta, eps=eps, start=x1,
            cut_first=False, most_calls=100_000,
        )  # fmt: skip
        validate(ours)
        _, state, extra = replay(ours, dfs, gs, dgs)
        learner, rows = reference.LOOBOGD(other, x1, eta, eps, 4), []
        for df in dfs:
            learner.step(df)
            rows.append((learner.x, learner.y, learner.calls))
        x, y, calls = (np.array(column) for column in zip(*rows, strict=True))
        np.testing.assert_allclose(state.run.x, x, rtol=0, atol=1e-9 * size)
        np.testing.assert_allclose(state.run.y, y, rtol=0, atol=1e-9 * size)
        np.testing.assert_array_equal(np.cumsum(extra["oracle_calls"]), calls)
        assert calls[-1] > 15 and max(other.excess(z) for z in state.run.x) <= 1e-12 * size
        assert set(np.flatnonzero(np.diff(state.run.x.reshape(60, -1), axis=0).any(1)) + 1) <= set(range(3, 60, 4))


def test_theory_eps_freezes():
    """Erratum: from 0 nothing moves up to T = 32400, from the boundary up to 2025, however large the gradients."""
    T = 1500
    trace = np.tile([1.0, 0.0], (T, 1)), np.full(T, -1.0), np.zeros((T, 2))
    theory = LOOBOGD.theory(dim=2, horizon=T)
    constants = reference.theory_constants(T, 1.0, 1.0)
    assert theory._block == constants["K"]
    _, state, _ = replay(theory, *trace)
    assert np.all(state.run.x == 0.0) and state.run.calls.sum() == 0
    assert state.run.y[-1, 0] == -1.0  # the infeasible point went to the boundary
    _, state, _ = replay(LOOBOGD.practical(dim=2, horizon=T), *trace)
    assert state.run.x[-1, 0] < -0.5


@pytest.mark.parametrize(
    ("fields", "words"), [({"domain": WholeSpace()}, "'lmo'"), ({"start": np.zeros(3)}, "shape"), ({"eta": 0.0}, "eta")]
)
def test_refuses(fields, words):
    with pytest.raises(InputError, match=words):
        validate(LOOBOGD(**{"dim": 2, "horizon": 16, "domain": L2Ball()} | fields))
