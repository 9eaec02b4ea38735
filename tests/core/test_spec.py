"""Specifications: everything that runs goes to JSON and back bit for bit; other code never passes for the same."""

import copy
import functools
import importlib.util
import json
import math
import os
import pkgutil
import subprocess
import sys
import textwrap

import hypothesis.strategies as st
import jax
import jax.numpy as jnp
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
from jaxbandits.core import digests, spec
from jaxbandits.core.errors import InputError
from jaxbandits.core.pytree import param, pytree, static
from jaxbandits.environments import ENVIRONMENTS
from jaxbandits.environments.linear.heavy_tailed import HeavyTailed
from jaxbandits.environments.oco import sequences
from jaxbandits.environments.oco.data_stream import Table
from jaxbandits.simulation.meters import Meter

ENTRIES = ALGORITHMS | ENVIRONMENTS
NEEDED = {  # arguments of the parts that have no default for everything
    "data/table": {"features": np.arange(200.0).reshape(100, 2), "targets": np.arange(100.0)},
    "estimator/hvt": vars(HvtEstimator(dim=2, horizon=10)),
    "sequence/corrupted": {"count": 2, "horizon": 100},
    "sequence/drift": {"horizon": 100},
    "sequence/piecewise": vars(sequences.Piecewise.evenly(np.eye(2), 10)),
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
    assert spec.digest(catalogue.to_spec(copied)) == spec.digest(value)


@pytest.mark.parametrize("name", sorted(catalogue.PARTS))
def test_every_part_comes_back(name):
    part = catalogue.parts()[name]
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


@settings(max_examples=300, deadline=None)
@given(VALUES)
def test_any_nest_of_values_comes_back(value):
    copied, written = there_and_back(value)
    _identical(copied, value)
    again, _ = there_and_back(copied)
    assert spec.digest(catalogue.to_spec(again)) == spec.digest(written)


@settings(max_examples=50, deadline=None)
@given(st.floats(1e-300, 1e300), st.floats(0.0, 1.0, exclude_min=True, exclude_max=True, width=32))
def test_field_values_come_back(ridge, delta):
    obj = OFUL(dim=3, ridge=ridge, delta=np.float32(delta))
    assert_same(there_and_back(obj)[0], obj)


def test_values_that_differ_in_anything_have_other_digests():
    values = [1, 1.0, np.float32(1), np.float64(1), np.array(1.0), np.array([1.0]), np.array([1]), True, "1", [1], (1,),
              {"a": 1}, {"b": 1}, 1.0000000000000002, None, -0.0, 0.0, math.nan, math.inf]  # fmt: skip
    digests_of = {spec.digest(catalogue.to_spec(value)) for value in values}
    assert len(digests_of) == len(values)


def test_big_arrays_are_named_by_digest_and_kept_outside():
    big = np.arange(1000.0)
    data = {}
    value = catalogue.to_spec(Table(big[:, None], big), data)
    assert len(json.dumps(value)) < 400
    assert len(data) == 2
    with pytest.raises(InputError, match=r"spec\.features\.array: the array .* is not among the data"):
        catalogue.from_spec(value)
    wrong = {key: array[::-1] for key, array in data.items()}
    with pytest.raises(InputError, match="another array"):
        catalogue.from_spec(value, wrong)
    other = Table(big[:, None], big[::-1])
    assert spec.digest(catalogue.to_spec(other)) != spec.digest(value)


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
        ({"ridge": {"number": 0.1, "dtype": "float32"}}, r"algorithms\.OFUL\.ridge: a value is not exactly a float32"),
        ({"ridge": {"number": 300, "dtype": "int8"}}, r"algorithms\.OFUL\.ridge: a value does not fit into int8"),
        ({"ridge": {"number": 1, "dtype": "object"}}, r"algorithms\.OFUL\.ridge\.dtype: unknown dtype 'object'"),
        ({"ridge": {"array": [1.0], "dtype": "float64", "shape": [10**9]}}, r"must be a list of 1000000000 numbers"),
        ({"ridge": {"array": [1.0], "dtype": "float64", "shape": [-1]}}, r"must be a list of whole numbers"),
        ({"ridge": {"array": [1.0], "dtype": "float64", "shape": [1], "x": 1}}, r"unknown entry 'x'"),
        ({"ridge": {"tuple": 5}}, r"algorithms\.OFUL\.ridge\.tuple: must be a list, got 5"),
        ({"ridge": {"function": "os.system"}}, r"algorithms\.OFUL\.ridge\.function: unknown name 'os.system'"),
        ({"ridge": {"code": "m:f", "digest": "0"}}, r"algorithms\.OFUL\.ridge: 'm:f' is code without a name"),
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
    with pytest.raises(InputError, match="spec: OFUL needs the field 'dim'"):
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
def test_what_is_no_real_number_is_refused_or_told_apart(value):
    if isinstance(value, complex):
        assert "code" in catalogue.to_spec(value)
    else:
        with pytest.raises(InputError):
            catalogue.to_spec(value)


def test_a_tracer_is_refused():
    with pytest.raises(InputError, match=r"OFUL\.ridge is a traced value"):
        jax.eval_shape(lambda ridge: catalogue.to_spec(OFUL(dim=2, ridge=ridge)), 1.0)


def test_names_are_unique(monkeypatch):
    assert not ALGORITHMS.keys() & ENVIRONMENTS.keys()
    assert not ENTRIES.keys() & catalogue.PARTS.keys()
    assert len({id(value) for value in catalogue.names().values()}) == len(catalogue.names())
    monkeypatch.setitem(catalogue.PARTS, "linear/oful", HvtEstimator)
    with pytest.raises(InputError, match="'linear/oful' was registered twice"):
        catalogue.names()


@pytest.mark.parametrize("name", sorted(catalogue.names()))
def test_a_name_is_the_same_whether_or_not_the_registries_are_loaded(name, monkeypatch):
    obj = catalogue.names()[name]
    assert catalogue.name_of(obj) == name
    for room in ("algorithms", "environments"):
        monkeypatch.delitem(sys.modules, f"jaxbandits.{room}.registry")
    assert catalogue.name_of(obj) == name


def test_no_other_class_passes_for_a_registered_one():
    for room in (algorithms, environments):
        for module in pkgutil.walk_packages(room.__path__, room.__name__ + "."):
            for obj in vars(importlib.import_module(module.name)).values():
                name = catalogue.name_of(obj) if isinstance(obj, type) else None
                assert catalogue.names().get(name, obj) is obj


def test_writing_a_name_imports_nothing():
    script = """
import sys
from jaxbandits.linear import HeavyTailed, OFUL
from jaxbandits.simulation import simulate
simulate(OFUL(dim=2), HeavyTailed(dim=2, n_arms=3), 2, 2, progress=False, width=1)
assert "optax" not in sys.modules and "jaxbandits.algorithms.glm.rs_glincb" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True)


@pytree
class Mine:
    """A user's class."""

    dim: int = static(range="[1, inf)")
    scale: float = param(1.0, "(0, inf)")


def test_a_users_class_is_named_with_its_code_and_read_back_once_registered(monkeypatch):
    value = catalogue.to_spec(Mine(dim=2))
    assert value["type"] == f"{__name__}:Mine"
    assert value["code"]
    with pytest.raises(InputError, match="is not registered; register it"):
        catalogue.from_spec(value)
    monkeypatch.setattr(catalogue, "PARTS", dict(catalogue.PARTS))
    catalogue.register_part("my/part", Mine)
    assert_same(there_and_back(Mine(dim=3))[0], Mine(dim=3))
    with pytest.raises(InputError, match="registered already"):
        catalogue.register_part("my/part", Mine)


def digest_of(measure):
    return spec.digest(catalogue.to_spec(Meter("m", measure)))


def _of(scale):
    return Meter("m", lambda r: r.outcome.regret * scale).measure


def test_another_measure_under_the_same_name_differs():
    array = np.ones(3)
    first = [
        lambda r: r.outcome.regret, lambda r: r.outcome.loss, lambda r: 2 * r.outcome.loss, lambda r: 3 * r.state,
        _of(1.0), _of(2.0), _of(array), _of(array + 1), functools.partial(_of, 1), functools.partial(_of, 2),
        lambda r, scale=1: r * scale, lambda r, scale=2: r * scale, lambda r, *, scale=1: r * scale,
        jax.jit(lambda r: r + 1), jax.jit(lambda r: r + 2), jnp.sum, jnp.max, _of(_of(1)), _of(_of(2)),
        HeavyTailed(dim=2, n_arms=5).observe, HeavyTailed(dim=2, n_arms=6).observe, np.sum, optax.sgd, math.sin,
    ]  # fmt: skip
    assert len({digest_of(measure) for measure in first}) == len(first)


def test_the_same_measure_made_again_is_the_same():
    assert digest_of(_of(2.0)) == digest_of(_of(2.0))
    assert digest_of(_of(np.ones(3))) == digest_of(_of(np.ones(3)))
    assert digest_of(functools.partial(_of, 1)) == digest_of(functools.partial(_of, 1))


def test_recursive_code_comes_to_an_end():
    def even(n):
        return n == 0 or odd(n - 1)

    def odd(n):
        return n != 0 and even(n - 1)

    loop = []
    loop.append(loop)
    assert digest_of(even) != digest_of(odd)
    assert digests.code_digest(lambda: loop)


MODULE = """
import dataclasses
import jax
from jaxbandits.core.pytree import pytree, static, param
from {helpers} import helper

FACTOR = 2.0

@pytree
class Learner:
    dim: int = static()
    scale: float = param(1.0)
    def select(self, x):
        return helper(x) * FACTOR

def measure(r):
    return r.outcome.regret * FACTOR
"""


def _load(path, monkeypatch, name, text):
    file = path / f"{name}.py"
    file.write_text(text)
    module_spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(module_spec)
    monkeypatch.setitem(sys.modules, name, module)
    module_spec.loader.exec_module(module)
    return module


def test_a_changed_constant_in_a_users_module_changes_the_digest(tmp_path, monkeypatch):
    helpers = "def helper(x):\n    return x + 1\n"
    text = MODULE.format(helpers="users_helpers")

    def digests_now():
        module = _load(tmp_path, monkeypatch, "users_module", text)
        return digest_of(module.measure), spec.digest(catalogue.to_spec(module.Learner(dim=2)))

    _load(tmp_path, monkeypatch, "users_helpers", helpers)
    first = digests_now()
    assert digests_now() == first
    text = text.replace("FACTOR = 2.0", "FACTOR = 3.0")
    second = digests_now()
    assert not set(first) & set(second)
    _load(tmp_path, monkeypatch, "users_helpers", helpers.replace("+ 1", "+ 2"))
    assert not set(second) & set(digests_now())


SCRIPT = """
import sys
from jaxbandits import algorithms, catalogue, environments
from jaxbandits.core.digests import code_digest
from jaxbandits.core.pytree import pytree, static, param
import jax.numpy as jnp
factor = {factor}
@pytree
class Mine:
    dim: int = static()
    scale: float = param(1.0)
    def select(self, x):
        return x * 2.0
print(code_digest(lambda r: jnp.sum(r.outcome.regret) * factor), code_digest(Mine))
"""


def _typed(factor, hash_seed):
    """The digests that a process finds for code without a file."""
    command = [sys.executable, "-c", textwrap.dedent(SCRIPT.format(factor=factor))]
    environment = os.environ | {"PYTHONHASHSEED": hash_seed}
    run = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return run.stdout.split()


@pytest.mark.system
def test_code_typed_at_a_prompt_has_one_digest_in_every_process():
    first, again, other = _typed(1.5, "1"), _typed(1.5, "2"), _typed(2.5, "1")
    assert first == again
    assert first[0] != other[0]
    assert first[1] == other[1]


def test_the_guard_names_all_that_determines_the_numbers(monkeypatch):
    guard = functools.partial(spec.guard, {"a": 1}, 64, jax.devices())
    monkeypatch.setenv("XLA_FLAGS", "--xla_force_host_platform_device_count=8")
    first = guard()
    assert first.keys() == {"spec", "package", "versions", "precision", "devices", "xla_flags", "width"}
    assert {"jax", "jaxlib"} <= first["versions"].keys()
    assert first["xla_flags"] == []
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_max_isa=AVX2")
    assert guard() != first
    json.dumps(first, allow_nan=False)


def test_the_package_digest_reads_every_file(tmp_path, monkeypatch):
    (tmp_path / "a.py").write_text("x = 1")
    monkeypatch.setattr(digests, "_PACKAGE", tmp_path)
    found = set()
    for text in ("x = 1", "x = 2"):
        (tmp_path / "a.py").write_text(text)
        found.add(digests.package_digest.__wrapped__())
    (tmp_path / "b.py").write_text("")
    found.add(digests.package_digest.__wrapped__())
    assert len(found) == 3
