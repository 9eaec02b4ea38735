"""Code of others is found wherever it stands: in fields, containers and methods that were replaced."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from jaxbandits.algorithms.armed.ucb1 import UCB1
from jaxbandits.algorithms.linear.oful import OFUL
from jaxbandits.base.foreign import has_foreign_code, lack_of_identity
from jaxbandits.base.pytree import param, pytree, static
from jaxbandits.engine.meters import Meter
from jaxbandits.environments.linear.heavy_tailed import HeavyTailed


@pytree
class Mine:
    """A user's class."""

    dim: int = static(range="[1, inf)")
    scale: float = param(1.0, "(0, inf)")


def test_the_package_is_not_foreign():
    held = (1, "two", {"three": jnp.ones(3)}, [np.ones(2), None, 2.0])
    assert not has_foreign_code(HeavyTailed(dim=2, n_arms=3), held, OFUL(dim=2), [{"of": OFUL}])


@pytest.mark.parametrize(
    "value",
    [Mine(dim=2), [{"of": Mine}], Meter("m", lambda r: r.t), functools.partial(print, 1), optax.sgd(0.1), object()],
)
def test_code_of_others_is_found_in_fields_and_containers(value):
    assert has_foreign_code(OFUL(dim=2), value)


@pytest.mark.parametrize("wrap", [lambda f: f, staticmethod, classmethod, property, functools.cached_property])
def test_a_method_that_was_replaced_in_a_class_of_the_package_is_foreign(monkeypatch, wrap):
    learner = UCB1(n_arms=2)
    assert not has_foreign_code(learner)
    monkeypatch.setattr(UCB1, "update", wrap(lambda self, *args: None))
    assert has_foreign_code(learner)
    monkeypatch.undo()
    base = UCB1.__mro__[1]
    monkeypatch.setattr(base, "select", wrap(lambda self, *args: None))
    assert has_foreign_code(learner)


def test_what_is_not_identified_is_named_with_the_remedy():
    assert lack_of_identity({}) == lack_of_identity({"host code": []}) == lack_of_identity({"identity": "v1"}) == ""
    text = lack_of_identity({"host code": ["A uses a callback to Python", "E.derive is user code"]})
    assert text.startswith("A uses a callback to Python, E.derive is user code; ") and "identity=" in text


def test_a_users_object_with_dtype_and_shape_is_no_array():
    @dataclasses.dataclass(frozen=True)
    class Law:
        shape: tuple[int, ...] = (3,)
        dtype: str = "float32"

    assert has_foreign_code(Law())
    assert not has_foreign_code(np.zeros(3), np.float64(1.0), jnp.zeros(3), jax.ShapeDtypeStruct((3,), float))
