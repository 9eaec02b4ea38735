"""Traces of this package's code serve later calls until any code that they were made from changes."""

import builtins
import functools
import sys
import types
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from jaxbandits import contextual, numerics
from jaxbandits.algorithms.armed import index_policy, ucb1
from jaxbandits.algorithms.armed.index_policy import IndexPolicy, Pulls
from jaxbandits.algorithms.armed.ucb1 import UCB1
from jaxbandits.algorithms.oco.multipliers import MULTIPLIERS
from jaxbandits.base.pytree import pytree
from jaxbandits.contextual import models, rules
from jaxbandits.engine import loop, process_memory
from jaxbandits.engine.program import TraceCache
from jaxbandits.environments.armed.bernoulli_arms import BernoulliArms
from jaxbandits.estimation import moments
from jaxbandits.numerics import elementary, schedule
from jaxbandits.programs.trace_store import CodeSnapshot, TraceStore, drop_traces
from jaxbandits.simulation import simulate
from jaxbandits.tracing.settings import own_settings
from jaxbandits.types import ArmDecision

ROUNDS = 40


def play(learner=None, environment=None):
    """Return the regret of some trials."""
    learner, environment = learner or UCB1(n_arms=3), environment or BernoulliArms(n_arms=3)
    run = simulate(learner, environment, ROUNDS, 4, progress=False, workers=1)
    return np.asarray(run.get("regret"))


def play_twice(*pair):
    """Play twice, after which the trace is kept."""
    play(*pair)
    return play(*pair)


def as_own(function):
    """Return a function that seems to be of this package, so that only a snapshot notices it."""
    code = function.__code__.replace(co_filename=ucb1.__file__)
    return types.FunctionType(code, function.__globals__, function.__name__, None, function.__closure__)


@pytest.fixture
def traces(monkeypatch):
    """Return a list of the types of the learners that are traced."""
    seen, trace_trial = [], loop.trace_trial

    def note(meters, algorithm, *args):
        seen.append(type(algorithm))
        return trace_trial(meters, algorithm, *args)

    monkeypatch.setattr(loop, "trace_trial", as_own(note))
    return seen


def test_a_third_call_traces_nothing(traces):
    drop_traces()
    first = play()
    np.testing.assert_array_equal(play(), first)
    assert traces == [UCB1, UCB1]
    del traces[:]
    np.testing.assert_array_equal(play(), first)
    assert traces == []
    play(UCB1(n_arms=3, exploration=0.5))  # values are arguments of the traces
    assert traces == []


def test_another_structure_is_traced(traces):
    play_twice()
    del traces[:]
    play(UCB1(n_arms=4), BernoulliArms(n_arms=4))
    assert traces == [UCB1]


def test_an_optimizer_of_optax_is_kept(traces):
    momentum = models.Optimizer(make=optax.sgd, hyperparameters={"learning_rate": 0.01, "momentum": 0.9})
    network = models.Network(input_dim=2, n_arms=3, hidden=(4,), optimizer=momentum)
    learner = contextual.Bandit(model=network, rule=rules.Greedy())
    environment = contextual.LinearContexts(dim=2, n_arms=3)
    play_twice(learner, environment)
    del traces[:]
    play(learner, environment)
    assert traces == []


def test_a_users_learner_is_traced_in_every_call(traces):
    @pytree
    class Mine(UCB1):
        pass

    play_twice(Mine(n_arms=3))
    del traces[:]
    play(Mine(n_arms=3))
    assert traces


def worst_arm(self, key, t, state):
    return -state.mean


def second_arm(self, key, t, state, obs):
    return ArmDecision(jnp.int32(1), jnp.int32(1))


CHANGES = {
    "method": lambda patch: patch.setattr(UCB1, "index", as_own(worst_arm)),
    "method of a user": lambda patch: patch.setattr(UCB1, "index", worst_arm),
    "new method": lambda patch: patch.setattr(UCB1, "select", as_own(second_arm), raising=False),
    "inherited method": lambda patch: patch.setattr(IndexPolicy, "select", as_own(second_arm)),
    "code of a method": lambda patch: patch.setattr(UCB1.index, "__code__", as_own(worst_arm).__code__),
    "function of a module": lambda patch: patch.setattr(ucb1, "log_rounds", lambda t: 0.0 * t),
    "constant": lambda patch: patch.setattr(index_policy, "_UNPLAYED", -1e30),
    "library": lambda patch: patch.setattr(jnp, "sqrt", lambda x: 0.0 * x),
    "module": lambda patch: patch.setattr(ucb1, "jnp", types.SimpleNamespace(sqrt=lambda x: 0.0 * x)),
}


@pytest.mark.parametrize("change", CHANGES)
def test_changed_code_is_played(change, monkeypatch):
    before = play_twice()
    with monkeypatch.context() as patch:
        CHANGES[change](patch)
        changed = play_twice()
        drop_traces()
        np.testing.assert_array_equal(changed, play())
        assert not np.array_equal(changed, before)
    np.testing.assert_array_equal(play(), before)


def test_another_precision_is_traced(traces):
    with jax.enable_x64(False):
        play_twice()
    del traces[:]
    with jax.enable_x64(True):
        play()
    assert traces == [UCB1]


def test_another_setting_is_traced(traces):
    play_twice()
    del traces[:]
    with jax.default_matmul_precision("float32"):
        play()
    assert traces == [UCB1]


def test_traces_during_which_code_changes_are_not_kept(monkeypatch):
    """Another thread may change code and change it back between two calls."""
    store = TraceStore()

    def trace():
        monkeypatch.setattr(index_policy, "_UNPLAYED", 1.0)
        return "of changed code", True

    assert store.get("key", trace) == "of changed code"
    monkeypatch.undo()
    assert store.is_current()
    assert store.get("key", lambda: ("of present code", True)) == "of present code"
    assert store.get("key", lambda: ("not made", True)) == "of present code"


