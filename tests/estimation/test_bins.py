"""Bins of rewards against slices of the whole sequence."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.estimation import arm_models, bins


def test_bins_are_slices_of_the_rewards(rng):
    n_bins, rewards = 8, rng.normal(size=70)
    add = jax.jit(lambda b, r: arm_models.replace(b, jnp.int32(1), bins.add(arm_models.of_arm(b, 1), r)))
    kept = bins.empty(n_bins, 2)
    for n, reward in enumerate(rewards, start=1):
        kept = add(kept, reward)
        size = int(kept.size[1])
        assert size & (size - 1) == 0 and (size == 1 or n_bins // 2 <= n // size) and n <= n_bins * size
        complete = n // size
        assert int(kept.complete[1]) == complete
        wanted = rewards[: complete * size].reshape(complete, size).mean(axis=1)
        np.testing.assert_allclose(kept.mean[:complete, 1], wanted, rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(bins.is_complete(kept)[:, 1], np.arange(n_bins) < complete)
        np.testing.assert_allclose(kept.total[:, 1].sum(), rewards[:n].sum(), rtol=1e-9)
    np.testing.assert_array_equal(kept.total[:, 0], 0.0)
