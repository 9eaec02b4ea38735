"""OGD, OONS and linear losses in float32: close to the float64 reference, and sums that do not drift."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms.oco.ogd import OGD
from jaxbandits.algorithms.oco.oons import OONS
from jaxbandits.base.pytree import as_arrays
from jaxbandits.domains.ball import L2Ball
from jaxbandits.environments.oco.linear_losses import LinearLosses
from jaxbandits.numerics.projection import minimise_on_ball, project_ball
from jaxbandits.types import Gradient, PointDecision
from tests.reference import ogd as ogd_reference
from tests.reference import oons as oons_reference

KEY = jax.random.key(0)


@jax.jit
def play(algorithm, grads):
    """The plays `[T, d]` on linear losses."""

    def round_(state, inputs):
        t, grad = inputs
        decision = algorithm.select(KEY, t, state, None)
        feedback = Gradient(jnp.zeros(1), jax.tree.map(lambda g: g[None], grad))
        return algorithm.update(KEY, t, state, None, decision, feedback), decision.play

    return jax.lax.scan(round_, algorithm.init(KEY), (jnp.arange(len(grads), dtype=jnp.int32), grads))[1]


def draw(rng, dim, horizon=2000):
    noise = rng.standard_normal((horizon, dim))
    grads = 0.1 * np.eye(dim)[0] + 0.9 * noise / np.linalg.norm(noise, axis=1, keepdims=True)
    return grads.astype(np.float32)


@pytest.mark.quick_cases("5")
@pytest.mark.parametrize("dim", [1, 2, 5, 20])
def test_plays_are_close_to_the_reference(dim, rng):
    grads = draw(rng, dim)
    horizon = len(grads)
    exact = grads.astype(float)

    plays = play(as_arrays(OGD(dim=dim)), jnp.asarray(grads))
    assert plays.dtype == jnp.float32
    expected = ogd_reference.run(lambda t, x: exact[t - 1], horizon, dim, 1.0, 1.0)
    np.testing.assert_allclose(plays, expected, rtol=0.0, atol=1e-5)

    for algorithm, constants in (
        (OONS.theory(dim=dim), {}),
        (OONS.practical(dim=dim), {"c_eta": 1.0, "c_A": 0.25, "c_corr": 0.5}),
    ):
        plays = np.asarray(play(as_arrays(algorithm), jnp.asarray(grads)))
        assert plays.dtype == np.float32
        expected = oons_reference.run(lambda t, x: exact[t - 1], horizon, dim, 1.0, 1.0, **constants).play
        np.testing.assert_allclose(plays, expected, rtol=0.0, atol=1e-5)
        assert np.linalg.norm(plays, axis=1).max() <= 1.0 + 2e-7
        assert np.linalg.norm(plays, axis=1).max() > 0.999


def test_golden_values():
    grads = jnp.asarray([[1.0, 0.0], [0.0, -1.0], [2**-0.5, 2**-0.5]])
    expected = [[0.0, 0.0], [-0.1244984821, 0.0], [-0.0613037887, 0.1254668711]]
    np.testing.assert_allclose(play(as_arrays(OONS.theory(dim=2)), grads), expected, rtol=0.0, atol=3e-8)


@pytest.mark.slow_after_first
@pytest.mark.parametrize("dim", [2, 20])
def test_solvers_in_both_forms(dim):
    """The dense form too stays in float32."""
    a, b = jnp.ones(dim).at[1].set(4.0), jnp.zeros(dim).at[:2].set(jnp.array([3.0, 4.0]))
    x = minimise_on_ball(jnp.diag(a), b, 1.0)
    assert x.dtype == jnp.float32
    np.testing.assert_allclose(x[:2], [0.8042237227, 0.5943266810], rtol=3e-7)
    x = project_ball(jnp.diag(1.0 / a), b, 2.0)
    np.testing.assert_allclose(x[:2], [0.56220502, 1.91935549], rtol=3e-7)


@pytest.mark.slow_after_first
@pytest.mark.parametrize("dim", [2, 20])
def test_comparator_does_not_drift(dim, key):
    """The compensated sum is the exactly rounded one after 10^5 rounds; the plain sum is not."""
    environment = as_arrays(LinearLosses(dim=dim, domain=L2Ball(radius=1.0), mean=0.3, noise_scale=0.7))
    decision = PointDecision.at(jnp.zeros(dim))

    @jax.jit
    def run(state):
        def round_(carry, t):
            state, plain = carry
            state, feedback, _ = environment.step(jax.random.fold_in(key, t), t, state, None, decision)
            grad = jax.tree.map(lambda g: g[0], feedback.grad)
            return (state, plain + grad), grad

        (state, plain), grads = jax.lax.scan(round_, (state, jnp.zeros(dim)), jnp.arange(100_000, dtype=jnp.int32))
        return environment.at_record(state, None), state.gradients.total, plain, grads

    snapshot, total, plain, grads = run(environment.init(key))
    exact = np.array([math.fsum(column) for column in np.asarray(grads, float).T])
    np.testing.assert_allclose(total, exact, rtol=2e-7, atol=1e-5)
    np.testing.assert_allclose(snapshot["comparator_loss"], -np.linalg.norm(exact), rtol=3e-7)
    np.testing.assert_allclose(snapshot["mean_comparator_loss"], -0.3 * 100_000, rtol=2e-7)
    assert abs(float(plain[0]) - exact[0]) > 20.0 * abs(float(total[0]) - exact[0])


@pytest.mark.slow
@pytest.mark.parametrize("dim", [1, 2, 5, 20])
def test_noise_has_unit_length(dim, key):
    environment = as_arrays(LinearLosses(dim=dim, mean=0.0, noise_scale=1.0))
    decision = PointDecision.at(jnp.zeros(dim))

    def grad(key):
        return (environment.step(key, jnp.int32(0), environment.init(key), None, decision)[1].grad)[0]

    grads = np.asarray(jax.jit(jax.vmap(grad))(jax.random.split(key, 20_000)))
    assert grads.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(grads, axis=1), 1.0, rtol=0.0, atol=5e-7)
    assert (np.abs(grads.mean(axis=0)) <= 5.0 / np.sqrt(20_000 * dim)).all()


@pytest.mark.quick_cases("5")
@pytest.mark.parametrize("dim", [2, 5, 20])
def test_tiny_and_huge_gradients_stay_finite_and_inside(dim, rng):
    """Gradients a million times beyond G make the metric of OONS numerically singular but for its guard."""
    for size in (1e-30, 1e-10, 1e3, 1e6):
        grads = jnp.asarray(size * rng.standard_normal((200, dim)), jnp.float32)
        for algorithm in (OGD(dim=dim), OONS.theory(dim=dim), OONS.practical(dim=dim)):
            plays = np.asarray(play(as_arrays(algorithm), grads), float)
            assert np.isfinite(plays).all(), (size, algorithm)
            assert np.linalg.norm(plays, axis=1).max() <= 1.0 + 1e-6
