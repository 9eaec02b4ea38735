"""The shrunk set: image of the oracle, projection by its optimality, and steps from it that stay in the base."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import pytree, validate
from jaxbandits.domains import protocol
from jaxbandits.domains.ball import L2Ball
from jaxbandits.domains.box import Box
from jaxbandits.domains.shrunk import Shrunk
from tests.reference import convex_sets as reference


def test_ball_is_the_smaller_ball(rng):
    shrunk, small = Shrunk(base=L2Ball(radius=2.0), shrink=0.3), L2Ball(radius=1.4)
    assert shrunk.diameter == pytest.approx(2.8, rel=1e-15)
    assert shrunk.inner_radius(3) == shrunk.outer_radius(3) == pytest.approx(1.4, rel=1e-15)
    np.testing.assert_array_equal(shrunk.zero(3), np.zeros(3))
    for scale in (0.1, 1.0, 10.0):
        x = jnp.asarray(scale * rng.normal(size=3))
        np.testing.assert_allclose(shrunk.lmo(x)[0], small.lmo(x)[0], rtol=1e-14)
        np.testing.assert_allclose(shrunk.project(x), small.project(x), rtol=1e-14)
        assert bool(shrunk.contains(x)) == bool(small.contains(x))
        ours = reference.Shrunk(reference.L2Ball(2.0), 0.7)
        np.testing.assert_allclose(shrunk.lmo(x)[0], ours.lmo(np.asarray(x)), rtol=1e-14)


def test_points_of_any_form(rng):
    x = (jnp.asarray(rng.normal(size=(2, 3))), jnp.asarray(rng.normal(size=4)))
    vertex, _ = Shrunk(shrink=0.5).lmo(x)
    assert sum(float(jnp.sum(a * a)) for a in vertex) == pytest.approx(0.25)


def test_steps_from_the_shrunk_set_stay_in_the_base(rng):
    """y + delta u for delta = shrink r, the furthest step that one-point estimators take."""
    base = L2Ball(radius=1.5)
    shrunk = Shrunk(base=base, shrink=0.2)
    for _ in range(50):
        c, u = rng.normal(size=(2, 4))
        y = np.asarray(shrunk.lmo(jnp.asarray(c))[0])
        assert bool(base.contains(jnp.asarray(y + 0.2 * base.inner_radius(4) * u / np.linalg.norm(u))))


def test_towards_a_middle_that_is_not_the_origin(rng):
    """A box: the smaller box around the same middle."""
    base, middle = Box(dim=3, low=np.array([0.0, 1.0, -4.0]), high=np.array([1.0, 3.0, 4.0])), [0.5, 2.0, 0.0]
    shrunk, small = (
        Shrunk(base=base, shrink=0.4),
        Box(dim=3, low=np.array([0.2, 1.4, -2.4]), high=np.array([0.8, 2.6, 2.4])),
    )
    np.testing.assert_allclose(shrunk.center(3), middle)
    assert shrunk.inner_radius(3) == pytest.approx(0.3)
    assert shrunk.diameter == pytest.approx(np.linalg.norm([0.6, 1.2, 4.8]))
    assert small.outer_radius(3) <= shrunk.outer_radius(3)
    for x in 3.0 * rng.normal(size=(10, 3)):
        for ours, theirs in ((shrunk.lmo(x)[0], small.lmo(x)[0]), (shrunk.project(x), small.project(x))):
            np.testing.assert_allclose(ours, theirs, atol=1e-14)
    assert bool(small.contains(shrunk.zero(3)))


def test_vmap_over_how_much(rng):
    shrink, c = jnp.asarray([0.0, 0.3, 0.9]), jnp.asarray(rng.normal(size=(3, 4)))
    together = jax.jit(jax.vmap(lambda s, x: Shrunk(shrink=s).lmo(x)[0]))(shrink, c)
    for k in range(3):
        np.testing.assert_allclose(together[k], Shrunk(shrink=shrink[k]).lmo(c[k])[0], rtol=1e-14)


def test_it_can_do_what_the_base_can():
    @pytree
    class OracleOnly:
        diameter = 1.0

        def lmo(self, direction, guess=None):
            raise AssertionError("there to be seen, not to be called")

    @pytree
    class Middle(OracleOnly):
        def center(self, shape):
            raise AssertionError("there to be seen, not to be called")

        def inner_radius(self, shape):
            raise AssertionError("there to be seen, not to be called")

    assert set(protocol.offers(Shrunk(base=L2Ball()))) == set(protocol.MEMBERS)
    shrunk = Shrunk(base=Middle())
    assert {"project", "contains"}.isdisjoint(protocol.offers(shrunk))
    with pytest.raises(InputError, match=r"X.domain must have 'project'; Shrunk lacks it \(it has: diameter, "):
        protocol.check(shrunk, "X.domain", "lmo", "project")
    with pytest.raises(InputError, match=r"Shrunk.base must have 'center'; OracleOnly lacks it"):
        validate(Shrunk(base=OracleOnly()))


@pytest.mark.parametrize("shrink", [-0.1, 1.0, np.nan])
def test_refuses(shrink):
    with pytest.raises(InputError, match="shrink"):
        validate(Shrunk(shrink=shrink))
