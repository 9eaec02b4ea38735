"""K-armed learners on recorded rewards of all arms, with arms that are not always available."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.types import IndexObs, Reward


@functools.partial(jax.jit, static_argnames="seen")
def play(learner, rewards, mask, key, seen):
    """The decisions of a run, and `seen(learner, key, t, state)` before every round, with a leading axis `[T]`."""

    def round_(state, row):
        t, paid, mask = row
        obs, now = IndexObs.of(len(paid), mask), jax.random.fold_in(key, t)
        decision = learner.select(now, t, state, obs)
        before = seen(learner, now, t, state)
        state = learner.update(now, t, state, obs, decision, Reward(paid[decision.index]))
        return state, (decision, before)

    rows = (jnp.arange(len(rewards), dtype=jnp.int32), rewards, mask)
    return jax.lax.scan(round_, learner.init(key), rows)[1]


def index(learner, key, t, state):
    """Return the indices that an index policy compares."""
    return learner.index(key, t, state)


def weights(learner, key, t, state):
    """Return the probabilities that a sampled policy draws from where all arms are available."""
    del key
    return learner.weights(t, state.losses)


def compare_with_reference(learner, reference, rewards, mask, key, seen, close=1e-9):
    """Assert that a learner plays what its reference plays, and computes the same numbers before every round.

    The reference is told what the learner played, so that each round is compared from the same past.
    """
    decisions, found = play(learner, rewards, mask, key, seen)
    for t, (arm, before) in enumerate(zip(np.asarray(decisions.index), np.asarray(found), strict=True)):
        wanted = reference.index(t)
        counts = np.isfinite(wanted)
        np.testing.assert_allclose(before[counts], wanted[counts], rtol=close, atol=close, err_msg=f"round {t}")
        assert mask[t, arm], f"round {t}"
        if seen is index:
            assert wanted[arm] >= wanted[mask[t]].max() - close, f"round {t}"
        probability = None if decisions.probability is None else float(decisions.probability[t])
        reference.update(arm, rewards[t, arm], probability, mask[t])
    return decisions, found
