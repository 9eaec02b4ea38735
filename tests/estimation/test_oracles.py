"""Paths through layered graphs: the dynamic program against all paths, on random graphs, ties, masks and infinities."""

import itertools
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits import from_spec, simulate, to_spec
from jaxbandits.base.errors import InputError
from jaxbandits.combinatorial import CTS, CombUCB1, SemiBandit
from jaxbandits.estimation.oracles import LayeredPaths, Partition, TopM
from tests.algorithms.combinatorial.replay_items import compare_with_reference
from tests.reference import combinatorial as reference


def all_paths(oracle):
    """Every path, as items, in the order of their numbers."""
    first = oracle.first_items
    layers = [[(first[k] + e, *edge) for e, edge in enumerate(layer)] for k, layer in enumerate(oracle.edges)]
    return [
        [item for item, _, _ in path]
        for path in itertools.product(*layers)
        if all(a[2] == b[1] for a, b in itertools.pairwise(path))
    ]


def best_path(oracle, scores, mask):
    """The first path with the largest sum among the available ones; None without one."""
    paths = [path for path in all_paths(oracle) if mask[path].all()]
    sums = [sum(scores[path]) for path in paths]
    return paths[int(np.argmax(sums))] if paths else None


def random_graph(rng):
    """Up to four layers of up to four nodes, with dead ends and nodes that no edge reaches."""
    while True:
        nodes = rng.integers(1, 5, size=rng.integers(2, 6))
        edges = tuple(
            tuple((i, j) for i in range(a) for j in range(b) if rng.uniform() < 0.6)
            for a, b in itertools.pairwise(nodes.tolist())
        )
        try:
            made = LayeredPaths(edges=edges)
            made.check()
        except InputError:
            continue
        return made


LAWS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "negative": lambda rng, n: -rng.uniform(size=n),
    "ties": lambda rng, n: rng.integers(0, 2, size=n).astype(float),
    "equal": lambda rng, n: np.full(n, 0.25),
    "unseen": lambda rng, n: np.where(rng.uniform(size=n) < 0.5, 1e30 * rng.integers(1, n + 1, size=n), 0.5),
}


@pytest.mark.slow_after_first
@pytest.mark.parametrize("law", LAWS)
def test_the_dynamic_program_finds_the_best_of_all_paths(law, rng):
    without = 0
    for _ in range(12):
        oracle = random_graph(rng)
        n_items = oracle.first_items[-1]
        scores, mask = LAWS[law](rng, n_items), rng.uniform(size=n_items) < 0.8
        best = jax.jit(oracle.best)
        for allowed in (np.ones(n_items, bool), mask):
            found = np.asarray(best(jnp.asarray(scores), jnp.asarray(allowed)))
            wanted = best_path(oracle, scores, allowed)
            if wanted is None:
                without += 1
                assert (found == -1).all()
            else:
                assert found.tolist() == wanted
            assert bool(oracle.admits(jnp.asarray(found)))
    assert without > 0


def test_a_block_takes_an_allowed_item_whatever_the_scores():
    oracle, nan, inf = Partition(blocks=2, block_size=3), np.nan, np.inf
    for scores, mask, items in (
        ((9.0, -inf, -inf, nan, 5.0, 7.0), (False, True, True, True, True, True), (1, 5)),
        ((9.0, nan, nan, 1.0, nan, inf), (False, False, True, True, True, False), (2, 3)),
        ((nan, 1.0, 1.0, 0.0, 0.0, 0.0), None, (1, 3)),
        ((1.0, 2.0, 3.0, 4.0, 5.0, 6.0), (True, True, True, False, False, False), (2, -1)),
    ):
        found = oracle.best(jnp.asarray(scores), None if mask is None else jnp.asarray(mask))
        np.testing.assert_array_equal(found, items)


