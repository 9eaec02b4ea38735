"""The compiled program needs no more memory for a longer horizon, and its state does not grow."""

import gc
import math
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms import ALGORITHMS
from jaxbandits.base.pytree import as_arrays
from jaxbandits.dro import SMD, SyntheticGroups
from jaxbandits.engine import driver, program
from jaxbandits.engine.plan import Job
from jaxbandits.engine.width import bytes_of
from jaxbandits.environments import ENVIRONMENTS
from jaxbandits.programs import trace_store
from jaxbandits.types import Gradient, narrow
from tests.toy_problems import Noisy, Slow

ROOT = Path(__file__).parents[2]
HOMOGENEOUS = SyntheticGroups.homogeneous(dim=1000, n_groups=20)
_PROBLEMS = """
import gc
import itertools
from jaxbandits.programs import compilation
from jaxbandits.simulation import simulate
from jaxbandits.types import Gradient, narrow
from tests.toy_problems import Noisy, Slow

def resident_mb():
    pages = int(open("/proc/self/statm").read().split()[1])
    return pages * 4096 / 1e6

compilation._functions.capacity = 30  # full after 15 problems
work = itertools.count(1)
for count in (50, 100, 150):
    for _ in range(count):
        simulate(Slow(work=next(work)), Noisy(), 2, 2, record_points=1, width=1, progress=False)
    gc.collect()
    traces = sum(type(obj).__name__ == "Jaxpr" for obj in gc.get_objects())
    print(resident_mb(), compilation.compiled_count(), traces)
"""


@pytest.mark.slow
@pytest.mark.system
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
def test_different_problems_do_not_fill_the_memory():
    """With a full cache of programs 150 further problems leave neither traces nor memory, but for fragments.

    From 250 to 500 problems 410 to 420 MB were resident; a full cache of 256 has 802 to 803 MB of heap. JAX itself
    keeps traces of `jnp`'s functions for new shapes; these problems have one shape.
    """
    run = subprocess.run([sys.executable, "-c", _PROBLEMS], capture_output=True, text=True, check=True, cwd=ROOT)
    rows = [line.split() for line in run.stdout.splitlines()]
    begin, middle, end = (float(row[0]) for row in rows)
    assert all(row[1] == "30" for row in rows)
    assert rows[1][2] == rows[2][2], f"{rows[1][2]} traces after 150 problems, {rows[2][2]} after 300"
    assert end - middle < 40.0, f"{begin:.0f}, {middle:.0f}, {end:.0f} MB after 50, 150, 300 problems"


@pytest.mark.slow
def test_traces_of_evicted_problems_are_freed(monkeypatch):
    """Only JAX's own caches, which are bounded, hold traces of a problem that the cache of its run has dropped."""
    monkeypatch.setattr(program, "MAX_COMPILED", 3)
    monkeypatch.setattr(trace_store, "MAX_TRACES", 3)
    monkeypatch.setattr(program, "has_foreign_code", lambda *objects: False)
    cache = program.TraceCache()

    def traces(first):
        for work in range(first, first + 6):
            cache.get((), as_arrays(Slow(work=work)), as_arrays(Noisy()))
        jax.clear_caches()
        gc.collect()
        return sum(type(obj).__name__ == "Jaxpr" for obj in gc.get_objects())

    assert traces(10_000) == traces(20_000)


@pytest.mark.slow
@pytest.mark.usefixtures("compile_here")
@pytest.mark.parametrize("name", ["linear/hvt_ucb", "linear/oful"])
def test_one_program_serves_every_horizon(name):
    """The horizon is an argument of the program: its memory is a few states and does not depend on the horizon."""
    entry = ALGORITHMS[name]
    environment = ENVIRONMENTS[entry.environments[0]].example
    width, analysed = 64, {}
    for horizon in (1_000, 1_000_000):
        record_points = np.linspace(0, horizon, 11)[1:].astype(int)
        job = Job(name, entry.example, environment, ({},), horizon, record_points, width, 0, (), width)
        analysed[horizon] = driver.compile_job(job, jax.devices()[0])
    assert analysed[1_000].play_rounds is analysed[1_000_000].play_rounds
    memory = analysed[1_000].play_rounds.memory_analysis()
    state = bytes_of(analysed[1_000].carry_shape)
    assert memory.temp_size_in_bytes < 8 * state + 100_000


def _shapes(jaxpr):
    """Return the size of every value in a program and the programs inside it."""
    for equation in jaxpr.eqns:
        yield from (value.aval.shape for value in (*equation.invars, *equation.outvars) if hasattr(value.aval, "shape"))
        for inner in jax.tree.leaves(list(equation.params.values()), is_leaf=lambda x: hasattr(x, "eqns")):
            if hasattr(inner, "eqns"):
                yield from _shapes(inner)
            elif hasattr(inner, "jaxpr"):
                yield from _shapes(inner.jaxpr)


@pytest.mark.slow
@pytest.mark.usefixtures("compile_here")
def test_groups_are_drawn_round_by_round():
    """d = 1000, m = 20: no value of the program has an axis of rounds, and memory is that of one round's samples."""
    learner, environment, width, rounds = SMD(dim=1000, n_groups=20, horizon=777), HOMOGENEOUS, 1, 777
    job = Job("SMD(m)", learner, environment, ({},), rounds, np.array([rounds]), width, 0, (), width)
    program = driver.compile_job(job, jax.devices()[0])
    memory = program.play_rounds.memory_analysis()
    of_a_round = 20 * 1000 * jnp.result_type(float).itemsize
    assert memory.temp_size_in_bytes < 8 * of_a_round + 100_000
    assert bytes_of(program.carry_shape) < 3 * of_a_round  # the instance, the models of the two players' averages

    algorithm, groups = as_arrays((learner, environment))

    def run(key):
        state, players = groups.init(key), algorithm.init(key)

        def round_(t, players):
            at = jax.random.fold_in(key, t)
            decision = algorithm.select(at, t, players, None)
            _, told, _ = groups.step(at, t, state, None, decision)
            return algorithm.update(at, t, players, None, decision, narrow(told, Gradient))

        return jax.lax.fori_loop(0, rounds, round_, players)

    shapes = set(_shapes(jax.make_jaxpr(run)(jax.random.key(0, impl="threefry2x32")).jaxpr))
    assert (20, 1000) in shapes and not [shape for shape in shapes if rounds in shape]
    assert max(map(math.prod, shapes)) <= 2 * 21 * 1000, "nothing larger than the draws of a round"
