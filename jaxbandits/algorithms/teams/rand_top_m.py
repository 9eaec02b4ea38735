"""RandTopM: players draw again from the M best arms after every collision (Besson & Kaufmann, ALT 2018, Algorithm 1).

    arm not in best           draw from best cap {k : U'_k <= U'_arm}, with the indices U' of the last round
    arm in best, collided     draw from best
    else                      stay

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
class RandTopM(TeamPolicy):
    """Variant of MCTopM in which a player never settles on an arm.

    Guarantee:
      The paper states no guarantee.

    Deviations:
      * [printed] In the listing of Besson's thesis, a player reacts to a collision only if its arm has left best. In
        the text and the code of the thesis, and here, a player always reacts to a collision.
      * [ours] If the indices of all M best arms in the last round exceed that of the arm that the player leaves, the
        player draws from all M best arms.

    References:
      Lilian Besson, Emilie Kaufmann. Multi-Player Bandits Revisited. ALT 2018, arXiv:1711.02317, Algorithm 1.
    """

    source: ClassVar[str] = "Besson & Kaufmann, ALT 2018, Algorithm 1"

    @classmethod
    def theory(cls, *, n_arms: int, n_players: int, **changes: Any) -> "RandTopM":
        """Use KL-UCB indices."""
        return cls(**{"policy": KLUCB(n_arms=n_arms), "n_players": n_players} | changes)

    @classmethod
    def example(cls) -> "RandTopM":
        return cls.theory(n_arms=5, n_players=3)

    def move(
        self, draws: Draws, state: PlayerState, index: jax.Array, collided: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        is_in, arm = draw_from_best(draws, state, index, self.n_players)
        return jnp.where(is_in & (collided == 0.0), state.arm, arm), state.note
