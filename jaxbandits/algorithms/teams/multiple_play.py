"""Centralised multiple play: one learner assigns the P best arms to P players (Anantharam et al., IEEE TAC 1987).

    play   the P arms with the largest indices, unplayed arms first

The players therefore collide only if fewer than P arms are available. Notation: P is the field `n_players`. The cost
per round is $O(P K)$ plus that of the policy.
"""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.armed.index_policy import Pulls
from jaxbandits.algorithms.armed.kl_ucb import KLUCB
from jaxbandits.algorithms.teams.team_policy import decide, index_of, require_arms_for_all, require_index_policy
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import param, pytree, static
from jaxbandits.estimation.items import item_sums, top_items
from jaxbandits.types import ArmObs, PlayerRewards, TeamDecision


@pytree
class MultiplePlay:
    """Centralised team, a baseline for teams without communication.

    Player j receives the arm with the j-th largest index. If fewer than P arms are available, the remaining players all
    play the arm of the first player.

    Guarantee:
      For Bernoulli arms, the expected regret of every consistent centralised team is asymptotically at least $C log T$,
      where $C = sum_k (mu_P - mu_k) / kl(mu_k, mu_P)$ is a sum over the arms that are not among the P best (Anantharam
      et al.). No upper bound is stated for KL-UCB indices.

    Deviations:
      * [printed] An index policy replaces the rule of Anantharam et al., as in Besson's thesis.
      * [ours] Ties go to the first arm.

    References:
      Venkatachalam Anantharam, Pravin Varaiya, Jean Walrand. Asymptotically Efficient Allocation Rules for the
      Multiarmed Bandit Problem with Multiple Plays, Part I. IEEE Transactions on Automatic Control 32, 1987.
      Lilian Besson, Emilie Kaufmann. Multi-Player Bandits Revisited. ALT 2018, arXiv:1711.02317.
    """

    source: ClassVar[str] = "Anantharam, Varaiya & Walrand, IEEE TAC 1987, with index policies"
    feedback: ClassVar[type] = PlayerRewards
    environments: ClassVar[tuple[str, ...]] = ("teams/shared_arms",)
    policy: Any = param(
        doc="deterministic index policy of jaxbandits.armed that keeps counts and sums of rewards, such as KLUCB"
    )
    n_players: int = static(range="[1, inf)", doc="P, number of players")

    @classmethod
    def theory(cls, *, n_arms: int, n_players: int, **changes: Any) -> "MultiplePlay":
        """Use KL-UCB indices."""
        return cls(**{"policy": KLUCB(n_arms=n_arms), "n_players": n_players} | changes)

    @classmethod
    def example(cls) -> "MultiplePlay":
        return cls.theory(n_arms=5, n_players=3)

    def check(self) -> None:
        """Raise InputError for an unsuitable policy, or for more players than arms.

        Besides the conditions of `require_index_policy`, the policy must count all rewards without discounts.
        """
        require_index_policy(self)
        if not self.policy.counts_all:
            raise InputError(
                "MultiplePlay.policy must be an index policy that counts all rewards, such as KLUCB or UCB1; "
                f"{type(self.policy).__name__} discounts or ignores some of them"
            )
        require_arms_for_all(self)

    @property
    def n_arms(self) -> int:
        """Number K of arms."""
        return self.policy.n_arms

    def init(self, key: jax.Array) -> Pulls:
        return self.policy.init(key)

    def select(self, key: jax.Array, t: jax.Array, state: Pulls, obs: ArmObs) -> TeamDecision:
        del key
        index = self.policy.in_turn(t, state.count, index_of(self.policy, t, state))
        arms = top_items(index, obs.mask, self.n_players)
        return decide(obs, self.n_arms, jnp.where(arms < 0, arms[0], arms))

    def update(
        self,
        key: jax.Array,
        t: jax.Array,
        state: Pulls,
        obs: ArmObs,
        decision: TeamDecision,
        feedback: PlayerRewards,
    ) -> Pulls:
        del key, t, obs
        alone = jnp.where(feedback.collided == 0.0, 1.0, 0.0)
        return Pulls(
            count=state.count + item_sums(decision.index, alone, self.n_arms),
            total=state.total + item_sums(decision.index, alone * feedback.reward, self.n_arms),
        )
