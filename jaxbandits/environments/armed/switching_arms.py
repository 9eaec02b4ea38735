"""Bernoulli bandit whose means change at given rounds, which are the same in all trials.

    round t is in the last phase p with starts_p <= t;   reward_t ~ Bernoulli(means_{p, i}) for the arm i played
    regret_t         = max_k means_{p, k} - means_{p, i}                       against the best arm of every round
    fixed_arm_regret = max_k sum_t means_{p(t), k} - sum_t means_{p(t), i_t}   against the best arm of all rounds

Both regrets are computed from means, not from rewards.
"""

import itertools
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import ArrayLike, pytree, shared, validate
from jaxbandits.base.ranges import floats, integer, real, round_numbers
from jaxbandits.estimation.arms import largest
from jaxbandits.numerics import rng
from jaxbandits.types import ArmDecision, IndexObs, Reward


class Phases(NamedTuple):
    """Means and first rounds of all phases; all trials share one copy."""

    means: ArrayLike  # [P, K] in [0, 1]
    starts: ArrayLike  # [P] int32, first round of each phase, increasing from 0


class SwitchingOutcome(NamedTuple):
    """Regret and means of one round."""

    regret: jax.Array  # []
    mean: jax.Array  # []  mean of the arm played
    arm_mean: jax.Array  # [K]  mean of every arm


@pytree
class SwitchingArms:
    """K Bernoulli arms whose means may all change at the start of a phase, an oblivious adversary.

    `SwitchingArms.constrained` is the stochastically constrained adversary. For arbitrary reward sequences use
    `TableBandit.from_rewards(rewards, order="given")`, which also has the metric `fixed_arm_regret`.

    References:
      Julian Zimmert, Yevgeny Seldin. Tsallis-INF: An Optimal Algorithm for Stochastic and Adversarial Bandits.
      JMLR 22(28), 2021. Section 6 defines the adversary of `constrained`.
    """

    source: ClassVar[str] = "Bernoulli arms that change at given rounds; the adversary of Zimmert & Seldin, JMLR 2021"
    axes: ClassVar = {"arm_mean": ("arm",)}
    units: ClassVar = dict.fromkeys(("regret", "fixed_arm_regret", "mean", "arm_mean"), "reward")
    phases: Phases = shared(doc="means and starts (constructed by from_phases or constrained)")

    @classmethod
    def from_phases(cls, means: Any, starts: Any) -> "SwitchingArms":
        """Return an environment with given phases.

        Args:
          means: `[P, K]` probabilities of the arms in every phase.
          starts: `[P]` first round of every phase, increasing from 0.

        Raises:
          InputError: if the shapes or values are invalid.
        """
        means, starts = floats("means", means, "(P, K)"), floats("starts", starts, "(P,)")
        made = cls(phases=Phases(means, round_numbers("starts", starts)))
        validate(made)
        return made

    @classmethod
    def constrained(
        cls, *, n_arms: int, horizon: int, gap: float = 0.125, growth: float = 1.6, best: int = 0
    ) -> "SwitchingArms":
        """Return the stochastically constrained adversary: one arm is better than all others by `gap` in every phase.

        The best arm and the other arms have means 1 and 1 - gap in even phases, and gap and 0 in odd phases. Phase n =
        0, 1, ... has floor(growth^n) rounds.

        Args:
          n_arms: K, number of arms.
          horizon: number of rounds that the phases cover; the last phase has no end.
          gap: difference between the mean of the best arm and the other means.
          growth: factor by which the lengths of the phases grow.
          best: index of the best arm.

        Raises:
          InputError: if a number is outside its range.
        """
        n_arms, horizon = integer("n_arms", n_arms, "[1, 1000000]"), integer("horizon", horizon, "[1, 2147483647]")
        gap, growth = real("gap", gap, "[0, 1]"), real("growth", growth, "(1, inf)")
        best = integer("best", best, f"[0, {n_arms - 1}]")
        lengths = (int(growth**n) for n in itertools.count())
        starts = list(itertools.takewhile(lambda start: start < horizon, itertools.accumulate(lengths, initial=0)))
        is_best = np.arange(n_arms) == best
        high, low = np.where(is_best, 1.0, 1.0 - gap), np.where(is_best, gap, 0.0)
        return cls.from_phases([(high, low)[p % 2] for p in range(len(starts))], starts)

    @classmethod
    def example(cls) -> "SwitchingArms":
        return cls.constrained(n_arms=5, horizon=40)

    def check(self) -> None:
        """Raise InputError for invalid phases."""
        if not isinstance(self.phases, Phases) or np.ndim(self.phases.means) != 2:
            raise InputError("SwitchingArms.phases must be a Phases object, which from_phases creates")
        means, starts = np.asarray(self.phases.means), np.asarray(self.phases.starts)
        if starts.shape != means.shape[:1] or starts[0] != 0 or (np.diff(starts) <= 0).any():
            raise InputError(
                "SwitchingArms.phases: starts must begin with 0 and increase, with one entry for each phase"
            )
        if not ((means >= 0.0) & (means <= 1.0)).all():
            raise InputError("SwitchingArms.phases: means must lie in [0, 1]")

    @property
    def n_arms(self) -> int:
        """K, number of arms."""
        return self.phases.means.shape[1]

    @property
    def reward_range(self) -> tuple[float, float]:
        """Interval [0, 1] that contains all rewards."""
        return 0.0, 1.0

    def init(self, key: jax.Array) -> None:
        del key

    def observe(self, key: jax.Array, t: jax.Array, state: None) -> IndexObs:
        del key, t, state
        return IndexObs.of(self.n_arms)

    def step(
        self, key: jax.Array, t: jax.Array, state: None, obs: IndexObs, decision: ArmDecision
    ) -> tuple[None, Reward, SwitchingOutcome]:
        del obs
        phase = jnp.sum(jnp.asarray(self.phases.starts) <= t, dtype=jnp.int32) - 1
        means = jnp.asarray(self.phases.means, jnp.result_type(float))[phase]
        mean = means[decision.index]
        reward = jnp.where(rng.bernoulli(key, mean), 1.0, 0.0)
        return state, Reward(reward), SwitchingOutcome(largest(means) - mean, mean, means)

    def admits(self, state: None, obs: IndexObs, decision: ArmDecision) -> jax.Array:
        """Return True if the index of the arm is in range."""
        del state, obs
        return (decision.index >= 0) & (decision.index < self.n_arms)

    def derive(self, values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return `fixed_arm_regret`, the regret against the arm with the largest total mean reward."""
        return {"fixed_arm_regret": values["arm_mean"].max(axis=-1) - values["mean"]}
