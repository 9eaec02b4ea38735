"""Functions of JAX and NumPy that were replaced are noticed, and nothing else is."""

import sys
import types
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits import armed
from jaxbandits.programs.patches import LibraryCode
from jaxbandits.simulation import simulate
from tests.toy_problems import Noisy, Shrink

PRIVATE = sys.modules["jax._src.numpy.lax_numpy"]


class Meter:
    """A class of one's own whose objects can be called."""

    def __call__(self, *args):
        return args


REPLACEMENTS = {
    "function": lambda: lambda x: x,
    "function under jit": lambda: jax.jit(lambda x: x),
    "callable object": Meter,
    "class": lambda: Meter,
    "mock": mock.Mock,
    "generated function": lambda: eval("lambda x: x", {"__name__": "__main__"}),
}


@pytest.mark.parametrize("replacement", REPLACEMENTS)
@pytest.mark.parametrize("module", [jnp, PRIVATE, np], ids=lambda module: module.__name__)
def test_a_replacement_is_noticed_before_the_first_check_and_later(module, replacement, monkeypatch):
    code = LibraryCode()
    assert code.is_original()
    with monkeypatch.context() as patch:
        patch.setattr(module, "where", REPLACEMENTS[replacement]())
        assert not LibraryCode().is_original()
        assert not code.is_original()
    assert not code.is_original()  # traces may have been made in between
    assert LibraryCode().is_original()


OTHERS = {
    "function of JAX": lambda patch: patch.setattr(PRIVATE, "where", PRIVATE.roll),
    "function of this package": lambda patch: patch.setattr(PRIVATE, "where", simulate),
    "class of JAX": lambda patch: patch.setattr(PRIVATE, "Array", PRIVATE.where),
    "module": lambda patch: patch.setattr(PRIVATE, "lax", types.ModuleType("jax.lax")),
    "number in place of a function": lambda patch: patch.setattr(PRIVATE, "where", 1),
    "function in place of a number": lambda patch: patch.setattr(PRIVATE, "Axis", PRIVATE.where),
}


@pytest.mark.parametrize("change", OTHERS)
def test_code_in_the_place_of_other_code_is_noticed(change, monkeypatch):
    code = LibraryCode()
    assert code.is_original()
    OTHERS[change](monkeypatch)
    assert not code.is_original()


def test_a_function_of_a_user_under_a_new_name_is_noticed(monkeypatch):
    code = LibraryCode()
    assert code.is_original()
    monkeypatch.setattr(PRIVATE, "my_where", lambda x: x, raising=False)
    assert not code.is_original()


def test_runs_imports_and_flags_are_no_replacement(monkeypatch):
    code = LibraryCode()
    assert code.is_original()
    simulate(armed.UCB1(n_arms=2), armed.BernoulliArms(n_arms=2), 5, 2, progress=False)
    simulate(Shrink(), Noisy(), 5, 2, progress=False)
    monkeypatch.setitem(sys.modules, "jax.new", types.ModuleType("jax.new"))
    monkeypatch.setattr(sys.modules["jax.new"], "where", jnp.where, raising=False)
    monkeypatch.setattr(jax, "new", sys.modules["jax.new"], raising=False)
    monkeypatch.setattr(sys.modules["jax._src.compilation_cache"], "_cache_used", "a flag")
    with jax.enable_x64(not jax.config.jax_enable_x64):
        jnp.linalg.svd(jnp.eye(3))
    jax.clear_caches()
    assert code.is_original()