def test_traces_of_other_code_are_not_kept():
    store = TraceStore()
    assert store.get("key", lambda: ("of other code", False)) == "of other code"
    assert store.get("key", lambda: ("of own code", True)) == "of own code"


FACTOR = [0.0]


def make_module():
    module = types.ModuleType("mine")
    vars(module).update(vars(jnp))
    module.sqrt = lambda x: FACTOR[0] * x
    return module


def generate(wrapped):
    scope = {"wraps": functools.wraps(wrapped), "read": lambda: FACTOR[0]}
    exec("@wraps\ndef function(t): return read() * t", scope)
    return scope["function"]


REPLACED = {  # by what reads a variable of a user, in which no snapshot can see a change
    "function": lambda patch: patch.setattr(ucb1, "log_rounds", lambda t: FACTOR[0] * t),
    "partial function": lambda patch: patch.setattr(ucb1, "log_rounds", functools.partial(lambda t: FACTOR[0] * t)),
    "library function": lambda patch: patch.setattr(jnp, "sqrt", lambda x: FACTOR[0] * x),
    "mock": lambda patch: patch.setattr(ucb1, "log_rounds", mock.Mock(side_effect=lambda t: FACTOR[0] * t)),
    "partial function of JAX": lambda patch: patch.setattr(
        ucb1, "log_rounds", jax.tree_util.Partial(lambda t: FACTOR[0] * t)
    ),
    "vectorised function": lambda patch: patch.setattr(ucb1, "log_rounds", jnp.vectorize(lambda t: FACTOR[0] * t)),
    "cached function": lambda patch: patch.setattr(ucb1, "log_rounds", functools.lru_cache(0)(lambda t: FACTOR[0] * t)),
    "property": lambda patch: patch.setattr(Pulls, "mean", property(lambda self: FACTOR[0] * self.total)),
    "generated function": lambda patch: patch.setattr(ucb1, "log_rounds", generate(ucb1.log_rounds)),
    "module": lambda patch: patch.setattr(ucb1, "jnp", make_module()),
    "namespace": lambda patch: patch.setattr(ucb1, "jnp", types.SimpleNamespace(sqrt=lambda x: FACTOR[0] * x)),
}


@pytest.mark.parametrize("replaced", REPLACED)
def test_nothing_is_kept_while_a_users_code_is_in_the_package(replaced, monkeypatch):
    REPLACED[replaced](monkeypatch)
    monkeypatch.setattr(sys.modules[__name__], "FACTOR", [0.0])
    without_exploration = play_twice()
    FACTOR[0] = 100.0
    assert not np.array_equal(play(), without_exploration)


def test_a_clean_process_holds_no_code_of_users():
    assert not CodeSnapshot().holds_user_code


def test_a_released_process_holds_no_traces(traces):
    play_twice()
    process_memory.release()
    del traces[:]
    play()
    assert traces == [UCB1]


def set_code(function):
    return lambda patch: patch.setattr(function, "__code__", function.__code__.replace(co_name="other"))


WITHIN = {  # changes within what a name of a module or a class refers to
    "default values": lambda patch: patch.setattr(index_policy.log_rounds, "__defaults__", (1,)),
    "keyword defaults": lambda patch: patch.setattr(index_policy.log_rounds, "__kwdefaults__", {"t": 1}),
    "property": set_code(Pulls.mean.fget),
    "class method": set_code(UCB1.example.__func__),
    "cached property": set_code(vars(TraceCache)["_store"].func),
    "cached function": set_code(moments._moments.__wrapped__),
    "decorated function": set_code(vars(own_settings)["__wrapped__"]),
    "custom derivative": set_code(elementary._log.fun.__wrapped__),
    "function of optax": set_code(optax.scale_by_adam),
    "private module of optax": lambda patch: patch.setattr(optax._src.transform, "scale_by_adam", optax.identity),
    "table": lambda patch: patch.setitem(MULTIPLIERS["oons"], "no constant", 1.0),
}


@pytest.mark.parametrize("change", WITHIN)
def test_a_snapshot_notices_changes_within_objects(change, monkeypatch):
    before = CodeSnapshot()
    assert before.is_current()
    assert before.is_complete()
    with monkeypatch.context() as patch:
        WITHIN[change](patch)
        assert not before.is_current()
    assert CodeSnapshot().is_current()


def test_a_snapshot_notices_an_array_that_is_changed_in_place():
    before, first = CodeSnapshot(), schedule._INVERSE_ROOTS[0]
    schedule._INVERSE_ROOTS[0] = 2.0
    is_current = before.is_current()
    schedule._INVERSE_ROOTS[0] = first
    assert not is_current


def test_a_snapshot_notices_a_module_that_is_imported_again(monkeypatch):
    before = CodeSnapshot()
    name = "jaxbandits.numerics.elementary"
    monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    assert not before.is_current()


def test_an_import_is_no_change(monkeypatch):
    before = CodeSnapshot()
    name = "jaxbandits.numerics.new"
    monkeypatch.setattr(builtins, "_", "last value of an interactive session", raising=False)
    monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setattr(numerics, "new", sys.modules[name], raising=False)
    assert before.is_current()
    assert not before.is_complete()
    monkeypatch.setattr(numerics, "new", elementary)
    assert not before.is_current()


def test_a_store_notices_changes_in_modules_that_were_imported_later(monkeypatch):
    store, name = TraceStore(), "jaxbandits.numerics.new"
    monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    assert store.is_current()
    monkeypatch.setattr(sys.modules[name], "constant", 1.0, raising=False)
    assert not store.is_current()
