"""Optimisation barriers, placed by liveness: a shared value that costs something is computed in one place.

XLA:CPU fuses a cheap producer into each of its consumers and computes it there again, up to 15 times in a round of a
bandit algorithm. `plan` reads a function as a list of steps and says which values to put behind a barrier: those that
more than one step consumes and that cost arithmetic. Steps that only rename or compare (`FREE`) cost nothing and are
looked through: whoever consumes their result consumes what it is made of.

A value waits until the first step that consumes it; all that wait pass one barrier together. One barrier for many
values ends one kernel, where a barrier for each would end many.
"""

import math
from collections.abc import Hashable
from typing import Any

from jaxbandits.tracing.flat import Flat

# What XLA does in the addresses or in a register of the kernel that consumes it.
FREE = frozenset(
    """
    and broadcast_in_dim convert_element_type copy copy_p eq expand_dims ge gt iota le lt ne neg not
    optimization_barrier or random_unwrap random_wrap reshape slice squeeze stop_gradient transpose xor
    """.split()  # noqa: SIM905
)


_FOLDED = 4096  # entries up to which XLA may fold constants


def is_free(eqn: Any) -> bool:
    """Whether an equation only renames, moves or compares."""
    return eqn.primitive.name in FREE


_READ_OFTEN = frozenset("argmax argmin cumlogsumexp cummax cummin cumprod cumsum sort top_k".split())  # noqa: SIM905


def shared_values(flat: Flat, entrywise: frozenset[str]) -> frozenset[int]:
    """The values that cost something and that several kernels would compute, or one kernel several times.

    A kernel ends at a value behind a barrier, at a step that does not work entry by entry, and at what is returned. It
    computes a value several times where it makes more entries of it than it has (a product with a matrix does of a
    vector) or compares each of its entries with several others.

    Args:
      flat: the function.
      entrywise: names of primitives that work entry by entry.
    """
    kernels: dict[int, set[Hashable]] = {}  # by value: where the kernels end that compute it
    for name in flat.outputs:
        kernels.setdefault(name, set()).add(("returned", name))
    found: set[int] = set()
    for k, step in reversed([*enumerate(flat.steps)]):
        eqn = step.eqn
        free = is_free(eqn)
        if not free:
            found.update(name for name in step.outputs if len(kernels.get(name, ())) > 1)
        ends: set[Hashable] = {k}
        if free or eqn.primitive.name in entrywise:
            made = [{name} if name in found else kernels.get(name, set()) for name in step.outputs]
            ends = set().union(*made)
        size = max((math.prod(variable.aval.shape) for variable in eqn.outvars), default=0)
        often = eqn.primitive.name in _READ_OFTEN
        for name, atom in zip(step.inputs, eqn.invars, strict=True):
            again = {(k, "again")} if often or math.prod(atom.aval.shape) < size else set()
            kernels.setdefault(name, set()).update(ends, again)
    return frozenset(found)


def large_constants(flat: Flat) -> frozenset[int]:
    """Large arrays made of constants alone, which XLA would fold through whatever is computed of them, for seconds."""
    constant = set(flat.constants)
    found: set[int] = set()
    for step in flat.steps:
        if constant.issuperset(step.inputs):
            constant.update(step.outputs)
            sizes = (math.prod(variable.aval.shape) for variable in step.eqn.outvars)
            found.update(name for name, size in zip(step.outputs, sizes, strict=True) if size > _FOLDED)
    return frozenset(found)
