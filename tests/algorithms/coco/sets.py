"""Convex sets of the library beside those of the references."""

from typing import Any

import numpy as np

from jaxbandits.base.pytree import param, pytree
from jaxbandits.domains import Box, L1Ball, L2Ball, Simplex
from tests.reference import convex_sets

# Name -> a domain of the given size, its reference, the shape of its points.
SETS = {
    "ball": lambda size: (L2Ball(radius=size), convex_sets.L2Ball(size), (4,)),
    "matrix ball": lambda size: (L2Ball(radius=size), convex_sets.L2Ball(size), (3, 2)),
    "box": lambda size: (Box(dim=3, low=-size, high=size), convex_sets.Box(3, size), (3,)),
    "l1": lambda size: (L1Ball(radius=size), convex_sets.L1Ball(5, size), (5,)),
    "simplex": lambda size: (Simplex(total=size), convex_sets.Simplex(5, size), (5,)),
}
INTERIOR = [name for name in SETS if name != "simplex"]


def dim(shape):
    """The field of that name."""
    return shape[0] if len(shape) == 1 else shape


def start(rng, other, shape, shrink=0.0):
    """A point of the (shrunk) reference set."""
    atoms = [other.lmo(rng.normal(size=shape)) for _ in range(3)]
    return (1.0 - shrink) * sum(w * a for w, a in zip(rng.dirichlet(np.ones(3)), atoms, strict=True))


@pytree
class LinearOracleOnly:
    """A domain with every member but `project`."""

    base: Any = param(factory=L2Ball, doc="the set")

    def __getattr__(self, name):
        if name in ("project", "base") or name.startswith("__"):
            raise AttributeError(f"no {name} here")
        return getattr(self.base, name)
