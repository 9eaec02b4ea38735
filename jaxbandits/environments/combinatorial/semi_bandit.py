"""Semi-bandit: the learner chooses a feasible set of items, and observes the reward of each item or only their sum.

    reward_e ~ Bernoulli(mu_e), independently;   f(A) = sum_{e in A} mu_e
    regret_t = f(A*) - f(A_t)

A* is the feasible set with the largest f.
"""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import ArrayLike, lists_to_arrays, param, pytree, static, validate
from jaxbandits.base.ranges import floats
from jaxbandits.estimation.items import are_admissible, check_size
from jaxbandits.estimation.oracles import TopM, require_oracle
from jaxbandits.numerics import rng
from jaxbandits.types import IndexObs, SetDecision, SetFeedback


class SemiState(NamedTuple):
    """Problem instance of a trial, which does not change over rounds."""

    means: jax.Array  # [L]
    best: jax.Array  # []  f(A*)


class SemiOutcome(NamedTuple):
    """Regret of one set."""

    regret: jax.Array  # []  computed from means


@pytree
class SemiBandit:
    """L Bernoulli items, from which the learner chooses a feasible set in each round.

    A learner whose feedback is `SetReward` observes only the sum of the rewards (full-bandit feedback).

    References:
      Branislav Kveton, Zheng Wen, Azin Ashkan, Csaba Szepesvari. Tight Regret Bounds for Stochastic Combinatorial
      Semi-Bandits. AISTATS 2015, arXiv:1410.0949. It defines the setting.

    Example:
      >>> SemiBandit.from_means([0.9, 0.5, 0.4, 0.1], TopM(size=2)).n_items
      4
    """

    source: ClassVar[str] = "the setting of Kveton, Wen, Ashkan & Szepesvari, AISTATS 2015"
    decision_type: ClassVar[type] = SetDecision
    units: ClassVar = {"regret": "reward"}
    n_items: int = static(range="[1, inf)", doc="L, number of items")
    oracle: Any = param(doc="oracle that defines the feasible sets (jaxbandits.oracles)")
    means: ArrayLike | None = param(
        None, "[0, 1]", "[L] probabilities; None to draw them in every trial, uniformly from [0, 1]"
    )

    def __post_init__(self) -> None:
        lists_to_arrays(self, "means")

    @classmethod
    def from_means(cls, means: Any, oracle: Any) -> "SemiBandit":
        """Return an environment with given probabilities `[L]`.

        Raises:
          InputError: if a probability is outside [0, 1], or if the oracle is for a different number of items.
        """
        means = floats("means", means, "(L,)")
        made = cls(n_items=len(means), oracle=oracle, means=means)
        validate(made)
        return made

    @classmethod
    def example(cls) -> "SemiBandit":
        return cls(n_items=6, oracle=TopM(size=3))

    def check(self) -> None:
        """Raise InputError if the oracle or the means are for a different number of items."""
        require_oracle("SemiBandit", self.oracle, self.n_items)
        if self.means is not None and np.shape(self.means)[-1:] != (self.n_items,):
            raise InputError(f"SemiBandit.means must have shape [{self.n_items}], got {np.shape(self.means)}")

    def init(self, key: jax.Array) -> SemiState:
        drawn = rng.uniforms(key, self.n_items)
        means = drawn if self.means is None else jnp.asarray(self.means, drawn.dtype)
        return SemiState(means, jnp.sum(means[self.oracle.best(means, None)]))

    def observe(self, key: jax.Array, t: jax.Array, state: SemiState) -> IndexObs:
        del key, t, state
        return IndexObs.of(self.n_items)

    def step(
        self, key: jax.Array, t: jax.Array, state: SemiState, obs: IndexObs, decision: SetDecision
    ) -> tuple[SemiState, SetFeedback, SemiOutcome]:
        del t, obs
        check_size(decision, self.oracle.size)
        seen = decision.items >= 0
        means = jnp.where(seen, state.means[jnp.maximum(decision.items, 0)], 0.0)
        reward = jnp.where(rng.uniforms(key, self.oracle.size) < means, 1.0, 0.0)
        return state, SetFeedback(reward, seen, jnp.sum(reward)), SemiOutcome(state.best - jnp.sum(means))

    def admits(self, state: SemiState, obs: IndexObs, decision: SetDecision) -> jax.Array:
        """Return True if the items are different and in range, and satisfy the constraints of the oracle."""
        del state
        return are_admissible(decision.items, self.n_items, obs.mask) & self.oracle.admits(decision.items)
