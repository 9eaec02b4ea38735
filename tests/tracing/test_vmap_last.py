"""`vmap_last` is `jax.vmap` along the last axis, operation by operation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jaxbandits.tracing import batching
from jaxbandits.tracing.barrier import barrier
from jaxbandits.tracing.vmap_last import vmap_last


def _long_products(x):
    """Contractions of 60 and 61 terms, which are added up in slices, with axes in every order."""
    long = jnp.concatenate([jnp.sin((k + 1.0) * x) for k in range(15)], axis=1)  # [3, 60]
    odd = jnp.concatenate([long, x[:, :1]], axis=1)  # [3, 61]
    return (
        long @ long.T,
        long[0] @ long.T,
        long @ long[1],
        jnp.einsum("an,bn->ba", odd, 2.0 * odd),
        jnp.einsum("an,an->a", odd, jnp.cos(odd)),
        jnp.einsum("an,ban->ba", odd, jnp.stack([odd, odd + 1.0])),
    )


# of a scalar s, an array x [3, 4] and a number the same for all
OPERATIONS = {
    "a scalar times an array": lambda s, x, k: s * x + k,
    "where": lambda s, x, k: (jnp.where(s > 0, x, 2.0), jnp.where(x > s, s, k), jnp.where(k > 0, s, 0.0)),
    "where for all": lambda s, x, k: (jnp.where(k > 0, x, k), lax.select(k > 0, x, s * x), lax.clamp(0.0, x, s)),
    "clip": lambda s, x, k: (jnp.clip(x, 0.0, s), jnp.clip(x, s, k), jnp.clip(s, -1.0, 1.0)),
    "constants": lambda s, x, k: x + jnp.arange(4.0) * s + jnp.arange(3.0)[:, None],
    "functions with derivatives of their own": lambda s, x, k: (jax.nn.sigmoid(x), jnp.logaddexp(x, s), jax.nn.relu(s)),
    "reductions": lambda s, x, k: (x.sum(), x.max(axis=1), jnp.argmin(x, axis=0), jnp.cumsum(x, axis=0), (x > s).any()),
    "shapes": lambda s, x, k: (x.reshape(6, 2), x.T, x[1:, ::2], x[2], jnp.pad(x, 1), x[None], jnp.flip(x, 1)),
    "joining": lambda s, x, k: (jnp.stack([x[0], s * x[1], jnp.ones(4)]), jnp.concatenate([x, jnp.zeros((1, 4))])),
    "taking": lambda s, x, k: (x[jnp.argmax(x[:, 0])], lax.dynamic_slice(x, (1, 2), (2, 2)), x[jnp.int32(k)]),
    "taking the same for all": lambda s, x, k: (
        x[np.array([2, 0, 0, -1])],
        x[:, np.array([[3, 1]])],
        x.at[np.array([1, 7])].get(mode="fill"),
        x.at[np.array([1, 7])].get(mode="clip"),
        x[np.array([0, 2]), np.array([1, 3])],
    ),
    "taking from what is the same for all": lambda s, x, k: (
        jnp.arange(12.0).reshape(4, 3)[jnp.argmax(x, axis=1)],
        jnp.arange(12.0).reshape(4, 3).at[jnp.argmax(x, axis=1)].get(mode="clip"),
        jnp.arange(300.0)[97 * jnp.argmax(x, axis=1)],
    ),
    "putting": lambda s, x, k: (x.at[1].set(s), lax.dynamic_update_index_in_dim(x, x[0], jnp.int32(k), 0)),
    "products": lambda s, x, k: (x @ x.T, jnp.outer(x[0], x[1]), x @ x[0], jnp.linalg.inv(x @ x.T + 9.0 * jnp.eye(3))),
    "long products": lambda s, x, k: _long_products(x),
    "sorting": lambda s, x, k: (jnp.sort(x, axis=0), jnp.median(x)),
    "entries of a sort": lambda s, x, k: (jnp.sort(x, axis=0)[1], jnp.sort(x)[:, -1], lax.sort((x[0], x[1]))[1][:1]),
    "loops": lambda s, x, k: (
        lax.while_loop(lambda c: c[1] < 9.0 + s, lambda c: (c[0] * s, c[1] + 1.0), (x, 0.0)),
        lax.scan(lambda c, row: (c + s, row * c), s, x),
        lax.fori_loop(0, 3, lambda i, c: c + i * s, x),
        lax.cond(k > 0, lambda: x, lambda: -x),
    ),
    "loops of one length": lambda s, x, k: (
        lax.while_loop(lambda c: c[1] < 3.0, lambda c: (c[0] * s, c[1] + k, c[3], c[0]), (x, 0.0, k * x, -x)),
        lax.scan(lambda c, row: (c + k, row * c), 1.0, jnp.arange(3.0), reverse=True),
        lax.switch(jnp.int32(k), [lambda: x, lambda: jnp.zeros((3, 4)), lambda: x + s]),
    ),
    "what is the same for all": lambda s, x, k: (jnp.arange(3.0) + k, k, s),
    "random draws": lambda s, x, k: s * jax.random.normal(jax.random.fold_in(jax.random.key(0), jnp.int32(k)), (2,)),
    "split keys": lambda s, x, k: [
        jax.random.key_data(key).astype(float)
        for key in jax.random.split(jax.random.fold_in(jax.random.key(0), jnp.int32(1e3 * s)), 3)
    ],
    "types": lambda s, x, k: (x.astype(jnp.float32), x > s, jnp.int32(3) * (x > s), 2),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_as_vmap(name, rng):
    f = OPERATIONS[name]
    args = rng.standard_normal(5), rng.standard_normal((3, 4, 5)), 2.0

    @jax.jit
    def both(*args):
        return vmap_last(f, (-1, -1, None))(*args), jax.vmap(f, (-1, -1, None), -1)(*args)

    ours, theirs = both(*args)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14), ours, theirs)
    assert jax.tree.map(lambda a: (a.shape, a.dtype), ours) == jax.tree.map(lambda a: (a.shape, a.dtype), theirs)


@pytest.mark.quick_cases("where", "constants")
@pytest.mark.parametrize("name", ["a scalar times an array", "where", "clip", "constants", "loops", "random draws"])
def test_inside_another(name, rng):
    """Under `jax.vmap`, and one in the other."""
    f = OPERATIONS[name]
    args = rng.standard_normal((2, 5)), rng.standard_normal((2, 3, 4, 5)), 2.0

    @jax.jit
    def all_three(*args):
        last = (*(jnp.moveaxis(a, 0, -1) for a in args[:2]), args[2])
        return (
            jax.vmap(jax.vmap(f, (-1, -1, None), -1), (0, 0, None))(*args),
            jax.vmap(vmap_last(f, (-1, -1, None)), (0, 0, None))(*args),
            jax.tree.map(
                lambda a: jnp.moveaxis(a, -1, 0), vmap_last(vmap_last(f, (-1, -1, None)), (-1, -1, None))(*last)
            ),
        )

    theirs, under, twice = all_three(*args)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12), under, theirs)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12), twice, theirs)


def test_loops_and_branches_that_are_the_same_for_all_turn_nothing_around(key):
    def f(s, x, k):
        carried = lax.fori_loop(0, jnp.int32(k), lambda i, c: c + i * s * x, x)
        return lax.scan(lambda c, row: (c + s, row * c), s, lax.cond(k > 1, lambda: carried, lambda: -x))

    jaxpr = jax.make_jaxpr(vmap_last(f, (-1, -1, None)))(jnp.ones(5), jnp.ones((3, 4, 5)), 2.0)
    assert " transpose[" not in str(jaxpr) and "moveaxis" not in str(jaxpr)


def test_functions_with_a_rule_for_the_end_turn_nothing_around(rng):
    """They work with the trial axis last, loops, branches on what differs and does not, and barriers."""

    def f(s, x, k):
        x = barrier(batching.trials_last(lambda s, x: s * x)(s, x))
        halved = batching.while_loop(lambda c: c[0] > s, lambda c: (0.5 * c[0], c[1] + x), (k, x))[1]
        added = batching.fori_loop(0, 3, lambda i, c: c + i * halved, x)
        return batching.cond(s > 1.0, lambda: added, lambda: x) + batching.cond(k > 1.0, lambda: x, lambda: halved)

    args = rng.uniform(0.5, 2.0, 5), rng.standard_normal((3, 4, 5)), 2.0
    jaxpr = jax.make_jaxpr(vmap_last(f, (-1, -1, None)))(*args)
    assert " transpose[" not in str(jaxpr) and "moveaxis" not in str(jaxpr)
    ours, theirs = vmap_last(f, (-1, -1, None))(*args), jax.vmap(f, (-1, -1, None), -1)(*args)
    np.testing.assert_allclose(ours, theirs, rtol=1e-14)


def test_axes(key):
    """A pytree of axes; keys; no batched argument at all; a length of the axis."""
    keys = jax.random.split(key, 4)
    draw = vmap_last(lambda tree, k: tree["a"] + tree["b"] + jax.random.normal(k), ({"a": -1, "b": None}, -1))
    got = draw({"a": jnp.arange(4.0), "b": 1.0}, keys)
    np.testing.assert_allclose(got, jnp.arange(4.0) + 1.0 + jax.vmap(jax.random.normal)(keys), rtol=1e-12)
    assert vmap_last(lambda x: x, None, 3)(jnp.ones(2)).shape == (2, 3)


def test_no_transposes():
    def f(s, x):
        return jnp.where(x > s, s * x, jax.nn.sigmoid(x + s)) / (1.0 + s)

    text = jax.jit(vmap_last(f)).lower(jnp.ones(64), jnp.ones((5, 64))).as_text()
    assert "transpose" not in text


def test_a_side_of_length_one_is_stretched(rng):
    """As `lax` does between arrays of one rank: a trial's `[1]` meets the `[7]` of all trials, and the other way."""
    one, many = jnp.asarray(rng.standard_normal((1, 5))), jnp.asarray(rng.standard_normal(7))
    got = vmap_last(lambda a, b: a * b, (-1, None))(one, many)
    np.testing.assert_allclose(got, one * many[:, None], rtol=1e-15)
    got = vmap_last(lambda a, b: a * b, (None, -1))(many[:1], jnp.ones((7, 5)))
    np.testing.assert_allclose(got, jnp.full((7, 5), many[0]), rtol=1e-15)


