"""Sums over many rounds that keep their digits: Kahan's, with the rounding error of the total carried beside it.

A plain sum of n terms of one size is off by up to n roundings of the total, and in float32 stops to grow after 10^7
rounds. Compensated, it is off by two roundings of the sum of all sizes until n reaches the inverse of the machine
epsilon (10^7 in float32), and by little more beyond.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.core.fusion import once


class Compensated(NamedTuple):
    """A running sum of vectors or arrays, as part of a state: shape and type stay those of its start."""

    total: Any  # [...]  Vec or array, the sum
    rest: Any  # [...]  what the last rounding added to `total` in excess: less than the total can show

    @classmethod
    def start(cls, at: Any) -> "Compensated":
        """The sum whose first summand is `at`: zeros of the right form for an empty one."""
        return cls(at, jax.tree.map(jnp.zeros_like, at))

    def add(self, x: Any) -> "Compensated":
        """With one more summand."""
        # The barriers also keep (new - total) - x from being simplified to 0.
        x = once(x - self.rest)
        new = once(self.total + x)
        return Compensated(new, once((new - self.total) - x))
