"""Every fact of every link: derivatives, constants, tails, and the law of the rewards."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import pytree, validate
from jaxbandits.estimation.links import Bernoulli, Exponential, Gaussian, Link, Poisson

LINKS = {
    "gaussian": Gaussian(variance=0.3),
    "bernoulli": Bernoulli(),
    "poisson": Poisson(),
    "exponential": Exponential(margin=0.25),
}


def grid(link):
    """Points at which the link is defined, with the kink of |z| at 0."""
    return np.linspace(-9.0, -0.25, 601) if isinstance(link, Exponential) else np.r_[np.linspace(-9.0, 9.0, 600), 0.0]


N = 200_000


@jax.jit
def _draw(link, keys, z):
    return jax.jit(jax.vmap(link.sample, in_axes=(0, None)))(keys, z)


def draw(link, z, seed=0):
    """N rewards at one z; one program a link."""
    return np.asarray(_draw(link, jax.random.split(jax.random.key(seed), N), jnp.asarray(float(z))))


@jax.jit
def derivatives(link, z):
    """mu, m', mu', mu' again, mu'' over z."""
    slopes = [jax.vmap(jax.grad(f))(z) for f in (link.log_partition, link.mean, link.slope)]
    return link.mean(z), slopes[0], link.slope(z), slopes[1], slopes[2]


@pytest.fixture(params=LINKS)
def link(request):
    return LINKS[request.param]


def test_is_a_link(link):
    assert isinstance(link, Link)
    validate(link)


