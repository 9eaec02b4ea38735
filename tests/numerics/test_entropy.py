"""Entropic steps against the optimality conditions, a closed form, Brent's method, and extreme scales."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp

from jaxbandits.numerics.entropy import entropic_step
from tests.reference.msmwc import entropic

step = jax.jit(entropic_step)
batched = jax.jit(jax.vmap(entropic_step))
batched_from = jax.jit(jax.vmap(lambda *args: entropic_step(*args[:3], start=args[3])))


def problems(rng, count=200, size=16, spread=15.0):
    """Weights over many orders of magnitude, losses of any size, rates that span 2^spread."""
    log_q = -rng.exponential(5.0, (count, size))
    log_q -= logsumexp(log_q, axis=1, keepdims=True)
    rate = 2.0 ** -rng.uniform(5.0, 5.0 + spread, (count, size))
    loss = rng.standard_normal((count, size)) * 10.0 ** rng.uniform(-3.0, 4.0, (count, 1))
    return log_q, loss, rate


def test_golden():
    p, _ = step(jnp.log(jnp.array([0.5, 0.25, 0.25])), jnp.array([1.0, -2.0, 4.0]), jnp.array([0.5, 0.25, 0.125]))
    np.testing.assert_allclose(np.exp(p), [0.3789385225, 0.4607445923, 0.1603168852], rtol=0.0, atol=6e-11)


def test_optimality_and_reference(rng):
    log_q, loss, rate = problems(rng)
    log_p, nu = (np.asarray(x) for x in batched(log_q, loss, rate))
    np.testing.assert_allclose(logsumexp(log_p, axis=1), 0.0, atol=1e-12)
    # Stationarity: loss + (ln p - ln q) / rate is one number, -nu.
    multiplier = loss + (log_p - log_q) / rate
    scale = 1.0 / rate.min(axis=1) + np.abs(loss).max(axis=1)
    assert (np.abs(multiplier + nu[:, None]).max(axis=1) <= 1e-11 * scale).all()
    expected = np.array([entropic(*problem) for problem in zip(log_q, loss, rate, strict=True)])
    np.testing.assert_allclose(np.exp(log_p), np.exp(expected), rtol=1e-9, atol=1e-14)


def test_minimises_the_printed_objective(rng):
    """Against a general-purpose solver on <p, l> + D_phi(p, q) itself."""
    q, loss, rate = rng.dirichlet(np.ones(4)), rng.standard_normal(4), rng.uniform(0.2, 1.0, 4)

    def objective(z):
        p = np.exp(z - logsumexp(z))
        return p @ loss + ((p * np.log(p / q) - p + q) / rate).sum()

    best = minimize(objective, np.zeros(4), tol=1e-14)
    p = np.exp(step(jnp.log(q), loss, rate)[0])
    assert objective(np.log(p)) <= best.fun + 1e-12
    np.testing.assert_allclose(p, np.exp(best.x - logsumexp(best.x)), atol=1e-5)


@pytest.mark.slow
def test_any_start_finds_the_same_root(rng):
    log_q, loss, rate = problems(rng, count=50)
    p, nu = batched(log_q, loss, rate)
    for shift in (-1.0, -1e-3, 0.0, 1e-3, 1.0, 100.0):
        size = np.abs(loss).max(axis=1)
        near = batched_from(log_q, loss, rate, np.asarray(nu) + shift * size)
        np.testing.assert_allclose(np.exp(near[0]), np.exp(p), rtol=1e-8, atol=1e-13)


def test_excluded_coordinates(rng):
    log_q, loss, rate = problems(rng, count=1, size=6)
    log_q, loss, rate = log_q[0], loss[0], rate[0]
    masked = log_q.copy()
    masked[[1, 4]] = -np.inf
    masked -= logsumexp(masked)
    inside = np.array([0, 2, 3, 5])
    p = np.exp(step(masked, loss, rate)[0])
    np.testing.assert_array_equal(p[[1, 4]], 0.0)
    np.testing.assert_allclose(p[inside], np.exp(entropic(masked[inside], loss[inside], rate[inside])), rtol=1e-10)
    huge = loss.copy()
    huge[[1, 4]] = -1e300  # what an excluded coordinate loses does not matter
    np.testing.assert_allclose(np.exp(step(masked, huge, rate)[0]), p, rtol=1e-12)


def test_equal_rates_are_hedge(rng):
    log_q, loss, _ = problems(rng, count=1)
    log_q, loss = log_q[0], loss[0]
    log_q[3] = -np.inf
    z = log_q - 0.01 * loss
    np.testing.assert_allclose(np.exp(step(log_q, loss, 0.01)[0]), np.exp(z - logsumexp(z)), rtol=1e-9, atol=1e-14)


def test_steps_add_up(rng):
    """Two steps are one on the sum of the losses: what MsMwC stores."""
    log_q, loss, rate = problems(rng, count=20)
    again = rng.standard_normal(loss.shape)
    twice = batched(batched(log_q, loss, rate)[0], again, rate)[0]
    once = batched(log_q, loss + again, rate)[0]
    np.testing.assert_allclose(np.exp(twice), np.exp(once), rtol=1e-8, atol=1e-13)


def test_gives_way_to_a_dominant_coordinate():
    """Losses of 1e8 at rates of 2^-5: exponents of 3e6 neither overflow nor become NaN."""
    log_q = jnp.log(jnp.full(4, 0.25))
    loss = jnp.array([1e8, -1e8, 0.0, 5.0])
    p = np.exp(step(log_q, loss, 2.0**-5 * jnp.ones(4))[0])
    np.testing.assert_allclose(p, [0.0, 1.0, 0.0, 0.0], atol=1e-15)


@pytest.mark.slow_after_first
@pytest.mark.parametrize("size", [2, 1, 40])
def test_sizes(size, rng):
    log_q, loss, rate = problems(rng, count=1, size=size)
    p = np.exp(step(log_q[0], loss[0], rate[0])[0])
    np.testing.assert_allclose(p, np.exp(entropic(log_q[0], loss[0], rate[0])), rtol=1e-9, atol=1e-14)
