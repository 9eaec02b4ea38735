"""Certificates of the constrained learners, as functions of a whole `Round`, for meters.

Meter("gap", meters.diagnostic("gap"), "last")                        a certificate: F_t(x_t) - min F_t is at most that
Meter("oracle_calls", meters.diagnostic("oracle_calls"), "sum")       linear minimisations, in all
Meter("weight", meters.diagnostic("weight"), "max")                   what a unit of violation came to cost
Meter("lemma_4", meters.lemma_4, "max")                              at most 1 where Lemma 4 holds
Meter("gap_excess", meters.gap_excess, "max")                        at most 0 where the gap is a certificate

The last two, and `oracle_shortfall`, know the learners that take one Frank-Wolfe step a round on a quadratic: OFW-TVC
and SCOFW-TVC. They project, which the learners do not.
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
    """Return a value of the learner's `diagnostics` after the round, by name.

    Raises:
      InputError: when the round is played, by a learner that does not say this; the names that it has are listed.
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
    """Return the residual of the linear oracle's last answer; 0 where it is exact."""
    leaves = jax.tree.leaves(played.next_state, is_leaf=lambda x: isinstance(x, WarmStart))
    found = [leaf.residual for leaf in leaves if isinstance(leaf, WarmStart)]
    return found[0] if found else jnp.zeros(())


class FollowedQuadratic(NamedTuple):
    """`F = kappa ||x - middle||^2 + const`, of which the learner took a Frank-Wolfe step in this round."""

    kappa: jax.Array  # []
    middle: Point  # [d]  the minimiser without constraints

    def excess(self, domain: ConvexSet, x: Point) -> jax.Array:
        """Return F(x) - min_K F."""
        return self.kappa * (_distance_sq(x, self.middle) - _distance_sq(domain.project(self.middle), self.middle))

    def slope(self, x: Point) -> Point:
        """Return the gradient of F at x."""
        return points.scale(points.subtract(x, self.middle), 2.0 * self.kappa)


def followed_quadratic(played: Any) -> FollowedQuadratic:
    """Return F_t of the round, with the gradient of the round in it.

    Raises:
      InputError: when the round is played, by a learner that follows no quadratic.
    """
    run = getattr(played.next_state, "run", None)
    if isinstance(run, Epochs):
        half = 0.5 * run.eta_level / run.level
        return FollowedQuadratic(jnp.ones(()), points.add_scaled(run.anchor, -half, run.grad_sum))
    if isinstance(run, QuadraticIterate):
        weight = played.algorithm.curvature * (played.t + 1)
        return FollowedQuadratic(0.5 * weight, points.scale(run.lin, -1.0 / weight))
    raise InputError(f"{type(played.algorithm).__name__} follows no quadratic by single Frank-Wolfe steps")


def lemma_4(played: Any) -> jax.Array:
    """Return `(F_{s:t}(x_{t+1}) - min_K F_{s:t}) / (2 D^2 sigma_{s,t+1})` of OFW-TVC, sigma as printed.

    It is 0 for SCOFW-TVC.
    """
    run = played.next_state.run
    if not isinstance(run, Epochs):
        return jnp.zeros(())
    domain, age = played.algorithm.domain, (played.t + 2 - run.start).astype(run.eta_level.dtype)
    return followed_quadratic(played).excess(domain, run.last.x) * jnp.sqrt(age) / (4.0 * domain.diameter**2)


def gap_excess(played: Any) -> jax.Array:
    """Return `F_t(x_t) - min_K F_t` less the Frank-Wolfe gap, over kappa D^2.

    It is positive where the gap certifies too much.
    """
    f, domain = followed_quadratic(played), played.algorithm.domain
    excess = f.excess(domain, played.state.run.last.x) - played.next_state.run.last.gap
    return excess / (f.kappa * domain.diameter**2)


def oracle_shortfall(exact: Callable[[Any], Any]) -> Callable[[Any], jax.Array]:
    """Return `1 - <c, v> / min_K <c, .>` of the round's direction c and answer v, on a set around 0.

    Args:
      exact: function from the learner's domain to one with an exact oracle.
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
