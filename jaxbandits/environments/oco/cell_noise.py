"""Example in which sup E and E sup of squared noise differ (Wang, Barik, Zhao & Tan, NeurIPS 2025, Proposition A.1).

    f_t(x)      = c_i s x on the cell i - 1 <= x < i, i = 1..n
    sigma_t^2   = sup_x E |f_t'(x) - F_t'(x)|^2 = 1/n
    sigma~_t^2  = E sup_x |f_t'(x) - F_t'(x)|^2 = 1 - (1 - 1/n)^n

In every round, c_i ~ Bernoulli(1/n) is drawn for each cell, and one sign s = +-1 is drawn.
"""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.base.pytree import pytree, static
from jaxbandits.numerics import rng
from jaxbandits.types import Gradient, PointDecision


class CellNoiseOutcome(NamedTuple):
    """Squared deviations of the gradient in one round."""

    pointwise: jax.Array  # []  squared deviation at one fixed point
    uniform: jax.Array  # []  largest squared deviation over all points


@pytree
class CellNoise:
    """Simulation of two measures of noise; the feedback is zero, so that the choice of the learner is irrelevant.

    The metrics are `pointwise` and `uniform`, whose means over rounds estimate $sigma^2$ and $sigma~^2$. $f_t$ is not
    convex.
    """

    source: ClassVar[str] = "Wang, Barik, Zhao & Tan, NeurIPS 2025, Proposition A.1"
    n_cells: int = static(range="[1, inf)", doc="n, number of cells")
    dim: int = static(1, range="[1, 1]", doc="d, which is 1, because the cells lie on a line")

    @classmethod
    def example(cls) -> "CellNoise":
        return cls(n_cells=4)

    def init(self, key: jax.Array) -> None:
        del key

    def observe(self, key: jax.Array, t: jax.Array, state: None) -> None:
        del key, t, state

    def step(
        self, key: jax.Array, t: jax.Array, state: None, obs: None, decision: PointDecision
    ) -> tuple[None, Gradient, CellNoiseOutcome]:
        del t, state, obs
        hit = (rng.uniforms(key, self.n_cells) < 1.0 / self.n_cells).astype(jnp.result_type(float))
        feedback = Gradient(jnp.zeros(len(decision.query)), jnp.zeros_like(decision.query))
        return None, feedback, CellNoiseOutcome(pointwise=hit[0], uniform=jnp.max(hit))
