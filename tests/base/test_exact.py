"""Equality of type and bits: what Python's `==` takes for one value are two keys, and two programs."""

import dataclasses
import functools
import itertools
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest

from jaxbandits.base.exact import exact_key, exact_structure
from jaxbandits.base.pytree import pytree, static


class Pair(NamedTuple):
    first: Any
    second: Any


@pytree
class Holder:
    """A pytree of this package, with a static field."""

    value: Any = static()


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Foreign:
    """A pytree that is registered with JAX alone."""

    value: Any = dataclasses.field(metadata={"static": True})


@dataclasses.dataclass(frozen=True)
class Settings:
    value: Any


ALIKE = [1, True, 1.0, 1 + 0j, np.float64(1.0), np.float32(1.0), np.int64(1)]
DIFFERENT = [*ALIKE, 0.0, -0.0, float("nan"), "1", None, functools.partial(int, 1), functools.partial(int, True)]
WRAPPERS = {
    "alone": lambda x: x,
    "in a tuple": lambda x: (2, (x,)),
    "in a named tuple": lambda x: Pair(x, 2),
    "in a dataclass": lambda x: Settings((x,)),
    "in a partial function": lambda x: functools.partial(max, x, key=x),
}


@pytest.mark.parametrize("wrap", WRAPPERS)
@pytest.mark.parametrize("place", [exact_key, lambda x: exact_structure(Holder(value=x)), lambda x: Holder(value=x)])
def test_values_of_different_types_or_bits_differ(wrap, place):
    keys = [place(WRAPPERS[wrap](value)) for value in DIFFERENT]
    keys = [jax.tree.structure(key) if isinstance(key, Holder) else key for key in keys]
    for first, second in itertools.combinations(keys, 2):
        assert first != second
    again = [place(WRAPPERS[wrap](value)) for value in DIFFERENT]
    again = [jax.tree.structure(key) if isinstance(key, Holder) else key for key in again]
    assert again == keys and list(map(hash, again)) == list(map(hash, keys))


def test_pytrees_of_others_differ_in_their_exact_structure():
    """Their treedefs do not, for which JAX compares with `==`."""
    assert jax.tree.structure(Foreign(1)) == jax.tree.structure(Foreign(True))
    structures = {exact_structure({"a": [Foreign(value), 2.0]}) for value in DIFFERENT}
    assert len(structures) == len(DIFFERENT)


def test_a_function_under_jit_is_traced_for_each():
    traced = []

    @jax.jit
    def f(holder):
        traced.append(holder.value)
        return 1.0 * holder.value

    for value in (1, True, 1.0, 0.0, -0.0, 1):
        f(Holder(value=value))
    assert [type(value) for value in traced] == [int, bool, float, float, float]
