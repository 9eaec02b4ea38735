"""A digest of what JAX traced: the same in every process for functions that compute the same, whoever wrote them.

It covers every operation of a jaxpr with its parameters, the shapes and types of all values, constants and literals.
Rules for batching count by name and by what they captured, rules of a user by their code; rules for derivatives do not
count, for nothing that was traced is differentiated. A primitive counts by its name: whoever changes how one of their
own is lowered must give it another. Where anything has no text of its own (an address in a `repr`, a call back to
Python) there is no digest: better none than one that two programs share.
"""

import enum
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.digests import array_digest, code_digest, digest
from jaxbandits.tracing.jax_compat import open_jaxpr

_OF_DERIVATIVES = frozenset(("jvp_jaxpr_fun", "jvp_jaxpr_thunk", "fwd_jaxpr_thunk", "bwd"))
_PLAIN = (type(None), bool, int, float, complex, str, bytes, range, slice)


class _NoTextError(Exception):
    """Something that has no text of its own."""


def trace_digest(*jaxprs: Any) -> str | None:
    """A digest of closed jaxprs, in this order; None where they hold something that has none."""
    try:
        seen: dict[int, str] = {}
        return digest([_jaxpr(jaxpr, seen) for jaxpr in jaxprs])
    except _NoTextError:
        return None


def _jaxpr(closed: Any, seen: dict[int, str]) -> str:
    """The digest of a jaxpr with its constants; `seen` has those of before, which stay alive within what is traced."""
    if id(closed) in seen:
        return seen[id(closed)]
    jaxpr, consts = open_jaxpr(closed)
    if jaxpr.effects:
        raise _NoTextError
    names: dict[Any, str] = {}

    def named(variable: Any) -> str:
        if hasattr(variable, "val"):
            return _value(variable.val, seen)
        known = names.get(variable)
        if known is None:
            aval = variable.aval
            known = f"{len(names)}:{aval.str_short()}{getattr(aval, 'weak_type', '')}"
            names[variable] = known
        return known

    lines = [_value(tuple(consts), seen)]
    lines += [" ".join(map(named, [*jaxpr.constvars, *jaxpr.invars]))]
    for eqn in jaxpr.eqns:
        kept = [f"{key}={_value(p, seen)}" for key, p in sorted(eqn.params.items()) if key not in _OF_DERIVATIVES]
        sides = (" ".join(map(named, side)) for side in (eqn.invars, eqn.outvars))
        lines += [eqn.primitive.name, *kept, *sides]
    lines += [" ".join(map(named, jaxpr.outvars))]
    seen[id(closed)] = digest(lines)
    return seen[id(closed)]


def _value(value: Any, seen: dict[int, str]) -> str:
    kind = type(value)
    if kind in _PLAIN:
        return f"{kind.__name__} {value!r}"
    if hasattr(value, "eqns") or hasattr(value, "jaxpr"):
        return _jaxpr(value, seen)
    if isinstance(value, (tuple, list)):
        return f"{kind.__qualname__} [{', '.join(_value(item, seen) for item in value)}]"
    if isinstance(value, dict):
        items = sorted(f"{_value(key, seen)}: {_value(item, seen)}" for key, item in value.items())
        return f"{kind.__qualname__} {{{', '.join(items)}}}"
    if isinstance(value, (set, frozenset)):
        return f"{kind.__qualname__} {{{', '.join(sorted(_value(item, seen) for item in value))}}}"
    if isinstance(value, enum.Enum):
        return f"{kind.__module__}.{value}"
    if isinstance(value, np.dtype):
        return f"dtype {value.name}"
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return _array(value)
    if hasattr(value, "rule"):  # how JAX keeps a rule for batching
        return _rule(value.rule, seen)
    if callable(value) and hasattr(value, "__qualname__"):
        return f"code {code_digest(value)}"
    text = repr(value)
    if not kind.__module__.startswith(("jax.", "jax._src.", "jaxlib.")) or " at 0x" in text or "..." in text:
        raise _NoTextError
    return f"{kind.__module__}.{kind.__qualname__} {text}"


def _array(value: Any) -> str:
    if jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        return f"keys {value.dtype} {array_digest(np.asarray(jax.random.key_data(value)))}"
    array = np.asarray(value)
    if array.dtype == object:
        raise _NoTextError
    return f"array {value.dtype.name} {array_digest(array)}"


def _rule(rule: Any, seen: dict[int, str]) -> str:
    """A rule for batching: its code or name, and what it captured; functions that it calls by theirs."""
    if isinstance(rule, functools.partial):
        return f"{_rule(rule.func, seen)} {_value(rule.args, seen)} {_value(rule.keywords, seen)}"
    captured = [_captured(cell.cell_contents, seen) for cell in getattr(rule, "__closure__", None) or ()]
    return f"rule {code_digest(rule)} [{', '.join(captured)}]"


def _captured(value: Any, seen: dict[int, str]) -> str:
    return f"code {code_digest(value)}" if callable(value) else _value(value, seen)
