"""The float32 tests do run in 32 bits: with x64 on, each of them would pass for the wrong reason."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.simulation import simulate
from tests.toy_problems import Noisy, Shrink


def test_this_process_computes_in_32_bits():
    assert not jax.config.jax_enable_x64
    assert jnp.asarray(np.ones(1, np.float64)).dtype == jnp.float32
    assert jax.jit(lambda x: x * 2.0)(1.0).dtype == jnp.float32


def test_threads_compute_in_64_bits_if_the_caller_does():
    with jax.enable_x64(True):
        result = simulate(Shrink(start=1 / 3), Noisy(), 1, 1, record_points=1, width=1, workers=1, progress=False)
    assert result.get("loss").item() == 1 / 3
