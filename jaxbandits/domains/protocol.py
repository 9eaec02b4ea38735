"""Protocol of convex sets: each domain implements the methods that it can, each learner checks those that it needs.

A learner with projections never calls `lmo`, a projection-free one never `project`: a domain omits the methods that it
does not support. A learner's `check` calls `check(domain, name, *members)`, so that asking a set for what it cannot do
is an error of one line before anything runs; `offers(domain)` lists what there is.
"""

from typing import Any, Protocol, TypeAlias

import jax
import jax.numpy as jnp

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import ArrayLike, PyTree
from jaxbandits.domains.points import Point, Shape


class Domain(Protocol):
    """A closed convex set of points."""

    @property
    def diameter(self) -> ArrayLike:
        """The largest distance of two of its points; inf where there is none."""
        ...

    def zero(self, shape: Shape) -> Point:
        """Return the point of the set from which learners start: the origin, or where the class says."""
        ...

    def center(self, shape: Shape) -> Point:
        """Return the middle of the largest ball inside; only for sets with interior points."""
        ...

    def inner_radius(self, shape: Shape) -> ArrayLike:
        """Return the radius of that ball, r; only for sets with interior points."""
        ...

    def outer_radius(self, shape: Shape) -> ArrayLike:
        """R, the largest norm of a point of the set, or a bound on it."""
        ...

    def project(self, x: Point) -> Point:
        """Return the nearest point of the set (Euclidean)."""
        ...

    def lmo(self, direction: Point, guess: PyTree = None) -> tuple[Point, PyTree]:
        """Return a point v of the set with the smallest `<direction, v>`: the linear minimisation oracle.

        Args:
          direction: the linear function to minimise.
          guess: second output of the oracle for a nearby direction; None: start anew. An oracle that
            iterates starts from there; one that does not ignores it.

        Returns:
          The point, and the guess for the next call, of the same structure from call to call.
        """
        ...

    def contains(self, x: Point) -> jax.Array:
        """Return whether `x` lies in the set up to rounding; only for sets where this is cheap."""
        ...


ConvexSet: TypeAlias = Any  # a set with those members of `Domain` that its user needs
MEMBERS = ("diameter", "zero", "center", "inner_radius", "outer_radius", "project", "lmo", "contains")


def offers(domain: ConvexSet) -> tuple[str, ...]:
    """Return the names of the protocol's methods that a set has."""
    return tuple(member for member in MEMBERS if hasattr(domain, member))


def check(domain: ConvexSet, name: str, *members: str) -> None:
    """Say what a domain lacks.

    Raises:
      InputError: if a member is missing; the message names the field, the class of the domain, the missing member and
        the existing ones.
    """
    for member in members:
        if not hasattr(domain, member):
            has = ", ".join(offers(domain)) or "nothing of a domain"
            raise InputError(f"{name} must have {member!r}; {type(domain).__name__} has not (it has: {has})")


def contains(domain: ConvexSet, x: Point) -> jax.Array:
    """Return whether `x` lies in the set up to rounding; True where the set cannot tell."""
    return domain.contains(x) if hasattr(domain, "contains") else jnp.ones((), bool)
