"""Step sizes of the theorems for group DRO (Zhang et al., JMLR).

Notation: m is the number of groups, T is the number of rounds (`horizon`), $D^2$ is the range of $||w - w_1||^2 / 2$
(`diameter_sq`), and G bounds the norms of the gradients (`lipschitz`). Algorithms with a horizon have constant steps;
anytime algorithms multiply the steps of this module by $1 / sqrt(t)$ in round t.
"""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.pytree import ArrayLike
from jaxbandits.numerics import schedule


class Steps(NamedTuple):
    """Step sizes of both players, and the implicit exploration gamma of bandit feedback."""

    w: ArrayLike  # []  eta_w
    q: ArrayLike  # []  eta_q
    gamma: ArrayLike | None = None  # []  gamma; None: full feedback

    def scale(self, w_scale: ArrayLike, q_scale: ArrayLike) -> "Steps":
        """Return the steps times multipliers; gamma, eta_q / 2 in the theorems, is also multiplied by `q_scale`."""
        gamma = None if self.gamma is None else q_scale * self.gamma
        return Steps(w=w_scale * self.w, q=q_scale * self.q, gamma=gamma)

    def replace(self, w: ArrayLike | None, q: ArrayLike | None, gamma: ArrayLike | None = None) -> "Steps":
        """Return the steps as arrays, replaced by the arguments that are not None.

        With bandit feedback, a gamma of None is replaced by eta_q / 2.
        """
        w, q = self.w if w is None else w, self.q if q is None else q
        if self.gamma is not None:
            gamma = jnp.asarray(jnp.asarray(q) / 2.0 if gamma is None else gamma, float)
        return Steps(w=jnp.asarray(w, float), q=jnp.asarray(q, float), gamma=gamma)


def theorem_1(n_groups: int, horizon: ArrayLike, diameter_sq: ArrayLike, lipschitz: ArrayLike, k: int = 1) -> Steps:
    """Return the steps of SMD(m), or for k > 1 the steps of ATkRO(m) in Theorem 12, which contain log(m / k)."""
    entropy = math.log(n_groups / k)
    rate = jnp.sqrt(8.0 / (5.0 * horizon * (diameter_sq * jnp.square(lipschitz) + entropy)))
    return Steps(w=diameter_sq * rate, q=entropy * rate)


def equation_19(n_groups: int, diameter_sq: ArrayLike, lipschitz: ArrayLike, k: int = 1) -> Steps:
    """Return the steps of SMD(m)_a in round 1, or for k > 1 the steps of ATkRO(m)_a in equation (52)."""
    entropy = math.log(n_groups / k)
    rate = jnp.sqrt(2.0 / (diameter_sq * jnp.square(lipschitz) + entropy))
    return Steps(w=diameter_sq * rate, q=entropy * rate)


def theorem_5(n_groups: int, horizon: ArrayLike, diameter_sq: ArrayLike, lipschitz: ArrayLike, k: int = 1) -> Steps:
    """Return the steps of Online(1), or for k > 1 the steps of ATkRO(k) in Theorem 15, which contain log m."""
    step_q = jnp.sqrt(k * math.log(n_groups) / (n_groups * horizon))
    return Steps(w=2.0 * jnp.sqrt(diameter_sq / (5.0 * horizon)) / lipschitz, q=step_q, gamma=step_q / 2.0)


def equation_30(n_groups: int, diameter_sq: ArrayLike, lipschitz: ArrayLike) -> Steps:
    """Return the steps of Online(1)_a and ATkRO(1)_a in round 1."""
    step_q = math.sqrt(math.log(n_groups) / n_groups)
    return Steps(w=jnp.sqrt(diameter_sq) / lipschitz, q=step_q, gamma=step_q / 2.0)


def sagawa(n_groups: int, horizon: ArrayLike, diameter_sq: ArrayLike, lipschitz: ArrayLike) -> Steps:
    """Return the steps of SMD(1), from Theorem 1 for gradients that are m times as large [reconstructed]."""
    steps = theorem_1(n_groups, horizon, diameter_sq, lipschitz)
    return Steps(w=steps.w / n_groups, q=steps.q / n_groups)


def soma(horizon: ArrayLike, diameter_sq: ArrayLike, lipschitz: ArrayLike) -> Steps:
    """Return eta_w of Theorem 5, and the eta_q that minimises `2 sqrt(m) / eta_q + eta_q sqrt(m) T` [ours]."""
    return Steps(w=2.0 * jnp.sqrt(diameter_sq / (5.0 * horizon)) / lipschitz, q=jnp.sqrt(2.0 / horizon))


def batch_sizes(budgets: tuple[int, ...]) -> tuple[int, ...]:
    """Return the number of rows of each group in a batch of SMPA_m, n_i / n_m rounded down."""
    return tuple(n // min(budgets) for n in budgets)


def budget_weights(budgets: tuple[int, ...]) -> np.ndarray:
    """Return b `[m]` of (45), b_i = (1 / sqrt(n_m) + 1) / (1 / sqrt(n_m) + sqrt(n_m / n_i))."""
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
    """Return the steps of SMPA_m in Theorem 10.

    Args:
      budgets: n_i, number of samples of each group.
      diameter_sq: D^2.
      lipschitz: G.
      smoothness: L, smoothness of the risks.
      regularity: kappa, regularity of the dual norm; 1 for Euclidean norms.
      constant: c, the constant that the theorem does not specify.
    """
    n, b, entropy = np.asarray(budgets, float), budget_weights(budgets), math.log(len(budgets))
    omega = float(np.max(b**2 * n.min() / n))
    curvature = 2.0 * math.sqrt(2.0) * b.max() * diameter_sq * (smoothness + lipschitz * math.sqrt(entropy))
    variance = 2.0 * constant * omega * (regularity * diameter_sq * jnp.square(lipschitz) + entropy**2)
    rate = jnp.minimum(1.0 / (math.sqrt(3.0) * curvature), 2.0 / jnp.sqrt(7.0 * variance * n.min()))
    return Steps(w=2.0 * diameter_sq * rate, q=2.0 * entropy * rate)


class RoundFactors(NamedTuple):
    """Factor of the step sizes in a round, and weight of the round in the averages."""

    step: ArrayLike  # []  multiplies eta_w, eta_q and gamma
    average: ArrayLike  # []  weight of this round in the averages (20), eta_t / (eta_1 + ... + eta_t)


def constant_steps(t: jax.Array) -> RoundFactors:
    """Return the factors for constant steps and unweighted averages in round t >= 0."""
    return RoundFactors(step=1.0, average=1.0 / (t + 1))


def inverse_root_steps(t: jax.Array) -> RoundFactors:
    """Return the factors for steps proportional to 1 / sqrt(t + 1) and for averages that are weighted by the steps."""
    factor = 1.0 / jnp.sqrt(t + 1.0)
    return RoundFactors(step=factor, average=factor / schedule.inverse_roots(t + 1))
