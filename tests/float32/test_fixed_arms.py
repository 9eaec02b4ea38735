"""Scores of arms that never change, in float32, over a million rounds."""

import pytest

from jaxbandits.algorithms.linear.hvt_ucb import HvtUCB
from jaxbandits.algorithms.linear.oful import OFUL
from jaxbandits.base.pytree import as_arrays
from jaxbandits.environments.linear.heavy_tailed import HeavyTailed
from jaxbandits.environments.linear.noise import StudentT
from jaxbandits.estimation.fixed_arms import REFRESH
from tests.estimation.scores import largest_drift

pytestmark = pytest.mark.float32


@pytest.mark.parametrize("rounds", [8 * REFRESH, 10**6])
@pytest.mark.parametrize("learner", [OFUL, HvtUCB])
def test_drift_stays_within_the_bound(learner, rounds):
    environment = HeavyTailed(dim=10, n_arms=20, noise=StudentT(df=2.1))
    told = {"noise_scale": 1.31} if learner is OFUL else {"eps": 0.99}
    algorithm = learner.practical(dim=10, horizon=rounds, **told)
    drift = largest_drift(*as_arrays((algorithm, environment)), rounds, 8)
    assert 0.0 < drift["width_sq"] < 0.5 and drift["mean"] < 0.5
