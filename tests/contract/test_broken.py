"""Each check of the contract finds the learner that breaks its promise, and says so in one line."""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.core.pytree import param, pytree, static
from jaxbandits.environments.linear.heavy_tailed import HeavyTailed
from jaxbandits.testing import contract
from jaxbandits.types import ArmDecision, Reward

ENVIRONMENT = HeavyTailed(dim=2, n_arms=5)


@pytree
class Greedy:
    """Plays the available arm with the largest sum of rewards: keeps every promise."""

    feedback: ClassVar[type] = Reward
    dim: int = static(2, "[1, inf)", "d")
    weight: Any = param(1.0, "(0, inf)", "of a reward")

    def init(self, key):
        del key
        return jnp.zeros(5)

    def select(self, key, t, state, obs):
        del key, t
        scores = state if obs.mask is None else jnp.where(obs.mask, state, -jnp.inf)
        index = jnp.argmax(scores)
        return ArmDecision(index, obs.arms[index])

    def update(self, key, t, state, obs, decision, feedback):
        del key, t, obs
        return state.at[decision.index].add(self.weight * jnp.tanh(feedback.reward))


@pytree
class Undocumented(Greedy):
    more: Any = param(1.0, "(0, inf)", "")


@pytree
class OtherWords(Greedy):
    def select(self, key, round_, state, obs):
        return super().select(key, round_, state, obs)


@pytree
class Widens(Greedy):
    def update(self, key, t, state, obs, decision, feedback):
        return super().update(key, t, state, obs, decision, feedback).astype(jnp.float16)


@pytree
class UsesAKeyTwice(Greedy):
    def select(self, key, t, state, obs):
        noise = jax.random.normal(key, (5,)) + jax.random.uniform(key, (5,))
        return super().select(key, t, state + noise, obs)


@pytree
class Hides(Greedy):
    """Draws from NumPy while it is traced."""

    def update(self, key, t, state, obs, decision, feedback):
        return super().update(key, t, state, obs, decision, feedback) + np.random.default_rng().normal()


@pytree
class IgnoresTheMask(Greedy):
    def select(self, key, t, state, obs):
        return super().select(key, t, state, obs._replace(mask=None))


@pytree
class Overflows(Greedy):
    def update(self, key, t, state, obs, decision, feedback):
        grown = jnp.exp(jnp.abs(feedback.reward))
        return super().update(key, t, state, obs, decision, feedback) + grown - grown


@pytree
class RecommendsNothing(Greedy):
    def recommend(self, state):
        return jnp.log(state)


@pytree
class LeavesTheArms(Greedy):
    def select(self, key, t, state, obs):
        decision = super().select(key, t, state, obs)
        return decision._replace(index=decision.index + 5)


BROKEN = [
    (contract.protocol_names_and_fields, Undocumented, "field more has no meaning"),
    (contract.protocol_names_and_fields, OtherWords, r"OtherWords.select takes \['key', 'round_'"),
    (contract.state_shape_is_fixed, Widens, "changes from .*float64.* to .*float16"),
    (contract.select_is_read_only, UsesAKeyTwice, "[Kk]ey"),
    (contract.select_is_read_only, Hides, "the program of a round changes when it is traced again"),
    (contract.masked_arms_are_never_played, IgnoresTheMask, "only arm 2 was available, arm 0 was played"),
    (contract.stays_finite, Overflows, "the state is NaN after feedback scaled by 1e.06"),
    (contract.recommendation_is_finite, RecommendsNothing, "the recommendation of the first state is not finite"),
    (contract.decisions_are_admissible, LeavesTheArms, "decisions are not admissible"),
]


@pytest.mark.parametrize(("check", "broken", "message"), BROKEN, ids=[broken.__name__ for _, broken, _ in BROKEN])
def test_a_broken_promise_is_found(check, broken, message):
    wrong = jax.errors.KeyReuseError if broken is UsesAKeyTwice else AssertionError
    with pytest.raises(wrong, match=message):
        check(broken(), ENVIRONMENT)


def test_a_sound_learner_passes():
    """And so the checks above object to what was broken, nothing else."""
    for check in contract.ALGORITHM_CHECKS:
        check(Greedy(), ENVIRONMENT)
