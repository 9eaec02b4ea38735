"""No old number: after a change of any kind a run gives the numbers of a fresh one, and no checkpoint is resumed.

A kind of change is a function `at(value)` that changes something and returns a learner which then plays this value:
code that is written again, or a value behind code that stays. Runs with two values are compared with their values.
"""

import collections
import dataclasses
import enum
import functools
import itertools
import os
import subprocess
import sys
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

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import param, pytree, shared, static
from jaxbandits.numerics import linalg
from jaxbandits.simulation import Meter, driver, simulate
from jaxbandits.types import PointDecision
from tests.toys import Noisy, Shrink

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
def filled(value):
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
    "NumPy array": (filled, lambda box: jnp.asarray(box)[7]),
    "JAX array": (lambda v: jnp.asarray(filled(v)), lambda box: box[7]),
    "deque of arrays": (lambda v: collections.deque([filled(v)]), lambda box: jnp.asarray(box[0])[7]),
    "mapping proxy": (lambda v: types.MappingProxyType({"a": filled(v)}), lambda box: jnp.asarray(box["a"])[7]),
    "namespace": (lambda v: types.SimpleNamespace(a=filled(v)), lambda box: jnp.asarray(box.a)[7]),
    "ordered dict": (lambda v: collections.OrderedDict(a=v), lambda box: box["a"]),
    "sparse matrix": (lambda v: scipy.sparse.csr_array(filled(v)[None]), lambda box: jnp.asarray(box.toarray())[0, 7]),
    "data frame": (lambda v: pandas.DataFrame({"a": filled(v)}), lambda box: jnp.asarray(box["a"].to_numpy())[50]),
    "data series": (lambda v: pandas.Series(filled(v)), lambda box: jnp.asarray(box.to_numpy())[50]),
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


# A callback runs on the host, where no trace sees it: in each run anew, and in a checkpoint by its code and its values.
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
def written_again(decorate):
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


def attribute_set_later():
    @pytree
    class Mine(Play):
        def number(self):
            return self.box.value

    def at(value):
        Mine.box = Plain(value)
        return Mine()

    return at


def static_object_mutated():
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


def library_patched(module, name):
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


def base_class_patched():
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


CHANGES = {
    **{f"global: {name}": functools.partial(in_a_global, name) for name in BOXES},
    **{
        f"global behind a jitted function: {name}": functools.partial(behind_a_jitted_function, name)
        for name in ("float", "NumPy array", "dict", "data frame", "function")
    },
    **{f"global behind a callback: {name}": functools.partial(behind_a_callback, name) for name in ON_HOST},
    "method": lambda: written_again(lambda f: f),
    "method under jit": lambda: written_again(jax.jit),
    "method under jit, self static": lambda: written_again(functools.partial(jax.jit, static_argnums=0)),
    "method under remat": lambda: written_again(jax.checkpoint),
    "property behind a method": lambda: written_again(lambda f: functools.partialmethod(f)),
    "global of a jitted method": functools.partial(jitted_with_a_global, inline=False),
    "global of an inlined jitted method": functools.partial(jitted_with_a_global, inline=True),
    "global of a jitted select": jitted_select,
    "class attribute: plain object": lambda: class_attribute(Plain),
    "class attribute: namespace": lambda: class_attribute(lambda v: types.SimpleNamespace(value=v)),
    "class attribute set later": attribute_set_later,
    "static field mutated in place": static_object_mutated,
    "jitted method of a helper": jitted_method_of_a_helper,
    "custom JVP": lambda: custom_derivative(custom_jvp),
    "custom VJP": lambda: custom_derivative(custom_vjp),
    "rule of a derivative behind a global": rule_behind_a_global,
    "function of this package patched": lambda: library_patched(linalg, "sum_terms"),
    "function of NumPy patched": lambda: library_patched(np, "vstack"),
    "function of jax.numpy patched": lambda: library_patched(jnp, "hypot"),
    "base class patched": base_class_patched,
    "file": file_read,
    "branch": parameter_of_a_branch,
    "body of a scan": body_of_a_scan,
    "parameter": lambda: field(lambda: param(0.0, "(-inf, inf)", "value"), float),
    "static field": lambda: field(lambda: static(0.0), float),
    "shared data": lambda: field(lambda: shared(doc="data"), filled),
}


