"""No old number: after a change of any kind a run gives the numbers of a fresh one, and no checkpoint is resumed.

A kind of change is a function `at(value)` that changes something and returns a learner which then plays this value:
code that is written again, or a value behind code that stays. Runs with two values are compared with their values.
"""

import collections
import contextlib
import contextvars
import dataclasses
import enum
import functools
import itertools
import math
import os
import random
import subprocess
import sys
import threading
import time
import types
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pandas
import pytest
import scipy.sparse
from jax.custom_batching import custom_vmap

from jaxbandits.algorithms.armed.ucb1 import UCB1
from jaxbandits.algorithms.oco.ogd import OGD
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import param, pytree, shared, static
from jaxbandits.engine import driver, meters
from jaxbandits.environments.armed.bernoulli_arms import BernoulliArms
from jaxbandits.numerics import elementary, linalg
from jaxbandits.programs import cached_traces, patches
from jaxbandits.results.merge import merge
from jaxbandits.simulation import Grid, Meter, compare, simulate, sweep
from jaxbandits.tracing.jax_compat import Primitive, batching, mlir
from jaxbandits.types import PointDecision, Recommends, Reward
from tests.toy_problems import Noisy, Shrink

ROOT = Path(__file__).parents[2]
RUN = {"progress": False, "width": 1, "workers": 1, "record_points": 4}
LONG = 2000  # entries: more than a shortened text shows


@pytree
class Play(Shrink):
    """Plays a number; subclasses say where it comes from."""

    def number(self):
        return jnp.zeros(())

    def select(self, key, t, state, obs):
        return PointDecision.at(jnp.zeros(()) + self.number())


WORLD = types.SimpleNamespace(box=None)  # the globals of a notebook


# Values behind code that stays: how a value is stored in a global, and how the learner reads it.
def long_array(value):
    """Return an array whose shortened text does not show the value."""
    return np.pad(np.full(LONG, value), 6)


@dataclasses.dataclass
class Settings:
    value: Any


class Plain:
    def __init__(self, value):
        self.value = value


def with_attribute(value):
    def function():
        return function.value

    function.value = value
    return function


def defaults(value):
    def function(x=value, *, y=value):
        return 0.5 * (x + y)

    return function


def member(value):
    return enum.Enum("Member", {"ONE": value}).ONE


BOXES = {
    "float": (float, lambda box: box),
    "integer": (lambda v: int(4 * v), lambda box: box / 4),
    "complex": (lambda v: v * 1j, lambda box: box.imag),
    "text": (str, float),
    "bytes": (lambda v: str(v).encode(), lambda box: float(box)),
    "tuple": (lambda v: (0, (v,)), lambda box: box[1][0]),
    "list": (lambda v: [v], lambda box: box[0]),
    "dict": (lambda v: {"a": [v]}, lambda box: box["a"][0]),
    "set": (lambda v: {v}, max),
    "range": (lambda v: range(int(4 * v)), lambda box: len(box) / 4),
    "NumPy scalar": (np.float64, lambda box: box),
    "NumPy array": (long_array, lambda box: jnp.asarray(box)[7]),
    "JAX array": (lambda v: jnp.asarray(long_array(v)), lambda box: box[7]),
    "deque of arrays": (lambda v: collections.deque([long_array(v)]), lambda box: jnp.asarray(box[0])[7]),
    "mapping proxy": (lambda v: types.MappingProxyType({"a": long_array(v)}), lambda box: jnp.asarray(box["a"])[7]),
    "namespace": (lambda v: types.SimpleNamespace(a=long_array(v)), lambda box: jnp.asarray(box.a)[7]),
    "ordered dict": (lambda v: collections.OrderedDict(a=v), lambda box: box["a"]),
    "sparse matrix": (
        lambda v: scipy.sparse.csr_array(long_array(v)[None]),
        lambda box: jnp.asarray(box.toarray())[0, 7],
    ),
    "data frame": (lambda v: pandas.DataFrame({"a": long_array(v)}), lambda box: jnp.asarray(box["a"].to_numpy())[50]),
    "data series": (lambda v: pandas.Series(long_array(v)), lambda box: jnp.asarray(box.to_numpy())[50]),
    "plain object": (Plain, lambda box: box.value),
    "dataclass": (Settings, lambda box: box.value),
    "function": (lambda v: lambda: v, lambda box: box()),
    "partial": (lambda v: functools.partial(float, v), lambda box: box()),
    "bound method": (lambda v: Plain(v).__getattribute__, lambda box: box("value")),
    "attribute of a function": (with_attribute, lambda box: box()),
    "defaults": (defaults, lambda box: box()),
    "enum": (member, lambda box: box.value),
    "cached function": (lambda v: functools.lru_cache(lambda: v), lambda box: box()),
    "iterator": (lambda v: itertools.repeat(v), next),
    "optax schedule": (optax.constant_schedule, lambda box: box(0)),
    "jitted function": (lambda v: jax.jit(lambda x: x + v), lambda box: box(jnp.zeros(()))),
    "vmapped function": (lambda v: jax.vmap(lambda x: x + v), lambda box: box(jnp.zeros(2))[1]),
    "gradient": (lambda v: jax.grad(lambda x: x * v), lambda box: box(jnp.zeros(()))),
}


