"""Learners of duels on recorded outcomes of all pairs, with arms that are not always available."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.types import IndexObs, Preference

PREFERENCES = np.array([[0.5, 0.6, 0.7, 0.4], [0.4, 0.5, 0.9, 0.1], [0.3, 0.1, 0.5, 0.8], [0.6, 0.9, 0.2, 0.5]])


def recorded_duels(rng, kind, rounds):
    """Return whether the row's arm would win `[T, K, K]`, with p_ij + p_ji = 1, and which arms are available."""
    u = np.triu(rng.uniform(size=(rounds, 4, 4)))
    won = (u + np.swapaxes(1.0 - u, 1, 2) * np.tri(4, k=-1) < PREFERENCES).astype(float)
    mask = np.ones((rounds, 4), bool)
    if kind == "masked":
        mask = rng.uniform(size=(rounds, 4)) < 0.6
        mask[np.arange(rounds), rng.integers(4, size=rounds)] = True
    return won, mask


@functools.partial(jax.jit, static_argnames="seen")
def play(learner, won, mask, key, seen):
    """The decisions of a run, and `seen(learner, key, t, state)` before every round, with a leading axis `[T]`."""

    def round_(state, row):
        t, outcome, available = row
        obs, now = IndexObs.of(len(available), available), jax.random.fold_in(key, t)
        decision, before = learner.select(now, t, state, obs), seen(learner, now, t, state)
        feedback = Preference(outcome[decision.first, decision.second])
        return learner.update(now, t, state, obs, decision, feedback), (decision, before)

    rows = (jnp.arange(len(won), dtype=jnp.int32), won, mask)
    return jax.lax.scan(round_, learner.init(key), rows)[1]
