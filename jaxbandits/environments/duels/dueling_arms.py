"""Dueling bandit: in each round the learner compares two of K arms and observes only the winner.

    P(i beats j)      = p_ij = 1 - p_ji
    e_i               = p_{1 i} - 1/2,   zeta_i = #{j : p_ij > 1/2} / (K - 1)
    regret_t          = (e_i + e_j) / 2          of the duel (i, j), also called strong regret
    weak_regret_t     = min(e_i, e_j)
    copeland_regret_t = zeta_1 - (zeta_i + zeta_j) / 2

In these formulas arm 1 is the Condorcet winner, which beats every other arm with probability above 1/2. If there is no
Condorcet winner, arm 1 is the first arm with the largest zeta, and e_i may be negative. Given preferences are
permuted at random in every trial.
"""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import ArrayLike, lists_to_arrays, param, pytree, require_defaults, static, validate
from jaxbandits.base.ranges import floats, integer
from jaxbandits.numerics import first_axis, rng
from jaxbandits.types import IndexObs, PairDecision, Preference

_ARXIV = (
    (50, 55, 55, 54, 61, 61), (45, 50, 55, 55, 58, 60), (45, 45, 50, 54, 51, 56), (46, 45, 46, 50, 54, 50),
    (39, 42, 49, 46, 50, 51), (39, 40, 44, 50, 49, 50),
)  # fmt: skip
_CYCLIC = ((5, 6, 6, 6), (4, 5, 9, 1), (4, 1, 5, 9), (4, 9, 1, 5))
_MSLR = ((0.53519466, 0.6125935, 0.75696008, 0.76547422), (0.57985831, 0.72745116, 0.73820053),
         (0.65895708, 0.66877089), (0.50999465,))  # fmt: skip  # above the diagonal


class DuelsState(NamedTuple):
    """Problem instance of a trial, which does not change over rounds."""

    preferences: jax.Array  # [K, K]  p_ij
    loss: jax.Array  # [K]  e_i
    score: jax.Array  # [K]  zeta_i
    best: jax.Array  # []  largest zeta


class DuelOutcome(NamedTuple):
    """Regrets of one duel, computed from probabilities."""

    regret: jax.Array  # []
    weak_regret: jax.Array  # []
    copeland_regret: jax.Array  # []


