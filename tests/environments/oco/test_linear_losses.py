"""Linear losses: the law of the gradients, what is fed back, charged and compared with."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import as_arrays, validate
from jaxbandits.domains.ball import L2Ball
from jaxbandits.environments.oco.linear_losses import LinearLosses
from jaxbandits.numerics.rng import unit_vector
from jaxbandits.types import PointDecision

DIMS = [1, 2, 3, 5, 20]


def draws(key, dim, n=20_000):
    keys = jax.random.split(key, n)
    return np.asarray(jax.jit(jax.vmap(lambda k: unit_vector(k, dim)))(keys))


@pytest.mark.quick_cases("2")
@pytest.mark.parametrize("dim", DIMS)
def test_on_sphere(dim, key):
    """Unit norm exactly; moments of order 1, 2 and 4 within 5 standard errors; all orthants alike."""
    n = 20_000
    x = draws(key, dim, n)
    np.testing.assert_allclose(np.linalg.norm(x, axis=1), 1.0, rtol=0.0, atol=1e-14)
    assert (np.abs(x.mean(axis=0)) <= 5.0 / np.sqrt(n * dim)).all()
    assert (np.abs(x.T @ x / n - np.eye(dim) / dim) <= 5.0 / np.sqrt(n) / dim).all()
    fourth = 3.0 / (dim * (dim + 2.0))
    assert (np.abs((x**4).mean(axis=0) - fourth) <= 5.0 * np.sqrt(105.0 / n) / dim**2).all()
    if dim <= 3:
        orthant = ((x > 0.0) @ (2 ** np.arange(dim))).astype(int)
        share = np.bincount(orthant, minlength=2**dim) / n
        assert (np.abs(share - 0.5**dim) <= 5.0 * np.sqrt(0.5**dim / n)).all()


@pytest.mark.slow
def test_angle_is_uniform_in_the_plane(key):
    """Kolmogorov-Smirnov at the level 1e-6, and accurate beside both axes."""
    x = draws(key, 2)
    turns = np.sort(np.arctan2(x[:, 1], x[:, 0]) / (2.0 * np.pi) % 1.0)
    grid = np.arange(1, len(turns) + 1) / len(turns)
    assert np.abs(turns - grid).max() <= np.sqrt(np.log(2e6) / 2.0 / len(turns)) + 1.0 / len(turns)


def run(environment, key, points, queries):
    """One trial that plays `points[t]` and asks at `queries[t]`."""
    environment = as_arrays(environment)

    def round_(state, inputs):
        t, point, query = inputs
        decision = PointDecision(play=point, query=query)
        obs = environment.observe(key, t, state)
        state, feedback, outcome = environment.step(jax.random.fold_in(key, t), t, state, obs, decision)
        return state, (feedback.loss, feedback.grad, outcome)

    steps = jnp.arange(len(points), dtype=jnp.int32)
    state, rows = jax.lax.scan(round_, environment.init(key), (steps, jnp.asarray(points), jnp.asarray(queries)))
    return *jax.tree.map(np.asarray, rows), environment.at_record(state, None)


@pytest.mark.slow_after_first
@pytest.mark.parametrize("dim", [5, 1, 2, 20])
def test_one_trial(dim, key, rng):
    horizon, n_queries, radius = 300, 3, 2.5
    environment = LinearLosses(dim=dim, domain=L2Ball(radius=radius), mean=-0.4, noise_scale=0.7)
    points, queries = rng.standard_normal((horizon, dim)), rng.standard_normal((horizon, n_queries, dim))
    losses, grads, outcome, snapshot = run(environment, key, points, queries)
    assert losses.shape == (horizon, n_queries)
    assert grads.shape == (horizon, n_queries, dim)

    mean = -0.4 * np.eye(dim)[0]
    grad = grads[:, 0]
    np.testing.assert_array_equal(grads, np.broadcast_to(grad[:, None], grads.shape))  # linear: the same everywhere
    np.testing.assert_allclose(np.linalg.norm(grad - mean, axis=1), 0.7, rtol=1e-13)
    assert len(np.unique(grad[:, 0])) > (1 if dim == 1 else horizon // 2)  # fresh noise every round
    np.testing.assert_allclose(losses, np.einsum("tqd,td->tq", queries, grad), rtol=0.0, atol=1e-13)
    np.testing.assert_allclose(outcome.loss, (points * grad).sum(axis=1), rtol=0.0, atol=1e-13)
    np.testing.assert_allclose(outcome.mean_loss, points @ mean, rtol=0.0, atol=1e-13)
    assert np.linalg.norm(grad, axis=1).max() <= environment.lipschitz + 1e-13

    # The comparators against brute force: no point of the sphere does better, and the closed form is attained.
    np.testing.assert_allclose(snapshot["comparator_loss"], -radius * np.linalg.norm(grad.sum(axis=0)), rtol=1e-13)
    others = rng.standard_normal((500, dim))
    others *= radius / np.linalg.norm(others, axis=1, keepdims=True)
    assert (others @ grad.sum(axis=0)).min() >= snapshot["comparator_loss"] - 1e-10
    best = -radius * grad.sum(axis=0) / np.linalg.norm(grad.sum(axis=0))
    np.testing.assert_allclose(snapshot["comparator_loss"], (grad @ best).sum(), rtol=1e-12)
    np.testing.assert_allclose(snapshot["mean_comparator_loss"], -radius * 0.4 * horizon, rtol=1e-13)


def test_regret_of_the_comparator_itself_is_zero(key):
    """Cumulative losses and the comparator are on one scale: playing -R sign(m) e_1 has no pseudo-regret."""
    horizon = 200
    environment = LinearLosses(dim=2, domain=L2Ball(radius=1.5), mean=0.3, noise_scale=0.5)
    point = np.tile([-1.5, 0.0], (horizon, 1))
    _, _, outcome, snapshot = run(environment, key, point, point[:, None])
    np.testing.assert_allclose(outcome.mean_loss.sum(), snapshot["mean_comparator_loss"], rtol=1e-13)
    assert outcome.loss.sum() >= snapshot["comparator_loss"]


def test_before_the_first_round():
    environment = as_arrays(LinearLosses(dim=3))
    snapshot = environment.at_record(environment.init(jax.random.key(0)), None)
    assert snapshot == {"comparator_loss": 0.0, "mean_comparator_loss": 0.0}


def test_regrets_are_against_their_own_comparators():
    """Realised losses against the comparator's realised ones, means against its means."""
    totals = {"loss": 5.0, "mean_loss": 4.0, "comparator_loss": 2.0, "mean_comparator_loss": 0.5}
    assert LinearLosses(dim=2).derive(totals) == {"regret": 3.0, "pseudo_regret": 3.5}