def in_a_global(name):
    box, read = BOXES[name]

    @pytree
    class Mine(Play):
        def number(self):
            return read(WORLD.box)

    def at(value):
        WORLD.box = box(value)
        return Mine()

    return at


def behind_a_jitted_function(name):
    box, read = BOXES[name]

    @jax.jit
    def number(x):
        return x + read(WORLD.box)

    @pytree
    class Mine(Play):
        def number(self):
            return number(jnp.zeros(()))

    def at(value):
        WORLD.box = box(value)
        return Mine()

    return at


# A callback runs on the host, where no digest sees what it reads: in each run anew, and never resumed nor merged.
ON_HOST = {
    **{
        name: BOXES[name][1]
        for name in ("float", "dict", "plain object", "function", "bound method", "enum", "partial")
    },
    "attribute of a function": lambda box: box(),
    "deque of arrays": lambda box: box[0][7],
    "mapping proxy": lambda box: box["a"][7],
    "namespace": lambda box: box.a[7],
    "sparse matrix": lambda box: box.toarray()[0, 7],
    "data frame": lambda box: box["a"].to_numpy()[50],
}


def behind_a_callback(name):
    box, read = BOXES[name][0], ON_HOST[name]

    @pytree
    class Mine(Play):
        def number(self):
            shape = jax.ShapeDtypeStruct((), float)
            return jax.pure_callback(lambda: np.asarray(read(WORLD.box), shape.dtype), shape)

    def at(value):
        WORLD.box = box(value)
        return Mine()

    return at


# Code that is written again, and other places where a value may stand.
def decorate_again(decorate):
    """Return a class made anew, with a method that holds the value and is decorated."""

    def at(value):
        def number(self):
            return jnp.zeros(()) + value

        namespace = {"number": decorate(number), "__module__": __name__, "__qualname__": "Mine"}
        return pytree(type("Mine", (Play,), namespace))()

    return at


def jitted_with_a_global(*, inline):
    @pytree
    class Mine(Play):
        @functools.partial(jax.jit, static_argnums=0, inline=inline)
        def number(self):
            return jnp.zeros(()) + WORLD.box

    def at(value):
        WORLD.box = value
        return Mine()

    return at


def jitted_select():
    @pytree
    class Mine(Play):
        @jax.jit
        def select(self, key, t, state, obs):
            return PointDecision.at(jnp.zeros(()) + WORLD.box)

    def at(value):
        WORLD.box = value
        return Mine()

    return at


def class_attribute(make):
    def at(value):
        namespace = {"number": lambda self: self.box.value, "box": make(value), "__module__": __name__}
        return pytree(type("Mine", (Play,), namespace))()

    return at


def set_attribute_later():
    @pytree
    class Mine(Play):
        def number(self):
            return self.box.value

    def at(value):
        Mine.box = Plain(value)
        return Mine()

    return at


def mutate_static_object():
    plain = Plain(0.0)

    @pytree
    class Mine(Play):
        held: Any = static(plain)

        def number(self):
            return self.held.value

    learner = Mine()

    def at(value):
        plain.value = value
        return learner

    return at


def array_changed_in_place(dtype, decorate=lambda f: f):
    array = np.zeros(3, dtype)

    @decorate
    def read():
        return jnp.asarray(array)

    @pytree
    class Mine(Play):
        def number(self):
            return read()[1]

    def at(value):
        array[1] = value
        return Mine()

    return at


def jitted_method_of_a_helper():
    class Helper:
        pass

    helper = Helper()

    @pytree
    class Mine(Play):
        def number(self):
            return helper.number(jnp.zeros(()))

    def at(value):
        Helper.number = staticmethod(jax.jit(lambda x: x + value))
        return Mine()

    return at


def custom_derivative(define):
    def at(value):
        function = define(value)

        @pytree
        class Mine(Play):
            def number(self):
                return jax.grad(function)(jnp.ones(()))

        return Mine()

    return at


def custom_jvp(value):
    @jax.custom_jvp
    def f(x):
        return x

    f.defjvp(lambda primals, tangents: (f(*primals), value * tangents[0]))
    return f


def custom_vjp(value):
    @jax.custom_vjp
    def f(x):
        return x

    f.defvjp(lambda x: (x, None), lambda _, g: (value * g,))
    return f


def rule_behind_a_global():
    @jax.custom_jvp
    def f(x):
        return x

    f.defjvp(lambda primals, tangents: (f(*primals), WORLD.box * tangents[0]))

    @pytree
    class Mine(Play):
        def number(self):
            return jax.grad(f)(jnp.ones(()))

    def at(value):
        WORLD.box = value
        return Mine()

    return at


