"""Negative log-likelihood of a generalised linear model over all rounds so far.

    L(theta) = sum_s [m(x_s'theta) - r_s x_s'theta] / g + ridge ||theta||^2 / 2

For each distinct arm, it depends only on the number of plays and the total reward. Two kinds of data therefore share
the same three functions:

* `Pulls`: the same K arms every round. Exact; memory and evaluation cost O(K) for every t.
* `Samples`: arms that change. Every round is stored; an evaluation costs O(t), not O(capacity) (`estimation.history`).

    data = empty(dim, n_arms=K)            or            empty(dim, capacity=T)
    data = record(data, t, arms, decision, reward)
    likelihood = Likelihood(link, data, count=t + 1, ridge=lam, origin=theta)
    likelihood(theta)                      value, gradient and Hessian at one point; `vmap` for several
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import ArrayLike
from jaxbandits.estimation import history
from jaxbandits.estimation.arms import check_count
from jaxbandits.estimation.links import Link
from jaxbandits.numerics.linalg import Symmetric, Vector
from jaxbandits.tracing.barrier import barrier
from jaxbandits.types import Decision


class Pulls(NamedTuple):
    """Sufficient statistics of K fixed arms."""

    arms: jax.Array  # [K, d]  zero before the first round
    counts: jax.Array  # [K]  n_k; NaN after an arm has changed
    totals: jax.Array  # [K]  sum of the rewards of arm k


class Samples(NamedTuple):
    """Arm and reward of every round."""

    arms: jax.Array  # [capacity, d]
    rewards: jax.Array  # [capacity]


Data = Pulls | Samples


class Evaluation(NamedTuple):
    """L and its derivatives at a point."""

    value: jax.Array  # []  L(theta) - L(origin)
    gradient: Vector  # [d]
    hessian: Symmetric  # [d, d]


def empty(dim: int, n_arms: int | None = None, capacity: int | None = None) -> Data:
    """Return data without rounds.

    Args:
      dim: d.
      n_arms: K, for `Pulls`.
      capacity: number of rounds to store, for `Samples`; used if `n_arms` is None.
    """
    zero = jnp.zeros(dim)
    if n_arms is None:
        return Samples(*history.empty(1 if capacity is None else capacity, (zero, jnp.zeros(()))))
    return Pulls(history.empty(n_arms, zero), jnp.zeros(n_arms), jnp.zeros(n_arms))


def record(
    data: Data, t: jax.Array, arms: jax.Array, decision: Decision, reward: jax.Array, member: ArrayLike = 1.0
) -> Data:
    """Return the data with round t = 0, 1, ... added, `decision.index` and `decision.x` played.

    The data do not change if `member` is 0.

    If arms change under `Pulls`, or a round exceeds the capacity of `Samples`, the estimate would silently be a
    different one; every later evaluation is NaN instead.
    """
    if isinstance(data, Samples):
        reward = jnp.where(t < data.rewards.shape[0], reward, jnp.nan)
        return Samples(*history.append(tuple(data), t, (decision.x * member, reward * member)))  # a zero row adds 0
    check_count(arms, data.counts.shape[0])
    return Pulls(*_count(t, tuple(data), arms, decision.index, reward, jnp.asarray(member, reward.dtype)))


def _count(
    t: jax.Array, data: tuple[jax.Array, ...], arms: jax.Array, index: jax.Array, reward: jax.Array, member: jax.Array
) -> tuple[jax.Array, ...]:
    known, counts, totals = data
    known = jnp.where(t == 0, arms, known)
    changed = jnp.any(known != arms)
    played = jnp.where(jnp.arange(len(counts)) == index, member, 0.0)
    return known, counts + jnp.where(changed, jnp.nan, played), totals + played * reward


class Likelihood:
    """L of one round as a function of theta; not a pytree, but created where it is used.

    Attributes:
      origin: `[d]`; values are differences to the value there, computed sample by sample, so that a difference that is
        small compared with L remains accurate.
    """

    def __init__(self, link: Link, data: Data, count: ArrayLike, ridge: ArrayLike | None, origin: Vector):
        """Define L of the first `count` rounds; `ridge=None`: no ridge term."""
        self.link, self.data, self.count, self.ridge, self.origin = link, data, count, ridge, origin

    def __call__(self, theta: Vector) -> Evaluation:
        """Return value, gradient and Hessian at theta `[d]`."""
        if isinstance(self.data, Pulls):
            sums = self._sums(theta, self.data.arms, self.data.counts, self.data.totals)
        else:

            def block(rows: Any, valid: jax.Array) -> Any:
                design, rewards = rows
                return self._sums(theta, design, valid.astype(rewards.dtype), jnp.where(valid, rewards, 0.0))

            sums = history.sum_over(tuple(self.data), self.count, block)
        g = self.link.dispersion
        value, gradient, hessian = jax.tree.map(lambda a: a / g, sums)
        if self.ridge is not None:
            square = theta @ theta - self.origin @ self.origin
            value = value + 0.5 * self.ridge * square
            gradient = gradient + self.ridge * theta
            hessian = hessian + self.ridge * jnp.eye(len(hessian), dtype=hessian.dtype)
        return Evaluation(value, gradient, hessian)

    def _sums(self, theta: Vector, design: jax.Array, weights: jax.Array, responses: jax.Array) -> Any:
        """Return the three sums over rows; the value of a row is `weights` times m(z) minus `responses` times z."""
        link = self.link
        # The barrier ties z0 to z; otherwise XLA moves the means at the origin out of loops that rarely run.
        z, z0 = barrier((design @ theta, design @ self.origin))
        partition, mean, slope = link.log_partition(z) - link.log_partition(z0), link.mean(z), link.slope(z)
        # Row by row, so that terms that cancel leave no rounding errors in directions that few rows contain.
        values = weights * partition - responses * (z - z0)
        residuals, curvatures = weights * mean - responses, weights * slope
        return jnp.sum(values), residuals @ design, (design.T * curvatures) @ design


def check_form(name: str, n_arms: int | None, capacity: int | None, horizon: ArrayLike = 0) -> None:
    """Check the fields of learners with either kind of data.

    Raises:
      InputError: unless exactly one of `n_arms` and `capacity` is given, and `capacity` is at least the horizon.
    """
    if (n_arms is None) == (capacity is None):
        given = "neither" if n_arms is None else "both"
        raise InputError(
            f"{name} needs either n_arms (the same arms every round) or capacity (arms that change; at least the "
            f"number of rounds), got {given}"
        )
    longest = float(np.max(np.asarray(horizon)))
    if capacity is not None and longest > capacity:
        raise InputError(f"{name}.capacity must be at least the horizon, got {capacity} < {longest:g}")


def check_link(name: str, link: Any, bound: ArrayLike) -> None:
    """Check that a link suits estimators on a ball around 0.

    Raises:
      InputError: for a value that is not a link, or a link that is not defined on [-bound, bound].
    """
    if not isinstance(link, Link):
        raise InputError(f"{name}.link must have the members of estimation.links.Link, got {type(link).__name__}")
    if not np.all(np.isfinite(link.slope_bounds(jnp.negative(bound), jnp.asarray(bound))[1])):
        raise InputError(f"{name} needs a link that exists around 0, which {type(link).__name__} does not")
