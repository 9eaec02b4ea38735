"""Sorts and the k largest entries with the batch axis last: bit for bit those of `lax`, and none of its loops."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jaxbandits.tracing import short_sorts
from jaxbandits.tracing.vmap_last import explain, vmap_last

WIDTH = 33
SPECIAL = [0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1e-42, -1e-42, 1.0, -1.0]


def _bits(x):
    x = np.asarray(x)
    return x.view(f"i{x.dtype.itemsize}") if x.dtype.kind == "f" else x


def _entries(rng, dtype, *shape):
    """Draw numbers with many ties; of floats every third is a zero, an infinity, NaN or subnormal."""
    x = rng.integers(-3, 4, shape)
    if np.issubdtype(dtype, np.integer):
        info = np.iinfo(dtype)
        return np.where(rng.random(shape) < 0.3, rng.choice([info.min, info.max], shape), abs(x)).astype(dtype)
    return np.where(rng.random(shape) < 0.3, rng.choice(SPECIAL, shape), x).astype(dtype)


def _sort(x, other):
    """Sort in the ways that have plans of their own."""
    return (
        jnp.sort(x), jnp.argsort(x), jnp.argsort(x)[:3], jnp.argsort(x)[::-1][:3], jnp.argsort(x)[-2:],
        jnp.argsort(x, descending=True)[:2], jnp.sort(x)[-1], jnp.sort(x)[len(x) // 2], jnp.argsort(x)[1:2],
        jnp.argsort(x)[:0], lax.sort((x, other)), lax.sort((x, other))[1][:2], jnp.argsort(x)[jnp.array([0, 1])],
    )  # fmt: skip


def _largest(x):
    return lax.top_k(x, 2), lax.top_k(x, len(x)), lax.top_k(x[::-1], 1)[1]


@pytest.mark.quick_cases("float32-5", "float64-20", "int32-2", "uint8-66")
@pytest.mark.parametrize("n", [2, 5, 20, 66])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32, np.uint8])
def test_sorts_as_lax_does(n, dtype, rng):
    x, other = _entries(rng, dtype, n, WIDTH), rng.integers(0, 9, (n, WIDTH))
    for f, args in ((_sort, (x, other)), (_largest, (x,))):
        expected = jax.jit(jax.vmap(f, in_axes=-1, out_axes=-1))(*args)
        found = jax.jit(vmap_last(f))(*args)
        jax.tree.map(lambda a, b: np.testing.assert_array_equal(_bits(a), _bits(b)), found, expected)


@pytest.mark.slow
def test_sorts_along_inner_axes(rng):
    x = rng.standard_normal((3, 20, 4, WIDTH)).astype(np.float32)

    def f(x):
        return jnp.argsort(x, axis=1)[:, -2:], jnp.sort(x, axis=1), lax.top_k(jnp.swapaxes(x, 1, 2), 3)

    expected, found = jax.jit(jax.vmap(f, in_axes=-1, out_axes=-1))(x), jax.jit(vmap_last(f))(x)
    jax.tree.map(np.testing.assert_array_equal, found, expected)


@pytest.mark.slow
def test_sorts_under_grad_and_vmap(rng):
    x, weights = rng.standard_normal((4, 20, WIDTH)), rng.standard_normal(20)

    def loss(x):
        values, _ = lax.top_k(x, 3)
        return jnp.sum(values**2) + jnp.sort(x) @ weights + jnp.sum(x[jnp.argsort(-x)[:2]] ** 3)

    expected = jax.jit(jax.vmap(jax.grad(lambda x: jnp.sum(jax.vmap(loss, -1)(x)))))(x)
    found = jax.jit(jax.vmap(jax.grad(lambda x: jnp.sum(vmap_last(loss)(x)))))(x)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_allclose(jax.jit(vmap_last(jax.grad(loss)))(x[0]), expected[0], rtol=1e-12)


def _best(u):
    return jnp.argsort(-u)[:5], jnp.argsort(u)[::-1][:5], lax.top_k(u, 5)


@pytest.mark.parametrize("n", [20, 200])
def test_few_of_many_are_searched_without_a_sort(n):
    u = jax.ShapeDtypeStruct((n, WIDTH), jnp.float32)
    assert explain(_best, u) == []
    text = jax.jit(vmap_last(_best)).lower(u).as_text()
    assert "sort" not in text and "top_k" not in text


def test_long_sorts_are_named():
    u = jax.ShapeDtypeStruct((short_sorts.COUNTED + 1, WIDTH), jnp.float32)
    found = explain(lambda u: (jnp.argsort(u), lax.top_k(u, 30)[1], jnp.lexsort((u[:4], u[:4]))), u)
    assert [(x.primitive, x.count) for x in found] == [("sort", 2), ("top_k", 1)]


def test_keys_and_arrays_are_stacked_in_place(rng):
    def f(key, x):
        first, second = jax.random.split(key)
        a, b, c = jnp.unstack(x)
        return jax.random.uniform(second), jnp.stack([a, c, b], axis=1), jax.random.key_data(jnp.stack([second, first]))

    keys, x = jax.random.split(jax.random.key(0), WIDTH), rng.standard_normal((3, 2, WIDTH))
    assert explain(f, keys, x) == []
    both = jax.jit(lambda *args: (vmap_last(f)(*args), jax.vmap(f, -1, -1)(*args)))
    jax.tree.map(np.testing.assert_array_equal, *both(keys, x))
