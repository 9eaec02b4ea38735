"""Certificates of the constrained learners, as functions of a `Round` for meters.

    Meter("gap", meters.diagnostic("gap"), "last")                   upper bound on F_t(x_t) - min F_t, a certificate
    Meter("oracle_calls", meters.diagnostic("oracle_calls"), "sum")  total number of linear minimisations
    Meter("weight", meters.diagnostic("weight"), "max")              largest weight of the constraint violation
    Meter("lemma_4", meters.lemma_4, "max")                          at most 1 if Lemma 4 holds
    Meter("gap_excess", meters.gap_excess, "max")                    at most 0 if the gap is a valid certificate

Here `meters` is this module. The last two meters, and `oracle_shortfall`, are for the learners that take one
Frank-Wolfe step per round on a quadratic, OFW-TVC and SCOFW-TVC. `lemma_4` and `gap_excess` project onto the domain,
unlike the learners.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.coco.frank_wolfe import Epochs, QuadraticIterate
from jaxbandits.base.deprecation import alias
from jaxbandits.base.errors import InputError
from jaxbandits.domains import points
from jaxbandits.domains.nuclear import WarmStart
from jaxbandits.domains.points import Point
from jaxbandits.domains.protocol import ConvexSet
from jaxbandits.engine.meters import Round


@functools.cache
def diagnostic(name: str) -> Callable[[Any], jax.Array]:
    """Return a `measure` for meters that returns the entry `name` of the learner's `diagnostics` after the round.

    Raises:
      InputError: during tracing, if the learner has no diagnostic of this name; the message lists its diagnostics.
    """

    def measure(played: Round) -> jax.Array:
        diagnostics = getattr(played.algorithm, "diagnostics", None)
        said = diagnostics(played.next_state) if diagnostics is not None else {}
        if name not in said:
            has = ", ".join(said) or "nothing"
            raise InputError(f"{type(played.algorithm).__name__} has no diagnostic {name!r}; it has: {has}")
        return said[name]

    return measure


def oracle_residual(played: Any) -> jax.Array:
    """Return the residual of the latest answer of the linear oracle; 0 if the oracle is exact."""
    leaves = jax.tree.leaves(played.next_state, is_leaf=lambda x: isinstance(x, WarmStart))
    found = [leaf.residual for leaf in leaves if isinstance(leaf, WarmStart)]
    return found[0] if found else jnp.zeros(())


class FollowedQuadratic(NamedTuple):
    """Quadratic `F = kappa ||x - middle||^2 + const` on which the learner took a Frank-Wolfe step in this round."""

    kappa: jax.Array  # []
    middle: Point  # [d]  the unconstrained minimiser

    def excess(self, domain: ConvexSet, x: Point) -> jax.Array:
        """Return F(x) - min_K F."""
        return self.kappa * (_distance_sq(x, self.middle) - _distance_sq(domain.project(self.middle), self.middle))

    def slope(self, x: Point) -> Point:
        """Return the gradient of F at x."""
        return points.scale(points.subtract(x, self.middle), 2.0 * self.kappa)


def followed_quadratic(played: Any) -> FollowedQuadratic:
    """Return the quadratic F_t, including this round's gradient, on which the learner took its Frank-Wolfe step.

    Raises:
      InputError: during tracing, for a learner that takes no Frank-Wolfe step on a quadratic.
    """
    run = getattr(played.next_state, "run", None)
    if isinstance(run, Epochs):
        half = 0.5 * run.eta_level / run.level
        return FollowedQuadratic(jnp.ones(()), points.add_scaled(run.anchor, -half, run.grad_sum))
    if isinstance(run, QuadraticIterate):
        weight = played.algorithm.curvature * (played.t + 1)
        return FollowedQuadratic(0.5 * weight, points.scale(run.lin, -1.0 / weight))
    name = type(played.algorithm).__name__
    raise InputError(f"{name} takes no Frank-Wolfe step on a quadratic in each round, which this diagnostic needs")


def lemma_4(played: Any) -> jax.Array:
    """Return `(F_{s:t}(x_{t+1}) - min_K F_{s:t}) / (2 D^2 sigma_{s,t+1})` of OFW-TVC, with sigma as printed.

    The value is 0 for SCOFW-TVC.

    Raises:
      InputError: during tracing, for a learner that takes no Frank-Wolfe step on a quadratic.
    """
    quadratic, run = followed_quadratic(played), played.next_state.run
    if not isinstance(run, Epochs):
        return jnp.zeros(())
    domain, age = played.algorithm.domain, (played.t + 2 - run.start).astype(run.eta_level.dtype)
    return quadratic.excess(domain, run.last.x) * jnp.sqrt(age) / (4.0 * domain.diameter**2)


def gap_excess(played: Any) -> jax.Array:
    """Return `F_t(x_t) - min_K F_t` minus the Frank-Wolfe gap, divided by kappa D^2.

    The value is positive if the gap is too small to be a certificate.
    """
    f, domain = followed_quadratic(played), played.algorithm.domain
    excess = f.excess(domain, played.state.run.last.x) - played.next_state.run.last.gap
    return excess / (f.kappa * domain.diameter**2)


def oracle_shortfall(exact: Callable[[Any], Any]) -> Callable[[Any], jax.Array]:
    """Return a `measure` for meters that returns `1 - <c, v> / min_K <c, .>`, for a set K that contains 0.

    Here c is the direction of the Frank-Wolfe step of the round, and v is the answer of the oracle.

    Args:
      exact: function from the learner's domain to the same domain with an exact oracle.
    """

    def measure(played: Round) -> jax.Array:
        x = played.state.run.last.x
        slope = followed_quadratic(played).slope(x)
        found = points.inner(slope, x) - played.next_state.run.last.gap
        best = points.inner(slope, exact(played.algorithm.domain).lmo(slope)[0])
        return jnp.where(best < 0.0, 1.0 - found / jnp.where(best < 0.0, best, -1.0), 0.0)

    return measure


def _distance_sq(x: Point, y: Point) -> jax.Array:
    away = points.subtract(x, y)
    return points.inner(away, away)


Followed = alias(FollowedQuadratic, "Followed")
followed = alias(followed_quadratic, "followed")
diagnosed = alias(diagnostic, "diagnosed")
