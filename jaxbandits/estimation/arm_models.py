"""Inverse Gram matrices A_k^{-1} of K arms with a common context, stored as factors with the arm axis last."""

from typing import Any

import jax
import jax.numpy as jnp

from jaxbandits.base.pytree import ArrayLike
from jaxbandits.numerics import inverse_factors
from jaxbandits.numerics.inverse_factors import InverseFactors
from jaxbandits.numerics.linalg import Vector
from jaxbandits.tracing.vmap_last import vmap_last


def init(n_arms: int, dim: int, ridge: ArrayLike) -> InverseFactors:
    """Return the factors of A_k^{-1} = I / ridge for K arms; every leaf has the shape `[..., K]`."""
    one = inverse_factors.init(dim, ridge)
    return jax.tree.map(lambda x: jnp.broadcast_to(x[..., None], (*x.shape, n_arms)), one)


def of_arm(models: Any, index: jax.Array) -> Any:
    """Return the model of one arm."""
    return jax.tree.map(lambda x: x[..., index], models)


def replace(models: Any, index: jax.Array, model: Any) -> Any:
    """Return the models of all arms, with the model of one arm replaced."""
    return jax.tree.map(lambda x, new: x.at[..., index].set(new), models, model)


def widths_sq(models: InverseFactors, context: Vector) -> jax.Array:
    """Return `x'A_k^{-1} x` `[K]` for the context x `[p]`."""
    return vmap_last(_width_sq, (-1, None))(models, context)


def products(models: InverseFactors, context: Vector) -> jax.Array:
    """Return `A_k^{-1} x` `[p, K]` for the context x `[p]`."""
    return vmap_last(inverse_factors.matvec, (-1, None))(models, context)


def _width_sq(model: InverseFactors, context: Vector) -> jax.Array:
    return inverse_factors.quadratic_forms(model, context[None])[0]
