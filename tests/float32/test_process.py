"""The float32 tests do run in 32 bits: with x64 on, each of them would pass for the wrong reason."""

import jax
import jax.numpy as jnp
import numpy as np


def test_this_process_computes_in_32_bits():
    assert not jax.config.jax_enable_x64
    assert jnp.asarray(np.ones(1, np.float64)).dtype == jnp.float32
    assert jax.jit(lambda x: x * 2.0)(1.0).dtype == jnp.float32
