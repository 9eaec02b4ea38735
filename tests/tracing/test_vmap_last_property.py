"""`vmap_last` equals `jax.vmap` along the last axis on random programs: values, derivatives, nested, partly unbatched.

A program is a chain of operations from a table. Its first arguments are arrays of rank 0 to 3 and keys; every operation
reads arrays that exist by then, preferably the newest. Two things keep rounding from deciding a comparison: factors are
bounded, so that no chain amplifies a rounding error much, and operations that jump (argmax, a comparison, a sort) add
an offset that differs from entry to entry, so that no two entries tie.
"""

import dataclasses
import inspect
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from jax import lax
from jax.scipy import linalg as jsl

from jaxbandits.tracing.vmap_last import vmap_last

MAX_RANK, MAX_LENGTH = 3, 12  # of a result; arguments have lengths up to 6


# Conditions on the operands of an operation, which are ShapeDtypeStructs


def rank(*ranks: int) -> Callable[..., bool]:
    return lambda x, *others: x.ndim in ranks and nonempty(x, *others)


def is_true(*_: Any) -> bool:
    return True


def nonempty(*xs: Any) -> bool:
    return all(x.size > 0 for x in xs)


def broadcastable(*xs: Any) -> bool:
    return all(
        len({a, b} - {1}) < 2
        for x, y in itertools.combinations(xs, 2)
        for a, b in zip(x.shape[::-1], y.shape[::-1], strict=False)
    )


def arrays(*xs: Any) -> bool:
    return nonempty(*xs) and xs[0].ndim > 0


def vectors(*xs: Any) -> bool:
    return nonempty(*xs) and all(x.ndim == 1 for x in xs)


def square(x: Any, *_: Any) -> bool:
    return x.size > 0 and x.ndim >= 2 and x.shape[-1] == x.shape[-2]


def inner(x: Any, y: Any) -> bool:
    """`x @ y` exists."""
    return nonempty(x, y) and x.ndim > 0 < y.ndim and x.ndim + y.ndim <= 5 and _contracts(x, y)


def _contracts(x: Any, y: Any) -> bool:
    batches = x.ndim < 3 or y.ndim < 3 or x.shape[0] == y.shape[0]
    return batches and x.shape[-1] == y.shape[-2 if y.ndim > 1 else 0]


# Functions that several operations use; k is a number from 0 to 5 that selects an axis or another static choice


def axis(k: int, x: Any) -> int:
    return k % x.ndim


def bound(x: Any) -> Any:
    """Factors between -1 and 1 (ints and bools unchanged)."""
    return jnp.tanh(x) if jnp.issubdtype(x.dtype, jnp.floating) else x


def distinct(x: Any) -> Any:
    """The array plus a ramp: entries that are equal for a structural reason differ by it."""
    if not jnp.issubdtype(x.dtype, jnp.floating):
        return x
    ramp = 0.3719 * jnp.arange(x.size, dtype=x.dtype).reshape(x.shape)
    return lax.optimization_barrier(x + ramp)  # else XLA rounds it differently in a maximum and where that is looked up


def spd(x: Any) -> Any:
    """A symmetric matrix with eigenvalues between 2 and about 20, at least 1 apart for the smallest matrices."""
    x = 0.3 * bound(x)
    return x @ jnp.swapaxes(x, -1, -2) + jnp.diag(2.0 + 3.0 * jnp.arange(x.shape[-2], dtype=x.dtype))


def regular(x: Any) -> Any:
    """A nonsymmetric matrix with a dominant diagonal, which makes the pivots of its LU decomposition unique."""
    return 0.3 * bound(x) + jnp.diag(2.0 + jnp.arange(x.shape[-1], dtype=x.dtype))[::-1]


def floating(x: Any) -> Any:
    return x if jnp.issubdtype(x.dtype, jnp.floating) else x.astype(jnp.float64)


def first(i: Any) -> Any:
    """A scalar of an int array of any rank."""
    return jnp.ravel(i)[0]


