"""Inequalities in the analysis of OONS, CLA-OONS and CA-OONS, which can be checked in every round.

They hold on every trace, and the preconditions of Theorem 3.1 hold with the constants of the theory. The functions take
one round of OONS, an `OONSRound`: `inequality_slack` is the slack of the path-wise regret inequality for a comparator
u, `projection_residuals` are zero if both steps are minimisers, `stability` returns both sides of Lemma C.3, and
`preconditions` returns the ratios in Theorem 3.1. `diagnostics.oco` wraps these functions for meters.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.oco.anytime_ca_oons import AnytimeCAOONS
from jaxbandits.algorithms.oco.ca_oons import CAOONS
from jaxbandits.algorithms.oco.cla_oons import CLAOONS
from jaxbandits.algorithms.oco.oons import OONS
from jaxbandits.base import trees
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import ArrayLike
from jaxbandits.numerics import linalg
from jaxbandits.numerics.linalg import Symmetric, Vector
from jaxbandits.types import Feedback, PointDecision, State


class OONSRound(NamedTuple):
    """One round of an Optimistic Online Newton Step, in the notation of the paper."""

    play: Vector  # [d]  x_t
    center: Vector  # [d]  x'_t
    next_center: Vector  # [d]  x'_{t+1}, before a restart
    hint: Vector  # [d]  m_t
    grad: Vector  # [d]  g_t; the clipped gradient of CLA-OONS
    nabla: Vector  # [d]  g_t + c_corr eta_t <x_t, e_t> e_t
    metric: Symmetric  # [d, d]  A_t
    eta: jax.Array  # []  eta_t
    radius: jax.Array  # []  radius of the ball
    hint_range: jax.Array  # []  z_t, which bounds ||e_t||
    c_corr: jax.Array  # []


# One round of OONS ----------------------------------------------------------------------------------------------------


def inequality_slack(r: OONSRound, u: Vector, relative: bool = False) -> jax.Array:
    """Return the slack of the path-wise inequality in one round for ||u|| <= radius, >= 0 up to rounding.

    <g_t, x_t - u> <= <x_t - x'_{t+1}, nabla_t - m_t> + (||u - x'_t||^2 - ||u - x'_{t+1}||^2 - ||x'_{t+1} - x_t||^2
                      - ||x_t - x'_t||^2) / 2 + (c_corr / 2) eta_t (<u, e_t>^2 - <x_t, e_t>^2)

    The slack is the right side minus the left side, and the norms are those of A_t. The inequality holds for any
    constants, because both steps are minimisers. With `relative` the slack is divided by the sum of the sizes of its
    terms, so that rounding errors are a few machine epsilons for any u.
    """

    def square_norm(x: Vector) -> jax.Array:
        return x @ r.metric @ x

    error = r.grad - r.hint
    left = r.grad @ (r.play - u)
    terms = (
        0.5 * square_norm(u - r.center),
        -0.5 * square_norm(u - r.next_center),
        -0.5 * square_norm(r.next_center - r.play),
        -0.5 * square_norm(r.play - r.center),
        (r.play - r.next_center) @ (r.nabla - r.hint),
        0.5 * r.c_corr * r.eta * (u @ error) ** 2,
        -0.5 * r.c_corr * r.eta * (r.play @ error) ** 2,
    )
    slack = sum(terms) - left
    if not relative:
        return slack
    size = sum(abs(term) for term in terms) + jnp.linalg.norm(r.grad) * (jnp.linalg.norm(r.play) + jnp.linalg.norm(u))
    return slack / jnp.maximum(size, jnp.finfo(size.dtype).tiny)


def projection_residuals(r: OONSRound) -> tuple[jax.Array, jax.Array]:
    """Return `(R ||q|| + <q, x>) / (R s)` for both steps, where q is the gradient at x, and s is its scale.

    The value is 0 at the minimiser over the ball.

    A step that projects in the Euclidean norm, a plausible mistake, has a residual of about 0.1, although it satisfies
    the path-wise inequality.
    """
    return _residual(r, r.play, r.hint), _residual(r, r.next_center, r.nabla)


def _residual(r: OONSRound, x: Vector, slope: Vector) -> jax.Array:
    pull = r.metric @ (x - r.center)
    gradient = pull + slope
    # A (x - x') has the rounding error of x, eps R ||A||, so the scale includes that term.
    scale = jnp.linalg.norm(slope) + jnp.linalg.norm(pull) + r.radius * jnp.trace(r.metric)
    return (jnp.linalg.norm(gradient) + (gradient @ x) / r.radius) / scale


def stability(r: OONSRound) -> tuple[jax.Array, jax.Array]:
    """Return the inner product and the bound in `0 <= <x_t - x'_{t+1}, nabla_t - m_t> <= ||nabla_t - m_t||^2`.

    This is Lemma C.3; the norm is that of the inverse of A_t.

    The lemma has a factor 2 on the right side; the inequality holds without this factor.
    """
    step = r.nabla - r.hint
    solved = linalg.solve(linalg.factor(r.metric), step)
    return (r.play - r.next_center) @ step, step @ solved


class Preconditions(NamedTuple):
    """Preconditions of Theorem 3.1, each at most 1 under the theory's constants."""

    hint_error: jax.Array  # ||e_t|| / z_t
    step_size: jax.Array  # 64 eta_t R z_t, with R the radius of the ball
    correction: jax.Array  # 2 c_corr eta_t |<x_t, e_t>|
    step: jax.Array  # ||nabla_t - m_t|| / (1.5 ||e_t||)


