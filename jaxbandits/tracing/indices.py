"""Removal of the steps that wrap negative indices, for indices that cannot be negative.

In `jax.numpy`, `x[i]` reads entry i + n if i < 0. This takes a comparison, a sum and a select for every index, and a
separate kernel if several kernels read the result. An index from `argmax` or `argmin` needs none of these steps.
"""

from typing import Any

import numpy as np

from jaxbandits.tracing.flat import FlatFunction, live_steps
from jaxbandits.tracing.jax_compat import JaxprEqn

_SOURCES = frozenset({"argmax", "argmin"})
_MOVES = frozenset("broadcast_in_dim convert_element_type copy expand_dims reshape squeeze transpose".split())  # noqa: SIM905


def without_negative_indices(flat: FlatFunction) -> FlatFunction:
    """Return the function with `where(i < 0, i + n, i)` replaced by i for each index i that cannot be negative."""
    nonnegative: set[int] = set()
    compared: dict[int, int] = {}  # i by the value i < 0
    replaced: dict[int, int] = {}
    steps = []
    for step in flat.steps:
        name = step.eqn.primitive.name
        inputs = tuple(replaced.get(value, value) for value in step.inputs)
        if name in _SOURCES or (_moves(step.eqn) and nonnegative.issuperset(inputs)):
            nonnegative.update(step.outputs)
        elif name == "lt" and inputs[0] in nonnegative and _is_zero(flat.constants.get(inputs[1])):
            compared[step.outputs[0]] = inputs[0]
        elif name == "select_n" and compared.get(inputs[0]) == inputs[1]:
            replaced[step.outputs[0]] = inputs[1]
            continue
        steps.append(step._replace(inputs=inputs))
    if not replaced:
        return flat
    outputs = tuple(replaced.get(value, value) for value in flat.outputs)
    return flat._replace(steps=live_steps(steps, outputs), outputs=outputs)


def _moves(eqn: JaxprEqn) -> bool:
    """Return True if an equation only moves its operand, or converts it to a type that can hold every index."""
    return eqn.primitive.name in _MOVES and eqn.outvars[0].aval.dtype.itemsize >= 4


def _is_zero(constant: Any) -> bool:
    return isinstance(constant, int | np.generic | np.ndarray) and np.size(constant) == 1 and not np.any(constant)
