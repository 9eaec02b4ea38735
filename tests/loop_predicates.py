"""Predicates of loops in jaxprs that have nothing to compute, which CUDA graphs run wrongly (`tracing.loops`)."""

from typing import Any


def predicates_that_are_flags(jaxpr: Any) -> int:
    """Count the `while` equations, in all inner jaxprs, whose predicate depends on single bools and nothing else."""
    count = 0
    jaxpr = getattr(jaxpr, "jaxpr", jaxpr)
    for eqn in jaxpr.eqns:
        if eqn.primitive.name == "while":
            count += _is_flag(eqn.params["cond_jaxpr"])
        for value in eqn.params.values():
            for inner in value if isinstance(value, tuple | list) else (value,):
                if hasattr(getattr(inner, "jaxpr", inner), "eqns"):
                    count += predicates_that_are_flags(inner)
    return count


def _is_flag(closed: Any) -> bool:
    """Follow the predicate back to the entries of the carry on which it depends."""
    jaxpr = getattr(closed, "jaxpr", closed)
    made = {id(x): eqn for eqn in jaxpr.eqns for x in eqn.outvars}
    pending, read = [*jaxpr.outvars], []
    while pending:
        x = pending.pop()
        if id(x) in made:
            pending.extend(made[id(x)].invars)
        elif not hasattr(x, "val"):
            read.append(x.aval)
    return all(aval.dtype == bool and aval.size == 1 for aval in read)
