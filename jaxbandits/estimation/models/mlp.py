"""Multilayer perceptrons, represented by lists of layers.

h_0 = x,   h_l = act(h_{l-1} W_l + b_l),   output = h_L W + b     (no activation)
"""

import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.base.errors import InputError, unknown_name
from jaxbandits.numerics import rng

ACTIVATIONS: dict[str, Callable[[jax.Array], jax.Array]] = {
    "relu": lambda x: jnp.where(x > 0.0, x, 0.0),  # the derivative at 0 is 0, whereas that of `jnp.maximum` is 1/2
    "leaky_relu": lambda x: jnp.where(x > 0.0, x, 0.01 * x),
    "tanh": jnp.tanh,
}


class Layer(NamedTuple):
    """Weights and biases of a layer."""

    weight: jax.Array  # [n_in, n_out]
    bias: jax.Array  # [n_out]


def check(name: str, hidden: Any, activation: str) -> None:
    """Raise InputError if a size of a hidden layer is not a whole number >= 1, or if the activation is unknown."""
    if not (isinstance(hidden, tuple) and all(isinstance(n, int) and n >= 1 for n in hidden)):
        raise InputError(f"{name}.hidden must be a tuple of whole numbers >= 1, got {hidden!r}")
    if activation not in ACTIVATIONS:
        raise unknown_name(f"{name}.activation", activation, ACTIVATIONS)


def init(key: jax.Array, sizes: tuple[int, ...]) -> list[Layer]:
    """Draw weights from N(0, 2 / n_in) for hidden layers and from N(0, 1 / n_in) for the last layer; biases are 0.

    Args:
      key: random key.
      sizes: sizes of the input, the hidden layers and the output.
    """
    keys = jax.random.split(key, len(sizes) - 1)
    layers = []
    for i, (n_in, n_out) in enumerate(itertools.pairwise(sizes)):
        scale = math.sqrt((1.0 if i == len(sizes) - 2 else 2.0) / n_in)
        layers.append(Layer(scale * rng.normals(keys[i], n_in, n_out), jnp.zeros(n_out)))
    return layers


def last_hidden_layer(layers: list[Layer], x: jax.Array, activation: str) -> jax.Array:
    """Return the last hidden layer `[..., H]` for inputs `[..., d]`; the inputs if there is no hidden layer."""
    act = ACTIVATIONS[activation]
    for layer in layers[:-1]:
        x = act(x @ layer.weight + layer.bias)
    return x


def apply(layers: list[Layer], x: jax.Array, activation: str) -> jax.Array:
    """Return the outputs `[..., n_out]` for inputs `[..., d]`."""
    return last_hidden_layer(layers, x, activation) @ layers[-1].weight + layers[-1].bias


def unravel(vector: jax.Array, sizes: tuple[int, ...]) -> list[Layer]:
    """Return the layers whose weights (row by row) and biases, layer by layer, are the entries of a vector `[P]`."""
    layers, first = [], 0
    for n_in, n_out in itertools.pairwise(sizes):
        stop = first + n_in * n_out
        layers.append(Layer(vector[first:stop].reshape(n_in, n_out), vector[stop : stop + n_out]))
        first = stop + n_out
    return layers


def norm_sq(layers: Any) -> jax.Array:
    """Return the sum of squares `[]` of all weights and biases."""
    return sum((jnp.sum(leaf * leaf) for leaf in jax.tree.leaves(layers)), jnp.zeros(()))
