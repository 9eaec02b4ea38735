"""Learners and environments in the words of a textbook, plain `jnp`, run at every dimension beside the library's."""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits import OFUL, HeavyTailed, HvtUCB, Meter, compare
from jaxbandits.algorithms.linear.uniform import Uniform
from jaxbandits.base.pytree import ArrayLike, param, pytree, static
from jaxbandits.environments.linear.noise import Gaussian
from jaxbandits.types import ArmDecision, ArmObs, Reward, ScaledReward

DIMS = [3, 2, 12, 13, 40]
ROUNDS, SEEDS, ARMS, NOISE = 60, 5, 9, 0.3
PLAYED = Meter("played", lambda r: r.decision.index, "last")


class RidgeState(NamedTuple):
    design: jax.Array  # [d, d]
    moments: jax.Array  # [d]


@pytree
class TextbookLinUCB:
    """`argmax_k x_k'theta + beta sqrt(x_k' V^{-1} x_k)`, with OFUL's radius for beta."""

    feedback: ClassVar[type] = Reward
    dim: int = static()
    noise_scale: ArrayLike = param(NOISE)
    delta: ArrayLike = param(0.01)

    def init(self, key: jax.Array) -> RidgeState:
        del key
        return RidgeState(self.dim * jnp.eye(self.dim), jnp.zeros(self.dim))

    def select(self, key: jax.Array, t: jax.Array, state: RidgeState, obs: ArmObs) -> ArmDecision:
        del key, t
        inverse = jnp.linalg.inv(state.design)
        theta = inverse @ state.moments
        log_ratio = jnp.linalg.slogdet(state.design)[1] - self.dim * jnp.log(self.dim)
        beta = self.noise_scale * jnp.sqrt(log_ratio - 2.0 * jnp.log(self.delta)) + jnp.sqrt(self.dim)
        index = jnp.argmax(obs.arms @ theta + beta * jnp.sqrt(jnp.sum(obs.arms @ inverse * obs.arms, axis=1)))
        return ArmDecision(index.astype(jnp.int32), obs.arms[index])

    def update(
        self, key: jax.Array, t: jax.Array, state: RidgeState, obs: ArmObs, decision: ArmDecision, feedback: Reward
    ) -> RidgeState:
        del key, t, obs
        x = decision.x
        return RidgeState(state.design + jnp.outer(x, x), state.moments + feedback.reward * x)

    def recommend(self, state: RidgeState) -> jax.Array:
        return jnp.linalg.solve(state.design, state.moments)


@pytree
class TextbookThompson(TextbookLinUCB):
    """Plays the best arm of a parameter drawn from the posterior."""

    def select(self, key: jax.Array, t: jax.Array, state: RidgeState, obs: ArmObs) -> ArmDecision:
        del t
        mean = jnp.linalg.solve(state.design, state.moments)
        root = jnp.linalg.cholesky(jnp.linalg.inv(state.design))
        theta = mean + self.noise_scale * root @ jax.random.normal(key, (self.dim,))
        index = jnp.argmax(jnp.dot(obs.arms, theta))
        return ArmDecision(index.astype(jnp.int32), jnp.take(obs.arms, index, axis=0))


class Textbook(NamedTuple):
    arms: jax.Array  # [K, d]
    theta: jax.Array  # [d]


class Regret(NamedTuple):
    regret: jax.Array


@pytree
class TextbookBandit:
    """Linear bandit with fixed arms and Gaussian noise; one arm in two is shown in odd rounds."""

    dim: int = static()
    spread: ArrayLike = param(NOISE)

    def init(self, key: jax.Array) -> Textbook:
        for_arms, for_theta = jax.random.split(key)
        arms, theta = jax.random.normal(for_arms, (ARMS, self.dim)), jax.random.normal(for_theta, (self.dim,))
        return Textbook(arms / jnp.linalg.norm(arms, axis=1).max(), theta / jnp.linalg.norm(theta))

    def observe(self, key: jax.Array, t: jax.Array, state: Textbook) -> ArmObs:
        del key
        return ArmObs(state.arms, (jnp.arange(ARMS) % 2 == 0) | (t % 2 == 0))

    def step(self, key: jax.Array, t: jax.Array, state: Textbook, obs: ArmObs, decision: ArmDecision) -> Any:
        del t
        means = state.arms @ state.theta
        reward = decision.x @ state.theta + self.spread * jax.random.normal(key)
        regret = jnp.max(jnp.where(obs.mask, means, -jnp.inf)) - means[decision.index]
        return state, ScaledReward(reward, jnp.asarray(self.spread)), Regret(regret)

    def at_record(self, state: Textbook, recommendation: Any) -> dict[str, jax.Array]:
        return {"estimation_error": jnp.linalg.norm(recommendation - state.theta)}


@pytest.mark.slow
@pytest.mark.parametrize("dim", DIMS)
def test_the_textbook_learner_beside_the_library(dim):
    """LinUCB is OFUL in other words: the same plays."""
    env = HeavyTailed(dim=dim, n_arms=ARMS, noise=Gaussian(spread=NOISE))
    learners = {"library": OFUL(dim=dim, noise_scale=NOISE), "LinUCB": TextbookLinUCB(dim=dim)}
    result = compare(learners, env, ROUNDS, SEEDS, record_points=ROUNDS, meters=(PLAYED,))
    np.testing.assert_array_equal(result.get("played", "LinUCB"), result.get("played", "library"))
    for metric, close in (("regret", 1e-12), ("estimation_error", 1e-9)):
        theirs, ours = (result.get(metric, label) for label in ("LinUCB", "library"))
        np.testing.assert_allclose(theirs, ours, rtol=close, atol=close)


@pytest.mark.slow
@pytest.mark.parametrize("dim", DIMS)
def test_thompson_sampling_learns(dim):
    env = HeavyTailed(dim=dim, n_arms=ARMS, noise=Gaussian(spread=NOISE))
    learners = {"Thompson": TextbookThompson(dim=dim), "uniform": Uniform(dim=dim)}
    result = compare(learners, env, ROUNDS, SEEDS, record_points=ROUNDS)
    assert result.final("regret", "Thompson").mean() < 0.8 * result.final("regret", "uniform").mean()


@pytest.mark.slow
@pytest.mark.parametrize("dim", DIMS)
def test_library_learners_on_a_textbook_environment(dim):
    learners = {
        "library": OFUL(dim=dim, noise_scale=NOISE, beta_scale=0.1),
        "Hvt-UCB": HvtUCB.practical(dim=dim, horizon=ROUNDS),
    }
    result = compare(learners, TextbookBandit(dim=dim), ROUNDS, SEEDS, record_points=ROUNDS, meters=(PLAYED,))
    for label in learners:
        played = result.get("played", label)
        assert (played[..., 1::2] % 2 == 0).all()  # the mask
        assert len(np.unique(played)) > 1
        assert np.isfinite(result.get("regret", label)).all() and (result.final("regret", label) > 0.0).all()
        assert (result.final("estimation_error", label) < 1.5).all()
