"""Sums of metrics over many rounds between two record points, in float32."""

import jax.numpy as jnp
import numpy as np
import pytest

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
