"""Links of generalised linear models: every fact about one exponential family, in one class.

    p(r | z) = exp((r z - m(z)) / g + h(r, g)),   z = x'theta,   E[r] = mu(z) = m'(z),   Var[r] = g mu'(z)

A link is a frozen pytree: a field of the algorithm (what it assumes) and a field of the environment (what is true), so
that misspecification is one argument. To add one, write a class with the members of `Link`; nothing else has to know.
"""

from typing import Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jax import lax

from jaxbandits.core import rng
from jaxbandits.core.pytree import ArrayLike, param, pytree


@runtime_checkable
class Link(Protocol):
    """What algorithms and environments ask of a link; every function is elementwise in `z`.

    Members are methods and properties, not stored tables, so that a link with a traced field (a variance) is sweepable.
    """

    @property
    def dispersion(self) -> ArrayLike:
        """`g`, the factor between `mu'` and the variance of a reward."""
        ...

    @property
    def self_concordance(self) -> ArrayLike:
        """`R` with `|mu''| <= R mu'` wherever the link is used; it may depend on the link's own fields."""
        ...

    def log_partition(self, z: ArrayLike) -> jax.Array:
        """`m(z)`; the negative log-likelihood of a reward `r` is `(m(z) - r z) / g` up to a constant."""
        ...

    def mean(self, z: ArrayLike) -> jax.Array:
        """`mu(z) = m'(z)`, increasing."""
        ...

    def slope(self, z: ArrayLike) -> jax.Array:
        """`mu'(z) > 0`, with full relative precision where it is small."""
        ...

    def slope_bounds(self, low: ArrayLike, high: ArrayLike) -> tuple[jax.Array, jax.Array]:
        """`inf mu'` and `sup mu'` on `[low, high]`: `c_mu` (whose reciprocal is kappa) and `C_mu`."""
        ...

    def sample(self, key: jax.Array, z: jax.Array) -> jax.Array:
        """One reward with mean `mu(z)`, in the dtype of `z`; monotone in `z` for a fixed key if that costs nothing."""
        ...


@pytree
class Gaussian:
    """`N(z, variance)`: `m = z^2 / 2`, `mu = z`."""

    variance: ArrayLike = param(1.0, "(0, inf)", "g, variance of a reward")

    @property
    def dispersion(self) -> ArrayLike:
        return self.variance

    @property
    def self_concordance(self) -> ArrayLike:
        return 0.0

    def log_partition(self, z: ArrayLike) -> jax.Array:
        return 0.5 * jnp.square(z)

    def mean(self, z: ArrayLike) -> jax.Array:
        return jnp.asarray(z)

    def slope(self, z: ArrayLike) -> jax.Array:
        return jnp.ones_like(z)

    def slope_bounds(self, low: ArrayLike, high: ArrayLike) -> tuple[jax.Array, jax.Array]:
        del high
        one = jnp.ones_like(low)
        return one, one

    def sample(self, key: jax.Array, z: jax.Array) -> jax.Array:
        return z + jnp.sqrt(self.variance) * rng.normal(key)


@pytree
class Bernoulli:
    """Logistic: rewards 0 and 1, `m = log(1 + e^z)`, `mu = 1 / (1 + e^-z)`."""

    @property
    def dispersion(self) -> ArrayLike:
        return 1.0

    @property
    def self_concordance(self) -> ArrayLike:
        return 1.0

    def log_partition(self, z: ArrayLike) -> jax.Array:
        return jnp.maximum(z, 0.0) + jnp.log1p(jnp.exp(-jnp.abs(z)))

    def mean(self, z: ArrayLike) -> jax.Array:
        # XLA's logistic is built on tanh and loses the left tail in float32 (relative error 1e-3 at z = -9).
        e = jnp.exp(-jnp.abs(z))
        return jnp.where(jnp.less(z, 0.0), e, 1.0) / (1.0 + e)

    def slope(self, z: ArrayLike) -> jax.Array:
        e = jnp.exp(-jnp.abs(z))  # mu (1 - mu) would vanish once mu rounds to 1
        return e / jnp.square(1.0 + e)

    def slope_bounds(self, low: ArrayLike, high: ArrayLike) -> tuple[jax.Array, jax.Array]:
        return self.slope(jnp.maximum(jnp.abs(low), jnp.abs(high))), self.slope(jnp.clip(0.0, low, high))

    def sample(self, key: jax.Array, z: jax.Array) -> jax.Array:
        # {u < mu(z)} with one uniform; above zero its complement is compared with the rarer outcome, which keeps
        # probabilities down to 2^-32 in float32 and the draw monotone in z.
        word = rng.random_words(key)[0]
        positive = z > 0
        uniform = (jnp.where(positive, ~word, word).astype(z.dtype) + 0.5) * 2.0**-32
        return ((uniform < self.mean(-jnp.abs(z))) ^ positive).astype(z.dtype)


