"""Close infeasible projection by a linear oracle (Garber & Kretzu, COLT 2022, Algorithms 2 and 3).

    y <- y_0 / max(1, ||y_0|| / R)                                       the ball of radius R holds K
    if ||x_0 - y||^2 <= 3 eps: return x_0, y
    repeat:
      x <- Frank-Wolfe on ||x - y||^2 / 2 from x, until its gap is <= eps or ||x - y||^2 <= 3 eps    (Algorithm 2)
      if ||x - y||^2 <= 3 eps: return x, y
      y <- y - (2 eps / ||x_0 - y_0||^2) (y - x)                         x certifies a hyperplane between y and K

Then x is in K, `||x - y||^2 <= 3 eps`, and y is no farther than y_0 from every point of K: as good as a projection for
the analysis of gradient steps. The two loops are written as one, whose every pass asks the oracle once: under `vmap` no
trial waits for the inner loop of another.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.coco import blocks, frank_wolfe
from jaxbandits.base.pytree import ArrayLike
from jaxbandits.domains import points
from jaxbandits.domains.points import Point, Shape
from jaxbandits.tracing.batching import while_loop


class Iterate(NamedTuple):
    """The state of gradient descent with close infeasible projections between two rounds."""

    x: Point  # [d]  the played point, in K
    y: Point  # [d]  the infeasible point near it
    calls: jax.Array  # [] int32, linear minimisations after the last round
    unfinished: jax.Array  # [] bool, whether these ended by their cap
    guess: Any  # what the linear oracle starts from


def by_hand(domain: Any, dim: Shape, horizon: int) -> dict[str, Any]:
    """Block and accuracy for learners that project so, by hand (ours): sqrt(T) rounds, 0.03 of 60 R^2 / sqrt(T)."""
    return {"block": blocks.length(horizon, 0.5), "eps": 1.8 * domain.outer_radius(dim) ** 2 * horizon**-0.5}


def begin(domain: Any, x: Point | None, shape: Shape) -> Iterate:
    """Before the first step: at `x`, or at `domain.zero` if None."""
    first = frank_wolfe.begin(domain, x, shape)
    return Iterate(first.x, first.x, jnp.zeros((), jnp.int32), jnp.zeros((), bool), first.guess)


def stay(now: Iterate) -> Iterate:
    """A round without a step."""
    return now._replace(calls=jnp.zeros((), jnp.int32), unfinished=jnp.zeros((), bool))


def descend(
    domain: Any, now: Iterate, eta: ArrayLike, grad: Point, *, eps: ArrayLike, radius: ArrayLike, most_calls: int,
    cut_first: ArrayLike,
) -> Iterate:  # fmt: skip
    """`y - eta grad`, projected from x; the other arguments are those of `close_infeasible_projection`."""
    target = points.add_scaled(now.y, -eta, grad)
    new = close_infeasible_projection(
        domain, now.x, target, eps=eps, radius=radius, most_calls=most_calls, guess=now.guess, cut_first=cut_first
    )
    return Iterate(new.x, new.y, new.calls, ~new.near, new.guess)


class Projected(NamedTuple):
    """The result of `close_infeasible_projection`."""

    x: Point  # [d]  in K
    y: Point  # [d]  near x
    calls: jax.Array  # [] int32, calls of the linear oracle
    near: jax.Array  # [] bool, the certificate: ||x - y||^2 <= 3 eps
    guess: Any  # the oracle's, for the next time


def close_infeasible_projection(
    domain: Any,
    x: Point,
    y: Point,
    *,
    eps: ArrayLike,
    radius: ArrayLike,
    most_calls: int,
    guess: Any,
    cut_first: ArrayLike = True,
) -> Projected:
    """Algorithm 3, for `y` from `x` in K.

    If `most_calls` is reached before `near` holds, x is still in K and y still no farther from the points of K than it
    was: only their distance is larger than promised.

    Args:
      domain: K, with lmo.
      x: x_0, a point of K.
      y: y_0, any point.
      eps: accuracy, > 0.
      radius: R, of a ball around the origin that contains K.
      most_calls: the largest number of oracle calls.
      guess: what the linear oracle starts from.
      cut_first: whether the distance of x_0 and y_0 is taken after y_0 is cut back to the ball, which makes larger
        steps and ends sooner; False: before, as printed.
    """
    cut = points.scale(y, 1.0 / jnp.maximum(1.0, points.norm(y) / radius))
    start_sq = jnp.where(cut_first, _distance_sq(x, cut), _distance_sq(x, y))
    pull = 2.0 * eps / jnp.maximum(start_sq, 3.0 * eps)

    def far(now: Projected) -> jax.Array:
        return ~now.near & (now.calls < most_calls)

    def ask(now: Projected) -> Projected:
        apart = points.subtract(now.x, now.y)
        step = frank_wolfe.line_search_step(domain, now.x, apart, now.guess, 0.5)  # on ||x - y||^2 / 2
        near = points.inner(apart, apart) <= 3.0 * eps
        separated = near | (step.gap <= eps)
        return Projected(
            x=points.where(separated, now.x, step.x),
            y=points.add_scaled(now.y, jnp.where(separated & ~near, pull, 0.0), apart),
            calls=now.calls + 1,
            near=near,
            guess=step.guess,
        )

    begin = Projected(x, cut, jnp.zeros((), jnp.int32), start_sq <= 3.0 * eps, guess)
    return while_loop(far, ask, begin, most_calls)


def _distance_sq(x: Point, y: Point) -> jax.Array:
    apart = points.subtract(x, y)
    return points.inner(apart, apart)
