"""Learners that declare themselves done: states, charges and metrics after that, on a case that is known by hand."""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits import InputError, Meter, Reward, pytree, simulate, static
from jaxbandits.armed import UCB1, BernoulliArms
from jaxbandits.estimation.arms import decide
from jaxbandits.testing import contract
from jaxbandits.types import ArmDecision

MEANS = [0.1, 0.9, 0.4]


class Total(NamedTuple):
    reward: jax.Array  # []
    rounds: jax.Array  # []


@pytree
class Collector:
    """Plays the first arm until it has been paid `goal` times, then recommends the second one."""

    feedback: ClassVar[type] = Reward
    goal: int = static(3, "[0, inf)", "rewards to collect")

    def init(self, key: jax.Array) -> Total:
        return Total(jnp.zeros(()), jnp.zeros(()))

    def select(self, key: jax.Array, t: jax.Array, state: Total, obs: Any) -> ArmDecision:
        return decide(obs, jnp.int32(0))

    def update(self, key: jax.Array, t: jax.Array, state: Total, obs: Any, decision: Any, feedback: Any) -> Total:
        return Total(state.reward + feedback.reward, state.rounds + 1.0)

    def stopped(self, state: Total) -> jax.Array:
        return state.reward >= self.goal

    def recommend(self, state: Total) -> jax.Array:
        return jnp.where(self.stopped(state), jnp.int32(1), jnp.int32(2))


ENV = BernoulliArms.from_means(MEANS)
HORIZON, POINTS = 3000, [1, 10, 100, 600, 3000]
METERS = [
    Meter("played", lambda r: r.next_state.rounds - r.state.rounds),
    Meter("rounds", lambda r: r.next_state.rounds, "last"),
]


def run(**options):
    return simulate(Collector(), ENV, HORIZON, 64, record_points=POINTS, progress=False, **options)


def test_nothing_is_charged_after_a_learner_has_stopped():
    found = next(iter(run(meters=METERS).trials.values()))
    stopping = found.get("stopping_time")[0]  # [seed, record]
    assert (np.diff(stopping, axis=1) >= 0).all() and (stopping <= POINTS).all()
    last = stopping[:, -1]
    assert (last < HORIZON).all()
    np.testing.assert_array_equal(found.get("stopped")[0], stopping == last[:, None])
    np.testing.assert_array_equal(found.get("played")[0], stopping)
    np.testing.assert_array_equal(found.get("rounds")[0], stopping)
    np.testing.assert_allclose(found.get("regret")[0], 0.8 * stopping, rtol=1e-12)
    np.testing.assert_array_equal(found.get("correct")[0], found.get("stopped")[0])
    np.testing.assert_allclose(found.get("simple_regret")[0], np.where(found.get("stopped")[0], 0.0, 0.5))
    # The third success of a coin with probability 0.1: 3 + negative binomial, mean 30, standard deviation 16.4.
    assert abs(last.mean() - 30.0) < 5 * 16.4 / 8


@pytest.mark.slow
def test_rounds_that_are_left_out_change_nothing():
    """Without meters the loop ends when all have stopped; calls of one round cannot tell that in the middle."""
    plain, measured = (next(iter(made.trials.values())) for made in (run(), run(meters=METERS)))
    for name in ("regret", "stopping_time", "stopped", "correct", "simple_regret"):
        np.testing.assert_array_equal(plain.get(name), measured.get(name))
    contract.trials_do_not_depend_on_the_split(Collector(), ENV)


def test_learners_without_a_recommendation_have_none_of_the_metrics():
    found = next(iter(simulate(UCB1(n_arms=3), ENV, 5, 2, progress=False).trials.values()))
    assert set(found.values) == {"regret"}


def test_a_meter_cannot_take_the_name():
    with pytest.raises(InputError, match="two metrics have the name 'stopping_time'"):
        run(meters=[Meter("stopping_time", lambda r: r.t)])