@pytest.fixture(autouse=True)
def world(tmp_path):
    WORLD.path, WORLD.undo = tmp_path / "data.txt", lambda: None
    yield
    WORLD.undo()


def losses(learner, **settings):
    result = simulate(learner, Noisy(), 4, 1, **RUN, **settings)
    return np.diff(result.get("loss").ravel(), prepend=0.0)


@pytest.mark.parametrize("change", CHANGES)
def test_a_run_plays_what_the_code_says_now_and_refuses_the_checkpoint_of_other_code(change, tmp_path):
    at = CHANGES[change]()
    np.testing.assert_array_equal(losses(at(1.25), checkpoint=tmp_path / "checkpoint"), 1.25)
    learner = at(2.5)
    np.testing.assert_array_equal(losses(learner), 2.5)
    with pytest.raises(InputError, match="holds another run"):
        losses(learner, checkpoint=tmp_path / "checkpoint")


@pytest.mark.parametrize("change", CHANGES)
def test_an_interrupted_run_does_not_go_on_with_other_code(change, tmp_path, monkeypatch):
    at, directory = CHANGES[change](), tmp_path / "checkpoint"
    _stop_after_a_call(monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        losses(at(1.25), checkpoint=directory, save_every=0.0, seconds_per_call=1e-9)
    monkeypatch.undo()
    with pytest.raises(InputError, match="holds another run"):
        losses(at(2.5), checkpoint=directory)


def _stop_after_a_call(monkeypatch):
    play, calls = driver.play_call, []

    def once(*arguments):
        if calls:
            raise KeyboardInterrupt
        calls.append(1)
        return play(*arguments)

    monkeypatch.setattr(driver, "play_call", once)


@pytest.mark.parametrize("role", ["environment", "meter"])
def test_an_environment_and_a_meter_are_what_their_code_says_now(role, tmp_path):
    @pytree
    class Shifted(Noisy):
        def step(self, key, t, state, obs, decision):
            state, feedback, outcome = super().step(key, t, state, obs, decision)
            return state, feedback, outcome._replace(played=outcome.played * WORLD.box)

    def run(**settings):
        meters = [Meter("boxed", jax.jit(lambda played: WORLD.box))] if role == "meter" else []
        environment = Shifted() if role == "environment" else Noisy()
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
    with pytest.raises(InputError, match="is of another run or batch; delete it"):
        run("a", 0.25)
    for path in (one, two):
        path.unlink()
    three.write_bytes((tmp_path / "b" / three.name).read_bytes())
    with pytest.raises(InputError, match="is of another run or batch; delete it"):
        run("a", 0.25)


_PROCESS = """
import pathlib, sys
from jaxbandits.base.errors import InputError
from tests.simulation import test_stale as stale

value, directory = float(sys.argv[1]), pathlib.Path(sys.argv[2])
for number, (name, change) in enumerate(stale.CHANGES.items()):
    stale.WORLD.path, stale.WORLD.undo = directory / f"{number}.txt", lambda: None
    learner = change()(value)
    try:
        played = set(stale.losses(learner).tolist())
        try:
            resumed = set(stale.losses(learner, checkpoint=directory / str(number)).tolist())
        except InputError:
            resumed = "refused"
    finally:
        stale.WORLD.undo()
    print(name, played, resumed, sep="; ")
"""


def test_a_second_process_plays_what_the_code_says_now(tmp_path):
    environment = os.environ | {"JAXBANDITS_CACHE": str(tmp_path / "cache"), "JAX_ENABLE_X64": "1"}
    environment.pop("JAX_COMPILATION_CACHE_DIR", None)
    lines = []
    for value in (1.25, 2.5):
        command = [sys.executable, "-c", _PROCESS, str(value), str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)
        assert done.returncode == 0, done.stderr
        lines.append([line.split("; ") for line in done.stdout.splitlines()])
    assert len(lines[0]) == len(CHANGES) and len(list((tmp_path / "cache").rglob("*"))) > 10
    for (name, *first), (_, *second) in zip(*lines, strict=True):
        assert first == ["{1.25}", "{1.25}"] and second == ["{2.5}", "refused"], (name, first, second)
