"""Random draws that keep their tails in float32, one scalar a call, cheap inside a loop over rounds.

`jax.random.uniform` in float32 has a grid of 2^-23: a Pareto draw with tail index 1.5 made from it never exceeds 4e4.
Here one block of the counter-based generator gives 64 random bits; the uniform that makes the tail spends 40 of them,
so it resolves probabilities down to 2^-41 with full relative precision in any float type.

The functions here consume a key by counters: `counter=1` of the same key is a second, independent draw at the cost of
one more block. A key given to them must not also be split or folded elsewhere.
"""

import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap

from jaxbandits.base import trees
from jaxbandits.base.pytree import ArrayLike
from jaxbandits.numerics import elementary
from jaxbandits.tracing.barrier import barrier
from jaxbandits.tracing.batching import trials_last, while_loop
from jaxbandits.tracing.short_axes import Rows
from jaxbandits.tracing.threefry import threefry


def random_words(key: jax.Array, counter: ArrayLike = 0) -> tuple[jax.Array, jax.Array]:
    """Two independent uint32 words: bit for bit the data of `jax.random.fold_in(key, counter)`.

    JAX lowers Threefry on CPU to a loop of five steps; unrolled, the block costs half as much. Keys of other generators
    go through `fold_in`.

    Args:
      key: one key, or an array of them with one counter.
      counter: a number, or an array `[n]` of them for two arrays `[n]` of words.
    """
    data = jax.random.key_data(key)
    if data.shape[-1] != 2:
        fold = jax.random.fold_in if jnp.ndim(counter) == 0 else jax.vmap(jax.random.fold_in, (None, 0))
        data = jax.random.key_data(fold(key, counter))
        return data[..., 0], data[..., 1]
    k0, k1 = _halves(data)
    return _block(k0, k1, jnp.uint32(counter)) if jnp.ndim(counter) == 0 else _blocks(k0, k1, counter)


def fold_in(key: jax.Array, data: ArrayLike) -> jax.Array:
    """`jax.random.fold_in(key, data)`, bit for bit, without a loop in the compiled round.

    Args:
      key: one key.
      data: `[]` a whole number; only one for all trials saves anything.
    """
    if jax.random.key_data(key).shape[-1] != 2:
        return jax.random.fold_in(key, data)
    return _folded(key, jnp.asarray(data))


@custom_vmap
def _folded(key: jax.Array, data: jax.Array) -> jax.Array:
    return jax.random.wrap_key_data(jnp.stack(random_words(key, data), axis=-1), impl="threefry2x32")


@_folded.def_vmap
def _folded_many(size: int, in_batched: list[bool], key: jax.Array, data: jax.Array) -> tuple[Any, bool]:
    """On the data `[..., 2]` of many keys as they lie."""
    del size
    if in_batched[1]:
        return jax.vmap(jax.random.fold_in, in_axes=(0 if in_batched[0] else None, 0))(key, data), True
    return _folded(key, data), True


def split(key: jax.Array, n: int = 2) -> list[jax.Array]:
    """The keys of `jax.random.split(key, n)`, bit for bit: where JAX makes them by `fold_in`, as it does by default."""
    partitionable = jax.config.jax_threefry_partitionable
    return [fold_in(key, i) for i in range(n)] if partitionable else list(jax.random.split(key, n))


@custom_vmap
def _halves(data: jax.Array) -> tuple[jax.Array, jax.Array]:
    return data[..., 0], data[..., 1]


@_halves.def_vmap
def _halves_of_many(size: int, in_batched: list[bool], data: jax.Array) -> tuple[Any, tuple[bool, bool]]:
    """Taken as the data of many keys lie, `[..., 2]`: they are never turned around."""
    del size, in_batched
    return _halves(data), (True, True)


@trials_last
def _block(k0: jax.Array, k1: jax.Array, counter: jax.Array) -> tuple[jax.Array, jax.Array]:
    """One block, computed once: else every consumer repeats it, and its kernel falls out of the registers.

    Through one array `[2]`: of two XLA:CPU makes a kernel each, with the block in both.
    """
    both = barrier(jnp.stack(threefry(k0, k1, counter), axis=-1))
    return barrier((both[..., 0], both[..., 1]))