@pytree
class DuelingArms:
    """K arms with probabilities p_ij that arm i beats arm j.

    If `preferences` is None, each trial draws strengths u of the arms uniformly from [0, spread], and
    $p_ij = 1 / (1 + exp(u_j - u_i))$ (the model of Bradley and Terry).

    References:
      Junpei Komiyama, Junya Honda, Hisashi Kashima, Hiroshi Nakagawa. Regret Lower Bound and Optimal Algorithm in
      Dueling Bandit Problem. COLT 2015, arXiv:1506.02550. Section 4 has the instances `arxiv`, `arithmetic`, `cyclic`.
      Huasen Wu, Xin Liu. Double Thompson Sampling for Dueling Bandits. NIPS 2016, arXiv:1604.07101. It has the instance
      `mslr`.

    Example:
      >>> DuelingArms.cyclic().n_arms
      4
    """

    source: ClassVar[str] = "the preference matrices of Komiyama et al., COLT 2015, and Wu & Liu, NIPS 2016"
    decision_type: ClassVar[type] = PairDecision
    units: ClassVar = dict.fromkeys(("regret", "weak_regret"), "probability") | {"copeland_regret": "share of arms"}
    n_arms: int = static(range="[2, inf)", doc="K, number of arms")
    preferences: ArrayLike | None = param(
        None, "[0, 1]", "[K, K] p, permuted at random in every trial; None to draw strengths in every trial"
    )
    spread: ArrayLike = param(2.0, "[0, inf)", "largest strength that is drawn if preferences is None")

    def __post_init__(self) -> None:
        lists_to_arrays(self, "preferences")

    @classmethod
    def from_preferences(cls, preferences: Any) -> "DuelingArms":
        """Return an environment with given probabilities `[K, K]` that the row arm beats the column arm.

        Raises:
          InputError: if a probability is outside [0, 1], or if p_ij + p_ji is not 1.
        """
        preferences = floats("preferences", preferences, "(K, K)")
        made = cls(n_arms=len(preferences), preferences=preferences)
        validate(made)
        return made

    @classmethod
    def arxiv(cls) -> "DuelingArms":
        """Return the instance with the six rankers of Yue and Joachims (2011), estimated from clicks on arXiv.org."""
        return cls.from_preferences(np.array(_ARXIV) / 100.0)

    @classmethod
    def arithmetic(cls, n_arms: int = 8) -> "DuelingArms":
        """Return the arithmetic instance with p_ij = 1/2 + 0.05 (j - i), for at most 11 arms."""
        arm = np.arange(integer("n_arms", n_arms, "[2, 11]"))
        return cls.from_preferences(0.5 + 0.05 * (arm - arm[:, None]))

    @classmethod
    def cyclic(cls) -> "DuelingArms":
        """Return the cyclic instance: one arm beats each other arm with probability 0.6; the others form a cycle."""
        return cls.from_preferences(np.array(_CYCLIC) / 10.0)

    @classmethod
    def mslr(cls) -> "DuelingArms":
        """Return an instance with five rankers of the Microsoft Learning to Rank data, from the code of Wu and Liu."""
        above = np.zeros((5, 5))
        above[np.triu_indices(5, 1)] = np.concatenate(_MSLR)
        below = np.tril(1.0 - above.T, -1)
        return cls.from_preferences(above + below + 0.5 * np.eye(5))

    @classmethod
    def example(cls) -> "DuelingArms":
        return cls(n_arms=5)

    def check(self) -> None:
        """Raise InputError if preferences are for a different number of arms, or if p_ij + p_ji is not 1."""
        if self.preferences is None:
            return
        require_defaults(self, ["spread"], "preferences are given")
        found = np.shape(self.preferences)
        if found[-2:] != (self.n_arms, self.n_arms):
            raise InputError(f"DuelingArms.preferences must have shape [{self.n_arms}, {self.n_arms}], got {found}")
        p = np.asarray(self.preferences)
        if np.abs(p + np.swapaxes(p, -1, -2) - 1.0).max() > 1e-6:
            raise InputError("DuelingArms.preferences: p_ij + p_ji must be 1, hence 1/2 on the diagonal")

    def init(self, key: jax.Array) -> DuelsState:
        if self.preferences is None:
            strength = self.spread * rng.uniforms(key, self.n_arms)
            p = 1.0 / (1.0 + jnp.exp(strength - strength[:, None]))
        else:
            order = jnp.argsort(rng.uniforms(key, self.n_arms))
            p = jnp.asarray(self.preferences, jnp.result_type(float))[order[:, None], order]
        beats = jnp.sum((p > 0.5) & ~jnp.eye(self.n_arms, dtype=bool), axis=1, dtype=jnp.int32)
        score = beats.astype(p.dtype) / (self.n_arms - 1)
        winner = first_axis.argmax(score)
        return DuelsState(p, p[winner] - 0.5, score, jnp.max(score))

    def observe(self, key: jax.Array, t: jax.Array, state: DuelsState) -> IndexObs:
        del key, t, state
        return IndexObs.of(self.n_arms)

    def step(
        self, key: jax.Array, t: jax.Array, state: DuelsState, obs: IndexObs, decision: PairDecision
    ) -> tuple[DuelsState, Preference, DuelOutcome]:
        del t, obs
        i, j = decision.first, decision.second
        won = jnp.where(rng.bernoulli(key, state.preferences[i, j]), 1.0, 0.0)
        first, second = state.loss[i], state.loss[j]
        outcome = DuelOutcome(
            regret=0.5 * (first + second),
            weak_regret=jnp.minimum(first, second),
            copeland_regret=state.best - 0.5 * (state.score[i] + state.score[j]),
        )
        return state, Preference(won), outcome

    def admits(self, state: DuelsState, obs: IndexObs, decision: PairDecision) -> jax.Array:
        """Return True if the indices of both arms are in range."""
        del state, obs
        pair = jnp.stack([decision.first, decision.second])
        return jnp.all((pair >= 0) & (pair < self.n_arms))
