"""Meters of the generalised linear family: coverage, Lemma 4 along a run, and the two kappas of an instance."""

import functools

import jax
import jax.numpy as jnp

from jaxbandits.base import ranges
from jaxbandits.base.pytree import ArrayLike
from jaxbandits.engine.late_feedback import check_immediate_feedback
from jaxbandits.engine.meters import Meter, Round
from jaxbandits.estimation.arms import largest
from jaxbandits.numerics import inverse_factors


@functools.cache  # one object per name, since programs are found by their meters
def coverage(name: str = "error_ratio") -> Meter:
    """Return a meter of the largest `||theta_t - theta*|| / radius_t`, above 1 if theta* has left a confidence set.

    The learner needs a method `error_ratio(t, state, theta)`, and the state of the environment a field `theta`. The
    ratio is measured after each update.
    """

    def measure(r: Round) -> jax.Array:
        return r.algorithm.error_ratio(r.t + 1, r.next_state, r.env_state.theta)

    return Meter(name, measure, "max")


def lemma_4_slack(largest_slope: ArrayLike | None = None, name: str = "lemma_4_slack") -> Meter:
    """Return a meter of the slack of (11) in arXiv:2507.11847 for GLB-OMD, right side minus left side, which is >= 0.

        ||theta_t+1 - theta*||^2_{H_t+1} <= 4 lambda S^2 + 2 eta sum_s [l_s(theta*) - l_s(theta_s+1)]
            + (2 eta R S C_mu / g) sum_s ||theta_s - theta_s+1||^2 - sum_s ||theta_s - theta_s+1||^2_{H_s}

    Increments of both sides are summed, so that the value at a record point is the slack at that round. If feedback is
    delayed or batched, an `InputError` is raised during tracing.

    Args:
      largest_slope: `C_mu`, sup of mu' over arms and parameters; None: over the learner's ball and unit arms.
      name: name of the metric.
    """
    if largest_slope is not None:  # arrays cannot be keys of the cache
        largest_slope = ranges.real("largest_slope", largest_slope, "(0, inf)")
    return _lemma_4_slack(largest_slope, name)


@functools.cache
def _lemma_4_slack(largest_slope: float | None, name: str) -> Meter:
    def measure(r: Round) -> jax.Array:
        check_immediate_feedback(r.algorithm, r.environment, name)
        learner, link, star, x = r.algorithm, r.algorithm.link, r.env_state.theta, r.decision.x
        eta, radius, g = learner.eta, learner.norm_bound, link.dispersion
        bound = learner.largest_slope if largest_slope is None else largest_slope
        old, new = r.state.theta - star, r.next_state.theta - star
        move = new - old
        weighted = inverse_factors.solve(r.state.inverse, move)  # H_t (theta_t+1 - theta_t)
        z_star, z_new = x @ star, x @ r.next_state.theta
        losses = link.log_partition(z_star) - link.log_partition(z_new) - r.feedback.reward * (z_star - z_new)
        right = 2.0 * eta * losses / g - move @ weighted
        right = right + 2.0 * eta * link.self_concordance * radius * bound / g * (move @ move)
        left = weighted @ (new + old) + link.slope(z_new) / g * jnp.square(x @ new)
        start = learner.lam * (4.0 * radius**2 - old @ old)  # 4 lambda S^2 - ||theta_1 - theta*||^2_{H_1}
        return right - left + jnp.where(r.t == 0, start, 0.0)

    return Meter(name, measure, "sum")


@functools.cache
def kappa(name: str = "kappa") -> Meter:
    """Return a meter of `1 / min mu'(x'theta*)` over all arms of all rounds, the kappa that RS-GLinCB requires."""
    return Meter(name, lambda r: r.environment.kappa(r.env_state, r.obs), "max")


@functools.cache
def optimal_slope(name: str = "optimal_slope") -> Meter:
    """Return a meter of the sum over rounds of mu' at the best arm: `kappa_*` is the number of rounds over this sum."""

    def measure(r: Round) -> jax.Array:
        arms, theta = r.obs.arms, r.env_state.theta
        return r.environment.link.slope(largest(arms @ theta, r.obs.mask))

    return Meter(name, measure, "sum")