def patch_library(module, name):
    original = getattr(module, name)

    @pytree
    class Mine(Play):
        def number(self):
            return jnp.zeros(()) + getattr(module, name)([jnp.zeros(())])

    def at(value):
        WORLD.undo = lambda: setattr(module, name, original)
        setattr(module, name, lambda terms: value)
        return Mine()

    return at


def called_by_jax(call):
    """Return a change of a global that a function reads which a jitted function of JAX calls."""

    def function(*args):
        return jnp.zeros(()) + WORLD.box

    caller = call(function)

    @pytree
    class Mine(Play):
        def number(self):
            return caller()

    def at(value):
        WORLD.box = value
        return Mine()

    return at


def own_ufunc(function):
    ufunc = jnp.frompyfunc(function, nin=2, nout=1)
    return lambda: ufunc(jnp.zeros(()), jnp.zeros(()))


def jitted_map(function):
    mapped = jax.jit(jax.vmap(function))
    return lambda: mapped(jnp.zeros(2))[0]


def patch_constant():
    """Replace log(2), as the sum of two numbers, in the jitted logarithm of this package."""

    @pytree
    class Mine(Play):
        def number(self):
            return elementary.log(jnp.asarray(2.0))

    constants = elementary._LOG2_HIGH, elementary._LOG2_LOW

    def restore():
        elementary._LOG2_HIGH, elementary._LOG2_LOW = constants

    def at(value):
        WORLD.undo = restore
        elementary._LOG2_HIGH, elementary._LOG2_LOW = value, 0.0
        return Mine()

    return at


def patch_within_jax():
    """Patch a function that a jitted function of JAX calls."""

    @pytree
    class Mine(Play):
        def number(self):
            return jax.nn.softplus(jnp.zeros(()))

    module = sys.modules["jax._src.numpy"]
    original = module.logaddexp

    def at(value):
        WORLD.undo = lambda: setattr(module, "logaddexp", original)
        module.logaddexp = lambda *args: jnp.zeros(()) + value
        return Mine()

    return at


def patch_base_class():
    @pytree
    class Base(Play):
        pass

    @pytree
    class Mine(Base):
        pass

    def at(value):
        Base.number = lambda self: value
        return Mine()

    return at


def file_read():
    @pytree
    class Mine(Play):
        def number(self):
            return float(WORLD.path.read_text())

    def at(value):
        WORLD.path.write_text(str(value))
        return Mine()

    return at


def parameter_of_a_branch():
    @pytree
    class Mine(Play):
        def number(self):
            return jax.lax.cond(self.rate > 2.0, lambda: 0.0, lambda: jnp.asarray(WORLD.box, float))

    def at(value):
        WORLD.box = value
        return Mine()

    return at


def body_of_a_scan():
    @pytree
    class Mine(Play):
        def number(self):
            return jax.lax.scan(lambda c, _: (c + WORLD.box, None), jnp.zeros(()), None, length=2)[0] / 2.0

    def at(value):
        WORLD.box = value
        return Mine()

    return at


def field(kind, make):
    def at(value):
        namespace = {"number": lambda self: jnp.max(jnp.asarray(self.value)), "__module__": __name__}
        namespace |= {"__annotations__": {"value": Any}, "value": kind()}
        return pytree(type("Mine", (Play,), namespace))(value=make(value))

    return at


class Metres(float):
    """A number of another package."""


def nested_field(make):
    @pytree
    class Mine(Play):
        value: Any = param(0.0, None, "value")

        def number(self):
            return jax.tree.leaves(self.value)[0]

    return lambda value: Mine(value=make(value))


# Code that runs when a program is lowered, or on the host beside it.
def with_a_vmap_rule(read):
    """Return a learner with a batching rule of its own, which JAX calls when it lowers a batch of trials."""

    @custom_vmap
    def number(x):
        return x + 7.0

    @number.def_vmap
    def rule(size, in_batched, x):
        del size
        return x + read(), in_batched[0]

    @pytree
    class Mine(Play):
        def number(self):
            return number(0.0 * self.rate)

    return Mine()


def rule_reads_a_global():
    learner = with_a_vmap_rule(lambda: WORLD.box)

    def at(value):
        WORLD.box = value
        return learner

    return at


def rule_reads_an_environment_variable():
    learner = with_a_vmap_rule(lambda: float(os.environ["STALE_TEST_VALUE"]))

    def at(value):
        WORLD.undo = lambda: os.environ.pop("STALE_TEST_VALUE", None)
        os.environ["STALE_TEST_VALUE"] = str(value)
        return learner

    return at


def rule_reads_a_file():
    learner = with_a_vmap_rule(lambda: float(WORLD.path.read_text()))

    def at(value):
        WORLD.path.write_text(str(value))
        return learner

    return at


