"""Kahan sums for sums over many rounds: the total, and the rounding error of its last addition.

A plain sum of n terms of one size has an error of up to n roundings of the total, and in float32 stops growing after
10^7 rounds. The error of a Kahan sum is two roundings of the sum of absolute values until n reaches the inverse of the
machine epsilon (10^7 in float32; numerics/test_compensated.py::test_float32_sum_is_rounded_once), and only slightly
larger for longer sums.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.tracing.barrier import barrier
from jaxbandits.tracing.batching import trials_last


class CompensatedSum(NamedTuple):
    """Running sum of arrays of one shape and type, as part of a state."""

    total: jax.Array  # [...]  the sum
    error: jax.Array  # [...]  excess of `total` from the rounding of the last addition

    @classmethod
    def init(cls, first: jax.Array) -> "CompensatedSum":
        """Return a sum that consists of `first`; zeros of the right shape start an empty sum."""
        return cls(total=first, error=jnp.zeros_like(first))

    def add(self, x: jax.Array) -> "CompensatedSum":
        """Add a summand."""
        return CompensatedSum(*_add(self.total, self.error, x))


@trials_last
def _add(total: jax.Array, error: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
    # The barriers also keep (new - total) - x from being simplified to 0.
    x = barrier(x - error)
    new = barrier(total + x)
    return new, barrier((new - total) - x)