def test_infinite_and_missing_scores_stay_paths():
    oracle = LayeredPaths.disjoint(n_paths=3, length=2)
    for scores, path in (
        ([np.inf, 0, 0, -np.inf, 0, 0], [0, 3]),  # both sums are 0
        ([np.nan, 0, -1, 0, 0, 0], [1, 4]),
        ([-np.inf] * 6, [0, 3]),
        ([np.nan] * 6, [0, 3]),
        ([1.7e308, 0, 0, 1.7e308, 0, 0], [0, 3]),
    ):
        assert oracle.best(jnp.asarray(scores, float), None).tolist() == path


@pytest.mark.parametrize("items", [[0, 3], [1, 4], [-1, -1], [0, 4], [3, 0], [0, -1], [2, 6], [-1, 3], [0, 0]])
def test_edges_of_a_path_are_admitted(items):
    oracle = LayeredPaths.disjoint(n_paths=3, length=2)
    assert bool(oracle.admits(jnp.asarray(items))) == (items in [*all_paths(oracle), [-1, -1]])


def test_numbers_of_paths():
    assert len(all_paths(LayeredPaths.disjoint(n_paths=5, length=3))) == 5
    assert len(all_paths(LayeredPaths.complete(n_nodes=3, length=4))) == 27
    assert LayeredPaths.complete(n_nodes=3, length=4).first_items == (0, 3, 12, 21, 24)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["coins", "masked"])
def test_a_learner_of_paths_against_its_reference(kind, rng, key):
    oracle = LayeredPaths.complete(n_nodes=2, length=3)
    rewards = (rng.uniform(size=(150, 8)) < np.linspace(0.1, 0.9, 8)).astype(float)
    mask = np.ones((150, 8), bool)
    if kind == "masked":
        mask = rng.uniform(size=mask.shape) < 0.7
    compare_with_reference(
        CombUCB1(n_items=8, oracle=oracle), reference.UCB1(8, exploration=1.5),
        lambda u, allowed: best_path(oracle, u, allowed) or [], rewards, mask, key, False,
    )  # fmt: skip


@pytest.mark.slow
def test_the_best_path_is_learned():
    oracle = LayeredPaths.disjoint(n_paths=4, length=3)
    env = SemiBandit.from_means(np.where(np.arange(12) % 4 == 2, 0.6, 0.2), oracle)
    for learner in (CombUCB1, CTS):
        (trials,) = simulate(
            learner(n_items=12, oracle=oracle), env, 2000, 16, record_points=[1000, 2000], progress=False
        ).trials.values()
        regret = trials.get("regret").mean(axis=(0, 1))
        assert regret[1] - regret[0] < 0.5 * regret[0]
        assert not trials.inadmissible.any()


def test_specifications_round_trip_through_json():
    for oracle in (LayeredPaths.disjoint(n_paths=2, length=2), LayeredPaths.complete(n_nodes=2, length=3)):
        again = from_spec(json.loads(json.dumps(to_spec(oracle))))
        assert again.edges == oracle.edges and jax.tree.structure(again) == jax.tree.structure(oracle)
    assert LayeredPaths(edges=[[[0, 0], [0, 1]], [[1, 0]]]).edges == (((0, 0), (0, 1)), ((1, 0),))


def test_wrong_graphs_are_refused_in_one_line():
    for edges, said in (
        ((), "nonempty sequence"),
        (((0, 0),), "nonempty sequence"),  # a layer is missing
        ((((0, 0), (0, 0)),), "different pairs"),
        ((((0, -1),),), "whole numbers"),
        ((((0, 0.5),),), "whole numbers"),
        ((((0, 1),), ((0, 0),)), "no path reaches an edge of layer 1"),
        (7, "nonempty sequence"),
    ):
        with pytest.raises(InputError, match=said) as error:
            simulate(
                CombUCB1(n_items=2, oracle=LayeredPaths(edges=edges)), SemiBandit(n_items=2, oracle=TopM(size=1)), 2, 2,
                progress=False,
            )  # fmt: skip
        assert "\n" not in str(error.value)
    with pytest.raises(InputError, match="number of edges must be n_items=5, got 6"):
        LayeredPaths.disjoint(n_paths=3, length=2).check_items(5)
