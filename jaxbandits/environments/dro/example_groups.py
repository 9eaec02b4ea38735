"""Fit of one number to groups of Bernoulli variables, an example in favour of the average top-k risk (Figure 1).

    z ~ Bernoulli(mu_i),   loss(w; z) = (w - z)^2,   R_i(w) = w^2 - 2 mu_i w + mu_i,   w in [0, 1]

For weights q, $sum_i q_i R_i$ has its minimum c (1 - c) at $w = c = sum_i q_i mu_i$. The mean of the k largest risks is
the maximum of this sum over weights $q_i <= 1/k$ that sum to 1. It is therefore minimised at the weighted average $c =
sum_i q_i mu_i$ that is nearest to 1/2.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import ArrayLike, param, pytree, static
from jaxbandits.environments.dro import draws, group_losses
from jaxbandits.environments.dro.draws import GroupOutcome
from jaxbandits.numerics import rng
from jaxbandits.types import Gradient, GroupDecision

MEANS = (0.5, *(m / 100.0 for m in range(86, 101)))  # means of the paper's 16 groups


@pytree
class ExampleGroups:
    """Bernoulli groups with one-dimensional decisions `[1]` in [0, 1]; by default Example 1 of the paper.

    The metrics are `samples`, `group_samples` [m] and `loss`. At record points, a recommendation (w, q) has the exact
    `risk` [m], `max_risk`, `mean_risk` and `top_k_risk` (if $k > 1$), `duality_gap`, which is the mean of the k largest
    risks at w minus min_v $sum_i q_i R_i(v)$, and `distance`, which is |w - w*| for the w* of `optimum`.

    References: L. Zhang, H. Bai, P. Zhao, T. Yang, Z.-H. Zhou, JMLR (arXiv:2302.09267), Example 1 and Figure 1.
    """

    source: ClassVar[str] = "Zhang, Bai, Zhao, Yang & Zhou, JMLR, Example 1"
    axes: ClassVar = draws.AXES
    units: ClassVar = draws.units()
    n_groups: int = static(len(MEANS), "[1, inf)", doc="m, number of groups")
    means: ArrayLike = param(MEANS, "[0, 1]", "[m] mu_i, means of the groups")
    top_k: int = static(1, "[1, inf)", doc="k, number of largest risks that are averaged")

    dim: ClassVar = 1

    @classmethod
    def example(cls) -> "ExampleGroups":
        return cls()

    def check(self) -> None:
        """Raise InputError unless there is one mean per group and k is at most m."""
        if np.shape(self.means)[-1:] != (self.n_groups,):
            raise InputError(
                f"ExampleGroups.means must have shape [{self.n_groups}], one entry per group, got "
                f"{np.shape(self.means)}"
            )
        draws.check_objective("ExampleGroups", self.n_groups, self.top_k, None)

    def init(self, key: jax.Array) -> None:
        del key  # all trials have the same instance

    def observe(self, key: jax.Array, t: jax.Array, state: None) -> None:
        del key, t, state

    def step(
        self, key: jax.Array, t: jax.Array, state: None, obs: None, decision: GroupDecision
    ) -> tuple[None, Gradient, GroupOutcome]:
        del t, obs
        count = len(decision.group)
        drawn = draws.drawn_of(decision)
        u = rng.uniforms(key, count)
        z = (u < draws.per_group(self.means, decision.group)).astype(drawn.dtype)
        loss, grad = group_losses.Squared().gradients(decision.play, jnp.ones((count, 1)), z)
        loss = loss * drawn
        samples = jnp.sum(drawn)
        outcome = GroupOutcome(
            samples, draws.counts(decision, self.n_groups), jnp.sum(loss) / jnp.maximum(samples, 1.0)
        )
        return state, Gradient(loss=loss, grad=group_losses.scaled_rows(grad, drawn)), outcome

    def admits(self, state: None, obs: None, decision: GroupDecision) -> jax.Array:
        """Return True if all group indices are in range and the model lies in [0, 1], up to rounding."""
        del state, obs
        w = decision.play[0]
        slack = 16.0 * jnp.finfo(w.dtype).eps
        return draws.groups_exist(decision.group, self.n_groups) & (w >= -slack) & (w <= 1.0 + slack)

    def at_record(self, state: None, recommendation: tuple[jax.Array, jax.Array] | None) -> dict[str, jax.Array]:
        del state
        if recommendation is None:
            return {}
        w, q = recommendation
        risks = self.risks(w[0])
        center = jnp.sum(q * jnp.asarray(self.means)) / jnp.sum(q)
        worst = draws.mean_of_largest(risks, self.top_k)
        return draws.measures(risks, self.top_k, None) | {
            "duality_gap": worst - center * (1.0 - center),
            "distance": jnp.abs(w[0] - self.optimum(self.top_k)[0]),
        }

    def risks(self, w: ArrayLike) -> jax.Array:
        """Return the risks `[..., m]` for decisions w `[...]`."""
        means, w = jnp.asarray(self.means), jnp.asarray(w)[..., None]
        return w * w - 2.0 * means * w + means

    def optimum(self, k: int = 1) -> tuple[jax.Array, jax.Array]:
        """Return `w*`, which minimises the mean of the k largest risks, and the minimum."""
        ordered = jnp.sort(jnp.asarray(self.means))
        center = jnp.clip(0.5, jnp.mean(ordered[:k]), jnp.mean(ordered[self.n_groups - k :]))
        return center, center * (1.0 - center)
