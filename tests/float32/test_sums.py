"""Sums of metrics over many rounds between two record points, in float32."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.armed import UCB1
from jaxbandits.data import TableBandit
from jaxbandits.programs import compilation
from jaxbandits.simulation import Meter, simulate
from jaxbandits.tracing import target
from tests.toy_problems import Noisy, Shrink

ROUNDS = 10**6
METERS = [
    Meter("tenth", lambda played: jnp.full((), 0.1)),
    Meter("count", lambda played: jnp.ones(())),
    Meter("large", lambda played: jnp.where(played.t == 0, 1e7, 0.25)),
]


def final(record_points, rounds=ROUNDS):
    result = simulate(Shrink(), Noisy(), rounds, 1, meters=METERS, record_points=record_points, progress=False)
    return {meter.name: result.final(meter.name).item() for meter in METERS}


@pytest.mark.slow_cases("1")
@pytest.mark.parametrize("record_points", [1, 100, [3, 1000, ROUNDS]], ids=str)
def test_sums_between_record_points(record_points):
    """A plain sum is off by 1 % with one record point, and a count would end at 2^24."""
    found = final(record_points)
    np.testing.assert_allclose(found["tenth"], 0.1 * ROUNDS, rtol=5e-6)
    assert found["count"] == ROUNDS
    np.testing.assert_allclose(found["large"], 1e7 + 0.25 * (ROUNDS - 1), rtol=1e-5)


@pytest.mark.slow
def test_sums_on_accelerators(monkeypatch):
    """The form of an accelerator, in blocks and single rounds."""
    monkeypatch.setattr(target, "is_accelerator", lambda platform: True)
    compilation.clear_compiled()
    found = final(1, rounds=10_007)
    monkeypatch.undo()
    compilation.clear_compiled()
    np.testing.assert_allclose(found["tenth"], 1000.7, rtol=5e-6)
    assert found["count"] == 10_007


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_regret_on_a_table_with_large_rewards(offset):
    """The sums of rewards around 10^6 are wrong by hundreds, more than the regret."""
    rewards = np.round(np.random.default_rng(0).random((50, 2)) * 16.0) / 16.0 + offset  # exact in float32
    plays = Meter("arm", lambda played: jnp.asarray(played.decision.index, float))
    environment, rounds = TableBandit.from_rewards(rewards, order="given"), 500
    result = simulate(UCB1(n_arms=2), environment, rounds, 1, meters=[plays], record_points=rounds, progress=False)
    arm = np.diff(result.get("arm")[0, 0], prepend=0.0).astype(int)
    rows = rewards[np.arange(rounds) % 50]
    paid = rows[np.arange(rounds), arm]
    np.testing.assert_allclose(result.final("regret").item(), (rows.max(axis=1) - paid).sum(), rtol=1e-5)
    np.testing.assert_allclose(result.final("fixed_arm_regret").item(), rows.sum(axis=0).max() - paid.sum(), rtol=1e-5)
