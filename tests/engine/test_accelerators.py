"""Programs for accelerators, forced on a CPU: loops of known length, rounds in blocks, and the same numbers."""

import functools
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms import ALGORITHMS
from jaxbandits.base.pytree import as_arrays, map_traced
from jaxbandits.engine import driver, loop, program
from jaxbandits.environments import ENVIRONMENTS
from jaxbandits.linear import HvtUCB
from jaxbandits.numerics import rng
from jaxbandits.programs import compilation
from jaxbandits.simulation import simulate
from jaxbandits.tracing import batching, target
from jaxbandits.tracing.vmap_last import TracedFunction
from tests.hlo_loops import kernels, open_loops
from tests.loop_predicates import predicates_that_are_flags
from tests.toy_problems import Noisy, Shrink

WIDTH = 32
# They look at all data again, whose length grows: no block has a number of steps that is known.
AT_ALL_DATA = (
    "linear/heavy_oful", "linear/tofu", "glm/ada_ofu_ecolog", "glm/glm_ucb", "glm/rs_glincb", "glm/ofuglb",
    "glm/ofulog_r",
)  # fmt: skip


KEY = jax.random.key(3, impl="threefry2x32")
CPU = target.Target("cpu", open_loops=True)
GRAPH, BLOCKS = target.Target("gpu", open_loops=True), target.Target("gpu", open_loops=False)


def _trial(algorithm, environment):
    return loop.trace_trial((), *as_arrays((algorithm, environment)), KEY, jnp.int32(0))


def _arguments(algorithm, environment):
    """Algorithm, environment and carry of a batch, as `play_block` takes them, of fresh trials."""
    totals = _trial(algorithm, environment).carry.totals
    pair = as_arrays((algorithm, environment))
    algorithm, environment = map_traced(lambda x: jnp.broadcast_to(x[..., None], (*x.shape, WIDTH)), pair)

    def start(algorithm, environment, seed_index):
        return loop.init_trial(KEY, algorithm, environment, seed_index)

    start = TracedFunction.trace(start, *pair, jnp.int32(0))
    carry = loop.vmap_trials(start, WIDTH, (), algorithm, environment, jnp.arange(WIDTH, dtype=jnp.int32))
    totals = jax.tree.map(lambda x: jnp.zeros((*x.shape, WIDTH), x.dtype), totals)
    return algorithm, environment, carry._replace(totals=totals)


def _compile(kind, function, *arguments):
    with target.trace_for(kind):
        lowered = jax.jit(lambda *a: function(*a)).lower(*arguments)
    return lowered.compile({"xla_backend_optimization_level": 0})  # of machine code: half the time


@pytest.mark.slow
def test_a_block_has_loops_of_known_length_and_the_numbers_of_the_normal_form():
    """Hvt-UCB whose estimates leave the ball: the projection is 48 masked steps instead of a few."""
    environment = ENVIRONMENTS["linear/heavy_tailed"].example
    learner = HvtUCB.practical(dim=2, horizon=100, norm_bound=0.3)
    arguments = _compile(CPU, lambda: _arguments(learner, environment))()

    def block(*arguments):
        return loop.play_block(_trial(learner, environment), WIDTH, 40, *arguments)

    normal, fixed = (_compile(kind, block, *arguments, jnp.int32(0)) for kind in (CPU, BLOCKS))
    of_loops, of_blocks = normal.as_text() or "", fixed.as_text() or ""
    assert open_loops(of_loops)
    assert '"known_trip_count"' in of_blocks and open_loops(of_blocks) == [] and kernels(of_blocks) > kernels(of_loops)
    (expected, _), (reached, t) = normal(*arguments, jnp.int32(0)), fixed(*arguments, jnp.int32(0))
    norms = np.linalg.norm(expected.alg_state.theta, axis=0)
    assert t == 40 and (norms > 0.3 * (1 - 1e-9)).any() and (norms <= 0.3 * (1 + 1e-12)).all()
    for a, b in zip(jax.tree.leaves(expected[1:]), jax.tree.leaves(reached[1:]), strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-10, atol=1e-12)  # 40 rounds of some 100 roundings each


@pytest.mark.quick_cases("dro/smd", "coco/lpm", "oco/msmwc", "linear/menu", "linear/hvt_ucb")
@pytest.mark.parametrize("name", [name for name in ALGORITHMS if name not in AT_ALL_DATA])
def test_every_loop_of_a_round_has_a_known_length(name):
    """Read off the trace: a loop whose bounds are Python's is a `scan`, any other a `while`."""
    entry = ALGORITHMS[name]
    with target.trace_for(BLOCKS):
        pair = entry.example, ENVIRONMENTS[entry.environments[0]].example
        arguments = jax.eval_shape(lambda: _arguments(*pair))
        jaxpr = jax.make_jaxpr(lambda *a: loop.play_block(_trial(*pair), WIDTH, 64, *a))(*arguments, jnp.int32(0))
    assert "while[" not in str(jaxpr).replace(" ", "")