def rule_calls_a_patched_function():
    original = np.hypot
    learner = with_a_vmap_rule(lambda: np.hypot(3.0, 4.0))

    def at(value):
        WORLD.undo = lambda: setattr(np, "hypot", original)
        np.hypot = lambda a, b: value
        return learner

    return at


def lowering_of_a_primitive():
    number_p = Primitive("my_number")
    number_p.def_abstract_eval(lambda x: x)
    mlir.register_lowering(number_p, mlir.lower_fun(lambda x: x + WORLD.box, multiple_results=False))
    batching.primitive_batchers[number_p] = lambda args, dims: (number_p.bind(*args), dims[0])

    @pytree
    class Mine(Play):
        def number(self):
            return number_p.bind(0.0 * self.rate)

    learner = Mine()

    def at(value):
        WORLD.box = value
        return learner

    return at


def beside_a_print(change):
    """Return a change of a learner that prints in each round: a callback whose results no program reads."""

    def start():
        at = change()

        def printing(value):
            learner = at(value)

            @pytree
            class Printing(type(learner)):
                def number(self):
                    jax.debug.print("", ordered=True)
                    jax.debug.callback(lambda: None)
                    return super().number()

            return Printing()

        return printing

    return start


def method_of_a_package_class():
    jitted = jax.jit(lambda x: x + WORLD.box)
    replaced = {
        "feedback": Reward,
        "update": lambda self, key, t, state, *_: state,
        "recommend": lambda self, state: jnp.zeros(()),
    }
    originals = {name: OGD.__dict__.get(name) for name in (*replaced, "select")}

    def select(self, key, t, state, obs):
        return PointDecision.at(jitted(jnp.zeros(())))

    def restore():
        for name, value in originals.items():
            delattr(OGD, name) if value is None else setattr(OGD, name, value)
        Recommends._abc_caches_clear()  # else OGD would still be one that recommends

    def at(value):
        WORLD.box = value
        WORLD.undo = restore
        for name, value in {**replaced, "select": select}.items():
            setattr(OGD, name, value)
        return OGD(dim=1)

    return at


def function_of_the_package_that_calls_a_jitted_one():
    original = linalg.sum_terms
    jitted = jax.jit(lambda: jnp.zeros(()) + WORLD.box)

    @pytree
    class Mine(Play):
        def number(self):
            return linalg.sum_terms(())

    def at(value):
        WORLD.box = value
        WORLD.undo = lambda: setattr(linalg, "sum_terms", original)
        linalg.sum_terms = lambda terms: jitted()
        return Mine()

    return at


def context_variable():
    variable = contextvars.ContextVar("value")

    @pytree
    class Mine(Play):
        def number(self):
            return variable.get()

    def at(value):
        variable.set(value)
        return Mine()

    return at


def helper_imported_inside():
    @pytree
    class Mine(Play):
        def number(self):
            import stale_test_helper

            return stale_test_helper.VALUE

    def at(value):
        WORLD.undo = lambda: sys.modules.pop("stale_test_helper", None)
        sys.modules["stale_test_helper"] = module = types.ModuleType("stale_test_helper")
        module.VALUE = value
        return Mine()

    return at


def another_field(role):
    """Return a change of which of two fields the code reads: the programs differ in the argument that they read."""

    def start():
        names = ("a", "b")

        def at(value):
            name = names[value != 1.25]

            def number(self):
                return getattr(self, name) if role == "traced" else jnp.max(getattr(self, name))

            kind = param if role == "traced" else shared
            fields = {"a": kind(doc="one"), "b": kind(doc="another")}
            namespace = {
                "number": number,
                "__module__": __name__,
                "__annotations__": dict.fromkeys(fields, Any),
                **fields,
            }
            values = (1.25, 2.5) if role == "traced" else (np.full(3, 1.25), np.full(3, 2.5))
            return pytree(type("Mine", (Play,), namespace))(**dict(zip(names, values, strict=True)))

        return at

    return start


def dataclass_in_a_static_field():
    @dataclasses.dataclass(frozen=True)
    class Holder:
        value: Any

    @pytree
    class Mine(Play):
        held: Any = static(Holder(0))

        def number(self):
            return {int: 1.25, bool: 2.5}[type(self.held.value)]

    return lambda value: Mine(held=Holder(1 if value == 1.25 else True))


