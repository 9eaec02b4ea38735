"""Learners of linear bandits on recorded rewards, and in the loop with arms and noise that were drawn before."""

import functools

import jax
import jax.numpy as jnp

from jaxbandits.numerics import inverse_factors
from jaxbandits.types import ArmDecision, ArmObs, Reward

KEY = jax.random.key(0)


def estimate_and_inverse(alg, t, state):
    """The estimate and V^{-1} of a learner that has a regression inside."""
    del t
    return alg.recommend(state), inverse_factors.to_dense(state.estimate.inverse)


def estimate_radius_and_inverse(alg, t, state):
    """The estimate, the radius of the next round and V^{-1}."""
    return alg.recommend(state), alg.radius(t + 1, state), inverse_factors.to_dense(state.inverse)


@functools.partial(jax.jit, static_argnames="seen")
def replay(alg, xs, rewards, seen):
    """`seen(alg, t, state)` after every sample `x, reward` of a recorded trace, with a leading axis `[T]`."""

    def sample(state, row):
        t, x, reward = row
        state = alg.update(KEY, t, state, None, ArmDecision(jnp.int32(0), x), Reward(reward))
        return state, seen(alg, t, state)

    return jax.lax.scan(sample, alg.init(KEY), (jnp.arange(len(rewards), dtype=jnp.int32), xs, rewards))[1]


@jax.jit
def closed_loop(alg, arms, mask, theta_star, noise):
    """Return the arms played, `[T]` indices, and the estimates after every round."""

    def play(state, row):
        t, arms, mask, noise = row
        obs = ArmObs(arms, mask)
        decision = alg.select(KEY, t, state, obs)
        reward = decision.x @ theta_star + noise
        state = alg.update(KEY, t, state, obs, decision, Reward(reward))
        return state, (decision.index, alg.recommend(state))

    return jax.lax.scan(play, alg.init(KEY), (jnp.arange(len(noise), dtype=jnp.int32), arms, mask, noise))[1]
