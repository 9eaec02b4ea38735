"""Programs: bounded in number, shared data in one copy, one trial alone without an axis of trials."""

import collections
import dataclasses
import gc
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.armed import UCB1, BernoulliArms
from jaxbandits.base.pytree import pytree
from jaxbandits.contextual import Bandit, LinearContexts, models, rules
from jaxbandits.dro import SMD, Online, SyntheticGroups
from jaxbandits.engine import loop
from jaxbandits.engine import program as program_lib
from jaxbandits.engine.driver import compile_job, trace_job
from jaxbandits.engine.jobs import make_jobs
from jaxbandits.engine.meters import Metric
from jaxbandits.engine.options import make_options
from jaxbandits.engine.plan import Job
from jaxbandits.engine.trial_keys import base_key, trial_keys
from jaxbandits.engine.width import bytes_of, bytes_of_round, default_width, least_width
from jaxbandits.linear import OFUL, TOFU
from jaxbandits.programs import compilation
from jaxbandits.programs.compilation import LRUCache
from jaxbandits.simulation import Meter, simulate
from jaxbandits.types import PointDecision
from tests.polling import wait_until
from tests.toy_problems import Noisy, Shrink, Slow, Vectors


def _job(algorithm, environment, width=32, n_seeds=64):
    return Job("job", algorithm, environment, ({},), 10, np.array([10]), n_seeds, 0, (), width)


def _text(program):
    return program.play_rounds.as_text()


@pytest.mark.usefixtures("compile_here")
@pytest.mark.parametrize("width", [1, 64])
def test_shared_data_exist_once_however_many_trials_run_on_them(width):
    table = np.random.default_rng(0).random((2000, 3))
    job = _job(Shrink(), Vectors(table=table), width)
    program = compile_job(job, jax.devices()[0])
    memory = program.play_rounds.memory_analysis()
    assert table.nbytes <= memory.argument_size_in_bytes < table.nbytes + 300 * width  # not once per trial
    assert memory.temp_size_in_bytes + memory.generated_code_size_in_bytes < table.nbytes  # and no constant
    assert f"f64[2000,3,{width}]" not in _text(program) and f"f64[{width},2000,3]" not in _text(program)
    environment = job.batch(0, width)[1]
    assert environment.table.shape == table.shape and environment.limit.shape == ((width,) if width > 1 else ())


def test_other_data_of_the_same_shape_reuse_the_program():
    def run(table):
        settings = {"progress": False, "width": 32, "record_points": 1}
        return simulate(Shrink(), Vectors(table=table), 4, 2, **settings).final("risk")[0, 0]

    first = run(np.zeros((4, 3)))
    compiled = compilation.compiled_count()
    np.testing.assert_allclose(run(np.ones((4, 3))) - first, 4.0)
    assert compilation.compiled_count() == compiled


def test_data_go_to_the_device_once_per_job(monkeypatch):
    put = []
    original = jax.device_put

    def counting(x, *arguments, **settings):
        put.extend(leaf for leaf in jax.tree.leaves(x) if getattr(leaf, "shape", None) == (50, 3))
        return original(x, *arguments, **settings)

    monkeypatch.setattr(jax, "device_put", counting)
    simulate(Shrink(), Vectors(table=np.ones((50, 3))), 4, 5, progress=False, width=1, workers=2)  # five batches
    assert len(put) == 1


def test_a_trial_is_traced_once_in_a_run_for_all_widths(monkeypatch):
    traced, trace = [], loop.trace_trial
    monkeypatch.setattr(program_lib, "_agreements", collections.OrderedDict())
    monkeypatch.setattr(loop, "trace_trial", lambda *args: (traced.append(1), trace(*args))[1])
    traces = program_lib.TraceCache()
    for width in (1, 32):
        compile_job(_job(Shrink(), Noisy(), width), jax.devices()[0], traces)
    assert len(traced) == 2  # the second time without JAX's caches, since the learner is no code of the package


