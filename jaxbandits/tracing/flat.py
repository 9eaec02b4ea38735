"""Flat lists of steps, to which `vmap_last` converts jaxprs before it plans and evaluates them.

Calls inside a jaxpr are replaced by the equations of the called jaxpr, and equations without effects whose results are
not used are dropped. Every value has a number, and a variable of a jaxpr that is called several times has a different
number in each call. An analysis (`tracing.liveness`, `tracing.row_axes`) can therefore find all steps that read a
value, even in different calls.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from jaxbandits.base.pytree import ArrayLike
from jaxbandits.tracing.jax_compat import Jaxpr, JaxprEqn, open_jaxpr

# Primitives of calls, and the parameter with the closed jaxpr that is called.
CALLS = {"jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "custom_jvp_call": "call_jaxpr"}


class Step(NamedTuple):
    """Equation of a flattened function, with the numbers of the values that it reads and computes."""

    eqn: JaxprEqn
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    calls: tuple[Any, ...]  # enclosing call equations, outermost first


class FlatFunction(NamedTuple):
    """Function without calls, as steps in the order of evaluation."""

    steps: tuple[Step, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    constants: dict[int, ArrayLike]  # captured arrays and literals, by the number of the value


def flatten(jaxpr: Jaxpr, consts: Sequence[ArrayLike], inlined: Callable[[Any], Any | None]) -> FlatFunction:
    """Convert a jaxpr to a `FlatFunction`.

    Args:
      jaxpr: an open jaxpr.
      consts: constants of the jaxpr.
      inlined: function that maps an equation to the closed jaxpr whose equations replace it, or to None if the equation
        becomes a step.
    """
    steps: list[Step] = []
    constants: dict[int, ArrayLike] = {}
    count = 0

    def fresh() -> int:
        nonlocal count
        count += 1
        return count

    def constant(value: Any) -> int:
        name = fresh()
        constants[name] = value
        return name

    def expand(jaxpr: Jaxpr, consts: Sequence[ArrayLike], args: Sequence[int], calls: tuple[Any, ...]) -> list[int]:
        names: dict[Any, int] = dict(zip(jaxpr.invars, args, strict=True))
        names |= zip(jaxpr.constvars, map(constant, consts), strict=True)

        def name_of(atom: Any) -> int:
            return constant(atom.val) if hasattr(atom, "val") else names[atom]

        for eqn in jaxpr.eqns:
            inputs = tuple(map(name_of, eqn.invars))
            closed = inlined(eqn)
            if closed is not None:
                names |= zip(eqn.outvars, expand(*open_jaxpr(closed), inputs, (*calls, eqn)), strict=True)
                continue
            outputs = tuple(fresh() for _ in eqn.outvars)
            names |= zip(eqn.outvars, outputs, strict=True)
            steps.append(Step(eqn, inputs, outputs, calls))
        return [name_of(atom) for atom in jaxpr.outvars]

    inputs = tuple(fresh() for _ in jaxpr.invars)
    outputs = tuple(expand(jaxpr, consts, inputs, ()))
    return FlatFunction(live_steps(steps, outputs), inputs, outputs, constants)


def live_steps(steps: Sequence[Step], outputs: Sequence[int]) -> tuple[Step, ...]:
    """Return the steps on which an output depends, and the steps with effects."""
    read = set(outputs)
    live = []
    for step in reversed(steps):
        if step.eqn.effects or not read.isdisjoint(step.outputs):
            live.append(step)
            read.update(step.inputs)
    return tuple(reversed(live))


def consumers(flat: FlatFunction) -> dict[int, list[Step]]:
    """Return a dict from the number of each value that is read to the steps that read it."""
    readers: dict[int, list[Step]] = {}
    for step in flat.steps:
        for name in dict.fromkeys(step.inputs):
            readers.setdefault(name, []).append(step)
    return readers
