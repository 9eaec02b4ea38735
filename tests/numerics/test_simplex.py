"""Entropic steps: known values, a bisection oracle, ties, both forms of the projection (a sort and a search)."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.numerics import simplex
from jaxbandits.tracing import target
from jaxbandits.tracing.vmap_last import vmap_last
from tests.reference import dro_public, dro_weights

CPU, BLOCKS = target.Target("cpu", open_loops=True), target.Target("cuda", open_loops=False)


@functools.partial(jax.jit, static_argnums=1)
@functools.partial(jax.vmap, in_axes=(0, None))
def project(log_p, k):
    """`[N, m]` logarithms to weights, through whichever form m and k ask for."""
    return jnp.exp(simplex.kl_projection(log_p, k))


@functools.partial(jax.jit, static_argnums=1)
@functools.partial(jax.vmap, in_axes=(0, None))
def project_by_sorting(log_p, k):
    """As on accelerators, where every m and k take the form that sorts."""
    with target.trace_for(BLOCKS):
        return jnp.exp(simplex.kl_projection(log_p, k))


def oracle(log_p, k):
    """`min(c p, 1/k)` with c by bisection on a logarithmic scale."""
    a = log_p - np.max(log_p)
    low, high = -np.log(len(a)) - np.log(k) - 1.0, -np.min(a) + 1.0
    for _ in range(200):
        middle = (low + high) / 2.0
        total = np.sum(np.minimum(np.exp(np.minimum(a + middle, 0.0)), 1.0 / k))
        low, high = (low, middle) if total > 1.0 else (middle, high)
    return np.minimum(np.exp(np.minimum(a + high, 0.0)), 1.0 / k)


@pytest.mark.quick_cases("1-expected0", "3-expected2")
@pytest.mark.parametrize(
    ("k", "expected"),
    [
        (1, [0.5, 0.3, 0.1, 0.06, 0.04]),
        (2, [0.5, 0.3, 0.1, 0.06, 0.04]),
        (3, [1 / 3, 1 / 3, 1 / 6, 0.1, 1 / 15]),
        (4, [0.25, 0.25, 0.25, 0.15, 0.1]),
        (5, [0.2] * 5),
    ],
)
def test_known_projections(k, expected):
    log_p = np.log([[0.5, 0.3, 0.1, 0.06, 0.04]])
    np.testing.assert_allclose(project(log_p, k)[0], expected, rtol=1e-14)
    np.testing.assert_allclose(project_by_sorting(log_p, k)[0], expected, rtol=1e-14)


@pytest.mark.quick_cases("2-1", "5-2")
@pytest.mark.parametrize(("m", "k"), [(2, 1), (5, 2), (5, 4), (5, 5), (12, 3), (20, 1), (20, 3), (30, 7), (64, 40)])
def test_projection_equals_bisection_over_all_scales(m, k, rng):
    scales = 10.0 ** rng.uniform(-2, 2, (100, 1))
    log_p = rng.normal(size=(100, m)) * scales + rng.normal(size=(100, 1))
    log_p[::4, : m // 2] = log_p[::4, :1]  # ties, at the cap where they are the largest
    log_p[::8, : m // 2] += 300.0  # nearly all mass in the tied entries
    q = np.asarray(project(log_p, k))
    np.testing.assert_allclose(q, [oracle(a, k) for a in log_p], rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(q.sum(1), 1.0, rtol=1e-13)
    np.testing.assert_allclose(q, project_by_sorting(log_p, k), rtol=1e-13)
    assert np.all(q <= 1.0 / k * (1 + 1e-15))


@pytest.mark.slow_after_first
@pytest.mark.parametrize("kind", [CPU, BLOCKS], ids=["cpu", "cuda"])
@pytest.mark.parametrize(("m", "k"), [(5, 4), (20, 3), (30, 29)])
def test_projection_of_entries_that_rounding_alone_tells_apart(m, k, kind, rng):
    """They meet the cap at the last digit, one after the other or more of them than there is room for."""
    log_p = 1e-15 * rng.normal(size=(300, m))
    log_p[::3, k:] -= 800.0  # k entries at the cap, nothing left for the others
    log_p[1::3, k - 1 :] -= 36.0
    with target.trace_for(kind):
        q = np.exp(jax.jit(jax.vmap(lambda a: simplex.kl_projection(a, k)))(log_p))
    np.testing.assert_allclose(q, [oracle(a, k) for a in log_p], rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(q.sum(1), 1.0, rtol=1e-13)


@pytest.mark.parametrize(("m", "k"), [(5, 2), (20, 3)])
def test_projection_of_nan_ends(m, k):
    """With a state that counts as failed; entries of -inf have no weight."""
    log_p = np.zeros((3, m))
    log_p[0, 0], log_p[1], log_p[2, k + 1 :] = np.nan, np.nan, -np.inf
    q = np.asarray(project(log_p, k))
    assert np.isnan(q[:2]).all(axis=1).all()
    np.testing.assert_allclose(q[2], np.where(np.arange(m) <= k, 1.0 / (k + 1), 0.0), rtol=1e-14)


@pytest.mark.slow_after_first
@pytest.mark.parametrize("kind", [CPU, BLOCKS], ids=["cpu", "cuda"])
def test_compiled_size_is_linear_in_the_cap(kind):
    """Left alone, XLA computes a chain of k terms from its start in every kernel that reads one of them."""

    def instructions(m, k):
        with target.trace_for(kind):
            lowered = jax.jit(vmap_last(lambda a: simplex.kl_projection(a, k))).lower(jnp.zeros((m, 8)))
        return str(lowered.compile({"xla_backend_optimization_level": 0}).as_text()).count(" = ")

    small, middle, large = (instructions(64, k) for k in (8, 24, 40))
    assert large - middle <= 1.25 * (middle - small) + 10
    written_out, other = instructions(20, 3), instructions(21, 3)  # on both sides of where a sort is written out
    assert max(written_out, other) <= 2000


@pytest.mark.slow_after_first
@pytest.mark.parametrize(("m", "k"), [(5, 2), (20, 3)])
def test_projection_is_idempotent_keeps_order_and_ignores_constants(m, k, rng):
    log_p = 3.0 * rng.normal(size=(50, m))
    q = np.asarray(project(log_p, k))
    np.testing.assert_allclose(project(np.log(q), k), q, rtol=1e-13)
    np.testing.assert_allclose(project(log_p + 123.0, k), q, rtol=1e-11)
    ordered = np.take_along_axis(q, np.argsort(log_p, axis=1), axis=1)
    assert np.all(np.diff(ordered, axis=1) >= 0.0)


@pytest.mark.parametrize("m", [1, 2, 5, 20])
def test_cap_of_one_over_m_is_uniform_for_extreme_inputs(m):
    """Entries whose differences overflow: there is one point to project on."""
    for scale in (1e30, 1e307, np.inf):
        log_p = np.where(np.arange(m) % 2, scale, -scale)
        np.testing.assert_allclose(np.exp(simplex.kl_projection(jnp.asarray(log_p), m)), 1.0 / m, rtol=1e-15)


def test_cap_of_one_over_m_is_uniform_and_cap_of_one_is_normalisation(rng):
    log_p = 10.0 * rng.normal(size=(50, 5))
    np.testing.assert_allclose(project(log_p, 5), 0.2, rtol=1e-13)
    np.testing.assert_allclose(project(log_p, 1), jax.nn.softmax(log_p, axis=1), rtol=1e-13)


@pytest.mark.quick_cases("3-5")
@pytest.mark.parametrize("m", [5, 20])
@pytest.mark.parametrize("k", [1, 3])
def test_mirror_step_maximises_gain_less_divergence(m, k, rng):
    q = np.asarray(project(rng.normal(size=(1, m)), k))[0]
    gain, step = rng.normal(size=m), 0.7
    log_q, gain_ = jnp.log(q), jnp.asarray(gain)
    best = np.asarray(jnp.exp(simplex.mirror_step(log_q, gain_, step, k)))

    def objective(p):
        return step * p @ gain - np.sum(np.where(p > 0, p * np.log(np.maximum(p, 1e-300) / q), 0.0), axis=-1)

    others = np.asarray(project(np.log(best) + 0.1 * rng.normal(size=(500, m)), k))  # feasible neighbours
    assert np.all(objective(best) >= objective(others))
    assert np.max(objective(best) - objective(others)) > 1e-4
    np.testing.assert_allclose(best, oracle(np.log(q) + step * gain, k), rtol=1e-12)


@pytest.mark.parametrize("m", [1, 12, 13])
def test_indicator_takes_and_places_one_entry(m):
    unit = jax.jit(lambda index: simplex.indicator(index, m))
    np.testing.assert_array_equal([unit(i) for i in range(m)], np.eye(m))


@pytest.mark.quick_cases("3-4", "3-20")
@pytest.mark.parametrize("m", [4, 20])
@pytest.mark.parametrize("d", [3, 30])
def test_combine_is_a_matrix_product(m, d, rng):
    q, rows = rng.dirichlet(np.ones(m)), rng.normal(size=(m, d))
    combined = simplex.combine(jnp.asarray(q), jnp.asarray(rows))
    np.testing.assert_allclose(combined, q @ rows, rtol=1e-12, atol=1e-14)


def test_log_uniform_starts_every_form():
    for m in (1, 5, 20):
        np.testing.assert_allclose(jnp.exp(simplex.log_uniform(m)), 1.0 / m, rtol=1e-15)


@pytest.mark.slow
def test_where_the_printed_algorithm_8_fails(rng):
    """Its two-sided test finds no split at ties, and then its "weights" sum to m/k; lost digits cost it mass, too."""
    m, ties, lost = 6, 0, 0
    for k in (2, 3, 4, 5):
        p = rng.choice([1.0, 2.0, 3.0, 4.0], (600, m)) * rng.uniform(0.5, 2.0, (600, 1))
        p[500:] *= 10.0 ** rng.integers(-18, 3, (100, m))
        safe = np.asarray(project(np.log(p), k))
        np.testing.assert_allclose(safe.sum(1), 1.0, rtol=1e-13)
        with np.errstate(divide="ignore"):  # lost digits leave nothing to share
            printed = np.array([dro_weights.algorithm_8(row, k) for row in p])
        wrong = np.abs(printed.sum(1) - 1.0) > 1e-9
        np.testing.assert_allclose(printed[:500][wrong[:500]].sum(1), m / k, rtol=1e-13)
        np.testing.assert_allclose(printed[:500][~wrong[:500]], safe[:500][~wrong[:500]], rtol=1e-9)
        ties, lost = ties + np.sum(wrong[:500]), lost + np.sum(wrong[500:])
    assert ties >= 5 and lost >= 50, (ties, lost)


def test_public_group_dro_code_moves_q_like_hedge_on_batch_means(rng):
    """`loss.py` of kohpangwei/group_DRO by its formula: over all groups, those without rows included, with a mean of 0.

    It does not renormalise over the groups present: that is what some forks do to the weights of a batch.
    """
    step = jax.jit(lambda q, means, rate: jnp.exp(simplex.mirror_step(jnp.log(q), means, rate)))
    apart = []
    for _ in range(20):
        q, group, rate = rng.dirichlet(np.ones(5)), rng.integers(0, 5, 4), rng.uniform(0.01, 2.0)
        losses = rng.exponential(size=4)
        means, counts = dro_public.group_means(losses, group, 5)
        assert np.any(counts == 0)
        ours, theirs = step(q, means, rate), dro_public.update(q, losses, group, rate)
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)
        apart.append(np.max(np.abs(ours - dro_public.weighing_present(np.asarray(theirs), group))))
    assert max(apart) > 0.01


@pytest.mark.quick_cases("5")
@pytest.mark.parametrize("m", [2, 5, 60])
def test_tsallis_step(m, rng):
    """The NumPy bisection, and the definition: 1 / sqrt(q') - 1 / sqrt(q) - step is the same for every entry."""
    q = rng.dirichlet(np.full(m, 0.5), 200) + 1e-12
    q = q / q.sum(1, keepdims=True)
    loss, step = rng.normal(size=(200, m)), 10.0 ** rng.uniform(-3, 2, 200)
    loss[::2, 1:] = 0.0  # a bandit's, of any size: 1 / q where q is small
    loss[::4, 0] *= 1e6
    after = np.exp(jax.jit(jax.vmap(simplex.tsallis_step))(np.log(q), loss, step))
    np.testing.assert_allclose(after.sum(1), 1.0, rtol=1e-13)
    beta = 1.0 / np.sqrt(q) + step[:, None] * loss
    gap = 1.0 / np.sqrt(after) - beta
    size = np.max(1.0 + np.abs(beta) + np.abs(gap), axis=1)  # of what is added and taken away
    assert np.all(np.max(np.abs(gap - gap[:, :1]), axis=1) < 1e-12 * size)
    moderate = np.max(np.abs(beta), axis=1) < 1e4  # where 60 halvings of an absolute bracket are enough
    expected = np.array([dro_weights.tsallis(*row) for row in zip(q, step[:, None] * loss, strict=True)])
    np.testing.assert_allclose(after[moderate], expected[moderate], rtol=1e-7, atol=1e-12)
    assert np.sum(moderate) > 50


@pytest.mark.quick_cases("counts1")
@pytest.mark.parametrize("counts", [(1, 1), (3, 1, 2), (60, 2)])
def test_blocks(counts, rng):
    q, values = rng.normal(size=len(counts)), rng.normal(size=sum(counts))
    np.testing.assert_array_equal(simplex.repeat(jnp.asarray(q), counts), np.repeat(q, counts))
    sums = [part.sum() for part in np.split(values, np.cumsum(counts)[:-1])]
    np.testing.assert_allclose(simplex.block_sums(jnp.asarray(values), counts), sums, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(simplex.mean(jnp.asarray(values)[:, None]), [values.mean()], rtol=1e-12, atol=1e-14)
