"""SW-kl-UCB: KL-UCB on a sliding window, for non-stationary rewards (Garivier & Moulines, ALT 2011, with kl bounds).

    N_i, m_i   plays and mean reward of arm i in the last tau rounds
    play       argmax_i  max{q in [0, 1] : N_i kl(m_i, q) <= log min(t, tau) + c log log min(t, tau)}

The policy plays this arm after t rounds; arms without plays in the window come first. Notation: tau is the field
`window`. The cost per round is $O(K)$ on average, and the memory is $O(K + tau)$.
"""

import math
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.armed.index_policy import log_rounds
from jaxbandits.algorithms.armed.window_policy import WindowPolicy, WindowState
from jaxbandits.base import ranges
from jaxbandits.base.pytree import ArrayLike, param, pytree
from jaxbandits.numerics import bernoulli


@pytree
class SWKLUCB(WindowPolicy):
    """KL-UCB on the last tau rounds, for rewards in [0, 1].

    Guarantee:
      Garivier and Moulines state no guarantee for kl bounds.

    Deviations:
      * [ours] Means outside [0, 1] are clipped; log log counts as 0 where its argument is at most e. Ties go to the
        first arm.

    References:
      Aurelien Garivier, Eric Moulines. On Upper-Confidence Bound Policies for Switching Bandit Problems. ALT 2011,
      arXiv:0805.3415: the window.
      Lilian Besson, Emilie Kaufmann, Odalric-Ambrym Maillard, Julien Seznec. Efficient Change-Point Detection for
      Tackling Piecewise-Stationary Bandits. JMLR 23(77), 2022: the policy with kl bounds, as a baseline.
    """

    source: ClassVar[str] = "Garivier & Moulines, ALT 2011, SW-UCB with kl bounds"
    c: ArrayLike = param(0.0, "[0, inf)", "c, factor of log log min(t, tau)")

    @classmethod
    def theory(cls, *, n_arms: int, horizon: int, changes: int, **fields: Any) -> "SWKLUCB":
        """Use tau = 2 sqrt(T log T / C), rounded up, for C changes in T rounds."""
        horizon = ranges.integer("horizon", horizon, "[1, 1000000000000]")
        rounds = horizon * math.log(horizon) / ranges.integer("changes", changes, f"[1, {horizon}]")
        return cls(**{"n_arms": n_arms, "window": max(1, math.ceil(2.0 * math.sqrt(rounds)))} | fields)

    @classmethod
    def example(cls) -> "SWKLUCB":
        return cls(n_arms=5, window=20)

    def index(self, key: jax.Array, t: jax.Array, state: WindowState) -> jax.Array:
        del key
        pulls, log_window = state.pulls, log_rounds(jnp.minimum(t, self.window))
        level = log_window + self.c * jnp.log(jnp.maximum(log_window, 1.0))
        return bernoulli.upper(jnp.clip(pulls.mean, 0.0, 1.0), level / pulls.positive_count)
