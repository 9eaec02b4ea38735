"""Abstract information-directed sampling for Bernoulli rewards, on a grid (Russo & Van Roy, OR 2018, Algorithm 4).

    theta_i ~ Beta(alpha_0 + S_i, beta_0 + T_i - S_i),   with masses f_i and distribution function F_i on a grid x
    alpha_i = P(i is the best) = sum_x f_i prod_{j != i} F_j,   R_j(x) = E[theta_j | theta_j <= x]
    m_ij    = E[theta_j | i is the best] = sum_x f_i prod_{k != i} F_k R_j / alpha_i,   with x for R_j if j = i
    D_a     = sum_i alpha_i m_ii - m_a,   m_a = E[theta_a]
    play    an arm drawn from the distribution p that minimises (p'D)^2 / p'g (`numerics.information_ratio`)

S_i is the sum of the T_i rewards of arm i. The grid x consists of the midpoints of G equal subintervals of [0, 1], and
F_i(x) includes half of the mass at x. The state stores f, F and R of all arms, and a round recomputes them only for the
arm that was played. A concrete subclass defines the information g `[K]`. The cost per round is $O(K^2 G)$.
"""

import abc
import itertools
import operator
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.armed.index_policy import Pulls
from jaxbandits.base.pytree import ArrayLike, param, pytree, static
from jaxbandits.estimation.arms import check_count, draw_arm
from jaxbandits.numerics.information_ratio import minimize_information_ratio
from jaxbandits.types import ArmDecision, ArmObs, Reward

_LEAST = 1e-30  # smallest probability that is used as a divisor


class GridRow(NamedTuple):
    """Posterior of the mean of one arm on the grid; with a leading axis `[K]`, the posteriors of all arms."""

    mass: jax.Array  # [G]  f
    below: jax.Array  # [G]  F
    mean_below: jax.Array  # [G]  R
    mean: jax.Array  # []  m


class BetaGridState(NamedTuple):
    """Counts and sums of the rewards of all arms, and the posteriors that follow from them."""

    pulls: Pulls
    laws: GridRow  # leaves [K, ...]


class BestArm(NamedTuple):
    """Posterior distribution of the best arm, and the posterior means of all arms."""

    alpha: jax.Array  # [K]  probability that each arm is the best
    conditional: jax.Array  # [K, K]  m_ij; 0 where alpha_i is 0
    mean: jax.Array  # [K]  m
    best: jax.Array  # []  expected value of the largest mean


@pytree
class BetaGrid(abc.ABC):
    """Abstract policy for rewards in {0, 1} that draws its arm by information-directed sampling (IDS)."""

    feedback: ClassVar[type] = Reward
    environments: ClassVar[tuple[str, ...]] = ("armed/bernoulli_arms",)
    n_arms: int = static(range="[1, inf)", doc="K, number of arms")
    n_points: int = static(
        128, "[2, inf)", "G, number of grid points; means closer than 1 / G may become indistinguishable"
    )
    prior_success: ArrayLike = param(1.0, "(0, inf)", "alpha_0, number of successes that the prior assumes")
    prior_failure: ArrayLike = param(1.0, "(0, inf)", "beta_0, number of failures that the prior assumes")

    @abc.abstractmethod
    def gain(self, found: BestArm) -> jax.Array:
        """Return g `[K]`, the information about the best arm that one reward of each arm carries."""

    def init(self, key: jax.Array) -> BetaGridState:
        del key  # deterministic
        zero = jnp.zeros(self.n_arms)
        row = self.law(jnp.zeros(()), jnp.zeros(()))
        laws = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (self.n_arms, *leaf.shape)), row)
        return BetaGridState(Pulls(zero, zero), laws)

    def select(self, key: jax.Array, t: jax.Array, state: BetaGridState, obs: ArmObs) -> ArmDecision:
        del t
        check_count(obs.arms, self.n_arms)
        mask = jnp.ones(self.n_arms, bool) if obs.mask is None else obs.mask
        return draw_arm(key, obs, self.weights(state, mask))

    def update(
        self, key: jax.Array, t: jax.Array, state: BetaGridState, obs: ArmObs, decision: ArmDecision, feedback: Reward
    ) -> BetaGridState:
        del key, t, obs
        index = decision.index
        pulls = state.pulls.add(index, jnp.clip(feedback.reward, 0.0, 1.0))
        row = self.law(pulls.count[index], pulls.total[index])
        laws = jax.tree.map(lambda leaf, new: leaf.at[index].set(new), state.laws, row)
        return BetaGridState(pulls, laws)

    def weights(self, state: BetaGridState, mask: jax.Array) -> jax.Array:
        """Return the probabilities `[K]` of the arms, 0 where the mask is False."""
        found = self.best_arm(state, mask)
        return minimize_information_ratio(found.best - found.mean, self.gain(found), mask)

    def law(self, count: jax.Array, total: jax.Array) -> GridRow:
        """Return the posterior of an arm with `count` plays whose rewards sum to `total`."""
        x = self._points
        success, failure = self.prior_success + total, self.prior_failure + (count - total)
        log_mass = (success - 1.0) * jnp.log(x) + (failure - 1.0) * jnp.log1p(-x)
        mass = jnp.exp(log_mass - jnp.max(log_mass))
        mass = mass / jnp.sum(mass)
        below = jnp.cumsum(mass) - 0.5 * mass
        moment = jnp.cumsum(x * mass) - 0.5 * x * mass
        return GridRow(mass, below, moment / jnp.maximum(below, _LEAST), jnp.sum(x * mass))

    def best_arm(self, state: BetaGridState, mask: jax.Array) -> BestArm:
        """Return alpha, m_ij and the expected largest mean of the available arms."""
        laws, x = state.laws, self._points
        mass = jnp.where(mask[:, None], laws.mass, 0.0)
        below = jnp.where(mask[:, None], laws.below, 1.0)
        joint = mass * _product_of_others(below)  # [K, G]
        total = jnp.sum(joint, axis=1)
        share = 1.0 / jnp.maximum(total, _LEAST)
        conditional = (joint @ laws.mean_below.T) * share[:, None]
        own = (joint @ x) * share
        is_self = jnp.eye(self.n_arms, dtype=bool)
        conditional = jnp.where(is_self, own[:, None], conditional)
        alpha = total / jnp.maximum(jnp.sum(total), _LEAST)
        return BestArm(alpha, conditional, laws.mean, jnp.sum(alpha * own))

    @property
    def _points(self) -> jax.Array:
        return (jnp.arange(self.n_points) + 0.5) / self.n_points


def _product_of_others(below: jax.Array) -> jax.Array:
    """Return, for each arm, the product `[K, G]` of the rows of all other arms, computed without division."""
    rows = list(below)
    one: Any = jnp.ones_like(rows[0])
    ahead = itertools.accumulate(rows[:-1], operator.mul, initial=one)
    behind = [*itertools.accumulate(rows[:0:-1], operator.mul, initial=one)][::-1]
    return jnp.stack([a * b for a, b in zip(ahead, behind, strict=True)])
