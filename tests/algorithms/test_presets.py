"""One grammar for presets: class methods with keywords only; `theory`, then `practical` where constants were chosen."""

import inspect
from typing import Self

import pytest

from jaxbandits.algorithms import ALGORITHMS
from jaxbandits.base.pytree import named_constructors


def _presets(cls):
    """Public class methods that return an instance, by name."""
    returns = cls.__name__, Self
    return {name: p for name, p in named_constructors(cls).items() if p.__annotations__.get("return") in returns}


@pytest.mark.parametrize("name", ALGORITHMS)
def test_presets(name):
    cls = type(ALGORITHMS[name].example)
    presets = _presets(cls)
    assert "theory" in presets or "practical" not in presets
    for preset, made in presets.items():
        parameters = inspect.signature(made).parameters.values()
        assert {p.kind for p in parameters} <= {inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD}, preset
        assert made.__doc__, preset
        # Every field may be set: all by name, or the others by `**changes`.
        assert any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters), preset


def test_bandit_methods_with_constants_have_presets():
    without = {n for n, e in ALGORITHMS.items() if n.startswith("glm/") and "theory" not in _presets(type(e.example))}
    assert not without
