"""Swept fields of a sweep file: the values and the points that they stand for."""

import math

import numpy as np
import pytest

from jaxbandits.base.errors import InputError
from jaxbandits.engine.grid import list_points, split_arrays
from jaxbandits.sweeps.fields import points, split


def _values(table):
    _, (swept,) = split({"type": "x", "ridge": table}, "f.toml: algorithms.a")
    return swept.values


@pytest.mark.parametrize(
    ("table", "values"),
    [
        ({"values": [0.1, 1, "name", True]}, [0.1, 1, "name", True]),
        ({"range": [0.0, 1.0], "n": 5}, [0.0, 0.25, 0.5, 0.75, 1.0]),
        ({"range": [2, 11], "step": 3}, [2, 5, 8, 11]),
        ({"range": [2, 10], "step": 3}, [2, 5, 8]),
        ({"range": [2, 10], "step": 8}, [2, 10]),
        ({"range": [0.1, 0.3], "step": 0.1}, [0.1, 0.2, 0.1 + 2 * 0.1]),
        ({"range": [1e6, 1e6 + 0.1], "step": 0.1}, [1e6, 1e6 + 0.1]),  # rounded, the length is below the step
        ({"logspace": [0.01, 1.0], "n": 3}, [0.01, 0.1, 1.0]),
    ],
)
def test_values(table, values):
    found = _values(table)
    assert [type(x) for x in found] == [type(x) for x in values]
    assert all(
        a == b if isinstance(b, str) else math.isclose(a, b, rel_tol=1e-14) for a, b in zip(found, values, strict=True)
    )


def test_whole_numbers_repeat_equal_floats():
    with pytest.raises(InputError, match="some values are repeated"):
        points(split({"type": "x", "ridge": {"values": [1, 0.5, 1.0]}}, "w")[1], [])
    assert len(points(split({"type": "x", "mode": {"values": [1, True]}}, "w")[1], [])) == 2


def test_random_values_are_fixed_by_their_seed_and_differ_from_field_to_field():
    table = {"random": [0.1, 10.0], "n": 400, "log": True}
    found = np.asarray(_values(table))
    assert found.tolist() == _values(table) and found.min() >= 0.1 and found.max() <= 10.0
    assert abs(np.log(found).mean()) < 4 * np.log(100.0) / np.sqrt(12 * 400)  # the middle of log 0.1 and log 10
    assert found.tolist() != _values({**table, "seed": 1})
    _, (first, second) = split({"type": "x", "a": table, "b": table}, "where")
    assert first.values != second.values
    assert abs(np.mean(_values({"random": [0, 1], "n": 400})) - 0.5) < 4 / np.sqrt(12 * 400)


