"""Closed loops of an online learner over recorded losses, shared by the tests of the OCO baselines."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base import trees
from jaxbandits.base.pytree import as_arrays
from jaxbandits.numerics.losses import PseudoHuber
from jaxbandits.types import Gradient

KEY = jax.random.key(0)


class PlayRecord(NamedTuple):
    """The fields of a simulated round that certificates look at."""

    algorithm: Any
    state: Any
    decision: Any
    feedback: Any
    next_state: Any


@jax.jit
def _play(algorithm, offsets, curved):
    def round_(state, inputs):
        t, offset = inputs
        decision = algorithm.select(KEY, t, state, None)
        offset = offset
        huber = PseudoHuber(offset).gradient(jax.tree.map(lambda q: q[0], decision.query))
        grad = jax.tree.map(lambda g: g[None], trees.where(curved, huber, offset))
        state = algorithm.update(KEY, t, state, None, decision, Gradient(loss=jnp.zeros(1), grad=grad))
        return state, decision.play

    steps = jnp.arange(len(offsets), dtype=jnp.int32)
    return jax.lax.scan(round_, algorithm.init(KEY), (steps, offsets))[1]


def plays_of(algorithm, offsets, curved=False):
    """The plays `[T, d]` on the losses `<offsets[t], x>`, or (curved) the pseudo-Huber losses around `offsets[t]`."""
    return np.asarray(_play(as_arrays(algorithm), jnp.asarray(offsets, jnp.result_type(float)), jnp.asarray(curved)))
