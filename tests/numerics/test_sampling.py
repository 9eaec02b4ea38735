"""Samplers of several indices fed by given uniforms: against the NumPy forms, and their marginals exactly."""

import fractions
import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.numerics import sampling
from tests.reference import dro_weights as reference

Q = np.array([1 / 3, 0.3, 0.2, 0.1, 0.05, 1 / 60])

dep_round = functools.partial(jax.jit, static_argnums=1)(jax.vmap(sampling.dep_round, (0, None, 0)))
systematic = functools.partial(jax.jit, static_argnums=1)(jax.vmap(sampling.systematic_sampling, (0, None, 0)))


@pytest.mark.parametrize(
    ("u", "expected"), [((0.1, 0.2, 0.3, 0.4, 0.5), {0, 1, 2}), ((0.9, 0.8, 0.7, 0.6, 0.5), {0, 2, 3})]
)
def test_dep_round_known_sets(u, expected):
    assert set(np.asarray(sampling.dep_round(jnp.asarray(Q), 3, jnp.asarray(u))).tolist()) == expected


def weights(rng, n, m, k):
    """Weights at, near and below the cap of 1/k, some of them 0 but for rounding."""
    scale = 10.0 ** rng.uniform(-1, 2, (n, 1))
    log_p = rng.normal(size=(n, m)) * scale
    log_p[::3, : m // 2] = log_p[::3, :1]
    return np.array([reference.project(row, k) for row in log_p])


@pytest.mark.quick_cases("2-1", "7-7")
@pytest.mark.parametrize(("m", "k"), [(2, 1), (6, 3), (7, 7), (12, 5), (60, 4)])
def test_sets_are_those_of_the_references(m, k, rng):
    q, u = weights(rng, 300, m, k), rng.random((300, m - 1))
    drawn = np.asarray(dep_round(q, k, u))
    assert drawn.shape == (300, k) and drawn.dtype == np.int32
    np.testing.assert_array_equal(np.sort(drawn, axis=1), [reference.dep_round(*row) for row in _with(q, k, u)])
    drawn = np.asarray(systematic(q, k, u[:, 0]))
    np.testing.assert_array_equal(drawn, [reference.systematic(*row) for row in _with(q, k, u[:, 0])])


def _with(q, k, u):
    return zip(q, itertools.repeat(k), u, strict=False)


@pytest.mark.quick_cases("masses1-3")
@pytest.mark.parametrize(("masses", "k"), [((5, 3, 2), 1), ((6, 6, 5, 2, 1), 3), ((4, 4, 3, 3, 1, 1), 4), ((3, 3), 2)])
def test_dep_round_has_exactly_the_marginals_of_k_q(masses, k):
    """The tree of coins, walked with fractions: each set with its exact probability, each coin as our code takes it."""
    total = sum(masses)
    p = [fractions.Fraction(k * mass, total) for mass in masses]
    leaves = list(_coins(p))
    assert sum(chance for _, chance, _ in leaves) == 1
    marginal = [fractions.Fraction(0)] * len(p)
    u = np.array([coins for coins, _, _ in leaves])
    q = np.broadcast_to(np.array(masses) / total, (*u.shape[:1], len(p)))
    for drawn, (_, chance, chosen) in zip(np.asarray(dep_round(q, k, u)), leaves, strict=True):
        assert set(drawn.tolist()) == chosen
        for i in drawn:
            marginal[i] += chance
    assert marginal == p


def _coins(p):
    """Every sequence of outcomes: uniforms that bring it about, its probability, and the set it ends in."""

    def walk(p, a, b, coins, chance):
        if b == len(p):
            yield coins, chance, {i for i, value in enumerate(p) if value == 1}
        elif not 0 < p[a] < 1:
            yield from walk(p, b, b + 1, [*coins, 0.5], chance)
        elif not 0 < p[b] < 1:
            yield from walk(p, a, b + 1, [*coins, 0.5], chance)
        else:
            up, down = min(1 - p[a], p[b]), min(p[a], 1 - p[b])
            first = down / (up + down)
            for move, part, coin in ((up, first, first / 2), (-down, 1 - first, (1 + first) / 2)):
                after = list(p)
                after[a], after[b] = p[a] + move, p[b] - move
                stays = a if 0 < after[a] < 1 else b
                yield from walk(after, stays, b + 1, [*coins, float(coin)], chance * part)

    yield from walk(list(p), 0, 1, [], fractions.Fraction(1))


@pytest.mark.quick_cases("masses1-3")
@pytest.mark.parametrize(("masses", "k"), [((5, 3, 2), 1), ((6, 6, 5, 2, 1), 3), ((4, 4, 3, 3, 1, 1), 4), ((3, 3), 2)])
def test_systematic_sampling_has_exactly_the_marginals_of_k_q(masses, k):
    """The middles of a grid on which all ends lie: every index as often as its mass says."""
    total = sum(masses)
    cells = total
    u = (np.arange(cells) + 0.5) / cells
    q = np.broadcast_to(np.array(masses) / total, (cells, len(masses)))
    drawn = np.asarray(systematic(q, k, u))
    counts = np.bincount(drawn.ravel(), minlength=len(masses))
    np.testing.assert_array_equal(counts * total, np.array(masses) * k * cells)


@pytest.mark.quick_cases("6-*", "60-*")
@pytest.mark.parametrize("sampler", ["dep_round", "systematic"])
@pytest.mark.parametrize(("m", "k"), [(6, 3), (12, 12), (60, 4)])
def test_always_k_different_indices(sampler, m, k, rng):
    """Also where weights lie at the cap up to rounding, and at both ends of the uniforms."""
    q = weights(rng, 300, m, k) * (1.0 + rng.uniform(-1e-15, 1e-15, (300, m)))
    u = rng.random((300, m - 1))
    u[:100], u[100:200] = 0.0, np.nextafter(1.0, 0.0)
    drawn = np.asarray(dep_round(q, k, u) if sampler == "dep_round" else systematic(q, k, u[:, 0]))
    assert np.all((drawn >= 0) & (drawn < m))
    assert all(len(set(row)) == k for row in drawn.tolist())
