"""Minimisers of a quadratic over a Euclidean ball, cut by an ellipsoid or not, by Newton steps on the secular equation.

The stationary points are `x(mu)` with the least multiplier `mu >= 0` for which `||x(mu)|| <= radius`. Newton on
`1/radius - 1/||x(mu)||` from `mu = 0` approaches the root from the left, monotonically. The loop is a `while_loop`:
under `vmap` it runs as often as the worst trial of the piece needs, and not at all when every trial is inside.
Rescaling `x(0)` to the sphere instead would be the projection in the Euclidean norm: a different point.

Points count as inside up to 8 roundings of the radius. Where x is played, rescaling clears these. An estimate must be
left alone: on the sphere it would be pulled towards 0 a little in every round, also where its data say nothing, and the
pulls add up (float32/test_crtm_crmm.py::test_long_runs_keep_their_digits).
"""

from collections.abc import Callable
from typing import TypeAlias

import jax
import jax.numpy as jnp

from jaxbandits.base import trees
from jaxbandits.base.pytree import ArrayLike
from jaxbandits.numerics import inverse_factors, linalg
from jaxbandits.numerics.inverse_factors import Inverse, InverseFactors
from jaxbandits.numerics.linalg import Symmetric, Vector
from jaxbandits.tracing.barrier import barrier
from jaxbandits.tracing.batching import while_loop

Path: TypeAlias = Callable[[jax.Array], tuple[Vector, Vector]]  # mu to x(mu) and -dx/dmu

_MAX_STEPS = 48  # the worst case measured is 17 (condition number 1e10, norm ratio 1e4): a guard, not a budget


def project_ball(inverse: Inverse, y: Vector, radius: ArrayLike) -> Vector:
    """`argmin_{||x|| <= radius} ||x - y||_V`, given `V^{-1}`.

    `x(mu) = (V + mu I)^{-1} V y = (I + mu V^{-1})^{-1} y`: only the inverse is needed.

    Args:
      inverse: `[d, d]` the positive definite `V^{-1}`, or its factors.
      y: `[d]` the point to project; returned unchanged when it lies in the ball (up to 8 roundings of the radius).
      radius: radius of the ball, > 0.
    """
    if isinstance(inverse, InverseFactors):

        def begin(x: Vector) -> tuple[Path, Vector]:
            here, x = barrier((inverse, x))  # bound to x: XLA would take what depends on V alone out of the loop
            frame = inverse_factors.shifted_system(here, x)
            return lambda mu: inverse_factors.solve_shifted(frame, mu), inverse_factors.product(here, x)

        return _secular_newton(begin, y, radius)[0]

    def at(mu: jax.Array) -> tuple[Vector, Vector]:
        system = linalg.factor(jnp.eye(len(inverse), dtype=inverse.dtype) + mu * inverse)
        x = linalg.solve(system, y)
        return x, linalg.solve(system, inverse @ x)

    return _secular_newton(lambda x: (at, inverse @ x), y, radius)[0]


def minimise_on_ball(a: Symmetric, b: Vector, radius: ArrayLike) -> Vector:
    """`argmin_{||x|| <= radius} x'a x / 2 - b'x` for positive definite `a`.

    Args:
      a: `[d, d]` positive definite.
      b: `[d]`.
      radius: radius of the ball, > 0.
    """
    system = linalg.factor(a)
    x = linalg.solve(system, b)
    return _inside(*_secular_newton(lambda x: (_shifted(a, b), linalg.solve(system, x)), x, radius), radius)


def proximal_on_ball(a: Symmetric, center: Vector, slope: Vector, radius: ArrayLike) -> Vector:
    """`argmin_{||x|| <= radius} <slope, x> + ||x - center||_a^2 / 2` for positive definite `a`.

    The same point as `minimise_on_ball(a, a @ center - slope, radius)`; inside the ball it is computed as
    `center - a^{-1} slope`, so that a small step loses nothing to rounding in float32.

    Args:
      a: `[d, d]` positive definite.
      center: `[d]`.
      slope: `[d]`.
      radius: radius of the ball, > 0.
    """
    system = linalg.factor(a)
    x = center - linalg.solve(system, slope)

    def begin(x: Vector) -> tuple[Path, Vector]:
        b = a @ center - slope
        return _shifted(a, b), linalg.solve(system, x)

    return _inside(*_secular_newton(begin, x, radius), radius)


def _inside(x: Vector, norm: jax.Array, radius: ArrayLike) -> Vector:
    """Without what the last step's rounding left outside; x itself inside and on the sphere."""
    # Compared, for XLA makes of radius / norm a product with rsqrt: not 1 where they are equal.
    return jnp.where(norm > radius, radius / norm, 1.0) * x


def _shifted(a: Symmetric, b: Vector) -> Path:
    """`x(mu) = (a + mu I)^{-1} b` and `-dx/dmu`."""

    def at(mu: jax.Array) -> tuple[Vector, Vector]:
        system = linalg.factor(a + mu * jnp.eye(len(a), dtype=a.dtype))
        x = linalg.solve(system, b)
        return x, linalg.solve(system, x)

    return at


