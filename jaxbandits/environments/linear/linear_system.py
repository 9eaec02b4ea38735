"""Identification of a linear system with heavy-tailed disturbances (Wang et al., ICML 2025, Section 6.2).

    x_{t+1} = A x_t + B u_t + w_{t+1} = Theta*' z_t + w_{t+1},   z = [x; u],   Theta* = [A'; B'],   x_1 = 0
    u_t     = input_scale v_t,   v_t white standard normal                           (no control policy)
    excess_loss_t = ||predicted - Theta*' z_t||^2                                    (computed from the mean of x_{t+1})

The learner observes $z_t$, predicts $x_{t+1}$, and then receives $x_{t+1}$ and the moment scale of every coordinate of
w. States are unbounded, so no bound on $||z||$ that a learner assumes is certain to hold. There are n states and m
inputs, and $p = n + m$.
"""

import functools
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base import ranges, trees
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import ArrayLike, param, pytree
from jaxbandits.environments.linear.noise import Noise, StudentT, check_moment, check_noise, draw
from jaxbandits.numerics import rng
from jaxbandits.types import Prediction, Recommendation, ScaledNextState, SystemObs

_A = ((0.8, 0.2), (0.0, 0.7))
_B = ((0.0,), (0.5,))


class LinearSystemState(NamedTuple):
    """State of the linear system, and its constants."""

    state: jax.Array  # [n]  x_t
    rows: jax.Array  # [n, p]  Theta*' = [A B]
    noise_scale: jax.Array  # [n]  moment scale of every coordinate of w


class ExcessOutcome(NamedTuple):
    """Excess loss of a round, which the run sums."""

    excess_loss: jax.Array  # []


@pytree
class LinearSystem:
    """Linear system, the same in all trials, driven by white input and by noise that may have infinite variance.

    The default is a stable system with two states and one input. The feedback is the next state and the moment scales
    (`ScaledNextState`); a learner that declares `NextState` does not receive the scales.

    Deviations:
      * [ours] The paper discusses identification, but has no algorithm, theorem or experiment for it. Only Theta* is
        from the paper, which prints it as [A; B] without the transposes.
    """

    source: ClassVar[str] = "ours, after Wang, Zhang, Zhao & Zhou, ICML 2025, Section 6.2"
    A: ArrayLike | None = param(None, "(-inf, inf)", "[n, n] state matrix A; None for [[0.8, 0.2], [0, 0.7]]")
    B: ArrayLike | None = param(None, "(-inf, inf)", "[n, m] input matrix B; None for [[0], [0.5]]")
    input_scale: ArrayLike = param(1.0, "[0, inf)", "standard deviation of every input")
    noise: Noise = param(
        factory=lambda: StudentT(spread=0.3), doc="distribution of a coordinate of w, divided by its factor"
    )
    noise_factors: ArrayLike | None = param(None, "[0, inf)", "[n] factors of the coordinates of w; None for 1")
    eps: ArrayLike = param(0.99, "(0, 1]", "eps; moment scales are of order 1 + eps")
    moment_scale: ArrayLike | None = param(None, "(0, inf)", "moment scale in the feedback; None for the exact scale")

    @classmethod
    def example(cls) -> "LinearSystem":
        return cls()

    def check(self) -> None:
        """Raise InputError if fields are inconsistent."""
        shapes = {"A": np.shape(_A if self.A is None else self.A), "B": np.shape(_B if self.B is None else self.B)}
        n_states = shapes["A"][-1] if len(shapes["A"]) >= 2 else -1
        if len(shapes["A"]) < 2 or shapes["A"][-2] != n_states or n_states == 0:
            raise InputError(f"LinearSystem.A must be square, got shape {shapes['A']}")
        if len(shapes["B"]) < 2 or shapes["B"][-2] != n_states:
            raise InputError(f"LinearSystem.B must have shape ({n_states}, m), got {shapes['B']}")
        for name in ("A", "B"):
            value = getattr(self, name)
            if value is not None and not (ranges.is_real(value) and np.isfinite(np.asarray(value, dtype=float)).all()):
                raise InputError(f"LinearSystem.{name} must contain only finite numbers")
        if self.noise_factors is not None and np.shape(self.noise_factors)[-1:] != (n_states,):
            got = np.shape(self.noise_factors)
            raise InputError(f"LinearSystem.noise_factors must have shape ({n_states},), got {got}")
        check_noise(self.noise, "LinearSystem.noise")
        if self.moment_scale is None:
            check_moment(self.noise, self.eps, "LinearSystem.eps", " (or set moment_scale)")

    def init(self, key: jax.Array) -> LinearSystemState:
        del key  # all trials have the same system, which starts at the origin
        dtype = jnp.result_type(float)
        a, b = (jnp.asarray(x, dtype) for x in (_A if self.A is None else self.A, _B if self.B is None else self.B))
        scale = self.noise.scale(self.eps) if self.moment_scale is None else self.moment_scale
        return LinearSystemState(
            state=jnp.zeros(len(a)),
            rows=jnp.concatenate([a, b], axis=1),
            noise_scale=jnp.asarray(scale, dtype) * self._factors(len(a)),
        )

    def observe(self, key: jax.Array, t: jax.Array, state: LinearSystemState) -> SystemObs:
        del t
        n_inputs = state.rows.shape[1] - len(state.state)
        inputs = self.input_scale * trees.row(rng.normals(key, 1, n_inputs), 0)
        return SystemObs(jnp.concatenate([state.state, inputs]))

    def step(
        self, key: jax.Array, t: jax.Array, state: LinearSystemState, obs: SystemObs, decision: Prediction
    ) -> tuple[LinearSystemState, ScaledNextState, ExcessOutcome]:
        del t
        n_states = len(state.state)
        noise = jax.vmap(functools.partial(draw, self.noise))(jax.random.split(key, n_states)) * self._factors(n_states)
        mean = state.rows @ obs.regressor
        following = mean + noise
        error = decision.next_state - mean
        excess = error @ error
        return state._replace(state=following), ScaledNextState(following, state.noise_scale), ExcessOutcome(excess)

    def at_record(self, state: LinearSystemState, recommendation: Recommendation) -> dict[str, jax.Array]:
        """Return `estimation_error`, the Frobenius distance between the recommended matrix `[p, n]` and Theta*."""
        if recommendation is None or jnp.shape(recommendation) != state.rows.T.shape:
            return {}
        return {"estimation_error": jnp.linalg.norm(recommendation.T - state.rows)}

    def _factors(self, n_states: int) -> jax.Array:
        factors = 1.0 if self.noise_factors is None else self.noise_factors
        return jnp.broadcast_to(jnp.asarray(factors, jnp.result_type(float)), (n_states,))
