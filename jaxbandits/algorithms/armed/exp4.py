"""Exp4: exponential weights over experts who advise on the arms (Auer et al., SIAM J. Comp. 2002).

    play   i with probability p_i = sum_m q_m e_{m,i},   q_m proportional to exp(-eta_t L_m)
    L_m    <- L_m + e_{m,i} (1 - reward) / (p_i + gamma)   for the arm i played

This is Algorithm 11 of Lattimore & Szepesvari (2020), which has no uniform exploration: $e_{m,i}$ is the probability
with which expert m recommends arm i in this round. Notation: eta is the field `learning_rate`. The cost per round is
$O(M K)$.
"""

import math
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.algorithms.armed.sampled_policy import LossState, anytime_rate, exponential_weights
from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import ArrayLike, FieldValue, param, pytree, static
from jaxbandits.estimation.arms import check_count, draw_arm
from jaxbandits.types import AdviceObs, ArmDecision, Reward


@pytree
class Exp4:
    """Exponential weights over the estimated losses of experts, for any advice and any sequence of rewards in [0, 1].

    Guarantee:
      If rewards in [0, 1] and the advice are chosen in advance, gamma = 0 and eta is set as in `theory`, then the
      expected regret against every expert after n rounds is at most $sqrt(2 n K log M)$ (Lattimore & Szepesvari,
      Theorem 18.1).

    Deviations:
      * [ours] If `learning_rate` is None, eta is $sqrt(log M / (t K))$ in round $t = 1$, 2, ... In the loss estimates,
        probabilities below 2^-40 are replaced by 2^-40.
      * [ours] Advice for unavailable arms is dropped, and the advice of every expert is normalised. An expert whose
        advice is all dropped recommends all available arms equally.

    References:
      Peter Auer, Nicolo Cesa-Bianchi, Yoav Freund, Robert Schapire. The Nonstochastic Multiarmed Bandit Problem.
      SIAM Journal on Computing 32, 2002, Section 7.
      Tor Lattimore, Csaba Szepesvari. Bandit Algorithms. Cambridge University Press, 2020, Algorithm 11, Theorem 18.1.
    """

    feedback: ClassVar[type] = Reward
    source: ClassVar[str] = "Auer, Cesa-Bianchi, Freund & Schapire, SIAM J. Comp. 2002; Lattimore & Szepesvari, Alg. 11"
    environments: ClassVar[tuple[str, ...]] = ("armed/advised_arms",)
    reads_advice: ClassVar[bool] = True
    n_arms: int = static(range="[1, inf)", doc="K, number of arms")
    n_experts: int = static(range="[1, inf)", doc="M, number of experts")
    learning_rate: ArrayLike | None = param(
        None, "[0, inf)", "eta, learning rate; None: sqrt(log M / (t K)) in round t"
    )
    gamma: ArrayLike = param(0.0, "[0, inf)", "gamma, constant added to p_i in the loss estimates")

    @classmethod
    def theory(cls, *, n_arms: int, n_experts: int, horizon: ArrayLike, **changes: FieldValue) -> "Exp4":
        """Use eta = sqrt(2 log M / (n K)) for n rounds."""
        horizon = ranges.numbers("horizon", horizon, "[1, inf)")
        log_experts = math.log(ranges.integer("n_experts", n_experts, "[1, 1000000000]"))
        rate = np.sqrt(2.0 * log_experts / (ranges.integer("n_arms", n_arms, "[1, 1000000000]") * horizon))
        return cls(**{"n_arms": n_arms, "n_experts": n_experts, "learning_rate": rate} | changes)

    @classmethod
    def example(cls) -> "Exp4":
        return cls.theory(n_arms=5, n_experts=4, horizon=200)

    def init(self, key: jax.Array) -> LossState:
        del key  # deterministic
        return LossState(jnp.zeros(self.n_experts))

    def select(self, key: jax.Array, t: jax.Array, state: LossState, obs: AdviceObs) -> ArmDecision:
        check_count(obs.arms, self.n_arms)
        if obs.advice.shape != (self.n_experts, self.n_arms):
            raise InputError(
                f"the environment returns advice of shape {list(obs.advice.shape)}, but the learner needs shape "
                f"[n_experts, n_arms] = [{self.n_experts}, {self.n_arms}]"
            )
        return draw_arm(key, obs, self.weights(t, state, obs))

    def weights(self, t: jax.Array, state: LossState, obs: AdviceObs) -> jax.Array:
        """Return the probabilities `[K]` of the arms in round t >= 0."""
        rate = self.learning_rate
        if rate is None:
            rate = anytime_rate(self.n_experts, self.n_arms, t)
        weights = exponential_weights(state.losses, rate) @ _available_advice(obs)
        return weights * (1.0 / jnp.sum(weights))

    def update(
        self, key: jax.Array, t: jax.Array, state: LossState, obs: AdviceObs, decision: ArmDecision, feedback: Reward
    ) -> LossState:
        del key, t
        estimate = (1.0 - feedback.reward) / (decision.probability + self.gamma)
        losses = state.losses + estimate * _available_advice(obs)[:, decision.index]
        return LossState(losses - jnp.min(losses))

    def recommend(self, state: LossState) -> jax.Array:
        """Return the estimated losses `[M]` of the experts, minus the smallest of them."""
        return state.losses


def _available_advice(obs: AdviceObs) -> jax.Array:
    """Return the advice `[M, K]` on the available arms, each row of which sums to 1.

    Without the division, experts who recommend unavailable arms would incur smaller losses and win.
    """
    if obs.mask is None:
        return obs.advice
    left = jnp.where(obs.mask, obs.advice, 0.0)
    left = jnp.where(jnp.sum(left, axis=1, keepdims=True) > 0.0, left, obs.mask.astype(left.dtype))
    return left / jnp.sum(left, axis=1, keepdims=True)
