"""How a compiled round lies in memory: what it moves only to put the trial axis elsewhere."""

import re

import jax
import jax.numpy as jnp
from jax import lax

from jaxbandits.core.pytree import as_arrays
from jaxbandits.core.vmap_last import vmap_last
from jaxbandits.simulation import loop

_MADE = re.compile(r"^\s*(?:ROOT )?(%[\w.\-]+) = \w+\[([\d,]*)\](?:\{([\d,]*)\S*)? ([\w\-]+)\((%[\w.\-]+)?")


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


def moves(text):
    """The instructions inside loops that transpose, or copy to another order of axes."""
    computations, name = {}, None
    for line in text.splitlines():
        if line.endswith("{") and not line.startswith(" "):
            name = line.removeprefix("ENTRY ").split()[0].split("(")[0]
            computations[name] = []
        elif name and line.startswith(" "):
            computations[name].append(line)
    loops = {
        body for lines in computations.values() for line in lines for body in re.findall(r"body=(%[\w.\-]+)", line)
    }
    inside, found = list(loops), []
    for computation in inside:  # grows while it is read
        made = {}
        for line in computations[computation]:
            if match := _MADE.match(line):
                result, shape, order, operation, operand = match.groups()
                made[result] = (shape, order)
                another = operation == "copy" and made.get(operand, (shape, order)) != (shape, order)
                if operation == "transpose" or another:
                    found.append(line.strip())
            for called in re.findall(r"%[\w.\-]+", line.partition(" = ")[2]):
                if called in computations and called not in inside:
                    inside.append(called)
    return found
