"""Anytime CA-OONS: CA-OONS restarted in epochs of doubling length (Wang, Barik, Zhao & Tan, NeurIPS 2025, Remark 4.4).

Epoch $k = 1$, 2, ... consists of the rounds $2^(k-1) <= t < 2^k$, counted from 1. In epoch k, CA-OONS has N_k = max(1,
k - 1) base learners and the horizon $T_k$ = $2^(k-1)$. One compiled program serves all epochs: the state holds
`learner.n_base` base learners, of which only the first $N_k$ have positive weight. The restart is a branch on the round
number, which all trials share, so that it costs nothing in other rounds.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
from jax import lax

from jaxbandits.algorithms.oco.ca_oons import CAOONS, CAOONSState
from jaxbandits.algorithms.oco.constants import scaled_constants
from jaxbandits.algorithms.oco.multipliers import MULTIPLIERS
from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError, format_value
from jaxbandits.base.pytree import Fields, FieldValue, param, pytree
from jaxbandits.types import FullInformation, Gradient, Obs, PointDecision


@pytree
class AnytimeCAOONS:
    """CA-OONS for an unknown horizon.

    Guarantee: the bound of CA-OONS holds with an additional factor log T (Remark 4.4), since the bounds of the epochs
      add up.
    Deviations:
      * [reconstructed] $N_1 = 0$ is read as 1.
      * [ours] The state has a fixed size. From round 2^(n_base + 1) on, every epoch has `n_base` base learners, fewer
        than $N_k$, and the horizon 2^n_base, and the guarantee requires $||u||$ <= 2^n_base. The field
        `learner.horizon` is not used.
    References: S. Wang, A. Barik, P. Zhao, V. Y. F. Tan, "Parameter-free Algorithms for the Stochastically Extended
      Adversarial Model", NeurIPS 2025, arXiv:2510.04685, Remark 4.4 and Algorithm 2.
    """

    source: ClassVar[str] = "Wang, Barik, Zhao & Tan, NeurIPS 2025, Remark 4.4"
    environments: ClassVar[tuple[str, ...]] = ("oco/linear_losses",)
    learner: CAOONS = param(doc="learner that is restarted in every epoch; its n_base is the largest N_k")

    @classmethod
    def theory(cls, *, dim: int, horizon: int, **changes: FieldValue) -> "AnytimeCAOONS":
        """Use the largest N_k of the first `horizon` rounds as `n_base`; `changes` are fields of the learner."""
        n_base = max(1, ranges.integer("horizon", horizon, "[1, 1e30]").bit_length() - 1)
        fields: Fields = {"dim": dim, "n_base": n_base} | changes
        return cls(learner=CAOONS(**fields))

    @classmethod
    def practical(cls, *, dim: int, horizon: int, **changes: FieldValue) -> "AnytimeCAOONS":
        """Use the small constants of `CAOONS.practical` (ours), without a guarantee."""
        constants = {"c_eta": 1.0, "c_A": 0.25, "c_corr": 0.5, "c_meta": 1.0}
        return cls.theory(dim=dim, horizon=horizon, **constants | changes)

    @classmethod
    def tuned(cls, *, dim: int, horizon: int, **changes: FieldValue) -> "AnytimeCAOONS":
        """Use the constants of `CAOONS.tuned`, without a guarantee."""
        return cls.theory(dim=dim, horizon=horizon, **scaled_constants(CAOONS, MULTIPLIERS["ca_oons"]) | changes)

    @classmethod
    def example(cls) -> "AnytimeCAOONS":
        return cls.theory(dim=2, horizon=16)

    def check(self) -> None:
        if not isinstance(self.learner, CAOONS):
            raise InputError(f"AnytimeCAOONS.learner must be a CAOONS(...), got {format_value(self.learner)}")

    @property
    def feedback(self) -> type:
        """Feedback type of the learner that is restarted."""
        return self.learner.feedback

    def init(self, key: jax.Array) -> CAOONSState:
        del key  # deterministic
        return self._epoch(jnp.int32(1))

    def select(self, key: jax.Array, t: jax.Array, state: CAOONSState, obs: Obs) -> PointDecision:
        return self.learner.select(key, t, state, obs)

    def update(
        self,
        key: jax.Array,
        t: jax.Array,
        state: CAOONSState,
        obs: Obs,
        decision: PointDecision,
        feedback: Gradient | FullInformation,
    ) -> CAOONSState:
        state = self.learner.update(key, t, state, obs, decision, feedback)
        next_round = jnp.asarray(t + 2, jnp.int32)  # counted from 1
        starts_epoch = (next_round & (next_round - 1)) == 0
        return lax.cond(starts_epoch, lambda: self._epoch(next_round), lambda: state)

    def _epoch(self, length: jax.Array) -> CAOONSState:
        """Return the first state of epoch k, which has `length` = 2^(k-1) rounds."""
        n_base = 31 - lax.clz(length)  # k - 1
        largest = jnp.int32(self.learner.n_base)
        horizon = jnp.ldexp(jnp.ones(()), jnp.minimum(n_base, largest))
        return self.learner.start(horizon, jnp.clip(n_base, 1, largest))
