"""Registries: an entry is made when its name is looked up, and only that one."""

import subprocess
import sys

import pytest

from jaxbandits import catalogue
from jaxbandits.base import lazy
from jaxbandits.catalogue import Entry, Registry
from jaxbandits.linear import OFUL


@pytest.fixture
def table():
    return Registry(
        {
            "linear/oful": "jaxbandits.algorithms.linear.oful:OFUL",
            "linear/nothing": "jaxbandits.algorithms.linear.oful:Nothing",
        }
    )


def test_an_entry_is_made_once_and_when_it_is_looked_up(table, monkeypatch):
    examples, example = [], OFUL.example
    monkeypatch.setattr(OFUL, "example", lambda: examples.append(example()) or examples[-1])
    assert list(table) == ["linear/oful", "linear/nothing"] and "linear/oful" in table and len(table) == 2
    assert examples == []
    entry = table["linear/oful"]
    assert entry == Entry(OFUL, examples[0], OFUL.source, OFUL.environments)
    assert type(entry) is Entry and type(entry.example) is OFUL and entry.example.dim == 2
    assert table.get("linear/oful") is entry and len(examples) == 1


def test_a_registry_is_a_mapping(table):
    with pytest.raises(KeyError):
        table["linear/menu"]
    with pytest.raises(AttributeError, match="Nothing"):
        table["linear/nothing"]
    table["linear/nothing"] = mine = Entry(OFUL, OFUL(dim=3), "mine")
    assert (table | {"a/b": mine})["a/b"] is mine and "a/b" not in table
    assert dict(table.items())["linear/nothing"] is mine


def test_a_place_is_a_module_and_a_name():
    assert lazy.load("jaxbandits.algorithms.linear.oful:OFUL") is OFUL
    assert lazy.load("jaxbandits.environments.linear:noise").__name__ == "jaxbandits.environments.linear.noise"
    with pytest.raises(AttributeError, match="Nothing"):
        lazy.load("jaxbandits.algorithms.linear.oful:Nothing")


def test_names_are_those_that_family_packages_list_for_type_checkers():
    places = catalogue.places("jaxbandits.algorithms", ("linear", "dro"))
    assert places["linear/oful"] == "jaxbandits.algorithms.linear.oful:OFUL"
    assert "linear/hvt_estimator" not in places and {name.split("/")[0] for name in places} == {"linear", "dro"}


def test_a_package_has_the_names_that_it_declares_and_no_others():
    from jaxbandits.algorithms import linear

    assert dir(linear) == linear.__all__ == sorted(lazy.declared_imports(linear.__name__))
    assert linear.OFUL is OFUL
    with pytest.raises(AttributeError, match=r"module 'jaxbandits.algorithms.linear' has no attribute 'Nothing'"):
        linear.Nothing  # noqa: B018


def test_who_names_one_loads_one():
    script = """
import sys
from jaxbandits.catalogue import from_spec, register_part
from jaxbandits.algorithms import register_algorithm
from jaxbandits.environments import ENVIRONMENTS
from jaxbandits.sweeps import file
from_spec({"type": "linear/oful", "dim": 2})
ENVIRONMENTS["oco/linear_losses"].example
loaded = sys.modules.keys()
assert "jaxbandits.algorithms.linear.oful" in loaded and "jaxbandits.algorithms.linear.hvt_ucb" not in loaded
assert not [name for name in loaded if name.startswith(("jaxbandits.algorithms.glm.", "jaxbandits.algorithms.oco."))]
assert "jaxbandits.environments.oco.linear_losses" in loaded
assert "jaxbandits.environments.linear.heavy_tailed" not in loaded
assert not {"optax", "matplotlib", "scipy"} & sys.modules.keys()
"""
    subprocess.run([sys.executable, "-c", script], check=True)
