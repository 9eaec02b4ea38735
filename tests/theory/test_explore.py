"""Identification of the best arm: errors below delta, stopping times above the lower bound and in the paper's order."""

import numpy as np
import pytest

from jaxbandits.armed import BernoulliArms
from jaxbandits.explore import KLLUCB, SequentialHalving, TrackAndStop
from jaxbandits.simulation import simulate
from tests.reference.explore import kl, proportions

DELTA, MEANS = 0.1, np.array([0.3, 0.21, 0.2, 0.19, 0.18])  # mu_2 of Garivier and Kaufmann (2016), Table 1


def run(learner, horizon, trials):
    found = simulate(learner, BernoulliArms.from_means(MEANS), horizon, trials, record_points=1, progress=False)
    return {name: found.final(name)[0] for name in ("stopping_time", "stopped", "correct")}


def characteristic_time():
    """T*(mu): the inverse of the smallest evidence a round against another arm under w*."""
    w = proportions(MEANS)
    mid = (w[0] * MEANS[0] + w[1:] * MEANS[1:]) / (w[0] + w[1:])
    return 1.0 / np.min(w[0] * kl(MEANS[0], mid) + w[1:] * kl(MEANS[1:], mid))


@pytest.fixture(scope="module")
def runs():
    return {cls.__name__: run(cls(n_arms=5, delta=DELTA), 12_000, 256) for cls in (TrackAndStop, KLLUCB)}


@pytest.mark.slow
def test_errors_and_stopping_times(runs):
    bound = characteristic_time() * kl(DELTA, 1.0 - DELTA)
    np.testing.assert_allclose(bound, 574.2, atol=0.05)
    for found in runs.values():
        assert found["stopped"].mean() > 0.95
        assert (found["correct"] == 0.0).mean() < DELTA
        assert found["stopping_time"].mean() > bound
    times = {name: found["stopping_time"] for name, found in runs.items()}
    error = np.sqrt(sum(x.var() / len(x) for x in times.values()))
    assert times["KLLUCB"].mean() - times["TrackAndStop"].mean() > 5.0 * error


@pytest.mark.slow
def test_sequential_halving_errs_less_with_more_budget():
    share = [run(SequentialHalving(n_arms=5, budget=n), n, 2000)["correct"].mean() for n in (100, 800, 3200)]
    assert share[0] + 0.1 < share[1] and share[1] + 0.02 < share[2]