def test_each_function_is_the_derivative_of_the_one_before(link):
    mean, dm, slope, dmean, _ = derivatives(link, jnp.asarray(grid(link)))
    np.testing.assert_allclose(mean, dm, rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(slope, dmean, rtol=1e-12)


def test_self_concordance_holds_and_is_tight(link):
    _, _, slope, _, second = derivatives(link, jnp.asarray(grid(link)))
    ratio = np.max(np.abs(second) / slope)
    assert ratio <= link.self_concordance + 1e-12
    assert ratio >= link.self_concordance - 1e-3


@pytest.mark.parametrize(("low", "high"), [(-3.0, 3.0), (-1.0, 4.0), (-5.0, 0.5), (0.5, 2.0), (-4.0, -1.0)])
def test_slope_bounds_are_the_extremes(link, low, high):
    smallest, largest = link.slope_bounds(low, high)
    if isinstance(link, Exponential) and high > -0.25:  # not defined on all of the interval
        assert (float(smallest), float(largest)) == (0.0, np.inf)
        return
    values = np.asarray(link.slope(jnp.linspace(low, high, 100_001)))
    np.testing.assert_allclose([smallest, largest], [values.min(), values.max()], rtol=1e-9)


def test_constants_of_the_paper():
    low, high = Bernoulli().slope_bounds(-5.0, 5.0)
    np.testing.assert_allclose([1.0 / low, high], [2.0 + 2.0 * np.cosh(5.0), 0.25], rtol=1e-14)
    np.testing.assert_allclose(Poisson().slope_bounds(-3.0, 3.0), [np.exp(-3.0), np.exp(3.0)], rtol=1e-14)
    assert Gaussian(variance=0.3).dispersion == 0.3


def test_bernoulli_keeps_relative_precision_in_both_tails():
    z = np.array([-700.0, -40.0, -9.0, 0.0, 9.0, 40.0, 700.0])
    e = np.exp(-np.abs(z))
    link = Bernoulli()
    slope, mean, log_partition = jax.jit(lambda z: (link.slope(z), link.mean(z), link.log_partition(z)))(z)
    np.testing.assert_allclose(slope, e / (1.0 + e) ** 2, rtol=1e-15)
    np.testing.assert_allclose(mean[:3], e[:3] / (1.0 + e[:3]), rtol=1e-15)
    np.testing.assert_allclose(log_partition, np.logaddexp(0.0, z), rtol=1e-15)


@pytest.mark.slow_after_first
def test_reward_moments(link):
    for z in (-2.0, -0.5) if isinstance(link, Exponential) else (-2.0, 0.0, 1.5, 3.0):
        r, mean, var = draw(link, z), float(link.mean(z)), float(link.dispersion * link.slope(z))
        assert abs(r.mean() - mean) < 5.0 * np.sqrt(var / N)
        kurtosis = np.mean((r - mean) ** 4)
        assert abs(np.mean((r - mean) ** 2) - var) < 5.0 * np.sqrt(kurtosis / N)


def test_gaussian_rewards_are_normal():
    assert stats.kstest(draw(Gaussian(variance=4.0), 1.0), stats.norm(1.0, 2.0).cdf).pvalue > 1e-4


@pytest.mark.parametrize("z", [-9.0, -1e-9, 1e-9, 9.0])
def test_bernoulli_frequency(z):
    r = draw(Bernoulli(), z)
    assert set(np.unique(r)) <= {0.0, 1.0}
    p = float(Bernoulli().mean(z))
    assert abs(r.mean() - p) < 5.0 * np.sqrt(p * (1.0 - p) / N)


def test_bernoulli_is_monotone_in_z_for_a_fixed_key():
    keys = jax.random.split(jax.random.key(3), 500)
    z = jnp.linspace(-6.0, 6.0, 97)
    r = np.asarray(jax.jit(jax.vmap(lambda k: jax.vmap(lambda z: Bernoulli().sample(k, z))(z)))(keys))
    assert np.all(np.diff(r, axis=1) >= 0)


@pytest.mark.slow_cases("1.0", "10.01", "8103.0")
@pytest.mark.parametrize("mean", [0.05, 1.0, 9.99, 10.01, 30.0, 148.4, 8103.0])
def test_poisson_law(mean):
    """Chi-square against the exact masses, on both sides of the change of method (mean 10)."""
    k = draw(Poisson(), np.log(mean))
    low, high = (int(stats.poisson.ppf(q, mean)) for q in (1e-3, 1.0 - 1e-3))
    edges = np.arange(low, high + 1, max(1, (high - low) // 40)) - 0.5
    expected = N * np.diff(np.concatenate([[0.0], stats.poisson.cdf(edges, mean), [1.0]]))
    observed = np.histogram(k, np.concatenate([[-1.0], edges, [np.inf]]))[0]
    use = expected > 5.0
    chi_square = np.sum((observed - expected)[use] ** 2 / expected[use])
    assert stats.chi2.sf(chi_square, use.sum() - 1) > 1e-5
    assert np.all(k == np.floor(k))
    assert N * stats.poisson.sf(k.max() - 1, mean) > 1e-5  # no draw that should not occur in so many


@pytest.mark.slow_after_first
@pytest.mark.parametrize(("z", "expected"), [(np.nan, np.nan), (800.0, np.inf), (-800.0, 0.0)])
def test_poisson_ends_on_impossible_means(z, expected):
    np.testing.assert_array_equal(jax.jit(Poisson().sample)(jax.random.key(0), jnp.asarray(z)), expected)


@pytest.mark.slow
def test_exponential_law_and_constants():
    r = draw(Exponential(), -0.4)
    assert stats.kstest(r, stats.expon(scale=2.5).cdf).pvalue > 1e-4
    assert float(Exponential(margin=0.1).self_concordance) == 20.0  # not 0, as printed
    keys, z = jax.random.split(jax.random.key(3), 200), jnp.linspace(-6.0, -0.2, 50)
    rewards = np.asarray(jax.jit(jax.vmap(lambda k: jax.vmap(lambda z: Exponential().sample(k, z))(z)))(keys))
    assert np.all(np.diff(rewards, axis=1) > 0.0)


def test_a_link_of_your_own_needs_every_member():
    class Half:
        dispersion = self_concordance = 1.0
        log_partition = mean = slope = staticmethod(jnp.exp)

    class Whole(Half):
        def slope_bounds(self, low, high):
            return jnp.exp(low), jnp.exp(high)

        def sample(self, key, z):
            return jnp.exp(z)

    assert not isinstance(Half(), Link)
    assert isinstance(pytree(Whole)(), Link)


def test_variance_must_be_positive():
    with pytest.raises(InputError, match=r"Gaussian.variance must lie in \(0, inf\), got -1"):
        validate(Gaussian(variance=-1.0))
