"""Registries: an entry is made when its name is looked up, and only that one."""

import subprocess
import sys

import pytest

from jaxbandits.base.registry import Entry, Registry, Row, at
from jaxbandits.linear import OFUL


@pytest.fixture
def asked():
    return []


@pytest.fixture
def table(asked):
    def example(cls):
        asked.append(cls.__name__)
        return cls(dim=2)

    return Registry(
        {
            "linear/oful": Row("jaxbandits.algorithms.linear.oful:OFUL", example, "a paper", ("linear/heavy_tailed",)),
            "linear/nothing": Row("jaxbandits.algorithms.linear.oful:Nothing", example, "no paper"),
        }
    )


def test_an_entry_is_made_once_and_when_it_is_looked_up(table, asked):
    assert list(table) == ["linear/oful", "linear/nothing"] and "linear/oful" in table and len(table) == 2
    assert asked == []
    entry = table["linear/oful"]
    assert entry == Entry(OFUL, entry.example, "a paper", ("linear/heavy_tailed",))
    assert type(entry) is Entry and type(entry.example) is OFUL and entry.example.dim == 2
    assert table.get("linear/oful") is entry and asked == ["OFUL"]


def test_a_registry_is_a_mapping(table):
    with pytest.raises(KeyError):
        table["linear/menu"]
    with pytest.raises(AttributeError, match="Nothing"):
        table["linear/nothing"]
    table["linear/nothing"] = mine = Entry(OFUL, OFUL(dim=3), "mine")
    assert (table | {"a/b": mine})["a/b"] is mine and "a/b" not in table
    assert dict(table.items())["linear/nothing"] is mine


def test_a_place_is_a_module_and_a_name():
    assert at("jaxbandits.algorithms.linear.oful:OFUL") is OFUL


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
