"""SW-LinUCB: linear UCB on a sliding window (Cheung, Simchi-Levi & Zhu, AISTATS 2019).

    play    argmax_x  x'theta + beta ||x||_{V^{-1}},   theta = V^{-1} b
    V       = lambda I + sum x x',   b = sum r x,   over the last tau rounds
    beta    = sqrt(lambda) S + R sqrt(d log((1 + tau L^2 / lambda) / delta))

Notation: tau is the field `window`, lambda is `ridge`, R is `noise_scale`, S is `norm_bound` and L is `arm_bound`. The
cost per round is $O(K d^2 + d^3)$, and the memory is $O(tau d + sqrt(tau) d^2)$. Rounds leave the window without a
subtraction, since subtractions would accumulate rounding errors (`estimation.window`).
"""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.base import ranges
from jaxbandits.base.pytree import ArrayLike, FieldValue, param, pytree, static
from jaxbandits.estimation import window
from jaxbandits.estimation.arms import choose_best, optimistic
from jaxbandits.estimation.window import Window
from jaxbandits.numerics import linalg
from jaxbandits.numerics.linalg import Symmetric, Vector
from jaxbandits.tracing.vmap_last import vmap_last
from jaxbandits.types import ArmDecision, ArmObs, Reward


class SWLinUCBState(NamedTuple):
    """Samples of the rounds in the window, and their sums."""

    rounds: Window  # rows (x [d], r []), summands (x x' [d, d], r x [d])
    gram: Symmetric  # [d, d]  V
    moment: Vector  # [d]  b


@pytree
class SWLinUCB:
    """Optimistic linear bandit with least squares on the last tau rounds.

    Guarantee:
      None with these constants. For a variation B of theta over T rounds, the paper states a regret of the order
      $d^{2/3} B^{1/3} T^{2/3}$ with the tau of `theory`, but the proof has a gap; the corrected proof gives the order
      $B^{1/4} T^{3/4}$ in B and T.

    Deviations:
      * [ours] `beta_scale` multiplies the radius. Ties go to the first arm.

    References:
      Wang Chi Cheung, David Simchi-Levi, Ruihao Zhu. Learning to Optimize under Non-Stationarity. AISTATS 2019.
      Yoan Russac, Claire Vernade, Olivier Cappe. Weighted Linear Bandits for Non-Stationary Environments.
      NeurIPS 2019 (uses the method as a baseline). Peng Zhao, Lijun Zhang, Yuan Jiang, Zhi-Hua Zhou. A Simple Approach
      for Non-stationary Linear Bandits. arXiv:2103.05324 (the gap and the corrected rate).
    """

    feedback: ClassVar[type] = Reward
    source: ClassVar[str] = "Cheung, Simchi-Levi & Zhu, AISTATS 2019, SW-UCB"
    environments: ClassVar[tuple[str, ...]] = ("linear/heavy_tailed",)
    dim: int = static(range="[1, inf)", doc="d, dimension of the arms")
    window: int = static(range="[1, inf)", doc="tau, number of rounds in the window")
    noise_scale: ArrayLike = param(1.0, "[0, inf)", "R, sub-Gaussian constant of the noise")
    ridge: ArrayLike = param(1.0, "(0, inf)", "lambda, ridge parameter")
    norm_bound: ArrayLike = param(1.0, "(0, inf)", "S, bound on ||theta||")
    arm_bound: ArrayLike = param(1.0, "(0, inf)", "L, bound on the norms of arms")
    delta: ArrayLike = param(0.01, "(0, 1)", "delta, failure probability")
    beta_scale: ArrayLike = param(1.0, "[0, inf)", "multiplier of the radius; the theory uses 1")

    @classmethod
    def theory(cls, *, dim: int, horizon: int, variation: float, **changes: FieldValue) -> "SWLinUCB":
        """Use tau = (d T / B)^{2/3}, rounded and limited to [1, T], for a variation B of theta over T rounds."""
        dim, horizon = ranges.integer("dim", dim, "[1, 1e9]"), ranges.integer("horizon", horizon, "[1, 1e12]")
        rounds = dim * horizon / ranges.real("variation", variation, "[1e-9, inf)")
        return cls(**{"dim": dim, "window": max(1, min(horizon, round(rounds ** (2.0 / 3.0))))} | changes)

    @classmethod
    def example(cls) -> "SWLinUCB":
        return cls(dim=2, window=15)

    def init(self, key: jax.Array) -> SWLinUCBState:
        del key  # deterministic
        x = jnp.zeros(self.dim)
        return self._state(window.empty(self.window, (x, jnp.zeros(())), _summand))

    def select(self, key: jax.Array, t: jax.Array, state: SWLinUCBState, obs: ArmObs) -> ArmDecision:
        del key
        factors = linalg.factor(state.gram)
        images = vmap_last(linalg.solve, (None, -1))(factors, obs.arms.T)  # [d, K]  V^{-1} x
        width_sq = jnp.sum(obs.arms.T * images, axis=0)
        mean = obs.arms @ linalg.solve(factors, state.moment)
        return choose_best(obs.arms, obs.mask, optimistic(mean, width_sq, self.radius(t, state)))

    def update(
        self, key: jax.Array, t: jax.Array, state: SWLinUCBState, obs: ArmObs, decision: ArmDecision, feedback: Reward
    ) -> SWLinUCBState:
        del key, obs
        return self._state(window.append(state.rounds, t, (decision.x, feedback.reward), _summand))

    def _state(self, rounds: Window) -> SWLinUCBState:
        squares, moment = rounds.total
        return SWLinUCBState(rounds, self.ridge * jnp.eye(self.dim) + squares, moment)

    def recommend(self, state: SWLinUCBState) -> Vector:
        """Return the estimate `[d]` of the current theta."""
        return linalg.solve(linalg.factor(state.gram), state.moment)

    def radius(self, t: ArrayLike, state: SWLinUCBState) -> jax.Array:
        """Return the confidence radius beta `[]`, times `beta_scale`."""
        del t, state
        log_term = jnp.log1p(self.window * jnp.square(self.arm_bound) / self.ridge) - jnp.log(self.delta)
        root = jnp.sqrt(self.dim * log_term)
        return self.beta_scale * (jnp.sqrt(self.ridge) * self.norm_bound + self.noise_scale * root)


def _summand(row: tuple[Vector, jax.Array]) -> tuple[Symmetric, Vector]:
    x, reward = row
    return jnp.outer(x, x), reward * x
