"""Position-based clicks: laws of the clicks, regret by hand, the best list, bad input."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats as st

from jaxbandits import from_spec, to_spec
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import as_arrays
from jaxbandits.combinatorial import PositionClicks
from jaxbandits.types import IndexObs, SetDecision

ATTRACTION, EXAMINATION = np.array([0.2, 0.9, 0.4, 0.6]), np.array([0.9, 0.5])


def test_clicks_are_independent_products_of_attraction_and_examination(key):
    env = as_arrays(PositionClicks.from_probabilities(ATTRACTION, EXAMINATION))
    state = env.init(key)
    one, other = (int(np.flatnonzero(np.isclose(state.attraction, w))[0]) for w in (0.9, 0.4))
    decision = SetDecision(jnp.array([other, one], jnp.int32))
    step = jax.jit(jax.vmap(lambda k: env.step(k, None, state, IndexObs.of(4), decision)[1:]))
    feedback, outcome = jax.tree.map(np.asarray, step(jax.random.split(key, 6_000)))
    means = np.array([0.9 * 0.4, 0.5 * 0.9])
    counts = np.array([[(feedback.reward == [a, b]).all(axis=1).sum() for b in (0, 1)] for a in (0, 1)])
    wanted = 6_000 * np.outer([1 - means[0], means[0]], [1 - means[1], means[1]])
    assert st.chisquare(counts.ravel(), wanted.ravel()).pvalue > 1e-4
    np.testing.assert_array_equal(feedback.total, feedback.reward.sum(axis=1))
    np.testing.assert_array_equal(outcome.clicks, feedback.total)
    np.testing.assert_allclose(outcome.regret, 0.9 * 0.9 + 0.5 * 0.6 - means.sum())
    assert not hasattr(feedback, "seen")


@pytest.mark.parametrize("examination", [[0.9, 0.5], [0.5, 0.9], [0.4, 0.4], [0.0, 1.0], [0.7]])
def test_the_best_list_is_the_best_of_all(examination, key):
    env = as_arrays(PositionClicks.from_probabilities(ATTRACTION, examination))
    state = env.init(key)
    np.testing.assert_allclose(np.sort(state.attraction), np.sort(ATTRACTION))
    best = max(np.dot(examination, order) for order in itertools.permutations(ATTRACTION, len(examination)))
    np.testing.assert_allclose(state.best, best)


def test_a_place_without_an_item_is_never_clicked(key):
    env = as_arrays(PositionClicks.from_probabilities(np.ones(3), np.ones(2)))
    decision = SetDecision(jnp.array([-1, 0], jnp.int32))
    _, feedback, outcome = env.step(key, None, env.init(key), IndexObs.of(3), decision)
    assert feedback.reward.tolist() == [0.0, 1.0] and outcome.regret == 1.0


def test_specifications_round_trip():
    for env in (PositionClicks.from_probabilities(ATTRACTION, EXAMINATION), PositionClicks.example()):
        again = from_spec(to_spec(env))
        assert type(again) is PositionClicks and to_spec(again) == to_spec(env)


def test_wrong_arguments():
    for make, said in (
        (lambda: PositionClicks.from_probabilities([0.1], [0.5, 0.4]), "list_size must be at most n_items=1, got 2"),
        (lambda: PositionClicks.from_probabilities([0.1, 1.2], [0.5]), "attraction"),
        (lambda: PositionClicks.from_probabilities([0.1, 0.2], [1.5]), "examination"),
        (lambda: as_arrays(PositionClicks(n_items=3, list_size=2, examination=np.ones(3))), r"must have shape \[2\]"),
    ):
        with pytest.raises(InputError, match=said):
            made = make()
            made.check()
