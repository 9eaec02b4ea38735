"""Oracles of combinatorial bandits, which compute the set of items with the largest sum of scores under constraints.

    items = oracle.best(scores, mask)        [m] int32 from scores `[L]`; -1 at positions without an item
    oracle.admits(items)                     True if a set of items satisfies the constraints

The fields of an oracle are static, since the compiled code depends on them.
"""

import itertools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from jaxbandits.base.errors import InputError, format_value
from jaxbandits.base.pytree import pytree, static
from jaxbandits.base.ranges import integer, is_whole
from jaxbandits.estimation.items import top_items
from jaxbandits.numerics import first_axis

_SIZES = "[1, 10000]"


def require_oracle(owner: str, oracle: Any, n_items: int) -> None:
    """Raise InputError unless the field `oracle` of the class `owner` is an oracle for `n_items` items."""
    if not all(hasattr(oracle, method) for method in ("best", "admits", "check_items")):
        raise InputError(
            f"{owner}.oracle must be an oracle of jaxbandits.oracles, such as TopM(size=3), got {format_value(oracle)}"
        )
    oracle.check_items(n_items)


@pytree
class TopM:
    """Oracle without constraints: the m items with the largest scores, in decreasing order."""

    size: int = static(range="[1, inf)", doc="m, number of items that are chosen")

    def check_items(self, n_items: int) -> None:
        """Raise InputError unless the oracle is for `n_items` items."""
        if self.size > n_items:
            raise InputError(f"TopM.size must be at most n_items={n_items}, got {self.size}")

    def best(self, scores: jax.Array, mask: Any) -> jax.Array:
        """Return the items `[m]` with the largest scores `[L]` among those that a mask `[L]` allows (all if None)."""
        return top_items(scores, mask, self.size)

    def admits(self, items: jax.Array) -> jax.Array:
        """Return True, since every choice of different items satisfies the constraints."""
        del items
        return jnp.ones((), bool)


