"""Random draws: uniforms of given words, the laws against scipy at levels down to 1e-7 and below, subsets."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats as st

from jaxbandits.numerics import rng as draws
from jaxbandits.numerics.rng import continuous, unit_interval

LAWS = {
    "student_1.1": (lambda key: draws.student_t(key, 1.1), st.t(1.1)),
    "student_2.1": (lambda key: draws.student_t(key, 2.1), st.t(2.1)),
    "student_30": (lambda key: draws.student_t(key, 30.0), st.t(30)),
    "normal": (draws.normal, st.norm()),
    "pareto": (lambda key: draws.pareto(key, 1.5), st.pareto(1.5)),
    "lomax": (lambda key: draws.lomax(key, 1.5), st.lomax(1.5)),
    "fisk": (lambda key: draws.fisk(key, 1.5), st.fisk(1.5)),
}
LEVELS = np.array([1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.05, 0.2, 0.4, 0.5])
WIDTH, STEPS = 2**13, 2**11  # 16.8 M draws


@pytest.fixture
def words(monkeypatch):
    """Draws from given words: the 'key' is the pair."""
    monkeypatch.setattr(unit_interval, "random_words", lambda key, counter=0: key)
    return lambda *pair: tuple(jnp.asarray(w, jnp.uint32) for w in pair)


def test_uniforms_made_of_extreme_words(words):
    top = 2**32 - 1
    tail, angle = draws.tail_and_angle(words(0, 0))
    assert float(tail) == 2.0**-41 and float(angle) == 2.0**-25
    tail, angle = draws.tail_and_angle(words(top, top))
    assert 0 < 1 - float(tail) < 2.0**-40 and 0 < 1 - float(angle) < 2.0**-24
    tail, _ = draws.tail_and_angle(words(3, 128))
    assert float(tail) == (3 + 128.5 / 256) / 2**32
    assert float(draws.uniform(words(0, 0))) == 2.0**-63
    assert float(draws.uniform(words(top, top))) == 1 - 2.0**-53
    assert bool(draws.bernoulli(words(0, 0), 2.0**-62)) and not bool(draws.bernoulli(words(0, 0), 0.0))
    assert bool(draws.bernoulli(words(top, top), 1.0))


def test_many_uniforms(key):
    """Two from a block, and those between other bounds."""
    several = np.asarray(jax.jit(jax.vmap(lambda k: draws.uniforms(k, 5)))(jax.random.split(key, 2**15)))
    assert several.shape == (2**15, 5)
    assert all(st.kstest(column, "uniform").pvalue > 1e-5 for column in several.T)
    assert np.abs(np.corrcoef(several.T) - np.eye(5)).max() < 5 / 2**7.5
    table = jax.jit(lambda k: draws.uniform_between(k, (3, 5), -1.0, 2.0))(key)
    np.testing.assert_allclose(table, 3.0 * draws.uniforms(key, 15).reshape(3, 5) - 1.0, rtol=1e-15, atol=1e-15)


@pytest.fixture
def uniforms(monkeypatch):
    """Draws from given uniforms: the 'key' is (tail, angle)."""
    monkeypatch.setattr(continuous, "tail_and_angle", lambda key, counter=0: key)


@pytest.mark.parametrize("law", ["pareto", "lomax", "fisk"])
def test_inverse_distribution_functions(uniforms, law):
    """Exact to rounding from the body to probability 1e-12."""
    sample, exact = LAWS[law]
    tail = jnp.asarray(np.append(10.0 ** -np.arange(1, 13), [0.5, 0.9, 0.999]))
    if law == "fisk":  # the sign is drawn apart: half the tail on each side
        upper, lower = sample((tail, jnp.asarray(0.75))), sample((tail, jnp.asarray(0.25)))
        np.testing.assert_allclose(upper, exact.isf(tail / 2), rtol=1e-12)
        np.testing.assert_allclose(lower, exact.ppf(tail / 2), rtol=1e-12)
    else:
        np.testing.assert_allclose(sample((tail, jnp.asarray(0.3))), exact.isf(tail), rtol=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize("law", ["student_1.1", "student_2.1", "student_30", "normal"])
def test_polar_laws_have_their_distribution(uniforms, law):
    """P(X > x) = mean over angles of the tail probability at which the draw passes x, found by bisection."""
    sample, exact = LAWS[law]
    angle = jnp.asarray((np.arange(40_000) + 0.5) / 40_000)
    for level in (1e-12, 1e-10, 1e-7, 1e-4, 0.01, 0.2, 0.4):
        x = exact.isf(level)
        low, high = jnp.full(angle.shape, -700.0), jnp.zeros(angle.shape)  # of log tail; the draw falls as it rises
        for _ in range(60):
            middle = 0.5 * (low + high)
            above = sample((jnp.exp(middle), angle)) > x
            low, high = jnp.where(above, middle, low), jnp.where(above, high, middle)
        found = jnp.mean(jnp.where(angle > 0.5, jnp.exp(0.5 * (low + high)), 0.0))
        np.testing.assert_allclose(found, level, rtol=2e-6, err_msg=str(level))
        np.testing.assert_allclose(
            sample((jnp.asarray(0.3), 1 - angle)), -sample((jnp.asarray(0.3), angle)), rtol=1e-9, atol=1e-12
        )


def count_exceedances(sample, thresholds, key):
    """How many of WIDTH * STEPS draws pass each threshold."""

    def step(i, counts):
        x = jax.vmap(sample)(jax.vmap(jax.random.fold_in, (0, None))(keys, i))
        return counts + jnp.sum(x[:, None] > thresholds, axis=0)

    keys = jax.random.split(key, WIDTH)
    return jax.lax.fori_loop(0, STEPS, step, jnp.zeros(thresholds.shape, int))


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
def test_frequencies_at_both_tails(law, key):
    """Real draws from real keys: exceedances at levels 1e-7 ... 1/2 on both sides."""
    sample, exact = LAWS[law]
    thresholds = np.concatenate([exact.isf(LEVELS), exact.ppf(LEVELS)])
    prob = np.concatenate([LEVELS, 1 - LEVELS])
    total = WIDTH * STEPS
    counts = np.asarray(jax.jit(count_exceedances, static_argnums=0)(sample, jnp.asarray(thresholds), key))
    tail = st.binom.cdf(counts, total, prob), st.binom.sf(counts - 1, total, prob)
    assert np.minimum(*tail).min() > 1e-7, dict(zip(prob, counts / total / prob, strict=True))


@pytest.mark.slow
def test_tail_index_by_hill(key):
    """Hill's estimate from the 2000 largest of 4 M draws: alpha (1 +- 1/sqrt(2000))."""
    for shape in (1.3, 2.5):
        x = np.sort(jax.jit(jax.vmap(lambda k, shape=shape: draws.pareto(k, shape)))(jax.random.split(key, 2**22)))[
            ::-1
        ]
        hill = 1 / np.mean(np.log(x[:2000] / x[2000]))
        assert abs(hill / shape - 1) < 5 / np.sqrt(2000)


