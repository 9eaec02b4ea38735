"""Traces of this package's code serve later calls until any code that they were made from changes."""

import sys
import types

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
from jaxbandits.numerics import elementary
from jaxbandits.programs.trace_store import CodeSnapshot, drop_traces
from jaxbandits.simulation import simulate
from jaxbandits.types import ArmDecision

ROUNDS = 40


def play(learner=None, environment=None):
    """Return the regret of some trials."""
    learner, environment = learner or UCB1(n_arms=3), environment or BernoulliArms(n_arms=3)
    run = simulate(learner, environment, ROUNDS, 4, progress=False, workers=1)
    return np.asarray(run.get("regret"))


@pytest.fixture
def traces(monkeypatch):
    """Return a list of the types of the learners that are traced."""
    seen, trace_trial = [], loop.trace_trial

    def note(meters, algorithm, *args):
        seen.append(type(algorithm))
        return trace_trial(meters, algorithm, *args)

    monkeypatch.setattr(loop, "trace_trial", note)
    return seen


def test_a_second_call_traces_nothing(traces):
    first = play()
    del traces[:]
    np.testing.assert_array_equal(play(), first)
    assert traces == []
    play(UCB1(n_arms=3, exploration=0.5))  # values are arguments of the traces
    assert traces == []


def test_another_structure_is_traced(traces):
    play()
    del traces[:]
    play(UCB1(n_arms=4), BernoulliArms(n_arms=4))
    assert traces == [UCB1]


def test_an_optimizer_of_optax_is_kept(traces):
    momentum = models.Optimizer(make=optax.sgd, hyperparameters={"learning_rate": 0.01, "momentum": 0.9})
    network = models.Network(input_dim=2, n_arms=3, hidden=(4,), optimizer=momentum)
    learner = contextual.Bandit(model=network, rule=rules.Greedy())
    environment = contextual.LinearContexts(dim=2, n_arms=3)
    play(learner, environment)
    del traces[:]
    play(learner, environment)
    assert traces == []


def test_a_users_learner_is_traced_in_every_call(traces):
    @pytree
    class Mine(UCB1):
        pass

    play(Mine(n_arms=3))
    del traces[:]
    play(Mine(n_arms=3))
    assert traces


def worst_arm(self, key, t, state):
    return -state.mean


def second_arm(self, key, t, state, obs):
    return ArmDecision(jnp.int32(1), jnp.int32(1))


def as_own(function):
    """Return a function that seems to be of this package, so that only a snapshot notices it."""
    code = function.__code__.replace(co_filename=ucb1.__file__)
    return types.FunctionType(code, function.__globals__, function.__name__, None, function.__closure__)


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
    before = play()
    with monkeypatch.context() as patch:
        CHANGES[change](patch)
        changed = play()
        drop_traces()
        np.testing.assert_array_equal(changed, play())
        assert not np.array_equal(changed, before)
    np.testing.assert_array_equal(play(), before)


def test_another_precision_is_traced(traces):
    with jax.enable_x64(False):
        play()
    del traces[:]
    with jax.enable_x64(True):
        play()
    assert traces == [UCB1]


def test_code_that_changes_during_a_trace_is_not_kept(traces, monkeypatch):
    """Another thread may change code and change it back between two calls."""
    index = UCB1.index

    def index_in_between(self, key, t, state):
        monkeypatch.setattr(UCB1, "index", index)
        return worst_arm(self, key, t, state)

    drop_traces()
    monkeypatch.setattr(UCB1, "index", as_own(index_in_between))
    play()
    del traces[:]
    play()
    assert traces == [UCB1]


def test_a_released_process_holds_no_traces(traces):
    play()
    process_memory.release()
    del traces[:]
    play()
    assert traces == [UCB1]


def other_code(*args):
    return args


def set_code(function):
    return lambda patch: patch.setattr(function, "__code__", other_code.__code__)


WITHIN = {  # changes within what a name of a module or a class refers to
    "default values": lambda patch: patch.setattr(index_policy.log_rounds, "__defaults__", (1,)),
    "property": set_code(Pulls.mean.fget),
    "class method": set_code(UCB1.example.__func__),
    "cached property": set_code(vars(TraceCache)["_store"].func),
    "cached function": set_code(moments._moments.__wrapped__),
    "custom derivative": set_code(elementary._log.fun.__wrapped__),
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


def test_a_snapshot_notices_a_module_that_is_imported_again(monkeypatch):
    before = CodeSnapshot()
    name = "jaxbandits.numerics.elementary"
    monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    assert not before.is_current()


def test_an_import_is_no_change(monkeypatch):
    before = CodeSnapshot()
    name = "jaxbandits.numerics.new"
    monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setattr(numerics, "new", sys.modules[name], raising=False)
    assert before.is_current()
    assert not before.is_complete()
    monkeypatch.setattr(numerics, "new", elementary)
    assert not before.is_current()
