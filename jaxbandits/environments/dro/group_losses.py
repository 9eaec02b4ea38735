"""Losses of a labelled row with features x and label y, for a model with given parameters.

`Logistic`, `Squared` and `Hinge` are losses of linear models with parameters w `[d]`. `Custom` is any function of
(params, x, y), such as the loss of a network, where params is a pytree of arrays. All classes compute the gradients of
many rows in one call.
"""

from collections.abc import Callable
from typing import Protocol

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.errors import InputError, format_value
from jaxbandits.base.pytree import pytree, static
from jaxbandits.domains.points import Point
from jaxbandits.numerics import losses


class GroupLoss(Protocol):
    """Protocol of losses of labelled rows."""

    def values(self, params: Point, x: jax.Array, y: jax.Array) -> jax.Array:
        """Return the losses `[n]` of rows `[n, d]` with labels `[n]`."""
        ...

    def gradients(self, params: Point, x: jax.Array, y: jax.Array) -> tuple[jax.Array, Point]:
        """Return the losses `[Q]` of rows, and their gradients, a pytree like the parameters with leaves `[Q, ...]`."""
        ...

    @property
    def signed(self) -> bool:
        """True if labels must be -1 and 1."""
        ...

    @property
    def linear(self) -> bool:
        """True if the parameters are weights `[d]` of the features."""
        ...


@pytree
class Logistic:
    """Logistic loss `ln(1 + exp(-y <x, w>))` with labels in {-1, 1}, which is ||x||-Lipschitz in w."""

    signed, linear = True, True

    def values(self, params: Point, x: jax.Array, y: jax.Array) -> jax.Array:
        return losses.log_loss(y * (x @ params))[0]

    def gradients(self, params: Point, x: jax.Array, y: jax.Array) -> tuple[jax.Array, Point]:
        return linear_gradients(_logistic, params, x, y)


@pytree
class Squared:
    """Squared loss `(<x, w> - y)^2`, without a factor 1/2."""

    signed, linear = False, True

    def values(self, params: Point, x: jax.Array, y: jax.Array) -> jax.Array:
        return jnp.square(x @ params - y)

    def gradients(self, params: Point, x: jax.Array, y: jax.Array) -> tuple[jax.Array, Point]:
        return linear_gradients(_square_error, params, x, y)


@pytree
class Hinge:
    """Hinge loss `max(0, 1 - y <x, w>)` with labels in {-1, 1}; its subgradient at the kink is 0."""

    signed, linear = True, True

    def values(self, params: Point, x: jax.Array, y: jax.Array) -> jax.Array:
        return jnp.maximum(0.0, 1.0 - y * (x @ params))

    def gradients(self, params: Point, x: jax.Array, y: jax.Array) -> tuple[jax.Array, Point]:
        return linear_gradients(_hinge, params, x, y)


@pytree
class Custom:
    """User-defined loss `function(params, x [d], y) -> []`, which JAX differentiates with respect to params.

    Example:
      >>> import jax.numpy as jnp
      >>> def absolute(params, x, y):
      ...     slope, offset = params
      ...     return jnp.abs(x @ slope + offset[0] - y)
      >>> loss = Custom(function=absolute)
      >>> loss.values((jnp.ones(2), jnp.zeros(1)), jnp.eye(2), jnp.array([1.0, 3.0])).tolist()
      [0.0, 2.0]
    """

    signed, linear = False, False
    function: Callable[[Point, jax.Array, jax.Array], jax.Array] = static(
        doc="function of (params, x, y) that returns the loss of one row"
    )

    def check(self) -> None:
        """Raise `InputError` if `function` is not a function."""
        if not callable(self.function) or isinstance(self.function, type):
            raise InputError(f"Custom.function must be a function of (params, x, y), got {format_value(self.function)}")

    def values(self, params: Point, x: jax.Array, y: jax.Array) -> jax.Array:
        return jax.vmap(self.function, (None, 0, 0))(params, x, y)

    def gradients(self, params: Point, x: jax.Array, y: jax.Array) -> tuple[jax.Array, Point]:
        return jax.vmap(jax.value_and_grad(self.function), (None, 0, 0))(params, x, y)


def linear_gradients(
    charge: Callable[[jax.Array, jax.Array], tuple[jax.Array, jax.Array]], w: jax.Array, x: jax.Array, y: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Return losses `[Q]` and gradients `[Q, d]`; `charge(score, label)` returns the loss and its derivative."""
    loss, slope = charge(x @ w, y)
    return loss, scaled_rows(x, slope)


def scaled_rows(x: jax.Array, factor: jax.Array) -> jax.Array:
    """Return the rows `[Q, ...]` of x, each multiplied by its entry of `factor` `[Q]`."""
    return x * factor.reshape(-1, *(1,) * (x.ndim - 1))


def _logistic(score: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array]:
    loss, slope = losses.log_loss(y * score)
    return loss, slope * y


def _square_error(score: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array]:
    return jnp.square(score - y), 2.0 * (score - y)


def _hinge(score: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array]:
    margin = y * score
    return jnp.maximum(0.0, 1.0 - margin), jnp.where(margin < 1.0, -y, 0.0)


def signed_labels(labels: np.ndarray) -> np.ndarray:
    """Map two distinct values to -1 and 1, the larger to 1.

    Raises:
      InputError: unless there are exactly two distinct values.
    """
    values = np.unique(labels)
    if len(values) != 2:
        raise InputError(f"labels must have two distinct values for this loss, got {len(values)}")
    return np.where(labels == values[1], 1.0, -1.0)
