"""The step sizes that the theorems of group DRO state (Zhang et al., JMLR).

Letters: m groups, T rounds (`horizon`), D^2 the range of ||w||^2 / 2 (`diameter_sq`), G the bound on gradients
(`lipschitz`). Forms with a horizon have constant steps; the anytime forms have `1 / sqrt(t)` times those given here.
"""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.pytree import ArrayLike
from jaxbandits.numerics import schedule


class Steps(NamedTuple):
    """The step sizes of both players, and the implicit exploration gamma of bandit feedback."""

    w: ArrayLike  # []  eta_w
    q: ArrayLike  # []  eta_q
    gamma: ArrayLike | None = None  # []  gamma; None: no bandit

    def scaled(self, w_scale: ArrayLike, q_scale: ArrayLike) -> "Steps":
        """Multiplied; gamma with eta_q, of which the theorems have it a half."""
        return Steps(w_scale * self.w, q_scale * self.q, None if self.gamma is None else q_scale * self.gamma)

    def given(self, w: ArrayLike | None, q: ArrayLike | None, gamma: ArrayLike | None = None) -> "Steps":
        """With those that are given instead, as arrays; gamma is eta_q / 2 where it is not given."""
        w, q = self.w if w is None else w, self.q if q is None else q
        if self.gamma is not None:
            gamma = jnp.asarray(jnp.asarray(q) / 2.0 if gamma is None else gamma, float)
        return Steps(jnp.asarray(w, float), jnp.asarray(q, float), gamma)


def theorem_1(n_groups: int, horizon: ArrayLike, diameter_sq: ArrayLike, lipschitz: ArrayLike, k: int = 1) -> Steps:
    """SMD(m); with k, Theorem 12 for ATkRO(m), which has log(m / k)."""
    entropy = math.log(n_groups / k)
    rate = jnp.sqrt(8.0 / (5.0 * horizon * (diameter_sq * jnp.square(lipschitz) + entropy)))
    return Steps(diameter_sq * rate, entropy * rate)


def equation_19(n_groups: int, diameter_sq: ArrayLike, lipschitz: ArrayLike, k: int = 1) -> Steps:
    """SMD(m)_a; with k, equation (52) for ATkRO(m)_a."""
    entropy = math.log(n_groups / k)
    rate = jnp.sqrt(2.0 / (diameter_sq * jnp.square(lipschitz) + entropy))
    return Steps(diameter_sq * rate, entropy * rate)


def theorem_5(n_groups: int, horizon: ArrayLike, diameter_sq: ArrayLike, lipschitz: ArrayLike, k: int = 1) -> Steps:
    """Online(1); with k, Theorem 15 for ATkRO(k), which has log m."""
    step_q = jnp.sqrt(k * math.log(n_groups) / (n_groups * horizon))
    return Steps(2.0 * jnp.sqrt(diameter_sq / (5.0 * horizon)) / lipschitz, step_q, step_q / 2.0)


def equation_30(n_groups: int, diameter_sq: ArrayLike, lipschitz: ArrayLike) -> Steps:
    """Online(1)_a and ATkRO(1)_a."""
    step_q = math.sqrt(math.log(n_groups) / n_groups)
    return Steps(jnp.sqrt(diameter_sq) / lipschitz, step_q, step_q / 2.0)


def sagawa(n_groups: int, horizon: ArrayLike, diameter_sq: ArrayLike, lipschitz: ArrayLike) -> Steps:
    """SMD(1): Theorem 1 for gradients m times as large [reconstructed]."""
    steps = theorem_1(n_groups, horizon, diameter_sq, lipschitz)
    return Steps(steps.w / n_groups, steps.q / n_groups)


def soma(horizon: ArrayLike, diameter_sq: ArrayLike, lipschitz: ArrayLike) -> Steps:
    """Soma et al.: eta_w of Theorem 5, and where `2 sqrt(m) / eta_q + eta_q sqrt(m) T` is least [ours]."""
    return Steps(2.0 * jnp.sqrt(diameter_sq / (5.0 * horizon)) / lipschitz, jnp.sqrt(2.0 / horizon))


def batch_sizes(budgets: tuple[int, ...]) -> tuple[int, ...]:
    """Rows of each group in a batch of SMPA_m: n_i / n_m, rounded down."""
    return tuple(n // min(budgets) for n in budgets)


def budget_weights(budgets: tuple[int, ...]) -> np.ndarray:
    """`[m]` the weights (45): b_i = (1 / sqrt(n_m) + 1) / (1 / sqrt(n_m) + sqrt(n_m / n_i)), least and 1 for n_m."""
    n = np.asarray(budgets, float)
    offset = 1.0 / np.sqrt(n.min())
    return (offset + 1.0) / (offset + np.sqrt(n.min() / n))


def theorem_10(
    budgets: tuple[int, ...],
    diameter_sq: ArrayLike,
    lipschitz: ArrayLike,
    smoothness: ArrayLike,
    regularity: ArrayLike = 1.0,
    constant: ArrayLike = 1.0,
) -> Steps:
    """SMPA_m.

    Args:
      budgets: n_i.
      diameter_sq: D^2.
      lipschitz: G.
      smoothness: L, of the risks.
      regularity: kappa, of the dual norm; 1 for Euclidean norms.
      constant: c, which the theorem leaves unspecified.
    """
    n, b, entropy = np.asarray(budgets, float), budget_weights(budgets), math.log(len(budgets))
    omega = float(np.max(b**2 * n.min() / n))
    curvature = 2.0 * math.sqrt(2.0) * b.max() * diameter_sq * (smoothness + lipschitz * math.sqrt(entropy))
    variance = 2.0 * constant * omega * (regularity * diameter_sq * jnp.square(lipschitz) + entropy**2)
    rate = jnp.minimum(1.0 / (math.sqrt(3.0) * curvature), 2.0 / jnp.sqrt(7.0 * variance * n.min()))
    return Steps(2.0 * diameter_sq * rate, 2.0 * entropy * rate)


class Pace(NamedTuple):
    """The factor of the step sizes in a round, and the weight of the round in the averages."""

    factor: ArrayLike  # []  multiplies eta_w, eta_q and gamma
    fraction: ArrayLike  # []  of this round in the averages (20), eta_t / (eta_1 + ... + eta_t)


def constant(t: jax.Array) -> Pace:
    """Constant steps, plain averages; t counts from 0."""
    return Pace(1.0, 1.0 / (t + 1))


def falling(t: jax.Array) -> Pace:
    """Steps that fall as one over the root of the round; both players have the same weighted averages then."""
    factor = 1.0 / jnp.sqrt(t + 1.0)
    return Pace(factor, factor / schedule.inverse_roots(t + 1))
