"""Abstract learner that identifies the best arm: an index policy that stops and recommends an arm.

Several stopping rules use `evidence`, the logarithm of the generalised likelihood ratio of the empirically best arm
against its closest competitor (Garivier & Kaufmann, COLT 2016, Section 3.2):

    Z = min_{b != a} T_a kl(m_a, m_ab) + T_b kl(m_b, m_ab),   m_ab the mean reward of a and b,   a = argmax_i m_i
"""

import abc

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.armed.index_policy import IndexPolicy, Pulls
from jaxbandits.base.pytree import ArrayLike, pytree
from jaxbandits.numerics import bernoulli, first_axis
from jaxbandits.types import State


@pytree
class Identification(IndexPolicy):
    """Abstract learner for rewards in [0, 1] that recommends the arm with the largest mean; ties go to the first arm.

    Arms without plays are not recommended once an arm has been played. Until every arm has been played, a learner with
    fixed confidence does not stop, since an arm that was never available may be the best one.

    The metrics of a run include `regret` (the sum over its plays), `stopping_time` (the number of plays) and `correct`
    (1 if the recommended arm is a best arm, else 0).
    """

    @abc.abstractmethod
    def stopped(self, state: State) -> jax.Array:
        """Return whether the best arm is identified, a bool `[]`."""

    def recommend(self, state: State) -> jax.Array:
        """Return the index `[]` of the recommended arm."""
        return best_mean(self.pulls(state))

    def pulls(self, state: State) -> Pulls:
        """Return the counts and sums of the rewards that the state holds."""
        return state


def best_mean(pulls: Pulls) -> jax.Array:
    """Return the arm `[]` with the largest mean reward; arms without plays rank last."""
    mean = pulls.mean
    return first_axis.argmax(jnp.where(pulls.count > 0.0, mean, jnp.finfo(mean.dtype).min))


def evidence(pulls: Pulls) -> jax.Array:
    """Return Z `[]`: 0 while an arm has not been played, and inf for a single arm after it has been played.

    Means are clipped to [0, 1].
    """
    mean = jnp.clip(pulls.mean, 0.0, 1.0)
    best = best_mean(pulls)
    count, top = pulls.count[best], mean[best]
    share = pulls.count / jnp.maximum(pulls.count + count, 1.0)
    gap = top - mean
    ratio = count * bernoulli.divergence(jnp.full_like(mean, top), -share * gap)
    # The divergence of an arm without plays is infinite if the best mean is 1, and must not be multiplied by 0.
    own = jnp.where(pulls.count > 0.0, bernoulli.divergence(mean, (1.0 - share) * gap), 0.0)
    ratio = ratio + pulls.count * own
    return jnp.min(jnp.where((jnp.arange(len(mean)) == best) & (count > 0.0), jnp.inf, ratio))


def practical_threshold(rounds: jax.Array, delta: ArrayLike) -> jax.Array:
    """Return `log((log t + 1) / delta)` `[]` after t rounds, as in the experiments of Garivier and Kaufmann."""
    return jnp.log((jnp.log(jnp.maximum(rounds, 1.0)) + 1.0) / delta)


def theory_threshold(rounds: jax.Array, delta: ArrayLike, n_arms: int) -> jax.Array:
    """Return `log(2 t (K - 1) / delta)` `[]` after t rounds (Garivier & Kaufmann, Theorem 10)."""
    return jnp.log(2.0 * jnp.maximum(rounds, 1.0) * max(n_arms - 1, 1) / delta)
