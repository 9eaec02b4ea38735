"""Frank-Wolfe steps and online Frank-Wolfe, which need one linear minimisation per step and no projection.

    v = argmin_{v in K} <grad, v>,   gap = <grad, x - v>,   x' = x + sigma (v - x)

For convex F with gradient `grad` at x, the gap is an upper bound on `F(x) - min_K F` that costs one inner product. The
step size is given, or follows from exact line search on a quadratic with Hessian 2 kappa I.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.coco.lyapunov import double_until
from jaxbandits.base.pytree import ArrayLike, PyTree
from jaxbandits.domains import points
from jaxbandits.domains.points import Point, Shape
from jaxbandits.domains.protocol import ConvexSet


class Step(NamedTuple):
    """Result of a Frank-Wolfe step: new point, start of the next oracle call, gap at the old point, step size."""

    x: Point  # [d]  the point after the step
    guess: PyTree  # starting point of the linear oracle
    gap: jax.Array  # []  <grad, x - v> >= F(x) - min_K F, at the point before the step
    sigma: jax.Array  # []  the step size


def init(domain: ConvexSet, x: Point | None, shape: Shape) -> Step:
    """Return the initial `Step` at `x` (`domain.zero` if None), with gap 0 and step size 0."""
    zero = jnp.zeros(())
    x = domain.zero(shape) if x is None else x
    x = jax.tree.map(lambda a: jnp.asarray(a, zero.dtype), x)
    return Step(x=x, guess=domain.lmo(points.zeros(shape))[1], gap=zero, sigma=zero)


def fixed_step(domain: ConvexSet, x: Point, grad: Point, guess: PyTree, sigma: ArrayLike) -> Step:
    """Return the `Step` of size `sigma` from `x`; if `sigma` is above 1, the new point may lie outside the set."""
    vertex, guess = domain.lmo(grad, guess)
    gap = points.inner(grad, points.subtract(x, vertex))
    return Step(x=points.average(x, vertex, sigma), guess=guess, gap=gap, sigma=jnp.asarray(sigma, gap.dtype))


def line_search_step(domain: ConvexSet, x: Point, grad: Point, guess: PyTree, kappa: ArrayLike) -> Step:
    """Return the `Step` from `x` with exact line search on a quadratic with gradient `grad` at x and Hessian 2 kappa I.

    The step size is `gap / (2 kappa ||v - x||^2)`, but at most 1; it is 0 if v = x or the gap is not positive.
    """
    vertex, guess = domain.lmo(grad, guess)
    back = points.subtract(x, vertex)
    gap, length_sq = points.inner(grad, back), points.inner(back, back)
    curvature = 2.0 * kappa * length_sq
    descends = (gap > 0.0) & (curvature > 0.0)
    sigma = jnp.where(descends, jnp.minimum(gap / jnp.where(descends, curvature, 1.0), 1.0), 0.0)
    return Step(x=points.average(x, vertex, sigma), guess=guess, gap=gap, sigma=sigma)


# Convex losses: F_t = eta <h_1 + ... + h_t, x> + ||x - x_1||^2, with steps of size 2 / sqrt(t) (Hazan & Kale, 2012).


def proximal_step(
    domain: ConvexSet,
    last: Step,
    anchor: Point,
    grad_sum: Point,
    eta: ArrayLike,
    rounds: jax.Array,
    step_cap: ArrayLike,
) -> Step:
    """Return the `Step` on F(x) = `eta <grad_sum, x> + ||x - anchor||^2` of size `min(step_cap, 2 / sqrt(rounds))`."""
    slope = points.add_scaled(points.scale(grad_sum, eta), 2.0, points.subtract(last.x, anchor))
    sigma = jnp.minimum(step_cap, 2.0 / jnp.sqrt(rounds.astype(last.gap.dtype)))
    return fixed_step(domain, last.x, slope, last.guess, sigma)


class Epochs(NamedTuple):
    """State of online Frank-Wolfe that restarts whenever its bound on the gradients doubles."""

    last: Step  # the iterate x_t is last.x
    anchor: Point  # [d]  x_s, the iterate at the start of the epoch
    grad_sum: Point  # [d]  sum of h over the epoch
    level: jax.Array  # []  G~, current bound on the gradients
    start: jax.Array  # [] int32  s, first round of the epoch
    eta_level: jax.Array  # []  product of eta and G~, D / (2 T^{3/4})


def init_epochs(domain: ConvexSet, x: Point | None, shape: Shape, level: ArrayLike, eta_level: ArrayLike) -> Epochs:
    """Return the state of the first epoch, which starts at `x` (`domain.zero` if None)."""
    last = init(domain, x, shape)
    real = last.gap.dtype
    return Epochs(
        last=last,
        anchor=last.x,
        grad_sum=points.zeros(shape),
        level=jnp.asarray(level, real),
        start=jnp.zeros((), jnp.int32),
        eta_level=jnp.asarray(eta_level, real),
    )


def step_epochs(
    domain: ConvexSet, run: Epochs, t: jax.Array, h: Point, bound: ArrayLike, step_cap: ArrayLike
) -> Epochs:
    """Return the state after one round of parameter-free online Frank-Wolfe.

        double G~ while G~ < bound; a doubling starts an epoch: s = t, anchor = x_t, gradient sum = 0
        x_t+1 = x_t + sigma (v_t - x_t),  v_t minimises <grad F_t(x_t), .>,  sigma = min(step_cap, 2 / sqrt(t - s + 1))

    Args:
      domain: convex set K with the linear oracle `lmo`.
      run: state at the start of the round.
      t: number of earlier rounds.
      h: gradient of the loss of the round at the iterate; if an epoch starts, h belongs to the new epoch.
      bound: bound on the norm of h.
      step_cap: largest step size, usually 1; with a larger cap the first iterates of an epoch may lie outside K.
    """
    level = double_until(run.level, bound)
    restart = level > run.level
    start = jnp.where(restart, t, run.start)
    anchor = points.where(restart, run.last.x, run.anchor)
    grad_sum = points.where(restart, points.zeros_like(run.grad_sum), run.grad_sum)
    grad_sum = points.add(grad_sum, h)  # h may be sparse, so that it is added last
    last = proximal_step(domain, run.last, anchor, grad_sum, run.eta_level / level, t - start + 1, step_cap)
    return run._replace(last=last, anchor=anchor, grad_sum=grad_sum, level=level, start=start)


# Strongly convex losses: F_t is the sum of <h_r, x> + (alpha / 2) ||x - x_r||^2 over r <= t (Wan & Zhang, 2021).


class QuadraticIterate(NamedTuple):
    """State of online Frank-Wolfe on a sum of quadratics, of which only the linear part is stored."""

    last: Step  # the iterate x_t is last.x
    lin: Point  # [d]  sum of h_r - alpha x_r; the gradient of the sum at x is lin + alpha t x


def init_quadratic(domain: ConvexSet, x: Point | None, shape: Shape) -> QuadraticIterate:
    """Return the state in the first round, with the iterate `x` (`domain.zero` if None)."""
    return QuadraticIterate(last=init(domain, x, shape), lin=points.zeros(shape))


def step_quadratic(
    domain: ConvexSet, run: QuadraticIterate, t: jax.Array, h: Point, alpha: ArrayLike
) -> QuadraticIterate:
    """Return the state after a step on `F_t(x) = sum_{r <= t} <h_r, x> + (alpha / 2) ||x - x_r||^2`.

    The step size is found by exact line search.

    Args:
      domain: convex set K with the linear oracle `lmo`.
      run: state at the start of the round.
      t: number of earlier rounds.
      h: gradient of the loss of the round at the iterate.
      alpha: modulus of strong convexity, > 0.
    """
    x = run.last.x
    lin = points.add(points.add_scaled(run.lin, -alpha, x), h)  # h may be sparse, so that it is added last
    weight = alpha * (t + 1).astype(run.last.gap.dtype)
    last = line_search_step(domain, x, points.add_scaled(lin, weight, x), run.last.guess, 0.5 * weight)
    return QuadraticIterate(last=last, lin=lin)
