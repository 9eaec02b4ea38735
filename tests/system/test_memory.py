"""The compiled program needs no more memory for a longer horizon, and its state does not grow."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms import ALGORITHMS
from jaxbandits.environments import ENVIRONMENTS
from jaxbandits.simulation import plan as plan_lib
from jaxbandits.simulation import program as program_lib


@pytest.mark.parametrize("name", ["linear/hvt_ucb", "linear/oful"])
def test_one_program_serves_every_horizon(name):
    """The horizon is an argument of the program: its memory cannot depend on it, and it is a few states in size."""
    entry = ALGORITHMS[name]
    environment = ENVIRONMENTS[entry.environments[0]].example
    n_stops, width, analysed = 10, 64, {}
    job = plan_lib.Job(name, *(plan_lib.broadcast_points(obj, 1) for obj in (entry.example, environment)), width)
    for horizon in (1_000, 1_000_000):
        plan = plan_lib.Plan(
            (job,), ({},), horizon, np.linspace(0, horizon, n_stops + 1)[1:].astype(int), 0, 0, width, ()
        )
        algorithm, env, _ = plan.trials_of(plan.pieces[0])
        program = program_lib.get_program((), algorithm, env, width, n_stops, jax.devices()[0])
        analysed[horizon] = program
    assert analysed[1_000].advance is analysed[1_000_000].advance
    memory = analysed[1_000].advance.memory_analysis()
    state = sum(
        np.prod(x.shape) * x.dtype.itemsize
        for x in jax.tree.leaves(analysed[1_000].carry_shape)
        if not jnp.issubdtype(x.dtype, jax.dtypes.prng_key)
    )
    assert memory.temp_size_in_bytes < 8 * state + 100_000