CHANGES = {
    "another field": another_field("traced"),
    "another field of shared data": another_field("shared"),
    "dataclass in a static field": dataclass_in_a_static_field,
    "rule of a batch: global": rule_reads_a_global,
    "rule of a batch: environment variable": rule_reads_an_environment_variable,
    "rule of a batch: file": rule_reads_a_file,
    "rule of a batch: patched function": rule_calls_a_patched_function,
    "lowering of a primitive": lowering_of_a_primitive,
    "method of a class of this package": method_of_a_package_class,
    "jitted function behind one of this package": function_of_the_package_that_calls_a_jitted_one,
    "context variable": context_variable,
    "helper imported inside a method": helper_imported_inside,
    "print, and a file": beside_a_print(lambda: file_read()),
    "print, and a patched function": beside_a_print(lambda: patch_library(np, "vstack")),
    "print, and a rule of a derivative": beside_a_print(lambda: rule_behind_a_global()),
    "print, and a context variable": beside_a_print(context_variable),
    "print, and a helper": beside_a_print(helper_imported_inside),
    "print, and a global": beside_a_print(lambda: in_a_global("data frame")),
    **{f"global: {name}": functools.partial(in_a_global, name) for name in BOXES},
    **{
        f"global behind a jitted function: {name}": functools.partial(behind_a_jitted_function, name)
        for name in ("float", "NumPy array", "dict", "data frame", "function")
    },
    **{f"global behind a callback: {name}": functools.partial(behind_a_callback, name) for name in ON_HOST},
    "method": lambda: decorate_again(lambda f: f),
    "method under jit": lambda: decorate_again(jax.jit),
    "method under jit, self static": lambda: decorate_again(functools.partial(jax.jit, static_argnums=0)),
    "method under remat": lambda: decorate_again(jax.checkpoint),
    "property behind a method": lambda: decorate_again(lambda f: functools.partialmethod(f)),
    "global of a jitted method": functools.partial(jitted_with_a_global, inline=False),
    "global of an inlined jitted method": functools.partial(jitted_with_a_global, inline=True),
    "global of a jitted select": jitted_select,
    "class attribute: plain object": lambda: class_attribute(Plain),
    "class attribute: namespace": lambda: class_attribute(lambda v: types.SimpleNamespace(value=v)),
    "class attribute set later": set_attribute_later,
    "static field mutated in place": mutate_static_object,
    "NumPy array changed in place": lambda: array_changed_in_place(np.float64),
    "NumPy array of 32 bits changed in place": lambda: array_changed_in_place(np.float32),
    "jitted method of a helper": jitted_method_of_a_helper,
    "custom JVP": lambda: custom_derivative(custom_jvp),
    "custom VJP": lambda: custom_derivative(custom_vjp),
    "rule of a derivative behind a global": rule_behind_a_global,
    "function of this package patched": lambda: patch_library(linalg, "sum_terms"),
    "function of NumPy patched": lambda: patch_library(np, "vstack"),
    "function of jax.numpy patched": lambda: patch_library(jnp, "hypot"),
    "function within JAX patched": patch_within_jax,
    "function that jnp.piecewise calls": lambda: called_by_jax(
        lambda f: lambda: jnp.piecewise(jnp.zeros(()), [True], [f])
    ),
    "function that jnp.apply_along_axis calls": lambda: called_by_jax(
        lambda f: lambda: jnp.apply_along_axis(f, 0, jnp.zeros(3))
    ),
    "function of a ufunc": lambda: called_by_jax(own_ufunc),
    "jitted map of a function": lambda: called_by_jax(jitted_map),
    "constant of a jitted function of this package": patch_constant,
    "base class patched": patch_base_class,
    "file": file_read,
    "branch": parameter_of_a_branch,
    "body of a scan": body_of_a_scan,
    "parameter": lambda: field(lambda: param(0.0, "(-inf, inf)", "value"), float),
    "static field": lambda: field(lambda: static(0.0), float),
    "shared data": lambda: field(lambda: shared(doc="data"), long_array),
    "pytree of another package": lambda: nested_field(lambda v: jax.tree_util.Partial(max, v)),
    "dictionary with numbers as keys": lambda: nested_field(lambda v: {0: v}),
    "number of a subclass": lambda: nested_field(Metres),
}


@pytest.fixture(autouse=True)
def world(tmp_path, monkeypatch):
    # A replaced function of JAX would otherwise keep its caches from serving any later test.
    monkeypatch.setattr(cached_traces, "_libraries", patches.LibraryCode())
    WORLD.path, WORLD.undo = tmp_path / "data.txt", lambda: None
    yield
    WORLD.undo()


REFUSED = "holds another run|cannot be resumed"


def width_of(change):
    return 32 if change.startswith("rule of a batch") else 1  # one trial alone is no batch


def begin_checkpoint(change):
    """Return a context for the first run with a checkpoint: it warns that values of callbacks are not identified."""
    is_called_back = "behind a callback" in change
    return pytest.warns(UserWarning, match="cannot be resumed") if is_called_back else contextlib.nullcontext()


def losses(learner, **settings):
    result = simulate(learner, Noisy(), 4, 1, **RUN | settings)
    return np.diff(result.get("loss").ravel(), prepend=0.0)


# Of each kind of value in a global, one in three is quick; of the other changes all are.
@pytest.mark.slow_cases(*[change for i, change in enumerate(c for c in CHANGES if c.startswith("global")) if i % 3])
@pytest.mark.parametrize("change", CHANGES)
def test_a_run_plays_what_the_code_says_now_and_refuses_the_checkpoint_of_other_code(change, tmp_path):
    at, width, directory = CHANGES[change](), width_of(change), tmp_path / "checkpoint"
    with begin_checkpoint(change):
        np.testing.assert_array_equal(losses(at(1.25), width=width, checkpoint=directory), 1.25)
    learner = at(2.5)
    np.testing.assert_array_equal(losses(learner, width=width), 2.5)
    with pytest.raises(InputError, match=REFUSED):
        losses(learner, width=width, checkpoint=directory)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("decorate", [lambda f: f, jax.jit])