def test_a_later_call_traces_a_learner_of_others_once(monkeypatch):
    traced, trace = [], loop.trace_trial
    monkeypatch.setattr(program_lib, "_agreements", collections.OrderedDict())
    monkeypatch.setattr(loop, "trace_trial", lambda *args: (traced.append(1), trace(*args))[1])
    for traces in (2, 1, 1):
        traced.clear()
        trace_job(_job(Shrink(), Noisy()))
        assert len(traced) == traces


def test_a_learner_of_the_package_is_traced_once(monkeypatch):
    traced, trace = [], loop.trace_trial
    monkeypatch.setattr(loop, "trace_trial", lambda *args: (traced.append(1), trace(*args))[1])
    learner, environment = SMD(dim=3, n_groups=2, horizon=9), SyntheticGroups(dim=3, n_groups=2)
    trace_job(_job(learner, environment))
    assert len(traced) == 1


def test_runs_that_share_traces_trace_a_learner_once(monkeypatch):
    @pytree
    class Mine(UCB1):
        """Learner that every call outside of `share_traces` traces anew."""

    traced, trace = [], loop.trace_trial
    monkeypatch.setattr(loop, "trace_trial", lambda *args: (traced.append(1), trace(*args))[1])
    learner, settings = Mine(n_arms=2), {"progress": False, "record_points": 1}

    def run(mean):
        return simulate(learner, BernoulliArms.from_means([mean, 0.5]), 9, 2, **settings).final("regret")

    with program_lib.share_traces():
        low, high = run(0.1), run(0.9)
    assert len(traced) == 2  # the second time without JAX's caches
    assert (run(0.1) == low).all() and (run(0.9) == high).all() and (low != high).any()
    assert len(traced) == 4


SHIFT = 1.0


@pytree
class ShrinkByGlobal(Shrink):
    """Plays what a global says."""

    def select(self, key, t, state, obs):
        return PointDecision.at(jnp.zeros(()) + SHIFT)


def shift(played):
    del played
    return SHIFT


@pytest.mark.parametrize(("learner", "metric"), [(ShrinkByGlobal(), "loss"), (Shrink(), "shift")])
def test_a_global_that_changed_is_another_program(learner, metric, monkeypatch):
    """As where a cell of a notebook runs once more: of the learner, and of a meter alone."""

    def run():
        result = simulate(learner, Noisy(), 4, 2, progress=False, meters=[Meter("shift", shift)] * (metric == "shift"))
        return result.final(metric)[0, 0]

    before = run()
    compiled = compilation.compiled_count()
    assert run() == before and compilation.compiled_count() == compiled
    monkeypatch.setitem(globals(), "SHIFT", 3.0)
    assert run() != before
    compiled = compilation.compiled_count()
    monkeypatch.setitem(globals(), "SHIFT", 1.0)
    assert run() == before and compilation.compiled_count() == compiled  # those of before are still there


@pytest.mark.parametrize("seed", [0, 1, 2**31, 2**32 - 1])
def test_a_run_begins_with_the_key_of_its_seed(seed):
    key = jax.random.key_data(jax.random.key(seed, impl="threefry2x32"))
    np.testing.assert_array_equal(base_key(seed), key)


@pytest.mark.parametrize("partitionable", [True, False])
def test_keys_of_trials_are_the_ones_that_jax_derives(partitionable):
    indices = np.array([0, 1, 2, 77, 2**31 - 1], np.int32)
    for seed in (0, 3, 2**32 - 1):
        with jax.threefry_partitionable(partitionable):
            expected = jax.vmap(loop.trial_keys, in_axes=(None, 0))(jax.random.key(seed), indices)
            found, alone = trial_keys(base_key(seed), indices), trial_keys(base_key(seed), indices[3])
        for name, keys in expected._asdict().items():
            words = np.asarray(jax.random.key_data(keys))
            np.testing.assert_array_equal(getattr(found, name), words)
            np.testing.assert_array_equal(getattr(alone, name), words[3])
            assert getattr(found, name).dtype == np.uint32