@pytest.mark.slow_after_first
@pytest.mark.parametrize("n", [2, 3, 5, 8, 11, 16])
def test_written_out_sorts_order_ties_infinities_and_nan_as_jax_does(n, rng):
    x = rng.choice([-np.inf, -2.0, -0.5, 0.25, 0.25, 3.0, np.inf, np.nan], (n, 400))
    np.testing.assert_array_equal(vmap_last(jnp.sort)(x), np.sort(x, axis=0))
    np.testing.assert_array_equal(vmap_last(jnp.argsort)(x), np.argsort(x, axis=0, kind="stable"))


GATHERS = {
    "one offset": (jax.vmap(lambda x, k: x[:, k], (1, 0), 1), (3, 2, 4), 4),
    "two offsets": (jax.vmap(lambda x, k: x[k]), (2, 3, 4, 5), 3),
    "two offsets turned": (jax.vmap(lambda x, k: x[:, k], (2, 0)), (4, 3, 2, 5), 3),
    "two pairs": (lambda x, k: jnp.take_along_axis(x, k[..., None], axis=2), (2, 3, 4), 4),
}


@pytest.mark.parametrize("name", GATHERS)
def test_gathers_at_an_index_of_each_row(name, rng):
    """The axes of a slice are paired with those of the index, or are offsets, in this order."""
    f, shape, n = GATHERS[name]
    x = rng.normal(size=(*shape, 6))
    index = rng.integers(-n, n, size=(*shape[:2], 6) if name == "two pairs" else (2, 6))
    both = jax.jit(lambda *args: (vmap_last(f)(*args), jax.vmap(f, -1, -1)(*args)))
    np.testing.assert_array_equal(*both(x, index))
    if name == "two pairs":
        np.testing.assert_array_equal(vmap_last(f)(x, index), both(x, index)[0])  # outside of jit


