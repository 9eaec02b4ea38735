"""Specifications: everything that runs goes to JSON and back bit for bit."""

import collections
import copy
import enum
import functools
import importlib.util
import json
import math
import pkgutil
import subprocess
import sys

import hypothesis.strategies as st
import jax
import numpy as np
import optax
import pytest
from hypothesis import given, settings
from hypothesis.extra import numpy as arrays

from jaxbandits import algorithms, catalogue, environments
from jaxbandits.algorithms import ALGORITHMS
from jaxbandits.algorithms.linear.hvt_estimator import HvtEstimator
from jaxbandits.algorithms.linear.oful import OFUL
from jaxbandits.algorithms.oco.optax_learner import OptaxLearner
from jaxbandits.base import spec
from jaxbandits.base.digests import digest
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import pytree
from jaxbandits.catalogue import Entry
from jaxbandits.environments import ENVIRONMENTS
from jaxbandits.environments.oco import sequences
from jaxbandits.environments.oco.data_stream import Table
from jaxbandits.estimation import detectors
from tests.reward_models import MODELS

ENTRIES = ALGORITHMS | ENVIRONMENTS
NEEDED = {  # arguments of the parts that have no default for everything
    "data/change_points": {"rounds": np.array([0, 9], np.int32), "arms": np.ones((2, 3), bool)},
    "data/phases": {"means": np.full((2, 3), 0.5), "starts": np.array([0, 9], np.int32)},
    "data/rows": {"features": np.arange(200.0).reshape(100, 2), "labels": np.arange(100.0)},
    "data/observed": {"rows": np.arange(3), "cols": np.arange(3), "values": np.ones(3)},
    "data/table": {"features": np.arange(200.0).reshape(100, 2), "targets": np.arange(100.0)},
    "data/log": {"seen": None, "index": np.arange(3), "reward": np.ones(3)},
    "data/reward_table": {"seen": np.arange(200.0).reshape(100, 2), "rewards": np.ones((100, 3))},
    "data/trace": {"arms": np.eye(3), "index": np.arange(3), "reward": np.ones(3)},
    "drift/given": {"path": np.ones((2, 2))},
    "detector/glr": {"horizon": 10},
    "detector/oracle": vars(detectors.Oracle.from_phases(np.full((2, 3), 0.5), [0, 9])),
    "delay/table": {"probabilities": np.array([0.5, 0.0, 1.0])},
    "oracle/layered_paths": {"edges": (((0, 0), (0, 1)), ((0, 0), (1, 0)))},
    "oracle/partition": {"blocks": 2, "block_size": 3},
    "oracle/top_m": {"size": 2},
    "group_loss/custom": {"function": optax.adam},
    "domain/box": {"dim": 2},
    "domain/capped_simplex": {"dim": 3},
    "domain/polytope": {"vertices": np.eye(2)},
    "estimator/hvt": vars(HvtEstimator(dim=2, horizon=10)),
    "sequence/corrupted": {"count": 2, "horizon": 100},
    "sequence/drift": {"horizon": 100},
    "sequence/piecewise": vars(sequences.Piecewise.equal_segments(np.eye(2), 10)),
    "data/mushroom_table": {"seen": np.eye(3), "poisonous": np.array([True, False, True])},
    **{name: vars(model) for name, model in MODELS.items()},
}


def there_and_back(obj):
    """Through JSON text; returns the copy and the spec."""
    data = {}
    value = json.loads(json.dumps(catalogue.to_spec(obj, data), allow_nan=False))
    return catalogue.from_spec(value, data), value


def assert_same(copied, obj):
    assert jax.tree.structure(copied) == jax.tree.structure(obj)
    for new, old in zip(jax.tree.leaves(copied), jax.tree.leaves(obj), strict=True):
        assert type(new) is type(old) or isinstance(old, jax.Array)
        new, old = np.asarray(new), np.asarray(old)
        assert (new.dtype, new.shape, new.tobytes()) == (old.dtype, old.shape, old.tobytes())


@pytest.mark.parametrize("name", sorted(ENTRIES))
def test_every_registered_example_comes_back(name):
    obj = ENTRIES[name].example
    copied, value = there_and_back(obj)
    assert value["type"] == name
    assert_same(copied, obj)
    assert digest(catalogue.to_spec(copied)) == digest(value)


