"""The two players of group DRO, `min_w max_q sum_i q_i R_i(w)`: a model that descends, group weights that ascend.

Each keeps where it is and the running mean of where it was, weighted by step sizes where they change. What a learner
samples, and what it makes of a sample (`importance`), is its own affair.
"""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.core import simplex
from jaxbandits.core.fusion import once
from jaxbandits.core.pytree import ArrayLike
from jaxbandits.domains import points
from jaxbandits.domains.ball import L2Ball
from jaxbandits.domains.points import Point, Shape


class Saddle(NamedTuple):
    """A point of `min_w max_q`: what the algorithms for group DRO recommend."""

    w: Point  # [d] model
    q: jax.Array  # [m] group weights


class Model(NamedTuple):
    """The model player, by projected gradient descent."""

    w: Point  # [d]  w_t
    mean: Point  # [d]  mean of w_1, ..., w_{t-1}

    @classmethod
    def start(cls, shape: Shape) -> "Model":
        """At the origin."""
        origin = points.zeros(shape)
        return cls(origin, origin)

    def step(self, grad: Point, rate: ArrayLike, radius: ArrayLike, fraction: ArrayLike) -> "Model":
        """`w_{t+1} = Proj_{||w|| <= radius}[w_t - rate grad]`, and w_t in the mean with this fraction."""
        w = L2Ball(radius=radius).project(once(points.add_scaled(self.w, -rate, grad)))
        return Model(w, points.average(self.mean, self.w, fraction))


class Weights(NamedTuple):
    """The weights player, by entropic mirror ascent: Hedge on gains, Exp3-IX on the gains of `importance`."""

    log_q: jax.Array  # [m]  log q_t: a concentrated q underflows in float32, its logarithm does not
    mean: jax.Array  # [m]  mean of q_1, ..., q_{t-1}

    @classmethod
    def start(cls, n_groups: int) -> "Weights":
        """Uniform."""
        log_q = simplex.log_uniform(n_groups)
        return cls(log_q, jnp.exp(log_q))

    @property
    def q(self) -> jax.Array:
        """`[m]` q_t."""
        return once(jnp.exp(self.log_q))

    def step(self, gain: jax.Array, rate: ArrayLike, fraction: ArrayLike) -> "Weights":
        """`q_{t+1,i}` proportional to `q_{t,i} exp(rate gain_i)`, and q_t in the mean with this fraction."""
        return Weights(simplex.mirror_step(self.log_q, gain, rate), points.average(self.mean, self.q, fraction))


def importance(loss: jax.Array, group: jax.Array, q: jax.Array, gamma: ArrayLike) -> jax.Array:
    """`[m]` the gains of Exp3-IX: minus (1 - loss) / (q_i + gamma) where group i was drawn, 0 elsewhere.

    Args:
      loss: of the one sample.
      group: the group it was drawn from.
      q: `[m]` the weights it was drawn with.
      gamma: implicit exploration, >= 0.

    References: G. Neu, "Explore no more", NeurIPS 2015.
    """
    drawn = simplex.indicator(group, len(q))
    return points.scale(drawn, -once((1.0 - loss) / (points.inner(drawn, q) + gamma)))


def saddle(model: Model, weights: Weights) -> Saddle:
    """The averages of both players so far."""
    return Saddle(model.mean, weights.mean)


def geometry(
    dim: Shape, radius: ArrayLike, lipschitz: ArrayLike | None, diameter_sq: ArrayLike | None
) -> tuple[ArrayLike, ArrayLike]:
    """G and D^2, where they are not given: sqrt(d), for features with unit variance, and B^2 / 2."""
    return (
        math.sqrt(points.size(dim)) if lipschitz is None else lipschitz,
        jnp.square(radius) / 2.0 if diameter_sq is None else diameter_sq,
    )