@pytest.mark.parametrize("is_table", [False, True], ids=["of each trial", "of all trials"])
@pytest.mark.parametrize("shape", [(), (3,)])
@pytest.mark.parametrize("n", [1, 6, 90])
def test_indices_out_of_range_are_clipped_as_in_jax(n, shape, is_table, rng):
    x, index = rng.normal(size=(n, 8)), rng.integers(-3 * n - 1, 3 * n + 1, size=(*shape, 8))
    f, args, axes = (lambda x, i: x[i]), (x[:, 0] if is_table else x, index), (None if is_table else -1, -1)
    got = vmap_last(f, axes)(*args)
    for w in range(8):
        np.testing.assert_array_equal(got[..., w], f(jnp.asarray(x[:, 0 if is_table else w]), index[..., w]))


def _write_window(x, index, update):
    """Write a window of one row, which may be narrower than the row."""
    axes = lax.ScatterDimensionNumbers((0,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,))
    return lax.scatter(x, index[None], update, axes)


# of an array x [4, 3] and an index
RARE = {
    "bits of larger numbers": lambda x, i: lax.bitcast_convert_type(x, jnp.uint16).sum(-1),
    "bits of smaller numbers": lambda x, i: x.view(jnp.uint8)[:, :8].view(jnp.uint32) + i,
    "bits of a product": lambda x, i: lax.bitcast_convert_type(jnp.round(x) @ jnp.ones((3, 40)), jnp.uint8).sum((1, 2)),
    "windows": lambda x, i: (_write_window(x, i, x[0, :1]), _write_window(x, i, x[0, :2]), _write_window(x, i, x[0])),
    "slices of numbers": lambda x, i: (
        lax.dynamic_slice(x[0, 0], (), ()),
        lax.dynamic_update_slice(x[0, 0], x[1, 1], ()),
    ),
    "clamping what is the same for all": lambda x, i: lax.clamp(x[0, 0], 0.1, 9.0),
    "long products of bools": lambda x, i: jnp.tile(x[0] > 0.0, 20) @ jnp.tile(x.T > 1.0, (20, 1)),
}


