"""Learners of lists and sets in float32: close to the float64 references."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.combinatorial import CascadeKLUCB, CascadeUCB1
from tests.algorithms.combinatorial.replay_items import play
from tests.reference import combinatorial as reference

ROUNDS, L = 300, 6
CASES = {
    "cascade_ucb1": (CascadeUCB1(n_items=L, list_size=3), lambda: reference.UCB1(L, exploration=1.5)),
    "cascade_kl_ucb": (CascadeKLUCB(n_items=L, list_size=3), lambda: reference.KLUCB(L, c=3.0)),
}


@pytest.mark.parametrize("name", CASES)
def test_indices_are_close_to_the_reference(name, rng, key):
    learner, make = CASES[name]
    theirs = make()
    rewards = (rng.uniform(size=(ROUNDS, L)) < [0.6, 0.5, 0.4, 0.2, 0.1, 0.0]).astype(np.float32)
    decisions, feedback, found = play(learner, rewards, np.ones((ROUNDS, L), bool), key, True)
    assert found.dtype == jnp.float32
    for t, items in enumerate(np.asarray(decisions.items)):
        wanted = theirs.index(t)
        counts = np.isfinite(wanted)
        np.testing.assert_allclose(np.asarray(found[t])[counts], wanted[counts], rtol=1e-4, atol=1e-4)
        theirs.update(items, np.asarray(feedback.reward[t]), np.asarray(feedback.seen[t]))
