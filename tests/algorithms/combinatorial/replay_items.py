"""Learners of lists and sets on recorded rewards of all items, seen up to a recorded place."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.types import IndexObs, ItemRewards


@functools.partial(jax.jit, static_argnames="cascade")
def play(learner, rewards, mask, key, cascade):
    """The decisions, feedback and indices of a run, with a leading axis `[T]`.

    With `cascade` items are seen up to the first with a reward above 1/2, otherwise all of them are.
    """

    def round_(state, row):
        t, paid, mask = row
        obs, now = IndexObs.of(len(paid), mask), jax.random.fold_in(key, t)
        decision = learner.select(now, t, state, obs)
        index = learner.index(now, t, state)
        is_item = decision.items >= 0
        reward = jnp.where(is_item, paid[jnp.maximum(decision.items, 0)], 0.0)
        before = jnp.cumsum(reward > 0.5) - (reward > 0.5)
        seen = is_item & ((before == 0) | (not cascade))
        feedback = ItemRewards(jnp.where(seen, reward, 0.0), seen)
        state = learner.update(now, t, state, obs, decision, feedback)
        return state, (decision, feedback, index)

    rows = (jnp.arange(len(rewards), dtype=jnp.int32), rewards, mask)
    return jax.lax.scan(round_, learner.init(key), rows)[1]


def compare_with_reference(learner, reference, choose, rewards, mask, key, cascade, close=1e-9):
    """Assert that indices are those of the reference before every round, and the choice is best for them.

    Args:
      learner: the learner.
      reference: its reference, which receives what the learner saw.
      choose: from indices `[L]` and a mask `[L]` to the items of a best set.
      rewards: `[T, L]`.
      mask: `[T, L]`.
      key: of the run.
      cascade: see `play`.
      close: tolerance of indices, relative and absolute.
    """
    decisions, feedback, found = jax.tree.map(np.asarray, play(learner, rewards, mask, key, cascade))
    for t, items in enumerate(decisions.items):
        wanted = reference.index(t)
        counts = np.isfinite(wanted)
        np.testing.assert_allclose(found[t][counts], wanted[counts], rtol=close, atol=close, err_msg=f"round {t}")
        chosen = items[items >= 0]
        assert len({*chosen}) == len(chosen) and mask[t][chosen].all(), f"round {t}"
        best = choose(np.where(counts, wanted, 1e6), mask[t])
        assert len(best) == len(chosen), f"round {t}"
        ours, theirs = (np.where(counts, wanted, 1e6)[list(x)] for x in (chosen, best))
        if cascade:
            np.testing.assert_allclose(ours, theirs, atol=close, err_msg=f"round {t}")
        np.testing.assert_allclose(ours.sum(), theirs.sum(), atol=len(chosen) * close, err_msg=f"round {t}")
        reference.update(items, feedback.reward[t], feedback.seen[t])
    return decisions, feedback
