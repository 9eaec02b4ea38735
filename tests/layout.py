"""The compiled round of a learner and its environment, whose layout `jaxbandits.testing.speed` reads."""

import jax
import jax.numpy as jnp
from jax import lax

from jaxbandits.core.pytree import as_arrays
from jaxbandits.core.vmap_last import vmap_last
from jaxbandits.simulation import loop


def compiled_rounds(algorithm, environment, width=64, rounds=8):
    """The HLO text of a loop over rounds of `width` trials side by side, hyperparameters of each trial included."""

    def start(key):
        return loop.start_trial(algorithm, environment, key, jnp.int32(0))

    def play(t, now):
        round_ = vmap_last(lambda a, e, c: loop.play_round(a, e, t, c)[0])
        return (*now[:2], round_(*now))

    def whole(settings, keys):
        carry = jax.vmap(start, out_axes=-1)(keys)
        return lax.fori_loop(0, rounds, play, (*settings, carry))[2]

    settings = jax.tree.map(
        lambda x: jnp.broadcast_to(x[..., None], (*x.shape, width)), as_arrays((algorithm, environment))
    )
    keys = jax.eval_shape(lambda: jax.random.split(jax.random.key(0), width))
    return jax.jit(whole).lower(settings, keys).compile().as_text()