def test_means_and_variances(key):
    keys = jax.random.split(key, 2**20)
    for name, mean, std in (("normal", 0.0, 1.0), ("student_30", 0.0, np.sqrt(30 / 28))):
        x = np.asarray(jax.jit(jax.vmap(LAWS[name][0]))(keys))
        assert abs(x.mean() - mean) < 5 * std / 2**10
        assert abs(x.std() / std - 1) < 0.01


def test_counters_are_independent(key):
    """Draws of one key at two counters, and the tail and angle of one draw, are uncorrelated in rank."""
    keys = jax.random.split(key, 2**18)
    pairs = jax.jit(
        jax.vmap(lambda k: jnp.stack([draws.uniform(k), draws.uniform(k, 1), *draws.tail_and_angle(k, 2)]))
    )(keys)
    correlation = np.corrcoef(np.asarray(pairs).T)
    assert np.abs(correlation - np.eye(4)).max() < 5 / 2**9


@pytest.mark.slow
@pytest.mark.parametrize("dim", [1, 2, 3, 4])
def test_unit_vectors(dim, key):
    """One by one and many from one key: unit length, coordinates of the right law, vectors of one key independent."""
    keys, count = jax.random.split(key, 2**14), 3
    single, many = jax.jit(jax.vmap(lambda k: (draws.unit_vector(k, dim), draws.unit_vectors(k, count, dim))))(keys)
    single, many = np.asarray(single), np.asarray(many)
    assert single.shape == (2**14, dim) and many.shape == (2**14, count, dim)
    beta = st.beta((dim - 1) / 2, (dim - 1) / 2) if dim > 1 else None  # of (1 + a coordinate) / 2
    for x in (single, *np.moveaxis(many, 1, 0)):
        np.testing.assert_allclose(np.linalg.norm(x, axis=1), 1.0, rtol=1e-13)
        for i in range(dim):
            assert abs(x[:, i].mean()) < 5 / np.sqrt(dim * 2**14)
            assert beta is None or st.kstest((1 + x[:, i]) / 2, beta.cdf).pvalue > 1e-6
    for i in range(count):
        for j in range(i):
            assert abs(np.sum(many[:, i] * many[:, j], axis=1).mean()) < 5 / np.sqrt(dim * 2**14)
    normal = jax.jit(jax.vmap(lambda k: draws.normal_vector(k, dim)))(keys[:9])
    np.testing.assert_array_equal(normal, jax.jit(jax.vmap(lambda k: draws.normals(k, 1, dim)[0]))(keys[:9]))
    one_by_one = np.asarray(jax.jit(lambda ks: jnp.stack([draws.unit_vectors(k, count, dim) for k in ks]))(keys[:3]))
    np.testing.assert_allclose(one_by_one, many[:3], rtol=1e-13, atol=1e-15)
    np.testing.assert_array_equal(jax.vmap(lambda k: draws.unit_vectors(k, 1, dim)[0])(keys[:9]).shape, (9, dim))


@pytest.mark.quick_cases("6-2", "4-1")
@pytest.mark.parametrize(("n", "size"), [(6, 2), (9, 8), (5, 5), (4, 1)])
def test_subsets_are_uniform(n, size, key):
    """Exact size; every pair of elements is chosen together as often as any other."""
    trials = 2**17
    chosen = jax.jit(jax.vmap(lambda k: jnp.stack(draws.subset(k, n, size))))(jax.random.split(key, trials))
    chosen = np.asarray(chosen)
    assert (chosen.sum(axis=1) == size).all()
    together = chosen.T.astype(float) @ chosen / trials
    single, pair = size / n, size * (size - 1) / (n * (n - 1))
    want = np.where(np.eye(n, dtype=bool), single, pair)
    assert (np.abs(together - want) <= 5 * np.sqrt(want * (1 - want) / trials) + 1e-9).all()


@pytest.mark.parametrize(("dtype", "log_mean"), [("float32", 88.0), ("float64", 709.0)])
def test_a_poisson_mean_near_the_largest_float_ends_the_loop(dtype, log_mean, key):
    log_mean = jnp.asarray(log_mean, dtype)
    np.testing.assert_array_equal(draws.poisson(key, log_mean), jnp.exp(log_mean))  # the spread is below one rounding
