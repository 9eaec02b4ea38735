"""Deterministic sequences of directions v_1, v_2, ..., which determine the means that the adversary chooses.

An environment multiplies the directions by a scale m, so that $m v_t$ are its mean gradients or centres. Every sequence
has exact partial sums and path lengths, so that the constants of the theory are exact:

    squared_path(T) = ||v_1||^2 + sum_{t=2}^T ||v_t - v_{t-1}||^2     (with v_0 = 0, as in the definition of Sigma^2)
    length_sum(T)   = sum_{t=1}^T ||v_t||
    bound           = max_t ||v_t||

A user-defined sequence is a `pytree` class with these members and the methods `at` and `sum`.
"""

import math
from typing import Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbandits.base import ranges
from jaxbandits.base.deprecation import alias
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import ArrayLike, param, pytree
from jaxbandits.numerics import simplex
from jaxbandits.numerics.linalg import Vector


class Sequence(Protocol):
    """Protocol of sequences of directions: `at`, `sum`, `bound`, `squared_path` and `length_sum`."""

    @property
    def bound(self) -> ArrayLike: ...
    def at(self, t: jax.Array, dim: int) -> Vector: ...  # [d] direction of round t = 0, 1, ...
    def sum(self, rounds: jax.Array, dim: int) -> Vector: ...  # [d] sum of the first `rounds` directions
    def squared_path(self, horizon: ArrayLike) -> ArrayLike: ...
    def length_sum(self, horizon: ArrayLike) -> ArrayLike: ...


@pytree
class Constant:
    """Constant sequence $v_t = e_1$, for an i.i.d. environment."""

    @property
    def bound(self) -> ArrayLike:
        return 1.0

    def at(self, t: jax.Array, dim: int) -> Vector:
        del t
        return along_first(1.0, dim)

    def sum(self, rounds: jax.Array, dim: int) -> Vector:
        return along_first(rounds, dim)

    def squared_path(self, horizon: ArrayLike) -> ArrayLike:
        return 1.0 + 0.0 * horizon

    def length_sum(self, horizon: ArrayLike) -> ArrayLike:
        return horizon


@pytree
class Alternating:
    """Sequence of an adversary: $e_1$ for `period` rounds, then $-e_1$ for `period` rounds, and so on."""

    period: ArrayLike = param(1, "[1, inf)", "P, number of rounds between two changes of sign")

    @property
    def bound(self) -> ArrayLike:
        return 1.0

    def check(self) -> None:
        """Raise InputError if the period is not a whole number."""
        _whole("Alternating.period", self.period)

    def at(self, t: jax.Array, dim: int) -> Vector:
        blocks, _ = self._divide(t)
        return along_first(1 - 2 * (blocks & 1), dim)

    def sum(self, rounds: jax.Array, dim: int) -> Vector:
        blocks, rest = self._divide(rounds)
        return along_first(jnp.where(blocks & 1, _int32(self.period) - rest, rest), dim)

    def squared_path(self, horizon: ArrayLike) -> ArrayLike:
        return 1.0 + 4.0 * (jnp.ceil(horizon / jnp.asarray(self.period)) - 1.0)

    def length_sum(self, horizon: ArrayLike) -> ArrayLike:
        return horizon

    def _divide(self, t: ArrayLike) -> tuple[jax.Array, jax.Array]:
        t, period = jnp.broadcast_arrays(_int32(t), _int32(self.period))
        blocks = lax.div(t, period)
        return blocks, t - blocks * period


