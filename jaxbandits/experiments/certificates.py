"""What the analysis of OONS, CLA-OONS and CA-OONS promises on every single trace, as numbers.

Nothing here is hidden in an O(.), so a run can watch all of it. Two layers:

* pure functions of one round of OONS, `OONSRound`: `inequality_slack` for a comparator u (the path-wise regret
  inequality), `projection_residuals` (both steps are minimisers), `stability` (Lemma C.3), `preconditions`; and
  `meta_bound` for the meta algorithm;
* measures of a whole `Round` of the simulation (any object with its fields), for meters:

      Meter("projection", certificates.worst_projection, "max")
      Meter("slack", certificates.least_slack((8.0,), (-8.0,)), "sum")

  They take the rounds of OONS and CLA-OONS as they are, and all base learners of CA-OONS. Those of the meta algorithm,
  `meta_*` and `worst_meta_precondition`, are about CA-OONS alone.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.oco.anytime_ca_oons import AnytimeCAOONS
from jaxbandits.algorithms.oco.ca_oons import CAOONS
from jaxbandits.algorithms.oco.cla_oons import CLAOONS
from jaxbandits.algorithms.oco.msmwc_master import Middle
from jaxbandits.algorithms.oco.oons import OONS
from jaxbandits.core import linalg
from jaxbandits.core.errors import InputError
from jaxbandits.core.fusion import once
from jaxbandits.core.linalg import Symmetric, Vector
from jaxbandits.core.pytree import ArrayLike
from jaxbandits.types import Gradient, PointDecision


class OONSRound(NamedTuple):
    """One round of an Optimistic Online Newton Step, under the names of the paper."""

    play: Vector  # [d]  x_t
    center: Vector  # [d]  x'_t
    next_center: Vector  # [d]  x'_{t+1}, before a restart
    hint: Vector  # [d]  m_t
    grad: Vector  # [d]  g_t; the clipped gradient of CLA-OONS
    nabla: Vector  # [d]  g_t + c_corr eta_t <x_t, e_t> e_t
    metric: Symmetric  # [d, d]  A_t
    eta: jax.Array  # []  eta_t
    radius: jax.Array  # []  of the ball
    hint_range: jax.Array  # []  z_t, which bounds ||e_t||
    c_corr: jax.Array  # []


# One round of OONS ----------------------------------------------------------------------------------------------------


def inequality_slack(r: OONSRound, u: Vector, relative: bool = False) -> jax.Array:
    """Right minus left of the path-wise inequality in one round, >= 0 but for rounding, for every ||u|| <= radius.

    <g_t, x_t - u> <= <x_t - x'_{t+1}, nabla_t - m_t> + (||u - x'_t||^2 - ||u - x'_{t+1}||^2 - ||x'_{t+1} - x_t||^2
                      - ||x_t - x'_t||^2) / 2 + (c_corr / 2) eta_t (<u, e_t>^2 - <x_t, e_t>^2)        norms of A_t

    Both steps being minimisers gives it; it holds for any constants. `relative`: divided by the sum of the sizes of its
    terms, so that rounding leaves a few machine epsilons wherever u is.
    """
    error = once(r.grad - r.hint)
    left = linalg.inner(r.grad, r.play - u)
    terms = (
        0.5 * linalg.quad(r.metric, u - r.center),
        -0.5 * linalg.quad(r.metric, u - r.next_center),
        -0.5 * linalg.quad(r.metric, r.next_center - r.play),
        -0.5 * linalg.quad(r.metric, r.play - r.center),
        linalg.inner(r.play - r.next_center, r.nabla - r.hint),
        0.5 * r.c_corr * r.eta * linalg.inner(u, error) ** 2,
        -0.5 * r.c_corr * r.eta * linalg.inner(r.play, error) ** 2,
    )
    slack = sum(terms) - left
    if not relative:
        return slack
    size = sum(abs(term) for term in terms) + linalg.norm(r.grad) * (linalg.norm(r.play) + linalg.norm(u))
    return slack / jnp.maximum(size, jnp.finfo(size.dtype).tiny)


def projection_residuals(r: OONSRound) -> tuple[jax.Array, jax.Array]:
    """`(R ||q|| + <q, x>) / (R s)` of both steps, q the gradient at x, s its scale: 0 at the minimiser over the ball.

    Rescaling to the sphere in the Euclidean norm, the tempting mistake, leaves about 0.1 here while the inequality
    above goes on to hold.
    """
    return _residual(r, r.play, r.hint), _residual(r, r.next_center, r.nabla)


def _residual(r: OONSRound, x: Vector, slope: Vector) -> jax.Array:
    pull = once(r.metric @ (x - r.center))
    gradient = once(pull + slope)
    # A (x - x') is known up to the rounding of x, eps R ||A||: the scale contains that, too.
    scale = linalg.norm(slope) + linalg.norm(pull) + r.radius * linalg.trace(r.metric)
    return (linalg.norm(gradient) + linalg.inner(gradient, x) / r.radius) / scale


def stability(r: OONSRound) -> tuple[jax.Array, jax.Array]:
    """Lemma C.3: `0 <= <x_t - x'_{t+1}, nabla_t - m_t> <= ||nabla_t - m_t||^2` in the inverse of A_t; both numbers.

    The lemma has a factor 2 on the right; it holds without.
    """
    step = once(r.nabla - r.hint)
    solved = linalg.solve(once(linalg.factor(r.metric)), step)
    return linalg.inner(r.play - r.next_center, step), linalg.inner(step, solved)


class Preconditions(NamedTuple):
    """What Theorem 3.1 asks for, each at most 1 under the theory's constants."""

    hint_error: jax.Array  # ||e_t|| / z_t
    step_size: jax.Array  # 64 eta_t R z_t, with R the radius of the ball
    correction: jax.Array  # 2 c_corr eta_t |<x_t, e_t>|
    step: jax.Array  # ||nabla_t - m_t|| / (1.5 ||e_t||)


