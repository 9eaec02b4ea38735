"""Every difference from a paper says where it comes from: [printed], [reconstructed] or [ours]."""

import inspect
import re

import pytest

from jaxbandits.algorithms import ALGORITHMS

FAMILIES = ("armed", "explore", "contextual", "combinatorial", "duels", "teams", "linear", "glm", "oco")
MARKED = re.compile(r"\[(printed|reconstructed|ours)\] |None\b|The deviations of `")


def deviations(cls):
    """The items under `Deviations:`, each as one line."""
    found = re.search(r"^Deviations:\n(.*?)(?=^\S|\Z)", inspect.cleandoc(cls.__doc__), re.M | re.S)
    assert found, "no Deviations:"
    items = re.split(r"^  \* ", found.group(1), flags=re.M)
    return [" ".join(item.split()) for item in items if item.strip()]


@pytest.mark.parametrize("name", [name for name in ALGORITHMS if name.split("/")[0] in FAMILIES])
def test_deviations_say_where_they_come_from(name):
    items = deviations(type(ALGORITHMS[name].example))
    assert items
    for item in items:
        assert MARKED.match(item), item
        assert not re.search(r"\((ours|reconstructed|printed)\)|\.\s*\[\w+\]$", item), item  # one form, in front