def test_one_trial_alone_has_no_axis_of_trials():
    alone, many = (compile_job(_job(Shrink(), Noisy(), width), jax.devices()[0]) for width in (1, 32))
    assert alone.carry_shape.alg_state.shape == () and many.carry_shape.alg_state.shape == (32,)
    assert alone.carry_shape.streams.step.shape == ()
    assert alone.carry_shape.totals.recent[Metric("sum", "loss")].shape == ()


@pytree
class Marker(Shrink):
    """The learner with constants of several types, and a key of another generator, in its state."""

    def init(self, key):
        return super().init(key), (jnp.array(True), jnp.int8(3), None, jnp.zeros((0,)), jax.random.key(7, impl="rbg"))

    def select(self, key, t, state, obs):
        return super().select(key, t, state[0], obs)

    def update(self, key, t, state, obs, decision, feedback):
        return super().update(key, t, state[0], obs, decision, feedback), (jnp.array(False), *state[1][1:])

    def recommend(self, state):
        return jnp.where(state[1][0], 0.0, state[0])


@pytest.mark.parametrize("width", [1, 32])
def test_a_state_may_contain_constants_and_keys(width):
    found = simulate(Marker(rate=0.5), Noisy(), 3, 2, record_points=3, width=width, progress=False)
    np.testing.assert_array_equal(found.get("newest")[0], [[0.5, 0.25, 0.125]] * 2)


def test_the_trial_axis_is_last():
    many = compile_job(_job(Shrink(), Vectors(table=np.ones((4, 3)))), jax.devices()[0])
    assert many.carry_shape.totals.recent[Metric("sum", "risk")].shape == (3, 32)


@pytest.mark.slow
def test_programs_are_kept_within_a_bound_least_recently_used_first_out(monkeypatch):
    cache = LRUCache(6)
    monkeypatch.setattr(compilation, "_functions", cache)
    device = jax.devices()[0]

    def run(work):
        simulate(Slow(work=work), Noisy(), 3, 2, progress=False, width=1, record_points=1)

    def alive():
        gc.collect()
        return len(device.client.live_executables())

    run(1)
    run(2)
    before = alive()
    for work in range(3, 8):
        run(work)
        run(2)  # used again and again, and so never forgotten
    assert len(cache) <= 6
    wait_until(lambda: alive() <= before + 4, looks=40)  # a thread may hold the last ones for a moment
    compiled = []
    monkeypatch.setattr(compilation, "_compile", lambda *_: compiled.append(1))
    program = compile_job(_job(Slow(work=2), Noisy(), 1, 2), device)
    assert program.play_rounds is not None and not compiled


def test_a_cache_builds_each_value_once_and_again_after_a_failure():
    cache, built = LRUCache(2), []

    def build(name):
        built.append(name)
        if name == "bad" and built.count("bad") == 1:
            raise ValueError(name)
        return name

    for name in ("a", "b", "a", "c", "a", "b"):  # b goes when c comes
        assert cache.get(name, lambda name=name: build(name)) == name
    assert built == ["a", "b", "c", "b"]
    with pytest.raises(ValueError, match="bad"):
        cache.get("bad", lambda: build("bad"))
    assert cache.get("bad", lambda: build("bad")) == "bad"


def test_the_default_width_falls_with_the_bytes_of_a_trial():
    cpu = jax.devices("cpu")[0]
    sizes = (8, 2**10, 3 * 2**10, 3 * 2**10 + 1, 7 * 2**14, 7 * 2**14 + 1, 2**20, 2**30)
    widths = [default_width(n, cpu) for n in sizes]
    assert widths == [64, 64, 64, 16, 16, 1, 1, 1]

    class Accelerator:
        platform = "gpu"

        def __init__(self, limit):
            self.limit = limit

        def memory_stats(self):
            if self.limit is None:
                raise NotImplementedError  # as devices do that keep no statistics
            return {"bytes_limit": self.limit}

    for limit, n_bytes, width in (
        (2**34, 100, 8192),
        (2**34, 2**20, 2048),
        (2**34, 2**28, 1),
        (2**34, 2**26, 32),
        (None, 100, 8192),
    ):
        assert default_width(n_bytes, Accelerator(limit)) == width
    assert default_width(2**20, Accelerator(2**34 - 2**20)) in (1024, 2048)  # a power of two


