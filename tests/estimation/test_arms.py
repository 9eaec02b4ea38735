"""`best_arm` and its like: ties go to the first arm, NaN and masked arms lose."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.base.errors import InputError
from jaxbandits.estimation.arms import (
    best_arm,
    check_count,
    choose_best,
    greedy_weights,
    largest,
    nearest_arm,
    optimistic_arm,
)

NAN, INF = np.nan, np.inf


def expected_index(scores, mask):
    """By sorting on (available, a number, score), first index last: a formulation of its own."""
    keys = [
        (bool(ok), not np.isnan(s), -INF if np.isnan(s) else s, -k)
        for k, (s, ok) in enumerate(zip(scores, mask, strict=True))
    ]
    return -max(keys)[-1]


@jax.jit  # once for each number of arms
def best_of_scores(arms, mask):
    return best_arm(arms, mask, lambda x: x[0])


def choose(scores, mask=None):
    """What is played when arm k has score `scores[k]` (the second coordinate is the arm's number)."""
    arms = jnp.asarray(np.stack([np.asarray(scores, float), 100.0 + np.arange(len(scores))], axis=1))
    decision = best_of_scores(arms, None if mask is None else jnp.asarray(mask))
    assert decision.index.dtype == jnp.int32
    assert decision.x[1] == 100.0 + int(decision.index)  # index and vector belong to the same arm
    return int(decision.index)


CASES = [
    ([0.0, 1.0, 2.0], None),
    ([2.0, 1.0, 0.0], None),
    ([1.0, 2.0, 2.0], None),  # tie: the first of them
    ([3.0, 3.0, 3.0], None),
    ([0.0, -0.0], None),  # equal numbers, a tie
    ([-5.0, -4.0, -6.0], None),
    ([NAN, 1.0, 2.0], None),  # a NaN first, between, last
    ([1.0, NAN, 2.0], None),
    ([2.0, 1.0, NAN], None),
    ([NAN, NAN, -7.0], None),
    ([NAN, -1e300, NAN], None),
    ([NAN, NAN, NAN], None),  # nothing else to choose
    ([INF, 1.0, INF], None),
    ([NAN, INF], None),
    ([0.0], None),
    ([5.0, 1.0, 2.0], [False, True, True]),
    ([5.0, 1.0, 1.0], [False, True, True]),
    ([5.0, NAN, 1.0], [False, True, True]),
    ([5.0, NAN, NAN], [False, False, True]),  # the only arm that may be played, though NaN
    ([NAN, NAN, 0.0], [True, True, False]),
    ([INF, -1e300], [False, True]),
    ([1.0, NAN, 3.0, 2.0], [True, True, False, True]),
]


@pytest.mark.parametrize(("scores", "mask"), CASES)
def test_cases(scores, mask):
    index = expected_index(scores, [True] * len(scores) if mask is None else mask)
    assert choose(scores, mask) == index


def test_random_scores_with_ties_nans_and_masks(rng):
    for _ in range(40):
        n_arms = int(rng.choice([1, 2, 7, 200]))  # 200: rounds of a knock-out
        scores = rng.integers(-2, 3, n_arms).astype(float)
        scores[rng.random(n_arms) < 0.3] = NAN
        mask = rng.random(n_arms) < 0.7
        mask[rng.integers(n_arms)] = True
        assert choose(scores, mask) == expected_index(scores, mask)
        assert choose(scores) == expected_index(scores, [True] * n_arms)


@pytest.mark.slow_after_first
@pytest.mark.parametrize("n_arms", [30, 131])
def test_batched_trials_agree_with_a_loop(n_arms, rng):
    """Under vmap, with a quadratic score; in NumPy's words, in the library's, and for the arms of an ellipsoid."""
    trials, dim = 6, 5
    arms = jnp.asarray(rng.standard_normal((trials, n_arms, dim)))
    theta = jnp.asarray(rng.standard_normal((trials, dim)))
    mask = jnp.asarray(rng.random((trials, n_arms)) < 0.5).at[:, 0].set(True)
    scores = np.einsum("skd,sd->sk", arms, theta) + np.einsum("skd,skd->sk", arms, arms)

    def textbook(arms, mask, theta):
        return best_arm(arms, mask, lambda x: x @ theta + x @ x)

    def library(arms, mask, theta):
        return best_arm(arms, mask, lambda x: x @ theta + x @ x)

    def nearest(arms, mask, theta):
        return nearest_arm(arms, mask, theta)

    def optimistic(arms, mask, theta):
        return optimistic_arm(arms, mask, theta, 4.0 * jnp.eye(dim), 0.5)

    gaps = np.asarray(arms) - np.asarray(theta)[:, None]
    lengths = np.linalg.norm(arms, axis=-1)
    for rule, values in [
        (textbook, scores),
        (library, scores),
        (nearest, -np.einsum("skd,skd->sk", gaps, gaps)),
        (optimistic, np.einsum("skd,sd->sk", arms, theta) + lengths),
    ]:
        decision = jax.jit(jax.vmap(rule))(arms, mask, theta)
        expected = np.argmax(np.where(mask, values, -np.inf), axis=1)
        np.testing.assert_array_equal(decision.index, expected)
        np.testing.assert_array_equal(decision.x, np.asarray(arms)[np.arange(trials), expected])


@pytest.mark.parametrize("n_arms", [3, 200])
def test_largest(n_arms, rng):
    values, mask = rng.standard_normal(n_arms), rng.random(n_arms) < 0.5
    mask[0] = True
    assert largest(jnp.asarray(values)) == values.max()
    assert largest(jnp.asarray(values), jnp.asarray(mask)) == values[mask].max()


def test_a_thousand_arms_make_no_larger_a_program():
    """Their scores are one operation, the choice a few rounds of a knock-out."""

    def lines(n_arms):
        arms, theta, inverse = jnp.zeros((n_arms, 3)), jnp.zeros(3), jnp.eye(3)
        lowered = jax.jit(lambda *args: optimistic_arm(args[0], None, *args[1:])).lower(arms, theta, inverse, 1.0)
        return len(lowered.as_text().splitlines())

    assert lines(1000) - lines(50) < 4 * 50  # 1000 arms are halved four times before all are compared


@pytest.mark.parametrize("scores", [(9.0, -INF, -INF), (9.0, NAN, NAN), (9.0, NAN, 1.0), (9.0, 2.0, NAN)])
def test_greedy_weights_are_on_an_available_arm(scores):
    mask = [False, True, True]
    weights = greedy_weights(jnp.asarray(scores), jnp.asarray(mask))
    np.testing.assert_array_equal(weights, np.arange(3) == expected_index(scores, mask))


def test_check_count():
    check_count(jnp.zeros((4, 2)), 4)
    with pytest.raises(InputError, match="has 4 arms, but the learner has n_arms=7"):
        check_count(jnp.zeros((4, 2)), 7)


def test_best_scored():
    """The first of equal ones, NaN last, masked arms never."""
    X = jnp.asarray([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [0.2, 0.1]])
    arms, nan = X, jnp.nan

    def play(scores, mask=None):
        decision = choose_best(arms, mask, jnp.asarray(scores))
        np.testing.assert_array_equal(decision.x, X[decision.index])
        return int(decision.index)

    assert play([0.0, 2.0, 2.0, 1.0]) == 1
    assert play([nan, -5.0, nan, -7.0]) == 1
    assert play([nan, nan, nan, nan]) == 0
    mask = jnp.asarray([False, False, True, True])
    assert play([3.0, 2.0, 1.0, 0.0], mask) == 2
    assert play([3.0, 2.0, nan, nan], mask) == 2
