"""The two players of group DRO, `min_w max_q sum_i q_i R_i(w)`: a model that descends, group weights that ascend.

Each keeps where it is and the running mean of where it was, weighted by step sizes where they change. What a learner
samples, and what it makes of a sample (`importance`), is its own affair.
"""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.algorithms.dro.steps import Pace, Steps
from jaxbandits.base import trees
from jaxbandits.base.errors import InputError, shown
from jaxbandits.base.pytree import ArrayLike
from jaxbandits.domains import points, protocol
from jaxbandits.domains.ball import L2Ball
from jaxbandits.domains.points import Point
from jaxbandits.numerics import elementary, linalg, simplex


class Saddle(NamedTuple):
    """A point of `min_w max_q`: what the algorithms for group DRO recommend."""

    w: Point  # [d] model
    q: jax.Array  # [m] group weights


class Model(NamedTuple):
    """The model player, by projected gradient descent."""

    w: Point  # [d]  w_t
    mean: Point  # [d]  mean of w_1, ..., w_{t-1}

    @classmethod
    def start(cls, origin: Point) -> "Model":
        """At w_1."""
        return cls(origin, origin)

    def step(self, grad: Point, rate: ArrayLike, domain: Any, fraction: ArrayLike) -> "Model":
        """`w_{t+1} = Proj_W[w_t - rate grad]`, and w_t in the mean with this fraction."""
        return Model(descended(self.w, grad, rate, domain), points.average(self.mean, self.w, fraction))


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
        return elementary.exp(self.log_q)

    def step(self, gain: jax.Array, rate: ArrayLike, fraction: ArrayLike, k: int = 1) -> "Weights":
        """`q_{t+1}` nearest to `q_{t,i} exp(rate gain_i)` with entries up to 1/k; q_t in the mean with a fraction."""
        return self.at(simplex.mirror_step(self.log_q, gain, rate, k), fraction)

    def at(self, log_q: jax.Array, fraction: ArrayLike) -> "Weights":
        """Moved there, and q_t in the mean with this fraction."""
        return Weights(log_q, points.average(self.mean, self.q, fraction))


class Players(NamedTuple):
    """The state of a learner: both players, their averages, and what `init` made of the hyperparameters."""

    model: Model  # [d]
    weights: Weights  # [m]
    steps: Steps  # []

    @classmethod
    def start(cls, learner: Any) -> "Players":
        """Return the state at the start of round 1.

        The weights q_1 are uniform. The model w_1 is `learner.start`, or the zero of the domain if that is None.
        """
        return cls(Model.start(origin(learner)), Weights.start(learner.n_groups), learner.steps())

    def move(self, domain: Any, grad: Point, gain: jax.Array, pace: Pace, k: int = 1) -> "Players":
        """Both at once, from the same (w_t, q_t)."""
        return Players(
            model=self.model.step(grad, pace.factor * self.steps.w, domain, pace.fraction),
            weights=self.weights.step(gain, pace.factor * self.steps.q, pace.fraction, k),
            steps=self.steps,
        )

    @property
    def saddle(self) -> Saddle:
        """The averages of both so far."""
        return Saddle(self.model.mean, self.weights.mean)


def descended(w: Point, grad: Point, rate: ArrayLike, domain: Any) -> Point:
    """`Proj_W[w - rate grad]`."""
    return domain.project(points.add_scaled(w, -rate, grad))


def importance(loss: jax.Array, group: jax.Array, q: jax.Array, gamma: ArrayLike) -> jax.Array:
    """`[m]` the gains of Exp3-IX: minus (1 - loss) / (Q q_i + gamma) where group i is among the drawn, 0 elsewhere.

    Args:
      loss: `[Q]` of one sample each.
      group: `[Q]` the groups they were drawn from, all different; i is one of them with probability Q q_i.
      q: `[m]` the weights they were drawn with.
      gamma: implicit exploration, >= 0.

    References: G. Neu, "Explore no more", NeurIPS 2015.
    """
    gains, count = [], len(loss)
    for j in range(count):
        drawn = simplex.indicator(trees.row(group, j), len(q))
        chance = points.inner(drawn, q) if count == 1 else count * points.inner(drawn, q)
        gains.append(points.scale(drawn, -((1.0 - trees.row(loss, j)) / (chance + gamma))))
    return linalg.added(gains)


def clipped(loss: jax.Array, clip: bool) -> jax.Array:
    """Losses above 1, where 1 - loss is negative, as 1 if asked."""
    return jnp.minimum(loss, 1.0) if clip else loss


def ball() -> L2Ball:
    """The default W; its radius is ours, for the paper states none."""
    return L2Ball(radius=3.0)


def origin(learner: Any) -> Point:
    """w_1."""
    start = learner.domain.zero(learner.dim) if learner.start is None else learner.start
    return jax.tree.map(lambda leaf: jnp.asarray(leaf, float), start)


def geometry(learner: Any) -> tuple[ArrayLike, ArrayLike]:
    """D^2 and G, where they are not given: the range of ||w - w_1||^2 / 2 over W, and sqrt(d).

    sqrt(d) is for linear models on features with unit variance. From the centre of a ball D^2 is B^2 / 2, for B half
    its diameter; elsewhere half the square of the diameter bounds it. Where W has no diameter, nothing uses it: `check`
    asks for steps instead.
    """
    diameter_sq, lipschitz = learner.diameter_sq, learner.lipschitz
    if diameter_sq is None:
        central = learner.start is None and hasattr(learner.domain, "radius")  # a ball of some norm, from its centre
        reach = learner.domain.diameter / 2.0 if central else learner.domain.diameter
        diameter_sq = jnp.where(jnp.isfinite(reach), jnp.square(reach) / 2.0, 1.0)
    if lipschitz is None:
        size = points.size(learner.dim) if learner.start is None else sum(map(np.size, jax.tree.leaves(learner.start)))
        lipschitz = math.sqrt(size)
    return diameter_sq, lipschitz


def check(learner: Any, *derived: str) -> None:
    """That the model has a form, the domain what is needed, and D^2 a value where one of the `derived` steps needs it.

    Raises:
      InputError: one line that names the field.
    """
    name = type(learner).__name__
    protocol.check(learner.domain, f"{name}.domain", "zero", "project", "diameter")
    if learner.dim is None and learner.start is None:
        raise InputError(f"{name}.dim, or start, must be given")
    if learner.dim is not None and learner.start is not None:
        points.check(learner.start, learner.dim, f"{name}.start")
    unknown = [field for field in derived if getattr(learner, field) is None]
    if unknown and learner.diameter_sq is None and np.isinf(np.asarray(learner.domain.diameter)).any():
        raise InputError(f"{name}.diameter_sq, or {' and '.join(derived)}, must be given when the domain is unbounded")


def check_k(learner: Any) -> None:
    """That there are k groups.

    Raises:
      InputError: one line.
    """
    if learner.k > learner.n_groups:
        raise InputError(f"{type(learner).__name__}.k must be at most n_groups = {learner.n_groups}, got {learner.k}")


def check_budgets(learner: Any) -> None:
    """That two groups or more have a budget.

    Raises:
      InputError: one line.
    """
    budgets = learner.budgets
    if not isinstance(budgets, tuple) or len(budgets) < 2:
        raise InputError(f"{type(learner).__name__}.budgets must be two whole numbers or more, got {shown(budgets)}")
