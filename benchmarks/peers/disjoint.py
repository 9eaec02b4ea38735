"""Disjoint LinUCB and linear contexts as a user of jaxbandits writes them: a learner and an environment of one's own.

    play   argmax_k  x' A_k^{-1} b_k + alpha sqrt(x' A_k^{-1} x),   A_k = I + sum x x',   b_k = sum reward x

(Li, Chu, Langford & Schapire, WWW 2010, Algorithm 1) with one context x for all arms.
"""

from typing import Any, ClassVar, NamedTuple

import jax.numpy as jnp

from jaxbandits import ArmDecision, Reward, param, pytree, rng, shared, static
from jaxbandits.types import ContextObs


class Models(NamedTuple):
    """Ridge regression of each arm."""

    inverse: Any  # [K, d, d]  A_k^{-1}
    moment: Any  # [K, d]  b_k


class Charged(NamedTuple):
    """Outcome of a round."""

    regret: Any  # []


@pytree
class DisjointLinUCB:
    """Linear UCB with a parameter for each arm, ridge 1."""

    feedback: ClassVar[type] = Reward
    reads_context: ClassVar[bool] = True
    n_arms: int = static(range="[1, inf)", doc="K, number of arms")
    dim: int = static(range="[1, inf)", doc="d, dimension of the context")
    alpha: Any = param(1.0, "[0, inf)", "width of the confidence intervals")

    def init(self, key):
        eye = jnp.broadcast_to(jnp.eye(self.dim), (self.n_arms, self.dim, self.dim))
        return Models(eye, jnp.zeros((self.n_arms, self.dim)))

    def select(self, key, t, state, obs):
        x = obs.context
        weighted = jnp.einsum("kij,j->ki", state.inverse, x)
        means = jnp.sum(weighted * state.moment, axis=1)
        scores = means + self.alpha * jnp.sqrt(jnp.maximum(weighted @ x, 0.0))
        index = jnp.argmax(scores)
        return ArmDecision(index, obs.arms[index])

    def update(self, key, t, state, obs, decision, feedback):
        x, k = obs.context, decision.index
        inverse = state.inverse[k]
        u = inverse @ x
        inverse = inverse - jnp.outer(u, u) / (1.0 + x @ u)
        return Models(state.inverse.at[k].set(inverse), state.moment.at[k].add(feedback.reward * x))


@pytree
class LinearContexts:
    """Contexts N(0, scale^2 I), means theta_k' x, Gaussian noise."""

    theta: Any = shared(range="(-inf, inf)", doc="[K, d] parameter of each arm")
    scale: Any = param(1.0, "(0, inf)", "standard deviation of a component of the context")
    noise: Any = param(1.0, "[0, inf)", "standard deviation of the noise")

    def init(self, key):
        return None

    def observe(self, key, t, state):
        n_arms, dim = self.theta.shape
        return ContextObs.of(self.scale * rng.normal_vector(key, dim), n_arms)

    def step(self, key, t, state, obs, decision):
        means = self.theta @ obs.context
        reward = means[decision.index] + self.noise * rng.normal_vector(key, 1)[0]
        return state, Reward(reward), Charged(jnp.max(means) - means[decision.index])