def test_what_passes_in_a_round_counts_beside_the_states():
    """Rows of 20 groups in R^1000 leave no room beside them, though states alone would; one row of few groups does."""

    def width(learner, **sizes):
        told = {"dim": sizes["dim"], "n_groups": sizes["n_groups"]}
        return make_jobs([learner(horizon=9, **told)], SyntheticGroups(**told), 9, 1, 1, make_options(), cpu)[
            0
        ].whole.width

    cpu = jax.devices("cpu")[0]
    assert width(SMD, dim=5, n_groups=5) == width(Online, dim=10, n_groups=10) == 64
    assert width(SMD, dim=10, n_groups=10) == 16
    assert width(SMD, dim=1000, n_groups=20) == width(Online, dim=1000, n_groups=20) == 1
    trial = trace_job(_job(SMD(dim=50, n_groups=20, horizon=9), SyntheticGroups(dim=50, n_groups=20)))
    states, rows = bytes_of((trial.carry.env_state, trial.carry.alg_state)), bytes_of(trial.interaction)
    assert rows > 20 * 50 * jnp.result_type(float).itemsize  # the gradients, not the rows behind them
    assert bytes_of_round(trial) == 2 * states + rows < 2 * (states + 1.2 * 20 * 50 * 8)


def test_trials_with_a_history_run_side_by_side_unless_it_is_huge():
    """Also within a `Bandit`; the `min_width` of a model and a given width decide before the history does."""
    network = models.Network(input_dim=2, n_arms=3, hidden=(4,), capacity=10_000, batch=8)
    gradient = models.NeuralGradient(input_dim=2, n_arms=3, capacity=10_000)
    env, cpu = LinearContexts(dim=2, n_arms=3), jax.devices("cpu")[0]
    linear = models.NeuralLinear(network=network, model=models.Ridge(n_arms=3, dim=4))
    members = [models.Ensemble(model=model, n_members=2) for model in (network, gradient)]
    for model, width in ((linear, 16), (network, 16), (gradient, 1), (members[0], 16), (members[1], 1)):
        learner = Bandit(model=model, rule=rules.Greedy())
        assert make_jobs([learner], env, 9, 1, 1, make_options(), cpu)[0].whole.width == width
        assert make_jobs([learner], env, 9, 1, 1, make_options(width=32), cpu)[0].whole.width == 32
    assert [least_width(TOFU.example(), size) for size in (2**24, 2**24 + 1)] == [16, 1]
    assert least_width(OFUL(dim=2), 1) == least_width(dataclasses.replace(network, capacity=None), 1) == 1
    assert least_width(types.SimpleNamespace(min_width=32, capacity=None), 1) == 32


def test_a_large_trial_runs_alone_by_default():
    trial = trace_job(_job(Shrink(), Noisy()))
    assert bytes_of((trial.carry.env_state, trial.carry.alg_state)) == 16
    result = simulate(Shrink(start=np.ones(2**12)), Noisy2D(), 2, 3, progress=False, record_points=1)
    assert result["Shrink"].spec["width"] == 1 and len(result["Shrink"].timing["ns_per_round"]) == 3
    assert simulate(Shrink(), Noisy(), 2, 3, progress=False, record_points=1)["Shrink"].spec["width"] == 64


class Noisy2D(Noisy):
    """The loss of the first coordinate of a vector that is played."""

    def step(self, key, t, state, obs, decision):
        return super().step(key, t, state, obs, decision._replace(play=decision.play[0]))

    def at_record(self, state, recommendation):
        return {"newest": recommendation[0]}


jax.tree_util.register_pytree_node(
    Noisy2D, lambda e: ((e.scale, e.fail_at), None), lambda _, leaves: Noisy2D(scale=leaves[0], fail_at=leaves[1])
)
