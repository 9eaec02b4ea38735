"""Scores of arms that never change, in float32, over a million rounds."""

import pytest

from jaxbandits.algorithms.linear.hvt_ucb import HvtUCB
from jaxbandits.algorithms.linear.oful import OFUL
from jaxbandits.base.pytree import as_arrays
from jaxbandits.environments.linear.heavy_tailed import HeavyTailed
from jaxbandits.environments.linear.noise import Gaussian, StudentT
from jaxbandits.estimation.fixed_arms import REFRESH
from tests.estimation.scores import largest_drift, largest_error_of_widths

pytestmark = pytest.mark.float32


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [8 * REFRESH, 10**6])
@pytest.mark.parametrize("learner", [OFUL, HvtUCB])
def test_drift_stays_within_the_bound(learner, rounds):
    environment = HeavyTailed(dim=10, n_arms=20, noise=StudentT(df=2.1))
    told = {"noise_scale": 1.31} if learner is OFUL else {"eps": 0.99}
    algorithm = learner.practical(dim=10, horizon=rounds, **told)
    drift = largest_drift(*as_arrays((algorithm, environment)), rounds, 8)
    assert 0.0 < drift["width_sq"] < 0.5 and drift["mean"] < 0.5


@pytest.mark.slow
def test_widths_are_right_from_the_first_round_on_where_rewards_have_no_noise():
    """V^{-1} shrinks within some rounds to rounding errors of what it was."""
    environment = HeavyTailed(dim=5, n_arms=20, noise=Gaussian(spread=0.0))
    algorithm = HvtUCB.practical(dim=5, horizon=2 * REFRESH)
    assert largest_error_of_widths(*as_arrays((algorithm, environment)), 2 * REFRESH, 8) < 1e-5
