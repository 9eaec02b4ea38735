"""Episodic linear MDP with heavy-tailed rewards, the setting of Wang, Zhang, Zhao & Zhou (ICML 2025), Section 6.1.

    reward_h = phi(s_h, a_h)'theta*_h + eta_h,   s_{h+1} ~ P(. | s_h, a_h),   s_1 = the first state,   h = 1..H
    regret   = V*_1(s_1) - V^pi_1(s_1)           (exact, by backward induction on the mean rewards)

A round is an episode: the learner, to which phi and P are known, plays a policy and observes the visited state-action
pairs with their rewards. Unless they are given, phi(s, a) and theta*_h are drawn from the unit sphere in every trial,
and the rows of P from a Dirichlet distribution.
"""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError, format_value
from jaxbandits.base.pytree import ArrayLike, PyTree, param, pytree, static
from jaxbandits.environments.linear.noise import Noise, StudentT, check_moment, check_noise, draw
from jaxbandits.environments.outcomes import RegretOutcome
from jaxbandits.numerics import planning, rng
from jaxbandits.types import MDPObs, PolicyDecision, Recommendation, ScaledEpisode


class LinearMDPState(NamedTuple):
    """Problem instance of a trial, which does not change over episodes."""

    features: jax.Array  # [nS, nA, d]  phi(s, a)
    transitions: jax.Array  # [nS, nA, nS]  P(. | s, a)
    theta: jax.Array  # [H, d]  theta*_h
    means: jax.Array  # [H, nS, nA]  phi(s, a)'theta*_h
    optimal: jax.Array  # []  V*_1(s_1)
    noise_scale: jax.Array  # []  nu, the moment scale of the noise


