"""Digests of jaxprs, equal in every process for functions that compute the same: the keys of programs on disk.

A digest covers every operation of a jaxpr with its parameters, the shapes and types of all values, constants and
literals. Batching rules of this package count by name and captured values, those of a user by their code. Rules for
derivatives do not count, because no traced program is differentiated. A primitive counts by its name: a user who
changes the lowering of a primitive must rename it. If a parameter has no reproducible text (an address in its `repr`, a
callback to Python), there is no digest: two programs must never share one.
"""

import enum
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.digests import array_digest, code_digest, digest
from jaxbandits.tracing.jax_compat import open_jaxpr

_DERIVATIVE_RULES = frozenset(("jvp_jaxpr_fun", "jvp_jaxpr_thunk", "fwd_jaxpr_thunk", "bwd"))
_PLAIN = (type(None), bool, int, float, complex, str, bytes, range, slice)


class _NoTextError(Exception):
    """A value without a reproducible text."""


def trace_digest(*jaxprs: Any) -> str | None:
    """Return a digest of closed jaxprs, in this order; None if they hold a value without a reproducible text."""
    try:
        seen: dict[int, str] = {}
        return digest([_jaxpr(jaxpr, seen) for jaxpr in jaxprs])
    except _NoTextError:
        return None


def _jaxpr(closed: Any, seen: dict[int, str]) -> str:
    """Return the digest of a jaxpr with its constants.

    Args:
      closed: the jaxpr.
      seen: digests by `id` of closed jaxprs, which live as long as the traced function that holds them.
    """
    if id(closed) in seen:
        return seen[id(closed)]
    jaxpr, consts = open_jaxpr(closed)
    if jaxpr.effects:
        raise _NoTextError
    names: dict[Any, str] = {}

    def name_of(variable: Any) -> str:
        if hasattr(variable, "val"):
            return _value(variable.val, seen)
        if variable not in names:
            names[variable] = f"{len(names)}:{_type(variable.aval)}"
        return names[variable]

    lines = [_value(tuple(consts), seen)]
    lines += [" ".join(map(name_of, [*jaxpr.constvars, *jaxpr.invars]))]
    for eqn in jaxpr.eqns:
        params = [f"{key}={_value(p, seen)}" for key, p in sorted(eqn.params.items()) if key not in _DERIVATIVE_RULES]
        sides = (" ".join(map(name_of, side)) for side in (eqn.invars, eqn.outvars))
        lines += [eqn.primitive.name, *params, *sides]
    lines += [" ".join(map(name_of, jaxpr.outvars))]
    seen[id(closed)] = digest(lines)
    return seen[id(closed)]


@functools.lru_cache(4096)
def _type(aval: Any) -> str:
    """Return the text of an abstract value. A trace has thousands of them, and few that differ."""
    return f"{aval.str_short()}{getattr(aval, 'weak_type', '')}"


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
    if hasattr(value, "rule"):  # the object in which JAX keeps a batching rule
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
    """Describe a batching rule by its code or name and the values it captured; captured functions by theirs."""
    if isinstance(rule, functools.partial):
        return f"{_rule(rule.func, seen)} {_value(rule.args, seen)} {_value(rule.keywords, seen)}"
    captured = [_captured(cell.cell_contents, seen) for cell in getattr(rule, "__closure__", None) or ()]
    return f"rule {code_digest(rule)} [{', '.join(captured)}]"


def _captured(value: Any, seen: dict[int, str]) -> str:
    return f"code {code_digest(value)}" if callable(value) else _value(value, seen)