@pytest.mark.parametrize("name", RARE)
def test_operations_that_are_rare(name, rng):
    x, index = rng.normal(size=(4, 3, 4)), rng.integers(0, 4, size=4)
    f = RARE[name]
    expected = jax.vmap(f, out_axes=-1)(jnp.moveaxis(x, -1, 0), index)  # JAX converts bits along the last axis
    jax.tree.map(np.testing.assert_array_equal, jax.jit(vmap_last(f))(x, index), expected)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint32, np.int64])
@pytest.mark.parametrize("n", [5, 129, 300])
def test_axes_may_be_longer_than_the_numbers_of_the_index(n, dtype, rng):
    x, index = rng.normal(size=(n, 8)), rng.integers(0, min(n, 128), size=8).astype(dtype)
    np.testing.assert_array_equal(vmap_last(lambda x, i: x[i])(x, index), x[index.astype(int), np.arange(8)])
    if dtype is not np.int8 or n < 129:  # else JAX itself refuses to write
        got = vmap_last(lambda x, i: x.at[i].set(0.0))(x, index)
        x[index.astype(int), np.arange(8)] = 0.0
        np.testing.assert_array_equal(got, x)


@pytest.mark.parametrize(
    ("options", "args", "message"),
    [
        ({}, (jnp.ones(()),), "a number without axes; its entry of in_axes must be None"),
        ({}, (jnp.ones(3), jnp.ones(4)), r"last axes .* differ: \[3, 4\]"),
        ({"axis_size": 5}, (jnp.ones(3),), r"differ: \[5, 3\]"),
        ({"axis_size": True, "in_axes": None}, (1.0,), "axis_size of vmap_last must be a whole number"),
        ({"axis_size": 2.0, "in_axes": None}, (1.0,), "axis_size of vmap_last must be a whole number"),
        ({"axis_size": -1, "in_axes": None}, (1.0,), "axis_size of vmap_last must be a whole number"),
        ({"in_axes": 1.5}, (jnp.ones(3),), r"in_axes of vmap_last must be -1 .* got 1.5"),
        ({"in_axes": -1.0}, (jnp.ones(3),), r"in_axes of vmap_last must be -1"),
        ({"in_axes": True}, (jnp.ones(3),), r"in_axes of vmap_last must be -1"),
        ({"in_axes": "x"}, (jnp.ones(3),), r"in_axes of vmap_last must be -1"),
        ({"in_axes": (-1,)}, (jnp.ones(3), jnp.ones(3)), "structure differs from that of the 2 arguments"),
        ({"in_axes": None}, (1.0,), "needs a batched argument or axis_size"),
    ],
)
def test_wrong_axes_are_one_line(options, args, message):
    with pytest.raises(ValueError, match=message) as error:
        vmap_last(lambda *xs: xs[0], **options)(*args)
    assert "\n" not in str(error.value)
