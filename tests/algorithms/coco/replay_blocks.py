"""Learners with constraints on feedback given beforehand, whatever they play: states after each round, by one scan."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.pytree import as_arrays
from jaxbandits.types import Constrained, ConstrainedValue, narrow
from tests.algorithms.coco import invariants

KEY = jax.random.key(0)


@jax.jit
def _rounds(algorithm, feedbacks, directions):
    def round_(state, row):
        t, feedback, u = row
        if u is not None:
            state = state._replace(direction=u)
        decision = algorithm.select(KEY, t, state, None)
        state = algorithm.update(KEY, t, state, None, decision, narrow(feedback, algorithm.feedback))
        return state, (decision, state, algorithm.diagnostics(state))

    t = jnp.arange(len(feedbacks.con), dtype=jnp.int32)
    return jax.lax.scan(round_, algorithm.init(KEY), (t, feedbacks, directions))[1]


def _run(algorithm, feedbacks, directions):
    return jax.tree.map(np.asarray, _rounds(as_arrays(algorithm), feedbacks, directions))


def replay(algorithm, dfs, gs, dgs):
    """Decisions, states and diagnostics for gradients of losses and values and gradients of constraints, a row each."""
    dfs, gs, dgs = (jnp.asarray(a)[:, None] for a in (dfs, gs, dgs))
    decision, state, told = _run(algorithm, Constrained(jnp.zeros_like(gs), dfs, gs, dgs), None)
    invariants.check(algorithm, decision.play, None, state, told)
    return decision, state, told


def replay_bandit(algorithm, us, fs, gs):
    """The same for directions [T, ...] and values [T, Q] (or [T]) of losses and constraints."""
    fs, gs = (jnp.asarray(a).reshape(len(us), -1) for a in (fs, gs))
    decision, state, told = _run(algorithm, ConstrainedValue(fs, gs), jnp.asarray(us))
    asked = decision.query.reshape(-1, *decision.play.shape[1:])
    invariants.check(algorithm, asked, (state.run if hasattr(state, "run") else state.last).x, state, told)
    return decision, state, told


def known_trace():
    """Twelve rounds in the plane for which numbers were recorded from another implementation."""
    t = np.arange(1, 13)
    return np.stack([np.cos(t), np.sin(2 * t)], axis=1), 0.8 * np.sin(1.3 * t), np.tile([1.0, -0.5], (12, 1))


def known_bandit_trace():
    """Sixteen rounds of bandit feedback, likewise."""
    t = np.arange(16)
    us = np.stack([np.cos(2 * np.pi * t / 7), np.sin(2 * np.pi * t / 7)], axis=1)
    return us, 0.5 + 0.4 * np.sin(t), 0.3 * np.cos(1.7 * t)


def random_trace(rng, shape, rounds):
    """Gradients with a drift, of length 1 at most; constraint values of both signs."""
    dfs, dgs = rng.normal(size=(2, rounds, *shape)) + rng.normal(size=shape)
    scale = [np.sqrt((a**2).reshape(rounds, -1).sum(1)).max() for a in (dfs, dgs)]
    return dfs / scale[0], rng.normal(0.1, 0.5, rounds), dgs / scale[1]


def random_bandit_trace(rng, shape, rounds, queries=1):
    """Directions, and values of losses and constraints that depend on them a little."""
    us = rng.normal(size=(rounds, *shape))
    us /= np.sqrt((us**2).reshape(rounds, -1).sum(1)).reshape(-1, *[1] * len(shape))
    slope, normal = rng.normal(size=(2, *shape))
    signs = np.array([1.0, -1.0])[:queries]

    def values(vector, noise):
        along = (us * vector).reshape(rounds, -1).sum(1)
        return 0.3 * along[:, None] * signs + noise * rng.normal(0.1, 1.0, rounds)[:, None]

    return us, values(slope, 0.3), values(normal, 0.4)
