"""One grammar for presets: class methods with keywords only; `theory`, then `practical` where constants were chosen."""

import inspect

import pytest

from jaxbandits.algorithms import ALGORITHMS


def _presets(cls):
    """Public class methods that return an instance, by name."""
    methods = {name: getattr(cls, name) for name, made in vars(cls).items() if isinstance(made, classmethod)}
    return {name: made for name, made in methods.items() if made.__annotations__.get("return") == cls.__name__}


@pytest.mark.parametrize("name", ALGORITHMS)
def test_presets(name):
    cls = type(ALGORITHMS[name].example)
    presets = {preset: made for preset, made in _presets(cls).items() if not preset.startswith("_")}
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