@pytree
class LinearMDP:
    """Finite-horizon MDP with known transitions and unknown linear rewards, by default drawn in every trial.

    The feedback consists of the features of the visited pairs, their rewards and nu (`ScaledEpisode`); a learner that
    declares `Episode` does not receive nu.

    Deviations:
      * [ours] The paper discusses heavy-tailed linear MDPs, but has no algorithm, theorem or experiment for them. The
        instances, the known transitions and all sizes are ours.
    """

    source: ClassVar[str] = "ours, after Wang, Zhang, Zhao & Zhou, ICML 2025, Section 6.1"
    n_states: int = static(6, "[1, inf)", "nS, number of states")
    n_actions: int = static(4, "[1, inf)", "nA, number of actions")
    dim: int = static(3, "[1, inf)", "d, dimension of the features")
    steps: int = static(4, "[1, inf)", "H, number of steps of an episode")
    noise: Noise = param(factory=StudentT, doc="distribution of eta")
    eps: ArrayLike = param(0.99, "(0, 1]", "eps; nu is the scale of the moment of order 1 + eps")
    moment_scale: ArrayLike | None = param(
        None, "(0, inf)", "moment scale in the feedback; None for the exact scale of eta"
    )
    concentration: ArrayLike = param(
        0.3, "(0, inf)", "Dirichlet parameter of the rows of P; a small value makes transitions nearly deterministic"
    )
    features: ArrayLike | None = param(
        None, "(-inf, inf)", "[nS, nA, d] fixed phi for all trials; None to draw it in every trial"
    )
    transitions: ArrayLike | None = param(
        None, "(-inf, inf)", "[nS, nA, nS] fixed P for all trials; None to draw it in every trial"
    )
    theta: ArrayLike | None = param(
        None, "(-inf, inf)", "[H, d] fixed theta* for all trials; None to draw it in every trial"
    )

    @classmethod
    def example(cls) -> "LinearMDP":
        return cls(n_states=2, n_actions=2, dim=2, steps=2)

    def check(self) -> None:
        """Raise InputError if fields are inconsistent."""
        pairs = (self.n_states, self.n_actions)
        for name, shape in (
            ("features", (*pairs, self.dim)),
            ("transitions", (*pairs, self.n_states)),
            ("theta", (self.steps, self.dim)),
        ):
            value = getattr(self, name)
            if value is None:
                continue
            if not ranges.is_real(value):
                raise InputError(f"LinearMDP.{name} must be numbers of shape {shape}, got {format_value(value)}")
            array = np.asarray(value, dtype=float)
            if array.shape[-len(shape) :] != shape:
                raise InputError(f"LinearMDP.{name} must have shape {shape}, got {array.shape}")
            if not np.isfinite(array).all():
                raise InputError(f"LinearMDP.{name} must be finite")
            if name == "transitions" and (array.min() < 0.0 or abs(array.sum(axis=-1) - 1.0).max() > 1e-5):
                raise InputError("LinearMDP.transitions must hold distributions: rows >= 0 that sum to 1")
        check_noise(self.noise, "LinearMDP.noise")
        if self.moment_scale is None:
            check_moment(self.noise, self.eps, "LinearMDP.eps", " (or set moment_scale)")

    def init(self, key: jax.Array) -> LinearMDPState:
        for_features, for_transitions, for_theta = jax.random.split(key, 3)
        pairs, dtype = (self.n_states, self.n_actions), jnp.result_type(float)
        features = _given_or(
            self.features,
            lambda: rng.unit_vectors(for_features, self.n_states * self.n_actions, self.dim).reshape(*pairs, self.dim),
        )
        theta = _given_or(self.theta, lambda: rng.unit_vectors(for_theta, self.steps, self.dim))
        parameter = jnp.full(self.n_states, self.concentration, dtype)
        transitions = _given_or(self.transitions, lambda: jax.random.dirichlet(for_transitions, parameter, pairs))
        means = jnp.einsum("sad,hd->hsa", features, theta)
        scale = self.noise.scale(self.eps) if self.moment_scale is None else self.moment_scale
        return LinearMDPState(
            features=features,
            transitions=transitions,
            theta=theta,
            means=means,
            optimal=planning.backward_induction(means, transitions).values[0, 0],
            noise_scale=jnp.asarray(scale, dtype),
        )

    def observe(self, key: jax.Array, t: jax.Array, state: LinearMDPState) -> MDPObs:
        del key, t
        return MDPObs(state.features, state.transitions)

    def step(
        self, key: jax.Array, t: jax.Array, state: LinearMDPState, obs: MDPObs, decision: PolicyDecision
    ) -> tuple[LinearMDPState, ScaledEpisode, RegretOutcome]:
        del t, obs

        def move(place: jax.Array, row: PyTree) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
            h, actions, means = row
            for_step, pair = jax.random.fold_in(key, h), (place, actions[place])
            reward = means[pair] + draw(self.noise, for_step)
            following = rng.categorical(for_step, state.transitions[pair], counter=1)  # the noise uses counter 0
            return following, (state.features[pair], reward)

        rows = (jnp.arange(self.steps, dtype=jnp.int32), decision.actions, state.means)
        unroll = min(self.steps, planning.UNROLL)
        features, rewards = lax.scan(move, jnp.zeros((), jnp.int32), rows, unroll=unroll)[1]
        value = planning.policy_values(decision.actions, state.means, state.transitions)[0, 0]
        feedback = ScaledEpisode(features=features, rewards=rewards, noise_scale=state.noise_scale)
        return state, feedback, RegretOutcome(regret=state.optimal - value)

    def at_record(self, state: LinearMDPState, recommendation: Recommendation) -> dict[str, jax.Array]:
        """Return `estimation_error`, the Frobenius distance between the recommended parameters `[H, d]` and theta*."""
        if recommendation is None or jnp.shape(recommendation) != state.theta.shape:  # it may be a policy
            return {}
        return {"estimation_error": jnp.linalg.norm(recommendation - state.theta)}


def _given_or(value: ArrayLike | None, draw: Any) -> jax.Array:
    return draw() if value is None else jnp.asarray(value, jnp.result_type(float))
