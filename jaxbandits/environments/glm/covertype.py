"""Covertype as a bandit: an arm is a cluster of forest plots, and pays 1 if a plot drawn from it is of lodgepole pine.

    reward ~ Bernoulli(share_k) for the arm k played,   regret of a round = max_j share_j - share_k

share_k is the share of lodgepole pine (cover type 2, binary label 1) in cluster k. The logistic model is misspecified,
for the real data as well as for the synthetic stand-in: no parameter gives the shares exactly.
"""

import os
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import ArrayLike, pytree, shared, static
from jaxbandits.environments.datasets.covertype import Clusters, clusters, covertype_like, load_covertype
from jaxbandits.environments.outcomes import RegretOutcome
from jaxbandits.numerics import rng
from jaxbandits.types import ArmDecision, ArmObs, FixedArmObs, Reward


@pytree
class Covertype:
    """Bandit whose arms are clusters of a classification data set (experiment on Covertype in arXiv:2507.11847).

    In the paper's setting $K = 60$, $d = 11$ and $T = 1000$, the learners have $S = 6$, $delta = 0.01$ and $kappa =
    200$, and their radii are multiplied by a factor that is not stated (sweep the field `beta_scale` of the learners).
    Construct the environment with `from_file` (the real data), `stand_in` (synthetic data) or `from_clusters` (other
    data). The field `dataset` is the name of the data, so that figures can state whether the data are synthetic.

    Raises (by `validate`):
      InputError: if shapes are inconsistent, or if `dataset` is not a non-empty string.
    """

    source: ClassVar[str] = "UCI Covertype as a bandit, or a synthetic stand-in without the file"
    n_arms: int = static(range="[1, inf)", doc="K, number of clusters")
    dim: int = static(range="[1, inf)", doc="d, number of measurements plus one")
    dataset: str = static(doc='name of the data: "covertype" (the real file), "stand-in" (synthetic), ...')
    arms: ArrayLike = shared(range="[-1, 1]", doc="[K, d] means of the clusters, in the unit ball")
    means: ArrayLike = shared(range="[0, 1]", doc="[K] share of label 1 in each cluster")

    @classmethod
    def from_clusters(cls, made: Clusters) -> "Covertype":
        """Return the environment for the clusters of any data set, whose name in figures is `made.source`."""
        if not isinstance(made, Clusters):
            raise InputError(f"made must be a Clusters(arms, means, sizes, source) object, got {type(made).__name__}")
        n_arms, dim = made.arms.shape
        return cls(n_arms=n_arms, dim=dim, dataset=made.source, arms=made.arms, means=made.means)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], n_arms: int = 60, seed: int = 0) -> "Covertype":
        """Return the environment for `covtype.data` or `covtype.data.gz` of the UCI repository.

        Reading and clustering the file takes about a minute.

        Raises:
          InputError: if the file cannot be read; the message names the line.
        """
        return cls.from_clusters(clusters(load_covertype(path), n_arms, seed))

    @classmethod
    def stand_in(cls, n_arms: int = 60, seed: int = 0, rows: int = 20_000) -> "Covertype":
        """Return the environment for synthetic data of `covertype_like`, with the same shapes and similar means."""
        return cls.from_clusters(clusters(covertype_like(rows, seed), n_arms, seed))

    @classmethod
    def example(cls) -> "Covertype":
        return cls.stand_in(n_arms=5, rows=500)

    def check(self) -> None:
        """Raise `InputError` if shapes are inconsistent, or if `dataset` is not a non-empty string."""
        if not isinstance(self.dataset, str) or not self.dataset:
            raise InputError(f"Covertype.dataset must be the name of the data, got {self.dataset!r}")
        for name, shape in (("arms", (self.n_arms, self.dim)), ("means", (self.n_arms,))):
            value = getattr(self, name)
            if np.shape(value) != shape:
                raise InputError(f"Covertype.{name} must have shape {shape}, got {np.shape(value)}")

    def init(self, key: jax.Array) -> None:
        del key  # all trials have the same instance; only rewards are random

    def observe(self, key: jax.Array, t: jax.Array, state: None) -> ArmObs:
        del key, t, state
        return FixedArmObs(jnp.asarray(self.arms))

    def step(
        self, key: jax.Array, t: jax.Array, state: None, obs: ArmObs, decision: ArmDecision
    ) -> tuple[None, Reward, RegretOutcome]:
        """Return the state, the reward and the regret, which is computed from the means of the clusters."""
        del t, obs
        means = jnp.asarray(self.means)
        mean = means[decision.index]
        reward = rng.bernoulli(key, mean).astype(mean.dtype)
        return state, Reward(reward), RegretOutcome(jnp.max(means) - mean)

    def admits(self, state: None, obs: ArmObs, decision: ArmDecision) -> jax.Array:
        """Return True if the index of the arm is in range."""
        del state, obs
        return (decision.index >= 0) & (decision.index < self.n_arms)

    def best_fit(self, ridge: float = 1e-6, steps: int = 50) -> Any:
        """Return the logistic parameter `[d]` with the smallest cross-entropy, where all clusters have equal weight.

        The norm of this parameter is the smallest suitable bound S, and its residuals measure the misspecification.
        """
        x, y = np.asarray(self.arms, np.float64), np.asarray(self.means, np.float64)
        theta = np.zeros(self.dim)
        for _ in range(steps):
            p = 1.0 / (1.0 + np.exp(-x @ theta))
            hessian = (x * (p * (1.0 - p))[:, None]).T @ x + ridge * np.eye(self.dim)
            step = np.linalg.solve(hessian, x.T @ (p - y) + ridge * theta)
            theta = theta - step / max(1.0, 0.5 * np.linalg.norm(step))
        return theta
