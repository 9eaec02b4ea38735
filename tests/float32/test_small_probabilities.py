"""Coins and categorical draws in single precision, by exact counts of their words."""

import jax.numpy as jnp

from tests.numerics import inverse_maps


def test_a_coin_shows_heads_with_its_probability():
    inverse_maps.check_coins(jnp.float32)


def test_an_index_is_drawn_with_its_probability():
    inverse_maps.check_indices((0.3, 1e-9, 0.25, 0.0, 2e-10, 0.45, 0.0), jnp.float32)
