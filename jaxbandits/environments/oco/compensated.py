"""Sums over many rounds that keep their digits in float32 (Kahan)."""

from typing import NamedTuple

from jaxbandits.core import linalg
from jaxbandits.core.linalg import Vector


class Compensated(NamedTuple):
    """A running sum and its rounding error: `total - rest` is far more accurate than `total`."""

    total: Vector  # [d]
    rest: Vector  # [d]

    def add(self, x: Vector) -> "Compensated":
        """With one more summand."""
        x = linalg.keep(x - self.rest)
        new = linalg.keep(self.total + x)
        return Compensated(new, linalg.keep((new - self.total) - x))

    @property
    def value(self) -> Vector:
        """`[d]` the sum."""
        return self.total - self.rest


def zero_sum(dim: int) -> Compensated:
    """The empty sum."""
    return Compensated(linalg.zeros(dim), linalg.zeros(dim))
