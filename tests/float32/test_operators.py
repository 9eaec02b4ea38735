"""Operators and bandits from data keep float32 states in float32 (a process without x64)."""

import numpy as np
import pytest

from jaxbandits import noise
from jaxbandits.data import LoggedReplay, RecordedTrace, TableBandit
from jaxbandits.linear import OFUL, HeavyTailed
from jaxbandits.operators import Given, PiecewiseDrift, RandomWalk, with_corruption, with_delay, with_drift, with_noise
from jaxbandits.simulation import simulate
from jaxbandits.testing import contract

pytestmark = pytest.mark.float32
INSIDE = HeavyTailed(dim=2, n_arms=3, available=2)
ENVIRONMENTS = {
    "walk": with_noise(with_delay(with_drift(INSIDE, RandomWalk()), 3), noise.StudentT()),
    "pieces": with_corruption(with_drift(INSIDE, PiecewiseDrift(period=5)), rounds=4, rate=0.5),
    "given": with_drift(INSIDE, Given(path=np.ones((4, 2)))),
    "table": TableBandit.from_table(np.eye(4, 2), list("abab"), order="shuffled"),
    "replay": LoggedReplay.from_log([0, 1, 0], np.ones(3), n_arms=2, order="shuffled"),
    "trace": RecordedTrace.from_arrays(np.eye(4, 2), np.ones(4)),
}


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_states_keep_their_types(name):
    environment = ENVIRONMENTS[name]
    contract.state_shape_is_fixed(OFUL(dim=getattr(environment, "dim", 2)), environment)


@pytest.mark.slow
def test_a_walk_stays_in_its_ball():
    environment = with_drift(HeavyTailed(dim=2, n_arms=3, noise=noise.Gaussian()), RandomWalk(length=0.5))
    found = simulate(OFUL(dim=2), environment, 300, 3, record_points=[300], width=1, progress=False)
    assert found["OFUL"].healthy.all() and (found["OFUL"].final("regret") <= 300 * 2 * 1.00001).all()
