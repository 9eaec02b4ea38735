"""Points of any form: vectors, matrices and tuples of arrays against the same numbers in one flat vector."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms.oco.adagrad_norm import AdaGradNorm
from jaxbandits.algorithms.oco.dog import DoG
from jaxbandits.algorithms.oco.dowg import DoWG
from jaxbandits.algorithms.oco.kt_betting import KTBetting
from jaxbandits.algorithms.oco.ogd import OGD
from jaxbandits.algorithms.oco.optax_learner import OptaxLearner
from jaxbandits.algorithms.oco.optimistic_omd import OptimisticOMD
from jaxbandits.algorithms.oco.parameter_free_md import ParameterFreeMD
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import as_arrays, validate
from jaxbandits.domains import points, protocol
from jaxbandits.domains.ball import L2Ball
from jaxbandits.domains.whole_space import WholeSpace
from jaxbandits.types import Gradient
from tests import compiled

KEY = jax.random.key(0)
SHAPES = [3, (3,), (2, 3), ((2, 3), (4,)), ((2, 3), 4, (1, 2, 2))]


def draw(rng, shape):
    return jax.tree.map(lambda leaf: jnp.asarray(rng.standard_normal(leaf.shape)), points.zeros(shape))


def flat(x):
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(x)])


@pytest.mark.slow_cases("(3,)", "((2, 3), 4, (1, 2, 2))")
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_operations_are_those_of_the_flat_vector(shape, rng):
    x, y = draw(rng, shape), draw(rng, shape)
    fx, fy = flat(x), flat(y)
    assert points.size(shape) == len(fx)
    np.testing.assert_allclose(points.inner(x, y), fx @ fy, rtol=1e-13)
    np.testing.assert_allclose(points.norm(x), np.linalg.norm(fx), rtol=1e-13)
    for ours, theirs in (
        (points.add(x, y), fx + fy),
        (points.subtract(x, y), fx - fy),
        (points.scale(x, 2.5), 2.5 * fx),
        (points.add_scaled(x, 2.5, y), fx + 2.5 * fy),
        (points.average(x, y, 0.25), fx + 0.25 * (fy - fx)),
        (points.where(jnp.asarray(False), x, y), fy),
        (points.zeros_like(x), 0.0 * fx),
    ):
        assert jax.tree.structure(ours) == jax.tree.structure(x)
        np.testing.assert_allclose(flat(ours), theirs, rtol=1e-13)


def test_average_with_any_weights(rng):
    values, weights = rng.normal(size=(40, 3)), 1.0 / np.sqrt(np.arange(1, 41))
    mean = {"x": jnp.zeros(3)}
    for value, weight, total in zip(values, weights, np.cumsum(weights), strict=True):
        mean = points.average(mean, {"x": jnp.asarray(value)}, weight / total)
    np.testing.assert_allclose(mean["x"], np.average(values, axis=0, weights=weights), rtol=1e-13, atol=1e-15)


LEARNERS = [
    lambda dim: OGD(dim=dim),
    lambda dim: KTBetting(dim=dim, domain=L2Ball()),
    lambda dim: OptaxLearner.adam(dim=dim),
]
OTHERS = [
    lambda dim: AdaGradNorm(dim=dim),
    lambda dim: OptimisticOMD(dim=dim),
    lambda dim: DoG(dim=dim, initial_distance=0.1),
    lambda dim: DoWG(dim=dim, initial_distance=0.1),
    lambda dim: ParameterFreeMD(dim=dim),
]


@pytest.mark.quick_cases("<lambda>0", "<lambda>1", "<lambda>2")
@pytest.mark.parametrize("make", [*LEARNERS, *OTHERS])
def test_learners_play_points_of_any_form(make, rng):
    """The parameters of a model, played as they are or as one vector: the same plays."""
    shape = ((2, 3), (4,))
    structured, vector = as_arrays(make(shape)), as_arrays(make(10))
    validate(structured)
    states = compiled.init(structured, KEY), compiled.init(vector, KEY)
    for t in range(12):
        grad = draw(rng, shape)
        told = [jax.tree.map(lambda g: 0.3 * np.asarray(g)[None], grad), 0.3 * flat(grad)[None]]
        plays = [
            compiled.select(a, KEY, jnp.int32(t), s, None) for a, s in zip((structured, vector), states, strict=True)
        ]
        np.testing.assert_allclose(flat(plays[0].play), plays[1].play, rtol=1e-12, atol=1e-14)
        states = tuple(
            compiled.update(a, KEY, jnp.int32(t), s, None, p, Gradient(jnp.zeros(1), g))
            for a, s, p, g in zip((structured, vector), states, plays, told, strict=True)
        )


@pytest.mark.parametrize("dim", [0, ((2, 0), (4,)), 1.5, "x", ()])
def test_shapes_that_are_none(dim):
    with pytest.raises(InputError):
        validate(OGD(dim=dim))


def test_whole_space():
    space, x = WholeSpace(), (jnp.ones(2), jnp.ones((2, 2)))
    assert space.project(x) is x
    assert space.diameter == np.inf
    assert bool(protocol.contains(space, x))  # a set that cannot tell takes every point; NaN is counted elsewhere
    np.testing.assert_array_equal(flat(space.zero(((2,), (2, 2)))), np.zeros(6))


def test_entries_are_the_matrix_they_stand_for(rng):
    """Sums, multiples and inner products of sparse matrices, alone and beside dense ones; repeated entries add up."""
    shape = (4, 3)

    def sparse(n):
        return points.Entries(
            *(jnp.asarray(a) for a in (rng.integers(4, size=n), rng.integers(3, size=n), rng.normal(size=n)))
        )

    def full(x):
        if not isinstance(x, points.Entries):
            return np.asarray(x)
        matrix = np.zeros(shape)
        np.add.at(matrix, (x.rows, x.cols), x.values)
        return matrix

    few, others, dense = sparse(9), sparse(2), jnp.asarray(rng.normal(size=shape))
    for x, y in ((few, others), (few, dense), (dense, few)):
        np.testing.assert_allclose(full(points.add(x, y)), full(x) + full(y), atol=1e-14)
        np.testing.assert_allclose(full(points.add_scaled(x, -0.7, y)), full(x) - 0.7 * full(y), atol=1e-14)
    for x, y in ((few, dense), (dense, few), (few, others), (few, few)):
        np.testing.assert_allclose(points.inner(x, y), np.sum(full(x) * full(y)), rtol=1e-13)
    np.testing.assert_allclose(full(points.scale(few, 3.0)), 3.0 * full(few), atol=1e-14)
    pair = points.add((few, jnp.ones(2)), (dense, jnp.ones(2)))  # as parts of a larger point
    np.testing.assert_allclose(full(pair[0]), full(few) + full(dense), atol=1e-14)
    np.testing.assert_array_equal(pair[1], 2.0)
