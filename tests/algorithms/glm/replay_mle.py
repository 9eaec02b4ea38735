"""Closed loops of the maximum-likelihood learners over recorded arms and rewards, shared by their tests."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.pytree import as_arrays
from jaxbandits.types import ArmObs, Reward

KEY = jax.random.key(0)


@jax.jit
def _play(algorithm, arms, rewards):
    fixed = arms.ndim == 2

    def round_(state, row):
        t, x, r = row
        obs = ArmObs(arms if fixed else x)
        decision = algorithm.select(KEY, t, state, obs)
        after = algorithm.update(KEY, t, state, obs, decision, Reward(r[decision.index]))
        seen = {name: getattr(after, name) for name in after._fields if name.startswith(("theta", "growth"))}
        if hasattr(decision, "maximisers"):
            seen["points"] = decision.maximisers.theta
        if hasattr(algorithm, "radius"):
            seen["radius"] = algorithm.radius(t, state)
        return after, seen | {"index": decision.index}

    rounds = jnp.arange(len(rewards), dtype=jnp.int32)
    return jax.lax.scan(round_, algorithm.init(KEY), (rounds, None if fixed else arms, rewards))[1]


def play(algorithm, arms, rewards):
    """Over arms [T, K, d], or [K, d] for all rounds, and rewards [T, K].

    Returns:
      Index, radius and the maximisers [T, K, d] of every round, estimates after it.
    """
    dtype = jnp.result_type(float)
    trace = _play(as_arrays(algorithm), jnp.asarray(arms, dtype), jnp.asarray(rewards, dtype))
    return {name: np.asarray(values) for name, values in trace.items()}


def regret(family, theta, arms, index):
    """Of the arms [K, d] played."""
    means = family.mu(arms @ theta)
    return np.sum(means.max() - means[index])


def fixed_instance(seed, d, K, T, S, name):
    """theta*, arms [K, d] uniform in the unit ball, rewards [T, K]: NumPy draws in a fixed order."""
    rng = np.random.default_rng(seed)
    v = rng.standard_normal(d)
    theta = S * v / np.linalg.norm(v)
    u = rng.standard_normal((K, d))
    X = u / np.linalg.norm(u, axis=-1, keepdims=True) * rng.random((K, 1)) ** (1.0 / d)
    z = X @ theta
    if name == "bernoulli":
        return theta, X, (rng.random((T, K)) < 1.0 / (1.0 + np.exp(-z))).astype(float)
    if name == "poisson":
        return theta, X, rng.poisson(np.exp(z), (T, K)).astype(float)
    return theta, X, z + rng.standard_normal((T, K))