def test_arrays_changed_in_place_are_read_again_in_float32(dtype, decorate):
    """JAX 0.12 keeps the conversion of a float64 array to float32 for as long as an earlier trace holds it."""
    with jax.enable_x64(False):
        at = array_changed_in_place(dtype, decorate)
        for value in (1.25, 2.5, 1.25):
            np.testing.assert_array_equal(losses(at(value)), value)


@pytest.mark.quick_cases(
    "another field",
    "rule of a batch: environment variable",
    "method of a class of this package",
    "print, and a file",
    "print, and a helper",
    "global behind a callback: function",
    "global behind a callback: attribute of a function",
    "global behind a callback: sparse matrix",
)
@pytest.mark.parametrize("change", CHANGES)
def test_an_interrupted_run_does_not_go_on_with_other_code(change, tmp_path, monkeypatch):
    at, directory = CHANGES[change](), tmp_path / "checkpoint"
    _stop_after_a_call(monkeypatch)
    with begin_checkpoint(change), pytest.raises(KeyboardInterrupt):
        losses(at(1.25), width=width_of(change), checkpoint=directory, save_every=0.0, seconds_per_call=1e-9)
    monkeypatch.undo()
    with pytest.raises(InputError, match=REFUSED):
        losses(at(2.5), width=width_of(change), checkpoint=directory)


@pytest.mark.quick_cases(*list(CHANGES)[::4])  # the digest of a program differs for all of them: tested above
@pytest.mark.parametrize("change", CHANGES)
def test_results_of_other_code_are_not_merged(change):
    at, width = CHANGES[change](), width_of(change)
    first = simulate(at(1.25), Noisy(), 4, 1, **RUN | {"width": width})
    second = simulate(at(2.5), Noisy(), 4, 1, first_seed=1, **RUN | {"width": width})
    with pytest.raises(InputError, match="cannot merge"):
        merge([first, second])


def _stop_after_a_call(monkeypatch):
    play, calls = driver.play_call, []

    def play_once(*arguments):
        if calls:
            raise KeyboardInterrupt
        calls.append(1)
        return play(*arguments)

    monkeypatch.setattr(driver, "play_call", play_once)


@pytest.mark.parametrize("role", ["environment", "meter"])
def test_an_environment_and_a_meter_are_what_their_code_says_now(role, tmp_path):
    @pytree
    class NoisyByGlobal(Noisy):
        def step(self, key, t, state, obs, decision):
            state, feedback, outcome = super().step(key, t, state, obs, decision)
            return state, feedback, outcome._replace(played=outcome.played * WORLD.box)

    def run(**settings):
        meters = [Meter("boxed", jax.jit(lambda played: WORLD.box))] if role == "meter" else []
        environment = NoisyByGlobal() if role == "environment" else Noisy()
        result = simulate(Shrink(), environment, 4, 1, meters=meters, **RUN, **settings)
        return result.get("boxed" if meters else "played")[0, 0, 0]

    for value in (1.25, 2.5):
        WORLD.box = value
        assert run() == value
    run(checkpoint=tmp_path)
    WORLD.box = 1.25
    with pytest.raises(InputError, match="holds another run"):
        run(checkpoint=tmp_path)


SETTINGS = {
    "partitionable draws": lambda: jax.threefry_partitionable(False),
    "precision of products": lambda: jax.default_matmul_precision("highest"),
    "NaN checks": lambda: jax.debug_nans(True),
}


@pytree
class Draw(Play):
    """Plays a draw that depends on how Threefry is split."""

    def select(self, key, t, state, obs):
        return PointDecision.at(jax.random.normal(key, (3,))[1])


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS)
def test_another_setting_is_another_program_and_another_run(setting, tmp_path):
    usual = losses(Draw(), checkpoint=tmp_path / "usual")
    with SETTINGS[setting]():
        expected = jax.jit(lambda key: jax.random.normal(key, (3,)))(jax.random.key(1))
        other = losses(Draw())
        with pytest.raises(InputError, match="settings"):
            losses(Draw(), checkpoint=tmp_path / "usual")
    is_same = np.array_equal(expected, jax.random.normal(jax.random.key(1), (3,)))
    assert np.array_equal(other, usual) == is_same == (setting != "partitionable draws")
    np.testing.assert_array_equal(losses(Draw(), checkpoint=tmp_path / "usual"), usual)


@pytest.mark.parametrize("x64", [False, True])
def test_threads_compute_in_the_precision_of_the_callers_context(x64):
    with jax.enable_x64(x64):
        result = simulate(Shrink(start=1 / 3), Noisy(), 1, 1, **RUN)
    assert result.get("loss").item() == (1 / 3 if x64 else np.float32(1 / 3))


