"""Second moments of features and rewards in groups of rows, for regressions that are fitted to many rounds at once.

    G_k = sum z z',   c_k = sum reward z,   over the rows of group k

The rows of each group are first copied into blocks of `_BLOCK` rows of the same group, so that G_k costs one matrix
product per block. Masking all rows for each group would cost K times as much. Unlike elsewhere, the trial axis comes
first here, because products of this size are computed by a matrix library, one trial at a time.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxbandits.base.pytree import PyTree
from jaxbandits.tracing.batching import trials_last
from jaxbandits.tracing.vmap_last import vmap_last

_BLOCK = 64  # number of rows of a block; the last block of a group is padded with zeros
_BLOCKS = 4  # number of blocks per loop step


class Moments(NamedTuple):
    """Sums over the rows of each group."""

    gram: jax.Array  # [d, d, K]  sum z z'
    cross: jax.Array  # [d, K]  sum reward z
    count: jax.Array  # [K]  number of rows


class RowBlocks(NamedTuple):
    """Rows sorted by group, with the trial axis of length W first."""

    inputs: jax.Array  # [W, n, m]
    reward: jax.Array  # [W, n]
    weight: jax.Array  # [W, n]  1 for a row, 0 for padding
    group: jax.Array  # [W, n / _BLOCK]  group of each block
    steps: jax.Array  # []  number of loop steps that cover all rows
    count: jax.Array  # [W, K]  number of rows of each group
    parameters: Any  # leaves [W, ...]  parameters of the feature map


def moments(
    features: Callable[[Any, jax.Array], jax.Array],
    parameters: PyTree,
    inputs: jax.Array,
    group: jax.Array,
    reward: jax.Array,
    count: jax.Array,
    n_groups: int,
) -> Moments:
    """Return the moments of the features of the first `count` rows.

    Args:
      features: function that maps parameters and inputs `[n, m]` to features `[n, d]`. Pass the same function object in
        every call, because it is the key under which compiled functions are cached.
      parameters: parameters of `features`.
      inputs: `[n, m]` inputs of the rows.
      group: `[n]` group of each row, from 0.
      reward: `[n]` rewards of the rows.
      count: `[]` number of rows that are used; the same for all trials under `vmap`.
      n_groups: K, number of groups.
    """
    return _moments(features, n_groups)(parameters, inputs, group, reward, count)


def squared_residuals(
    features: Callable[[Any, jax.Array], jax.Array],
    parameters: PyTree,
    inputs: jax.Array,
    group: jax.Array,
    reward: jax.Array,
    count: jax.Array,
    coefficients: jax.Array,
) -> jax.Array:
    """Return `sum (reward - z'coefficients_k)^2` `[K]` over the rows of each group.

    Args:
      features: function of parameters and inputs, as in `moments`.
      parameters: parameters of `features`.
      inputs: `[n, m]` inputs of the rows.
      group: `[n]` group of each row, from 0.
      reward: `[n]` rewards of the rows.
      count: `[]` number of rows that are used.
      coefficients: `[d, K]` coefficients of each group.
    """
    return _residuals(features)(parameters, inputs, group, reward, count, coefficients)


@functools.cache
def _moments(features: Any, n_groups: int) -> Callable[..., Moments]:
    @trials_last
    def sums(parameters: PyTree, inputs: jax.Array, group: jax.Array, reward: jax.Array, count: jax.Array) -> Moments:
        trials = jnp.broadcast_shapes(inputs.shape[2:], group.shape[1:], reward.shape[1:])
        rows = _arrange(parameters, inputs, group, reward, count, n_groups)

        def step(i: jax.Array, totals: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            x, reward, weight, group = _blocks(rows, i)
            z = (jax.vmap(features)(rows.parameters, x) * weight[..., None]).reshape(-1, _BLOCK, size)
            transposed = jnp.swapaxes(z, 1, 2)  # [W _BLOCKS, d, _BLOCK]
            gram = _matmul(transposed, z).reshape(len(x), _BLOCKS, -1)
            cross = _matmul(transposed, reward.reshape(-1, _BLOCK, 1)).reshape(len(x), _BLOCKS, -1)
            is_group = (group[:, None] == jnp.arange(n_groups)[:, None]).astype(z.dtype)  # [W, K, _BLOCKS]
            return totals[0] + _matmul(is_group, gram), totals[1] + _matmul(is_group, cross)

        size = jax.eval_shape(jax.vmap(features), rows.parameters, rows.inputs).shape[2]
        zeros = [jnp.zeros((len(rows.inputs), n_groups, n), rows.reward.dtype) for n in (size * size, size)]
        gram, cross = lax.fori_loop(0, rows.steps, step, tuple(zeros))
        gram = jnp.transpose(gram.reshape(-1, n_groups, size, size), (2, 3, 1, 0))
        found = Moments(gram, jnp.transpose(cross, (2, 1, 0)), rows.count.T.astype(gram.dtype))
        return jax.tree.map(lambda leaf: leaf.reshape(*leaf.shape[:-1], *trials), found)

    return sums


@functools.cache
def _residuals(features: Any) -> Callable[..., jax.Array]:
    @trials_last
    def squares(
        parameters: PyTree,
        inputs: jax.Array,
        group: jax.Array,
        reward: jax.Array,
        count: jax.Array,
        coefficients: jax.Array,
    ) -> jax.Array:
        trials = jnp.broadcast_shapes(inputs.shape[2:], group.shape[1:], reward.shape[1:], coefficients.shape[2:])
        dim, n_groups = coefficients.shape[:2]
        first = functools.partial(_trials_first, trials=trials)
        x, own, y, w = first(inputs), first(group), first(reward), jax.tree.map(first, parameters)
        weights = first(jnp.broadcast_to(coefficients, (dim, n_groups, *trials)))  # [W, d, K]
        count = jnp.reshape(count, ())
        size = min(_BLOCKS * _BLOCK, x.shape[1])

        def step(i: jax.Array, total: jax.Array) -> jax.Array:
            start = jnp.minimum(i * size, x.shape[1] - size)  # the last step may overlap the one before it
            rows = start + jnp.arange(size)
            valid = (rows >= i * size) & (rows < count)
            z = jax.vmap(features)(w, lax.dynamic_slice_in_dim(x, start, size, 1))
            means = _matmul(z, weights)  # [W, n, K]
            is_own = lax.dynamic_slice_in_dim(own, start, size, 1)[..., None] == jnp.arange(n_groups)
            error = lax.dynamic_slice_in_dim(y, start, size, 1)[..., None] - means
            return total + jnp.sum(jnp.where(is_own & valid[:, None], error * error, 0.0), axis=1)

        total = lax.fori_loop(0, (count + size - 1) // size, step, jnp.zeros((len(x), n_groups), y.dtype))
        return total.T.reshape(n_groups, *trials)

    return squares


def _matmul(a: jax.Array, b: jax.Array) -> jax.Array:
    return jnp.matmul(a, b, precision=lax.Precision.HIGHEST)


def _blocks(rows: RowBlocks, i: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    """Return inputs, rewards and weights `[W, n, ...]` for loop step i, and the groups `[W, _BLOCKS]` of its blocks."""
    size = _BLOCKS * _BLOCK
    x, reward, weight = (
        lax.dynamic_slice_in_dim(leaf, i * size, size, 1) for leaf in (rows.inputs, rows.reward, rows.weight)
    )
    return x, reward, weight, lax.dynamic_slice_in_dim(rows.group, i * _BLOCKS, _BLOCKS, 1)


def _arrange(
    parameters: PyTree, inputs: jax.Array, group: jax.Array, reward: jax.Array, count: jax.Array, n_groups: int
) -> RowBlocks:
    """Copy rows into blocks by group; trial axes are last in the arguments and first in the result."""
    trials = jnp.broadcast_shapes(inputs.shape[2:], group.shape[1:], reward.shape[1:])
    flat = functools.partial(_flatten_trials, trials=trials)
    rows = jnp.concatenate([flat(inputs), flat(reward)[:, None]], axis=1)  # [n, m + 1, W]
    count = jnp.reshape(count, ())
    place = functools.partial(_place, n_groups=n_groups)
    source, block_group, counts = vmap_last(place, (-1, None))(flat(group), count)
    gathered = vmap_last(lambda rows, source: rows[jnp.maximum(source - 1, 0)])(rows, source)  # [slots, m + 1, W]
    gathered = jnp.moveaxis(gathered, -1, 0)
    blocks = count // _BLOCK + n_groups  # as in `_place`: at least the sum of ceil(rows of a group / _BLOCK)
    return RowBlocks(
        inputs=gathered[..., :-1],
        reward=gathered[..., -1],
        weight=(source.T > 0).astype(rows.dtype),
        group=block_group.T,
        steps=(blocks + _BLOCKS - 1) // _BLOCKS,
        count=counts.T,
        parameters=jax.tree.map(functools.partial(_trials_first, trials=trials), parameters),
    )


def _flatten_trials(leaf: jax.Array, trials: tuple[int, ...]) -> jax.Array:
    """Broadcast the trailing axes to the trial axes, and merge them into one."""
    own = leaf.shape[: leaf.ndim - len(trials)]
    return jnp.broadcast_to(leaf, (*own, *trials)).reshape(*own, -1)


def _trials_first(leaf: jax.Array, trials: tuple[int, ...]) -> jax.Array:
    """Move the trial axes, which are last, to a single first axis, so that the result is `[W, ...]`."""
    return jnp.moveaxis(_flatten_trials(leaf, trials), -1, 0)


def _place(group: jax.Array, count: jax.Array, n_groups: int) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return the row for each slot (from 1; 0: none), the group of each block, and the number of rows of each group."""
    n = len(group)
    is_member = (group[:, None] == jnp.arange(n_groups)) & (jnp.arange(n)[:, None] < count)
    rank = jnp.cumsum(is_member.astype(jnp.int32), axis=0)  # [n, K]
    counts = rank[-1]
    end = jnp.cumsum((counts + _BLOCK - 1) // _BLOCK)  # [K]  number of blocks up to and including each group
    first = end - (counts + _BLOCK - 1) // _BLOCK
    n_blocks = -(-(n // _BLOCK + n_groups) // _BLOCKS) * _BLOCKS
    slot = jnp.sum(jnp.where(is_member, first * _BLOCK + rank - 1, 0), axis=1)
    slot = jnp.where(jnp.arange(n) < count, slot, n_blocks * _BLOCK)  # unused rows are dropped
    source = jnp.zeros(n_blocks * _BLOCK, jnp.int32).at[slot].set(jnp.arange(1, n + 1, dtype=jnp.int32), mode="drop")
    return source, jnp.sum(jnp.arange(n_blocks)[:, None] >= end, axis=1), counts
