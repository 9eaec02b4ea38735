"""Abstract learners for generalised linear bandits, with common fields, presets and confidence sets."""

import abc
from typing import ClassVar, Self

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.glm.multipliers import MULTIPLIERS
from jaxbandits.base.pytree import ArrayLike, FieldValue, PyTree, param, pytree, static
from jaxbandits.estimation import level_set
from jaxbandits.estimation.arms import check_count, choose_best, optimistic_arm
from jaxbandits.estimation.level_set import Maximisers, OptimisticDecision
from jaxbandits.estimation.likelihood import Data, Likelihood
from jaxbandits.numerics import inverse_factors
from jaxbandits.numerics.linalg import Vector
from jaxbandits.types import ArmDecision, ArmObs, Reward, State


@pytree
class ArmLearner(abc.ABC):
    """Abstract learner that plays arms and estimates theta* in a ball; the state has the estimate `theta`."""

    feedback: ClassVar[type] = Reward
    environments: ClassVar[tuple[str, ...]] = ("glm/generalized_linear",)
    dim: int = static(range="[1, inf)", doc="d, dimension of the arms")
    norm_bound: ArrayLike = param(1.0, "(0, inf)", "S, bound on ||theta*||")
    delta: ArrayLike = param(0.05, "(0, 1]", "delta, failure probability")

    @classmethod
    @abc.abstractmethod
    def theory(cls, *, dim: int, **changes: FieldValue) -> Self:
        """Use the constants for which the theory of the method holds."""

    @classmethod
    def practical(cls, *, dim: int, **changes: FieldValue) -> Self:
        """Use the constants of the theory times tuned multipliers (`jaxbandits tune glm`)."""
        name = cls.__module__.rpartition(".")[2]  # as in the registry
        return cls.theory(**{"dim": dim, **MULTIPLIERS[name]} | changes)

    def recommend(self, state: State) -> Vector:
        """Return the estimate `[d]` of theta*."""
        return state.theta


@pytree
class EllipsoidLearner(ArmLearner):
    """Abstract learner with confidence ellipsoids around `theta`; the state has their inverse matrix as `inverse`."""

    ridge: ArrayLike | None = param(None, "(0, inf)", "lambda, ridge parameter; None: d")

    @abc.abstractmethod
    def radius(self, t: jax.Array, state: State) -> jax.Array:
        """Return the confidence radius `[]` before round t >= 0, times the multiplier of the learner."""

    def select(self, key: jax.Array, t: jax.Array, state: State, obs: ArmObs) -> ArmDecision:
        del key
        radius = self.radius(t, state)  # mu is increasing, so that it does not change the order of the scores
        return optimistic_arm(obs.arms, obs.mask, state.theta, state.inverse, radius)

    def error_ratio(self, t: jax.Array, state: State, theta: Vector) -> jax.Array:
        """Return the ratio `[]` of the distance between the estimate and `theta` to the radius, before round t.

        The ratio is at most 1 if and only if the confidence set contains `theta`.
        """
        norm_sq = inverse_factors.norm_sq(state.inverse, state.theta - theta)
        return jnp.sqrt(norm_sq) / self.radius(t, state)

    @property
    def lam(self) -> ArrayLike:
        """Ridge parameter lambda: the field `ridge`, or d if it is None."""
        return float(self.dim) if self.ridge is None else self.ridge


@pytree
class LevelSetLearner(ArmLearner):
    """Abstract learner whose confidence sets are level sets of a likelihood, possibly intersected with a ball.

    The state has the fields `data` (the past rounds), `theta` (the minimiser) and `guess` (the maximisers of the last
    round).
    """

    n_arms: int | None = static(None, "[1, inf)", "K, number of arms, if the arms are fixed; None: the arms change")
    capacity: int | None = static(
        None, "[1, inf)", "number of rounds that the history holds, at least T; given only if the arms change"
    )

    @abc.abstractmethod
    def radius(self, t: jax.Array, state: State) -> jax.Array:
        """Return the square root `[]` of the level before round t >= 0, times the multiplier of the learner."""

    @property
    @abc.abstractmethod
    def ball(self) -> ArrayLike | None:
        """Radius of the ball with which the level sets are intersected; None: no ball."""

    @abc.abstractmethod
    def loss(self, data: Data, count: ArrayLike, origin: Vector) -> Likelihood:
        """Return the loss of the first `count` rounds, minus its value at `origin`."""

    def first_guess(self) -> PyTree:
        """Return the maximisers before the first round, or None if the arms change."""
        return None if self.n_arms is None else level_set.nowhere(self.n_arms, self.dim)

    def select(self, key: jax.Array, t: jax.Array, state: State, obs: ArmObs) -> OptimisticDecision:
        del key
        values, maximisers = self.optimistic_values(t, state, obs)
        best = choose_best(obs.arms, obs.mask, values)
        return OptimisticDecision(index=best.index, x=best.x, maximisers=maximisers)

    def error_ratio(self, t: jax.Array, state: State, theta: Vector) -> jax.Array:
        """Return `sqrt(L(theta) - L(thhat_t)) / radius` `[]` before round t; it is <= 1 if the set contains `theta`."""
        excess = self.loss(state.data, t, state.theta)(theta).value
        return jnp.sqrt(jnp.maximum(excess, 0.0)) / self.radius(t, state)

    def optimistic_values(self, t: jax.Array, state: State, obs: ArmObs) -> tuple[jax.Array, Maximisers]:
        """Return, for every arm x, the largest `x'theta` over the confidence set, `[K]`, and the maximisers theta."""
        if self.n_arms is not None:
            check_count(obs.arms, self.n_arms)
        slack = jnp.square(self.radius(t, state))
        # With delta = 1 the level may be 0 before the first reward; any positive level works then, since L = 0.
        slack = jnp.maximum(slack, jnp.finfo(slack.dtype).eps)
        loss = self.loss(state.data, t, state.theta)
        return level_set.maximise(loss, state.theta, slack, obs.arms, self.ball, state.guess)