@pytree
class Partition:
    """Oracle that chooses one item from each of m blocks of b consecutive items (a partition matroid)."""

    blocks: int = static(range="[1, inf)", doc="m, number of blocks")
    block_size: int = static(range="[1, inf)", doc="b, number of items of a block")

    @property
    def size(self) -> int:
        """m, number of chosen items."""
        return self.blocks

    def check_items(self, n_items: int) -> None:
        """Raise InputError unless the oracle is for `n_items` items."""
        if self.blocks * self.block_size != n_items:
            raise InputError(
                f"Partition: blocks * block_size must be n_items={n_items}, got {self.blocks} * {self.block_size}"
            )

    def best(self, scores: jax.Array, mask: Any) -> jax.Array:
        """Return `[m]`, the item with the largest score in each block; -1 for a block without an allowed item.

        Items with equal scores are in the order of their indices, and NaN ranks lowest.
        """
        allowed = jnp.ones(len(scores), bool) if mask is None else jnp.asarray(mask)
        lowest = jnp.finfo(scores.dtype).min  # above masked items
        ordered = jnp.where(allowed, jnp.where(scores > lowest, scores, lowest), -jnp.inf)
        by_block = ordered.reshape(self.blocks, self.block_size)
        found = jax.vmap(first_axis.argmax)(by_block)
        is_there = jnp.any(allowed.reshape(self.blocks, self.block_size), axis=1)
        start = jnp.arange(self.blocks, dtype=jnp.int32) * self.block_size
        return jnp.where(is_there, start + found, -1).astype(jnp.int32)

    def admits(self, items: jax.Array) -> jax.Array:
        """Return True if position i holds an item of block i, or no item, for every i."""
        block = jnp.arange(self.blocks, dtype=jnp.int32)
        return jnp.all((items < 0) | (items // self.block_size == block))


@pytree
class LayeredPaths:
    """Oracle that chooses a path through a layered graph, one edge per layer, by dynamic programming.

    Items are the edges, numbered layer by layer. An edge of a layer leads from a node to a node of the next layer; a
    path may start at any node with an edge in the first layer. Ties go to the path that starts at the node with the
    smallest number, then to the path whose first edge has the smallest number, then its second edge, and so on.

    Example:
      >>> LayeredPaths.disjoint(n_paths=3, length=2).edges
      (((0, 0), (1, 1), (2, 2)), ((0, 0), (1, 1), (2, 2)))
    """

    edges: Any = static(doc="for each layer, the edges (from, to); nodes of a layer are numbered from 0")

    def __post_init__(self) -> None:
        """Convert lists, which a sweep file contains, to tuples, which are hashable."""
        object.__setattr__(self, "edges", _as_tuples(self.edges))

    @classmethod
    def disjoint(cls, *, n_paths: int, length: int) -> "LayeredPaths":
        """Return a graph of disjoint paths: path j consists of the items j, j + n_paths, j + 2 n_paths, ..."""
        n_paths, length = integer("n_paths", n_paths, _SIZES), integer("length", length, _SIZES)
        return cls(edges=(tuple((j, j) for j in range(n_paths)),) * length)

    @classmethod
    def complete(cls, *, n_nodes: int, length: int) -> "LayeredPaths":
        """Return a graph with fully connected layers of `n_nodes` nodes between a source and a sink.

        Args:
          n_nodes: number of nodes of a layer.
          length: number of edges of a path, at least 2.
        """
        n_nodes, length = integer("n_nodes", n_nodes, "[1, 100]"), integer("length", length, "[2, 10000]")
        first, last = tuple((0, j) for j in range(n_nodes)), tuple((j, 0) for j in range(n_nodes))
        between = tuple((i, j) for i in range(n_nodes) for j in range(n_nodes))
        return cls(edges=(first, *(between,) * (length - 2), last))

    def check(self) -> None:
        """Raise InputError unless the edges of each layer are different pairs of whole numbers and a path exists."""
        is_graph = isinstance(self.edges, tuple) and bool(self.edges) and all(map(_is_layer, self.edges))
        if not is_graph:
            raise InputError(
                "LayeredPaths.edges must contain for each layer a nonempty sequence of different pairs (from, to) "
                f"of whole numbers >= 0, got {format_value(self.edges)}"
            )
        reached = {start for start, _ in self.edges[0]}
        for layer, edges in enumerate(self.edges):
            reached = {end for start, end in edges if start in reached}
            if not reached:
                raise InputError(f"LayeredPaths.edges: no path reaches an edge of layer {layer} (from 0)")

    @property
    def size(self) -> int:
        """m, number of edges of a path."""
        return len(self.edges)

    @property
    def first_items(self) -> tuple[int, ...]:
        """First item of each layer, followed by the number of items."""
        return (0, *itertools.accumulate(len(layer) for layer in self.edges))

    def check_items(self, n_items: int) -> None:
        """Raise InputError unless the oracle is for `n_items` items."""
        self.check()  # without a graph there are no items to count
        if self.first_items[-1] != n_items:
            raise InputError(f"LayeredPaths: the number of edges must be n_items={n_items}, got {self.first_items[-1]}")

    def best(self, scores: jax.Array, mask: Any) -> jax.Array:
        """Return the edges `[m]` of the path with the largest sum of scores `[L]`; all are -1 if no path is available.

        Scores are clipped to plus or minus the largest float divided by 4 m, so that sums are finite; NaN ranks lowest.
        The cost is $O(L)$.
        """
        most = float(jnp.finfo(scores.dtype).max) / (4 * self.size)
        values = jnp.clip(jnp.where(jnp.isnan(scores), -most, scores), -most, most)
        if mask is not None:
            values = jnp.where(mask, values, -jnp.inf)
        # Backward pass from the last layer to the first: the best remaining sum from every node, and its first edge.
        to_go: dict[int, jax.Array] = {}
        choices: list[dict[int, jax.Array]] = []
        for first, layer in zip(reversed(self.first_items[:-1]), reversed(self.edges), strict=True):
            is_last = not choices
            sums = [
                values[first + e] + (0.0 if is_last else to_go.get(end, -jnp.inf)) for e, (_, end) in enumerate(layer)
            ]
            by_node: dict[int, list[int]] = {}
            for e, (start, _) in enumerate(layer):
                by_node.setdefault(start, []).append(e)
            found = {start: first_axis.argmax(jnp.stack([sums[e] for e in es])) for start, es in by_node.items()}
            to_go = {start: first_axis.max(jnp.stack([sums[e] for e in es])) for start, es in by_node.items()}
            choices.append({start: _pick(es, found[start]) for start, es in by_node.items()})
        # Forward pass along the path: the node is a traced value, so that the choices of all nodes are compared with
        # it.
        starts = sorted(to_go)
        totals = jnp.stack([to_go[start] for start in starts])
        node = _pick(starts, first_axis.argmax(totals))
        items = []
        for first, layer, choice in zip(self.first_items[:-1], self.edges, reversed(choices), strict=True):
            edge = sum((jnp.where(node == start, e, 0) for start, e in choice.items()), jnp.int32(0))
            node = _pick([end for _, end in layer], edge)
            items.append(first + edge)
        return jnp.where(jnp.max(totals) > -jnp.inf, jnp.stack(items), -1).astype(jnp.int32)

    def admits(self, items: jax.Array) -> jax.Array:
        """Return True if the items are the edges of a path, in order, or if all are -1."""
        is_path = jnp.ones((), bool)
        node = jnp.int32(-1)
        for place, (first, layer) in enumerate(zip(self.first_items[:-1], self.edges, strict=True)):
            edge = items[place] - first
            is_path &= (edge >= 0) & (edge < len(layer))
            if place:
                is_path &= _pick([start for start, _ in layer], edge) == node
            node = _pick([end for _, end in layer], edge)
        return is_path | jnp.all(items == -1)


def _as_tuples(value: Any) -> Any:
    return tuple(map(_as_tuples, value)) if isinstance(value, (list, tuple)) else value


def _is_layer(layer: Any) -> bool:
    """Return True if a layer of a graph is a nonempty tuple of different pairs of whole numbers >= 0."""
    if not isinstance(layer, tuple) or not layer:
        return False
    pairs = all(
        isinstance(edge, tuple) and len(edge) == 2 and all(is_whole(n) and n >= 0 for n in edge) for edge in layer
    )
    return pairs and len(set(layer)) == len(layer)


def _pick(table: Sequence[int], index: jax.Array) -> jax.Array:
    """Return the entry `[]` int32 of a constant table at an index, 0 outside; a gather would not be vectorised."""
    numbers = jnp.asarray(table, jnp.int32)
    return jnp.sum(jnp.where(jnp.arange(len(table)) == index, numbers, 0), dtype=jnp.int32)
