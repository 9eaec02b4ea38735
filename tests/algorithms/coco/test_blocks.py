"""Blocks: their lengths, and the rounds after which a learner decides anew."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms.coco import blocks


@pytest.mark.parametrize(
    ("horizon", "power", "scale", "expected"),
    [(100, 0.5, 1.0, 10), (1000, 2 / 3, 1.0, 100), (90, 0.5, 1.0, 9), (10_000, 0.5, 5.0, 500), (9, 0.5, 5.0, 9),
     (1, 0.5, 1.0, 1), (2, 0.5, 0.1, 1)],
)  # fmt: skip
def test_length(horizon, power, scale, expected):
    assert blocks.length(horizon, power, scale) == expected


def test_updates_at_the_ends_alone():
    """10 rounds in blocks of 4: after rounds 4 and 8; the last two belong to no full block. Many trials at once."""

    def run(start):
        def round_(state, t):
            state = blocks.at_end(t, 4, lambda x: 10.0 * x, state)
            return state, state

        return jax.lax.scan(round_, start, jnp.arange(10, dtype=jnp.int32))[1]

    seen = np.asarray(jax.vmap(run)(jnp.array([1.0, 2.0])))
    np.testing.assert_array_equal(seen[0], [1, 1, 1, 10, 10, 10, 10, 100, 100, 100])
    np.testing.assert_array_equal(seen[1], 2.0 * seen[0])
    assert [bool(blocks.ends(jnp.int32(t), 4)) for t in range(5)] == [False, False, False, True, False]
