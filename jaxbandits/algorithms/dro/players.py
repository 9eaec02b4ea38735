"""State of the two players of group DRO, `min_w max_q sum_i q_i R_i(w)`: the model w and the group weights q.

The state of each player holds an iterate and the running mean of the iterates, which is weighted by the step sizes if
these change. An algorithm decides which groups are sampled, and computes from the samples a gradient for w and a gain
for each group.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.algorithms.dro.steps import RoundFactors, Steps
from jaxbandits.base import trees
from jaxbandits.base.pytree import ArrayLike
from jaxbandits.domains import points
from jaxbandits.domains.points import Point
from jaxbandits.domains.protocol import ConvexSet
from jaxbandits.numerics import elementary, linalg, rng, simplex
from jaxbandits.numerics.sampling import RESOLUTION
from jaxbandits.types import GroupDecision


class Saddle(NamedTuple):
    """Point of `min_w max_q`: the output of an algorithm for group DRO."""

    w: Point  # [d]  model
    q: jax.Array  # [m]  group weights


class Model(NamedTuple):
    """Model player, which follows projected gradient descent."""

    w: Point  # [d]  w_t
    mean: Point  # [d]  mean of w_1, ..., w_{t-1}

    @classmethod
    def init(cls, w: Point) -> "Model":
        """Return the player before round 1, with the model `w` = w_1."""
        return cls(w=w, mean=w)

    def step(self, grad: Point, rate: ArrayLike, domain: ConvexSet, fraction: ArrayLike) -> "Model":
        """Return the player at `w_{t+1} = Proj_W[w_t - rate grad]`; w_t enters the mean with weight `fraction`."""
        return Model(w=descend(self.w, grad, rate, domain), mean=points.average(self.mean, self.w, fraction))


class Weights(NamedTuple):
    """Weights player, which follows entropic mirror ascent (Hedge; Exp3-IX on `importance_weighted_gains`)."""

    log_q: jax.Array  # [m]  log q_t, since entries of q may underflow in float32
    mean: jax.Array  # [m]  mean of q_1, ..., q_{t-1}

    @classmethod
    def init(cls, n_groups: int) -> "Weights":
        """Return the player before round 1, with uniform weights."""
        log_q = simplex.log_uniform(n_groups)
        return cls(log_q=log_q, mean=jnp.exp(log_q))

    @property
    def q(self) -> jax.Array:
        """Weights q_t `[m]` of the groups."""
        return elementary.exp(self.log_q)

    def step(self, q: jax.Array, gain: jax.Array, rate: ArrayLike, fraction: ArrayLike, k: int = 1) -> "Weights":
        """Return the player at q_{t+1}, the weights nearest to `q_{t,i} exp(rate gain_i)` in KL divergence.

        Weights are at most 1/k. The weights `q` = q_t enter the mean with weight `fraction`.
        """
        return self.move_to(simplex.mirror_step(self.log_q, gain, rate, k), q, fraction)

    def move_to(self, log_q: jax.Array, q: jax.Array, fraction: ArrayLike) -> "Weights":
        """Return the player at `log_q`; the weights q = q_t of the round enter the mean with weight `fraction`."""
        return Weights(log_q=log_q, mean=points.average(self.mean, q, fraction))


class Players(NamedTuple):
    """State of a learner: both players with their averages, and the step sizes of round 1."""

    model: Model  # [d]
    weights: Weights  # [m]
    steps: Steps  # []

    def sample_every_group(self) -> GroupDecision:
        """Return the decision that plays (w_t, q_t) and samples every group."""
        groups = np.arange(len(self.weights.log_q), dtype=np.int32)
        return GroupDecision(play=self.model.w, weights=self.weights.q, group=groups)

    def sample_one_group(self, key: jax.Array) -> GroupDecision:
        """Return the decision that plays (w_t, q_t) and samples one group, drawn from q_t."""
        q = self.weights.q
        index = rng.categorical(key, q)
        return GroupDecision(play=self.model.w, weights=q, group=index[None])

    def step(
        self, domain: ConvexSet, q: jax.Array, *, grad: Point, gain: jax.Array, factors: RoundFactors, k: int = 1
    ) -> "Players":
        """Return the state after simultaneous steps of both players from the same (w_t, q_t).

        Args:
          domain: W, the set of models.
          q: `[m]` weights q_t of the decision.
          grad: `[d]` gradient for the descent step of the model.
          gain: `[m]` gains for the ascent step of the weights.
          factors: `RoundFactors` of this round.
          k: the weights are at most 1/k.
        """
        return self._replace(
            model=self.model.step(grad, factors.step * self.steps.w, domain, factors.average),
            weights=self.weights.step(q, gain, factors.step * self.steps.q, factors.average, k),
        )

    @property
    def saddle(self) -> Saddle:
        """Averages of the iterates of both players."""
        return Saddle(w=self.model.mean, q=self.weights.mean)


def descend(w: Point, grad: Point, rate: ArrayLike, domain: ConvexSet) -> Point:
    """Return `Proj_W[w - rate grad]`."""
    return domain.project(points.add_scaled(w, -rate, grad))


def importance_weighted_gains(loss: jax.Array, group: jax.Array, q: jax.Array, gamma: ArrayLike) -> jax.Array:
    """Return the gains `[m]` of Exp3-IX: -(1 - loss) / (Q q_i + gamma) for each sampled group i, 0 for the others.

    Values of Q q_i below 2^-40, the resolution of the draws, are replaced by 2^-40.

    Args:
      loss: `[Q]` losses of one sample from each sampled group.
      group: `[Q]` sampled groups, all different; group i is among them with probability Q q_i.
      q: `[m]` weights with which the groups were drawn.
      gamma: implicit exploration, >= 0.

    References: G. Neu, "Explore no more", NeurIPS 2015.
    """
    gains, count = [], len(loss)
    for j in range(count):
        indicator = simplex.indicator(trees.row(group, j), len(q))
        probability = points.inner(indicator, q) if count == 1 else count * points.inner(indicator, q)
        gains.append(
            points.scale(indicator, -((1.0 - trees.row(loss, j)) / (jnp.maximum(probability, RESOLUTION) + gamma)))
        )
    return linalg.sum_terms(gains)


def clip_losses(loss: jax.Array, clip: bool) -> jax.Array:
    """Return the losses; if `clip` is True, losses above 1 (for which 1 - loss is negative) are replaced by 1."""
    return jnp.minimum(loss, 1.0) if clip else loss
