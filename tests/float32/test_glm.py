"""The generalised linear family in float32 (a process without x64)."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms.glm.glb_omd import GLBOMD
from jaxbandits.base.pytree import as_arrays
from jaxbandits.estimation.links import Bernoulli, Gaussian, Poisson
from jaxbandits.numerics import inverse_factors
from jaxbandits.types import ArmDecision, Reward
from tests.reference import glb_omd as reference

KEY = jax.random.key(0)
LINKS = {"gaussian": Gaussian(variance=0.5), "bernoulli": Bernoulli(), "poisson": Poisson()}
FAMILIES = reference.FAMILIES | {"gaussian": reference.gaussian(0.5)}


@jax.jit
def replay(algorithm, xs, rs):
    def round_(state, row):
        t, x, r = row
        decision = ArmDecision(jnp.int32(0), x)
        state = algorithm.update(KEY, t, state, None, decision, Reward(r))
        after = state.theta, inverse_factors.to_dense(state.inverse), algorithm.radius(t + 1, state)
        return state, after

    return jax.lax.scan(round_, algorithm.init(KEY), (jnp.arange(len(rs), dtype=jnp.int32), xs, rs))[1]


@pytest.mark.quick_cases("gaussian-2.0-3-theory-300", "bernoulli-3.0-3-data-300")
@pytest.mark.parametrize(
    ("name", "S", "d", "radius", "rounds"),
    [
        ("gaussian", 2.0, 3, "theory", 300),
        ("bernoulli", 3.0, 2, "theory", 300),
        ("bernoulli", 9.0, 5, "theory", 300),
        ("bernoulli", 3.0, 3, "data", 300),
        ("poisson", 1.0, 5, "theory", 300),
        ("bernoulli", 3.0, 20, "theory", 300),
        ("bernoulli", 3.0, 5, "theory", 10_000),
    ],
)
def test_follows_the_float64_reference(name, S, d, radius, rounds):
    rng = np.random.default_rng(d)
    xs = rng.standard_normal((rounds, d))
    xs *= (rng.random(rounds) ** (1.0 / d) / np.linalg.norm(xs, axis=1))[:, None]
    theta = rng.standard_normal(d)
    rs = reference.rewards(name, rng, xs @ theta * (S / np.linalg.norm(theta)), g=FAMILIES[name].g)
    xs, rs = (a.astype(np.float32) for a in (xs, rs))
    algorithm = GLBOMD(dim=d, link=LINKS[name], norm_bound=S, radius_rule=radius)
    got = [np.asarray(a) for a in replay(as_arrays(algorithm), jnp.asarray(xs), jnp.asarray(rs))]
    assert all(a.dtype == np.float32 for a in got)
    learner = reference.GLBOMD(FAMILIES[name], d, S, radius=radius)
    expected = reference.force(learner, xs.astype(np.float64), rs.astype(np.float64))
    inverse = np.linalg.inv(expected["H"])
    np.testing.assert_allclose(got[0], expected["theta"], rtol=1e-4, atol=1e-4 * S)
    assert np.max(np.abs(got[1] - inverse).max((1, 2)) / np.abs(inverse).max((1, 2))) < 1e-4
    np.testing.assert_allclose(got[2], expected["beta"], rtol=1e-4)


def test_heavy_poisson_stays_finite_and_in_the_ball():
    """S = 7: curvatures from e^-7 to e^7 and condition numbers near 1e6 for 10^4 rounds."""
    rng, d, S = np.random.default_rng(0), 3, 7.0
    xs = rng.standard_normal((10_000, d))
    xs *= (rng.random(10_000) ** (1.0 / d) / np.linalg.norm(xs, axis=1))[:, None]
    theta = np.array([2.0, -3.0, 6.0])
    rs = rng.poisson(np.exp(xs @ theta)).astype(np.float32)
    thetas, inverses, _ = (
        np.asarray(a)
        for a in replay(
            as_arrays(GLBOMD(dim=d, link=Poisson(), norm_bound=S)), jnp.asarray(xs, jnp.float32), jnp.asarray(rs)
        )
    )
    assert np.all(np.linalg.norm(thetas, axis=1) <= S * (1.0 + 1e-6))
    assert np.linalg.norm(thetas[-1] - theta) < 0.05
    assert np.all(np.linalg.eigvalsh(inverses[-1].astype(np.float64)) > 0.0)


def test_links_keep_their_tails():
    z = np.array([-60.0, -20.0, -9.0, 9.0, 20.0, 60.0])
    exact = 1.0 / (2.0 + 2.0 * np.cosh(z))
    np.testing.assert_allclose(Bernoulli().slope(jnp.asarray(z, jnp.float32)), exact, rtol=5e-6)
    low = z[z < 0]
    np.testing.assert_allclose(Bernoulli().mean(jnp.asarray(low, jnp.float32)), 1.0 / (1.0 + np.exp(-low)), rtol=5e-6)


@pytest.mark.parametrize("z", [-11.0, 11.0])
def test_rare_rewards_have_their_probability(z):
    """e^-11 = 1.7e-5: a million draws see about 17, above as below zero."""
    keys = jax.random.split(jax.random.key(5), 4_000_000)
    r = np.asarray(jax.jit(jax.vmap(lambda key: Bernoulli().sample(key, jnp.float32(z))))(keys), np.float64)
    expected = 4e6 / (1.0 + np.exp(11.0))
    assert abs(min(r.sum(), (1.0 - r).sum()) - expected) < 5.0 * np.sqrt(expected)
