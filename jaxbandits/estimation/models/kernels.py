"""Stationary kernels of Gaussian processes, and random frequencies for features that approximate them.

    squared exponential   k(r) = exp(-r^2 / 2)
    Matern, nu = 5/2      k(r) = (1 + s + s^2 / 3) exp(-s),  s = sqrt(5) r
    Matern, nu = 3/2      k(r) = (1 + s) exp(-s),            s = sqrt(3) r

Here r = ||x - x'|| / l, where l is the field `length_scale`. Kernels have variance 1; the field `scale` of a model or
an environment multiplies the standard deviation. By Bochner's theorem k is the mean of cos(z'(x - x') / l) over a
distribution of z, which is the standard normal distribution for the squared exponential kernel, and Student's t
distribution with 2 nu degrees of freedom for Matern kernels.
"""

import math
from typing import Protocol

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.errors import InputError, format_value
from jaxbandits.base.pytree import ArrayLike, param, pytree
from jaxbandits.numerics import rng


class Kernel(Protocol):
    """Kernel with a length scale."""

    def gram(self, x: jax.Array, y: jax.Array) -> jax.Array:
        """Return the kernel matrix `[n, m]` between points `[n, d]` and points `[m, d]`."""
        ...

    def frequencies(self, key: jax.Array, count: int, dim: int) -> jax.Array:
        """Draw independent frequencies w `[count, dim]`, for which cos(w'(x - x')) has the mean k(x, x')."""
        ...


def check_kernel(name: str, kernel: object) -> None:
    """Raise `InputError`, which names the field, if a value is not a kernel."""
    if isinstance(kernel, type) or not (hasattr(kernel, "gram") and hasattr(kernel, "frequencies")):
        raise InputError(f"{name} must be a kernel such as SquaredExponential(), got {format_value(kernel)}")


@pytree
class SquaredExponential:
    """Squared exponential kernel, for infinitely differentiable functions."""

    length_scale: ArrayLike = param(0.2, "(0, inf)", "l, length scale")

    def gram(self, x: jax.Array, y: jax.Array) -> jax.Array:
        return jnp.exp(-0.5 * _distance_sq(x, y, self.length_scale))

    def frequencies(self, key: jax.Array, count: int, dim: int) -> jax.Array:
        return rng.normals(key, count, dim) / self.length_scale


@pytree
class Matern52:
    """Matern kernel with nu = 5/2, for twice differentiable functions."""

    length_scale: ArrayLike = param(0.2, "(0, inf)", "l, length scale")

    def gram(self, x: jax.Array, y: jax.Array) -> jax.Array:
        s = math.sqrt(5.0) * jnp.sqrt(_distance_sq(x, y, self.length_scale))
        return (1.0 + s + s * s / 3.0) * jnp.exp(-s)

    def frequencies(self, key: jax.Array, count: int, dim: int) -> jax.Array:
        return _student_frequencies(key, count, dim, 2.5) / self.length_scale


@pytree
class Matern32:
    """Matern kernel with nu = 3/2, for once differentiable functions."""

    length_scale: ArrayLike = param(0.2, "(0, inf)", "l, length scale")

    def gram(self, x: jax.Array, y: jax.Array) -> jax.Array:
        s = math.sqrt(3.0) * jnp.sqrt(_distance_sq(x, y, self.length_scale))
        return (1.0 + s) * jnp.exp(-s)

    def frequencies(self, key: jax.Array, count: int, dim: int) -> jax.Array:
        return _student_frequencies(key, count, dim, 1.5) / self.length_scale


def covariance_root(gram: jax.Array, rank: int | None = None) -> jax.Array:
    """Return L `[K, r]` such that L L' is a covariance matrix, or its best approximation of rank r.

    Draws L z must not depend on the routine for eigenvectors, which changes with the device and, for up to 10 arms, if
    several trials run side by side. The root is therefore one that is unique: the symmetric root or, for a rank below
    K, the scaled eigenvectors of the r largest eigenvalues with the signs of their sums with fixed weights.

    Args:
      gram: `[K, K]` positive semidefinite and possibly singular matrix; eigenvalues that are negative because of
        rounding count as 0.
      rank: r, number of columns; None for K.
    """
    values, vectors = jnp.linalg.eigh(gram)
    scales, n_arms = jnp.sqrt(jnp.maximum(values, 0.0)), len(gram)
    if rank is None or rank == n_arms:
        return (vectors * scales) @ vectors.T
    weights = np.exp(np.arange(n_arms) / n_arms)  # of no symmetry, so that no sum should be 0
    signs = jnp.where(weights @ vectors < 0.0, -1.0, 1.0)
    return (vectors * (scales * signs))[:, : -rank - 1 : -1]


def _distance_sq(x: jax.Array, y: jax.Array, length_scale: ArrayLike) -> jax.Array:
    difference = (x[:, None, :] - y) / length_scale
    return jnp.sum(difference * difference, axis=-1)


def _student_frequencies(key: jax.Array, count: int, dim: int, nu: float) -> jax.Array:
    """Draw multivariate Student vectors with 2 nu degrees of freedom, as z / sqrt(G / nu) with G ~ Gamma(nu)."""
    normal_key, gamma_key = jax.random.split(key)
    gamma = rng.gammas(gamma_key, jnp.zeros(count) + nu)
    return rng.normals(normal_key, count, dim) / jnp.sqrt(gamma / nu)[:, None]
