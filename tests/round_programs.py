"""The compiled round of a learner and its environment, whose layout `tests.hlo_loops` reads."""

import jax
import jax.numpy as jnp
from jax import lax

from jaxbandits.base.pytree import as_arrays
from jaxbandits.engine import loop
from jaxbandits.tracing.vmap_last import vmap_last


def compiled_rounds(algorithm, environment, width=64, rounds=8):
    """Return the HLO text of a loop over rounds of `width` trials side by side, hyperparameters of each trial included.

    Starts are no part of it, and machine code, of which nothing is read, is made in a hurry: a third of the time.
    """

    def play(t, now):
        round_ = vmap_last(lambda a, e, c: loop.play_round(a, e, t, c)[0])
        return (*now[:2], round_(*now))

    def whole(settings, carry):
        return lax.fori_loop(0, rounds, play, (*settings, carry))[2]

    def many(x):
        return jax.ShapeDtypeStruct((*x.shape, width), x.dtype)

    pair = as_arrays((algorithm, environment))
    key = jax.random.key(0, impl="threefry2x32")
    carry = jax.eval_shape(lambda pair: loop.init_trial(key, *pair, jnp.int32(0)), pair)
    lowered = jax.jit(whole).lower(jax.tree.map(many, pair), jax.tree.map(many, carry))
    return lowered.compile({"xla_backend_optimization_level": 0}).as_text()
