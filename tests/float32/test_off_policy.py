"""Intervals of off-policy estimates in float32."""

import numpy as np
import pytest

from jaxbandits.armed import UCB1, EpsGreedy
from jaxbandits.base.errors import InputError
from jaxbandits.data import Log, evaluate


def test_the_interval_of_a_replay_does_not_depend_on_an_offset_of_the_rewards():
    """The squares of rewards around 10,000 lose their deviations in float32."""
    draws = np.random.default_rng(0)
    action, reward = draws.integers(2, size=2000), draws.standard_normal(2000)
    halves = []
    for offset in (0.0, 1e4):
        (row,) = evaluate(Log.from_arrays(action, reward + offset, np.full(2000, 0.5)), UCB1(n_arms=2), seeds=2)
        halves.append((row.high - row.low) / 2)
    assert halves[0] == pytest.approx(1.96 / np.sqrt(1000), rel=0.1)
    assert halves[1] == pytest.approx(halves[0], rel=0.1)


def test_the_value_of_a_replay_is_exact_despite_an_offset_of_the_rewards():
    """A sum of 200 rewards around 10^6 is wrong by 100 in float32, more than the interval of their mean is wide."""
    reward = np.full(400, 1e6 + 1.0)
    reward[::50] = 1e6
    (row,) = evaluate(Log.from_arrays(np.arange(400) % 2, reward, np.full(400, 0.5)), UCB1(n_arms=2), seeds=2)
    assert 8.0 / row.ess + 1e-9 >= 1e6 + 1.0 - row.value >= 0.0
    (row,) = evaluate(Log.from_arrays(np.arange(400) % 2, reward - 1e6, np.full(400, 0.5)), UCB1(n_arms=2), seeds=1)
    assert row.value * row.ess == pytest.approx(round(row.value * row.ess), rel=1e-12)


@pytest.mark.parametrize("unit", [2.0**-100, 2.0**100])
def test_an_estimate_does_not_depend_on_the_unit_of_rewards(unit):
    """Squares of rewards around 1e-30 are 0, and those of rewards around 1e30 infinite."""
    reward = np.arange(400) % 7.0
    log, other = (Log.from_arrays(np.arange(400) % 2, reward * scale, np.full(400, 0.5)) for scale in (1.0, unit))
    (row,), (scaled,) = (evaluate(one, EpsGreedy(n_arms=2, gap=0.5), seeds=2) for one in (log, other))
    assert row.low < row.high and (scaled.low / unit, scaled.high / unit) == pytest.approx((row.low, row.high))


def test_rewards_near_the_largest_number_have_an_interval():
    """The unit, and its reciprocal, must be finite and not 0; the sums of the learner may overflow."""
    reward = np.arange(400) % 7.0 * 2.0**125
    (row,) = evaluate(Log.from_arrays(np.arange(400) % 2, reward, np.full(400, 0.5)), EpsGreedy(n_arms=2, gap=0.5))
    assert 2.0**126 < row.low < row.value < row.high < 2.0**127


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
def test_rewards_that_are_infinite_in_float32_are_named():
    log = Log.from_arrays([0, 1] * 100, np.arange(200) * 1e40, np.full(200, 0.5))
    with pytest.raises(InputError, match=r"NaN or infinite; the rewards .* as large as 1.99e\+42, .* in float32"):
        evaluate(log, UCB1(n_arms=2), seeds=2)