def test_points_are_the_product_of_what_is_not_zipped():
    two, three = {"values": [2, 5], "zip": "d"}, {"values": [0.1, 1.0, 10.0]}
    spec, algorithm = split({"type": "a", "dim": two, "ridge": three}, "w")
    assert spec == {"type": "a", "dim": 2, "ridge": 0.1}
    spec, environment = split({"type": "e", "dim": two, "noise": {"type": "n", "df": {"values": [2.1, 3.0]}}}, "w")
    assert spec == {"type": "e", "dim": 2, "noise": {"type": "n", "df": 2.1}}
    found = points(algorithm, environment)
    assert len(found) == 2 * 3 * 2
    assert found[0] == {"dim": 2, "environment.dim": 2, "ridge": 0.1, "environment.noise.df": 2.1}
    assert {(p["dim"], p["environment.dim"]) for p in found} == {(2, 2), (5, 5)}
    assert points([], []) == []


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"values": []}, "algorithms.a.ridge.values: must be a list of at least one value"),
        ({"values": [{"a": 1}]}, r"algorithms.a.ridge.values\[0\]: must be a number or a name"),
        ({"values": [["a"]]}, r"algorithms.a.ridge.values\[0\] must be numbers"),
        ({"values": [[]]}, r"algorithms.a.ridge.values\[0\]: must be a non-empty array of numbers"),
        ({"values": [[[1], [1, 2]]]}, r"algorithms.a.ridge.values\[0\] must be numbers"),
        ({"values": {}}, "algorithms.a.ridge.values: must be a list of at least one value"),
        ({"values": {"one": 1}}, "algorithms.a.ridge.values.one: must be a non-empty array of numbers"),
        ({"values": [1], "n": 3}, "algorithms.a.ridge: unknown key next to 'values' 'n'"),
        ({"values": [1], "range": [0, 1]}, "set only one of range and values"),
        ({"values": [1], "zip": 3}, "zip: must be a name"),
        ({"range": [0, 1]}, r"range needs n, the number of values \(or step\)"),
        ({"range": [1, 0], "n": 2}, "the smaller one first"),
        ({"range": [0, 1], "n": 2.5}, "ridge.n must be a whole number"),
        ({"range": [0, 1], "n": 2, "step": 1}, "either n or step"),
        ({"range": [0, 1], "step": -1}, "step: must be a positive number"),
        ({"range": [0, 1], "step": 10**400}, "step: must be a positive number"),
        ({"range": [0, 1], "step": 1e-9}, "at most 1,000,000"),
        ({"range": [0, 1], "step": 5e-324}, "infinitely many values, but at most 1,000,000"),
        ({"range": [0.5, 1], "n": 1}, r"ridge.n must be at least 2, since range .*: write values = \[0.5\] for one"),
        ({"logspace": [0.5, 1], "n": 1}, r"ridge.n must be at least 2, since logspace includes both ends"),
        ({"range": [2, 10], "step": 9}, "ridge.step must be at most 8, the length of the range, got 9"),
        ({"range": [0, float("inf")], "n": 2}, "must be two numbers"),
        ({"range": [0, 10**400], "n": 2}, "must be two numbers"),
        ({"logspace": [0, 1], "n": 2}, "must be positive numbers"),
        ({"random": [0, 1], "n": 2, "log": True}, "must be positive numbers"),
        ({"random": [0, 1], "n": 2, "log": 1}, "log must be True or False"),
        ({"random": [0, 1], "n": 2, "sed": 1}, "did you mean 'seed'"),
    ],
)
def test_mistakes_are_one_line(table, message):
    with pytest.raises(InputError, match=message) as error:
        _values(table)
    assert "\n" not in str(error.value) and "f.toml" in str(error.value)


def test_arrays_are_points_with_names():
    table, swept = split({"type": "a", "means": {"values": [[0.6, 0.5], [0.6, 0.4]]}}, "f.toml: algorithms.a")
    assert table["means"] == [0.6, 0.5]
    assert split_arrays(list_points(points(swept, [])))[0] == [{"means": 0}, {"means": 1}]
    table, swept = split({"type": "a", "means": {"values": {"x": [1], "y": [2]}}}, "f.toml: algorithms.a")
    found, arrays = split_arrays(list_points(points(swept, [])))
    assert table["means"] == [1.0] and found == [{"means": "x"}, {"means": "y"}] and arrays["means"]["y"] == [2.0]
    _, swept = split({"type": "a", "means": {"values": [[1, 2], [1.0, 2.0]]}}, "f.toml: algorithms.a")
    with pytest.raises(InputError, match="values are repeated"):
        points(swept, [])


def test_mistakes_between_fields():
    def make_points(**table):
        return points(split({"type": "a", **table}, "f.toml: algorithms.a")[1], [])

    with pytest.raises(
        InputError,
        match=r"zip group 'd' must have the same number of values, got 2 in algorithms.a.x, 1 in algorithms.a.y",
    ):
        make_points(x={"values": [1, 2], "zip": "d"}, y={"values": [1], "zip": "d"})
    with pytest.raises(InputError, match=r"algorithms.a.x: some values are repeated"):
        make_points(x={"values": [1, 2, 1]})
    with pytest.raises(InputError, match="at most 1,000,000"):
        make_points(x={"range": [0, 1], "n": 2000}, y={"range": [0, 1], "n": 2000})
