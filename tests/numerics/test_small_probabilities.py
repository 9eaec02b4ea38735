"""Draws that decide by a probability: each outcome as often as it says, counted exactly and drawn."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats as st

from jaxbandits.algorithms.dro.players import importance_weighted_gains
from jaxbandits.estimation.arms import draw_arm
from jaxbandits.numerics import rng as draws
from jaxbandits.numerics import sampling
from jaxbandits.types import IndexObs
from tests.numerics import inverse_maps
from tests.reference import draws as reference

WEIGHTS = {
    "first": (3.7e-44, 0.0, 1.0),
    "between": (0.3, 1e-9, 0.25, 0.0, 2e-10, 0.45 - 1.2e-9, 0.0),
    "last": (0.25, 0.125, 0.625 - 1e-8, 1e-8, 3e-11, 3e-12),
    "above 1": (0.5, 1e-10, 0.3 + 1e-7, 0.0, 0.2, 2e-11),
    "one": (1.0,),
    "equal": (1 / 3, 1 / 3, 1 / 3),
    "short of 1": (0.5, 0.0, 0.4999996),
    "many": (1e-7, 1e-9, 2e-11, *(0.01,) * 60, 0.4 - 1.0102e-7, 0.0),
}


@pytest.mark.parametrize("real", [jnp.float32, jnp.float64])
@pytest.mark.parametrize("name", WEIGHTS)
def test_an_index_is_drawn_with_its_probability(name, real):
    inverse_maps.check_indices(WEIGHTS[name], real)


def test_a_coin_shows_heads_with_its_probability():
    inverse_maps.check_coins(jnp.float64)


@pytest.mark.parametrize("m", [3, 70])
def test_categorical_against_exact_arithmetic(m, rng):
    q = rng.dirichlet(np.full(m, 0.1), size=300)
    q[:100, 0] = 0.0
    q[100:200, -1] = 10.0 ** -rng.uniform(3, 12, 100)
    q /= q.sum(axis=1, keepdims=True)
    words = rng.integers(2**32, size=(300, 2), dtype=np.uint32)
    words[:3], words[3:6] = 0, 2**32 - 1
    words[100:150, 0] = 0
    drawn = jax.jit(jax.vmap(sampling.categorical))(q, *jnp.asarray(words.T))
    assert drawn.dtype == jnp.int32
    wanted = [reference.categorical(p, int(a), int(b)) for p, (a, b) in zip(q, words, strict=True)]
    np.testing.assert_array_equal(drawn, wanted)
    assert (q[np.arange(300), drawn] > 0.0).all()


def test_uniforms_against_exact_arithmetic(rng):
    words = rng.integers(2**32, size=(50, 2), dtype=np.uint32)
    words[:25, 0] >>= rng.integers(32, size=25, dtype=np.uint32)
    found = draws.uniform_of_words(*jnp.asarray(words.T))
    wanted = [float(reference.uniform(int(a), int(b))) for a, b in words]
    np.testing.assert_allclose(found, wanted, rtol=3e-16)
    np.testing.assert_allclose(1.0 - draws.uniform_of_words(*~jnp.asarray(words.T)), found, rtol=0.0, atol=2.0**-52)


def test_importance_weights_are_bounded(key, monkeypatch):
    """By 1 over the resolution of the draw; above it, decisions carry the probability itself."""
    weights = jnp.array([1e-30, 0.5, 1e-11, 0.5])
    for index, wanted in ((0, sampling.RESOLUTION), (1, 0.5), (2, 1e-11)):
        monkeypatch.setattr(draws, "categorical", lambda key, p: jnp.int32(index))  # noqa: B023
        assert float(draw_arm(key, IndexObs.of(4, None), weights).probability) == wanted


def test_gains_of_groups_are_bounded():
    gains = importance_weighted_gains(jnp.array([0.5]), jnp.array([0]), jnp.array([1e-30, 1.0]), 0.0)
    np.testing.assert_allclose(gains, [-0.5 / sampling.RESOLUTION, 0.0])


@pytest.mark.parametrize("n", [1, 2, 7, 65_535, 65_537, 581_012, 2**31 - 1])
def test_integers_are_the_upper_half_of_a_product(n, rng):
    words = np.append(rng.integers(2**32, size=1000, dtype=np.uint32), np.uint32([0, 1, 2**32 - 1]))
    found = sampling.uniform_index(n, jnp.asarray(words))
    np.testing.assert_array_equal(found, words.astype(np.uint64) * np.uint64(n) >> np.uint64(32))
    assert found.dtype == jnp.int32 and found[-1] == n - 1


def test_integers_among_those_available(rng):
    mask = rng.uniform(size=(200, 6)) < 0.5
    mask[np.arange(200), rng.integers(6, size=200)] = True
    words = rng.integers(2**32, size=200, dtype=np.uint32)
    found = jax.jit(jax.vmap(lambda w, m: sampling.uniform_available(w, 6, m)))(words, mask)
    wanted = [np.flatnonzero(m)[int(w) * m.sum() >> 32] for w, m in zip(words, mask, strict=True)]
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.slow
def test_rare_events_are_as_rare_as_they_should_be(key):
    """2^28 coins of 1e-7 and 1e-8, and draws of an index of 2e-8 behind larger ones."""
    keys, steps = jax.random.split(key, 2**12), 2**16
    weights = jnp.array([0.3, 2e-8, 0.7 - 2e-8])

    def step(i, counts):
        rare, rarer, index = jax.vmap(
            lambda k: (
                draws.uniform(k, 2 * i) < 1e-7,
                draws.uniform(k, 2 * i) < 1e-8,
                draws.categorical(k, weights, 2 * i + 1),
            )
        )(keys)
        return counts + jnp.stack([jnp.sum(x) for x in (rare, rarer, index == 1)])

    counts = jax.jit(lambda: jax.lax.fori_loop(0, steps, step, jnp.zeros(3, int)))()
    for count, p in zip(counts, (1e-7, 1e-8, 2e-8), strict=True):
        assert st.binomtest(int(count), 2**28, p).pvalue > 1e-5, (int(count), p)
