"""Close infeasible projection by a linear oracle (Garber & Kretzu, COLT 2022, Algorithms 2 and 3).

    y <- y_0 / max(1, ||y_0|| / R)                                       the ball of radius R contains K
    if ||x_0 - y||^2 <= 3 eps: return x_0, y
    repeat:
      x <- Frank-Wolfe on ||x - y||^2 / 2 from x, until its gap is <= eps or ||x - y||^2 <= 3 eps    (Algorithm 2)
      if ||x - y||^2 <= 3 eps: return x, y
      y <- y - (2 eps / ||x_0 - y_0||^2) (y - x)                         x certifies a hyperplane between y and K

In the result, x is in K, `||x - y||^2 <= 3 eps`, and no point of K is farther from y than from $y_0$. These properties
suffice for the analysis of gradient steps. The two nested loops are merged into one loop with one call of the oracle
per iteration, since under `vmap` every trial would run each inner loop as long as the slowest trial of the batch.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.coco import frank_wolfe
from jaxbandits.base.pytree import ArrayLike, PyTree
from jaxbandits.domains import points
from jaxbandits.domains.points import Point, Shape
from jaxbandits.domains.protocol import ConvexSet
from jaxbandits.tracing.batching import while_loop


class Iterate(NamedTuple):
    """State of gradient descent with close infeasible projections at the start of a round."""

    x: Point  # [d]  the point that is played, in K
    y: Point  # [d]  the infeasible point near x
    calls: jax.Array  # [] int32, number of calls of the linear oracle in the last round
    unfinished: jax.Array  # [] bool, True if the cap on calls ended the projection early
    guess: PyTree  # starting point of the linear oracle


def init(domain: ConvexSet, x: Point | None, shape: Shape) -> Iterate:
    """Return the state before the first step, at `x` (`domain.zero` if None)."""
    first = frank_wolfe.init(domain, x, shape)
    calls, unfinished = jnp.zeros((), jnp.int32), jnp.zeros((), bool)
    return Iterate(x=first.x, y=first.x, calls=calls, unfinished=unfinished, guess=first.guess)


def stay(iterate: Iterate) -> Iterate:
    """Return the state after a round without a step, in which the oracle was not called."""
    return iterate._replace(calls=jnp.zeros((), jnp.int32), unfinished=jnp.zeros((), bool))


def descend(
    domain: ConvexSet,
    iterate: Iterate,
    eta: ArrayLike,
    grad: Point,
    *,
    eps: ArrayLike,
    radius: ArrayLike,
    most_calls: int,
    cut_first: ArrayLike,
) -> Iterate:
    """Return the iterate after a gradient step from y to `y - eta grad` and a close infeasible projection.

    The other arguments are those of `close_infeasible_projection`.
    """
    target = points.add_scaled(iterate.y, -eta, grad)
    pair = close_infeasible_projection(
        domain,
        iterate.x,
        target,
        eps=eps,
        radius=radius,
        most_calls=most_calls,
        guess=iterate.guess,
        cut_first=cut_first,
    )
    return Iterate(x=pair.x, y=pair.y, calls=pair.calls, unfinished=~pair.near, guess=pair.guess)


class ProjectionPair(NamedTuple):
    """Result of `close_infeasible_projection`."""

    x: Point  # [d]  point in K
    y: Point  # [d]  point near x, possibly outside K
    calls: jax.Array  # [] int32, number of calls of the linear oracle
    near: jax.Array  # [] bool, the certificate: ||x - y||^2 <= 3 eps
    guess: PyTree  # starting point for the next call of the oracle


def close_infeasible_projection(
    domain: ConvexSet,
    x: Point,
    y: Point,
    *,
    eps: ArrayLike,
    radius: ArrayLike,
    most_calls: int,
    guess: PyTree,
    cut_first: ArrayLike = True,
) -> ProjectionPair:
    """Return a close infeasible projection of `y`, computed from the point `x` of K (Algorithm 3).

    If `most_calls` is reached before `near` is True, then x is in K and no point of K is farther from y than from y_0,
    but the distance between x and y may exceed the bound.

    Args:
      domain: convex set K with the linear oracle `lmo`.
      x: x_0, a point of K.
      y: y_0, any point.
      eps: accuracy, > 0.
      radius: R, radius of a ball around the origin that contains K.
      most_calls: maximum number of oracle calls.
      guess: starting point of the linear oracle.
      cut_first: if True, the distance between x_0 and y_0 is computed after y_0 has been scaled back to the ball, which
        allows larger steps and fewer calls; if False, it is computed before that, as printed.
    """
    cut = points.scale(y, 1.0 / jnp.maximum(1.0, points.norm(y) / radius))
    start_sq = jnp.where(cut_first, _distance_sq(x, cut), _distance_sq(x, y))
    pull = 2.0 * eps / jnp.maximum(start_sq, 3.0 * eps)

    def cond_fun(pair: ProjectionPair) -> jax.Array:
        return ~pair.near & (pair.calls < most_calls)

    def body_fun(pair: ProjectionPair) -> ProjectionPair:
        difference = points.subtract(pair.x, pair.y)
        step = frank_wolfe.line_search_step(domain, pair.x, difference, pair.guess, 0.5)  # step on ||x - y||^2 / 2
        near = points.inner(difference, difference) <= 3.0 * eps
        separated = near | (step.gap <= eps)
        return ProjectionPair(
            x=points.where(separated, pair.x, step.x),
            y=points.add_scaled(pair.y, jnp.where(separated & ~near, pull, 0.0), difference),
            calls=pair.calls + 1,
            near=near,
            guess=step.guess,
        )

    calls = jnp.zeros((), jnp.int32)
    first = ProjectionPair(x=x, y=cut, calls=calls, near=start_sq <= 3.0 * eps, guess=guess)
    return while_loop(cond_fun, body_fun, first, most_calls)


def _distance_sq(x: Point, y: Point) -> jax.Array:
    difference = points.subtract(x, y)
    return points.inner(difference, difference)
