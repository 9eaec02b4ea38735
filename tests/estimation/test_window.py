"""Sliding sums: right whatever has left the window, after many rounds, and where trials count rounds of their own."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms.armed.sw_ucb import SWUCB
from jaxbandits.algorithms.linear.sw_lin_ucb import SWLinUCB
from jaxbandits.estimation import history, window
from jaxbandits.tracing import target
from jaxbandits.tracing.vmap_last import vmap_last
from jaxbandits.types import ArmDecision, Reward

ROUNDS, ARMS = 200, 3
LAWS = {
    "a spike": lambda rng: np.where(np.arange(ROUNDS) % 61 == 7, 1e20, rng.uniform(size=ROUNDS)),
    "skewed": lambda rng: rng.lognormal(sigma=4.0, size=ROUNDS) * rng.choice([-1.0, 1.0], size=ROUNDS),
    "tied": lambda rng: np.ones(ROUNDS),
    "not a number": lambda rng: np.where(np.arange(ROUNDS) % 61 == 7, np.nan, rng.uniform(size=ROUNDS)),
}


@jax.jit
def play_arms(learner, arms, rewards):
    def update(state, row):
        t, arm, reward = row
        state = learner.update(None, t, state, None, ArmDecision(arm, None), Reward(reward))
        return state, (state.pulls.count, state.pulls.total)

    return jax.lax.scan(update, learner.init(None), (jnp.arange(ROUNDS, dtype=jnp.int32), arms, rewards))[1]


@jax.jit
def play_points(learner, points, rewards):
    def update(state, row):
        t, x, reward = row
        state = learner.update(None, t, state, None, ArmDecision(jnp.int32(0), x), Reward(reward))
        return state, (state.gram, state.moment)

    return jax.lax.scan(update, learner.init(None), (jnp.arange(ROUNDS, dtype=jnp.int32), points, rewards))[1]


@pytest.mark.parametrize("size", [1, 2, 4, 13, 50])
def test_the_sums_are_those_of_the_window(size, rng):
    """To the rounding of what is in the window: nothing that has left it has any part in them."""
    for law in LAWS.values():
        arms, rewards = rng.integers(ARMS, size=ROUNDS), law(rng)
        points = rng.normal(size=(ROUNDS, 2)) * np.where(np.arange(ROUNDS) % 47 == 11, 1e12, 1.0)[:, None]
        counts, totals = map(np.asarray, play_arms(SWUCB(n_arms=ARMS, window=size), arms, rewards))
        grams, moments = map(np.asarray, play_points(SWLinUCB(dim=2, window=size), points, rewards))
        for t in range(ROUNDS):
            seen = slice(max(0, t + 1 - size), t + 1)
            x, r = points[seen], rewards[seen]
            paid = (arms[seen, None] == np.arange(ARMS)) * 1.0
            np.testing.assert_array_equal(counts[t], paid.sum(axis=0))
            of_arm = [r[arms[seen] == i] for i in range(ARMS)]
            close = 1e-14 * np.asarray([np.abs(values).sum() for values in of_arm])
            wanted = np.asarray([values.sum() for values in of_arm])
            _same(totals[t], wanted, close)
            _same(moments[t], x.T @ r, 1e-14 * np.abs(x).T @ np.abs(r))
            _same(grams[t] - np.eye(2), x.T @ x, 1e-14 * (1.0 + np.abs(x).T @ np.abs(x)))


def _same(found, wanted, close):
    assert (np.isnan(found) == np.isnan(wanted)).all()
    assert not (np.abs(found - wanted) > close).any(), (found, wanted)


@pytest.mark.parametrize("size", [2, 13])
def test_sums_on_an_accelerator(size, rng):
    """The same operations as on a CPU, with a selection before each write."""
    points, rewards, found = jnp.asarray(rng.normal(size=(ROUNDS, 2))), jnp.asarray(rng.normal(size=ROUNDS)), []
    for platform in ("cpu", "gpu"):
        with target.trace_for(target.Target(platform, open_loops=True)):
            play = jax.jit(lambda *args: play_points.__wrapped__(*args))
            found.append(play(SWLinUCB(dim=2, window=size), points, rewards))
    for on_cpu, on_gpu in zip(*found, strict=True):
        np.testing.assert_allclose(on_gpu, on_cpu, rtol=1e-12, atol=1e-12)


def test_no_drift_in_float32_after_many_rounds():
    """20,000 rounds of rewards up to 1000, window 100: the error is that of adding 100 numbers."""
    rng, size, rounds = np.random.default_rng(4), 100, 20_000
    rewards = (1000.0 * rng.uniform(size=rounds)).astype(np.float32)
    found = window.empty(size, jnp.zeros((), jnp.float32), lambda x: x)
    found = jax.jit(
        lambda found, rewards: jax.lax.fori_loop(
            0, rounds, lambda t, w: window.append(w, t, rewards[t], lambda x: x), found
        )
    )(found, jnp.asarray(rewards))
    np.testing.assert_allclose(found.total, rewards[-size:].astype(float).sum(), rtol=1e-6)


def test_trials_may_count_rounds_of_their_own(rng):
    """As in a replay by rejection, where `t` differs from trial to trial."""
    size, trials = 5, 3
    learner, rewards = SWUCB(n_arms=ARMS, window=size), rng.normal(size=(40, trials))
    counted = rng.uniform(size=(40, trials)) < 0.7

    def update(t, state, reward):
        return learner.update(None, t, state, None, ArmDecision(jnp.int32(1), None), Reward(reward))

    one = learner.init(None)
    states = jax.tree.map(lambda leaf: jnp.repeat(leaf[..., None], trials, axis=-1), one)
    clock = np.zeros(trials, np.int32)
    step = jax.jit(vmap_last(update, (-1, -1, -1)))
    for reward, counts in zip(rewards, counted, strict=True):
        after = step(jnp.asarray(clock), states, jnp.asarray(reward))
        states = jax.tree.map(lambda new, old: jnp.where(counts, new, old), after, states)  # noqa: B023
        clock += counts
    wanted = [rewards[counted[:, i], i][-size:].sum() for i in range(trials)]
    np.testing.assert_allclose(states.pulls.total[1], wanted, rtol=1e-12)


def test_a_row_takes_the_place_of_another(rng):
    rows = history.empty(4, {"x": jnp.zeros(2), "n": jnp.int32(0)})
    given = [{"x": jnp.asarray(rng.normal(size=2)), "n": jnp.int32(i + 1)} for i in range(7)]
    for t, row in enumerate(given):
        old, rows = history.exchange(rows, t, row)
        assert int(old["n"]) == max(0, t - 3)
        np.testing.assert_array_equal(old["x"], given[t - 4]["x"] if t >= 4 else np.zeros(2))