@pytest.mark.quick_cases("armed/thompson_beta", "dro/smd", "glm/glb_omd", "linear/phased_elimination", "oco/oons")
@pytest.mark.parametrize("name", [*ALGORITHMS])
def test_every_loop_of_a_graph_computes_its_predicate(name):
    """Of the programs of one trial and of a batch (`tracing.loops`)."""
    pair = as_arrays((ALGORITHMS[name].example, ENVIRONMENTS[ALGORITHMS[name].environments[0]].example))
    with target.trace_for(GRAPH):
        trial = _trial(*pair)
        for width in (1, WIDTH):

            def of_batch(x, width=width):
                return jax.ShapeDtypeStruct(x.shape if width == 1 else (*x.shape, width), x.dtype)

            arguments = *map_traced(of_batch, pair), jax.tree.map(of_batch, trial.carry)
            play = functools.partial(loop.play_block, trial, width, 4)
            assert predicates_that_are_flags(jax.make_jaxpr(play)(*arguments, jnp.int32(0))) == 0


# Steps of loops in a round where loops have a fixed length, almost all of them masked.
STEPS = {
    "armed/catoni_ucb": 12, "armed/discounted_ts": 19, "armed/median_of_means_ucb": 128, "armed/per_item": 17,
    "armed/sw_kl_ucb": 20, "armed/sw_ucb": 20, "armed/thompson_beta": 19,
    "explore/sequential_halving": 15, "explore/top_two_thompson": 171, "explore/track_and_stop": 36,
    "combinatorial/cascade_ts": 20, "combinatorial/cts": 20, "duels/double_ts": 41,
    "linear/hvt_identification": 48, "linear/hvt_mdp": 48, "linear/hvt_ucb": 48, "linear/menu": 5,
    "linear/phased_elimination": 10, "linear/sw_lin_ucb": 20,
    "glm/ecolog": 5760, "glm/glb_omd": 48, "glm/glm_ts": 48, "glm/gloc": 48, "glm/oful_mlogb": 48,
    "oco/anytime_ca_oons": 161, "oco/ca_oons": 161, "oco/cla_oons": 96, "oco/msmwc": 65, "oco/msmwc_master": 65,
    "oco/oons": 96, "coco/bfw_tvc": 21, "coco/lbpm": 1000, "coco/loo_bogd": 1000, "coco/lpm": 1000,
    "coco/scbfw_tvc": 6, "dro/soma": 65,
}  # fmt: skip


def _loop_steps(value):
    """Count the steps of scans in jaxprs, those of inner ones times the steps of the outer ones."""
    if isinstance(value, tuple | list):
        return sum(map(_loop_steps, value))
    value = getattr(value, "jaxpr", value)
    steps = 0
    for eqn in getattr(value, "eqns", ()):
        inside = _loop_steps(tuple(eqn.params.values()))
        if eqn.primitive.name == "scan":
            length, unroll = eqn.params["length"], eqn.params["unroll"]
            is_written_out = 1 < unroll >= length  # a loop in no program, such as `jnp.polyval` of jax 0.11
            inside = length * (inside if is_written_out else max(inside, 1))
        steps += inside
    return steps


@pytest.mark.slow
def test_steps_of_a_round_on_a_target_without_open_loops():
    steps = {}
    for name in set(ALGORITHMS) - set(AT_ALL_DATA):
        entry = ALGORITHMS[name]
        with target.trace_for(BLOCKS):
            trial = _trial(entry.example, ENVIRONMENTS[entry.environments[0]].example)
        steps[name] = _loop_steps(trial.play_round.jaxpr)
    assert {name: n for name, n in steps.items() if n} == STEPS