@pytest.mark.parametrize("name", sorted(catalogue.PARTS))
def test_every_part_comes_back(name):
    part = catalogue.Names()[name]
    obj = part(**NEEDED.get(name, {})) if isinstance(part, type) else part
    copied, value = there_and_back(obj)
    assert value["type" if isinstance(part, type) else "function"] == name
    if isinstance(part, type):
        assert_same(copied, obj)
    else:
        assert copied is obj


@pytest.mark.parametrize("make", ["sgd", "adam", "adagrad", "optimistic", "cocob", "dog", "dowg", "prodigy",
                                  "dadapt_adamw", "mechanized_sgd"])  # fmt: skip
def test_ready_made_optax_learners_come_back(make):
    obj = getattr(OptaxLearner, make)(dim=2)
    assert_same(there_and_back(obj)[0], obj)
    obj = OptaxLearner(dim=2, make=optax.sgd, hyperparameters={"learning_rate": 0.1}, options={"nesterov": True})
    assert_same(there_and_back(obj)[0], obj)


FLOATS = st.floats(width=64) | st.sampled_from([0.1, -0.0, 5e-324, math.inf, -math.inf, math.nan])
DTYPES = st.sampled_from(["bool", "int8", "uint64", "int32", "float16", "float32", "float64"])
LEAVES = (
    FLOATS
    | st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=5)
    | DTYPES.flatmap(lambda dtype: arrays.arrays(dtype, arrays.array_shapes(min_dims=0, max_side=9)))
    | DTYPES.flatmap(lambda dtype: arrays.arrays(dtype, (1,)).map(lambda array: array[0]))
)
KEYS = st.text(max_size=3) | st.sampled_from(sorted(spec._TAGS))
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.tuples(inner, inner) | st.dictionaries(KEYS, inner, max_size=3),
)


def _identical(new, old):
    assert type(new) is type(old)
    if isinstance(old, (list, tuple)):
        assert len(new) == len(old)
        for a, b in zip(new, old, strict=True):
            _identical(a, b)
    elif isinstance(old, dict):
        assert new.keys() == old.keys()
        for key in old:
            _identical(new[key], old[key])
    elif isinstance(old, (np.ndarray, np.generic)):
        assert (new.dtype, new.shape) == (old.dtype, old.shape)
        assert np.array_equal(new, old, equal_nan=old.dtype.kind == "f")
        if old.dtype.kind == "f":
            assert np.array_equal(np.signbit(new), np.signbit(old)) or np.isnan(old).any()
    elif isinstance(old, float):
        assert math.isnan(new) if math.isnan(old) else (new, math.copysign(1, new)) == (old, math.copysign(1, old))
    else:
        assert new == old


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(VALUES)
def test_any_nest_of_values_comes_back(value):
    copied, written = there_and_back(value)
    _identical(copied, value)
    again, _ = there_and_back(copied)
    assert digest(catalogue.to_spec(again)) == digest(written)


@settings(max_examples=50, deadline=None)
@given(st.floats(1e-300, 1e300), st.floats(0.0, 1.0, exclude_min=True, exclude_max=True, width=32))
def test_field_values_come_back(ridge, delta):
    obj = OFUL(dim=3, ridge=ridge, delta=np.float32(delta))
    assert_same(there_and_back(obj)[0], obj)


def test_values_that_differ_in_anything_have_other_digests():
    values = [1, 1.0, np.float32(1), np.float64(1), np.array(1.0), np.array([1.0]), np.array([1]), True, "1", [1], (1,),
              {"a": 1}, {"b": 1}, 1.0000000000000002, None, -0.0, 0.0, math.nan, math.inf]  # fmt: skip
    digests_of = {digest(catalogue.to_spec(value)) for value in values}
    assert len(digests_of) == len(values)


@jax.tree_util.register_pytree_node_class
class Pair:
    def __init__(self, first, second):
        self.children = first, second

    def tree_flatten(self):
        return self.children, None

    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children)


class Level(enum.IntEnum):
    LOW = 0
    HIGH = 1


class Metres(float):
    pass


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Pair(1.0, 2.0), Pair(1.0, 3.0)),
        (Pair(1.0, [Pair(np.arange(100.0), 2.0)]), Pair(1.0, [Pair(np.arange(1.0, 101.0), 2.0)])),
        ({0: 1.0}, {0: 2.0}),
        (collections.OrderedDict(a=1.0), collections.OrderedDict(a=2.0)),
        (jax.tree_util.Partial(max, 1.0), jax.tree_util.Partial(max, 2.0)),
        (Level.LOW, Level.HIGH),
        (Metres(1.0), Metres(2.0)),
    ],
)
def test_numbers_in_objects_of_other_packages_are_part_of_the_specification(one, other):
    assert catalogue.to_spec(one) == catalogue.to_spec(copy.copy(one))
    assert catalogue.to_spec(one) != catalogue.to_spec(other)
    with pytest.raises(InputError, match="which cannot be read back"):
        catalogue.from_spec(catalogue.to_spec(one))