def test_a_piece_of_another_run_or_another_batch_is_refused(tmp_path):
    def run(name, rate):
        simulate(Shrink(rate=rate), Noisy(), 4, 3, checkpoint=tmp_path / name, **RUN)

    run("a", 0.25)
    run("b", 0.5)
    one, two, three = sorted((tmp_path / "a").glob("batch-*.npz"))
    one.rename(tmp_path / "kept")
    two.rename(one)
    (tmp_path / "kept").rename(two)  # two batches of one run, swapped
    with pytest.raises(InputError, match="belongs to another run or batch; delete it"):
        run("a", 0.25)
    for path in (one, two):
        path.unlink()
    three.write_bytes((tmp_path / "b" / three.name).read_bytes())
    with pytest.raises(InputError, match="belongs to another run or batch; delete it"):
        run("a", 0.25)


_PROCESS = """
import pathlib, sys, warnings
from jaxbandits.base.errors import InputError
from tests.programs import test_stale as stale

value, directory = float(sys.argv[1]), pathlib.Path(sys.argv[2])
for number, (name, change) in enumerate(stale.CHANGES.items()):
    stale.WORLD.path, stale.WORLD.undo = directory / f"{number}.txt", lambda: None
    learner = change()(value)
    try:
        played = set(stale.losses(learner, width=stale.width_of(name)).tolist())
        try:
            with warnings.catch_warnings(action="ignore"):
                kept = stale.losses(learner, width=stale.width_of(name), checkpoint=directory / str(number))
            resumed = set(kept.tolist())
        except InputError:
            resumed = "refused"
    finally:
        stale.WORLD.undo()
    print(name, played, resumed, sep="; ")
"""


@pytest.mark.slow
def test_a_second_process_plays_what_the_code_says_now(tmp_path):
    environment = os.environ | {"JAXBANDITS_CACHE": str(tmp_path / "cache"), "JAX_ENABLE_X64": "1"}
    environment.pop("JAX_COMPILATION_CACHE_DIR", None)
    lines = []
    for value in (1.25, 2.5):
        command = [sys.executable, "-c", _PROCESS, str(value), str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)
        assert done.returncode == 0, done.stderr
        lines.append([line.split("; ") for line in done.stdout.splitlines() if line])  # some learners print empty ones
    assert len(lines[0]) == len(CHANGES) and len(list((tmp_path / "cache").rglob("*"))) > 10
    for (name, *first), (_, *second) in zip(*lines, strict=True):
        assert first == ["{1.25}", "{1.25}"] and second == ["{2.5}", "refused"], (name, first, second)


GENERATOR = np.random.default_rng(0)

# Draws without a key: a trace freezes each to one value.
DRAWS = {
    "global state": lambda: np.random.rand(),  # noqa: NPY002
    "new generator": lambda: np.random.default_rng().random(),
    "generator of a module": lambda: GENERATOR.random(),
    "array": lambda: jnp.asarray(GENERATOR.random(3))[1],
    "clock": time.perf_counter,
    "jitted": jax.jit(lambda: jnp.zeros(()) + GENERATOR.random()),
    "coin": lambda: float(np.random.randint(2)),  # noqa: NPY002
    "coin of Python": lambda: float(random.random() < 0.5),
}


@pytest.mark.parametrize("draw", DRAWS)
def test_a_draw_without_a_key_is_refused(draw):
    @pytree
    class Mine(Play):
        def number(self):
            return DRAWS[draw]()

    for width in (1, 32):  # the second time JAX has cached traces
        with pytest.raises(InputError, match=r"np\.random.*draw with jax\.random from the key"):
            losses(Mine(), width=width)


@pytest.fixture
def drawing_thread():
    """A thread that draws without end, as one of a worker of Dask does twice a second."""
    end = threading.Event()

    def draw():
        while not end.wait(1e-3):
            random.random()

    thread = threading.Thread(target=draw)
    thread.start()
    yield
    end.set()
    thread.join()


def test_draws_of_other_threads_are_none_of_the_learner(drawing_thread):
    @pytree
    class Mine(Play):
        def number(self):
            return 1.25

    np.testing.assert_array_equal(losses(Mine(), width=32), 1.25)


def test_draws_beside_those_of_other_threads_are_refused(drawing_thread):
    @pytree
    class Mine(Play):
        def number(self):
            return random.random()

    with pytest.raises(InputError, match=r"draw with jax\.random from the key"):
        losses(Mine(), width=32)


