"""Methods of the protocol, each compiled as a whole; without that JAX compiles each of their operations."""

import jax


@jax.jit
def init(obj, key):
    return obj.init(key)


@jax.jit
def observe(obj, key, t, state):
    return obj.observe(key, t, state)


@jax.jit
def step(obj, key, t, state, obs, decision):
    return obj.step(key, t, state, obs, decision)


@jax.jit
def select(obj, key, t, state, obs):
    return obj.select(key, t, state, obs)


@jax.jit
def update(obj, key, t, state, obs, decision, feedback):
    return obj.update(key, t, state, obs, decision, feedback)