@pytree
class IsolatedFlips:
    """Sequence $v_t = e_1$, except in `count` evenly spaced corrupted rounds, in which $v_t = -e_1$.

    The corrupted rounds, counted from 0, are floor(i $(T - 1) / (C + 1)$) for i = 1..C, in exact integer arithmetic.
    """

    count: ArrayLike = param(1, "[0, 16777216)", "C, number of corrupted rounds")
    horizon: ArrayLike = param(range="[3, 16777216)", doc="T, number of rounds over which corrupted rounds are spread")

    @property
    def bound(self) -> ArrayLike:
        return 1.0

    def check(self) -> None:
        """Raise InputError if corrupted rounds would be adjacent, or if a number is not whole."""
        _whole("IsolatedFlips.count", self.count)
        _whole("IsolatedFlips.horizon", self.horizon)
        if np.any(np.asarray(self.horizon, float) - 1.0 < 2.0 * (np.asarray(self.count, float) + 1.0)):
            raise InputError(
                "IsolatedFlips.horizon must be at least 2 * count + 3, so that corrupted rounds are isolated"
            )

    def at(self, t: jax.Array, dim: int) -> Vector:
        count, distance = self._until(t)
        return along_first(jnp.where((distance >= 0) & (count >= 1) & (count <= _int32(self.count)), -1, 1), dim)

    def sum(self, rounds: jax.Array, dim: int) -> Vector:
        return along_first(_int32(rounds) - 2 * self.count_corrupted(rounds), dim)

    def count_corrupted(self, rounds: ArrayLike) -> jax.Array:
        """Return the number of corrupted rounds among the first `rounds` rounds."""
        count, _ = self._until(_int32(rounds) - 1)
        return jnp.clip(count, 0, _int32(self.count))

    corrupted = alias(count_corrupted, "corrupted")

    def squared_path(self, horizon: ArrayLike) -> ArrayLike:
        horizon = _int32(horizon)
        return 1.0 + 4.0 * (self.count_corrupted(horizon) + self.count_corrupted(jnp.maximum(horizon - 1, 0)))

    def length_sum(self, horizon: ArrayLike) -> ArrayLike:
        return horizon

    def _until(self, t: ArrayLike) -> tuple[jax.Array, jax.Array]:
        """Return the largest i with floor(i p / q) <= t, and i p - t q, where p = T - 1 and q = C + 1.

        The second number is negative if i p / q < t.

        The quotient in floating point is wrong by at most one. The residual i p - t q is exact in integer arithmetic
        with wrap-around, although its terms may overflow, and its value determines the correct i.
        """
        p, q, t = _int32(self.horizon) - 1, _int32(self.count) + 1, _int32(t)
        real = jnp.result_type(float)
        guess = jnp.floor(t.astype(real) * (q.astype(real) / p.astype(real))).astype(jnp.int32) + 1
        distance = guess * p - t * q
        for _ in range(2):
            above = distance >= q
            guess, distance = guess - above, distance - jnp.where(above, p, 0)
        below = distance + p < q
        return guess + below, distance + jnp.where(below, p, 0)


@pytree
class Drift:
    """Slow rotation $v_t$ = (cos w(t-1), sin w(t-1), 0, ...) with $w = 2 pi$ turns / horizon."""

    turns: ArrayLike = param(0.25, "(-inf, inf)", "number of full turns in T rounds")
    horizon: ArrayLike = param(range="[1, inf)", doc="T, number of rounds in which the sequence makes its `turns`")

    @property
    def bound(self) -> ArrayLike:
        return 1.0

    @property
    def angle(self) -> ArrayLike:
        """Angle w per round, in radians."""
        return 2.0 * math.pi * self.turns / self.horizon

    def at(self, t: jax.Array, dim: int) -> Vector:
        phase = self.angle * _real(t)
        return _in_plane(jnp.cos(phase), jnp.sin(phase), dim)

    def sum(self, rounds: jax.Array, dim: int) -> Vector:
        rounds, half = _real(rounds), jnp.asarray(0.5 * self.angle)
        half = half - math.pi * jnp.round(half / math.pi)  # near a multiple of pi both sines are rounding errors
        still = jnp.sin(half) == 0.0
        length = jnp.where(still, rounds, jnp.sin(rounds * half) / jnp.where(still, 1.0, jnp.sin(half)))
        middle = (rounds - 1.0) * half
        return _in_plane(length * jnp.cos(middle), length * jnp.sin(middle), dim)

    def squared_path(self, horizon: ArrayLike) -> ArrayLike:
        return 1.0 + (horizon - 1.0) * 4.0 * jnp.sin(0.5 * self.angle) ** 2

    def length_sum(self, horizon: ArrayLike) -> ArrayLike:
        return horizon


