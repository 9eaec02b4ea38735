"""`best_arm`: the three forms of an arm set choose alike, ties go to the first arm, NaN and masked arms lose."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.core import linalg
from jaxbandits.core.errors import InputError
from jaxbandits.core.linalg import Vec
from jaxbandits.estimation.arms import best_arm, best_scored, largest, stacked

NAN, INF = np.nan, np.inf


def forms(arms):
    """`[K, d]` as unrolled vectors, as one `Vec` with leaves `[K]`, as an array: with the mask form that goes along."""
    arms = jnp.asarray(arms)
    yield tuple(linalg.vectors(arm) for arm in arms), tuple
    yield Vec([arms[:, i] for i in range(arms.shape[1])]), jnp.asarray
    yield arms, jnp.asarray


def expected_index(scores, mask):
    """By sorting on (available, a number, score), first index last: a formulation of its own."""
    keys = [
        (bool(ok), not np.isnan(s), -INF if np.isnan(s) else s, -k)
        for k, (s, ok) in enumerate(zip(scores, mask, strict=True))
    ]
    return -max(keys)[-1]


def choose(scores, mask=None):
    """What every form plays when arm k has score `scores[k]` (the second coordinate is the arm's number)."""
    arms = np.stack([np.asarray(scores, float), 100.0 + np.arange(len(scores))], axis=1)
    chosen = []
    for arm_set, mask_form in forms(arms):
        first = jnp.array([1.0, 0.0])
        theta = first if isinstance(arm_set, jax.Array) else linalg.vectors(first)
        decision = best_arm(arm_set, None if mask is None else mask_form(np.asarray(mask)), lambda x: x @ theta)  # noqa: B023
        assert decision.index.dtype == jnp.int32
        played = np.asarray(linalg.dense(decision.x))
        assert played[1] == 100.0 + int(decision.index)  # index and vector belong to the same arm
        chosen.append(int(decision.index))
    return chosen


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
    assert choose(scores, mask) == [index] * 3


def test_random_scores_with_ties_nans_and_masks(rng):
    for _ in range(40):
        n_arms = int(rng.integers(1, 9))
        scores = rng.integers(-2, 3, n_arms).astype(float)
        scores[rng.random(n_arms) < 0.3] = NAN
        mask = rng.random(n_arms) < 0.7
        mask[rng.integers(n_arms)] = True
        assert choose(scores, mask) == [expected_index(scores, mask)] * 3
        assert choose(scores) == [expected_index(scores, [True] * n_arms)] * 3


def test_batched_trials_agree_with_a_loop(rng):
    """Under vmap, with more arms than one barrier group of the unrolled form holds, and a quadratic score."""
    trials, n_arms, dim = 6, 30, 5
    arms = jnp.asarray(rng.standard_normal((trials, n_arms, dim)))
    theta = jnp.asarray(rng.standard_normal((trials, dim)))
    mask = jnp.asarray(rng.random((trials, n_arms)) < 0.5).at[:, 0].set(True)
    scores = np.einsum("skd,sd->sk", arms, theta) + np.einsum("skd,skd->sk", arms, arms)
    expected = np.argmax(np.where(mask, scores, -np.inf), axis=1)

    def unrolled(arms, mask, theta):
        theta = linalg.vectors(theta)
        return best_arm(tuple(map(linalg.vectors, arms)), tuple(mask), lambda x: x @ theta + x @ x).index

    def columns(arms, mask, theta):
        theta = linalg.vectors(theta)
        return best_arm(linalg.vectors(arms), mask, lambda x: x @ theta + x @ x).index

    def array(arms, mask, theta):
        return best_arm(arms, mask, lambda x: x @ theta + x @ x).index

    for form in (unrolled, columns, array):
        np.testing.assert_array_equal(jax.jit(jax.vmap(form))(arms, mask, theta), expected)


def test_largest():
    values = [jnp.asarray(v) for v in (1.0, 3.0, 2.0)]
    for form, mask_form in ((values, tuple), (jnp.stack(values), jnp.asarray)):
        assert largest(form) == 3.0
        assert largest(form, mask_form(np.array([True, False, True]))) == 2.0


@pytest.mark.parametrize("d", [2, 14])
def test_every_form_of_arms_is_stacked(d, rng):
    X = jnp.asarray(rng.normal(size=(4, d)))
    for arms in (linalg.vectors(X), tuple(linalg.vectors(x) for x in X)):
        np.testing.assert_array_equal(linalg.dense(stacked(arms, 4)), X)
        with pytest.raises(InputError, match="shows 4 arms, but the learner has n_arms=7"):
            stacked(arms, 7)


def test_best_scored():
    """The first of equal ones, NaN last, masked arms never, whatever form the mask has."""
    X = jnp.asarray([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [0.2, 0.1]])
    arms, nan = linalg.vectors(X), jnp.nan

    def played(scores, mask=None):
        decision = best_scored(arms, mask, jnp.asarray(scores))
        np.testing.assert_array_equal(linalg.dense(decision.x), X[decision.index])
        return int(decision.index)

    assert played([0.0, 2.0, 2.0, 1.0]) == 1
    assert played([nan, -5.0, nan, -7.0]) == 1
    assert played([nan, nan, nan, nan]) == 0
    mask = jnp.asarray([False, False, True, True])
    for given in (mask, tuple(mask)):
        assert played([3.0, 2.0, 1.0, 0.0], given) == 2
        assert played([3.0, 2.0, nan, nan], given) == 2
