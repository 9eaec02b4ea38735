"""Digests of jaxprs, by which a process finds compiled programs in a cache.

A digest covers every operation of a jaxpr with its parameters, the shapes and types of all values, constants and
literals. It does not cover rules for derivatives, since no traced program is differentiated. A digest is *exact* if
equal digests imply equal programs. Some code runs only when a program is lowered or executed and is not visible in a
jaxpr: batching rules and primitives of other packages, callbacks to Python, and objects whose text is not reproducible.
The digest of a jaxpr with such parts is not exact: different digests still mean different programs, but equal digests
do not imply equal programs.
"""

import enum
import functools
import sys
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.digests import array_digest, digest
from jaxbandits.tracing.barrier import barrier_p
from jaxbandits.tracing.jax_compat import Jaxpr, Primitive, open_jaxpr

_DERIVATIVE_RULES = frozenset(("jvp_jaxpr_fun", "jvp_jaxpr_thunk", "fwd_jaxpr_thunk", "bwd"))
_PLAIN = (type(None), bool, int, float, complex, str, bytes, range, slice)
_SHORT = 8  # largest number of entries of an array that is written out, which is faster than a digest of it
_OWN = __name__.partition(".")[0]


class TraceDigest(NamedTuple):
    """Digest of a traced function."""

    text: str
    is_exact: bool  # True if equal digests imply equal programs


def trace_digest(closed: Jaxpr) -> TraceDigest:
    """Return the digest of a closed jaxpr."""
    digester = _Digester()
    return TraceDigest(digester.jaxpr(closed), digester.is_exact)


class _Digester:
    """Computation of the digest of a jaxpr and its inner jaxprs."""

    def __init__(self) -> None:
        self.is_exact = True
        self._seen: dict[int, str] = {}  # digests by the `id` of a jaxpr, which the outermost jaxpr keeps alive

    def jaxpr(self, closed: Jaxpr) -> str:
        """Return the digest of a jaxpr with its constants."""
        if id(closed) in self._seen:
            return self._seen[id(closed)]
        jaxpr, consts = open_jaxpr(closed)
        if jaxpr.effects:
            self.is_exact = False
        names: dict[Any, str] = {}

        def name_of(variable: Any) -> str:
            if hasattr(variable, "val"):
                return self._value(variable.val)
            if variable not in names:
                names[variable] = f"{len(names)}:{_type(variable.aval)}"
            return names[variable]

        lines = [self._value(tuple(consts)), " ".join(map(name_of, [*jaxpr.constvars, *jaxpr.invars]))]
        for eqn in jaxpr.eqns:
            if not _is_of_jax(eqn.primitive) or "callback" in eqn.primitive.name:
                self.is_exact = False
            kept = sorted(eqn.params.items())
            params = [f"{key}={self._value(value)}" for key, value in kept if key not in _DERIVATIVE_RULES]
            sides = (" ".join(map(name_of, side)) for side in (eqn.invars, eqn.outvars))
            lines += [eqn.primitive.name, *params, *sides]
        lines += [" ".join(map(name_of, jaxpr.outvars))]
        self._seen[id(closed)] = digest(lines)
        return self._seen[id(closed)]

    def _value(self, value: Any) -> str:
        kind = type(value)
        if kind in _PLAIN:
            return f"{kind.__name__} {value!r}"
        if hasattr(value, "eqns") or hasattr(value, "jaxpr"):
            return self.jaxpr(value)
        if isinstance(value, (tuple, list)):
            return f"{kind.__qualname__} [{', '.join(map(self._value, value))}]"
        if isinstance(value, dict):
            items = sorted(f"{self._value(key)}: {self._value(item)}" for key, item in value.items())
            return f"{kind.__qualname__} {{{', '.join(items)}}}"
        if isinstance(value, (set, frozenset)):
            return f"{kind.__qualname__} {{{', '.join(sorted(map(self._value, value)))}}}"
        if isinstance(value, enum.Enum):
            return f"{kind.__module__}.{value}"
        if isinstance(value, np.dtype):
            return f"dtype {value.name}"
        if hasattr(value, "dtype") and hasattr(value, "shape"):
            return self._array(value)
        if hasattr(value, "rule"):  # an object of JAX that holds a batching rule
            return self._code(value.rule)
        if isinstance(value, functools.partial) or hasattr(value, "__qualname__"):
            return self._code(value)
        text = repr(value)
        if not kind.__module__.startswith(("jax.", "jax._src.", "jaxlib.")) or " at 0x" in text or "..." in text:
            return self._unknown(value)
        return f"{kind.__module__}.{kind.__qualname__} {text}"

    def _array(self, value: Any) -> str:
        if jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
            return f"keys {value.dtype} {array_digest(np.asarray(jax.random.key_data(value)))}"
        array = np.asarray(value)
        if array.dtype == object:
            return self._unknown(value)
        content = array.tobytes().hex() if array.size <= _SHORT else array_digest(array)
        return f"array {_type_name(value.dtype)} {array.shape} {content}"

    def _code(self, code: Any) -> str:
        """Return text with the name of a function or class of this package or of JAX, and the values it captured."""
        if isinstance(code, functools.partial):
            return f"{self._code(code.func)} {self._value(code.args)} {self._value(code.keywords)}"
        if _root_of(code) not in (_OWN, "jax"):
            return self._unknown(code)
        cells = [cell.cell_contents for cell in getattr(code, "__closure__", None) or ()]
        captured = [self._name_of_own(cell) if callable(cell) else self._value(cell) for cell in cells]
        return f"code {_name_of(code)} [{', '.join(captured)}]"

    def _name_of_own(self, code: Any) -> str:
        """Return the name of a captured function, which is traced in the equation that captures it."""
        return _name_of(code) if _root_of(code) in (_OWN, "jax") else self._unknown(code)

    def _unknown(self, value: Any) -> str:
        self.is_exact = False
        return f"unknown {_name_of(value)}"


@functools.lru_cache(64)
def _type_name(dtype: np.dtype[Any]) -> str:
    return dtype.name


@functools.lru_cache(4096)
def _type(aval: Any) -> str:
    """Return the text of an abstract value; it is cached, since few of the thousands in a trace are different."""
    return f"{aval.str_short()}{getattr(aval, 'weak_type', '')}"


def _name_of(value: Any) -> str:
    named = value if hasattr(value, "__qualname__") else type(value)
    return f"{named.__module__}.{named.__qualname__}"


def _root_of(value: Any) -> str:
    return (getattr(value, "__module__", None) or "").partition(".")[0]


def _is_of_jax(primitive: Primitive) -> bool:
    """Return True if a primitive belongs to JAX or this package, so that their versions determine its lowering."""
    return primitive is barrier_p or primitive in _primitives_of_jax(len(sys.modules))


@functools.lru_cache(1)
def _primitives_of_jax(n_modules: int) -> frozenset[Primitive]:
    """Return the primitives that are variables of JAX's modules.

    Args:
      n_modules: number of loaded modules, which is a cache key, since JAX imports some of its modules lazily.
    """
    del n_modules
    modules = [module for name, module in list(sys.modules.items()) if name.partition(".")[0] == "jax"]
    return frozenset(
        value for module in modules for value in list(vars(module).values()) if isinstance(value, Primitive)
    )