@pytest.mark.quick_cases("linear/oful")
@pytest.mark.parametrize("name", [*ALGORITHMS])
def test_numbers_of_programs_for_gpus_with_graphs(name):
    """They have other barriers and concatenations than those for CPUs, and the same numbers to rounding.

    In few trials rounding decides between two plays of equal value, or when an iteration ends.
    """
    entry = ALGORITHMS[name]
    pair = entry.example, ENVIRONMENTS[entry.environments[0]].example
    arguments = _compile(CPU, lambda: _arguments(*pair))()
    results = []
    for kind in (CPU, GRAPH):
        with target.trace_for(kind):
            trial = _trial(*pair)
        played = _compile(kind, lambda *a, trial=trial: loop.play_block(trial, WIDTH, 12, *a), *arguments, jnp.int32(0))
        results.append(jax.tree.leaves(played(*arguments, jnp.int32(0))[0][1:]))
    differs = np.zeros(WIDTH, bool)
    for on_cpu, on_gpu in zip(*results, strict=True):
        close = np.isclose(on_gpu, on_cpu, rtol=1e-8, atol=1e-10, equal_nan=True).reshape(-1, WIDTH)
        differs |= ~close.all(axis=0)
    assert differs.mean() <= 0.1


def test_a_trial_is_traced_for_the_device_that_will_run_it(monkeypatch):
    pair = as_arrays((ALGORITHMS["linear/hvt_ucb"].example, ENVIRONMENTS["linear/heavy_tailed"].example))
    traces = program.TraceCache()
    gpu = types.SimpleNamespace(platform="gpu")
    has_loop = {}
    for form in ("blocks", "graph"):
        monkeypatch.setenv("JAXBANDITS_GPU_LOOPS", form)
        has_loop[form] = "while[" in str(traces.get((), *pair, gpu).play_round.jaxpr)
    assert has_loop == {"blocks": False, "graph": True}
    assert "while[" in str(traces.get((), *pair, jax.local_devices()[0]).play_round.jaxpr)


@pytest.mark.parametrize("most", [5, 9])
def test_masked_steps_are_those_of_the_loop(most):
    """Of loops that stop at once, early and late; what a spared step would make, a NaN, stays out."""

    def logs(x):
        def step(now):
            return jnp.log(now[0]), now[1] + 1

        return batching.while_loop(lambda now: (now[0] > 0.0) & (now[1] < 5), step, (x, 0), most)

    x = jnp.asarray([-1.0, 0.5, 2.0, 3.0, jnp.inf])
    normal, fixed = (_compile(kind, jax.vmap(logs), x)(x) for kind in (CPU, BLOCKS))
    np.testing.assert_array_equal(fixed, normal)
    assert fixed[1].tolist() == [0, 1, 2, 3, 5]


def test_counts_need_no_more_steps_than_are_made():
    """Poisson variates of both methods, up to the largest mean of either."""
    means = jnp.log(jnp.asarray([1e-3, 0.7, 9.999, 10.0, 45.0, 1e4, jnp.inf]))
    pairs = jax.random.split(jax.random.key(0, impl="threefry2x32"), 7 * 64), jnp.tile(means, 64)
    normal, fixed = (_compile(kind, jax.vmap(rng.poisson), *pairs)(*pairs) for kind in (CPU, BLOCKS))
    np.testing.assert_array_equal(fixed, normal)
    np.testing.assert_array_equal(np.isinf(fixed), np.isinf(pairs[1]))


@pytest.mark.slow
def test_blocks_give_the_rows_of_the_loop_however_rounds_are_cut(monkeypatch, tmp_path):
    stops = [1, 2, 66, 128, 300, 333]

    def run(**more):
        settings = {"progress": False, "width": WIDTH, "record_points": stops, "workers": 1}
        result = simulate(Shrink(rate=0.01), Noisy(scale=1.0), 333, 40, **settings, **more)["Shrink"]
        return {name: result.get(name) for name in ("loss", "played", "newest")}

    def same(rows, others, **tolerance):
        for name, values in rows.items():
            np.testing.assert_allclose(values, others[name], **tolerance)

    normal = run()
    compilation.clear_compiled()
    monkeypatch.setattr(target, "is_accelerator", lambda platform: True)
    calls, original = [], driver.play_call

    def play_and_count(*arguments):
        if len(calls) == 30:
            calls.append(None)
            raise KeyboardInterrupt
        carry, end = original(*arguments)
        calls.append(end - arguments[5])
        return carry, end

    whole = run()
    monkeypatch.setattr(driver, "play_call", play_and_count)
    short_calls = {"seconds_per_call": 1e-9, "checkpoint": tmp_path}
    with pytest.raises(KeyboardInterrupt):
        run(**short_calls, save_every=0.0)
    resumed = run(**short_calls)
    monkeypatch.undo()
    compilation.clear_compiled()
    assert set(calls) == {64, 1, None} and whole["loss"].shape == (1, 40, 6)
    same(whole, resumed, rtol=0.0)
    same(whole, normal, rtol=1e-12)
