"""Counts, places and lookups of the groups that a round draws."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.environments.dro import draws
from jaxbandits.types import GroupDecision


@pytest.mark.slow_after_first
@pytest.mark.parametrize("m", [4, 60])
def test_counts_places_and_lookups(m, rng, key):
    """A fixed list and a traced one give the same; rows that are not drawn count nowhere."""
    group, table = rng.integers(0, m, 9), rng.normal(size=(m, 2))
    drawn = rng.random(9) < 0.6

    @jax.jit
    def trace_draws(group, drawn, table):
        decision = GroupDecision(None, None, group, drawn)
        return (
            draws.counts(decision, m),
            draws.places(decision, m),
            draws.per_group(table[:, 0], group),
            draws.rows_of(table, group),
            draws.groups_exist(group, m),
            draws.groups_exist(group + m - 1, m),
        )

    every, fixed = np.ones(9, bool), GroupDecision(None, None, group)
    for mask in (every, drawn):
        got = trace_draws(group, mask, table)
        np.testing.assert_array_equal(got[0], np.bincount(group[mask], minlength=m))
        before = [np.sum(mask[:k] & (group[:k] == group[k])) for k in range(9)]
        np.testing.assert_array_equal(got[1], before)
    np.testing.assert_array_equal(got[2], table[group, 0])
    np.testing.assert_array_equal(got[3], table[group])
    assert got[4] and got[5] == (group.max() == 0)
    np.testing.assert_array_equal(draws.counts(fixed, m), np.bincount(group, minlength=m))
    np.testing.assert_array_equal(draws.places(fixed, m), trace_draws(group, every, table)[1])
    np.testing.assert_array_equal(draws.per_group(table[:, 0], group), table[group, 0])
    np.testing.assert_array_equal(draws.rows_of(jnp.asarray(table), group), table[group])
    over_trials = jax.vmap(trace_draws, (0, None, None))(np.stack([group, group[::-1]]), every, table)
    np.testing.assert_array_equal(over_trials[0][1], np.bincount(group, minlength=m))
    np.testing.assert_array_equal(over_trials[3][1], table[group[::-1]])
