"""Exact gamma and beta variates by the method of Marsaglia and Tsang (ACM TOMS 26, 2000).

For shape a >= 1 let d = a - 1/3, c = 1 / sqrt(9 d), x a standard normal variate and v = (1 + c x)^3. With probability
exp(x^2 / 2 + d - d v + d log v), which is above 0.95 on average, d v is accepted as a gamma variate. Candidates are
accepted or rejected in pairs, so that an attempt at a pair succeeds with probability above 0.9. A beta variate is the
ratio G_a / (G_a + G_b) of a pair. For a < 1, G_a = G_{a+1} U^{1/a}; if both variates of a pair underflow, the ratio is
computed from their logarithms.

The first attempt draws all pairs. The few pairs that are rejected are drawn again, one at a time, in a loop that ends
when all pairs of all trials of a batch are accepted.
"""

from typing import Any

import jax
import jax.numpy as jnp

from jaxbandits.numerics import elementary, first_axis
from jaxbandits.numerics.elementary import sin_half_pi
from jaxbandits.numerics.rng.generator import random_words
from jaxbandits.tracing.batching import while_loop

# Half the number of variates is added to this; an attempt fails with probability at most 0.1, all of them with 1e-13.
_RETRIES = 16


def gammas(key: jax.Array, shape: jax.Array) -> jax.Array:
    """Draw independent gamma variates `[n]` of scale 1 with shape parameters `[n]`, each positive; NaN for a NaN."""
    n = len(shape)
    drawn = _draw(key, jnp.concatenate([shape, shape]) if n % 2 else shape, n if n % 2 else n // 2)
    return jnp.concatenate(drawn)[:n]


def betas(key: jax.Array, a: jax.Array, b: jax.Array) -> jax.Array:
    """Draw independent beta variates `[n]` with parameters a and b `[n]`, each positive; NaN if a parameter is NaN."""
    first, second = _draw(key, jnp.concatenate([a, b]), len(a), is_ratio=True)
    return first / (first + second)


def _draw(key: jax.Array, shape: jax.Array, n: int, is_ratio: bool = False) -> tuple[jax.Array, jax.Array]:
    """Draw gamma variates for the first n and for the last n shapes; variates i and n + i are accepted together.

    If `is_ratio` is True, only the ratio of the two variates of a pair is used, and pairs that underflow are scaled up.
    """
    shapes = shape[:n], shape[n:]
    moved = [jnp.where(a < 1.0, a + 1.0, a) for a in shapes]
    d = [a - 1.0 / 3.0 for a in moved]
    c = [jax.lax.rsqrt(9.0 * e) for e in d]
    real, retries = shape.dtype, _RETRIES + n // 2
    # Several loops use different blocks of the key. JAX's check for reused keys would reject a key that is passed to
    # all of them, so that the loops receive the data of the key.
    data, impl = jax.random.key_data(key), jax.random.key_impl(key)

    def words(counter: Any) -> tuple[jax.Array, jax.Array]:
        return random_words(jax.random.wrap_key_data(data, impl=impl), counter)

    accepted, first, second = _attempt(d, c, words(jnp.arange(n)))
    # If a shape is NaN, infinite or negative, no candidate would be accepted, and the loop would never end. The first
    # candidate for such a shape is NaN or infinite.
    for e in d:
        accepted = accepted | ~((e > 0.0) & (e < jnp.inf))

    def retry(carry: Any) -> Any:
        accepted, first, second, i = carry
        index = first_axis.argmax(jnp.where(accepted, 0.0, 1.0))
        accepts, *drawn = _attempt([e[index] for e in d], [e[index] for e in c], words(n + i))
        is_drawn = ~accepted & accepts & (jnp.arange(n) == index)
        return accepted | is_drawn, jnp.where(is_drawn, drawn[0], first), jnp.where(is_drawn, drawn[1], second), i + 1

    start = (accepted, first, second, jnp.int32(0))
    _, first, second, _ = while_loop(lambda carry: ~jnp.all(carry[0]), retry, start, retries)

    def boost(carry: Any) -> Any:
        _, *drawn = carry
        u = [_open_uniform(word, real) for word in words(n + retries + jnp.arange(n))]
        powers = [
            jnp.where(a < 1.0, elementary.exp(elementary.log_positive(w) / a), 1.0)
            for w, a in zip(u, shapes, strict=True)
        ]
        first, second = drawn[0] * powers[0], drawn[1] * powers[1]
        if is_ratio:
            least = 0.25 * float(jnp.finfo(real).min)  # differences of exponents are finite
            exponents = [
                jnp.where(a < 1.0, jnp.maximum(elementary.log_positive(w) / a, least), 0.0)
                for w, a in zip(u, shapes, strict=True)
            ]
            logs = [elementary.log_positive(x) + e for x, e in zip(drawn, exponents, strict=True)]
            share = 1.0 / (1.0 + jnp.exp(logs[1] - logs[0]))
            is_lost = first + second < jnp.finfo(real).tiny
            first, second = jnp.where(is_lost, share, first), jnp.where(is_lost, 1.0 - share, second)
        return jnp.zeros((), bool), first, second

    # The loop runs one step, or no step if all shapes of the batch are at least 1.
    _, first, second = while_loop(lambda carry: carry[0], boost, (jnp.any(shape < 1.0), first, second), 1)
    return first, second


def _attempt(
    d: list[jax.Array], c: list[jax.Array], words: tuple[jax.Array, jax.Array]
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return whether two candidates are accepted together, and the candidates, from one block per pair."""
    *x, u = _normals_and_uniform(*words, d[0].dtype)
    root = [1.0 + e * y for e, y in zip(c, x, strict=True)]
    v = [y * y * y for y in root]
    positive = (root[0] > 0.0) & (root[1] > 0.0)
    log_v = [3.0 * elementary.log_positive(jnp.where(positive, y, 1.0)) for y in root]
    log_ratio = [0.5 * y * y + e * (1.0 - w + s) for y, e, w, s in zip(x, d, v, log_v, strict=True)]
    accepts = positive & (u < elementary.exp(log_ratio[0] + log_ratio[1]))
    return accepts, d[0] * v[0], d[1] * v[1]


def _normals_and_uniform(high: jax.Array, low: jax.Array, real: Any) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return two normal numbers, with tails to 6.3 standard deviations, and a uniform one of 18 bits, from a block."""
    radius = jnp.sqrt(-2.0 * elementary.log_positive(((high >> 4).astype(real) + 0.5) * 2.0**-28))
    angle = ((low >> 15).astype(real) + 0.5) * 2.0**-16 - 1.0  # in quarter turns; another bit selects the half-circle
    sign = jnp.where(low & 0x4000, 1.0, -1.0)
    uniform = ((((low & 0x3FFF) << 4) | (high & 0xF)).astype(real) + 0.5) * 2.0**-18
    return radius * sin_half_pi(angle), radius * sin_half_pi(1.0 - jnp.abs(angle)) * sign, uniform


def _open_uniform(word: jax.Array, real: Any) -> jax.Array:
    return (word.astype(real) + 0.5) * 2.0**-32