@pytest.mark.slow_after_first
@pytest.mark.parametrize("dim", [5, 1, 2, 20])
def test_state_keeps_its_types(dim, key):
    environment = as_arrays(LinearLosses(dim=dim))
    decision = PointDecision.at(jnp.zeros(dim))
    state = jax.eval_shape(environment.init, key)
    after = jax.eval_shape(environment.step, key, jnp.int32(0), state, None, decision)[0]
    same = jax.tree.map(lambda a, b: (a.shape, a.dtype, a.weak_type) == (b.shape, b.dtype, b.weak_type), state, after)
    assert jax.tree.all(same)


def test_noise_and_mean_are_sweepable_and_constants_are_stated(key):
    environment = jax.vmap(lambda m, s: as_arrays(LinearLosses(dim=2, mean=m, noise_scale=s)))(
        jnp.array([0.1, -1.0]), jnp.array([0.0, 0.5])
    )
    decision = PointDecision.at(jnp.zeros(2))
    grad = jax.jit(jax.vmap(lambda e: e.step(key, jnp.int32(0), e.init(key), None, decision)[1].grad))(environment)
    np.testing.assert_allclose(grad[0, 0], [0.1, 0.0], atol=1e-16)
    np.testing.assert_allclose(np.linalg.norm(np.asarray(grad[1, 0]) - [-1.0, 0.0]), 0.5)
    one = LinearLosses(dim=2, mean=-0.1, noise_scale=0.3)
    assert one.lipschitz == pytest.approx(0.4)
    assert one.cumulative_variance(100) == pytest.approx(9.0)
    assert one.cumulative_variation(100) == pytest.approx(0.01)


def test_ranges():
    validate(LinearLosses(dim=2))
    for wrong in (LinearLosses(dim=0), LinearLosses(dim=2, noise_scale=-0.1), LinearLosses(dim=2, mean=np.nan)):
        with pytest.raises(InputError):
            validate(wrong)


@pytest.mark.slow
def test_noise_of_low_rank(key):
    """On the first r axes, of the same length; without a rank the draws are those of the whole sphere."""
    low = as_arrays(LinearLosses(dim=4, mean=0.0, noise_scale=0.5, noise_rank=2))
    full = as_arrays(LinearLosses(dim=4, mean=0.0, noise_scale=0.5))

    def slopes(environment):
        def slope(k):
            decision = PointDecision.at(jnp.zeros(4))
            return environment.step(k, jnp.int32(0), environment.init(k), None, decision)[1].grad[0]

        return np.asarray(jax.vmap(slope)(jax.random.split(key, 64)))

    drawn = slopes(low)
    assert (drawn[:, 2:] == 0.0).all() and np.linalg.matrix_rank(drawn) == 2
    np.testing.assert_allclose(np.linalg.norm(drawn, axis=1), 0.5, rtol=1e-12)
    np.testing.assert_array_equal(
        drawn[:, :2], 0.5 * np.asarray(jax.vmap(lambda k: unit_vector(k, 2))(jax.random.split(key, 64)))
    )
    assert np.linalg.matrix_rank(slopes(full)) == 4
    with pytest.raises(InputError, match="noise_rank must be at most dim = 4, got 5"):
        validate(LinearLosses(dim=4, noise_rank=5))
