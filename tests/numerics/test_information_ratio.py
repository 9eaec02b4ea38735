"""The minimiser of the information ratio against random and exhaustive search."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.numerics.information_ratio import minimize_information_ratio

minimize = jax.jit(jax.vmap(minimize_information_ratio))


def ratio(p, delta, gain):
    return (p @ delta) ** 2 / (p @ gain)


@pytest.mark.parametrize("n_arms", [2, 3, 8])
def test_no_other_distribution_has_a_smaller_ratio(n_arms, rng):
    delta, gain = rng.exponential(size=(50, n_arms)), rng.exponential(size=(50, n_arms)) ** 3
    found = np.asarray(minimize(delta, gain, np.ones((50, n_arms), bool)))
    np.testing.assert_allclose(found.sum(1), 1.0, rtol=1e-12)
    assert (found >= 0.0).all() and ((found > 0.0).sum(1) <= 2).all() and (found > 0.0).sum() > 50
    q = np.linspace(0.0, 1.0, 201)[:, None]
    for p, d, g in zip(found, delta, gain, strict=True):
        least = ratio(p, d, g) * (1.0 - 1e-12)
        for other in rng.dirichlet(np.full(n_arms, 0.3), size=200):
            assert ratio(other, d, g) >= least
        for i in range(n_arms):
            for j in range(n_arms):
                assert (ratio(q * np.eye(n_arms)[i] + (1 - q) * np.eye(n_arms)[j], d, g) >= least).all()


def test_masked_arms_have_probability_0(rng):
    delta, gain = rng.exponential(size=(40, 5)), rng.exponential(size=(40, 5))
    mask = rng.uniform(size=(40, 5)) < 0.6
    mask[:, 2] = True
    found = np.asarray(minimize(delta, gain, mask))
    assert (found[~mask] == 0.0).all()
    for p, d, g, m in zip(found, delta, gain, mask, strict=True):
        others = rng.dirichlet(np.full(m.sum(), 0.3), size=500)
        assert min(ratio(other, d[m], g[m]) for other in others) >= ratio(p[m], d[m], g[m]) * (1.0 - 1e-12)


@pytest.mark.parametrize(
    ("delta", "gain", "arm"),
    [
        ([0.3, 0.1, 0.2], [0.0, 0.0, 0.0], 1),  # nothing to learn: the least regret
        ([0.3, 0.0, 0.2], [0.5, 0.1, 0.9], 1),  # an arm without regret
        ([0.1, 0.1, 0.1], [0.2, 0.9, 0.3], 1),  # equal regret: the most information
        ([0.3, 0.1, 0.2], [0.4, 0.4, 0.4], 1),  # equal information: the least regret
    ],
)  # fmt: skip
def test_cases_with_a_single_arm(delta, gain, arm):
    p = minimize_information_ratio(jnp.array(delta), jnp.array(gain), jnp.ones(3, bool))
    np.testing.assert_array_equal(p, np.eye(3)[arm])


def test_rounding_does_not_choose_between_arms_that_are_alike(rng):
    """Of arms with equal posteriors the first ones are played, whatever the last bits of delta and gain."""
    delta, gain = np.array([0.3, 0.3, 0.1, 0.1, 0.1]), np.array([0.5, 0.5, 0.02, 0.02, 0.02])
    rounded = 1.0 + 4e-16 * rng.integers(-4, 5, size=(2, 200, 5))
    found = np.asarray(minimize(delta * rounded[0], gain * rounded[1], np.ones((200, 5), bool)))
    (exact,) = np.asarray(minimize(delta[None], gain[None], np.ones((1, 5), bool)))
    assert exact[0] > 0.0 and exact[2] > 0.0 and exact[0] + exact[2] == pytest.approx(1.0)
    np.testing.assert_allclose(found, np.broadcast_to(exact, (200, 5)), rtol=1e-12)