def preconditions(r: OONSRound) -> Preconditions:
    """The conditions as ratios to what is allowed."""
    error = once(r.grad - r.hint)
    norm = linalg.norm(error)
    correction = r.c_corr * r.eta * linalg.inner(r.play, error)
    return Preconditions(
        hint_error=norm / r.hint_range,
        step_size=64.0 * r.eta * r.radius * r.hint_range,
        correction=2.0 * jnp.abs(correction),
        # nabla_t - m_t is (1 + correction) e_t; subtracting would show rounding where e_t is of its size.
        step=jnp.where(norm > 0.0, jnp.abs(1.0 + correction) / 1.5, 0.0),
    )


# Rounds of the three algorithms ---------------------------------------------------------------------------------------


def oons_round(learner: OONS, state: Any, play: Vector, grad: Vector) -> OONSRound:
    """A round of OONS from the state before it, what it played and what it was told."""
    told = Gradient(jnp.zeros(1), jax.tree.map(lambda g: g[None], grad))
    after = learner.update(jax.random.key(0), jnp.int32(0), state, None, PointDecision.at(play), told)
    eta = learner.step_size(state)
    return _round(
        learner.c_corr, eta, learner.metric(state, eta), state, after.center, play, grad, learner.domain.radius,
        2.0 * learner.lipschitz,
    )  # fmt: skip


def cla_oons_round(learner: CLAOONS, state: Any, play: Vector, grad: Vector) -> OONSRound:
    """The same for CLA-OONS: clipped gradient, and x'_{t+1} before a restart."""
    after = learner.advance(state, play, grad)
    clipped = state.hint + (grad - state.hint) * (state.scale / after.scale)
    eta = learner.step_size(state)
    radius = learner.domain_radius(state)
    return _round(
        learner.c_corr, eta, learner.metric(state, eta), state, after.center, play, clipped, radius, state.scale
    )


def _round(
    c_corr: ArrayLike,
    eta: jax.Array,
    metric: Symmetric,
    state: Any,
    next_center: Vector,
    play: Vector,
    grad: Vector,
    radius: ArrayLike,
    hint_range: ArrayLike,
) -> OONSRound:
    error = once(grad - state.hint)
    nabla = grad + error * (c_corr * eta * linalg.inner(play, error))
    values = [jnp.asarray(x, eta.dtype) for x in (eta, radius, hint_range, c_corr)]
    return OONSRound(play, state.center, next_center, state.hint, grad, nabla, metric, *values)


def rounds(algorithm: Any, state: Any, decision: PointDecision, feedback: Any) -> OONSRound:
    """`[L]` the OONS rounds inside a round of OONS or CLA-OONS (L = 1) or CA-OONS (L = N base learners)."""
    if isinstance(algorithm, AnytimeCAOONS):
        algorithm = algorithm.learner
    if isinstance(algorithm, CAOONS):
        gradients = algorithm.base_gradients(feedback)
        return jax.vmap(oons_round)(algorithm.base_learners, state.base, state.points, gradients)
    if not isinstance(algorithm, (OONS, CLAOONS)):
        raise InputError(f"certificates know OONS, CLAOONS, CAOONS and AnytimeCAOONS, not {type(algorithm).__name__}")
    grad = jax.tree.map(lambda g: g[0], feedback.grad)
    if isinstance(algorithm, OONS):
        alone = oons_round(algorithm, state, decision.play, grad)
    else:
        alone = cla_oons_round(algorithm, state, decision.play, grad)
    return jax.tree.map(lambda x: x[None], alone)


# Measures for meters --------------------------------------------------------------------------------------------------