def test_big_arrays_are_named_by_digest_and_kept_outside():
    big = np.arange(1000.0)
    data = {}
    value = catalogue.to_spec(Table(big[:, None], big), data)
    assert len(json.dumps(value)) < 400
    assert len(data) == 2
    with pytest.raises(InputError, match=r"spec\.features\.array: the array .* is not among the data"):
        catalogue.from_spec(value)
    wrong = {key: array[::-1] for key, array in data.items()}
    with pytest.raises(InputError, match="the array in the data"):
        catalogue.from_spec(value, wrong)
    other = Table(big[:, None], big[::-1])
    assert digest(catalogue.to_spec(other)) != digest(value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ridge": "x"}, r"algorithms\.OFUL\.ridge must be a number in \(0, inf\), got 'x'"),
        ({"ridge": -1.0}, r"algorithms\.OFUL\.ridge must lie in \(0, inf\), got -1.0"),
        ({"dim": None}, r"algorithms\.OFUL\.dim must be given"),
        ({"dim": 2.5}, r"algorithms\.OFUL\.dim must be a whole number"),
        ({"rigde": 1.0}, r"algorithms\.OFUL: unknown field of OFUL 'rigde'; did you mean .*'ridge'"),
        ({"type": "linear/ofull"}, r"algorithms\.OFUL\.type: unknown name 'linear/ofull'; did you mean 'linear/oful'"),
        ({"type": 5}, r"algorithms\.OFUL\.type: unknown name 5"),
        ({"type": "os:system"}, r"algorithms\.OFUL\.type: 'os:system' is not registered; register it"),
        ({"type": "optax/adam"}, r"algorithms\.OFUL\.type: 'optax/adam' is a function, not a type"),
        ({"ridge": {"type": "noise/gaussian", "spread": -1}}, r"algorithms\.OFUL\.ridge"),
        ({"ridge": {"float": "1e5"}}, r'algorithms\.OFUL\.ridge\.float: must be "inf", "-inf" or "nan"'),
        ({"ridge": {"number": "a", "dtype": "float32"}}, r"algorithms\.OFUL\.ridge\.array\[0\]: must be a number"),
        (
            {"ridge": {"number": 0.1, "dtype": "float32"}},
            r"algorithms\.OFUL\.ridge: float32 cannot represent a value exactly",
        ),
        ({"ridge": {"number": 300, "dtype": "int8"}}, r"algorithms\.OFUL\.ridge: a value is out of the range of int8"),
        ({"ridge": {"number": 1, "dtype": "object"}}, r"algorithms\.OFUL\.ridge\.dtype: unknown dtype 'object'"),
        ({"ridge": {"array": [1.0], "dtype": "float64", "shape": [10**9]}}, r"must be a list of 1000000000 numbers"),
        ({"ridge": {"array": [1.0], "dtype": "float64", "shape": [-1]}}, r"must be a list of whole numbers"),
        ({"ridge": {"array": [1.0], "dtype": "float64", "shape": [1], "x": 1}}, r"unknown entry 'x'"),
        ({"ridge": {"tuple": 5}}, r"algorithms\.OFUL\.ridge\.tuple: must be a list, got 5"),
        ({"ridge": {"function": "os.system"}}, r"algorithms\.OFUL\.ridge\.function: unknown name 'os.system'"),
        (
            {"ridge": {"code": "m:f", "digest": "0"}},
            r"algorithms\.OFUL\.ridge: 'm:f' is code without a registered name",
        ),
        ({"ridge": object()}, r"algorithms\.OFUL\.ridge: must be a JSON value, got object"),
    ],
)
def test_errors_are_one_line_that_names_the_place(change, message):
    value = {"OFUL": catalogue.to_spec(OFUL(dim=2)) | change}
    with pytest.raises(InputError, match=message) as error:
        catalogue.from_spec(value, where="algorithms")
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 300


def test_a_missing_field_takes_its_default_or_is_asked_for():
    assert_same(catalogue.from_spec({"type": "linear/oful", "dim": 2}), OFUL(dim=2))
    with pytest.raises(InputError, match="spec: OFUL needs a value of the field 'dim'"):
        catalogue.from_spec({"type": "linear/oful"})


