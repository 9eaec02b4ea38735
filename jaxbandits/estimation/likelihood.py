"""Negative log-likelihood of a generalised linear model, summed over all past rounds.

    L(theta) = sum_s [m(x_s'theta) - r_s x_s'theta] / g + ridge ||theta||^2 / 2

For each distinct arm, L depends only on the number of plays and the total reward. The functions below therefore accept
two kinds of data:

* `Pulls`, if the same K arms are offered in every round. Memory and evaluation cost O(K), for every t.
* `Samples`, if the arms change. Every round is stored, and an evaluation costs O(t) (`estimation.history`).

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

    arms: jax.Array  # [K, d]  features of the arms; 0 before the first update
    counts: jax.Array  # [K]  number of plays of arm k; NaN after the features of an arm have changed
    totals: jax.Array  # [K]  sum of the rewards of arm k


class Samples(NamedTuple):
    """Arm and reward of every round."""

    arms: jax.Array  # [capacity, d]
    rewards: jax.Array  # [capacity]


Data = Pulls | Samples


class Evaluation(NamedTuple):
    """Value, gradient and Hessian of L at a point."""

    value: jax.Array  # []  L(theta) - L(origin)
    gradient: Vector  # [d]
    hessian: Symmetric  # [d, d]


def empty(dim: int, n_arms: int | None = None, capacity: int | None = None) -> Data:
    """Return data without rounds.

    Args:
      dim: d, dimension of the features.
      n_arms: K, number of arms, for `Pulls`; None for `Samples`.
      capacity: number of rounds to store, for `Samples`.
    """
    zero = jnp.zeros(dim)
    if n_arms is None:
        return Samples(*history.empty(1 if capacity is None else capacity, (zero, jnp.zeros(()))))
    return Pulls(history.empty(n_arms, zero), jnp.zeros(n_arms), jnp.zeros(n_arms))


def record(
    data: Data, t: jax.Array, arms: jax.Array, decision: Decision, reward: jax.Array, member: ArrayLike = 1.0
) -> Data:
    """Return the data after adding round t = 0, 1, ..., in which `decision` was played among `arms` `[K, d]`.

    If `member` is 0, the round does not contribute; by default it is 1.

    If the arms of `Pulls` change, or if a round exceeds the capacity of `Samples`, every later evaluation is NaN,
    because the estimate would otherwise be silently wrong.
    """
    if isinstance(data, Samples):
        reward = jnp.where(t < data.rewards.shape[0], reward, jnp.nan)
        return Samples(*history.append(tuple(data), t, (decision.x * member, reward * member)))  # a zero row adds 0
    check_count(arms, data.counts.shape[0])
    return Pulls(*_count(tuple(data), arms, decision.index, reward, jnp.asarray(member, reward.dtype)))


def _count(
    data: tuple[jax.Array, ...], arms: jax.Array, index: jax.Array, reward: jax.Array, member: jax.Array
) -> tuple[jax.Array, ...]:
    known, counts, totals = data
    # With random delays the first update need not be that of round 0.
    is_first = jnp.all(known == 0.0) & jnp.all(counts == 0.0)
    known = jnp.where(is_first, arms, known)
    changed = jnp.any(known != arms)
    played = jnp.where(jnp.arange(len(counts)) == index, member, 0.0)
    return known, counts + jnp.where(changed, jnp.nan, played), totals + played * reward


class Likelihood:
    """Function L of theta after a given number of rounds. It is not a pytree and is created when it is needed.

    Attributes:
      origin: `[d]` point whose value is subtracted from every value. The difference is computed sample by sample, so
        that it is accurate even if it is small compared with L.
    """

    def __init__(self, link: Link, data: Data, count: ArrayLike, ridge: ArrayLike | None, origin: Vector):
        """Define L for the first `count` rounds; `ridge=None` omits the ridge term."""
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
        """Return value, gradient and Hessian summed over rows; the value of a row is `weights m(z) - responses z`."""
        link = self.link
        # The barrier makes z0 depend on z; otherwise XLA moves the computation for the origin out of loops that rarely
        # run.
        z, z0 = barrier((design @ theta, design @ self.origin))
        partition, mean, slope = link.log_partition(z) - link.log_partition(z0), link.mean(z), link.slope(z)
        # Residuals are computed row by row, so that terms that cancel leave no rounding errors in directions that occur
        # in few rows.
        values = weights * partition - responses * (z - z0)
        residuals, curvatures = weights * mean - responses, weights * slope
        return jnp.sum(values), residuals @ design, (design.T * curvatures) @ design


def check_form(name: str, n_arms: int | None, capacity: int | None, horizon: ArrayLike = 0) -> None:
    """Check the fields of a learner that can use `Pulls` or `Samples`; `name` is its name in error messages.

    Raises:
      InputError: unless exactly one of `n_arms` and `capacity` is given, and `capacity` is at least the horizon.
    """
    if (n_arms is None) == (capacity is None):
        given = "neither" if n_arms is None else "both"
        raise InputError(
            f"{name} needs either n_arms (if the arms are the same in every round) or capacity (if the arms change; "
            f"at least the number of rounds), got {given}"
        )
    longest = float(np.max(np.asarray(horizon)))
    if capacity is not None and longest > capacity:
        raise InputError(f"{name}.capacity must be at least the horizon {longest:g}, got {capacity}")


def check_link(name: str, link: Any, bound: ArrayLike) -> None:
    """Check that a link is defined on [-bound, bound]; `name` is the name of the learner in error messages.

    Raises:
      InputError: if the value is not a link, or if the link is not defined on [-bound, bound].
    """
    if not isinstance(link, Link):
        raise InputError(f"{name}.link must be a link such as links.Bernoulli(), got {type(link).__name__}")
    if not np.all(np.isfinite(link.slope_bounds(jnp.negative(bound), jnp.asarray(bound))[1])):
        raise InputError(f"{name} needs a link that is defined around 0, but {type(link).__name__} is not")