def fits(y: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """An array of that shape made of the entries of y, repeated or cut."""
    return jnp.resize(y, shape).astype(dtype)


@jax.custom_jvp
def clipped_derivative(x):
    """A function whose derivative is not the one that differentiating its body gives."""
    return jnp.sin(x)


@clipped_derivative.defjvp
def _clipped_derivative_jvp(primals, tangents):
    return clipped_derivative(*primals), 0.5 * primals[0] * tangents[0]


@jax.custom_vjp
def scaled_gradient(x, y):
    return x * jnp.cos(y)


def _scaled_gradient_fwd(x, y):
    return scaled_gradient(x, y), (x, y)


def _scaled_gradient_bwd(residuals, cotangent):
    x, y = residuals
    return 3.0 * cotangent + y, cotangent * jnp.sin(x)


scaled_gradient.defvjp(_scaled_gradient_fwd, _scaled_gradient_bwd)


@jax.custom_batching.custom_vmap
def double(x):
    return 2.0 * x


@double.def_vmap
def _doubled_vmap(axis_size, in_batched, x):
    del axis_size
    return x + x, in_batched[0]


@jax.jit
def jit_sum(x, y):
    return x + jnp.sum(y)


@jax.checkpoint
def rematerialise(x, y):
    return jnp.sin(x) * jnp.sum(jnp.cos(y)) + jnp.exp(-jnp.abs(x))


def loop_until(k, x, limit):
    """A while loop: trials stop at their own counts, or where their own carry says so."""
    count = first(limit) % 5

    def cond_fun(carry):
        x, i = carry
        return (i < count) & (True if k % 2 else jnp.sum(x) < 2.1237)

    return lax.while_loop(cond_fun, lambda carry: (0.9 * carry[0] + 0.1, carry[1] + 1), (x, jnp.int32(0)))


def nested_loops(k, x, limit):
    """A loop with own counts in a loop of fixed length, and a branch in it."""

    def body(i, x):
        x = lax.while_loop(lambda c: c[1] < first(limit) % 3 + i, lambda c: (0.9 * c[0], c[1] + 1), (x, 0))[0]
        return lax.cond(jnp.sum(x) > 0.1237 + i, lambda x: x + 0.1, lambda x: 0.5 * x, x)

    return lax.fori_loop(0, 2 + k % 2, body, x)


def recurrence(k, x, y):
    """A scan along the first axis: what is carried starts unbatched and turns batched where y is."""

    def body(carry, row):
        total, last = carry
        total = 0.5 * total + jnp.sum(bound(row))
        return (total, last + 1), (row * total, last)

    return lax.scan(body, (jnp.sum(y).astype(x.dtype) if k % 2 else x.dtype.type(0.5), 0), x, reverse=k > 2)


def swap(k, x, y):
    """A loop whose carry changes places, so that it takes several passes to find what is batched."""
    start = (jnp.zeros_like(x), jnp.ones_like(x), x, jnp.sum(y).astype(x.dtype))
    return lax.fori_loop(0, 1 + k, lambda i, c: (c[1] * 0.5 + i, c[2] * c[3] * 0.1, c[0], bound(c[3])), start)


def scan_without_rows(k, x, y):
    return lax.scan(lambda c, _: (c * bound(y).sum().astype(x.dtype) * 0.5 + 1.0, c[..., None]), x, None, length=k)[0]


@dataclasses.dataclass(frozen=True)
class Operation:
    """A row of the table.

    Attributes:
      function: of k and the operands, or of the operands alone.
      kinds: a letter an operand: F float, I int32, B bool, N number (F or I), A any of these, K key.
      condition: on the operands as ShapeDtypeStructs.
      derivatives: the modes that have any, forward and reverse.
    """

    function: Callable[..., Any]
    kinds: str
    condition: Callable[..., bool] = nonempty
    derivatives: tuple[str, ...] = ("forward", "reverse")

    def __call__(self, k: int, *operands: Any) -> list[Any]:
        selects = next(iter(inspect.signature(self.function).parameters), "") == "k"
        return jax.tree.leaves(self.function(k, *operands) if selects else self.function(*operands))

    def accepts(self, *operands: Any) -> bool:
        return all(map(_is_of, operands, self.kinds)) and self.condition(*operands)


def _is_of(x: Any, kind: str) -> bool:
    """The dtype of x belongs to the kind."""
    of = {"F": jnp.floating, "I": jnp.integer, "B": jnp.bool_, "K": jax.dtypes.prng_key}
    kinds = {"N": "FI", "A": "FIB"}.get(kind, kind)
    return any(jnp.issubdtype(x.dtype, of[kind]) for kind in kinds)


ELEMENTWISE = {
    "add": Operation(lambda x, y: x + y, "NN", broadcastable),
    "mul": Operation(lambda x, y: x * bound(y), "FN", broadcastable),
    "div": Operation(lambda x, y: x / (1.5 + jnp.abs(y)), "NN", broadcastable),
    "sub a constant": Operation(lambda x: x - 0.5, "F", is_true),
    "functions": Operation(
        lambda k, x: (jnp.sin, jnp.tanh, jnp.arctan, jax.nn.sigmoid, jax.scipy.special.erf, jnp.sinh)[k](bound(x)),
        "F",
        is_true,
    ),
    "more functions": Operation(
        lambda k, x: (jnp.exp, jnp.log1p, jnp.sqrt, jnp.cbrt, jax.lax.lgamma, lax.rsqrt)[k](0.5 + jnp.abs(bound(x))),
        "F",
        is_true,
    ),
    "power": Operation(lambda k, x: bound(x) ** k + jnp.abs(bound(x) + 1.1) ** 1.5, "F", is_true),
    "two arguments": Operation(
        lambda k, x, y: (jnp.arctan2, jnp.logaddexp, jnp.hypot)[k % 3](x + 0.2713, y), "FF", broadcastable
    ),
    "int arithmetic": Operation(
        lambda k, i, j: (i + j, i * j, i - 2 * j, i // (j * j + 1), i % (j * j + 1), -i)[k], "II", broadcastable
    ),
    "bits": Operation(
        lambda k, i, j: (i ^ j, i & j, i | j, ~i, i << (j % 4 + 4) % 4, lax.population_count(i))[k], "II", broadcastable
    ),
    "compare": Operation(
        lambda k, x, y: (x > distinct(y), x <= distinct(y), x == distinct(y))[k % 3], "NN", broadcastable
    ),
    "logic": Operation(lambda k, b, c: (b & c, b | c, b ^ c, ~b)[k % 4], "BB", broadcastable),
    "max min": Operation(lambda k, x, y: (jnp.maximum, jnp.minimum)[k % 2](x, distinct(y)), "NN", broadcastable),
    "clip": Operation(lambda x, y: jnp.clip(x, -0.5, jnp.abs(y) + 0.1), "FF", broadcastable),
    "clamp": Operation(  # JAX cannot differentiate it between scalars
        lambda x, y: lax.clamp(jnp.sum(y).astype(x.dtype), x, x.dtype.type(9.0)), "FN", derivatives=()
    ),
    "rounding": Operation(lambda k, x: (jnp.floor, jnp.ceil, jnp.sign)[k % 3](x + 0.0321) + x, "F", is_true),
    "cast": Operation(
        lambda k, x: x.astype((jnp.float32, jnp.float64)[k % 2]) * 1.5 if k < 3 else jnp.float32(1.0) * x, "A", is_true
    ),
    "to int": Operation(lambda x: (x * 3.0 + 0.0321).astype(jnp.int32), "F", is_true),
    "isfinite": Operation(lambda x: (jnp.isfinite(x), jnp.nan_to_num(x)), "F", is_true),
    "bitcast": Operation(lambda i: lax.bitcast_convert_type(i, jnp.uint32).astype(jnp.int32) + 1, "I", is_true),
    "complex": Operation(
        lambda x, y: jnp.abs(lax.complex(*jnp.broadcast_arrays(x, y.astype(x.dtype))) + 3.1), "FF", broadcastable
    ),
    "where": Operation(lambda b, x, y: jnp.where(b, x, y), "BNN", broadcastable),
    "where with a scalar": Operation(
        lambda k, b, x: (jnp.where(b, x, 2.0), jnp.where(b.any(), x, 0.0), jnp.where(x > 0.1237, x, 0))[k % 3],
        "BF",
        broadcastable,
    ),
    "select_n": Operation(
        lambda i, x: (
            lax.select_n(jnp.broadcast_to(first(i) % 2 > 0, x.shape), x, 2 * x)
            + lax.select_n(first(i) % 2 > 0, x, 2 * x)
        ),
        "IN",
    ),
    "arange": Operation(lambda x: x + jnp.arange(x.shape[-1], dtype=x.dtype), "N", arrays),
    "stop_gradient": Operation(lambda x: x * lax.stop_gradient(bound(x)), "F", is_true),
    "optimization_barrier": Operation(lambda x, y: lax.optimization_barrier((x + 1.0, y)), "FA"),
}

PRODUCTS = {
    "matmul": Operation(lambda x, y: bound(x) @ y, "FN", inner),
    "int matmul": Operation(lambda i, j: i @ j, "II", inner),
    "dot": Operation(lambda x, y: jnp.dot(bound(x), y), "FN", lambda x, y: inner(x, y) and x.ndim + y.ndim <= 4),
    "vdot": Operation(lambda x, y: jnp.vdot(bound(x), y), "FN", lambda x, y: nonempty(x, y) and x.size == y.size),
    "outer": Operation(lambda x, y: jnp.outer(bound(x), y), "FN", lambda x, y: vectors(x, y) or x.size * y.size < 13),
    "tensordot": Operation(
        lambda x, y: jnp.tensordot(bound(x), y, 1), "FF", lambda x, y: inner(x, y) and y.ndim < 2 and x.ndim < 3
    ),
    "gram": Operation(lambda k, x: bound(x) @ x.T if k % 2 else x.T @ bound(x), "F", rank(2)),
    "einsum ij,j": Operation(
        lambda x, y: jnp.einsum("ij,j->i", bound(x), y),
        "FF",
        lambda x, y: nonempty(x, y) and x.ndim == 2 and y.ndim == 1 and x.shape[1] == y.shape[0],
    ),
    "einsum": Operation(
        lambda k, x: jnp.einsum(
            ("ij,kj->ik", "ij,ij->i", "ij,kl->jl", "ij,ik->jk", "ij,ij->", "ij,ik->ijk")[k], bound(x), x
        ),
        "F",
        rank(2),
    ),
    "batched einsum": Operation(
        lambda k, x: jnp.einsum(
            ("bij,bkj->bik", "bij,bij->b", "bij,bkj->ikb", "bij,bik->kjb", "bij,bij->ij", "bij,cij->bc")[k],
            bound(x),
            x,
        ),
        "F",
        rank(3),
    ),
    "dot_general": Operation(
        lambda k, x: lax.dot_general(
            bound(x),
            x,
            ((((1,), (1,)), ((2,), (2,))), (((0,), (0,)), ((2, 1), (2, 1))), (((0, 2), (0, 2)), ((), ())))[k % 3],
        ),
        "F",
        rank(3),
    ),
    "dot_general in another dtype": Operation(
        lambda x: lax.dot_general(bound(x), x, (((1,), (1,)), ((), ())), preferred_element_type=jnp.float64),
        "F",
        rank(2),
    ),
    "kron": Operation(lambda x, y: jnp.kron(bound(x), y), "FF", lambda x, y: vectors(x, y) and x.size * y.size < 13),
    "convolve": Operation(lambda x, y: jnp.convolve(bound(x), y, mode="same"), "FF", vectors),
    "trace": Operation(lambda x: (jnp.trace(x), jnp.diagonal(x), jnp.tril(x)), "F", rank(2)),
    "diag": Operation(lambda x: jnp.diag(x), "N", rank(1)),
}

REDUCTIONS = {
    "sum": Operation(lambda k, x: x.sum(axis(k, x), keepdims=k > 2), "A", lambda x: x.ndim > 0),
    "sum of all": Operation(lambda x: x.sum(), "A", is_true),
    "sum over two axes": Operation(lambda k, x: x.sum(((0, 1), (0, 2), (2, 1))[k % 3]), "N", rank(3)),
    "prod": Operation(lambda k, x: bound(x).prod(axis(k, x)), "N", lambda x: x.ndim > 0),
    "max": Operation(lambda k, x: distinct(x).max(axis(k, x)), "N", arrays),
    "max of all": Operation(lambda x: distinct(x).max(), "N"),
    "min": Operation(lambda k, x: distinct(x).min(axis(k, x), keepdims=k > 2), "N", arrays),
    "max with initial": Operation(lambda x: distinct(x).max(initial=0.3, where=x > 0.0321), "F", is_true),
    "mean": Operation(lambda k, x: x.mean(axis(k, x)), "N", arrays),
    "var": Operation(lambda k, x: bound(x).var(axis(k, x)), "F", arrays),
    "any all": Operation(lambda k, b: (b.any(axis(k, b)), b.all(axis(k, b)), jnp.logical_xor.reduce(b)), "B", arrays),
    "count_nonzero": Operation(lambda b: jnp.count_nonzero(b), "B", is_true),
    "argmax": Operation(lambda k, x: jnp.argmax(distinct(x), axis(k, x)).astype(jnp.int32), "A", arrays),
    "argmin": Operation(lambda x: jnp.argmin(distinct(x)).astype(jnp.int32), "N"),
    "top_k": Operation(lambda k, x: lax.top_k(distinct(x), 1 + k % x.shape[-1]), "N", arrays),
    "sort": Operation(lambda k, x: jnp.sort(distinct(x), axis(k, x), descending=k > 2), "A", lambda x: x.ndim > 0),
    "argsort": Operation(lambda k, x: jnp.argsort(distinct(x), axis(k, x)).astype(jnp.int32), "N", arrays),
    "sort with values": Operation(
        lambda k, x: lax.sort((distinct(x), 2 * x, jnp.cos(x)), dimension=axis(k, x), num_keys=1 + k % 2), "F", arrays
    ),
    "sort beside another": Operation(
        lambda x, y: lax.sort((distinct(x), fits(y, x.shape, jnp.float32)), num_keys=1), "FN", arrays
    ),
    "median": Operation(lambda x: jnp.median(distinct(x)), "F"),
    "cumsum": Operation(lambda k, x: lax.cumsum(x, axis(k, x), reverse=k > 2), "N", lambda x: x.ndim > 0),
    "cumprod": Operation(lambda k, x: lax.cumprod(bound(x), axis(k, x), reverse=k > 2), "N", lambda x: x.ndim > 0),
    "cummax": Operation(
        lambda k, x: (lax.cummax(distinct(x), axis(k, x)), lax.cummin(distinct(x), axis(k, x))), "N", arrays
    ),
    "cumlogsumexp": Operation(lambda k, x: lax.cumlogsumexp(x, axis(k, x)), "F", arrays),
    "norm": Operation(lambda x: jnp.linalg.norm(x + 3.1), "F"),
    "reduce": Operation(
        lambda k, x: lax.reduce(bound(x), x.dtype.type(0.5), lambda a, b: a * b + a + b, (axis(k, x),)),
        "F",
        arrays,
        derivatives=("forward",),
    ),
    "reduce_window": Operation(
        lambda k, x: lax.reduce_window(x, 0.0, lax.add, (min(2, len(x)),), (1 + k % 2,), "SAME"), "F", rank(1)
    ),
    "bitwise reductions": Operation(lambda k, i: jnp.bitwise_xor.reduce(i, axis=axis(k, i)), "I", arrays),
    "searchsorted": Operation(
        lambda x, y: jnp.searchsorted(jnp.sort(distinct(x)), y), "FF", lambda x, y: rank(1)(x) and y.size > 0
    ),
}

INDICES = {
    "x[i]": Operation(lambda x, i: x[first(i)], "AI", arrays),
    "x[i] of many": Operation(lambda x, i: x[i], "AI", lambda x, i: arrays(x, i) and x.ndim + i.ndim <= 4),
    "x[:, i]": Operation(
        lambda x, i: x[:, i], "AI", lambda x, i: rank(2, 3)(x) and i.ndim + x.ndim <= 4 and i.size > 0
    ),
    "x[i, j]": Operation(
        lambda x, i, j: x[i, j],
        "AII",
        lambda x, i, j: rank(2, 3)(x) and i.shape == j.shape and i.size > 0 and i.ndim + x.ndim < 6,
    ),
    "x[i, :, j]": Operation(
        lambda x, i, j: x[first(i), :, j], "AII", lambda x, i, j: rank(3)(x) and j.ndim < 3 and nonempty(i, j)
    ),
    "x[argmax]": Operation(lambda x: x[jnp.argmax(distinct(x.reshape(len(x), -1)).sum(1))], "N", arrays),
    "x[i] with a mode": Operation(
        lambda k, x, i: x.at[first(i) + 2].get(mode=("clip", "fill")[k % 2], fill_value=7 if k % 2 else None),
        "NI",
        arrays,
    ),
    "x[b]": Operation(
        lambda x, b: jnp.where(b, x, 0).sum(0),
        "NB",
        lambda x, b: arrays(x) and broadcastable(x, b) and b.ndim <= x.ndim,
    ),
    "take": Operation(
        lambda k, x, i: jnp.take(x, i, axis=axis(k, x), mode=("clip", "fill")[k % 2]),
        "FI",
        lambda x, i: arrays(x, i) and x.ndim + i.ndim <= 4,
    ),
    "take_along_axis": Operation(
        lambda k, x, i: jnp.take_along_axis(
            x, fits(i, x.shape, i.dtype), axis=axis(k, x), mode=("fill", "clip")[k % 2]
        ),
        "NI",
        arrays,
    ),
    "take_along_axis at argsort": Operation(
        lambda k, x: jnp.take_along_axis(x, jnp.argsort(distinct(x), axis=axis(k, x)), axis=axis(k, x)), "N", arrays
    ),
    "dynamic_slice": Operation(
        lambda k, x, i: lax.dynamic_slice(
            x, [first(i) + a for a in range(x.ndim)], [max(1, n - k % 3) for n in x.shape]
        ),
        "AI",
        arrays,
    ),
    "dynamic_index_in_dim": Operation(
        lambda k, x, i: lax.dynamic_index_in_dim(x, first(i), axis(k, x), keepdims=k > 2), "AI", arrays
    ),
    "dynamic_slice at a constant": Operation(
        lambda k, x: lax.dynamic_slice_in_dim(x, jnp.int32(k % 2), max(1, len(x) - 1)), "A", arrays
    ),
    "dynamic_update_slice": Operation(
        lambda x, y, i: lax.dynamic_update_slice(x, fits(y, (1, *x.shape[1:]), x.dtype), [first(i)] * x.ndim),
        "NNI",
        arrays,
    ),
    "dynamic_update_index": Operation(
        lambda k, x, y, i: lax.dynamic_update_index_in_dim(
            x, jnp.sum(y).astype(x.dtype) * jnp.ones_like(x[0]), first(i), 0
        ),
        "FNI",
        arrays,
    ),
    "x.at[i].set": Operation(lambda x, i, y: x.at[first(i)].set(jnp.sum(y).astype(x.dtype)), "NIN", arrays),
    "x.at[i].add": Operation(
        lambda x, i, y: x.at[i].add(fits(y, (*i.shape, *x.shape[1:]), x.dtype)),
        "NIN",
        lambda x, i, y: arrays(x, i, y) and i.ndim < 3,
    ),
    "x.at[i].add of unique indices": Operation(
        lambda k, x, y: x.at[jnp.arange(len(x))[::-1]].add(y.mean().astype(x.dtype), unique_indices=True), "FF", arrays
    ),
    "x.at[i].mul": Operation(
        lambda x, i, y: x.at[i % len(x)].mul(bound(fits(y, (*i.shape, *x.shape[1:]), x.dtype))),
        "FIF",
        lambda x, i, y: arrays(x, y) and i.ndim == 0,
    ),
    "x.at[i].min": Operation(
        lambda k, x, i, y: getattr(x.at[i], "max" if k % 2 else "min")(
            distinct(fits(y, (*i.shape, *x.shape[1:]), x.dtype))
        ),
        "NIN",
        lambda x, i, y: arrays(x, i, y) and i.ndim < 3,
        derivatives=("forward",),
    ),
    "x.at[i, j].add": Operation(
        lambda x, i, j: x.at[i, j].add(x.dtype.type(2)),
        "NII",
        lambda x, i, j: rank(2, 3)(x) and nonempty(i, j) and broadcastable(i, j),
    ),
    "x.at[:, i].set": Operation(
        lambda k, x, i: x.at[:, first(i)].set(k, mode=("drop", "clip")[k % 2]), "NI", rank(2, 3)
    ),
    "x.at[i].apply": Operation(lambda x, i: x.at[first(i)].apply(jnp.cos), "FI", arrays, derivatives=()),
    "one_hot": Operation(lambda k, i: jax.nn.one_hot(i, 1 + k), "I", lambda i: i.ndim < 3),
    "segment_sum": Operation(lambda x, i: jax.ops.segment_sum(x, fits(i, x.shape[:1], i.dtype), 3), "NI", arrays),
    "bincount": Operation(lambda i: jnp.bincount(jnp.abs(i).ravel(), length=5).astype(jnp.int32), "I"),
    "nonzero": Operation(lambda b: jnp.nonzero(b, size=3, fill_value=-1)[0].astype(jnp.int32), "B", rank(1, 2)),
    "gather by vmap": Operation(lambda x, i: jax.vmap(lambda row: row[first(i)])(x), "NI", rank(2, 3)),
    "scatter by vmap": Operation(
        lambda x, i: jax.vmap(lambda row, j: row.at[j].set(1))(x, fits(i, x.shape[:1], i.dtype)), "NI", rank(2, 3)
    ),
    "interp": Operation(
        lambda x, y: jnp.interp(y, jnp.arange(len(x)) - 0.51327, x), "FF", lambda x, y: vectors(x) and y.size > 0
    ),
}

SHAPES = {
    "transpose": Operation(lambda k, x: jnp.transpose(x, np.roll(range(x.ndim), k)), "A", lambda x: x.ndim > 1),
    "swapaxes": Operation(lambda x: x.swapaxes(0, 1), "A", lambda x: x.ndim > 1),
    "reshape": Operation(lambda k, x: x.reshape((-1,) if k % 2 else (1, -1)), "A", lambda x: 0 < x.size <= MAX_LENGTH),
    "reshape in Fortran order": Operation(lambda x: x.reshape(x.shape[::-1], order="F"), "A", arrays),
    "expand_dims": Operation(lambda k, x: jnp.expand_dims(x, k % (x.ndim + 1)), "A", lambda x: x.ndim < MAX_RANK),
    "squeeze": Operation(lambda x: jnp.squeeze(x), "A", lambda x: 1 in x.shape),
    "flip": Operation(lambda k, x: jnp.flip(x, axis(k, x)), "A", lambda x: x.ndim > 0),
    "roll": Operation(lambda k, x: jnp.roll(x, k, axis(k, x)), "A", arrays),
    "roll by i": Operation(lambda k, x, i: jnp.roll(x, first(i), axis(k, x)), "NI", arrays),
    "slice": Operation(lambda k, x: x[k % 3 :: 1 + k % 2], "A", lambda x: x.ndim > 0),
    "slice backwards": Operation(lambda x: x[..., ::-2], "A", lambda x: x.ndim > 0),
    "slice of each axis": Operation(lambda k, x: x[:: 1 + k % 2, :-1], "A", rank(2, 3)),
    "x[0]": Operation(lambda k, x: x[0] if k % 2 else x[..., -1], "A", arrays),
    "x[None]": Operation(lambda k, x: x[None] if k % 2 else x[..., None], "A", lambda x: x.ndim < MAX_RANK),
    "constant set": Operation(lambda k, x: x.at[k % len(x)].set(x[0] * 2) if k else x.at[::2].add(1), "N", arrays),
    "pad": Operation(lambda k, x: jnp.pad(x, k % 3), "N", lambda x: x.ndim > 0),
    "pad with y": Operation(
        lambda k, x, y: lax.pad(x, jnp.sum(y).astype(x.dtype), [(k % 2, -(k % 3 > 0), k % 2)] * x.ndim), "NN", arrays
    ),
    "pad with edges": Operation(lambda k, x: jnp.pad(x, 1, mode=("edge", "wrap")[k % 2]), "N", arrays),
    "concatenate": Operation(
        lambda k, x, y: jnp.concatenate([x, y], axis(k, x)),
        "AA",
        lambda x, y: nonempty(x) and x.ndim > 0 and x.shape == y.shape,
    ),
    "concatenate a constant": Operation(lambda x: jnp.concatenate([x, jnp.ones_like(x[:1]), x[1:]]), "N", arrays),
    "concatenate rows": Operation(
        lambda x, y: jnp.concatenate([x, y[None]]), "NN", lambda x, y: x.ndim > 0 and x.shape[1:] == y.shape
    ),
    "stack": Operation(
        lambda k, x, y: jnp.stack([x, y], k % (x.ndim + 1)), "NN", lambda x, y: x.ndim < MAX_RANK and x.shape == y.shape
    ),
    "stack with a constant": Operation(
        lambda k, x: jnp.stack([x, jnp.full_like(x, 2)], -1), "N", lambda x: x.ndim < MAX_RANK
    ),
    "repeat": Operation(lambda x: jnp.repeat(x, 2, 0), "A", arrays),
    "tile": Operation(lambda x: jnp.tile(x, 2), "A", arrays),
    "broadcast_to": Operation(lambda x: jnp.broadcast_to(x, (2, *x.shape)), "A", lambda x: x.ndim < MAX_RANK),
    "split": Operation(lambda x: jnp.split(x, [1]), "A", arrays),
    "unstack": Operation(lambda x: sum(jnp.unstack(x)), "N", arrays),
    "meshgrid": Operation(lambda x, y: jnp.meshgrid(x, y), "NN", vectors),
    "block": Operation(lambda x: jnp.block([[x, 2 * x], [x, x]]), "N", rank(2)),
    "tril_indices": Operation(lambda x: x[jnp.tril_indices(len(x))][:MAX_LENGTH], "N", square),
}

LINEAR_ALGEBRA = {
    "inv": Operation(lambda x: jnp.linalg.inv(regular(x)), "F", square),
    "solve": Operation(
        lambda k, x, y: jnp.linalg.solve(regular(x), fits(y, x.shape[-2:][: 1 + k % 2], x.dtype)),
        "FN",
        lambda x, y: rank(2)(x) and square(x) and y.size > 0,
    ),
    "solve of many": Operation(lambda x: jnp.linalg.solve(regular(x), x), "F", lambda x: square(x) and x.ndim == 3),
    "cholesky": Operation(lambda x: jnp.linalg.cholesky(spd(x)), "F", rank(2, 3)),
    "cho_solve": Operation(
        lambda k, x, y: jsl.cho_solve(
            (jnp.linalg.cholesky(spd(x)), True), fits(y, x.shape[:1] + (2,) * (k % 2), x.dtype)
        ),
        "FN",
        lambda x, y: rank(2)(x) and y.size > 0,
    ),
    "cho_factor": Operation(lambda x: jsl.cho_solve(jsl.cho_factor(spd(x)), x), "F", rank(2)),
    "solve_triangular": Operation(
        lambda k, x, y: jsl.solve_triangular(
            regular(x)[::-1],
            fits(y, x.shape[:1] + (3,) * (k // 3), x.dtype),
            lower=k % 2 > 0,
            trans=k % 3,
            unit_diagonal=k == 4,
        ),
        "FN",
        lambda x, y: rank(2)(x) and square(x) and y.size > 0,
    ),
    "triangular_solve": Operation(
        lambda k, x: lax.linalg.triangular_solve(
            regular(x)[::-1], x, left_side=k % 2 > 0, lower=k > 2, transpose_a=k % 3 > 0
        ),
        "F",
        lambda x: square(x) and x.ndim == 2,
    ),
    "det": Operation(
        lambda x: (jnp.linalg.det(regular(x) / (2.0 + len(x))), jnp.linalg.slogdet(regular(x))[1]),
        "F",
        lambda x: square(x) and x.ndim == 2,
    ),
    "lu": Operation(lambda x: jsl.lu_factor(regular(x))[0], "F", lambda x: square(x) and x.ndim == 2),
    "eigh": Operation(
        lambda k, x: (
            jnp.linalg.eigvalsh(spd(x)) if k % 2 else (lambda w, v: (v * jnp.cos(w)) @ v.T)(*jnp.linalg.eigh(spd(x)))
        ),
        "F",
        rank(2),
    ),
    "svd": Operation(lambda x: jnp.linalg.svd(spd(x) / 3.0)[1], "F", rank(2)),
    "qr": Operation(
        lambda x: (lambda q, r: (q @ jnp.cos(r * 0.1), jnp.abs(r)))(*jnp.linalg.qr(regular(x)[::-1])),
        "F",
        lambda x: square(x) and x.ndim == 2,
    ),
    "matrix_power": Operation(
        lambda k, x: jnp.linalg.matrix_power(bound(x) / len(x), k), "F", lambda x: square(x) and x.ndim == 2
    ),
    "tridiagonal_solve": Operation(
        lambda x: lax.linalg.tridiagonal_solve(bound(x), 3.0 + jnp.abs(x), bound(x), x[:, None]),
        "F",
        lambda x: vectors(x) and x.size > 2,
        derivatives=("forward",),
    ),
}

CONTROL = {
    "scan": Operation(recurrence, "FN", arrays),
    "scan without rows": Operation(scan_without_rows, "FN", lambda x, y: x.ndim < MAX_RANK and y.size > 0),
    "scan with constant rows": Operation(
        lambda x: lax.scan(lambda c, row: (0.5 * c + row, c.sum()), x, jnp.arange(3.0).astype(x.dtype)), "F"
    ),
    "map": Operation(lambda x, y: lax.map(lambda row: row * jnp.sum(bound(y)).astype(x.dtype), x), "FN", arrays),
    "associative_scan": Operation(lambda x: lax.associative_scan(lambda a, b: bound(a) * b + b, x), "F", arrays),
    "fori_loop": Operation(
        lambda k, x, y: lax.fori_loop(0, k, lambda i, c: 0.5 * c + i * y.mean().astype(x.dtype), x), "FF"
    ),
    "fori_loop of own length": Operation(
        lambda x, i: lax.fori_loop(0, first(i) % 4, lambda i, c: 0.5 * c + i, x), "FI", derivatives=("forward",)
    ),
    "fori_loop with updates": Operation(
        lambda x: lax.fori_loop(0, len(x), lambda i, c: c.at[i].set(0.5 * c[i - 1] + i), x), "F", arrays
    ),
    "loop of swaps": Operation(swap, "FN"),
    "while_loop": Operation(loop_until, "FI", derivatives=("forward",)),
    "nested loops": Operation(nested_loops, "FI", derivatives=("forward",)),
    "cond": Operation(
        lambda b, x, y: lax.cond(b.any(), lambda: (x * 2.0, 1.0), lambda: (x + jnp.sum(y).astype(x.dtype), 0.5)), "BFN"
    ),
    "cond of a constant": Operation(lambda b, x: lax.cond(b.all(), lambda x: jnp.zeros_like(x), lambda x: x, x), "BN"),
    "cond on x": Operation(
        lambda x: lax.cond(jnp.sum(x) > 0.1237, lambda x: jnp.sort(x, 0), lambda x: jnp.cumsum(x, 0), x), "F", arrays
    ),
    "cond with an index": Operation(
        lambda b, x, i: lax.cond(b.any(), lambda i: x[i], lambda i: x[-i - 1] * 2, first(i)),
        "BNI",
        lambda b, x, i: arrays(x, b, i),
    ),
    "switch": Operation(
        lambda i, x: lax.switch(first(i), [lambda x: x, lambda x: 2 * x, lambda x: x[::-1] - 1], x),
        "IN",
        lambda i, x: arrays(x, i),
    ),
    "switch on a constant": Operation(lambda k, x: lax.switch(jnp.int32(k % 2), [jnp.sin, jnp.cos], x), "F"),
}

CUSTOM = {
    "softmax": Operation(lambda k, x: (jax.nn.softmax, jax.nn.log_softmax)[k % 2](x, axis(k, x)), "F", arrays),
    "relu": Operation(lambda k, x: (jax.nn.relu, jax.nn.softplus, jax.nn.silu)[k % 3](x), "F", is_true),
    "relu at zero": Operation(lambda x: jax.nn.relu(jnp.zeros_like(x) * x) + x, "F"),
    "logsumexp": Operation(lambda k, x: jax.nn.logsumexp(x, axis(k, x), keepdims=k > 2), "F", arrays),
    "logsumexp of all": Operation(lambda x: jax.nn.logsumexp(x), "F"),
    "custom_jvp": Operation(clipped_derivative, "F"),
    "custom_vjp": Operation(
        lambda x, y: scaled_gradient(x, y.astype(x.dtype)),
        "FF",
        lambda x, y: x.shape == y.shape,
        derivatives=("reverse",),
    ),
    "custom_vjp in a scan": Operation(
        lambda x: lax.scan(lambda c, row: (scaled_gradient(c, row), clipped_derivative(row)), x[0], x),
        "F",
        arrays,
        derivatives=("reverse",),
    ),
    "custom_vmap": Operation(double, "F", derivatives=("forward",)),
    "jit": Operation(jit_sum, "FF"),
    "checkpoint": Operation(rematerialise, "FF"),
    "grad": Operation(lambda x, y: jax.grad(lambda x: jnp.sum(jnp.sin(x) * jnp.sum(bound(y))))(x), "FF"),
}

RANDOM = {
    "uniform": Operation(lambda k, key: jax.random.uniform(key, (k % 4,), ("float32", "float64")[k % 2]), "K", rank(0)),
    "keys of a key": Operation(
        lambda k, key: jax.random.key_data(jax.random.split(key, (k % 3, 2))).astype("float64"), "K", rank(0)
    ),
    "normal": Operation(lambda key, x: x + jax.random.normal(key, x.shape, x.dtype), "KF", rank(0)),
    "bernoulli": Operation(lambda key, x: jax.random.bernoulli(key, jax.nn.sigmoid(x)), "KF", rank(0)),
    "categorical": Operation(
        lambda key, x: jax.random.categorical(key, bound(x)).astype(jnp.int32),
        "KF",
        lambda key, x: rank(0)(key) and arrays(x),
    ),
    "permutation": Operation(
        lambda k, key, x: jax.random.permutation(key, x, independent=k % 2 > 0),
        "KN",
        lambda key, x: rank(0)(key) and arrays(x),
    ),
    "choice": Operation(
        lambda k, key, x: jax.random.choice(key, len(x), (k % 3,), p=jax.nn.softmax(bound(x))).astype(jnp.int32),
        "KF",
        lambda key, x: rank(0)(key) and vectors(x),
    ),
    "choice without replacement": Operation(
        lambda key, x: jax.random.choice(key, x, (min(2, len(x)),), replace=False),
        "KN",
        lambda key, x: rank(0)(key) and arrays(x),
    ),
    "randint": Operation(
        lambda key, i: jax.random.randint(key, (2,), 0, 1 + jnp.abs(first(i)), jnp.int32), "KI", rank(0)
    ),
    "split a key": Operation(lambda key: jax.random.split(key), "K", rank(0)),
    "a key of many": Operation(lambda k, key: key[k % key.shape[0]], "K", rank(1)),
    "a key at i": Operation(lambda key, i: key[first(i) % key.shape[0]], "KI", rank(1)),
    "fold_in": Operation(lambda key, i: jax.random.fold_in(key, jnp.abs(first(i))), "KI", rank(0)),
    "draws of many keys": Operation(lambda key: jax.vmap(jax.random.uniform)(key), "K", rank(1)),
    "key by cond": Operation(
        lambda b, key: lax.cond(b.any(), lambda key: key, lambda key: jax.random.fold_in(key, 1), key),
        "BK",
        lambda b, key: rank(0)(key) and b.size > 0,
    ),
    "loop over keys": Operation(
        lambda key, i: lax.while_loop(
            lambda c: c[1] < first(i) % 3, lambda c: (jax.random.split(c[0])[0], c[1] + 1), (key, 0)
        )[0],
        "KI",
        rank(0),
        derivatives=("forward",),
    ),
}

TRANSFORMS = {
    "fft": Operation(lambda x: jnp.abs(jnp.fft.fft(x) + 9.1j), "F", arrays),
    "rfft": Operation(lambda x: jnp.fft.irfft(jnp.fft.rfft(x) * 1.5, x.shape[-1]), "F", arrays),
}

GROUPS = {
    "elementwise": ELEMENTWISE,
    "products": PRODUCTS,
    "reductions": REDUCTIONS,
    "indices": INDICES,
    "shapes": SHAPES,
    "linear algebra": LINEAR_ALGEBRA,
    "control flow": CONTROL,
    "derivatives of their own": CUSTOM,
    "random": RANDOM,
}
TABLE = {name: row for rows in GROUPS.values() for name, row in rows.items()}
ALONE = {"fft": TRANSFORMS}  # XLA:CPU fails to compile an fft of a result of LAPACK, and the other way round


@dataclasses.dataclass(frozen=True)
class Step:
    """One line of a program: an operation, its static choice and the numbers of its operands."""

    name: str
    k: int
    operands: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Program:
    """A function of a tuple of arrays, with the arrays.

    Attributes:
      args: ShapeDtypeStructs, without the batch axes.
      batched: per argument, whether the inner and the outer batch axis apply.
      steps: operations; their results get the numbers after those of the arguments.
      seed: of the values of the arguments.
      rtol: the tolerance, relative to the largest entry: that of the least precise dtype in it.
      linear: the loss is the sum of the results, so that its derivatives start from constants.
    """

    args: tuple[Any, ...]
    batched: tuple[tuple[bool, bool], ...]
    steps: tuple[Step, ...]
    seed: int
    linear: bool
    rtol: float

    def __call__(self, *args: Any) -> list[Any]:
        """The results of the last step and those that no step reads."""
        values, read, last = list(args), set(range(len(args))), 0
        for step in self.steps:
            last = len(values)
            read.update(step.operands)
            values += TABLE[step.name](step.k, *(values[i] for i in step.operands))
        return [value for i, value in enumerate(values) if i >= last or i not in read]

    def has(self, mode: str) -> bool:
        """All steps have derivatives of that mode."""
        return all(mode in TABLE[step.name].derivatives for step in self.steps)

    def loss(self, *args: Any) -> Any:
        """The sum of the floating results, or of a nonlinear function of them."""
        results = [x for x in self(*args) if jnp.issubdtype(x.dtype, jnp.floating)]
        if not self.linear:
            results = [jnp.log1p(0.1 * x * x) for x in results]
        return sum((jnp.sum(x, dtype=jnp.float64) for x in results), jnp.float64(0.0))

    def values(self, sizes: tuple[int, ...], axes: tuple[int, ...]) -> list[Any]:
        """Arguments with batch axes of these sizes, each added at the front (0) or the end (-1)."""
        rng = np.random.default_rng(self.seed)
        return [_draw(rng, arg, self.in_axes(i, axes), sizes) for i, arg in enumerate(self.args)]

    def in_axes(self, i: int, axes: tuple[int, ...]) -> tuple[int | None, ...]:
        """For each level of batching, innermost first, the axis of argument i."""
        flags = self.batched[i] if len(axes) == 2 else (any(self.batched[i]),)
        return tuple(axis if flag else None for axis, flag in zip(axes, flags, strict=True))


def _draw(rng: np.random.Generator, arg: Any, in_axes: tuple[int | None, ...], sizes: tuple[int, ...]) -> Any:
    shape = arg.shape
    for axis, size in zip(in_axes, sizes, strict=True):
        shape = shape if axis is None else (size, *shape) if axis == 0 else (*shape, size)
    if jnp.issubdtype(arg.dtype, jax.dtypes.prng_key):
        return jax.random.split(jax.random.key(int(rng.integers(1000))), shape)
    if arg.dtype == jnp.bool_:
        return jnp.asarray(rng.random(shape) < 0.5)
    if arg.dtype == jnp.int32:
        return jnp.asarray(rng.integers(-4, 8, shape), jnp.int32)
    return jnp.asarray(rng.uniform(-2.0, 2.0, shape), arg.dtype)


FLOAT64, FLOAT32 = jnp.dtype("float64"), jnp.dtype("float32")
KEY = jax.eval_shape(lambda: jax.random.key(0)).dtype


@st.composite
def programs(draw: Any, *modes: str) -> Program:
    """Programs of 2 to 6 steps whose operations have derivatives of one of the modes, if any are given.

    All choices are bytes of one draw: of many small draws, hypothesis would make most programs by varying a few.
    """
    return program_of(draw(st.binary(min_size=96, max_size=96)), modes)


def program_of(source: bytes, modes: Sequence[str] = ()) -> Program:
    """The program that is encoded in a string of bytes, one a choice."""
    remaining = iter(source)

    def choose(options: Sequence[Any]) -> Any:
        return options[next(remaining, 0) % len(options)]

    mode = choose(modes) if modes else None
    length = choose(range(1, 7))
    lengths = (length, choose((length, 2, 3, length, 1, 4, 5, 6, 0)))

    def array(dtypes: Any, max_rank: int = 3) -> Any:
        dtype = choose(dtypes)
        ranks = range(2 if dtype == KEY else max_rank + 1)
        return jax.ShapeDtypeStruct(tuple(choose(lengths) for _ in range(choose(ranks))), dtype)

    floats = choose(((FLOAT64,), (FLOAT32,), (FLOAT64, FLOAT32)))
    args = [array(floats)]
    args += [array((*floats, jnp.dtype("int32"), jnp.dtype("bool"), KEY)) for _ in range(choose(range(1, 5)))]
    flags = ((True, True), (False, True), (True, False), (False, False))
    batched = [(True, True), *(choose(flags) for _ in args[1:])]
    shift = choose(range(len(args)))  # which argument is certainly batched
    args, batched = args[shift:] + args[:shift], batched[shift:] + batched[:shift]

    available, steps = list(args), []
    for _ in range(choose(range(2, 7))):
        newest = len(available) - 1
        candidates: dict[str, dict[str, list[tuple[int, ...]]]] = {}
        for group, rows in GROUPS.items():
            for name, row in rows.items():
                if mode is None or mode in row.derivatives:
                    of = [[i for i, x in enumerate(available) if _is_of(x, kind)] for kind in row.kinds]
                    operands = [c for c in itertools.product(*of) if row.accepts(*(available[i] for i in c))]
                    if operands:
                        candidates.setdefault(group, {})[name] = sorted(operands, key=lambda c: newest not in c)
        group = candidates[choose(list(candidates))]
        name = choose(list(group))
        operands = choose(group[name][:12])
        step = Step(name, choose(range(6)), operands)
        results = jax.eval_shape(
            lambda *xs, step=step: TABLE[step.name](step.k, *xs), *(available[i] for i in operands)
        )
        if all(x.ndim <= MAX_RANK + (x.dtype == KEY) and max(x.shape, default=0) <= MAX_LENGTH for x in results):
            steps.append(step)
            available += results
    rtol = 1e-3 if any(x.dtype == FLOAT32 for x in available) else 1e-8
    return Program(tuple(args), tuple(batched), tuple(steps), choose(range(10)), choose((False, True)), rtol)


def assert_same(ours: Any, theirs: Any, rtol: float) -> None:
    """Equal structure, shapes, dtypes and values: ints, bools and keys exactly, floats up to rounding."""
    assert jax.tree.structure(ours) == jax.tree.structure(theirs)
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        if jnp.issubdtype(a.dtype, jax.dtypes.prng_key):
            a, b = jax.random.key_data(a), jax.random.key_data(b)
        a, b = np.asarray(a), np.asarray(b)
        if a.dtype.kind == "f":
            largest = np.max(np.abs(b), initial=1.0, where=np.isfinite(b))
            np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * largest)
        else:
            np.testing.assert_array_equal(a, b)


def map_last(vmap: Callable[..., Any], f: Callable[..., Any], in_axes: Any, axis: int = -1) -> Callable[..., Any]:
    """`vmap` is `vmap_last`, or `jax.vmap` with its results along the same axis as the arguments."""
    return vmap_last(f, in_axes) if vmap is vmap_last else jax.vmap(f, in_axes, axis)


def check_values(program: Program, size: int, jit: bool) -> None:
    args = program.values((size,), (-1,))
    in_axes = tuple(program.in_axes(i, (-1,))[0] for i in range(len(args)))

    def both(*args: Any) -> Any:
        return [map_last(vmap, program, in_axes)(*args) for vmap in (vmap_last, jax.vmap)]

    assert_same(*(jax.jit(both) if jit else both)(*args), program.rtol)


def check_derivatives(program: Program, size: int, jit: bool) -> None:
    args = program.values((size,), (-1,))
    in_axes = tuple(program.in_axes(i, (-1,))[0] for i in range(len(args)))
    floats = [i for i, arg in enumerate(program.args) if jnp.issubdtype(arg.dtype, jnp.floating)]
    axes = tuple(in_axes[i] for i in floats)
    tangents = [jnp.asarray(np.random.default_rng(1).uniform(-1.0, 1.0, args[i].shape), args[i].dtype) for i in floats]

    def split(f: Callable[..., Any]) -> Callable[..., Any]:
        """Of the floating arguments, and of all arguments, from which the others are taken."""

        def of(floating: Any, args: Any) -> Any:
            args = list(args)
            for i, x in zip(floats, floating, strict=True):
                args[i] = x
            return f(*args)

        return of

    def results(*args: Any) -> Any:
        return tuple(x for x in program(*args) if jnp.issubdtype(x.dtype, jnp.floating))

    def derivatives(vmap: Any, tangents: Any, args: Any) -> Any:
        primals = tuple(args[i] for i in floats)
        everywhere = map_last(vmap, results, in_axes)
        total = map_last(vmap, program.loss, in_axes)

        def jvp_of_one(primals: Any, tangents: Any, args: Any) -> Any:
            return jax.jvp(lambda *primals: split(results)(primals, args), primals, tangents)

        found = {}
        if program.has("forward"):
            found["jvp outside"] = jax.jvp(lambda *primals: split(everywhere)(primals, args), primals, tangents)
            found["jvp inside"] = map_last(vmap, jvp_of_one, (axes, axes, in_axes))(primals, tangents, args)
        if program.has("reverse"):
            found["grad outside"] = jax.grad(lambda primals: jnp.sum(split(total)(primals, args)))(primals)
            found["grad inside"] = map_last(vmap, jax.grad(split(program.loss)), (axes, in_axes))(primals, args)
        return found

    def both(tangents: Any, args: Any) -> Any:
        return [derivatives(vmap, tangents, args) for vmap in (vmap_last, jax.vmap)]

    ours, theirs = (jax.jit(both) if jit else both)(tuple(tangents), tuple(args))
    for name, derivative in ours.items():
        with _Note(name):
            assert_same(derivative, theirs[name], program.rtol)


class _Note:
    """Name what was compared when a comparison fails."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        if error is not None:
            error.add_note(self.name)


NESTS = {  # inner and outer transformation, and the axis of each
    "vmap_last of vmap_last": (vmap_last, vmap_last, (-1, -1)),
    "vmap_last of vmap": (jax.vmap, vmap_last, (0, -1)),
    "vmap of vmap_last": (vmap_last, jax.vmap, (-1, 0)),
}


def check_nested(program: Program, sizes: tuple[int, int], nest: str, jit: bool) -> None:
    axes = NESTS[nest][2]
    args = program.values(sizes, axes)
    inner_axes, outer_axes = zip(*(program.in_axes(i, axes) for i in range(len(args))), strict=True)

    def both(*args: Any) -> Any:
        return [
            map_last(outer, map_last(inner, program, inner_axes, axes[0]), outer_axes, axes[1])(*args)
            for inner, outer in (NESTS[nest][:2], (jax.vmap, jax.vmap))
        ]

    assert_same(*(jax.jit(both) if jit else both)(*args), program.rtol)


MATRIX, VECTOR = (3, 3), (3,)
STANDARD = Program(
    args=tuple(
        jax.ShapeDtypeStruct(shape, dtype)
        for shape, dtype in [
            *((shape, FLOAT64) for shape in (MATRIX, VECTOR, (), (2, *MATRIX), (2, 1))),
            *((shape, dtype) for dtype in (jnp.dtype("int32"), jnp.dtype("bool"), KEY) for shape in ((), VECTOR)),
        ]
    ),
    batched=((True, True),) * 11,
    steps=(),
    seed=0,
    linear=False,
    rtol=1e-8,
)


@pytest.mark.slow_cases("indices", "linear algebra", "random")
@pytest.mark.parametrize("group", [*GROUPS, *ALONE])
def test_each_operation(group):
    """Every operation of the table, for the first operands that it accepts; all of a group in one program."""
    rows, found = (GROUPS | ALONE)[group], {}
    for name, row in rows.items():
        operands = itertools.product(
            *([i for i, x in enumerate(STANDARD.args) if _is_of(x, kind)] for kind in row.kinds)
        )
        found[name] = next(c for c in operands if row.accepts(*(STANDARD.args[i] for i in c)))

    def each(*args: Any) -> dict[str, Any]:
        return {name: rows[name](1, *(args[i] for i in operands)) for name, operands in found.items()}

    args = STANDARD.values((4,), (-1,))
    ours, theirs = jax.jit(lambda *args: (vmap_last(each)(*args), jax.vmap(each, -1, -1)(*args)))(*args)
    for name in found:
        with _Note(name):
            assert_same(ours[name], theirs[name], STANDARD.rtol)


SIZES = st.integers(1, 5)  # of a batch axis
UNSHRUNK = (Phase.explicit, Phase.generate)  # every attempt at a shorter program compiles it: minutes for a failure
BOTH = ("forward", "reverse")


@pytest.mark.slow
@settings(max_examples=8, phases=UNSHRUNK)
@given(programs(), SIZES)
def test_values(program, size):
    check_values(program, size, jit=True)


@settings(max_examples=2, phases=UNSHRUNK)
@given(programs(), SIZES)
def test_values_without_jit(program, size):
    """Each operation of a program is compiled by itself, which takes longer than the program as a whole."""
    check_values(program, size, jit=False)


@pytest.mark.slow
@settings(max_examples=4, phases=UNSHRUNK)
@given(programs(*BOTH), SIZES)
def test_derivatives(program, size):
    """Forward and reverse, of the batched function and in it."""
    check_derivatives(program, size, jit=True)


@settings(max_examples=4, phases=UNSHRUNK)
@given(programs(), SIZES, SIZES, st.sampled_from(sorted(NESTS)))
def test_nested(program, inner, outer, nest):
    check_nested(program, (inner, outer), nest, jit=True)


@pytest.mark.slow
@settings(max_examples=400, phases=UNSHRUNK)
@given(programs(), SIZES, st.integers(0, 9))
def test_values_of_many_programs(program, size, tenth):
    check_values(program, size, jit=tenth > 0)


@pytest.mark.slow
@settings(max_examples=150, phases=UNSHRUNK)
@given(programs(*BOTH), SIZES, st.integers(0, 19))
def test_derivatives_of_many_programs(program, size, twentieth):
    check_derivatives(program, size, jit=twentieth > 0)


@pytest.mark.slow
@settings(max_examples=250, phases=UNSHRUNK)
@given(programs(), SIZES, SIZES, st.sampled_from(sorted(NESTS)))
def test_nests_of_many_programs(program, inner, outer, nest):
    check_nested(program, (inner, outer), nest, jit=True)
