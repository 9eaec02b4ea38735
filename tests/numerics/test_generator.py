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
    def changed(flip):
        both = [
            a ^ b for a, b in zip(threefry(*words, rounds), threefry(*(words ^ flip[:, None]), rounds), strict=True)
        ]
        return jnp.stack([jnp.sum((a >> bit) & 1) for a in both for bit in range(32)])

    z = (np.asarray(changed(flips)) - n / 2) / np.sqrt(n / 4)
    assert np.abs(z).max() < 5.5  # of 6,144 normals: with probability 2e-4
    assert abs(z.mean()) < 5.0 / np.sqrt(z.size) and abs(z.var() - 1.0) < 5.0 * np.sqrt(2.0 / z.size)


LAGS = (1, 2, 3, 4, 5, 7, 8, 16, 31, 32, 64, 100)
KEYS, BLOCKS = 1024, 256


def statistics_of_words(key, steps):
    """Standardised statistics of `2 KEYS BLOCKS steps` words of consecutive counters of consecutive children of keys.

    Moments of uniforms; correlations at lags along the counters of a key, across keys, and between both words of a
    block; frequencies of each bit, and of the upper and lower bytes, alone and of neighbours.
    """

    def centred(words):
        return (words.astype(float) + 0.5) * 2.0**-32 - 0.5

    def counts(values, n):
        return jnp.zeros(n, int).at[values.ravel()].add(1)

    def step(i, sums):
        keys = jax.vmap(lambda j: draws.fold_in(draws.fold_in(key, i), j))(jnp.arange(KEYS))
        first, second = jax.vmap(lambda k: draws.random_words(k, jnp.arange(BLOCKS)))(keys)
        u, v = centred(first), centred(second)
        stream = jnp.stack([u, v], axis=-1).reshape(KEYS, -1)  # in the order of `counter`, then word
        products = {
            "mean": stream, "square": jnp.square(stream) - 1 / 12, "cube": stream**3,
            "fourth": stream**4 - 1 / 80, "block": u * v, "square of block": (u * u - 1 / 12) * (v * v - 1 / 12),
        } | {f"lag {k}": stream[:, k:] * stream[:, :-k] for k in LAGS} | {
            f"keys {k}": stream[k:] * stream[:-k] for k in LAGS
        }  # fmt: skip
        words = jnp.stack([first, second])
        tables = {
            "bits": jnp.stack([jnp.sum((words >> b) & 1) for b in range(32)]),
            "upper": counts(words >> 24, 256), "lower": counts(words & 0xFF, 256),
            "upper pairs": counts((first >> 28) * 16 + (second >> 28), 256),
            "lower pairs": counts((first[:, 1:] & 15) * 16 + (second[:, :-1] & 15), 256),
            "key pairs": counts((first[1:] >> 28) * 16 + (first[:-1] >> 28), 256),
        }  # fmt: skip
        return jax.tree.map(jnp.add, sums, (jax.tree.map(jnp.sum, products), tables))

    shapes = jax.eval_shape(lambda: step(0, (dict.fromkeys(NAMES, 0.0), dict.fromkeys(TABLES, 0))))
    start = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)
    sums, tables = jax.jit(lambda: jax.lax.fori_loop(0, steps, step, start))()
    total = 2 * KEYS * BLOCKS * steps
    scale = {"mean": (1 / 12, 1), "square": (1 / 180, 1), "cube": (1 / 448, 1), "fourth": (1 / 3600, 1)}
    scale |= {"block": (1 / 144, 1 / 2), "square of block": (1 / 180**2, 1 / 2)}
    scale |= {f"lag {k}": (1 / 144, 1 - k / (2 * BLOCKS)) for k in LAGS}
    scale |= {f"keys {k}": (1 / 144, 1 - k / KEYS) for k in LAGS}
    z = {name: float(sums[name]) / np.sqrt(v * part * total) for name, (v, part) in scale.items()}
    bits = np.asarray(tables.pop("bits"))
    z |= {f"bit {b}": (count - total / 2) / np.sqrt(total / 4) for b, count in enumerate(bits)}
    p = {name: st.chisquare(table).pvalue for name, table in tables.items()}
    return z, p, total


NAMES = (
    "mean",
    "square",
    "cube",
    "fourth",
    "block",
    "square of block",
    *(f"{a} {k}" for a in ("lag", "keys") for k in LAGS),
)
TABLES = ("bits", "upper", "lower", "upper pairs", "lower pairs", "key pairs")


@pytest.mark.parametrize("steps", [16, 2048], ids=["8 million", "1 billion"])
def test_words_are_uniform_and_independent(steps, key):
    z, p, total = statistics_of_words(key, steps)
    print(f"{total:.2e} words: largest of {len(z)} |z| {max(map(abs, z.values())):.2f}, least p {min(p.values()):.3f}")
    assert max(map(abs, z.values())) < 5.0, z
    assert min(p.values()) > 1e-6, p
