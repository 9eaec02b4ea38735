"""Certificates from the analysis of OONS, CLA-OONS and CA-OONS, as functions of a `Round` for meters.

    Meter("projection", meters.worst_projection, "max")
    Meter("slack", meters.least_slack((8.0,), (-8.0,)), "sum")

Here `meters` is this module. The functions apply to rounds of OONS and CLA-OONS, and to all base learners of CA-OONS.
The functions `meta_*` and `worst_meta_precondition` concern the meta algorithm, so that they apply to CA-OONS only.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.oco.anytime_ca_oons import AnytimeCAOONS
from jaxbandits.algorithms.oco.ca_oons import CAOONS
from jaxbandits.algorithms.oco.msmwc_master import Middle
from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import ArrayLike
from jaxbandits.diagnostics import oons_rounds as rounds
from jaxbandits.engine.meters import Round
from jaxbandits.numerics.linalg import Vector


@functools.cache
def least_slack(*comparators: tuple[float, ...], relative: bool = False) -> Callable[[Any], jax.Array]:
    """Return a `measure` for meters that returns the smallest slack of the path-wise inequality.

    The minimum is over the comparators, each scaled into the ball of the learner, and over the learners. Up to
    rounding, the slack is >= 0 in every round, and so is its sum over rounds.

    Args:
      *comparators: one or more points u, with `d` coordinates each.
      relative: True: divide by the size of the terms (`oons_rounds.inequality_slack`); such slacks should not be
        summed.
    """

    def measure(played: Round) -> jax.Array:
        dtype = jnp.result_type(float)

        def slack(u: Vector, r: rounds.OONSRound) -> jax.Array:
            length = jnp.maximum(jnp.linalg.norm(u), jnp.finfo(dtype).tiny)
            return rounds.inequality_slack(r, u * jnp.minimum(1.0, r.radius / length), relative)

        each = jax.vmap(jax.vmap(slack, (None, 0)), (0, None))
        return jnp.min(each(jnp.asarray(comparators, dtype), _rounds(played)))

    return measure


def worst_projection(played: Any) -> jax.Array:
    """Return the largest residual of the two projections in a round, over all learners; use it with `reduce="max"`."""
    return jnp.max(jnp.stack(jax.vmap(rounds.projection_residuals)(_rounds(played))))


def worst_precondition(played: Any) -> jax.Array:
    """Return the largest ratio of `oons_rounds.preconditions`, at most 1 under the theory's constants.

    Use it with `reduce="max"`.
    """
    return jnp.max(jnp.stack(jax.vmap(rounds.preconditions)(_rounds(played))))


def worst_stability(played: Any) -> jax.Array:
    """Return the largest violation of Lemma C.3 (with factor 1) over the learners, <= 0 up to rounding.

    The violation is divided by the right side plus the product of the norms on the left side, which bounds the rounding
    error of the points. Use it with `reduce="max"`.
    """
    r = _rounds(played)
    product, bound = jax.vmap(rounds.stability)(r)
    norm = jax.vmap(jnp.linalg.norm)
    scale = bound + (norm(r.play) + norm(r.next_center)) * norm(r.nabla - r.hint)
    excess = jnp.maximum(product - bound, -product)
    return jnp.max(excess / jnp.maximum(scale, jnp.finfo(scale.dtype).tiny ** 0.5))


@functools.cache
def meta_regret(i: int) -> Callable[[Any], jax.Array]:
    """Return a `measure` for meters that returns `<l_t, w_t - e_i>` for base learner i = 0, 1, ... of CA-OONS.

    Use it with `reduce="sum"`. An `InputError` during tracing reports that there is no base learner i.
    """
    i = ranges.integer("number of the base learner", i, "[0, inf)")

    def measure(played: Round) -> jax.Array:
        return meta_loss(played) - _entry(_meta_losses(played), i)

    return measure


@functools.cache
def meta_allowance(i: int) -> Callable[[Any], jax.Array]:
    """Return a `measure` for meters that returns `meta_bound` of base learner i after the current round.

    Use it with `reduce="last"`. The bound is at least the sum of `meta_regret(i)` up to this round.
    """
    i = ranges.integer("number of the base learner", i, "[0, inf)")

    def measure(played: Round) -> jax.Array:
        return _entry(_allowances(played), i)

    return measure


def meta_loss(played: Any) -> jax.Array:
    """Return `<l_t, w_t>` of CA-OONS; use it with `reduce="sum"`."""
    return jnp.sum(_meta_losses(played) * played.state.play.weights)


def meta_budget(played: Any) -> jax.Array:
    """Return the minimum over base learners i of `sum_t l_{t,i}` plus the `meta_bound` of i; use `reduce="last"`.

    The sum of `meta_loss` minus this value is the largest violation of the meta regret inequality over all base
    learners: it is negative if all inequalities hold.
    """
    return jnp.min(played.next_state.meta.loss_sum.total + _allowances(played))


def worst_meta_precondition(played: Any) -> jax.Array:
    """Return the largest `2 c_meta beta_k |l_t^j - h_t^j|` over k and j in Z(k).

    The value is at most 1 under the theory's constants.
    """
    error = _meta_losses(played) - played.state.play.hint
    learners = played.state.meta.learners
    known = jnp.arange(error.shape[0])[:, None] < learners.count
    rate = jnp.where(learners.log_prior > -jnp.inf, learners.rate, 0.0)
    return jnp.max(jnp.where(known, 2.0 * _ca_oons(played).c_meta * rate * jnp.abs(error)[:, None], 0.0))


def meta_bound(learners: Middle, square_sum: jax.Array, c_meta: ArrayLike = 32.0) -> jax.Array:
    """Return the bound `[N]` on the meta regret of MsMwC-Master against each expert i, with all its constants.

    sum_t <l_t, w_t - e_i> <= min over k with i in Z(k) of ln(1 / p'_{1,k}) / beta_k + sum_j p'_{1,j} / beta_j - 1 /
    beta_k + ln(card Z(k)) / (2 beta_k) + 2 c beta_k sum_t (l_{t,i} - h_{t,i})^2.

    Args:
      learners: the middle learners.
      square_sum: `[N]` sum_t (l_t - h_t)^2.
      c_meta: 32 in the theory.
    """
    rate, log_prior, count = learners
    active = log_prior > -jnp.inf
    prior = jnp.where(active, jnp.exp(log_prior), 0.0)
    start = (-jnp.where(active, log_prior, 0.0) - 1.0 + 0.5 * jnp.log(1.0 * count)) / rate + jnp.sum(prior / rate)
    bound = start + 2.0 * c_meta * rate * square_sum[:, None]
    known = (jnp.arange(square_sum.shape[0])[:, None] < count) & active
    return jnp.min(jnp.where(known, bound, jnp.inf), axis=1)


def _rounds(played: Any) -> rounds.OONSRound:
    return rounds.inside(played.algorithm, played.state, played.decision, played.feedback)


def _ca_oons(played: Any) -> CAOONS:
    """Return CA-OONS, either the learner itself or the learner inside its anytime version."""
    algorithm = played.algorithm.learner if isinstance(played.algorithm, AnytimeCAOONS) else played.algorithm
    if not isinstance(algorithm, CAOONS):
        raise InputError(
            f"the certificates of the meta algorithm apply only to CAOONS, not to {type(algorithm).__name__}"
        )
    return algorithm


def _entry(values: jax.Array, i: int) -> jax.Array:
    """Return entry i of an array with one entry per base learner; JAX would replace an index that is too large."""
    if i >= len(values):
        raise InputError(f"number of the base learner must be at most {len(values) - 1}, got {i}")
    return values[i]


def _meta_losses(played: Any) -> jax.Array:
    """Return the losses l_t `[N]` of the base learners."""
    return _ca_oons(played).losses(played.feedback, played.state.points)


def _allowances(played: Any) -> jax.Array:
    """Return `meta_bound` `[N]` after the rounds up to the current round.

    The bound is for a whole run of CA-OONS, whereas the anytime version resets its sums at every restart.
    """
    if isinstance(played.algorithm, AnytimeCAOONS):
        raise InputError(
            "AnytimeCAOONS resets its sums at every restart, so the bound does not apply to it: use CAOONS"
        )
    meta = played.next_state.meta
    return meta_bound(meta.learners, meta.square_sum.total, _ca_oons(played).c_meta)