@pytree
class Poisson:
    """Counts: `m = mu = mu' = e^z`."""

    @property
    def dispersion(self) -> ArrayLike:
        return 1.0

    @property
    def self_concordance(self) -> ArrayLike:
        return 1.0

    def log_partition(self, z: ArrayLike) -> jax.Array:
        return jnp.exp(z)

    def mean(self, z: ArrayLike) -> jax.Array:
        return jnp.exp(z)

    def slope(self, z: ArrayLike) -> jax.Array:
        return jnp.exp(z)

    def slope_bounds(self, low: ArrayLike, high: ArrayLike) -> tuple[jax.Array, jax.Array]:
        return jnp.exp(low), jnp.exp(high)

    def sample(self, key: jax.Array, z: jax.Array) -> jax.Array:
        return _poisson(key, z)


_INVERSION_BELOW = 10.0  # mean; Hoermann's constants are for 10 and above


def _poisson(key: jax.Array, log_mean: jax.Array) -> jax.Array:
    """A Poisson variate: inversion for small means, Hoermann's transformed rejection (PTRS, 1993) for the others.

    Both are `while_loop`s that do not run for a batch without such means; 5 to 10 times faster under `vmap` than
    `jax.random.poisson`, and the log-probability does not cancel for large means in float32.
    """
    mean = jnp.exp(log_mean)
    small = mean < _INVERSION_BELOW
    zero = jnp.zeros_like(mean)

    def uniforms(counter):
        first, second = rng.random_words(key, counter)
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
    inverted = lax.while_loop(searching, search, start)[0]

    # Rejection.
    large = jnp.maximum(mean, _INVERSION_BELOW)
    b = 0.931 + 2.53 * jnp.sqrt(large)
    a = -0.059 + 0.02483 * b
    log_inverse_alpha = jnp.log(1.1239 + 1.1328 / (b - 3.4))

    def attempt(carry):
        accepted, count, i = carry
        u, v = uniforms(i)
        u = u - 0.5
        slack = jnp.maximum(0.5 - jnp.abs(u), 2.0**-25)
        k = jnp.floor((2.0 * a / slack + b) * u + large + 0.43)
        log_ratio = jnp.log(v) + log_inverse_alpha - jnp.log(a / (slack * slack) + b)
        ok = (k >= 0.0) & (log_ratio <= _log_poisson(jnp.maximum(k, 0.0), large, log_mean))
        return accepted | ok, jnp.where(accepted, count, k), i + 1

    settled = small | ~jnp.isfinite(mean)  # a NaN would be rejected for ever
    rejected = lax.while_loop(lambda carry: ~carry[0], attempt, (settled, zero, 1))[1]
    return jnp.where(small, inverted, jnp.where(jnp.isfinite(mean), rejected, mean))


def _log_poisson(k: jax.Array, mean: jax.Array, log_mean: jax.Array) -> jax.Array:
    """`log P(k)` for `mean >= 10`, in the saddle-point form whose terms are as small as the result (Loader, 2000)."""
    safe = jnp.maximum(k, 2.0)
    inverse = 1.0 / safe
    square = inverse * inverse
    stirling = inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680)))
    excess = (safe - mean) / mean
    deviance = mean * ((1.0 + excess) * jnp.log1p(excess) - excess)
    return jnp.where(k < 2.0, k * log_mean - mean, -stirling - deviance - 0.5 * jnp.log(2.0 * jnp.pi * safe))
