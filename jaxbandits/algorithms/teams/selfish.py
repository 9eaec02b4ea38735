"""Selfish: each player runs an index policy on its own rewards (Bonnefoi et al., CROWNCOM 2017).

    arm    the one with the largest index of the rewards that the player received, which collisions make 0

$O(M K^2)$ per round beside the policies of M players.
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
    """Players who neither sense arms nor collisions, and do not know of each other.

    Guarantee:
      None: with positive probability the regret is linear (Besson & Kaufmann, Section 5).

    Deviations:
      * [ours] Equal indices are ordered at random, by each player.

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
