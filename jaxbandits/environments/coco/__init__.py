"""Constrained online convex optimisation problems, one per file; each is imported on first access."""

from typing import TYPE_CHECKING

from jaxbandits.base import lazy

if TYPE_CHECKING:
    from jaxbandits.environments.coco.linear_constraints import LinearConstraints as LinearConstraints
    from jaxbandits.environments.coco.matrix_completion import MatrixCompletion as MatrixCompletion
    from jaxbandits.environments.coco.quadratic_constraints import QuadraticConstraints as QuadraticConstraints

lazy.attach(__name__)
