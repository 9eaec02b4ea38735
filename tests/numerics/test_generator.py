"""The generator: published blocks, keys of JAX, avalanche, moments and correlations within and between keys."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats as st

from jaxbandits.numerics import rng as draws
from jaxbandits.numerics.rng import generator
from jaxbandits.tracing.threefry import threefry
from jaxbandits.tracing.vmap_last import vmap_last
from tests.reference import draws as reference

PI = 0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344  # the counter, then the key
PUBLISHED = {  # by rounds: zeros, ones, digits of pi; "kat_vectors" of Random123, the authors' code
    13: ((0x9D1C5EC6, 0x8BD50731), (0xFD36D048, 0x2D17272C), (0xBA3E4725, 0xF27D669E)),
    20: ((0x6B200159, 0x99BA4EFE), (0x1CB996FC, 0xBB002BE7), (0xC4923A9C, 0x483DF7A0)),
}


@pytest.mark.parametrize("rounds", PUBLISHED)
def test_the_reference_makes_the_published_blocks(rounds):
    for (c0, c1, k0, k1), block in zip(([0] * 4, [2**32 - 1] * 4, PI), PUBLISHED[rounds], strict=True):
        assert tuple(map(int, reference.threefry((k0, k1), (c0, c1), rounds))) == block


@pytest.mark.parametrize("rounds", PUBLISHED)
def test_blocks_are_those_of_the_reference(rounds, rng):
    k0, k1, counter = rng.integers(2**32, size=(3, 500), dtype=np.uint32)
    found = threefry(*(jnp.asarray(word) for word in (k0, k1, counter)), rounds)
    np.testing.assert_array_equal(found, reference.threefry((k0, k1), (0 * counter, counter), rounds))
    assert tuple(map(int, threefry(*(jnp.uint32(0),) * 3, rounds))) == PUBLISHED[rounds][0]


@pytest.mark.slow
def test_words_have_thirteen_rounds(rng):
    keys = jax.random.split(jax.random.key(3), 5)
    data = np.asarray(jax.random.key_data(keys)).T
    for counter in (0, 1, 2**32 - 1):
        want = np.stack(reference.threefry(data, (0, counter), 13))
        np.testing.assert_array_equal(jax.vmap(draws.random_words, (0, None))(keys, counter), want)
        np.testing.assert_array_equal(jax.jit(vmap_last(lambda k: draws.random_words(k, counter)))(keys), want)  # noqa: B023
        np.testing.assert_array_equal(draws.random_words(keys[1], counter), want[:, 1])
    blocks = np.stack(reference.threefry(data[:, 2], (0, np.arange(7)), 13))
    np.testing.assert_array_equal(draws.random_words(keys[2], jnp.arange(7)), blocks)
    np.testing.assert_array_equal(draws.word_array(keys[2], 7, counter=1), [*blocks[0, 1:5], *blocks[1, 1:4]])
    assert generator.DRAW_ROUNDS == 13


def test_words_of_other_generators_are_those_of_fold_in():
    for seed, counter in itertools.product((0, 1, 2**31), (0, 1, 12345)):
        key = jax.random.key(seed, impl="rbg")
        want = jax.random.key_data(jax.random.fold_in(key, counter))[:2]
        np.testing.assert_array_equal(draws.random_words(key, counter), want)


def test_keys_are_those_of_jax():
    data = jax.random.key_data
    keys, several = jax.random.split(jax.random.key(5), 4), jnp.arange(4)
    for numbers, axis in ((several, 0), (13, None)):
        want = data(jax.vmap(jax.random.fold_in, (0, axis))(keys, numbers))
        np.testing.assert_array_equal(data(jax.vmap(draws.fold_in, (0, axis))(keys, numbers)), want)
    np.testing.assert_array_equal(data(vmap_last(draws.fold_in, (-1, None))(keys, 13)), want)
    for key in (keys[1], jax.random.key(3, impl="rbg")):
        np.testing.assert_array_equal(data(draws.fold_in(key, 2)), data(jax.random.fold_in(key, 2)))
    np.testing.assert_array_equal([data(key) for key in draws.split(keys[1], 3)], data(jax.random.split(keys[1], 3)))


@pytest.mark.slow_after_first
@pytest.mark.parametrize("rounds", PUBLISHED)
def test_each_bit_of_key_and_counter_changes_half_of_the_bits(rounds, rng):
    """Each of 96 bits of input flips each of 64 bits of output in half of the blocks: 6,144 frequencies."""
    n = 2**14
    words = jnp.asarray(rng.integers(2**32, size=(3, n), dtype=np.uint32))
    flips = jnp.asarray(
        [[(1 << bit) * (word == k) for k in range(3)] for word in range(3) for bit in range(32)], jnp.uint32
    )

    @jax.jit
    @jax.vmap
    def changed_share(flip):
        both = [
            a ^ b for a, b in zip(threefry(*words, rounds), threefry(*(words ^ flip[:, None]), rounds), strict=True)
        ]
        return jnp.stack([jnp.sum((a >> bit) & 1) for a in both for bit in range(32)])

    z = (np.asarray(changed_share(flips)) - n / 2) / np.sqrt(n / 4)
    assert np.abs(z).max() < 5.5  # of 6,144 normals: with probability 2e-4
    assert abs(z.mean()) < 5.0 / np.sqrt(z.size) and abs(z.var() - 1.0) < 5.0 * np.sqrt(2.0 / z.size)


LAGS = (1, 2, 3, 4, 5, 7, 8, 16, 31, 32, 64, 100)
KEYS, BLOCKS = 1024, 256


@jax.jit
def words_of(key, i):
    """Both words `[KEYS, BLOCKS]` of consecutive counters of the consecutive children of a child of a key."""
    parent = draws.fold_in(key, i)
    keys = jax.vmap(lambda j: draws.fold_in(parent, j))(jnp.arange(KEYS))
    return jax.vmap(lambda k: draws.random_words(k, jnp.arange(BLOCKS)))(keys)


def sums_of(first, second):
    """Sums of products of centred uniforms, each with its variance and the number of its terms, and tables of counts.

    Moments; correlations along the counters of a key, across keys, and between both words of a block; frequencies of
    each bit, and of the upper and lower bits, alone and with those of a neighbour.
    """
    u, v = ((word + 0.5) * 2.0**-32 - 0.5 for word in (first, second))
    stream = np.stack([u, v], axis=-1).reshape(KEYS, -1)  # in the order of counters, then words
    square = stream * stream
    sums = {
        "mean": (stream.sum(), 1 / 12, stream.size),
        "square": (square.sum() - stream.size / 12, 1 / 180, stream.size),
        "cube": (np.vdot(square, stream), 1 / 448, stream.size),
        "fourth": (np.vdot(square, square) - stream.size / 80, 1 / 3600, stream.size),
        "words of a block": (np.vdot(u, v), 1 / 144, u.size),
        "their squares": (np.vdot(u * u - 1 / 12, v * v - 1 / 12), 1 / 180**2, u.size),
    }
    for k in LAGS:
        sums[f"{k} words apart"] = np.vdot(stream[:, k:], stream[:, :-k]), 1 / 144, stream[:, k:].size
        sums[f"{k} keys apart"] = np.vdot(stream[k:], stream[:-k]), 1 / 144, stream[k:].size
    words = np.stack([first, second])
    pairs = {
        "upper bits": (words >> 28, words >> 24 & 15),
        "lower bits": (words & 15, words >> 4 & 15),
        "upper bits of a block": (first >> 28, second >> 28),
        "lower bits of two blocks": (first[:, 1:] & 15, second[:, :-1] & 15),
        "upper bits of two keys": (first[1:] >> 28, first[:-1] >> 28),
    }
    tables = {name: np.bincount((16 * a + b).ravel(), minlength=256) for name, (a, b) in pairs.items()}
    ones = [np.bincount((words >> 8 * k & 255).ravel(), minlength=256) for k in range(4)]
    tables |= {f"bit {b}": (ones[b // 8].reshape(-1, 2, 2 ** (b % 8)).sum(axis=(0, 2))) for b in range(32)}
    return sums, tables


@pytest.mark.slow_after_first
@pytest.mark.parametrize("steps", [2, 2048], ids=["1 million", "1 billion"])
def test_words_are_uniform_and_independent(steps, key):
    totals, tables = {}, {}
    for i in range(steps):
        sums, counts = sums_of(*map(np.asarray, words_of(key, jnp.int32(i))))
        for name, (total, variance, terms) in sums.items():
            totals[name] = totals.get(name, 0.0) + np.array([total, variance * terms])
        for name, table in counts.items():
            tables[name] = tables.get(name, 0) + table
    z = {name: total / np.sqrt(variance) for name, (total, variance) in totals.items()}
    p = {name: st.chisquare(table).pvalue for name, table in tables.items()}
    largest, least = max(map(abs, z.values())), min(p.values())
    print(f"{len(z)} normal statistics up to {largest:.2f}, {len(p)} p-values from {least:.4f}")
    assert largest < 5.0, z
    assert least > 1e-6, p
