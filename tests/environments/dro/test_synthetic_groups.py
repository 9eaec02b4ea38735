"""Synthetic groups: the law of the rows, the angles and labels of the presets, rows that are not drawn."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import as_arrays, validate
from jaxbandits.environments.dro.synthetic_groups import SyntheticGroups
from jaxbandits.numerics import rng as rng_
from tests import compiled
from tests.environments.dro.groups import draw_rows, step


@pytest.mark.quick_cases("4")
@pytest.mark.parametrize("d", [1, 4, 13])
def test_law_of_the_rows(d, key):
    """Independent standard normals (mean, correlations, Kolmogorov distance) and the stated share of wrong labels."""
    environment = as_arrays(SyntheticGroups.heterogeneous(dim=d, n_groups=3))
    state = compiled.init(environment, key)
    n = 20_000
    x, y = (np.asarray(a) for a in draw_rows(environment, jax.random.split(key, n), state, jnp.array([2, 0])))
    flat = x.reshape(n, 2 * d)
    np.testing.assert_array_less(np.abs(flat.T @ flat / n - np.eye(2 * d)), 5.0 * np.sqrt(2.0 / n))
    assert min(scipy.stats.kstest(column, "norm").pvalue for column in flat.T) > 1e-5
    assert set(np.unique(y)) == {-1.0, 1.0}
    for q, i in enumerate([2, 0]):
        right = np.mean(np.sign(x[:, q] @ np.asarray(state.optima)[i]) == y[:, q])
        correct = float(state.correct[i])
        assert abs(right - correct) < 4.5 * np.sqrt(correct * (1 - correct) / n)


def test_normals_have_tails(key):
    normals, uniforms = jax.jit(lambda k: (rng_.normals(k, 100, 2001), rng_.uniforms(k, 100, 100 * 1001)))(key)
    assert scipy.stats.kstest(np.asarray(normals).ravel(), "norm").pvalue > 1e-5
    n, far = normals.size, np.mean(np.abs(normals) > 4.0)
    p = 2.0 * scipy.stats.norm.sf(4.0)
    assert abs(far - p) < 4.5 * np.sqrt(p / n)
    assert np.max(np.abs(normals)) > 4.0  # 13 are expected; 4.5 is missed by one draw in four
    assert np.all((uniforms > 0.0) & (uniforms < 1.0))


@pytest.mark.slow
def test_instances_have_the_angles_of_the_paper(key):
    environment = as_arrays(SyntheticGroups.homogeneous(dim=4000, n_groups=5))
    optima = np.asarray(compiled.init(environment, key).optima)
    np.testing.assert_allclose(np.linalg.norm(optima, axis=1), 1.0, rtol=1e-13)
    cosines = (optima @ optima.T)[np.triu_indices(5, 1)]
    np.testing.assert_allclose(cosines, 1.0 / (1.0 + 0.5**2), atol=0.08)  # 5 / sqrt(d)


def test_label_probabilities_of_the_presets(key):
    draw = jax.jit(lambda e, k: jax.vmap(e.init)(jax.random.split(k, 300)).correct)
    homogeneous = draw(as_arrays(SyntheticGroups.homogeneous(dim=2, n_groups=20)), key)
    np.testing.assert_allclose(homogeneous, 0.9, rtol=1e-15)
    correct = np.asarray(draw(as_arrays(SyntheticGroups.heterogeneous(dim=2, n_groups=20)), key))
    np.testing.assert_allclose(correct[:, 0], 0.6, rtol=1e-15)
    others = correct[:, 1:].ravel()
    assert scipy.stats.kstest((others - 0.85) / 0.1, "uniform").pvalue > 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("d", [3, 15])
def test_rows_that_are_not_drawn_read_zero(d, key):
    environment = as_arrays(SyntheticGroups.homogeneous(dim=d, n_groups=4))
    state, w, group = compiled.init(environment, key), jnp.ones(d), jnp.arange(4)
    drawn = jnp.array([True, False, True, False])
    _, every, outcome = step(environment, key, state, w, group, None)
    _, some, masked = step(environment, key, state, w, group, drawn)
    np.testing.assert_array_equal(some.loss, np.where(drawn, every.loss, 0.0))
    np.testing.assert_array_equal(some.grad, np.where(drawn[:, None], every.grad, 0.0))
    np.testing.assert_allclose((outcome.samples, outcome.loss), (4.0, np.mean(every.loss)), rtol=1e-14)
    np.testing.assert_allclose((masked.samples, masked.loss), (2.0, np.mean(every.loss[::2])), rtol=1e-14)
    _, _, none = step(environment, key, state, w, group, jnp.zeros(4, bool))
    assert (none.samples, none.loss) == (0.0, 0.0)


@pytest.mark.slow_after_first
@pytest.mark.parametrize("d", [3, 15])
def test_indices_known_at_trace_time_give_the_same_rows(d, key):
    """`SMD.select` lists every group as a NumPy array, which spares the gather."""
    environment = as_arrays(SyntheticGroups.heterogeneous(dim=d, n_groups=4))
    state, keys = compiled.init(environment, key), jax.random.split(key, 50)
    traced = draw_rows(environment, keys, state, jnp.arange(4))
    known = jax.jit(jax.vmap(lambda k: environment.sample(k, state, np.arange(4))))(keys)
    np.testing.assert_array_equal(known[0], traced[0])
    np.testing.assert_array_equal(known[1], traced[1])
    backwards = draw_rows(environment, keys, state, jnp.arange(4)[::-1])[1]
    listed = jax.jit(jax.vmap(lambda k: environment.sample(k, state, np.arange(4)[::-1])))(keys)[1]
    np.testing.assert_array_equal(listed, backwards)


def test_without_a_recommendation_nothing_is_evaluated(key):
    environment = as_arrays(SyntheticGroups.homogeneous(dim=3, n_groups=4))
    assert set(environment.at_record(compiled.init(environment, key), None)) == {"instance"}


def test_label_probabilities_in_order():
    with pytest.raises(InputError, match="low_correct"):
        validate(SyntheticGroups(dim=3, n_groups=4, low_correct=0.9, high_correct=0.8))


def test_objectives_must_fit_the_groups():
    with pytest.raises(InputError, match="top_k must be at most 4, the number of groups"):
        validate(SyntheticGroups(dim=3, n_groups=4, top_k=5))
    with pytest.raises(InputError, match=r"weights must have shape \[4\]"):
        validate(SyntheticGroups(dim=3, n_groups=4, weights=np.ones(3)))
