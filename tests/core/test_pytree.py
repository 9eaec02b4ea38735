"""Frozen pytrees: structures know their class, fields their range."""

import jax
import numpy as np
import pytest

from jaxbandits import GLBOMD, GeneralizedLinear, InputError, links, simulate
from jaxbandits.core.pytree import as_arrays, param, pytree, replace, static, validate


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


def test_two_links_do_not_share_a_program():
    """Only the class of the link tells the two jobs apart: rewards above 1 exist under one of them alone."""
    regret = {}
    for link in (links.Bernoulli(), links.Poisson()):
        algorithm = GLBOMD.experiments(dim=2, norm_bound=2.0, link=link)
        environment = GeneralizedLinear(dim=2, n_arms=4, norm_bound=2.0, link=link)
        result = simulate(algorithm, environment, 200, 32, progress=False, record=1)
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
        (A(x=None), "A.x must be given"),
        (A(x="1"), "A.x must be a number"),
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
