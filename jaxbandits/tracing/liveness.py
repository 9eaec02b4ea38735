"""Liveness analysis, which finds the values that need a barrier so that XLA:CPU computes them only once.

XLA:CPU compiles a function to kernels (fused loops), and fuses a cheap producer into each of its consumers. A value
that several kernels read is therefore recomputed in each of them, up to 15 times in a round of a bandit algorithm. A
barrier after the value prevents this. The analysis reads a flattened function (`tracing.flat`) from its end: for each
value it collects the kernels that would compute it, and a value with more than one such kernel is placed behind a
barrier (`shared_values`). Steps that only move or compare entries (`FREE`) cost nothing, and the analysis attributes
their inputs to the kernels that read their results.

The interpreter (`vmap_last._run`) collects the values that need a barrier until a step reads one of them. All collected
values then pass one barrier together, because each barrier ends the kernels before it.
"""

import math
from collections.abc import Hashable, Iterable

from jaxbandits.tracing.flat import FlatFunction
from jaxbandits.tracing.jax_compat import JaxprEqn

# Primitives of negligible cost: index arithmetic, or one instruction on a value in a register.
FREE = frozenset(
    """
    and broadcast_in_dim convert_element_type copy copy_p eq expand_dims ge gt iota le lt ne neg not
    optimization_barrier or random_unwrap random_wrap reshape slice squeeze stop_gradient transpose unstack xor
    """.split()  # noqa: SIM905
)

# Primitives that read each entry several times, to compare it with other entries.
_REPEATED_READERS = frozenset("argmax argmin cumlogsumexp cummax cummin cumprod cumsum sort top_k".split())  # noqa: SIM905

# Loops, branches and calls. Each of their operands is stored in memory and therefore ends a separate kernel.
_STORED_OPERANDS = frozenset({"cond", "custom_vmap_call", "scan", "while"})

_FOLDED = 4096  # largest number of entries of a constant that XLA may fold


def is_free(eqn: JaxprEqn) -> bool:
    """Return True if an equation only renames, moves or compares entries."""
    return eqn.primitive.name in FREE


def shared_values(flat: FlatFunction, elementwise: frozenset[str]) -> frozenset[int]:
    """Return the values that XLA:CPU would compute in several kernels, or repeatedly in one kernel.

    The values are given by their numbers in the `FlatFunction`; values that cost no arithmetic are left out.

    A kernel ends at a value behind a barrier, at a step that is not elementwise (at each operand of a loop, a branch or
    a call), and at a result of the function. A kernel computes a value repeatedly if the kernel evaluates more entries
    than the value has (as in the product of a matrix with the value, a vector), or if it compares each entry with
    several others.

    Args:
      flat: the function.
      elementwise: names of elementwise primitives.
    """
    kernels: dict[int, set[Hashable]] = {}  # by value: the ends of the kernels that would compute it
    for name in flat.outputs:
        kernels.setdefault(name, set()).add(("output", name))
    shared: set[int] = set()
    for k, step in reversed([*enumerate(flat.steps)]):
        eqn = step.eqn
        free = is_free(eqn)
        if not free:
            shared.update(name for name in step.outputs if len(kernels.get(name, ())) > 1)
        ends: set[Hashable] = {k}
        if free or eqn.primitive.name in elementwise:
            readers = [{name} if name in shared else kernels.get(name, set()) for name in step.outputs]
            ends = set().union(*readers)
        size = max((math.prod(variable.aval.shape) for variable in eqn.outvars), default=0)
        rereads = eqn.primitive.name in _REPEATED_READERS
        stored = eqn.primitive.name in _STORED_OPERANDS
        for position, (name, atom) in enumerate(zip(step.inputs, eqn.invars, strict=True)):
            repeated = {(k, "repeated")} if rereads or math.prod(atom.aval.shape) < size else set()
            kernels.setdefault(name, set()).update({(k, position)} if stored else ends, repeated)
    return frozenset(shared)


def large_constants(flat: FlatFunction) -> frozenset[int]:
    """Return the numbers of the large arrays that depend only on constants; XLA would take seconds to fold them."""
    constant = computed_from(flat)
    large: set[int] = set()
    for step in flat.steps:
        sizes = (math.prod(variable.aval.shape) for variable in step.eqn.outvars)
        large.update(name for name, size in zip(step.outputs, sizes, strict=True) if size > _FOLDED)
    return constant & large


def computed_from(flat: FlatFunction, inputs: Iterable[int] = ()) -> frozenset[int]:
    """Return the numbers of the values that depend only on the given inputs and on constants."""
    known = {*flat.constants, *inputs}
    computed: set[int] = set()
    for step in flat.steps:
        if known.issuperset(step.inputs):
            known.update(step.outputs)
            computed.update(step.outputs)
    return frozenset(computed)
