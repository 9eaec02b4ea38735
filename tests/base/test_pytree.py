"""Frozen pytrees: structures know their class, fields their range."""

import jax
import numpy as np
import pytest

from jaxbandits import InputError, links, simulate
from jaxbandits.base.pytree import (
    as_arrays,
    field_kind,
    field_table,
    map_traced,
    param,
    pytree,
    replace,
    shared,
    shared_leaves,
    static,
    validate,
)
from jaxbandits.glm import GLBOMD, GeneralizedLinear


@pytree
class A:
    x: float = param(1.0, "[0, 2)", "x")
    n: int = static(3, "[1, inf)", doc="n")


@pytree
class B:
    x: float = param(1.0, "[0, 2)", "x")
    n: int = static(3, "[1, inf)", doc="n")


def test_structures_of_two_classes_differ():
    """With jax.tree_util.register_dataclass they are equal in jax 0.10 to 0.12."""
    assert jax.tree.structure(A()) != jax.tree.structure(B())
    assert jax.tree.structure(A()) == jax.tree.structure(A(x=1.5))
    assert jax.tree.structure(A()) != jax.tree.structure(A(n=4))
    assert jax.tree.structure(links.Bernoulli()) != jax.tree.structure(links.Poisson())


@pytest.mark.slow
def test_two_links_do_not_share_a_program():
    """Only the class of the link tells the two jobs apart: rewards above 1 exist under one of them alone."""
    regret = {}
    for link in (links.Bernoulli(), links.Poisson()):
        algorithm = GLBOMD.experiments(dim=2, norm_bound=2.0, link=link)
        environment = GeneralizedLinear(dim=2, n_arms=4, norm_bound=2.0, link=link)
        result = simulate(algorithm, environment, 200, 32, progress=False, record_points=1)
        regret[type(link).__name__] = result.final("regret").mean()
    assert regret["Poisson"] > 2.0 * regret["Bernoulli"]


def test_leaves_keep_their_names():
    ((path, value),) = jax.tree.leaves_with_path(A(x=1.25))
    assert jax.tree_util.keystr(path) == ".x" and value == 1.25


@pytest.mark.parametrize(
    ("obj", "message"),
    [
        (A(x=2.0), r"A.x must lie in \[0, 2\), got 2.0"),
        (A(x=np.array([0.5, -1.0])), r"A.x must lie in \[0, 2\), got -1.0"),
        (A(n=0), "A.n must lie in"),
        (A(n=2.5), "A.n must be a whole number"),
        (A(n=2**31), r"A.n must lie in \[1, 2147483647\], got 2147483648"),
        (A(n=(2, (3, 10**30))), r"A.n must lie in \[1, 2147483647\], got \(2, \(3, 1"),
        (A(x=None), "A.x must be given"),
        (A(x="1"), "A.x must be a number"),
        (A(x=0.5 + 1j), "A.x must be a number"),
    ],
)
def test_ranges_are_enforced(obj, message):
    with pytest.raises(InputError, match=message):
        validate(obj)


def test_replace_refuses_unknown_and_static_fields():
    assert replace(A(), "x", 0.5).x == 0.5
    with pytest.raises(InputError, match="has no field 'y'; it has: n, x"):
        replace(A(), "y", 0.5)
    with pytest.raises(InputError, match="static"):
        replace(A(), "n", 4)


def test_leaves_become_strongly_typed():
    leaf = as_arrays(A(x=1)).x
    assert leaf.dtype == np.float64 and not leaf.weak_type


@pytree
class Data:
    table: np.ndarray | None = shared(range="[0, 1]", doc="entries")
    scale: float = param(1.0, "[0, inf)", "scale")
    rest: dict | None = shared(None, doc="further arrays")


@pytree
class Holds:
    parts: tuple = param((), doc="several of them")
    data: Data = param(doc="one of them")


def test_what_is_shared_is_known_leaf_by_leaf():
    data = Data(table=np.ones((3, 2)), rest={"a": np.zeros(2), "b": np.arange(3)})
    tree = (Holds(parts=(data, A()), data=data), {"x": 1.0})
    paths = [jax.tree_util.keystr(path) for path, _ in jax.tree.leaves_with_path(tree)]
    by_path = dict(zip(paths, shared_leaves(tree), strict=True))
    assert [path for path, common in by_path.items() if not common] == [
        "[0].parts[0].scale",
        "[0].parts[1].x",
        "[0].data.scale",
        "[1]['x']",
    ]
    assert sum(by_path.values()) == 6
    larger = map_traced(lambda leaf: np.full(4, leaf), data)
    assert larger.table is data.table and larger.rest["a"] is data.rest["a"] and larger.scale.shape == (4,)
    kinds = {row.name: row.kind for row in field_table(data)}
    assert kinds == {"table": "shared", "scale": "traced", "rest": "shared"}
    assert field_kind(tree[0], "data.table") == "shared" and field_kind(tree[0], "data") == "object"


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([0.5, 0.5], "Data.table must be an array or a tree of arrays, but it contains a float"),
        ("a table", "Data.table must be an array"),
        (None, "Data.table must be given"),
        ((), "Data.table must be an array"),
        (np.array(["a"]), "Data.table must hold real numbers"),
        (np.array([0.5j]), "Data.table must hold real numbers"),
        (np.array([0.5, 1.5]), r"Data.table must lie in \[0, 1\], got 1.5"),
        (np.array([np.nan]), r"Data.table must lie in \[0, 1\], got nan"),
    ],
)
def test_shared_data_are_arrays_of_numbers(table, message):
    with pytest.raises(InputError, match=message):
        validate(Data(table=table))


def test_shared_data_cannot_be_swept():
    with pytest.raises(InputError, match=r"Data.table is shared data .* cannot be swept"):
        replace(Data(table=np.ones(2)), "table", np.zeros(2))


def test_traced_values_are_refused_by_name():
    @jax.jit
    def under_jit(x):
        validate(A(x=x))
        return x

    with pytest.raises(InputError, match=r"A.x is traced by a JAX transformation"):
        under_jit(1.0)


def test_an_array_made_by_a_factory_is_a_field_like_any_other():
    @pytree
    class Means:
        mu: object = param(factory=lambda: np.array([0.1, 0.9]))

    validate(Means())
    validate(Means(mu=np.array([0.5, 0.5])))
    with pytest.raises(InputError, match=r"Means.mu must be a number, an array of numbers or a tree of them"):
        validate(Means(mu="half"))
