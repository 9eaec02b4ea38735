"""Meters of the heavy-tailed family: coverage of any learner's confidence set, and truncations by CRTM."""

import functools
from typing import Any

import jax.numpy as jnp

from jaxbandits.algorithms.linear import online_regression as regression
from jaxbandits.base.deprecation import alias
from jaxbandits.engine.late_feedback import check_immediate_feedback
from jaxbandits.numerics import inverse_factors
from jaxbandits.simulation import Meter, Round


def error_ratio(r: Round) -> Any:
    """Return ||theta_{t+1} - theta*||_{V_t} / radius_t `[]` of a learner that implements `HasConfidenceSet`.

    If it is above 1, the confidence set does not contain theta*.

    The centre and the design matrix are fields of the learner's state, or of its field `estimate`.
    """
    found = getattr(r.next_state, "estimate", r.next_state)
    length = jnp.sqrt(inverse_factors.norm_sq(found.inverse, found.theta - r.env_state.theta))
    return length / r.algorithm.radius(r.t + 1, r.next_state)


@functools.cache  # one object per name, since programs are found by their meters
def coverage(name: str = "error_ratio") -> Meter:
    """Return a meter of the largest `error_ratio` over rounds, above 1 if theta* has left a confidence set."""
    return Meter(name, error_ratio, "max")


def is_truncated(r: Round) -> Any:
    """Return 1 if CRTM replaces the reward of the round by 0, else 0.

    Raises:
      InputError: during tracing, if feedback is delayed or batched.
    """
    check_immediate_feedback(r.algorithm, r.environment, "is_truncated")
    width = regression.add_arm(r.algorithm.mode, r.state.estimate, r.decision.x).width
    return jnp.where(width * jnp.abs(r.feedback.reward) > r.state.threshold, 1.0, 0.0)


truncated = alias(is_truncated, "truncated")
