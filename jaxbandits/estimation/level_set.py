"""Minimisation of convex functions over a ball, and maximisation of linear functions over their level sets.

    minimise      argmin L(theta)                                                          over R^d or {||theta|| <= S}
    maximise      max x'theta   subject to   L(theta) - min L <= B  and  ||theta|| <= S     for every arm x

L is given as a function that returns value, gradient and Hessian (`estimation.likelihood`). Since L is a sum over all
rounds, it is expensive to evaluate. Both methods replace L by its quadratic model, solve the resulting problem with the
ball constraint exactly, and evaluate L at the solution; this is Newton's method, and its analogue for a constraint. A
few evaluations in a `while_loop` suffice; under `vmap` the loop runs until the slowest trial and arm has finished.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.base import trees
from jaxbandits.base.pytree import ArrayLike
from jaxbandits.estimation.likelihood import Evaluation
from jaxbandits.numerics import linalg
from jaxbandits.numerics.linalg import Symmetric, Vector
from jaxbandits.numerics.projection import proximal_on_ball
from jaxbandits.tracing.batching import while_loop

Objective = Callable[[Vector], Evaluation]

_MAX_PASSES = 100  # a safeguard: searches end earlier, even with NaN or rounding errors
_FREE_PASSES = 12  # later passes must make progress (about 1 in 100,000 searches of the learners has more passes)
_ARMIJO = 1e-4  # smallest accepted fraction of the predicted decrease


class _Descent(NamedTuple):
    """Current point of the minimisation, and the next step to try."""

    theta: Vector  # [d]
    value: jax.Array  # []
    step: Vector  # [d]  step to the minimiser of the quadratic model
    decrease: jax.Array  # []  -<gradient, step> >= 0
    fraction: jax.Array  # []  fraction of the step that is tried next
    passes: jax.Array  # []  number of passes


def minimise(objective: Objective, start: Vector, radius: ArrayLike | None = None, wanted: ArrayLike = True) -> Vector:
    """Return `argmin L` over the ball of radius `radius`, or over R^d if `radius` is None, by Newton's method.

    Each step minimises the quadratic model exactly over the ball and is halved until L decreases. When the predicted
    decrease is below the rounding error of L, the step is taken without an evaluation of L, and the search ends.

    Args:
      objective: L; with `radius=None` its Hessian must be positive definite.
      start: `[d]` starting point in the ball; if it is close to the minimiser, two or three evaluations suffice.
      radius: radius of the ball, > 0.
      wanted: `[]`; if False, `start` is returned, at no cost if `wanted` is False for all trials of a batch.
    """
    dtype = start.dtype
    precision = jnp.finfo(dtype).eps ** 0.75  # precision of L, a log-likelihood: 2e-12 in float64, 6e-6 in float32

    def moving(now: _Descent) -> jax.Array:
        return (now.decrease > precision) & (now.passes < _MAX_PASSES)

    def improve(now: _Descent) -> _Descent:
        theta = now.theta + now.step * now.fraction
        at = objective(theta)
        accept = at.value <= now.value - _ARMIJO * now.fraction * now.decrease + precision
        accept = accept | (now.passes == 0)  # accept the start: if L is NaN there, the search ends and returns NaN
        step = _model_minimiser(theta, at, radius) - theta
        decrease = -(at.gradient @ step)
        accepted = _Descent(theta, at.value, step, decrease, jnp.ones_like(now.fraction), now.passes)
        now = trees.where(accept, accepted, now._replace(fraction=0.5 * now.fraction))
        return now._replace(passes=now.passes + 1)

    one, large = jnp.ones((), dtype), jnp.full((), jnp.finfo(dtype).max, dtype)
    first = _Descent(start, large, jnp.zeros_like(start), jnp.where(wanted, large, 0.0), one, jnp.int32(0))
    last = while_loop(moving, improve, first)
    return last.theta + last.step


def _model_minimiser(theta: Vector, at: Evaluation, radius: ArrayLike | None) -> Vector:
    if radius is None:
        return theta - linalg.solve(linalg.factor(at.hessian), at.gradient)
    return proximal_on_ball(_definite(at.hessian), theta, at.gradient, radius)


def _definite(hessian: Symmetric) -> Symmetric:
    """Return a positive definite matrix close to the Hessian, which is singular if L is flat in some direction."""
    diagonal = linalg.trace(hessian)
    info = jnp.finfo(diagonal.dtype)
    return hessian + (info.eps**0.6 * diagonal + info.tiny**0.5) * jnp.eye(len(hessian), dtype=hessian.dtype)


class Maximisers(NamedTuple):
    """Solutions of `maximise` for each arm, from which the search of the next round starts."""

    theta: Vector  # [K, d]  maximisers, which lie in the ball
    level: jax.Array  # [K]  multiplier of `L - min L - B <= 0` if both constraints bind; 0 if it is not known
    ball: jax.Array  # [K]  multiplier of `(||theta||^2 - S^2) / 2 <= 0` if both constraints bind; else 0


class OptimisticDecision(NamedTuple):
    """An `ArmDecision` with the maximisers of all arms, from which the search of the next round starts."""

    index: jax.Array  # [] int32
    x: Vector  # [d]
    maximisers: Maximisers  # leaves [K, ...]


class _Search(NamedTuple):
    """Search for one arm: the next point to evaluate lies on the segment from the estimate to `target`."""

    target: Vector  # [d]  maximiser of x'theta over the model's level set and the ball
    level: jax.Array  # []
    ball: jax.Array  # []
    fraction: jax.Array  # []  position of the next point on the segment; 1 is the target
    low: jax.Array  # []  lower bound on the position of the boundary of the level set
    high: jax.Array  # []  upper bound on the position of the boundary of the level set
    base: Vector  # [d]  the point at which the quadratic model has the maximiser `target`
    share: jax.Array  # []  fraction of the segment from the estimate to `base` that lies in the level set, by convexity
    moving: jax.Array  # []  bool, whether the search continues
    passes: jax.Array  # []  number of passes


def nowhere(n_arms: int, dim: int) -> Maximisers:
    """Return the starting points of the first round, which are the centre of the ball for every arm."""
    return Maximisers(jnp.zeros((n_arms, dim)), jnp.zeros(n_arms), jnp.zeros(n_arms))


def maximise(
    objective: Objective,
    estimate: Vector,
    slack: jax.Array,
    arms: Vector,
    radius: ArrayLike | None = None,
    start: Maximisers | None = None,
) -> tuple[jax.Array, Maximisers]:
    """Return `max x'theta` over `{L(theta) <= L(estimate) + slack, ||theta|| <= radius}` for every arm x.

    A pass maximises over the level set of the quadratic model at a point, and continues from the maximiser. If the
    maximiser has `L - L(estimate) > 1.1 slack`, the search moves back along the segment to the estimate until it finds
    a point near the boundary of the level set. Near the solution a pass squares the error: on average a search needs 4
    to 5 passes from the estimate, and 2 from the solution of the previous round. In float64 the error of the values is
    then about 1e-12 times the radius. After `_FREE_PASSES` passes, a step that makes no progress is halved, so that
    every search ends.

    Args:
      objective: L minus its value at the estimate, so that `objective(estimate).value == 0`.
      estimate: `[d]` the minimiser of L over the ball, or over R^d if `radius` is None.
      slack: `[]` B > 0.
      arms: `[K, d]`.
      radius: radius of the ball; None for no ball, which requires a positive definite Hessian.
      start: points in the ball near the solutions, and multipliers; None to start all searches at the estimate.

    Returns:
      The K values, and the points that attain them.
    """

    def one(x: Vector, guess: Maximisers | None) -> tuple[jax.Array, Maximisers]:
        length = jnp.linalg.norm(x)
        direction = x / jnp.maximum(length, jnp.finfo(length.dtype).tiny ** 0.5)
        if guess is None:
            guess = Maximisers(estimate, jnp.zeros_like(slack), jnp.zeros_like(slack))
        found = _maximise_one(objective, estimate, slack, direction, radius, guess)
        return x @ found.theta, found

    if start is None:
        return jax.vmap(lambda x: one(x, None))(arms)
    return jax.vmap(one)(arms, start)


def _maximise_one(
    objective: Objective,
    estimate: Vector,
    slack: jax.Array,
    direction: Vector,
    radius: ArrayLike | None,
    guess: Maximisers,
) -> Maximisers:
    eps = jnp.finfo(slack.dtype).eps
    precision = eps**0.5  # the last step, taken without an evaluation of L, squares the error

    def look(now: _Search) -> _Search:
        theta = estimate + (now.target - estimate) * now.fraction
        at = objective(theta)
        outside = at.value > 1.1 * slack
        near = ~outside & ((now.fraction == 1.0) | (at.value > 0.5 * slack))
        target, level, ball, sound = _model_maximiser(theta, at, slack, direction, radius, now.level, now.ball)
        gain = jnp.abs(direction @ (target - theta)) + level * jnp.maximum(at.value - slack, 0.0)
        far = gain > precision * jnp.abs(direction @ (target - estimate))
        # In float32 and for an ill-conditioned L, `gain` at a boundary point may be only a rounding error; the search
        # then ends.
        far = far & (jnp.linalg.norm(target - theta) > 16.0 * eps * jnp.linalg.norm(theta))
        going = (far | ~sound) & jnp.isfinite(at.value)
        share = slack / jnp.maximum(at.value, slack)
        progress = share * (direction @ (theta - estimate)) > now.share * (direction @ (now.base - estimate))
        accept = near & (progress | ~going | (now.passes < _FREE_PASSES))
        one, zero = jnp.ones_like(slack), jnp.zeros_like(slack)
        # If the model has no feasible point (possible only if L > slack), the search moves half the way to the
        # estimate.
        target = trees.where(sound, target, theta)
        passes = now.passes + 1
        forward = _Search(target, level, ball, jnp.where(sound, one, 0.5), zero, one, theta, share, going, passes)
        low, high = jnp.where(outside, now.low, now.fraction), jnp.where(outside, now.fraction, now.high)
        # The square root gives the boundary of the level set exactly if L is quadratic.
        fraction = jnp.where(low > 0.0, 0.5 * (low + high), high * jnp.sqrt(slack / at.value))
        back = now._replace(fraction=fraction, low=low, high=high, passes=passes)
        halfway = now.base + (now.target - now.base) * 0.5
        shorter = now._replace(target=halfway, fraction=one, low=zero, high=one, passes=passes)
        return trees.where(accept, forward, trees.where(near, shorter, back))

    def moving(now: _Search) -> jax.Array:
        return now.moving & (now.passes < _MAX_PASSES)

    one, zero = jnp.ones_like(slack), jnp.zeros_like(slack)
    start = _Search(
        guess.theta, guess.level, guess.ball, one, zero, one, estimate, one, jnp.isfinite(slack), jnp.int32(0)
    )
    last = while_loop(moving, look, start)
    inside = estimate + (last.base - estimate) * last.share
    return Maximisers(trees.where(last.moving, inside, last.target), last.level, last.ball)


class _Dual(NamedTuple):
    """Multipliers of the model problem, the maximiser of their Lagrangian, and the next Newton step of the dual."""

    level: jax.Array  # []  multiplier of the level set
    ball: jax.Array  # []  multiplier of the ball
    step: Vector  # [d]  from the centre of the model to the maximiser
    value: jax.Array  # []  value of the dual function, which is minimised
    level_step: jax.Array  # []  Newton step of `level`
    ball_step: jax.Array  # []  Newton step of `ball`
    turn: Vector  # [d]  change of `step` along the Newton step, to first order
    decrease: jax.Array  # []  decrease of `value` that the Newton step predicts
    fraction: jax.Array  # []  fraction of the Newton step that is tried next
    passes: jax.Array  # []  number of passes


def _model_maximiser(
    theta: Vector,
    at: Evaluation,
    slack: jax.Array,
    direction: Vector,
    radius: ArrayLike | None,
    level: jax.Array,
    ball: jax.Array,
) -> tuple[Vector, jax.Array, jax.Array, jax.Array]:
    """Maximise `direction'th` over the ball and `{q(th) <= slack}`, where q is the quadratic model of L at theta.

    If only one of the two constraints binds, the maximiser has a closed form. If both bind, it maximises the Lagrangian
    for the two multipliers that minimise the convex dual function, which are computed by damped Newton steps.

    Returns:
      The maximiser, the multipliers (unchanged unless both constraints bind), and whether a maximiser exists.
    """
    gradient = at.gradient
    info = jnp.finfo(slack.dtype)
    hessian = at.hessian if radius is None else _definite(at.hessian)
    factored = linalg.factor(hessian)
    along, newton = linalg.solve(factored, direction), -linalg.solve(factored, gradient)
    room = slack - at.value - 0.5 * (gradient @ newton)
    stretch = jnp.maximum(direction @ along, info.tiny)
    price = jnp.sqrt(2.0 * jnp.maximum(room, 0.0) / stretch)
    level_only = theta + newton + along * price
    level_price = 1.0 / jnp.maximum(price, info.tiny)
    unit = direction @ direction > 0.0
    if radius is None:
        return trees.where(unit, level_only, theta), level_price, ball, (room > 0.0) | ~unit

    def model(step: Vector) -> tuple[jax.Array, Vector]:
        bend = hessian @ step
        return at.value + gradient @ step + 0.5 * (step @ bend), gradient + bend

    def dual(level: jax.Array, ball: jax.Array) -> _Dual:
        factored = linalg.factor(hessian * level + ball * jnp.eye(len(hessian), dtype=hessian.dtype))
        step = linalg.solve(factored, direction - gradient * level - theta * ball)
        q, slope = model(step)
        th = theta + step
        by_level, by_ball = linalg.solve(factored, slope), linalg.solve(factored, th)
        spare, spare_ball = slack - q, 0.5 * (radius**2 - th @ th)
        a, b, c = slope @ by_level, slope @ by_ball, th @ by_ball
        a, c = a * (1.0 + 4.0 * info.eps) + info.tiny, c * (1.0 + 4.0 * info.eps) + info.tiny
        determinant = jnp.maximum(a * c - b * b, info.eps * a * c)
        level_step, ball_step = (b * spare_ball - c * spare) / determinant, (b * spare - a * spare_ball) / determinant
        # The step minimises the quadratic model of the dual over the box in which both multipliers keep at least a
        # tenth of their value.
        least_level, least_ball = -0.9 * level, -0.9 * ball
        level_step, ball_step = (
            jnp.where(ball_step < least_ball, -(spare + b * least_ball) / a, level_step),
            jnp.where(level_step < least_level, -(spare_ball + b * least_level) / c, ball_step),
        )
        level_step, ball_step = jnp.maximum(level_step, least_level), jnp.maximum(ball_step, least_ball)
        turn = -by_level * level_step - by_ball * ball_step
        decrease = -spare * level_step - spare_ball * ball_step
        one = jnp.ones_like(slack)
        value = direction @ step + level * spare + ball * spare_ball
        zero = jnp.int32(0)
        return _Dual(level, ball, step, value, level_step, ball_step, turn, decrease, one, zero)

    pole = direction * radius
    ball_binds = jnp.linalg.norm(level_only) > radius
    pole_value, pole_slope = model(pole - theta)
    level_binds = pole_value > slack
    both = unit & ball_binds & level_binds & (room > 0.0)
    precision = info.eps**0.7 * radius  # the last step, taken without an evaluation, squares the error

    def searching(now: _Dual) -> jax.Array:
        return both & (now.decrease > precision) & (now.passes < _MAX_PASSES)

    def search(now: _Dual) -> _Dual:
        tried = dual(now.level + now.fraction * now.level_step, now.ball + now.fraction * now.ball_step)
        accept = tried.value <= now.value - _ARMIJO * now.fraction * now.decrease + info.eps * radius
        passes = now.passes + 1
        now = trees.where(accept, tried, now._replace(fraction=0.5 * now.fraction))
        return now._replace(passes=passes)

    known = level > 0.0
    cold_level = 0.5 * jnp.minimum(level_price, 1.0 / jnp.maximum(jnp.linalg.norm(pole_slope), info.tiny))
    zero, none, large = jnp.zeros_like(slack), jnp.zeros_like(theta), jnp.full_like(slack, info.max)
    start = jnp.where(known, level, cold_level), jnp.where(known, ball, 0.5 / radius)
    first = _Dual(*start, none, large, zero, zero, none, large, jnp.ones_like(slack), jnp.int32(0))
    last = while_loop(searching, search, first)
    th = theta + last.step + last.turn
    th = th * jnp.minimum(1.0, radius / jnp.linalg.norm(th))
    failed = both & ~(model(th - theta)[0] <= 1.05 * slack)
    target = trees.where(both, th, trees.where(level_binds, level_only, pole))
    target = trees.where(unit, target, theta)
    sound = ((room > 0.0) & ~failed) | ~unit
    keep_level, keep_ball = jnp.where(both & ~failed, last.level, level), jnp.where(both & ~failed, last.ball, ball)
    return target, keep_level, keep_ball, sound
