"""Selfish: each player runs an index policy on its own rewards (Bonnefoi et al., CROWNCOM 2017).

    play   the arm with the largest index, computed from the player's rewards (0 after a collision)

The cost per round is $O(M K^2)$ for M players, plus that of the policies.
"""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.armed.kl_ucb import KLUCB
from jaxbandits.algorithms.teams.team_policy import Draws, PlayerState, TeamPolicy, order_arms
from jaxbandits.base.pytree import pytree
from jaxbandits.numerics import first_axis
from jaxbandits.types import PlayerRewards


@pytree
class Selfish(TeamPolicy):
    """Team whose players observe the rewards that they receive, but not the collisions.

    Guarantee:
      None. With positive probability the regret is linear (Besson & Kaufmann, Section 5).

    Deviations:
      * [ours] Each player breaks ties between equal indices at random.

    References:
      Remi Bonnefoi, Lilian Besson, Christophe Moy, Emilie Kaufmann, Jacques Palicot. Multi-Armed Bandit Learning in IoT
      Networks: Learning Helps Even in Non-stationary Settings. CROWNCOM 2017, arXiv:1807.00491.
      Lilian Besson, Emilie Kaufmann. Multi-Player Bandits Revisited. ALT 2018, arXiv:1711.02317, Section 5.
    """

    source: ClassVar[str] = "Bonnefoi, Besson, Moy, Kaufmann & Palicot, CROWNCOM 2017"

    @classmethod
    def theory(cls, *, n_arms: int, n_players: int, **changes: Any) -> "Selfish":
        """Use KL-UCB indices."""
        return cls(**{"policy": KLUCB(n_arms=n_arms), "n_players": n_players} | changes)

    @classmethod
    def example(cls) -> "Selfish":
        return cls.theory(n_arms=5, n_players=3)

    def learning_signal(self, feedback: PlayerRewards) -> jax.Array:
        return feedback.reward

    def move(
        self, draws: Draws, state: PlayerState, index: jax.Array, collided: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        del collided
        return first_axis.argmax(jnp.where(order_arms(draws.ties, index) == 0, 1.0, 0.0)), state.note
