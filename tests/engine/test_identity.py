"""The guard of a resume names everything that determines the numbers."""

import json

import jax

from jaxbandits.engine.identity import guard


def test_the_guard_names_all_that_determines_the_numbers():
    first = guard({"a": 1}, 64, jax.devices())
    names = {"spec", "package", "versions", "precision", "settings", "devices", "width"}
    assert first.keys() == names
    assert {"jax", "jaxlib", "scipy", "optax"} <= first["versions"].keys()
    json.dumps(first, allow_nan=False)
    with jax.threefry_partitionable(False):
        assert guard({"a": 1}, 64, jax.devices()) != first
    with jax.debug_nans(True):
        assert guard({"a": 1}, 64, jax.devices()) != first
    with jax.log_compiles(True):
        assert guard({"a": 1}, 64, jax.devices()) == first