def _places(value, path=()):
    yield path
    if isinstance(value, (dict, list)):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from _places(value[key], (*path, key))


WRONG = [None, True, -1, 0, 2.5, 1e400, "x", [], {}, [[1]], {"type": "noise/fisk"}, {"tuple": []}, {"array": 1}]


@pytest.mark.parametrize("name", ["linear/heavy_tailed", "oco/ca_oons", "oco/data_stream", "oco/optax_learner"])
def test_any_mutation_is_read_or_refused_in_one_line(name):
    data = {}
    whole = catalogue.to_spec(ENTRIES[name].example, data)
    for path in list(_places(whole))[1:40]:
        for wrong in WRONG:
            mutant = copy.deepcopy(whole)
            functools.reduce(lambda at, key: at[key], path[:-1], mutant)[path[-1]] = wrong
            try:
                catalogue.from_spec(mutant, data)
            except InputError as error:
                assert "\n" not in str(error)
                assert len(str(error)) < 300
                assert "spec" in str(error)


def test_what_is_nested_without_end_is_refused():
    value = []
    for _ in range(5000):
        value = [value]
    with pytest.raises(InputError, match="nested too deeply"):
        catalogue.from_spec(value)
    with pytest.raises(InputError, match="nested too deeply"):
        catalogue.to_spec(value)


@pytest.mark.parametrize("value", [1j, np.array([1j]), np.array(["a"]), np.array([None]), jax.random.key(0)])
def test_what_is_no_real_number_is_refused(value):
    with pytest.raises(InputError):
        catalogue.to_spec(value)


def test_a_tracer_is_refused():
    with pytest.raises(InputError, match=r"OFUL\.ridge is a traced value"):
        jax.eval_shape(lambda ridge: catalogue.to_spec(OFUL(dim=2, ridge=ridge)), 1.0)


def test_names_are_unique(monkeypatch):
    assert not ALGORITHMS.keys() & ENVIRONMENTS.keys()
    assert not ENTRIES.keys() & catalogue.PARTS.keys()
    assert len({id(value) for value in catalogue.Names().values()}) == len(catalogue.Names())
    monkeypatch.setitem(catalogue.PARTS, "linear/oful", HvtEstimator)
    with pytest.raises(InputError, match="'linear/oful' was registered twice"):
        catalogue.Names()


@pytest.mark.parametrize("name", sorted(catalogue.Names()))
def test_a_name_is_the_same_whether_or_not_the_registries_are_filled(name, monkeypatch):
    obj = catalogue.Names()[name]
    assert catalogue.name_of(obj) == name
    for table in (ALGORITHMS, ENVIRONMENTS):
        monkeypatch.setattr(table, "_rows", {})
    assert catalogue.name_of(obj) == name


def test_a_registered_class_of_ones_own_has_its_name(monkeypatch):
    @pytree
    class Mine(OFUL):
        """Another class."""

    assert catalogue.name_of(Mine) is None
    monkeypatch.setitem(ALGORITHMS, "mine/first", Entry(Mine, Mine(dim=2), "nobody"))
    assert catalogue.name_of(Mine) == "mine/first"
    assert type(there_and_back(Mine(dim=3))[0]) is Mine


def test_no_other_class_passes_for_a_registered_one():
    for room in (algorithms, environments):
        for module in pkgutil.walk_packages(room.__path__, room.__name__ + "."):
            for obj in vars(importlib.import_module(module.name)).values():
                name = catalogue.name_of(obj) if isinstance(obj, type) else None
                assert catalogue.Names().get(name, obj) is obj


@pytest.mark.slow
def test_writing_a_name_imports_nothing():
    script = """
import sys
from jaxbandits.linear import HeavyTailed, OFUL
from jaxbandits.simulation import simulate
simulate(OFUL(dim=2), HeavyTailed(dim=2, n_arms=3), 2, 2, progress=False, width=1)
assert "optax" not in sys.modules and "jaxbandits.algorithms.glm.rs_glincb" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_script_has_one_name_in_all_processes(monkeypatch):
    """In a process of `multiprocessing` that spawns, the module of the script is called `__mp_main__`."""

    @pytree
    class Own(OFUL):
        """A class of a script."""

    def function():
        pass

    for module in ("__main__", "__mp_main__"):
        for code in (Own, function):
            monkeypatch.setattr(code, "__module__", module)
        assert catalogue.to_spec(Own(dim=2))["type"].startswith("__main__:test_a_script")
        assert catalogue.to_spec(function)["code"].startswith("__main__:test_a_script")
