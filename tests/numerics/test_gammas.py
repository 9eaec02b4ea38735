"""Gamma and beta variates against scipy: distribution functions, moments, far shapes, one loop for all trials."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats as st

from jaxbandits.numerics import rng as draws
from jaxbandits.tracing.vmap_last import vmap_last

DRAWS = 30_000
SHAPES = np.array([0.05, 0.5, 0.99, 1.0, 1.5, 7.0, 300.0, 1e5])
PARAMETERS = np.array(
    [(1, 1), (1, 20), (3, 1), (0.5, 0.5), (0.2, 4), (40, 60), (1, 3000), (5000, 3), (0.9, 1.1)], float
)


@pytest.mark.slow
def test_gammas(key):
    for shapes in (SHAPES, SHAPES[:5]):  # an even and an odd number
        drawn = jax.jit(jax.vmap(lambda k: draws.gammas(k, jnp.asarray(shapes))))(jax.random.split(key, DRAWS))  # noqa: B023
        for i, a in enumerate(shapes):
            assert st.kstest(drawn[:, i], st.gamma(a).cdf).pvalue > 1e-4, a


def test_betas(key):
    a, b = jnp.asarray(PARAMETERS.T)
    drawn = np.asarray(jax.jit(jax.vmap(lambda k: draws.betas(k, a, b)))(jax.random.split(key, DRAWS)))
    for i, pair in enumerate(PARAMETERS):
        law = st.beta(*pair)
        assert st.kstest(drawn[:, i], law.cdf).pvalue > 1e-4, pair
        assert abs(drawn[:, i].mean() - law.mean()) < 5.0 * law.std() / np.sqrt(DRAWS), pair
        spread = np.sqrt((law.stats("k") + 2.0) / DRAWS) * law.var()
        assert abs(drawn[:, i].var() - law.var()) < 6.0 * spread, pair
    between = np.corrcoef(drawn[:, 5], drawn[:, 0])[0, 1]
    assert abs(between) < 5.0 / np.sqrt(DRAWS)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_betas_with_tiny_parameters_are_coins(dtype, key):
    """Both gamma variates of a pair underflow; the limit law is Bernoulli(a / (a + b)), with a few values between."""
    parameters = np.array([(1e-3, 1e-3), (1e-4, 3e-4), (1e-30, 1e-30), (1e-2, 1e-2), (1e-3, 1.0)])
    a, b = jnp.asarray(parameters.T, dtype)
    drawn = np.asarray(jax.jit(jax.vmap(lambda k: draws.betas(k, a, b)))(jax.random.split(key, DRAWS)))
    assert drawn.dtype == dtype and (drawn >= 0.0).all() and (drawn <= 1.0).all()
    for i, pair in enumerate(parameters):
        law = st.beta(*pair)
        assert abs(drawn[:, i].mean() - pair[0] / pair.sum()) < 5.0 * law.std() / np.sqrt(DRAWS), pair
        middle = law.cdf(0.9) - law.cdf(0.1)
        found = ((drawn[:, i] > 0.1) & (drawn[:, i] < 0.9)).sum()
        assert st.binomtest(int(found), DRAWS, max(middle, 0.0)).pvalue > 1e-4, pair


@pytest.mark.parametrize("shape", [np.nan, np.inf, -1.0])
def test_a_shape_that_is_no_positive_number_ends_the_loop(shape, key):
    """Otherwise a single NaN reward of a Bayesian learner would stop all trials for ever."""
    drawn = np.asarray(draws.gammas(key, jnp.asarray([2.0, shape])))
    assert 0.0 < drawn[0] < np.inf and not np.isfinite(drawn[1])
    assert np.isnan(draws.betas(key, jnp.asarray([shape]), jnp.ones(1))).all()


def test_trials_side_by_side_draw_what_each_draws_alone(key):
    keys, a = jax.random.split(key, 6), jnp.linspace(0.4, 9.0, 18).reshape(3, 6)
    alone = jax.jit(draws.betas)
    together = jax.jit(vmap_last(draws.betas, (-1, -1, -1)))(keys, a, a[::-1])
    np.testing.assert_allclose(together, np.stack([alone(k, *b) for k, b in zip(keys, pairs(a), strict=True)], axis=1))


def pairs(a):
    """Both parameters of every trial."""
    return zip(a.T, a[::-1].T, strict=True)
