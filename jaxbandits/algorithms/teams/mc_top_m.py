"""MCTopM: players take seats on the M best arms, as in musical chairs (Besson & Kaufmann, ALT 2018, Algorithm 2).

    arm not in best                   draw from best cap {k : U'_k <= U'_arm}, with the indices U' of the last round
    arm in best, collided, not fixed  draw from best
    else                              stay, fixed until the arm leaves best

Each of the M players follows this rule; best is the set of the M arms with the largest indices of the player. Notation:
M is the field `n_players`. The cost per round is $O(M K^2)$ plus that of the policies.
"""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.armed.kl_ucb import KLUCB
from jaxbandits.algorithms.teams.team_policy import Draws, PlayerState, TeamPolicy, draw_from_best
from jaxbandits.base.pytree import pytree


@pytree
class MCTopM(TeamPolicy):
    """Team in which each player settles on one of the best arms and stays while the arm remains among the best.

    Guarantee:
      With KL-UCB indices, Bernoulli arms and observed collisions, the expected regret and the expected number of
      collisions are $O(log T)$. The constant of the regret exceeds that of the lower bound by a factor that depends on
      M (Theorem 12).

    Deviations:
      * [ours] If the indices of all M best arms in the last round exceed that of the arm that the player leaves, the
        player draws from all M best arms.

    References:
      Lilian Besson, Emilie Kaufmann. Multi-Player Bandits Revisited. ALT 2018, arXiv:1711.02317, Algorithm 2.
    """

    source: ClassVar[str] = "Besson & Kaufmann, ALT 2018, Algorithm 2"

    @classmethod
    def theory(cls, *, n_arms: int, n_players: int, **changes: Any) -> "MCTopM":
        """Use KL-UCB indices, as in the theorems of the paper."""
        return cls(**{"policy": KLUCB(n_arms=n_arms), "n_players": n_players} | changes)

    @classmethod
    def example(cls) -> "MCTopM":
        return cls.theory(n_arms=5, n_players=3)

    def move(
        self, draws: Draws, state: PlayerState, index: jax.Array, collided: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        is_in, arm = draw_from_best(draws, state, index, self.n_players)
        stays = is_in & ((collided == 0.0) | (state.note == 1))
        return jnp.where(stays, state.arm, arm), jnp.where(stays, 1, 0).astype(jnp.int32)