@trials_last
def _blocks(k0: jax.Array, k1: jax.Array, counters: jax.Array) -> tuple[jax.Array, jax.Array]:
    """`[n]` blocks of one key, computed once too. Two kernels here: as one array they are no vector code."""
    return barrier(threefry(k0[None], k1[None], counters.astype(jnp.uint32)))


def uniform(key: jax.Array, counter: int = 0) -> jax.Array:
    """A draw from [0, 1) with 24 bits: times n < 2^24 it rounds to something below n in every float type."""
    return (random_words(key, counter)[0] >> 8).astype(jnp.result_type(float)) * 2.0**-24


def tail_and_angle(key: jax.Array, counter: int = 0) -> tuple[jax.Array, jax.Array]:
    """Independent uniforms: one on (0, 1) of 40 bits that is fine near zero, one on (0, 1] of 24 bits."""
    high, low = random_words(key, counter)
    real = jnp.result_type(float)
    fine = (low & 0xFF).astype(real) + 0.5
    tail = (high.astype(real) + fine * 2.0**-8) * 2.0**-32
    angle = ((low >> 8).astype(real) + 0.5) * 2.0**-24
    return jnp.minimum(tail, 1.0 - jnp.finfo(real).epsneg), angle


def student_t(key: jax.Array, df: ArrayLike) -> jax.Array:
    """Student t with finite `df > 0` degrees of freedom, exactly, by Bailey's polar form (Math. Comp. 62, 1994).

    50 times faster than a draw through a gamma variate on CPU; tails resolved to probability 2^-41 (float32 overflows
    there when `df < 0.65`).
    """
    tail, angle = tail_and_angle(key)
    radius = jnp.sqrt(df * jnp.expm1(-2.0 / df * elementary.log(tail)))
    return radius * sin_half_pi(2.0 * angle - 1.0)  # the sine of a uniform angle in (-pi/2, pi/2) is a cosine's law


def normal(key: jax.Array) -> jax.Array:
    """Standard normal (Box-Muller), tails to 7.5 standard deviations in any float type."""
    tail, angle = tail_and_angle(key)
    return jnp.sqrt(-2.0 * elementary.log(tail)) * sin_half_pi(2.0 * angle - 1.0)


def uniforms(key: jax.Array, count: int, counter: int = 0) -> jax.Array:
    """`[count]` draws from [0, 1) with 24 bits, one block of the generator each, from the block `counter` on."""
    return (random_words(key, jnp.arange(counter, counter + count))[0] >> 8).astype(jnp.result_type(float)) * 2.0**-24


def uniform_between(key: jax.Array, shape: tuple[int, ...], low: float, high: float) -> jax.Array:
    """`jax.random.uniform(key, shape, minval=low, maxval=high)`, bit for bit, from one block of the generator each."""
    if jax.random.key_data(key).shape[-1] != 2 or not jax.config.jax_threefry_partitionable:
        return jax.random.uniform(key, shape, minval=low, maxval=high)
    return _between(shape, low, high)(*random_words(key, jnp.arange(math.prod(shape))))


@functools.cache
def _between(shape: tuple[int, ...], low: float, high: float) -> Callable[[jax.Array, jax.Array], jax.Array]:
    @trials_last
    def made(first: jax.Array, second: jax.Array) -> jax.Array:
        real = jnp.result_type(float)
        if real == jnp.float32:
            bits = ((first ^ second) >> 9) | jnp.uint32(0x3F800000)
        else:
            bits = (((first.astype(jnp.uint64) << 32) | second.astype(jnp.uint64)) >> 12) | jnp.uint64(0x3FF << 52)
        unit = jax.lax.bitcast_convert_type(bits, real) - 1.0  # from [1, 2)
        return barrier(jnp.maximum(unit * (high - low) + low, low)).reshape(*shape, *first.shape[1:])

    return made


