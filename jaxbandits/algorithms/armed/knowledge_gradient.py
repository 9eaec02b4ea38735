"""Knowledge gradient for Bernoulli rewards (Ryzhov, Powell & Frazier, Operations Research 2012).

    m_k = a_k / n_k,  n_k = a_k + b_k,   posterior Beta(a_k, b_k);   c_k = max_{j != k} m_j
    v_k = m_k max((a_k + 1) / (n_k + 1), c_k) + (1 - m_k) max(a_k / (n_k + 1), c_k) - max_j m_j
    play  argmax_k m_k + (T - t) v_k,   t = 1, 2, ..., T

v_k is the expected gain per later round from observing one reward of arm k. The cost per round is $O(K)$.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.armed.beta_posterior import BetaPosterior
from jaxbandits.algorithms.armed.index_policy import Pulls
from jaxbandits.base.pytree import ArrayLike, param, pytree


@pytree
class KnowledgeGradient(BetaPosterior):
    """Knowledge-gradient policy for rewards in {0, 1}, with an exact one-step lookahead.

    Guarantee:
      None. If no single reward can change the best arm, the policy stops exploring, so that its regret has a heavy
      tail.

    Deviations:
      * [ours] A reward between 0 and 1 counts as a fractional success; rewards outside [0, 1] are clipped. The maxima
        include unavailable arms. Ties go to the first arm.

    References:
      Ilya Ryzhov, Warren Powell, Peter Frazier. The Knowledge Gradient Algorithm for a General Class of Online Learning
      Problems. Operations Research 60(1), 2012.
    """

    source: ClassVar[str] = "Ryzhov, Powell & Frazier, Operations Research 2012"
    horizon: ArrayLike = param(1000.0, "[1, inf)", "T, number of rounds")

    @classmethod
    def example(cls) -> "KnowledgeGradient":
        return cls(n_arms=5)

    def index(self, key: jax.Array, t: jax.Array, state: Pulls) -> jax.Array:
        del key
        success, failure = self.posterior(state)
        after = 1.0 / (success + failure + 1.0)
        mean = success / (success + failure)
        is_self = jnp.eye(self.n_arms, dtype=bool)
        rival = jnp.max(jnp.where(is_self, 0.0, mean), axis=1)
        # Gains over max_j m_j after a reward of 1 and of 0; a difference of two expectations would have errors of 1e-7.
        best = jnp.maximum(mean, rival)
        up = jnp.maximum((success + 1.0) * after, rival) - best
        down = jnp.maximum(success * after, rival) - best
        gain = jnp.maximum(mean * up + (1.0 - mean) * down, 0.0)
        return mean + jnp.maximum(self.horizon - 1.0 - t.astype(mean.dtype), 0.0) * gain
