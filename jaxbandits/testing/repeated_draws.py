"""Find draws of `jaxbandits.rng` that a program makes twice from one key and counter, so that they are equal.

JAX's own checker of keys knows the draws of `jax.random` only. Two equations are the same draw if they compute a block
of random words, and their inputs are computed by equal equations from the same values. A draw in the body of a loop, or
in a branch, is compared with the other draws of this body or branch.
"""

import re
from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np

from jaxbandits.numerics.rng.generator import DRAW_ROUNDS
from jaxbandits.tracing.barrier import is_key
from jaxbandits.tracing.flat import CALLS, flatten
from jaxbandits.tracing.jax_compat import Jaxpr, JaxprEqn, open_jaxpr

_ADDRESS = re.compile("0x[0-9a-f]+")


def has_repeated_draw(program: Jaxpr) -> bool:
    """Return True if a closed jaxpr draws the same block of random words twice."""
    flat = flatten(*open_jaxpr(program), _find_callee)
    numbers: dict[Hashable, int] = {}  # values that are computed in the same way have the same number

    def number(computation: Hashable) -> int:
        return numbers.setdefault(computation, len(numbers))

    values = {name: number(("constant", _content(x))) for name, x in flat.constants.items()}
    values |= {name: number(("input", name)) for name in flat.inputs}
    for step in flat.steps:
        if any(map(has_repeated_draw, _bodies(step.eqn))):
            return True
        parameters = _ADDRESS.sub("", str(step.eqn.params))
        computation = step.eqn.primitive.name, parameters, tuple(values[name] for name in step.inputs)
        if computation in numbers and _is_draw(step.eqn):
            return True
        number(computation)
        values |= {name: number((computation, k)) for k, name in enumerate(step.outputs)}
    return False


def _find_callee(eqn: JaxprEqn) -> Jaxpr | None:
    """Return the closed jaxpr that an equation calls, or None if the equation is no call."""
    name = eqn.primitive.name
    return eqn.params[CALLS[name]] if name in CALLS else None


def _bodies(eqn: JaxprEqn) -> Iterator[Jaxpr]:
    """Yield the closed jaxprs among the parameters of an equation, such as the body of a loop."""
    for value in eqn.params.values():
        for part in value if isinstance(value, (tuple, list)) else (value,):
            if hasattr(part, "jaxpr") and hasattr(part, "consts"):
                yield part


def _content(x: Any) -> Hashable:
    """Return what distinguishes a constant, an array or number, from others."""
    if is_key(x):
        return id(x)
    array = np.asarray(x)
    return array.dtype.str, array.shape, array.tobytes()


def _is_draw(eqn: JaxprEqn) -> bool:
    """Return True if an equation computes a block of random words, and not a key, which takes more Threefry rounds."""
    if eqn.primitive.name != "custom_vmap_call":
        return False
    inside = open_jaxpr(eqn.params["call"])[0].eqns
    return sum(inner.primitive.name == "shift_left" for inner in inside) == DRAW_ROUNDS
