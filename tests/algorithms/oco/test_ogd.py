"""OGD against the NumPy loop, by hand, and against its regret bound."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms.oco.ogd import OGD
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import as_arrays, param, pytree, validate
from jaxbandits.domains import points
from jaxbandits.domains.ball import L2Ball
from jaxbandits.types import Gradient
from tests.reference import ogd as reference

KEY = jax.random.key(0)


@jax.jit
def replay(algorithm, offsets, curvature):
    """The plays `[T, d]` on the losses `<offsets[t], x> + curvature ||x||^2 / 2`."""

    def round_(state, inputs):
        t, offset = inputs
        decision = algorithm.select(KEY, t, state, None)
        grad = jax.tree.map(lambda g, q: g + curvature * q, offset, decision.query)
        state = algorithm.update(KEY, t, state, None, decision, Gradient(loss=jnp.zeros(1), grad=grad))
        return state, decision.play

    steps = jnp.arange(len(offsets), dtype=jnp.int32)
    return jax.lax.scan(round_, algorithm.init(KEY), (steps, offsets))[1]


@pytest.mark.quick_cases("5-0.0", "5-0.7")
@pytest.mark.parametrize("curvature", [0.0, 0.7])
@pytest.mark.parametrize("dim", [5, 1, 2, 20])
def test_matches_the_reference(dim, curvature, rng):
    offsets = rng.standard_normal((200, dim)) + 0.3
    radius, lipschitz, scale = rng.uniform((0.3, 0.3, 1.0), (3.0, 1.0, 3.0))  # steps as long as the radius
    algorithm = as_arrays(OGD(dim=dim, domain=L2Ball(radius=radius), lipschitz=lipschitz, step_scale=scale))
    plays = replay(algorithm, jnp.asarray(offsets), curvature)
    expected = reference.run(lambda t, x: offsets[t - 1] + curvature * x, 200, dim, radius, lipschitz, step_scale=scale)
    np.testing.assert_allclose(plays, expected, rtol=0.0, atol=1e-12)
    assert (np.linalg.norm(expected, axis=1) > 0.999 * radius).any()  # the projection was needed
    assert (np.linalg.norm(expected, axis=1) < 0.9 * radius).any()


def test_by_hand():
    """d = 1, D = 2, G = 1: steps 2, 2/sqrt 2, 2/sqrt 3 on gradients 1/4, -1, 1/2 from the origin."""
    plays = replay(as_arrays(OGD(dim=1)), jnp.asarray([[0.25], [-1.0], [0.5], [0.0]]), 0.0)
    second = -0.5 + 2.0 / np.sqrt(2.0)
    np.testing.assert_allclose(plays[:, 0], [0.0, -0.5, second, second - 1.0 / np.sqrt(3.0)], rtol=1e-15)
    plays = replay(as_arrays(OGD(dim=1)), jnp.asarray([[-4.0], [4.0]]), 0.0)
    np.testing.assert_allclose(plays[:, 0], [0.0, 1.0])  # clipped to the ball


@pytest.mark.parametrize("horizon", [1, 10, 300])
def test_regret_bound_on_every_sequence(horizon, rng):
    """1.5 G D sqrt(T), path by path, also against gradients chosen after the play."""
    for kind in ("noise", "drift", "switching"):
        offsets = rng.standard_normal((300, 2))
        if kind == "drift":
            offsets = offsets * 0.1 + [1.0, 0.0]
        elif kind == "switching":
            offsets = np.where(np.arange(300) // 7 % 2, 1.0, -1.0)[:, None] * [0.6, 0.8]
        offsets /= np.maximum(1.0, np.linalg.norm(offsets, axis=1))[:, None]
        plays = np.asarray(replay(as_arrays(OGD(dim=2)), jnp.asarray(offsets), 0.0))[:horizon]
        loss = (offsets[:horizon] * plays).sum()
        regret = loss + np.linalg.norm(offsets[:horizon].sum(axis=0))
        assert regret <= 1.5 * 2.0 * np.sqrt(horizon)


@pytree
class Segment:
    """`[0, 1]` on every axis: a domain that only OGD's own calls (zero, project, diameter) know."""

    upper: Any = param(1.0)

    @property
    def diameter(self):
        return self.upper * jnp.sqrt(2.0)

    def zero(self, shape):
        return points.zeros(shape)

    def project(self, x):
        return jax.tree.map(partial(jnp.clip, min=0.0, max=self.upper), x)


def test_any_domain_with_zero_project_and_diameter():
    algorithm = as_arrays(OGD(dim=2, domain=Segment()))
    feedback = Gradient(jnp.zeros(1), jnp.array([[-0.25, 1.0]]))
    t, state = jnp.int32(0), algorithm.init(KEY)
    state = algorithm.update(KEY, t, state, None, algorithm.select(KEY, t, state, None), feedback)
    np.testing.assert_allclose(state.x, [0.25 * np.sqrt(2.0), 0.0])


def test_ranges():
    validate(OGD(dim=2))
    for wrong in ({"lipschitz": 0.0}, {"step_scale": -1.0}, {"domain": L2Ball(radius=0.0)}, {"dim": 0}):
        with pytest.raises(InputError):
            validate(OGD(**{"dim": 2, **wrong}))
