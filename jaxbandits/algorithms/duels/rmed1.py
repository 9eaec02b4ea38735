"""RMED1: duels by relative minimum empirical divergence (Komiyama, Honda, Kashima & Nakagawa, COLT 2015, Algorithm 1).

    I_i    = sum_{j : p_ij <= 1/2} N_ij kl(p_ij, 1/2),   i* = argmin_i I_i,   O_l = {j : p_lj <= 1/2}
    first  the next arm l of the list; an arm j that has left the list joins the next list if I_j - I_{i*} <= log t + f
    second i* if it is in O_l or O_l is empty, else argmin_j p_lj

The lists are used after one duel of every pair. Here $p_ij$ is the fraction of the $N_ij$ duels of i and j that i won,
and f is `weight` times $K^1.01$. The cost per round is $O(K^2)$.
"""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.duels.rmed_policy import RMEDPolicy, RMEDState
from jaxbandits.base.pytree import pytree


@pytree
class RMED1(RMEDPolicy):
    """Policy that compares every plausible Condorcet winner with the most plausible one.

    Guarantee:
      If arm 1 is a Condorcet winner and $D_i = p_1i - 1/2$, then the expected regret after T rounds is at most
      $sum_{i > 1} D_i log T / (2 kl(p_i1, 1/2)) + o(log T)$ (Theorem 3). No consistent policy has a smaller factor of
      log T if the winner is the cheapest opponent of every other arm (`RMED2FH`).

    Deviations:
      * [ours] Unavailable arms are skipped. Ties go to the first arm.

    References:
      Junpei Komiyama, Junya Honda, Hisashi Kashima, Hiroshi Nakagawa. Regret Lower Bound and Optimal Algorithm in
      Dueling Bandit Problem. COLT 2015, arXiv:1506.02550, Algorithm 1, Theorem 3.
    """

    source: ClassVar[str] = "Komiyama, Honda, Kashima & Nakagawa, COLT 2015, Algorithm 1"

    @classmethod
    def theory(cls, *, n_arms: int, **changes: Any) -> "RMED1":
        """Use f(K) = 0.3 K^1.01, as in the paper's experiments (the default)."""
        return cls(**{"n_arms": n_arms} | changes)

    @classmethod
    def example(cls) -> "RMED1":
        return cls(n_arms=5)

    def opponent(
        self, t: jax.Array, state: RMEDState, arm: jax.Array, best: jax.Array, available: jax.Array
    ) -> jax.Array:
        del t
        opponents, strongest = self.opponents(state.duels, arm, available)
        return jnp.where(opponents[best] | ~jnp.any(opponents), best, strongest)
