"""Meters of the heavy-tailed family: coverage of any learner's confidence set, and what CRTM throws away."""

import functools
from typing import Any

import jax.numpy as jnp

from jaxbandits.algorithms.linear import online_regression as regression
from jaxbandits.base.deprecation import alias
from jaxbandits.numerics import inverse_factors
from jaxbandits.simulation import Meter, Round


def error_ratio(r: Round) -> Any:
    """Return ||theta_{t+1} - theta*||_{V_t} / radius_t of a learner that `HasConfidenceSet`.

    Above 1, theta* is not covered.

    Centre and design are those of its regression: fields of the state, or of the state's `estimate`.
    """
    found = getattr(r.next_state, "estimate", r.next_state)
    length = jnp.sqrt(inverse_factors.norm_sq(found.inverse, found.theta - r.env_state.theta))
    return length / r.algorithm.radius(r.t + 1, r.next_state)


@functools.cache  # one object per name: programs are looked up by their meters
def coverage(name: str = "error_ratio") -> Meter:
    """Return the largest `error_ratio` so far: above 1 as soon as theta* leaves a confidence set."""
    return Meter(name, error_ratio, "max")


def is_truncated(r: Round) -> Any:
    """Return 1 where CRTM takes 0 for the reward of the round."""
    width = regression.add_arm(r.algorithm.mode, r.state.estimate, r.decision.x).width
    return jnp.where(width * jnp.abs(r.feedback.reward) > r.state.threshold, 1.0, 0.0)


truncated = alias(is_truncated, "truncated")