def test_learners_that_differ_in_the_type_of_a_static_field_are_not_taken_for_each_other():
    @pytree
    class Mine(Play):
        held: Any = static(0)

        def number(self):
            kinds = {int: 1.0, bool: 2.0, float: 3.0}
            return kinds[type(self.held)] + 0.25 * (math.copysign(1.0, self.held) < 0.0)

    learners = {str(value): Mine(held=value) for value in (1, True, 1.0, 0.0, -0.0)}
    together = compare(learners, Noisy(), 1, 1, **RUN)
    played = {name: together[name].get("loss").item() for name in learners}
    assert played == {"1": 1.0, "True": 2.0, "1.0": 3.0, "0.0": 3.0, "-0.0": 3.25}
    grid = compare({"grid": Grid(Mine(), {"held": [1, True, 1.0, 0.0, -0.0]})}, Noisy(), 1, 1, **RUN)
    assert grid["grid"].get("loss").ravel().tolist() == list(played.values())


def test_an_identity_stands_for_code_that_no_digest_covers(tmp_path):
    at = behind_a_callback("float")
    for value, identity in ((1.25, "v1"), (1.25, "v1")):
        np.testing.assert_array_equal(losses(at(value), checkpoint=tmp_path / "a", identity=identity), value)
    with pytest.raises(InputError, match="identity"):
        losses(at(2.5), checkpoint=tmp_path / "a", identity="v2")
    with pytest.raises(InputError, match="identity"):
        losses(at(2.5), checkpoint=tmp_path / "a")
    parts = [simulate(at(1.25), Noisy(), 4, 1, first_seed=i, identity="v1", **RUN) for i in (0, 1)]
    assert merge(parts)["Mine"].get("loss").shape[1] == 2
    with pytest.raises(InputError, match="identity"):
        merge([parts[0], simulate(at(2.5), Noisy(), 4, 1, first_seed=1, identity="v2", **RUN)])
    for wrong in ("", " ", 3):
        with pytest.raises(InputError, match="identity must be text"):
            losses(at(1.25), identity=wrong)


def test_host_code_that_computes_metrics_is_not_merged_without_an_identity():
    @pytree
    class Deriving(Noisy):
        def derive(self, values):
            return {"doubled": WORLD.box * values["loss"]}

    def run(box, first_seed, **settings):
        WORLD.box = box
        return simulate(Shrink(), Deriving(), 4, 1, first_seed=first_seed, **RUN, **settings)

    with pytest.raises(InputError, match=r"Deriving\.derive is user code; .*identity="):
        merge([run(2.0, 0), run(3.0, 1)])
    assert merge([run(2.0, 0, identity="v1"), run(2.0, 1, identity="v1")])["Shrink"].get("doubled").shape[1] == 2


def test_results_without_digests_of_their_programs_are_not_merged():
    parts = [simulate(Shrink(), Noisy(), 4, 1, first_seed=i, **RUN) for i in (0, 1)]
    assert merge(parts)["Shrink"].get("loss").shape[1] == 2
    del parts[1]["Shrink"].spec["programs"]
    with pytest.raises(InputError, match="without the digests of its programs"):
        merge(parts)


def test_a_draw_in_the_rule_of_a_batch_is_refused():
    with pytest.raises(InputError, match=r"draw with jax\.random from the key"):
        losses(with_a_vmap_rule(GENERATOR.random), width=32)


def test_a_jitted_function_of_a_user_is_theirs_in_any_directory(tmp_path):
    """Also in one that has the name of a library."""
    source = tmp_path / "jax" / "metrics.py"
    source.parent.mkdir()
    source.write_text(
        "import jax\nVALUE = 1.25\njitted = jax.jit(lambda: VALUE)\n\ndef boxed(played):\n    return jitted()\n"
    )
    namespace = {"__name__": "metrics"}
    exec(compile(source.read_text(), str(source), "exec"), namespace)
    learner, environment = UCB1(n_arms=2), BernoulliArms(n_arms=2)
    for value in (1.25, 2.5):
        namespace["VALUE"] = value
        found = simulate(learner, environment, 4, 1, meters=[Meter("boxed", namespace["boxed"], "last")], **RUN)
        assert found.final("boxed").item() == value


def test_code_of_this_package_that_was_replaced_where_programs_are_made_counts(monkeypatch):
    def run():
        return simulate(Shrink(), Noisy(), 4, 1, **RUN).get("loss")

    first = run()
    values = meters.Totals.values
    monkeypatch.setattr(meters.Totals, "values", lambda self: {k: 2.0 * x for k, x in values(self).items()})
    np.testing.assert_array_equal(run(), 2.0 * first)
    monkeypatch.undo()
    np.testing.assert_array_equal(run(), first)


def test_points_that_differ_in_their_type_stay_apart_in_a_merge():
    @pytree
    class Mine(Play):
        held: Any = static(0)

        def number(self):
            return {int: 1.0, bool: 2.0, float: 3.0}[type(self.held)]

    parts = [sweep(Mine(), Noisy(), 1, 1, grid={"held": [1, True, 1.0]}, first_seed=seed, **RUN) for seed in (0, 1)]
    merged = merge(parts)["Mine"]
    assert merged.get("loss")[:, :, 0].tolist() == [[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]
