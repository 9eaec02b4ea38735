"""Convex losses, as pytrees of parameters with methods that compute the value and the gradient at any point.

An environment draws the parameters of the loss of a round, and evaluates the loss at the points that the learner
queries; `evaluate` does this for several points.
"""

from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp

from jaxbandits.base import trees
from jaxbandits.base.pytree import ArrayLike
from jaxbandits.numerics import elementary
from jaxbandits.numerics.linalg import Vector


class Loss(Protocol):
    """Protocol of a convex function of a point `[d]`, with its value `[]` and gradient `[d]`."""

    def value(self, x: Vector) -> jax.Array: ...
    def gradient(self, x: Vector) -> Vector: ...


class Linear(NamedTuple):
    """Linear loss `f(x) = <slope, x>`; ||slope||-Lipschitz."""

    slope: Vector  # [d]

    def value(self, x: Vector) -> jax.Array:
        return self.slope @ x

    def gradient(self, x: Vector) -> Vector:
        del x
        return self.slope


class Quadratic(NamedTuple):
    """Quadratic loss `f(x) = ||x - target||^2 / 2`; 1-smooth, not Lipschitz on unbounded domains."""

    target: Vector  # [d]

    def value(self, x: Vector) -> jax.Array:
        error = x - self.target
        return 0.5 * (error @ error)

    def gradient(self, x: Vector) -> Vector:
        return x - self.target


class PseudoHuber(NamedTuple):
    """Pseudo-Huber loss `f(x) = sqrt(1 + ||x - target||^2) - 1`; 1-smooth and 1-Lipschitz."""

    target: Vector  # [d]

    def value(self, x: Vector) -> jax.Array:
        error = x - self.target
        square = error @ error
        return square / (jnp.sqrt(1.0 + square) + 1.0)  # sqrt(1 + square) - 1 would cancel near the target

    def gradient(self, x: Vector) -> Vector:
        error = x - self.target
        return (1.0 / jnp.sqrt(1.0 + error @ error)) * error


class Logistic(NamedTuple):
    """Logistic loss `f(x) = ln(1 + exp(-label <features, x>))` with a label in {-1, 1}; ||features||-Lipschitz."""

    features: Vector  # [d]
    label: jax.Array  # []

    def value(self, x: Vector) -> jax.Array:
        return log_loss(self.label * (self.features @ x))[0]

    def gradient(self, x: Vector) -> Vector:
        return (self.label * log_loss(self.label * (self.features @ x))[1]) * self.features


class SquaredError(NamedTuple):
    """Squared error `f(x) = (<features, x> - target)^2 / 2` of a linear model; ||features||^2-smooth."""

    features: Vector  # [d]
    target: jax.Array  # []

    def value(self, x: Vector) -> jax.Array:
        return 0.5 * (self.features @ x - self.target) ** 2

    def gradient(self, x: Vector) -> Vector:
        return (self.features @ x - self.target) * self.features


class ScaledLoss(NamedTuple):
    """Loss multiplied by a number, `f(x) = scale loss(x)` with `scale >= 0`."""

    loss: Any  # a Loss
    scale: ArrayLike  # []

    def value(self, x: Vector) -> jax.Array:
        return self.scale * self.loss.value(x)

    def gradient(self, x: Vector) -> Vector:
        return self.scale * self.loss.gradient(x)


def log_loss(margin: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return `ln(1 + exp(-margin))` and its derivative, elementwise, with full relative accuracy for large |margin|."""
    small = elementary.exp(-jnp.abs(margin))
    # Not `jnp.maximum(-margin, 0.0)`: JAX halves its derivative at 0, but not that of the absolute value.
    value = jnp.where(margin < 0.0, -margin, 0.0) + elementary.log1p(small)
    return value, -jnp.where(margin < 0.0, 1.0, small) / (1.0 + small)


def evaluate(loss: Loss, points: Any) -> tuple[jax.Array, Any]:
    """Return values `[Q]` and gradients `[Q, d]` of a loss at points `[Q, d]`."""
    if len(jax.tree.leaves(points)[0]) == 1:  # the most frequent case, which needs no vmap
        x = trees.row(points, 0)
        return trees.stack(loss.value(x)), trees.stack(loss.gradient(x))
    return jax.vmap(loss.value)(points), jax.vmap(loss.gradient)(points)
