"""Kahan summation over many rounds: the state is the total and the rounding error of the last addition.

A plain sum of n terms of equal size has an error of up to n times the machine epsilon times the total, and in float32
the sum stops growing after about 10^7 rounds. The error of a Kahan sum is at most twice the machine epsilon times the
sum of absolute values until n reaches the inverse of the machine epsilon (10^7 in float32;
numerics/test_compensated.py::test_float32_sum_is_rounded_once), and only slightly larger for longer sums.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.tracing.barrier import barrier
from jaxbandits.tracing.batching import trials_last


class CompensatedSum(NamedTuple):
    """Running sum of arrays that all have the same shape and type, for use in the state of a learner."""

    total: jax.Array  # [...]  the sum
    error: jax.Array  # [...]  amount by which rounding in the last addition made `total` too large

    @classmethod
    def init(cls, first: jax.Array) -> "CompensatedSum":
        """Return the sum with the single term `first`; use zeros for an empty sum."""
        return cls(total=first, error=jnp.zeros_like(first))

    def add(self, x: jax.Array) -> "CompensatedSum":
        """Return the sum with one more term `x`."""
        return CompensatedSum(*_add(self.total, self.error, x))


@trials_last
def _add(total: jax.Array, error: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
    # The barriers also prevent XLA from simplifying (new - total) - x to 0.
    x = barrier(x - error)
    new = barrier(total + x)
    return new, barrier((new - total) - x)