def preconditions(r: OONSRound) -> Preconditions:
    """Return the left sides of the preconditions as ratios to their largest allowed values."""
    error = r.grad - r.hint
    norm = jnp.linalg.norm(error)
    correction = r.c_corr * r.eta * (r.play @ error)
    return Preconditions(
        hint_error=norm / r.hint_range,
        step_size=64.0 * r.eta * r.radius * r.hint_range,
        correction=2.0 * jnp.abs(correction),
        # nabla_t - m_t is (1 + correction) e_t; a subtraction would show rounding errors if e_t is small.
        step=jnp.where(norm > 0.0, jnp.abs(1.0 + correction) / 1.5, 0.0),
    )


# Rounds of the three algorithms ---------------------------------------------------------------------------------------


def oons_round(learner: OONS, state: State, play: Vector, grad: Vector) -> OONSRound:
    """Return a round of OONS from the state before it, its play and its feedback."""
    after = learner.advance(jnp.int32(0), state, play, grad)  # t is not used
    eta = learner.step_size(state)
    constants = _Constants(eta, learner.domain.radius, 2.0 * learner.lipschitz, learner.c_corr)
    return _round(constants, learner.metric(state, eta), state, after.center, play, grad)


def cla_oons_round(learner: CLAOONS, state: State, play: Vector, grad: Vector) -> OONSRound:
    """Return a round of CLA-OONS, with the clipped gradient and x'_{t+1} before a restart."""
    after = learner.step_on_ball(state, play, grad)
    clipped = state.hint + (grad - state.hint) * (state.scale / after.scale)
    eta = learner.step_size(state)
    constants = _Constants(eta, learner.domain_radius(state), state.scale, learner.c_corr)
    return _round(constants, learner.metric(state, eta), state, after.center, play, clipped)


class _Constants(NamedTuple):
    """Numbers of one round, the last fields of `OONSRound`."""

    eta: jax.Array
    radius: ArrayLike
    hint_range: ArrayLike
    c_corr: ArrayLike


def _round(
    constants: _Constants, metric: Symmetric, state: State, next_center: Vector, play: Vector, grad: Vector
) -> OONSRound:
    eta, error = constants.eta, grad - state.hint
    nabla = grad + (constants.c_corr * eta * (play @ error)) * error
    values = [jnp.asarray(x, eta.dtype) for x in constants]
    return OONSRound(play, state.center, next_center, state.hint, grad, nabla, metric, *values)


def inside(algorithm: Any, state: State, decision: PointDecision, feedback: Feedback) -> OONSRound:
    """Return the `[L]` rounds of OONS that a round of a learner contains.

    L is 1 for OONS and CLA-OONS, and the number N of base learners for CA-OONS and its anytime version.

    Raises:
      InputError: for any other algorithm.
    """
    if isinstance(algorithm, AnytimeCAOONS):
        algorithm = algorithm.learner
    if isinstance(algorithm, CAOONS):
        gradients = algorithm.base_gradients(feedback)
        return jax.vmap(oons_round, in_axes=-1)(algorithm.base_learners, state.base, state.points, gradients)
    if not isinstance(algorithm, (OONS, CLAOONS)):
        raise InputError(
            f"these certificates apply to OONS, CLAOONS, CAOONS and AnytimeCAOONS, not to {type(algorithm).__name__}"
        )
    grad = trees.row(feedback.grad, 0)
    if isinstance(algorithm, OONS):
        alone = oons_round(algorithm, state, decision.play, grad)
    else:
        alone = cla_oons_round(algorithm, state, decision.play, grad)
    return jax.tree.map(lambda x: x[None], alone)
