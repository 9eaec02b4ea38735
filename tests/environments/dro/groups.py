"""What several tests of synthetic groups call: each compiled once."""

import jax
import numpy as np

from jaxbandits.types import GroupDecision

HALF_NORMAL = np.sqrt(2.0 / np.pi)


@jax.jit
def draw_rows(environment, keys, state, group):
    x, y = jax.vmap(lambda k: environment.sample(k, state, group))(keys)
    return x, y


@jax.jit
def step(environment, key, state, w, group, drawn):
    decision = GroupDecision(play=w, weights=None, group=group, drawn=drawn)
    return environment.step(key, 0, state, None, decision)


@jax.jit
def evaluate(environment, state, w, q):
    return environment.at_record(state, (w, q))


@jax.jit
def risks_of(environment, state, w):
    return environment.risks(state, w)


@jax.jit
def slopes_of(environment, state, w):
    return jax.jacobian(lambda w: environment.risks(state, w))(w)


@jax.jit
def least_risk_of(environment, state, q):
    return environment.least_risk(state, q)
