"""Minimisers of quadratics over a Euclidean ball, or over its intersection with an ellipsoid, by secular equations.

Let `x(mu)` be the minimiser, over the whole space, of the quadratic plus `mu ||x||^2 / 2`. The minimiser over the ball
is `x(mu)` for the smallest multiplier `mu >= 0` with `||x(mu)|| <= radius`. Newton's method on `1/radius - 1/||x(mu)||`
from `mu = 0` approaches the root monotonically from the left. Under `vmap` the loop runs until the slowest trial of the
batch is done, and not at all if every trial is inside the ball; on a GPU without loops in graphs it has a fixed number
of masked steps. Rescaling `x(0)` to the sphere would give a different point, the projection in the Euclidean norm.

A point counts as inside if its norm exceeds the radius by at most 8 rounding errors. `minimise_on_ball` and
`proximal_on_ball` rescale their result, so that it lies in the ball up to the rounding of one product. `project_ball`,
which one-pass estimators call in every round, does not rescale: each rescaling would pull an estimate slightly towards
0, even in directions without data, and these errors would accumulate
(float32/test_crtm_crmm.py::test_long_runs_keep_their_digits).
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

Path: TypeAlias = Callable[[jax.Array], tuple[Vector, Vector]]  # from mu to x(mu) and -dx/dmu

_MAX_STEPS = 48  # a safeguard: at most 17 steps were observed (condition number 1e10, norm ratio 1e4)


def project_ball(inverse: Inverse, y: Vector, radius: ArrayLike) -> Vector:
    """Return `argmin_{||x|| <= radius} ||x - y||_V`, given `V^{-1}`.

    The inverse suffices: `x(mu) = (V + mu I)^{-1} V y = (I + mu V^{-1})^{-1} y`.

    Args:
      inverse: the positive definite matrix `V^{-1}` `[d, d]`, or its factors.
      y: `[d]` the point to project; returned unchanged if it lies in the ball (up to 8 rounding errors of the radius).
      radius: radius of the ball, > 0.
    """
    if isinstance(inverse, InverseFactors):

        def make_path(x: Vector) -> tuple[Path, Vector]:
            # The barrier ties V^{-1} to x: XLA would otherwise move the part that depends only on V out of the loop.
            inner_inverse, x = barrier((inverse, x))
            system = inverse_factors.shifted_system(inner_inverse, x)
            return lambda mu: inverse_factors.solve_shifted(system, mu), inverse_factors.matvec(inner_inverse, x)

        return _secular_newton(make_path, y, radius)[0]

    def at(mu: jax.Array) -> tuple[Vector, Vector]:
        system = linalg.factor(jnp.eye(len(inverse), dtype=inverse.dtype) + mu * inverse)
        x = linalg.solve(system, y)
        return x, linalg.solve(system, inverse @ x)

    return _secular_newton(lambda x: (at, inverse @ x), y, radius)[0]


def minimise_on_ball(a: Symmetric, b: Vector, radius: ArrayLike) -> Vector:
    """Return `argmin_{||x|| <= radius} x'a x / 2 - b'x` for positive definite `a`.

    Args:
      a: `[d, d]` positive definite matrix.
      b: `[d]` vector of the linear term.
      radius: radius of the ball, > 0.
    """
    system = linalg.factor(a)
    x = linalg.solve(system, b)
    return _rescale(*_secular_newton(lambda x: (_shifted_path(a, b), linalg.solve(system, x)), x, radius), radius)


def proximal_on_ball(a: Symmetric, center: Vector, slope: Vector, radius: ArrayLike) -> Vector:
    """Return `argmin_{||x|| <= radius} <slope, x> + ||x - center||_a^2 / 2` for positive definite `a`.

    The minimiser equals `minimise_on_ball(a, a @ center - slope, radius)`. If it lies inside the ball, it is computed
    as `center - a^{-1} slope`, so that rounding errors are relative to the step and not to `center`.

    Args:
      a: `[d, d]` positive definite matrix.
      center: `[d]` centre of the proximal term.
      slope: `[d]` gradient of the linear term.
      radius: radius of the ball, > 0.
    """
    system = linalg.factor(a)
    x = center - linalg.solve(system, slope)

    def make_path(x: Vector) -> tuple[Path, Vector]:
        b = a @ center - slope
        return _shifted_path(a, b), linalg.solve(system, x)

    return _rescale(*_secular_newton(make_path, x, radius), radius)


def _rescale(x: Vector, norm: jax.Array, radius: ArrayLike) -> Vector:
    """Rescale x to the sphere if it lies outside the ball; otherwise return x unchanged."""
    # The comparison is needed because XLA turns radius / norm into a product with rsqrt, which is not exactly 1 if both
    # are equal.
    return jnp.where(norm > radius, radius / norm, 1.0) * x


def _shifted_path(a: Symmetric, b: Vector) -> Path:
    """Return the path `x(mu) = (a + mu I)^{-1} b`, with `-dx/dmu`."""

    def at(mu: jax.Array) -> tuple[Vector, Vector]:
        system = linalg.factor(a + mu * jnp.eye(len(a), dtype=a.dtype))
        x = linalg.solve(system, b)
        return x, linalg.solve(system, x)

    return at


def _secular_newton(
    make_path: Callable[[Vector], tuple[Path, Vector]], x: Vector, radius: ArrayLike
) -> tuple[Vector, jax.Array]:
    """Solve `||x(mu)|| = radius` to within 8 rounding errors.

    Args:
      make_path: function that maps x(0) to the path and -dx/dmu(0). It is evaluated in a loop of at most one iteration.
        The loop is skipped if x(0) lies inside the ball for all trials, as in most rounds.
      x: `[d]` x(0).
      radius: radius of the ball, > 0.

    Returns:
      x(mu) and its norm; if x(0) lies inside the ball, x(0) and its norm.
    """
    norm = jnp.linalg.norm(x)
    furthest = radius * (1.0 + 8.0 * jnp.finfo(norm.dtype).eps)

    def is_outside(carry):
        _, _, _, norm, step = carry
        return (norm > furthest) & (step < _MAX_STEPS)

    def search(carry):
        x, norm, _ = carry
        path, minus_dx = make_path(x)

        def newton(carry):
            mu, x, minus_dx, norm, step = carry
            # In this order no factor overflows; in float32 `norm * norm` would overflow from 1e19 on.
            mu = mu + (norm / radius - 1.0) * (norm * (norm / (x @ minus_dx)))
            x, minus_dx = path(mu)
            return mu, x, minus_dx, jnp.linalg.norm(x), step + 1

        _, x, _, norm, _ = while_loop(is_outside, newton, (jnp.zeros_like(norm), x, minus_dx, norm, 0), _MAX_STEPS)
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
    """Return the minimiser of `||x - y||_V` over `||x|| <= radius` and `||x - center||_M <= width`.

    The multiplier nu of the ellipsoid solves a secular equation for `x(nu)`, the minimiser over the ball of
    `||x - y||^2_V + nu ||x - center||^2_M`. Newton's method is safeguarded by a bracket, and each step searches for the
    multiplier of the ball. If the ellipsoid constraint is inactive, no step is taken, and the result equals that of
    `project_ball`, bit for bit.

    Args:
      v: `[d, d]` positive definite matrix V.
      inverse: `[d, d]` the inverse of V, or the factors of the inverse.
      y: `[d]` the point to project.
      radius: radius of the ball, > 0.
      metric: `[d, d]` positive definite matrix M.
      center: `[d]` centre of the ellipsoid, which must lie in the ball.
      width: radius of the ellipsoid in the norm of M, > 0; infinity removes the ellipsoid constraint.
    """
    pull, middle = v @ y, metric @ center

    def excess(x: Vector) -> jax.Array:
        """Return `||x - center||_M / width - 1`."""
        away = x - center
        return jnp.sqrt(away @ metric @ away) / width - 1.0

    first = project_ball(inverse, y, radius)
    beyond = excess(first)
    tolerance = jnp.finfo(beyond.dtype).eps ** 0.8

    def is_unsolved(carry):
        _, _, beyond, _, _, step = carry
        error = jnp.where(step == 0, beyond, jnp.abs(beyond))  # at nu = 0, a point inside the ellipsoid is the solution
        return (error > tolerance) & (step < _MAX_STEPS)

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
        fall = push @ by_ellipsoid - sideways  # -||x - center||_M times its derivative with respect to nu
        beyond = excess(x)
        low, high = jnp.where(beyond > 0.0, nu, low), jnp.where(beyond > 0.0, high, nu)
        following = nu + beyond * ((x - center) @ push) / fall
        further = 4.0 * low + linalg.trace(v) / linalg.trace(metric)
        halfway = jnp.where(jnp.isfinite(high), 0.5 * (low + high), further)
        following = jnp.where((following > low) & (following < high), following, halfway)
        return following, x, beyond, low, high, step + 1

    zero = jnp.zeros_like(beyond)
    init = (zero, first, beyond, zero, jnp.full_like(beyond, jnp.inf), 0)
    _, x, beyond, _, _, _ = while_loop(is_unsolved, newton, init, _MAX_STEPS)
    # Moving x towards the center removes the remaining excess over the ellipsoid; the point stays in the ball.
    on_ellipsoid = center + (x - center) / (1.0 + jnp.maximum(beyond, 0.0))
    return trees.where(beyond > 0.0, on_ellipsoid, x)
