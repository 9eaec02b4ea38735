"""Predicates of loops in jaxprs that have nothing to compute, which CUDA graphs run wrongly (`tracing.loops`)."""

from collections.abc import Sequence
from typing import Any


def predicates_that_are_flags(jaxpr: Any) -> int:
    """Count the `while` equations, in all inner jaxprs, whose predicate depends on single bools and nothing else."""
    count = 0
    jaxpr = getattr(jaxpr, "jaxpr", jaxpr)
    for eqn in jaxpr.eqns:
        if eqn.primitive.name == "while":
            condition = getattr(eqn.params["cond_jaxpr"], "jaxpr", eqn.params["cond_jaxpr"])
            read = [x.aval for x in _read(condition, condition.outvars)]
            count += all(aval.dtype == bool and aval.size == 1 for aval in read)
        for value in eqn.params.values():
            for inner in value if isinstance(value, tuple | list) else (value,):
                if hasattr(getattr(inner, "jaxpr", inner), "eqns"):
                    count += predicates_that_are_flags(inner)
    return count


def _read(jaxpr: Any, results: Sequence[Any]) -> list[Any]:
    """Follow results back to the arguments and constants of a jaxpr on which they depend, through calls as well."""
    made = {id(x): (eqn, k) for eqn in jaxpr.eqns for k, x in enumerate(eqn.outvars)}
    pending, read = [*results], []
    while pending:
        x = pending.pop()
        if hasattr(x, "val"):
            continue
        if id(x) not in made:
            read.append(x)
            continue
        eqn, k = made[id(x)]
        if eqn.primitive.name in ("jit", "pjit"):
            inner = getattr(eqn.params["jaxpr"], "jaxpr", eqn.params["jaxpr"])
            given = {id(a): b for a, b in zip(inner.invars, eqn.invars, strict=True)}
            pending.extend(given.get(id(a), a) for a in _read(inner, [inner.outvars[k]]))
        else:
            pending.extend(eqn.invars)
    return read
