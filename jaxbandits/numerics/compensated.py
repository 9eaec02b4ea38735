"""Sums over many rounds that keep their digits: Kahan's, with the rounding error of the total carried beside it.

A plain sum of n terms of one size is off by up to n roundings of the total, and in float32 stops to grow after 10^7
rounds. CompensatedSum, it is off by two roundings of the sum of all sizes until n reaches the inverse of the machine
epsilon (10^7 in float32; numerics/test_compensated.py::test_float32_sum_is_rounded_once), and by little more beyond.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.tracing.barrier import barrier
from jaxbandits.tracing.batching import trials_last


class CompensatedSum(NamedTuple):
    """A running sum of arrays, as part of a state: shape and type stay those of its start."""

    total: jax.Array  # [...]  the sum
    error: jax.Array  # [...]  what the last rounding added to `total` in excess: less than the total can show

    @classmethod
    def init(cls, at: jax.Array) -> "CompensatedSum":
        """The sum whose first summand is `at`: zeros of the right form for an empty one."""
        return cls(at, jnp.zeros_like(at))

    def add(self, x: jax.Array) -> "CompensatedSum":
        """With one more summand."""
        return CompensatedSum(*_add(self.total, self.error, x))


@trials_last
def _add(total: jax.Array, error: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
    # The barriers also keep (new - total) - x from being simplified to 0.
    x = barrier(x - error)
    new = barrier(total + x)
    return new, barrier((new - total) - x)