def normal_vector(key: jax.Array, dim: int) -> jax.Array:
    """`[dim]` independent standard normals: the first row of `normals`."""
    return trees.row(normals(key, 1, dim), 0)


def normals(key: jax.Array, count: int, dim: int) -> jax.Array:
    """`[count, dim]` standard normals by Box-Muller, two from one block; tails to 6.7 standard deviations.

    Uses the first `count ceil(dim / 2)` blocks of the key.
    """
    pairs = (dim + 1) // 2
    high, low = random_words(key, jnp.arange(count * pairs))
    real = jnp.result_type(float)
    radius = jnp.sqrt(-2.0 * elementary.log((high.astype(real) + 0.5) * 2.0**-32))
    angle = ((low >> 8).astype(real) + 0.5) * 2.0**-23 - 1.0  # in quarter turns; the last bit picks the half
    sine = radius * sin_half_pi(angle)
    cosine = radius * sin_half_pi(1.0 - jnp.abs(angle)) * jnp.where(low & 1, 1.0, -1.0)
    halves = [a.reshape(count, pairs) for a in (sine, cosine)]
    return jnp.concatenate(halves, axis=1)[:, :dim]


def unit_vector(key: jax.Array, dim: int) -> jax.Array:
    """`[d]` a uniform unit vector: a sign for d = 1, an angle for d = 2, normals divided by their length above."""
    if dim == 1:
        return jnp.where(tail_and_angle(key)[1] < 0.5, -1.0, 1.0)[None]
    if dim == 2:
        return _on_circle(tail_and_angle(key)[1])
    direction = normals(key, 1, dim)[0]
    return (1.0 / jnp.linalg.norm(direction)) * direction


def unit_vectors(key: jax.Array, count: int, dim: int) -> jax.Array:
    """`[count, d]` independent uniform unit vectors, made as by `unit_vector`.

    Uses the first `count ceil(dim / 2)` blocks of the key.
    """
    if dim > 2:
        directions = normals(key, count, dim)
        return directions / jnp.linalg.norm(directions, axis=1, keepdims=True)
    low = random_words(key, jnp.arange(count))[1]
    angles = ((low >> 8).astype(jnp.result_type(float)) + 0.5) * 2.0**-24
    return _on_circles(angles) if dim == 2 else jnp.where(angles < 0.5, -1.0, 1.0)[:, None]


@trials_last
def _on_circle(turns: jax.Array) -> jax.Array:
    """`[2]` the point of the unit circle at `turns` in (0, 1), to full accuracy near both axes."""
    return Rows(tuple(barrier(_cosine_and_sine(turns))), 0).array()


@trials_last
def _on_circles(turns: jax.Array) -> jax.Array:
    """`[n, 2]` those at `[n]` turns."""
    return jnp.stack(barrier(_cosine_and_sine(turns)), axis=1)


def _cosine_and_sine(turns: jax.Array) -> list[jax.Array]:
    quarters = 4.0 * turns - 2.0
    cosine = sin_half_pi(1.0 - jnp.abs(quarters))
    return [cosine, jnp.sign(quarters) * sin_half_pi(1.0 - jnp.abs(1.0 - jnp.abs(quarters)))]


def pareto(key: jax.Array, shape: ArrayLike) -> jax.Array:
    """Pareto on [1, inf): survival `x^-shape`, mean `shape / (shape - 1)`."""
    return jnp.exp(-elementary.log(tail_and_angle(key)[0]) / shape)


def lomax(key: jax.Array, shape: ArrayLike) -> jax.Array:
    """Lomax on [0, inf): survival `(1 + x)^-shape`, mean `1 / (shape - 1)`."""
    return jnp.expm1(-elementary.log(tail_and_angle(key)[0]) / shape)


def fisk(key: jax.Array, shape: ArrayLike) -> jax.Array:
    """Fisk (log-logistic) on [0, inf): survival `1 / (1 + x^shape)`, mean `(pi / shape) / sin(pi / shape)`.

    Its logarithm is symmetric: drawing the sign apart makes both ends fine.
    """
    tail, angle = tail_and_angle(key)
    half = 0.5 * tail
    logit = elementary.log1p(-half) - elementary.log(half)
    return jnp.exp(jnp.where(angle < 0.5, -logit, logit) / shape)


