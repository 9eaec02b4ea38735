"""Noise in cells: its law, the two measures against the closed forms and against gradients drawn beside them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms.oco.ogd import OGD
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import as_arrays, validate
from jaxbandits.environments.oco.cell_noise import CellNoise
from jaxbandits.simulation import simulate
from jaxbandits.testing import contract
from jaxbandits.types import PointDecision
from tests.reference import noise_measures

DRAWS = 20_000


@jax.jit
def outcomes(environment, key):
    """`[DRAWS]` outcomes, and the last feedback."""
    decision = PointDecision.at(jnp.array([0.5]))

    def one(key):
        _, feedback, outcome = environment.step(key, jnp.int32(0), environment.init(key), None, decision)
        return outcome, feedback

    return jax.vmap(one)(jax.random.split(key, DRAWS))


@pytest.mark.slow_after_first
@pytest.mark.parametrize("n_cells", [8, 1, 2, 64])
def test_law(n_cells, key):
    """Indicators of one cell and of any cell: means within five standard errors of the closed forms."""
    outcome, feedback = outcomes(CellNoise(n_cells=n_cells), key)
    pointwise, uniform = np.asarray(outcome.pointwise), np.asarray(outcome.uniform)
    assert set(np.unique(pointwise)) | set(np.unique(uniform)) <= {0.0, 1.0}
    assert (pointwise <= uniform).all()
    variance, uniform_variance = 1.0 / n_cells, 1.0 - (1.0 - 1.0 / n_cells) ** n_cells
    np.testing.assert_allclose(noise_measures.cell_measures(n_cells), [variance, uniform_variance], rtol=1e-12)
    for sample, p in ((pointwise, variance), (uniform, uniform_variance)):
        assert abs(sample.mean() - p) <= 5.0 * np.sqrt(p * (1.0 - p) / DRAWS)
    # Not the same draw: with several cells, one that is not the first is hit alone with p(any) - p(first).
    only_others = np.mean(uniform > pointwise)
    p = uniform_variance - variance
    assert abs(only_others - p) <= 5.0 * np.sqrt(p * (1.0 - p) / DRAWS)
    # The learner is told nothing: losses and gradients are zero, whatever the point.
    np.testing.assert_array_equal(feedback.loss, np.zeros((DRAWS, 1)))
    np.testing.assert_array_equal(feedback.grad, np.zeros((DRAWS, 1, 1)))


@pytest.mark.slow_after_first
@pytest.mark.parametrize("n_cells", [2, 8])
def test_same_law_as_the_gradients_of_the_proposition(n_cells, key, rng):
    """Against whole random fields, whose measures are taken by definition: G = 1, mean 0, sup E and E sup."""
    outcome, _ = outcomes(CellNoise(n_cells=n_cells), key)
    gradients = noise_measures.cell_gradients(rng, n_cells, DRAWS)  # [S, n]
    assert np.abs(gradients).max() == 1.0
    for sample, other in ((outcome.pointwise, gradients[:, 0] ** 2), (outcome.uniform, (gradients**2).max(axis=1))):
        sample, other = np.asarray(sample), np.asarray(other)
        assert abs(sample.mean() - other.mean()) <= 5.0 * np.sqrt((sample.var() + other.var()) / DRAWS)


@pytest.mark.slow_after_first
@pytest.mark.parametrize("n_cells", [8, 1, 2, 64])
def test_cells_of_proposition_a1(n_cells, rng):
    """The closed forms against the definitions, on drawn fields; by Jensen's inequality the first is the smaller."""
    gradients = noise_measures.cell_gradients(rng, n_cells, DRAWS)
    variance, uniform_variance = noise_measures.cell_measures(n_cells)
    pointwise, uniform = noise_measures.noise_measures(gradients)
    assert pointwise <= uniform
    assert abs(uniform - uniform_variance) <= 5.0 * np.sqrt(uniform_variance * (1.0 - uniform_variance) / DRAWS)
    share = np.mean(gradients**2, axis=0)  # each cell alone, without the supremum over cells
    assert (np.abs(share - variance) <= 5.0 * np.sqrt(variance / DRAWS)).all()
    assert np.abs(gradients.mean()) <= 5.0 / np.sqrt(DRAWS * n_cells)


def test_one_cell_is_always_hit(key):
    outcome, _ = outcomes(CellNoise(n_cells=1), key)
    np.testing.assert_array_equal(outcome.pointwise, 1.0)
    np.testing.assert_array_equal(outcome.uniform, 1.0)


@pytest.mark.slow
def test_rounds_and_trials_are_drawn_apart():
    """Through the simulation: the mean over all rounds, and no correlation between the totals of the trials."""
    rounds, seeds, n = 500, 64, 4
    result = simulate(OGD(dim=1), CellNoise(n_cells=n), rounds, seeds, record_points=1, progress=False)
    totals = result.final("pointwise")[0]
    p = 1.0 / n
    assert abs(totals.sum() / (rounds * seeds) - p) <= 5.0 * np.sqrt(p * (1.0 - p) / (rounds * seeds))
    # A binomial count has this variance; shared or repeated draws would have none or far more.
    spread = totals.var(ddof=1) / (rounds * p * (1.0 - p))
    assert abs(spread - 1.0) <= 5.0 * np.sqrt(2.0 / (seeds - 1))
    uniform = result.final("uniform")[0]
    assert (uniform >= totals).all() and (uniform <= rounds).all()


def test_queries_of_any_number(key):
    environment = as_arrays(CellNoise(n_cells=3))
    query = jnp.arange(5.0)[:, None]
    decision = PointDecision(play=jnp.array([7.0]), query=query)
    _, feedback, _ = environment.step(key, jnp.int32(0), None, None, decision)
    assert feedback.loss.shape == (5,) and feedback.grad.shape == (5, 1)


def test_contract_and_inputs():
    contract.check_environment(CellNoise(n_cells=3))
    for wrong in (CellNoise(n_cells=0), CellNoise(n_cells=-1), CellNoise(n_cells=2, dim=2), CellNoise(n_cells=2.5)):
        with pytest.raises(InputError):
            validate(wrong)
