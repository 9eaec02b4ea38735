"""Protocol of convex sets: a domain may implement only some methods, and each learner checks for those that it needs.

A learner with projections never calls `lmo`, and a projection-free learner never calls `project`, so that a domain may
omit methods. A learner's `check` calls `check(domain, name, *members)`, which raises an error before the run if a
method is missing; `offers(domain)` lists the existing methods.
"""

from typing import Any, Protocol, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.errors import InputError, format_value
from jaxbandits.base.pytree import ArrayLike, PyTree
from jaxbandits.domains import points
from jaxbandits.domains.points import Point, Shape


class Domain(Protocol):
    """A closed convex set of points."""

    @property
    def diameter(self) -> ArrayLike:
        """The largest distance between two points of the set; inf if the set is unbounded."""
        ...

    def zero(self, shape: Shape) -> Point:
        """Return the point of the set from which learners start: the origin, unless the class says otherwise."""
        ...

    def center(self, shape: Shape) -> Point:
        """Return the centre of the largest ball inside the set; only for sets with interior points."""
        ...

    def inner_radius(self, shape: Shape) -> ArrayLike:
        """Return r, the radius of the largest ball inside the set; only for sets with interior points."""
        ...

    def outer_radius(self, shape: Shape) -> ArrayLike:
        """Return R, the largest norm of a point of the set, or an upper bound on it."""
        ...

    def project(self, x: Point) -> Point:
        """Return the Euclidean projection of `x` on the set."""
        ...

    def lmo(self, direction: Point, guess: PyTree = None) -> tuple[Point, PyTree]:
        """Return a point v of the set with the smallest `<direction, v>`: the linear minimisation oracle.

        Args:
          direction: the linear function to minimise.
          guess: second output of the oracle for a nearby direction, or None. An iterative oracle starts from the guess;
            other oracles ignore it.

        Returns:
          The point, and the guess for the next call, whose structure is the same for every call.
        """
        ...

    def contains(self, x: Point) -> jax.Array:
        """Return True if `x` lies in the set up to rounding errors; only for sets where the test is cheap."""
        ...


ConvexSet: TypeAlias = Any  # a set that has those members of `Domain` that the caller needs
_STEPS = 100  # of the search for a half-space between a set and the origin
_LEAST_DISTANCE = 1e-4  # of the origin from a set that is rejected, relative to the norms of points of the set
MEMBERS = ("diameter", "zero", "center", "inner_radius", "outer_radius", "project", "lmo", "contains")


def offers(domain: ConvexSet) -> tuple[str, ...]:
    """Return the names of the members of `Domain` that a set implements."""
    return tuple(member for member in MEMBERS if hasattr(domain, member))


def check(domain: ConvexSet, name: str, *members: str) -> None:
    """Check that a domain has the given members; `name` is the name of the field that contains it.

    Raises:
      InputError: if a member is missing; the message names the field, the class of the domain, the missing member and
        the existing ones.
    """
    for member in members:
        if not hasattr(domain, member):
            has = ", ".join(offers(domain)) or "no member of a domain"
            raise InputError(f"{name} must have {member!r}; {type(domain).__name__} lacks it (it has: {has})")


def check_bounded(domain: ConvexSet, name: str) -> None:
    """Check that a domain has a finite diameter; `name` is the name of the field that contains it.

    Raises:
      InputError: if the domain has no diameter, or if a diameter is infinite.
    """
    check(domain, name, "diameter")
    if not np.isfinite(np.asarray(domain.diameter)).all():
        raise InputError(
            f"{name} must be bounded, since the steps are multiples of its diameter; {type(domain).__name__} is not: "
            "use a bounded set such as L2Ball(radius=1.0)"
        )


def check_member(domain: ConvexSet, x: Point, shape: Shape, name: str) -> None:
    """Check that a point given by the user lies in a domain; sweeps and sets without `contains` are not checked.

    Raises:
      InputError: if the point lies outside; the message begins with `name`.
    """
    if not _has_member(domain, x, shape):
        raise InputError(f"{name} must lie in the domain {format_value(domain)}, got {format_value(x)}")


def check_origin(domain: ConvexSet, shape: Shape, name: str) -> None:
    """Check that a domain contains the origin; sweeps, and sets without `contains` and `lmo`, are not checked.

    Raises:
      InputError: if it does not; the message begins with `name`, the name of the field that contains the domain.
    """
    is_outside = not _has_member(domain, points.zeros(shape), shape)
    if is_outside or (not hasattr(domain, "contains") and _is_separated(domain, shape)):
        raise InputError(f"{name} must contain the origin, which {format_value(domain)} does not")


def _has_member(domain: ConvexSet, x: Point, shape: Shape) -> bool:
    """Return False if `x` lies outside the domain; True if it lies inside, or if this is not known."""
    shapes = [np.shape(leaf) for leaf in jax.tree.leaves(points.zeros(shape))]
    is_single = [np.shape(leaf) for leaf in jax.tree.leaves(x)] == shapes
    is_single &= all(np.shape(leaf) in ((), *shapes) for leaf in jax.tree.leaves(domain))

    def lies_inside(dtype: Any) -> bool:
        # One compiled function starts faster than the operations one by one.
        return bool(np.all(jax.jit(contains)(domain, jax.tree.map(lambda leaf: np.asarray(leaf, dtype), x))))

    # Points given in float32 may lie outside by more than a rounding error of float64, which is no mistake.
    return not is_single or lies_inside(float) or lies_inside(jnp.float32)


def _is_separated(domain: ConvexSet, shape: Shape) -> bool:
    """Return True if Frank-Wolfe steps find a half-space that separates a set from the origin.

    The steps minimise the norm. A point x with <x, v> > 0 for all v in the set proves that the origin lies outside.
    """
    is_array = isinstance(shape, int) or all(isinstance(side, int) for side in shape)
    is_single = all(np.ndim(leaf) in (0, 2) for leaf in jax.tree.leaves(domain))
    if not (is_array and is_single and hasattr(domain, "lmo") and hasattr(domain, "zero")):
        return False
    x, size = np.asarray(domain.zero(shape), float), 0.0
    for _ in range(_STEPS):
        vertex = np.asarray(domain.lmo(jnp.asarray(x))[0], float)
        size = max(size, float(np.linalg.norm(vertex)))
        if np.linalg.norm(x) <= _LEAST_DISTANCE * size:
            return False
        if np.vdot(x, vertex) > _LEAST_DISTANCE * size * np.linalg.norm(x):
            return True
        away = vertex - x
        x = x + min(1.0, np.vdot(x, -away) / max(np.vdot(away, away), 1e-300)) * away
    return False


def contains(domain: ConvexSet, x: Point) -> jax.Array:
    """Return True if `x` lies in the set up to rounding errors, or if the set has no method `contains`."""
    return domain.contains(x) if hasattr(domain, "contains") else jnp.ones((), bool)
