"""Teams on recorded rewards, with collisions that are true, hidden or made up."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.types import IndexObs, PlayerRewards, TeamDecision

K, ROUNDS = 4, 700
MEANS = np.array([0.05, 0.95, 0.9, 0.1])
FEEDBACK = {  # what the environment does with rewards and collisions
    "true": lambda rng: (rng.uniform(size=(ROUNDS, K)) < MEANS, None),
    "zero": lambda rng: (np.zeros((ROUNDS, K)), None),
    "ones": lambda rng: (np.ones((ROUNDS, K)), None),
    "hidden": lambda rng: (rng.uniform(size=(ROUNDS, K)) < MEANS, "hidden"),  # a collision shows by a lost reward
    "random": lambda rng: (rng.uniform(size=(ROUNDS, K)) < 0.5, rng.uniform(size=(ROUNDS, K)) < 0.3),
    "always": lambda rng: (rng.uniform(size=(ROUNDS, K)) < 0.5, np.ones((ROUNDS, K))),
    "fractions": lambda rng: (rng.beta(8.0 * MEANS, 8.0 * (1.0 - MEANS), (ROUNDS, K)), None),
    "wide": lambda rng: (rng.normal(size=(ROUNDS, K)) * 3.0, None),  # rewards outside [0, 1]
}


@jax.jit
def play(learner, coins, flags, is_hidden, key):
    """Return states before every round and after the last, and the feedback, for coins `[T, K]`.

    `flags` `[T, K]` replace the collisions of the player of the same number where they are not NaN.
    """
    obs = IndexObs.of(K)

    def round_(state, row):
        t, coin, flag = row
        index = learner.select(None, t, state, obs).index
        truth = jnp.where(jnp.sum(index[:, None] == index, axis=1) > 1, 1.0, 0.0)
        met = jnp.where(jnp.isnan(flag[: len(index)]), truth, flag[: len(index)])
        sensed = coin[index]
        met = jnp.where(is_hidden, met * (sensed > 0.0), met)
        feedback = PlayerRewards(sensed, sensed * (1.0 - met), met)
        after = learner.update(jax.random.fold_in(key, t), t, state, obs, TeamDecision(index), feedback)
        return after, (after, index, feedback)

    start = learner.init(key)
    after, index, feedback = jax.lax.scan(round_, start, (jnp.arange(len(coins), dtype=jnp.int32), coins, flags))[1]
    return jax.tree.map(lambda a, b: jnp.concatenate([a[None], b]), start, after), index, feedback


def run(learner, feedback, rng, key):
    coins, flags = FEEDBACK[feedback](rng)
    is_hidden = isinstance(flags, str)
    flags = np.full((ROUNDS, K), np.nan) if flags is None or is_hidden else np.asarray(flags, float)
    return jax.tree.map(np.asarray, play(learner, np.asarray(coins, float), flags, is_hidden, key))