def _secular_newton(
    begin: Callable[[Vector], tuple[Path, Vector]], x: Vector, radius: ArrayLike
) -> tuple[Vector, jax.Array]:
    """The root of `||x(mu)|| = radius` from `x = x(0)`, to 8 roundings, and its norm; x itself when it lies inside.

    `begin` makes the path and its -dx/dmu(0) of x only then: in a loop of one turn, which most rounds skip.
    """
    norm = jnp.linalg.norm(x)
    furthest = radius * (1.0 + 8.0 * jnp.finfo(norm.dtype).eps)

    def outside(carry):
        _, _, _, norm, step = carry
        return (norm > furthest) & (step < _MAX_STEPS)

    def search(carry):
        x, norm, _ = carry
        at, minus_dx = begin(x)

        def newton(carry):
            mu, x, minus_dx, norm, step = carry
            # In this order: `norm * norm` overflows in float32 from 1e19 / radius on, and neither factor here does.
            mu = mu + (norm / radius - 1.0) * (norm * (norm / (x @ minus_dx)))
            x, minus_dx = at(mu)
            return mu, x, minus_dx, jnp.linalg.norm(x), step + 1

        _, x, _, norm, _ = while_loop(outside, newton, (jnp.zeros_like(norm), x, minus_dx, norm, 0), _MAX_STEPS)
        return x, norm, False

    x, norm, _ = while_loop(lambda carry: carry[2], search, (x, norm, norm > furthest), max_steps=1)
    return x, norm


def project_ball_and_ellipsoid(
    v: Symmetric,
    inverse: Inverse,
    y: Vector,
    radius: ArrayLike,
    metric: Symmetric,
    center: Vector,
    width: ArrayLike,
) -> Vector:
    """`argmin ||x - y||_V` over `||x|| <= radius` and `||x - center||_M <= width`.

    The multiplier nu of the ellipsoid is the root of its own secular equation, `x(nu)` the minimiser over the ball of
    `||x - y||^2_V + nu ||x - center||^2_M`: Newton steps inside a bracket, each with a search for that of the ball.
    Where the ellipsoid does not bind the answer is that of `project_ball`, bit for bit, and the loop does not run.

    Args:
      v: `[d, d]` positive definite V.
      inverse: `[d, d]` its inverse, or the factors of it.
      y: `[d]` the point to project.
      radius: radius of the ball, > 0.
      metric: `[d, d]` positive definite M.
      center: `[d]` in the ball.
      width: > 0; infinity for no ellipsoid.
    """
    pull, middle = v @ y, metric @ center

    def excess(x: Vector) -> jax.Array:
        """`||x - center||_M / width - 1`."""
        away = x - center
        return jnp.sqrt(away @ metric @ away) / width - 1.0

    first = project_ball(inverse, y, radius)
    beyond = excess(first)
    tolerance = jnp.finfo(beyond.dtype).eps ** 0.8

    def unsettled(carry):
        _, _, beyond, _, _, step = carry
        off = jnp.where(step == 0, beyond, jnp.abs(beyond))  # at nu = 0 the inside is the answer
        return (off > tolerance) & (step < _MAX_STEPS)

    def newton(carry):
        nu, _, _, low, high, step = carry
        a, b = v + metric * nu, pull + middle * nu
        x = minimise_on_ball(a, b, radius)
        on_sphere = x @ x >= (radius * (1.0 - tolerance)) ** 2
        mu = jnp.where(on_sphere, jnp.maximum(((b - a @ x) @ x) / radius**2, 0.0), 0.0)
        push = metric @ (x - center)
        system = linalg.factor(a + mu * jnp.eye(len(a), dtype=a.dtype))
        by_ellipsoid, by_ball = linalg.solve(system, push), linalg.solve(system, x)
        sideways = jnp.where(mu > 0.0, jnp.square(x @ by_ellipsoid) / (x @ by_ball), 0.0)
        fall = push @ by_ellipsoid - sideways  # -||x - center||_M times its derivative by nu
        beyond = excess(x)
        low, high = jnp.where(beyond > 0.0, nu, low), jnp.where(beyond > 0.0, high, nu)
        following = nu + beyond * ((x - center) @ push) / fall
        further = 4.0 * low + linalg.trace(v) / linalg.trace(metric)
        halfway = jnp.where(jnp.isfinite(high), 0.5 * (low + high), further)
        following = jnp.where((following > low) & (following < high), following, halfway)
        return following, x, beyond, low, high, step + 1

    zero = jnp.zeros_like(beyond)
    begin = (zero, first, beyond, zero, jnp.full_like(beyond, jnp.inf), 0)
    _, x, beyond, _, _, _ = while_loop(unsettled, newton, begin, _MAX_STEPS)
    # Clears the rounding of the last step, and stays in the ball.
    onto = center + (x - center) / (1.0 + jnp.maximum(beyond, 0.0))
    return trees.where(beyond > 0.0, onto, x)