@pytree
class Piecewise:
    """Piecewise constant sequence that is vectors[k] from round starts[k] on, where rounds are counted from 0."""

    vectors: ArrayLike = param(range="(-inf, inf)", doc="[S, d] direction of each segment, with any norm")
    starts: ArrayLike = param(range="[0, inf)", doc="[S] first round of each segment, increasing from 0")

    @classmethod
    def equal_segments(cls, vectors: object, horizon: int) -> "Piecewise":
        """Return a sequence with segments of equal length (up to rounding) over `horizon` rounds."""
        vectors = np.asarray(ranges.numbers("vectors", vectors, "(-inf, inf)"), float)
        if vectors.ndim != 2:
            raise InputError(f"vectors must have shape [S, d], got {vectors.shape}")
        horizon = ranges.integer("horizon", horizon, "[1, 2147483647]")
        return cls(vectors=vectors, starts=(np.arange(len(vectors)) * horizon // len(vectors)).astype(np.int32))

    evenly = classmethod(alias(equal_segments.__func__, "evenly"))

    @property
    def bound(self) -> ArrayLike:
        return jnp.max(jnp.linalg.norm(_real(self.vectors), axis=-1), axis=-1)

    def check(self) -> None:
        """Raise InputError if shapes are inconsistent, or if the starts do not increase from 0."""
        vectors, starts = np.asarray(self.vectors), np.asarray(self.starts)
        if vectors.ndim < 2 or starts.ndim < 1 or vectors.shape[-2] != starts.shape[-1] or not starts.shape[-1]:
            raise InputError(
                f"Piecewise needs vectors [S, d] and starts [S] with S >= 1, got {vectors.shape}, {starts.shape}"
            )
        _whole("Piecewise.starts", starts)
        if (starts[..., 0] != 0).any() or (starts[..., 1:] <= starts[..., :-1]).any():
            raise InputError("Piecewise.starts must begin with 0 and increase")

    def at(self, t: jax.Array, dim: int) -> Vector:
        starts = jnp.asarray(self.starts)
        segment = jnp.sum((t >= starts).astype(jnp.int32)) - 1
        return simplex.indicator(segment, len(starts)) @ _of_dim(self.vectors, dim)

    def sum(self, rounds: jax.Array, dim: int) -> Vector:
        return _real(self._rounds_of_segments(rounds)) @ _of_dim(self.vectors, dim)

    def squared_path(self, horizon: ArrayLike) -> ArrayLike:
        vectors = _real(self.vectors)
        jumps = jnp.diff(vectors, axis=0, prepend=jnp.zeros_like(vectors[:1]))
        return jnp.sum(jnp.where(_int32(self.starts) < horizon, jnp.sum(jumps**2, axis=-1), 0.0))

    def length_sum(self, horizon: ArrayLike) -> ArrayLike:
        return _real(self._rounds_of_segments(horizon)) @ jnp.linalg.norm(_real(self.vectors), axis=-1)

    def _rounds_of_segments(self, rounds: ArrayLike) -> jax.Array:
        """Return how many of the first `rounds` rounds lie in each segment, `[S]`."""
        starts = _int32(self.starts)  # differences of unsigned integers would wrap around
        ends = jnp.minimum(jnp.append(starts[1:], rounds), rounds)
        return jnp.maximum(ends - starts, 0)


def along_first(scale: ArrayLike, dim: int) -> Vector:
    """Return the vector scale e_1 `[d]`."""
    return pad(_real(scale)[None], dim)


def point(value: ArrayLike, dim: int) -> Vector:
    """Return a point `[d]`, given its d coordinates or a number U, which stands for U e_1."""
    value = _real(value)
    if value.ndim == 0:
        return along_first(value, dim)
    if value.shape != (dim,):
        raise InputError(f"a comparator must be a number or have shape ({dim},), got shape {value.shape}")
    return value


def pad(first: Vector, dim: int) -> Vector:
    """Return the vector `first` padded with zeros to length d."""
    return jnp.concatenate([first, jnp.zeros(dim - len(first), first.dtype)])


def _in_plane(x: jax.Array, y: jax.Array, dim: int) -> Vector:
    if dim == 1:
        raise InputError("Drift needs dim >= 2")
    return pad(jnp.stack([x, y]), dim)


def _of_dim(vectors: ArrayLike, dim: int) -> jax.Array:
    """Return the directions `[S, d]`, after checking that their dimension is d."""
    vectors = jnp.asarray(vectors)
    if vectors.shape[-1] != dim:
        raise InputError(f"Piecewise.vectors must have shape (S, {dim}), got (S, {vectors.shape[-1]})")
    return vectors


def _int32(x: ArrayLike) -> jax.Array:
    return jnp.asarray(x).astype(jnp.int32)


def _real(x: ArrayLike) -> jax.Array:
    return jnp.asarray(x, jnp.result_type(float))


def _whole(name: str, value: object) -> None:
    value = np.asarray(value)
    if (value != np.floor(value)).any():
        raise InputError(f"{name} must be a whole number, got {value[value != np.floor(value)].flat[0]}")
