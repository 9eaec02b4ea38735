"""Functions as a flat list of steps: what an interpreter of traced functions reads before it runs them."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from jaxbandits.tracing.jax_compat import open_jaxpr


class Step(NamedTuple):
    """An equation of a flattened function; values are named by numbers."""

    eqn: Any
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    calls: tuple[Any, ...]  # the equations that called it, outermost first


class Flat(NamedTuple):
    """A function without calls inside: what is called stands in its place, what nobody reads is left out."""

    steps: tuple[Step, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    constants: dict[int, Any]  # captured arrays and literals


def flatten(jaxpr: Any, consts: Sequence[Any], called: Callable[[Any], Any | None]) -> Flat:
    """The steps of a jaxpr.

    Args:
      jaxpr: an open jaxpr.
      consts: its constants.
      called: from an equation to the closed jaxpr that stands in its place; None where the equation is a step.
    """
    steps: list[Step] = []
    constants: dict[int, Any] = {}
    count = 0

    def fresh() -> int:
        nonlocal count
        count += 1
        return count

    def constant(value: Any) -> int:
        name = fresh()
        constants[name] = value
        return name

    def expand(jaxpr: Any, consts: Sequence[Any], args: Sequence[int], calls: tuple[Any, ...]) -> list[int]:
        names: dict[Any, int] = dict(zip(jaxpr.invars, args, strict=True))
        names |= zip(jaxpr.constvars, map(constant, consts), strict=True)

        def name_of(atom: Any) -> int:
            return constant(atom.val) if hasattr(atom, "val") else names[atom]

        for eqn in jaxpr.eqns:
            inputs = tuple(map(name_of, eqn.invars))
            closed = called(eqn)
            if closed is not None:
                names |= zip(eqn.outvars, expand(*open_jaxpr(closed), inputs, (*calls, eqn)), strict=True)
                continue
            outputs = tuple(fresh() for _ in eqn.outvars)
            names |= zip(eqn.outvars, outputs, strict=True)
            steps.append(Step(eqn, inputs, outputs, calls))
        return [name_of(atom) for atom in jaxpr.outvars]

    first = tuple(fresh() for _ in jaxpr.invars)
    outputs = tuple(expand(jaxpr, consts, first, ()))
    return Flat(_live(steps, outputs), first, outputs, constants)


def _live(steps: Sequence[Step], outputs: Sequence[int]) -> tuple[Step, ...]:
    """The steps that an output depends on, and those with effects."""
    read = set(outputs)
    kept = []
    for step in reversed(steps):
        if step.eqn.effects or not read.isdisjoint(step.outputs):
            kept.append(step)
            read.update(step.inputs)
    return tuple(reversed(kept))


def consumers(flat: Flat) -> dict[int, list[Step]]:
    """By value: the steps that read it."""
    found: dict[int, list[Step]] = {}
    for step in flat.steps:
        for name in dict.fromkeys(step.inputs):
            found.setdefault(name, []).append(step)
    return found