@functools.cache
def least_slack(*comparators: tuple[float, ...], relative: bool = False) -> Callable[[Any], jax.Array]:
    """The inequality for comparators u, each drawn into a learner's ball: the least of them, and of the learners.

    Every summand is >= 0 but for rounding, so its sum over the rounds is, and "max" of its negative is about 0.

    Args:
      *comparators: one or several u, `d` coordinates each.
      relative: to the size of the terms of the inequality, as `inequality_slack` has it; for "max", not for "sum".
    """

    def measure(played: Any) -> jax.Array:
        dtype = jnp.zeros(()).dtype

        def slack(u: Vector, r: OONSRound) -> jax.Array:
            length = jnp.maximum(linalg.norm(u), jnp.finfo(dtype).tiny)
            return inequality_slack(r, u * jnp.minimum(1.0, r.radius / length), relative)

        each = jax.vmap(jax.vmap(slack, (None, 0)), (0, None))
        return jnp.min(each(linalg.vectors(jnp.asarray(comparators, dtype)), _rounds(played)))

    return measure


def worst_projection(played: Any) -> jax.Array:
    """The larger residual of both steps, the worst of the learners; for "max"."""
    return jnp.max(jnp.stack(jax.vmap(projection_residuals)(_rounds(played))))


def worst_precondition(played: Any) -> jax.Array:
    """The worst ratio of `preconditions`; at most 1 under the theory's constants. For "max"."""
    return jnp.max(jnp.stack(jax.vmap(preconditions)(_rounds(played))))


def worst_stability(played: Any) -> jax.Array:
    """How far Lemma C.3 (with factor 1) is left, the worst of the learners; <= 0 but for rounding. For "max".

    Relative to the right side and to the product of norms on the left, which is what rounding of the points costs.
    """
    r = _rounds(played)
    product, bound = jax.vmap(stability)(r)
    norm = jax.vmap(linalg.norm)
    scale = bound + (norm(r.play) + norm(r.next_center)) * norm(r.nabla - r.hint)
    excess = jnp.maximum(product - bound, -product)
    return jnp.max(excess / jnp.maximum(scale, jnp.finfo(scale.dtype).tiny ** 0.5))


@functools.cache
def meta_regret(i: int) -> Callable[[Any], jax.Array]:
    """`<l_t, w_t - e_i>` of CA-OONS, for its base learner i = 0, 1, ...; for "sum"."""

    def measure(played: Any) -> jax.Array:
        return meta_loss(played) - _meta_losses(played)[i]

    return measure


@functools.cache
def meta_allowance(i: int) -> Callable[[Any], jax.Array]:
    """`meta_bound` for base learner i after the rounds so far; for "last". At least the sum of `meta_regret(i)`."""

    def measure(played: Any) -> jax.Array:
        return _allowances(played)[i]

    return measure


def meta_loss(played: Any) -> jax.Array:
    """`<l_t, w_t>` of CA-OONS; for "sum"."""
    return jnp.sum(_meta_losses(played) * played.state.play.weights)


def meta_budget(played: Any) -> jax.Array:
    """The least over base learners i of `sum_t l_{t,i}` plus its `meta_bound`; for "last".

    The sum of `meta_loss` minus this is the largest violation of the meta regret inequality over all base learners:
    negative where all hold.
    """
    return jnp.min(played.next_state.meta.loss_sum.total + _allowances(played))


def worst_meta_precondition(played: Any) -> jax.Array:
    """`2 c_meta beta_k |l_t^j - h_t^j|`, the largest over k and j in Z(k); at most 1 under the theory's constants."""
    error = _meta_losses(played) - played.state.play.hint
    learners = played.state.meta.learners
    known = jnp.arange(error.shape[0])[:, None] < learners.count
    rate = jnp.where(learners.log_prior > -jnp.inf, learners.rate, 0.0)
    return jnp.max(jnp.where(known, 2.0 * _ca_oons(played).c_meta * rate * jnp.abs(error)[:, None], 0.0))


def meta_bound(learners: Middle, square_sum: jax.Array, c_meta: ArrayLike = 32.0) -> jax.Array:
    """`[N]` the meta regret that MsMwC-Master may have against each expert i, with all its constants.

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


def _rounds(played: Any) -> OONSRound:
    return rounds(played.algorithm, played.state, played.decision, played.feedback)


def _ca_oons(played: Any) -> CAOONS:
    """CA-OONS, as it is or restarted by the anytime version."""
    algorithm = played.algorithm.learner if isinstance(played.algorithm, AnytimeCAOONS) else played.algorithm
    if not isinstance(algorithm, CAOONS):
        raise InputError(f"certificates of the meta algorithm know CAOONS, not {type(algorithm).__name__}")
    return algorithm


def _meta_losses(played: Any) -> jax.Array:
    """`[N]` l_t."""
    return _ca_oons(played).losses(played.feedback, played.state.points)


def _allowances(played: Any) -> jax.Array:
    """`[N]` meta_bound of the rounds so far: of a whole run, which the anytime version forgets at every restart."""
    if isinstance(played.algorithm, AnytimeCAOONS):
        raise InputError("AnytimeCAOONS restarts its sums: bound the meta regret of CAOONS, or of one epoch")
    meta = played.next_state.meta
    return meta_bound(meta.learners, meta.square_sum.total, _ca_oons(played).c_meta)
