"""Knowledge gradient for Bernoulli rewards (Ryzhov, Powell & Frazier, Operations Research 2012).

    m_k = a_k / n_k,  n_k = a_k + b_k,   posterior Beta(a_k, b_k);   c_k = max_{j != k} m_j
    v_k = m_k max((a_k + 1) / (n_k + 1), c_k) + (1 - m_k) max(a_k / (n_k + 1), c_k) - max_j m_j
    play  argmax_k m_k + (T - t) v_k,   t = 1, 2, ..., T

v_k is the expected gain per later round from observing one reward of arm k. The formula is evaluated in the form

    v_k = max(0, min(m_k ((a_k + 1) / (n_k + 1) - c_k), (1 - m_k) (c_k - a_k / (n_k + 1)))),

which is the same because the mean of arm k after one more reward has the expectation m_k. Both differences are computed
from the counts without cancellation, since v_k is of size 1 / n_k. The cost per round is $O(K)$.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.armed.beta_posterior import BetaPosterior
from jaxbandits.algorithms.armed.index_policy import Pulls
from jaxbandits.base.pytree import ArrayLike, param, pytree
from jaxbandits.numerics import first_axis
from jaxbandits.numerics.products import difference_of_products, power_below


@pytree
class KnowledgeGradient(BetaPosterior):
    """Knowledge-gradient policy for rewards in {0, 1}, with an exact one-step lookahead.

    Guarantee:
      None. If no single reward can change which arm has the largest posterior mean, the policy stops exploring, so that
      its regret has a heavy tail.

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
        mean = success / (success + failure)
        gain = self.gain(success, failure)
        return mean + jnp.maximum(self.horizon - 1.0 - t.astype(mean.dtype), 0.0) * gain

    def gain(self, success: jax.Array, failure: jax.Array) -> jax.Array:
        """Return v_k `[K]` from the parameters `[K]` of the posteriors."""
        if self.n_arms == 1:
            return jnp.zeros_like(success)
        arms = jnp.arange(self.n_arms)

        def parameters(is_chosen: jax.Array) -> tuple[jax.Array, jax.Array]:
            """Return both parameters `[]` of the arm in a mask `[K]`."""
            return jnp.sum(jnp.where(is_chosen, success, 0.0)), jnp.sum(jnp.where(is_chosen, failure, 0.0))

        # The arm with the largest rounded mean is the best arm or very close to it, so that the means relative to it
        # tell the best arm and the second best.
        mean = success / (success + failure)
        relative = _difference(success, failure, *parameters(arms == first_axis.argmax(mean)))
        is_best = arms == first_axis.argmax(relative)
        is_second = arms == first_axis.argmax(jnp.where(is_best, -jnp.inf, relative))
        pairs = zip(parameters(is_second), parameters(is_best), strict=True)
        rival = [jnp.where(is_best, second, best) for second, best in pairs]  # of every arm
        up, down = _difference(success + 1.0, failure, *rival), _difference(success, failure + 1.0, *rival)
        return jnp.maximum(jnp.minimum(mean * up, failure / (success + failure) * -down), 0.0)


def _difference(a: jax.Array, b: jax.Array, c: jax.Array, d: jax.Array) -> jax.Array:
    """Return a / (a + b) - c / (c + d) without cancellation."""
    scale, other_scale = power_below(a + b), power_below(c + d)  # with them, products of counts do not overflow
    product = (a + b) / scale * ((c + d) / other_scale)
    return difference_of_products(a / scale, d / other_scale, b / scale, c / other_scale) / product