def subset(key: jax.Array, n: int, size: int) -> jax.Array:
    """A uniformly random subset of `size` of n < 2^15 elements, as `[n]` booleans (Knuth 3.4.2, algorithm S).

    Element k enters with probability (still wanted) / (still to come), decided by 16 bits, hence to within 2^-16.
    """
    return _subset(n, size)(*random_words(key, jnp.arange(-(-n // 4))))


@functools.cache
def _subset(n: int, size: int) -> Callable[[jax.Array, jax.Array], jax.Array]:
    @trials_last
    def choose(first: jax.Array, second: jax.Array) -> jax.Array:
        wanted = jnp.full(first.shape[1:], size, jnp.uint32)
        chosen = []
        for k in range(n):
            word = (first, first, second, second)[k % 4][k // 4]
            bits = word >> 16 if k % 2 == 0 else word & 0xFFFF
            enters = bits * jnp.uint32(n - k) < (wanted << 16)
            wanted = barrier(wanted - enters.astype(jnp.uint32))  # else every element repeats all before it
            chosen.append(enters)
        return jnp.stack(barrier(chosen))

    return choose


def sin_half_pi(v: jax.Array) -> jax.Array:
    """`sin(pi v / 2)` for v in [-1, 1] as an odd Taylor polynomial, truncated below the rounding of its type.

    XLA's sine reduces its argument first; on this range that is most of its cost.
    """
    order = 7 if v.dtype == jnp.float32 else 12  # truncation 7e-10 and 6e-21
    square, total = v * v, jnp.zeros_like(v)
    for k in reversed(range(order)):
        total = total * square + (-1.0) ** k * (math.pi / 2.0) ** (2 * k + 1) / math.factorial(2 * k + 1)
    return total * v


_INVERSION_BELOW = 10.0  # mean; Hoermann's constants are for 10 and above
_INVERSIONS = 10  # of four counts each: at 36 the mass of a mean of 10 is below 2^-32
_REJECTIONS = 32  # an attempt fails with probability 0.25 at a mean of 10, less often at larger ones: all with 5e-20


def poisson(key: jax.Array, log_mean: jax.Array) -> jax.Array:
    """A Poisson variate: inversion for small means, Hoermann's transformed rejection (PTRS, 1993) for the others.

    Both are `while_loop`s that do not run for a batch without such means; 5 to 10 times faster under `vmap` than
    `jax.random.poisson`, and the log-probability does not cancel for large means in float32.
    """
    mean = jnp.exp(log_mean)
    small = mean < _INVERSION_BELOW
    zero = jnp.zeros_like(mean)

    def uniforms(counter):
        first, second = random_words(key, counter)
        return (first.astype(mean.dtype) + 0.5) * 2.0**-32, (second.astype(mean.dtype) + 0.5) * 2.0**-32

    # Inversion: subtract masses from one uniform until the next is larger (or below the uniform's resolution).
    def searching(carry):
        _, mass, rest = carry
        return (rest >= mass) & (mass > 2.0**-32)

    def search(carry):
        for _ in range(4):  # a loop iteration costs more than a step
            count, mass, rest = carry
            go = searching(carry)
            count = count + go
            carry = count, jnp.where(go, mass * mean / jnp.maximum(count, 1.0), mass), jnp.where(go, rest - mass, rest)
        return carry

    start = zero, jnp.exp(-mean), jnp.where(small, uniforms(0)[0], -1.0)
    inverted = while_loop(searching, search, start, _INVERSIONS)[0]

    # Rejection.
    large = jnp.maximum(mean, _INVERSION_BELOW)
    b = 0.931 + 2.53 * jnp.sqrt(large)
    a = -0.059 + 0.02483 * b
    log_inverse_alpha = elementary.log(1.1239 + 1.1328 / (b - 3.4))

    def attempt(carry):
        accepted, count, i = carry
        u, v = uniforms(i)
        u = u - 0.5
        slack = jnp.maximum(0.5 - jnp.abs(u), 2.0**-25)
        k = jnp.floor((2.0 * a / slack + b) * u + large + 0.43)
        log_ratio = elementary.log(v) + log_inverse_alpha - elementary.log(a / (slack * slack) + b)
        ok = (k >= 0.0) & (log_ratio <= _log_poisson(jnp.maximum(k, 0.0), large, log_mean))
        return accepted | ok, jnp.where(accepted, count, k), i + 1

    settled = small | ~jnp.isfinite(mean)  # a NaN would be rejected for ever
    rejected = while_loop(lambda carry: ~carry[0], attempt, (settled, zero, 1), _REJECTIONS)[1]
    return jnp.where(small, inverted, jnp.where(jnp.isfinite(mean), rejected, mean))


def _log_poisson(k: jax.Array, mean: jax.Array, log_mean: jax.Array) -> jax.Array:
    """`log P(k)` for `mean >= 10`, in the saddle-point form whose terms are as small as the result (Loader, 2000)."""
    safe = jnp.maximum(k, 2.0)
    inverse = 1.0 / safe
    square = inverse * inverse
    stirling = inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680)))
    excess = (safe - mean) / mean
    deviance = mean * ((1.0 + excess) * elementary.log1p(excess) - excess)
    return jnp.where(k < 2.0, k * log_mean - mean, -stirling - deviance - 0.5 * elementary.log(2.0 * jnp.pi * safe))


def uniform_ball(key: jax.Array, count: int, dim: int) -> jax.Array:
    """`[count, d]` independent points uniform in the unit ball; d uniforms of 24 bits a point.

    Sticks are broken off the squared length. A pair of coordinates takes the part `Beta(1, n/2 + 1)` of what is left
    when n coordinates come after it, under a uniform angle; a last single one is uniform on what is left.
    """
    n_blocks = -(-3 * dim // 8)  # a block of 64 bits holds 8/3 uniforms
    return _into_ball(count, dim)(*random_words(key, jnp.arange(n_blocks * count)))


@functools.cache
def _into_ball(count: int, dim: int) -> Callable[[jax.Array, jax.Array], jax.Array]:
    @trials_last
    def points(first: jax.Array, second: jax.Array) -> jax.Array:
        blocks = range(0, first.shape[0], count)
        uniforms = iter(_uniforms24([word[i : i + count] for i in blocks for word in (first, second)]))
        coordinates, left = [], None
        for i in range(dim // 2):
            stick, angle = next(uniforms), next(uniforms)
            after = dim - 2 * i - 2
            # 1 - Beta(1, after/2 + 1)
            kept = stick if after == 0 else jnp.exp(elementary.log(stick) * (2.0 / (after + 2)))
            length = jnp.sqrt((1.0 - kept) if left is None else (1.0 - kept) * left)
            left = kept if left is None else left * kept
            half = sin_half_pi(2.0 * angle - 1.0)  # the sine of half the angle
            coordinates.append(length * (1.0 - 2.0 * half * half))
            coordinates.append(length * 2.0 * half * jnp.sqrt(jnp.maximum(1.0 - half * half, 0.0)))
        if dim % 2:
            single = 2.0 * next(uniforms) - 1.0
            coordinates.append(single if left is None else single * jnp.sqrt(left))
        return jnp.stack(barrier(coordinates), axis=1)

    return points


def _uniforms24(words: list[jax.Array]) -> list[jax.Array]:
    """Uniforms on (0, 1) of 24 bits: one from the top of each word, one more from the low bytes of any three."""
    tops = [word >> 8 for word in words]
    low = [word & 0xFF for word in words]
    spare = [(low[i] << 16) | (low[i + 1] << 8) | low[i + 2] for i in range(0, len(words) - 2, 3)]
    return [(bits.astype(jnp.result_type(float)) + 0.5) * 2.0**-24 for bits in tops + spare]
