"""CA-OONS, CLA-OONS, MsMwC and MsMwC-Master in float32: close to the float64 references, weights that stay weights."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms.oco.ca_oons import CAOONS
from jaxbandits.algorithms.oco.cla_oons import CLAOONS
from jaxbandits.algorithms.oco.msmwc import MsMwC
from jaxbandits.algorithms.oco.msmwc_master import MsMwCMaster
from jaxbandits.base.pytree import as_arrays
from jaxbandits.diagnostics import oco as meters
from jaxbandits.diagnostics import oons_rounds as rounds
from jaxbandits.numerics.entropy import entropic_step
from jaxbandits.numerics.losses import PseudoHuber
from jaxbandits.types import FullInformation, Gradient, narrow
from tests.algorithms.oco.replay_oco import PlayRecord
from tests.reference import ca_oons as ca_reference
from tests.reference import cla_oons as cla_reference
from tests.reference import msmwc as msmwc_reference

KEY = jax.random.key(0)


@jax.jit
def replay(algorithm, oracles):
    """Plays and last state on given losses."""

    def round_(state, inputs):
        t, oracle = inputs
        decision = algorithm.select(KEY, t, state, None)
        offered = FullInformation(
            jax.vmap(oracle.value)(decision.query), jax.vmap(oracle.gradient)(decision.query), oracle
        )
        told = narrow(offered, algorithm.feedback)
        return algorithm.update(KEY, t, state, None, decision, told), (decision.play, oracle.value(decision.play))

    steps = jnp.arange(len(jax.tree.leaves(oracles)[0]), dtype=jnp.int32)
    state, (play, loss) = jax.lax.scan(round_, algorithm.init(KEY), (steps, oracles))
    return play, loss, state


@jax.jit
def replay_experts(algorithm, losses):
    def round_(state, inputs):
        t, loss = inputs
        decision = algorithm.select(KEY, t, state, None)
        feedback = Gradient(jnp.zeros(1), jax.tree.map(lambda g: g[None], loss))
        return algorithm.update(KEY, t, state, None, decision, feedback), decision.play

    return jax.lax.scan(round_, algorithm.init(KEY), (jnp.arange(len(losses), dtype=jnp.int32), losses))[1]


@pytest.mark.slow
@pytest.mark.parametrize("meta_loss", ["played", "value"])
def test_ca_oons(meta_loss, rng):
    targets = (4.0 * np.eye(2)[0] + 0.5 * rng.standard_normal((300, 2))).astype(np.float32)
    algorithm = as_arrays(CAOONS(dim=2, n_base=6, meta_loss=meta_loss))
    play, _, state = replay(algorithm, PseudoHuber(jnp.asarray(targets)))
    assert play.dtype == jnp.float32
    exact = targets.astype(float)

    def error(t, x):
        return x - exact[t - 1]

    expected = ca_reference.run(
        lambda t, x: np.sqrt(1.0 + error(t, x) @ error(t, x)) - 1.0,
        lambda t, x: error(t, x) / np.sqrt(1.0 + error(t, x) @ error(t, x)),
        300,
        2,
        6,
        1.0,
        64.0,
        meta_loss,
    )
    np.testing.assert_allclose(play, expected.play, rtol=0.0, atol=2e-5)
    np.testing.assert_allclose(np.asarray(state.play.weights).sum(), 1.0, rtol=1e-6)


@pytest.mark.slow
def test_benchmark_e3_in_float32():
    """4096 rounds on a curved loss, N = 12: the recorded float64 regret, and certificates at the level of float32."""
    slack = meters.least_slack((1.0,), (-1.0,), (8.0,), (-4096.0,), relative=True)

    @jax.jit
    def run(algorithm):
        oracle = PseudoHuber(jnp.array([8.0]))

        def round_(state, t):
            decision = algorithm.select(KEY, t, state, None)
            told = Gradient(jax.vmap(oracle.value)(decision.query), jax.vmap(oracle.gradient)(decision.query))
            after = algorithm.update(KEY, t, state, None, decision, told)
            played = PlayRecord(algorithm, state, decision, told, after)
            measures = (
                meters.worst_projection(played),
                -slack(played),
                meters.worst_stability(played),
                meters.worst_precondition(played) - 1.0,
                meters.worst_meta_precondition(played) - 1.0,
            )
            meta = meters.meta_loss(played), meters.meta_budget(played)
            return after, (oracle.value(decision.play), jnp.stack(measures), meta)

        return jax.lax.scan(round_, algorithm.init(KEY), jnp.arange(4096, dtype=jnp.int32))[1]

    loss, measures, (meta_loss, meta_budget) = run(as_arrays(CAOONS.theory(dim=1, horizon=4096)))
    assert loss.dtype == measures.dtype == jnp.float32
    cumulative = np.cumsum(np.asarray(loss, float))
    np.testing.assert_allclose(cumulative[[511, 1023, 2047, 4095]], [2097.2, 2678.8, 2727.5, 2733.0], rtol=1e-4)
    assert (np.asarray(measures) < 5e-6).all()
    assert (np.cumsum(np.asarray(meta_loss, float)) <= np.asarray(meta_budget)).all()


@pytest.mark.quick_cases("2")
@pytest.mark.parametrize("dim", [1, 2, 15])
def test_cla_oons(dim, rng):
    noise = rng.standard_normal((500, dim))
    grads = (0.2 * np.eye(dim)[0] + 0.8 * noise / np.linalg.norm(noise, axis=1, keepdims=True)).astype(np.float32)

    @jax.jit
    def run(algorithm, grads):
        def round_(state, inputs):
            t, grad = inputs
            decision = algorithm.select(KEY, t, state, None)
            feedback = Gradient(jnp.zeros(1), jax.tree.map(lambda g: g[None], grad))
            r = rounds.inside(algorithm, state, decision, feedback)
            residual = jnp.max(jnp.stack(jax.vmap(rounds.projection_residuals)(r)))
            return algorithm.update(KEY, t, state, None, decision, feedback), (decision.play, residual)

        return jax.lax.scan(round_, algorithm.init(KEY), (jnp.arange(500, dtype=jnp.int32), grads))[1]

    play, residual = run(as_arrays(CLAOONS(dim=dim)), jnp.asarray(grads))
    assert play.dtype == jnp.float32
    expected = cla_reference.run(lambda t, x: grads[t - 1].astype(float), 500, dim)
    assert expected.restarted.sum() >= 3
    np.testing.assert_allclose(play, expected.play, rtol=0.0, atol=2e-5)
    assert np.asarray(residual).max() < 1e-6


@pytest.mark.slow
def test_weights_over_experts(rng):
    """Scales that span 2^14, as CA-OONS has them for 16384 rounds: no overflow, and sums of one."""
    n = 14
    losses = (0.5 * rng.uniform(-1.0, 1.0, (150, n)) * 2.0 ** np.arange(1, n + 1)).astype(np.float32)
    losses[:, 5] -= 16.0
    exact = losses.astype(float)
    master = np.asarray(replay_experts(as_arrays(MsMwCMaster(n_experts=n)), jnp.asarray(losses)))
    expected = np.array([r.weights for r in msmwc_reference.run_master(exact, 1.0, 2.0**n)])
    np.testing.assert_allclose(master, expected, rtol=0.0, atol=2e-6)
    ranges = 2.0 ** np.arange(1, n + 1)
    plain = np.asarray(replay_experts(as_arrays(MsMwC(n_experts=n, loss_range=ranges)), jnp.asarray(losses)))
    expected = msmwc_reference.run_msmwc(exact, 1.0 / (64.0 * ranges))
    np.testing.assert_allclose(plain, expected, rtol=0.0, atol=5e-6)
    for weights in (master, plain):
        assert weights.dtype == np.float32
        np.testing.assert_allclose(weights.sum(axis=1), 1.0, rtol=2e-6)


def test_entropic_step_over_many_scales(rng):
    rate = 2.0 ** -np.arange(5.0, 37.0, 2.0)
    for size in (1e-3, 1.0, 1e4, 1e8):
        loss = (size * rng.standard_normal(16)).astype(np.float32)
        log_p, nu = entropic_step(jnp.full(16, -jnp.log(16.0)), jnp.asarray(loss), jnp.asarray(rate))
        expected = msmwc_reference.entropic(np.full(16, -np.log(16.0)), loss.astype(float), rate)
        # loss + nu is rounded once, by half an ulp, and nu is known to no more: the exponents hold that much
        exponents = np.finfo(np.float32).eps * np.exp(expected) @ (rate * (np.abs(loss) + abs(float(nu))))
        np.testing.assert_allclose(np.exp(log_p), np.exp(expected), rtol=0.0, atol=2e-6 + 2.0 * exponents)
        np.testing.assert_allclose(np.exp(log_p).sum(), 1.0, rtol=2e-6)


def test_huge_gradients_stay_finite(rng):
    for size in (1e-20, 1e4):
        targets = PseudoHuber(jnp.asarray(size * rng.standard_normal((300, 2)), jnp.float32))
        play, _, state = replay(as_arrays(CAOONS(dim=2, n_base=6)), targets)
        assert np.isfinite(play).all()
        assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(state.play._replace(log_p=0.0)))
