"""Programs for accelerators, forced on a CPU: loops of known length, rounds in blocks, and the same numbers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms import ALGORITHMS
from jaxbandits.base.pytree import as_arrays, map_traced
from jaxbandits.environments import ENVIRONMENTS
from jaxbandits.linear import HvtUCB
from jaxbandits.numerics import rng
from jaxbandits.simulation import compilation, driver, loop, program, simulate
from jaxbandits.tracing import batching, target
from jaxbandits.tracing.vmap_last import TracedFunction
from tests.hlo import kernels, open_loops
from tests.toys import Noisy, Shrink

WIDTH = 32
# They look at all data again, whose length grows: no block has a number of steps that is known.
AT_ALL_DATA = (
    "linear/heavy_oful", "linear/tofu", "glm/ada_ofu_ecolog", "glm/glm_ucb", "glm/rs_glincb", "glm/ofuglb",
    "glm/ofulog_r",
)  # fmt: skip


KEY = jax.random.key(3, impl="threefry2x32")


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


def _compiled(platform, function, *arguments):
    with target.target_platform(platform):
        lowered = jax.jit(lambda *a: function(*a)).lower(*arguments)
    return lowered.compile({"xla_backend_optimization_level": 0})  # of machine code: half the time


def test_a_block_has_loops_of_known_length_and_the_numbers_of_the_normal_form():
    """Hvt-UCB whose estimates leave the ball: the projection is 48 masked steps instead of a few."""
    environment = ENVIRONMENTS["linear/heavy_tailed"].example
    learner = HvtUCB.practical(dim=2, horizon=100, norm_bound=0.3)
    arguments = _compiled("cpu", lambda: _arguments(learner, environment))()

    def block(*arguments):
        return loop.play_block(_trial(learner, environment), WIDTH, 40, *arguments)

    normal, fixed = (_compiled(platform, block, *arguments, jnp.int32(0)) for platform in ("cpu", "gpu"))
    of_loops, of_blocks = normal.as_text() or "", fixed.as_text() or ""
    assert open_loops(of_loops)
    assert '"known_trip_count"' in of_blocks and open_loops(of_blocks) == [] and kernels(of_blocks) > kernels(of_loops)
    (expected, _), (reached, t) = normal(*arguments, jnp.int32(0)), fixed(*arguments, jnp.int32(0))
    norms = np.linalg.norm(expected.alg_state.theta, axis=0)
    assert t == 40 and (norms > 0.3 * (1 - 1e-9)).any() and (norms <= 0.3 * (1 + 1e-12)).all()
    for a, b in zip(jax.tree.leaves(expected[1:]), jax.tree.leaves(reached[1:]), strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-10, atol=1e-12)  # 40 rounds of some 100 roundings each


@pytest.mark.parametrize("name", [name for name in ALGORITHMS if name not in AT_ALL_DATA])
def test_every_loop_of_a_round_has_a_known_length(name):
    """Read off the trace: a loop whose bounds are Python's is a `scan`, any other a `while`."""
    entry = ALGORITHMS[name]
    with target.target_platform("gpu"):
        pair = entry.example, ENVIRONMENTS[entry.environments[0]].example
        arguments = jax.eval_shape(lambda: _arguments(*pair))
        jaxpr = jax.make_jaxpr(lambda *a: loop.play_block(_trial(*pair), WIDTH, 64, *a))(*arguments, jnp.int32(0))
    assert "while[" not in str(jaxpr).replace(" ", "")


def test_a_trial_is_traced_for_the_platform_where_it_will_run():
    pair = as_arrays((ALGORITHMS["linear/hvt_ucb"].example, ENVIRONMENTS["linear/heavy_tailed"].example))
    traces = program.TraceCache()
    on_cpu, on_gpu = (str(traces.get((), *pair, platform).play_round.jaxpr) for platform in ("cpu", "gpu"))
    assert "while[" in on_cpu and "while[" not in on_gpu


@pytest.mark.parametrize("most", [5, 9])
def test_masked_steps_are_those_of_the_loop(most):
    """Of loops that stop at once, early and late; what a spared step would make, a NaN, stays out."""

    def logs(x):
        def step(now):
            return jnp.log(now[0]), now[1] + 1

        return batching.while_loop(lambda now: (now[0] > 0.0) & (now[1] < 5), step, (x, 0), most)

    x = jnp.asarray([-1.0, 0.5, 2.0, 3.0, jnp.inf])
    normal, fixed = (_compiled(platform, jax.vmap(logs), x)(x) for platform in ("cpu", "gpu"))
    np.testing.assert_array_equal(fixed, normal)
    assert fixed[1].tolist() == [0, 1, 2, 3, 5]


def test_counts_need_no_more_steps_than_are_made():
    """Poisson variates of both methods, up to the largest mean of either."""
    means = jnp.log(jnp.asarray([1e-3, 0.7, 9.999, 10.0, 45.0, 1e4, jnp.inf]))
    pairs = jax.random.split(jax.random.key(0, impl="threefry2x32"), 7 * 64), jnp.tile(means, 64)
    normal, fixed = (_compiled(platform, jax.vmap(rng.poisson), *pairs)(*pairs) for platform in ("cpu", "gpu"))
    np.testing.assert_array_equal(fixed, normal)
    np.testing.assert_array_equal(np.isinf(fixed), np.isinf(pairs[1]))


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

    def counted(*arguments):
        if len(calls) == 30:
            calls.append(None)
            raise KeyboardInterrupt
        carry, end = original(*arguments)
        calls.append(end - arguments[5])
        return carry, end

    whole = run()
    monkeypatch.setattr(driver, "play_call", counted)
    short_calls = {"seconds_per_call": 1e-9, "checkpoint": tmp_path}
    with pytest.raises(KeyboardInterrupt):
        run(**short_calls, save_every=0.0)
    resumed = run(**short_calls)
    monkeypatch.undo()
    compilation.clear_compiled()
    assert set(calls) == {64, 1, None} and whole["loss"].shape == (1, 40, 6)
    same(whole, resumed, rtol=0.0)
    same(whole, normal, rtol=1e-12)
