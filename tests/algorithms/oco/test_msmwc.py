"""MsMwC and MsMwC-Master against the NumPy references, their regret inequalities, and the expert set."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms.oco import msmwc_master
from jaxbandits.algorithms.oco.msmwc import MsMwC
from jaxbandits.algorithms.oco.msmwc_master import MsMwCMaster
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import as_arrays, validate
from jaxbandits.diagnostics.oco import meta_bound
from jaxbandits.types import Gradient
from tests.reference import msmwc as reference

KEY = jax.random.key(0)
HORIZON = 120


@jax.jit
def replay(algorithm, losses):
    """Weights `[T, N]` and the last state on given losses of the experts."""

    def round_(state, inputs):
        t, loss = inputs
        decision = algorithm.select(KEY, t, state, None)
        feedback = Gradient(jnp.zeros(1), jax.tree.map(lambda g: g[None], loss))
        return algorithm.update(KEY, t, state, None, decision, feedback), decision.play

    state, plays = jax.lax.scan(round_, algorithm.init(KEY), (jnp.arange(len(losses), dtype=jnp.int32), losses))
    return plays, state


def expert_losses(rng, ranges, best=1):
    """Losses within the ranges; expert `best` is better by a third of its range."""
    losses = rng.uniform(-1.0, 1.0, (HORIZON, len(ranges))) * 0.6
    losses[:, best] -= 0.3
    return losses * ranges


# MsMwC ----------------------------------------------------------------------------------------------------------------


@pytest.mark.slow_after_first
@pytest.mark.parametrize("n", [3, 1, 20])
def test_msmwc_matches_the_reference(n, rng):
    ranges = 2.0 ** rng.integers(-3, 8, n)
    losses = expert_losses(rng, ranges, best=n // 2)
    weights, _ = replay(as_arrays(MsMwC(n_experts=n, loss_range=ranges)), jnp.asarray(losses))
    expected = reference.run_msmwc(losses, 1.0 / (64.0 * ranges))
    np.testing.assert_allclose(weights, expected, rtol=1e-9, atol=1e-13)
    assert n == 1 or np.abs(expected[-1] - 1.0 / n).max() > 1e-3  # something was learnt


def test_msmwc_with_other_constants(rng):
    losses = expert_losses(rng, np.array([1.0, 4.0, 0.5]))
    rate = np.array([0.3, 0.02, 0.5])
    weights, _ = replay(as_arrays(MsMwC(n_experts=3, rate=rate, c_meta=0.5)), jnp.asarray(losses))
    np.testing.assert_allclose(weights, reference.run_msmwc(losses, rate, c=0.5), rtol=1e-9, atol=1e-13)


def test_msmwc_regret_inequality(rng):
    """For every expert, with all constants, on every trace."""
    ranges = np.array([0.5, 2.0, 8.0, 64.0])
    rate = 1.0 / (64.0 * ranges)
    for best in range(4):
        losses = expert_losses(rng, ranges, best)
        weights = np.asarray(replay(as_arrays(MsMwC(n_experts=4, loss_range=ranges)), jnp.asarray(losses))[0])
        deviation = (np.diff(losses, axis=0, prepend=0.0) ** 2).sum(axis=0)
        regret = (losses * weights).sum() - losses.sum(axis=0)
        bound = np.log(4.0) / rate + (0.25 / rate).sum() - 1.0 / rate + 32.0 * rate * deviation
        assert (regret <= bound).all()


# The set of middle learners -------------------------------------------------------------------------------------------


def test_expert_set_golden():
    """G = 1, T = 16, N = 4: S = {3..8}."""
    learners = msmwc_master.middle_learners(4, 1, 1.0, 16.0)
    np.testing.assert_array_equal(learners.rate, 2.0 ** -np.arange(8.0, 14.0))
    np.testing.assert_array_equal(learners.count, [1, 2, 3, 4, 4, 4])
    prior = [0.7501832, 0.1875458, 0.0468864, 0.0117216, 0.0029304, 0.0007326]
    np.testing.assert_allclose(np.exp(learners.log_prior), prior, rtol=0.0, atol=6e-8)


@pytest.mark.slow
def test_expert_set_by_enumeration(rng):
    """Any G, powers of two included, and any horizon of at most 2^last; the padding suffices."""
    scales = [*2.0 ** np.arange(-3, 4), *np.exp(rng.uniform(-6.0, 6.0, 12)), 3.0, 1e-5, 0.75]
    make = jax.jit(jax.vmap(lambda g, t: msmwc_master.middle_learners(5, 1, g, t), in_axes=(0, None)))
    small = jax.jit(jax.vmap(lambda g, t: msmwc_master.middle_learners(6, -2, g, t), in_axes=(0, None)))
    for horizon in (1.0, 2.0, 3.0, 4.0, 5.0, 7.0, 8.0, 16.0, 31.0, 32.0):
        for first, n, made in ((1, 5, make), (-2, 6, small)):
            if horizon > 2.0 ** (first + n - 1):
                continue
            learners = made(jnp.asarray(scales), horizon)
            for g, rate, log_prior, count in zip(scales, *map(np.asarray, learners), strict=True):
                expected = reference.Master(n, float(g), horizon, first=first)
                active = np.isfinite(log_prior)
                assert active.sum() == len(expected.k), (g, horizon)
                np.testing.assert_array_equal(rate[active], expected.beta)
                np.testing.assert_array_equal(count[active], expected.known.sum(axis=1))
                np.testing.assert_allclose(np.exp(log_prior[active]), expected.prior, rtol=1e-12)


@pytest.mark.slow
def test_experts_taking_part():
    """With n of N experts the set is that of n experts, and the others are known to no middle learner."""
    some = msmwc_master.middle_learners(7, 1, 1.5, 8.0, n_active=3)
    alone = msmwc_master.middle_learners(3, 1, 1.5, 8.0)
    active = np.isfinite(some.log_prior)
    for ours, expected in zip(some, alone, strict=True):
        np.testing.assert_array_equal(np.asarray(ours)[active], np.asarray(expected)[np.isfinite(alone.log_prior)])


# MsMwC-Master ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("n", "lipschitz", "horizon"), [(1, 1.0, 2.0), (4, 1.0, 16.0), (9, 0.3, 300.0)])
def test_master_matches_the_reference(n, lipschitz, horizon, rng):
    losses = expert_losses(rng, lipschitz * 2.0 ** np.arange(1, n + 1), best=n // 2)
    algorithm = as_arrays(MsMwCMaster(n_experts=n, lipschitz=lipschitz, horizon=horizon))
    weights, _ = replay(algorithm, jnp.asarray(losses))
    expected = reference.run_master(losses, lipschitz, horizon)
    np.testing.assert_allclose(weights, [r.weights for r in expected], rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(np.asarray(weights).sum(axis=1), 1.0, rtol=1e-13)


def test_layers_match_the_reference(rng):
    """Every weight of every layer, not only the mixture."""
    losses = expert_losses(rng, 0.7 * 2.0 ** np.arange(1, 6), best=2)[:40]
    state = msmwc_master.start(msmwc_master.middle_learners(5, 1, 0.7, 32.0), 5)
    play, update = jax.jit(msmwc_master.play), jax.jit(msmwc_master.update)
    hint = np.zeros(5)
    for loss, expected in zip(losses, reference.run_master(losses, 0.7, 32.0), strict=True):
        played = play(state, jnp.asarray(hint))
        k = len(expected.p)
        middle = np.asarray(played.middle * played.share)[:, :k].T
        np.testing.assert_allclose(middle, expected.middle, rtol=1e-10, atol=1e-14)
        np.testing.assert_allclose(played.expected[:k], expected.middle @ hint, rtol=1e-10, atol=1e-14)
        np.testing.assert_allclose(np.exp(played.log_p)[:k], expected.p, rtol=1e-9, atol=1e-14)
        outside = np.arange(5)[:, None] >= np.asarray(state.learners.count)
        np.testing.assert_array_equal(np.asarray(played.middle)[outside], 0.0)
        state, hint = update(state, played, jnp.asarray(loss)), loss


@pytest.mark.slow
def test_master_regret_inequality(rng):
    """Against every expert, whatever its scale, and never by a margin that would make the test empty."""
    n, lipschitz = 6, 0.4
    ratio = []
    for best in range(n):
        for noise in (0.0, 1.0):
            losses = lipschitz * 2.0 ** np.arange(1, n + 1) * rng.uniform(-noise, noise, (HORIZON, n)) * 0.5
            losses[:, best] -= lipschitz * 2.0 ** (best + 1) * 0.5
            weights, state = replay(as_arrays(MsMwCMaster(n_experts=n, lipschitz=lipschitz)), jnp.asarray(losses))
            regret = (losses * np.asarray(weights)).sum() - losses.sum(axis=0)
            deviation = (np.diff(losses, axis=0, prepend=0.0) ** 2).sum(axis=0)
            np.testing.assert_allclose(state.meta.square_sum.total, deviation, rtol=1e-12)
            bound = np.asarray(meta_bound(state.meta.learners, state.meta.square_sum.total))
            np.testing.assert_allclose(bound, _bound(n, lipschitz, deviation), rtol=1e-12)
            assert (regret <= bound).all()
            ratio.append((regret / bound)[best])
    assert max(ratio) > 0.1


def _bound(n, lipschitz, deviation):
    master = reference.Master(n, lipschitz, 2.0**n)
    bounds = []
    for k, (beta, prior) in enumerate(zip(master.beta, master.prior, strict=True)):
        start = -np.log(prior) / beta + (master.prior / master.beta).sum() - 1.0 / beta
        bound = start + np.log(master.known[k].sum()) / (2.0 * beta) + 64.0 * beta * deviation
        bounds.append(np.where(master.known[k], bound, np.inf))
    return np.min(bounds, axis=0)


def test_zero_losses_keep_the_prior():
    weights, _ = replay(as_arrays(MsMwCMaster(n_experts=4)), jnp.zeros((5, 4)))
    golden = [0.8634310134, 0.1132478632, 0.0194749695, 0.0038461538]
    np.testing.assert_allclose(weights, np.tile(golden, (5, 1)), rtol=0.0, atol=6e-11)


# Inputs ---------------------------------------------------------------------------------------------------------------


def test_inputs():
    validate(MsMwC(n_experts=2, loss_range=np.array([1.0, 8.0])))
    validate(MsMwCMaster(n_experts=4, horizon=16.0))
    with pytest.raises(InputError, match="at most"):
        validate(MsMwCMaster(n_experts=4, horizon=17.0))
    for name in ("loss_range", "rate"):
        with pytest.raises(InputError, match=rf"MsMwC.{name} must have shape \[\] or \[2\], got \[3\]"):
            MsMwC(n_experts=2, **{name: np.ones(3)})._rate.block_until_ready()
    for wrong in (MsMwC(n_experts=0), MsMwC(n_experts=2, rate=0.0), MsMwCMaster(n_experts=2, lipschitz=0.0)):
        with pytest.raises(InputError):
            validate(wrong)
