"""RhoRand: the player of rank rho plays the rho-th best arm (Anandkumar, Michael, Tang & Swami, IEEE JSAC 2011).

    play   the arm with the rho-th largest index,   rho in {1, ..., M} drawn again after a collision

Each of the M players follows this rule with its own rank rho. Notation: M is the field `n_players`. The cost per round
is $O(M K^2)$ plus that of the policies.
"""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.armed.kl_ucb import KLUCB
from jaxbandits.algorithms.teams.team_policy import Draws, PlayerState, TeamPolicy, order_arms
from jaxbandits.base.pytree import pytree
from jaxbandits.numerics import first_axis, rng


@pytree
class RhoRand(TeamPolicy):
    """Team in which a player draws a new rank after each of its collisions.

    Guarantee:
      With UCB1 indices and Bernoulli arms, the expected regret is $O(log T)$ (Anandkumar et al., Theorem 3).

    Deviations:
      * [ours] Each player breaks ties between equal indices at random.

    References:
      Animashree Anandkumar, Nithin Michael, Ao Tang, Ananthram Swami. Distributed Algorithms for Learning and Cognitive
      Medium Access with Logarithmic Regret. IEEE JSAC 29, 2011, arXiv:1006.1673.
    """

    source: ClassVar[str] = "Anandkumar, Michael, Tang & Swami, IEEE JSAC 2011"

    @classmethod
    def theory(cls, *, n_arms: int, n_players: int, **changes: Any) -> "RhoRand":
        """Use KL-UCB indices, as Besson and Kaufmann do."""
        return cls(**{"policy": KLUCB(n_arms=n_arms), "n_players": n_players} | changes)

    @classmethod
    def example(cls) -> "RhoRand":
        return cls.theory(n_arms=5, n_players=3)

    def first_notes(self, key: jax.Array) -> jax.Array:
        return rng.randints(key, self.n_players, self.n_players)

    def move(
        self, draws: Draws, state: PlayerState, index: jax.Array, collided: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        drawn = jnp.minimum((draws.choice * self.n_players).astype(jnp.int32), self.n_players - 1)
        rank = jnp.where(collided > 0.0, drawn, state.note)
        return first_axis.argmax(jnp.where(order_arms(draws.ties, index) == rank, 1.0, 0.0)), rank
