"""SW-UCB: UCB on a sliding window, for non-stationary rewards (Garivier & Moulines, ALT 2011).

    N_i, m_i   plays and mean reward of arm i in the last tau rounds
    play       argmax_i  m_i + B sqrt(xi log(min(t, tau)) / N_i),   arms without plays in the window first

The policy plays this arm after t rounds. Notation: tau is the field `window`, B is `reward_bound` and xi is `xi`. The
cost per round is $O(K)$ on average, and the memory is $O(K + tau)$.
"""

import math
from typing import ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.armed.index_policy import log_rounds
from jaxbandits.algorithms.armed.window_policy import WindowPolicy, WindowState
from jaxbandits.base import ranges
from jaxbandits.base.pytree import ArrayLike, FieldValue, param, pytree


@pytree
class SWUCB(WindowPolicy):
    """UCB on the rewards of the last tau rounds.

    Guarantee:
      If rewards are independent and in [0, B], their means change at most C times in T rounds, xi > 1/2 and tau is set
      as in `theory`, then a suboptimal arm is played $O(sqrt(C T log T))$ times in expectation.

    Deviations:
      * [ours] Ties go to the first arm.

    References:
      Aurelien Garivier, Eric Moulines. On Upper-Confidence Bound Policies for Switching Bandit Problems. ALT 2011,
      arXiv:0805.3415.
    """

    source: ClassVar[str] = "Garivier & Moulines, ALT 2011, SW-UCB"
    reward_bound: ArrayLike = param(1.0, "(0, inf)", "B, upper end of the interval [0, B] of the rewards")
    xi: ArrayLike = param(0.6, "[0, inf)", "xi, factor of the exploration; above 1/2 in the theory")

    @classmethod
    def theory(
        cls, *, n_arms: int, horizon: int, changes: int, reward_bound: float = 1.0, **fields: FieldValue
    ) -> "SWUCB":
        """Use tau = 2 B sqrt(T log T / C), rounded up, for C changes in T rounds."""
        horizon = ranges.integer("horizon", horizon, "[1, 1000000000000]")
        rounds = horizon * math.log(horizon) / ranges.integer("changes", changes, f"[1, {horizon}]")
        window = 2.0 * ranges.real("reward_bound", reward_bound, "(0, 1e6]") * math.sqrt(rounds)
        return cls(**{"n_arms": n_arms, "window": max(1, math.ceil(window)), "reward_bound": reward_bound} | fields)

    @classmethod
    def example(cls) -> "SWUCB":
        return cls(n_arms=5, window=20)

    def index(self, key: jax.Array, t: jax.Array, state: WindowState) -> jax.Array:
        del key
        pulls, log_window = state.pulls, log_rounds(jnp.minimum(t, self.window))
        return pulls.mean + self.reward_bound * jnp.sqrt(self.xi * log_window / pulls.positive_count)
