"""Ensembles: M copies of a model with perturbed rewards or resampled data (Lu & Van Roy, NIPS 2017).

    member j   learns from reward + sigma z_j, in each round with probability p
    f_k        mean of the members' predictions,   w_k their standard deviation
    sample     the predictions of one member, drawn uniformly

If sigma is the standard deviation of the noise, p = 1, and every member starts from a draw from the prior, then the
parameters of a member of a linear model have the posterior distribution. This is ensemble sampling, which approaches
Thompson sampling as M grows. With sigma = 0 and p < 1 it is the online bootstrap, for models that store no rounds. The
cost is M times that of the model.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base import trees
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import ArrayLike, param, pytree, static
from jaxbandits.estimation import arm_models
from jaxbandits.estimation.models.protocol import find_full_history_model, has_fixed_start
from jaxbandits.estimation.models.wrapper import Wrapper
from jaxbandits.numerics import rng
from jaxbandits.tracing.vmap_last import vmap_last
from jaxbandits.types import ArmDecision, Obs


class EnsembleState(NamedTuple):
    """States of the members."""

    members: Any  # state of the inner model, with leaves [..., M]


@pytree
class Ensemble(Wrapper):
    """Ensemble of copies of any model, for ensemble sampling and the bootstrap.

    Deviations:
      * [ours] A member starts from a draw from the prior if the model has `draw_prior`; otherwise from an independent
        random initialisation of the model.

    References:
      Xiuyuan Lu, Benjamin Van Roy. Ensemble Sampling. NIPS 2017.
      Ian Osband, Charles Blundell, Alexander Pritzel, Benjamin Van Roy. Deep Exploration via Bootstrapped DQN. NIPS
      2016.
    """

    n_members: int = static(10, "[1, inf)", "M, number of members")
    perturbation: ArrayLike = param(0.0, "[0, inf)", "sigma, standard deviation of the noise added to rewards")
    share: ArrayLike = param(
        1.0, "(0, 1]", "p, probability with which a member learns from a round; 1 if the model stores rounds"
    )

    @classmethod
    def bootstrap(cls, *, model: Any, n_members: int = 3, share: ArrayLike = 0.95) -> "Ensemble":
        """Return the bootstrap of Riquelme et al. (ICLR 2018): three members, each trained on 95 % of the rounds."""
        return cls(model=model, n_members=n_members, share=share)

    @property
    def capacity(self) -> int:
        """Number of rounds that the model stores, if it has a history."""
        return self.model.capacity

    @property
    def min_width(self) -> int | None:
        """Smallest number of trials per batch for which the model is fast; None if the model does not say."""
        return getattr(self.model, "min_width", None)

    def check(self) -> None:
        """Raise InputError for a value that is not a model, or if members must differ but cannot, or the reverse.

        Without noise and with p = 1, members of a model without random start are equal. If a model needs every round,
        p must be 1.
        """
        super().check()
        no_random_start = not hasattr(self.model, "draw_prior") and has_fixed_start(self.model)
        if no_random_start and ((np.asarray(self.perturbation) == 0.0) & (np.asarray(self.share) == 1.0)).any():
            raise InputError(
                f"the members of an Ensemble of {type(self.model).__name__} are equal in every round, since all start "
                "from one state: set perturbation above 0 or share below 1"
            )
        inner = find_full_history_model(self.model)
        if inner is not None and (np.asarray(self.share) < 1.0).any():
            raise InputError(
                "Ensemble.share must be 1 for a model that must learn from every round because it stores rounds or "
                f"learns in epochs, such as {type(inner).__name__}"
            )

    def init(self, key: jax.Array) -> EnsembleState:
        return self._stack([self._first(k) for k in jax.random.split(key, self.n_members)])

    def _first(self, key: jax.Array) -> Any:
        init_key, prior_key = jax.random.split(key)
        state = self.model.init(init_key)
        return self.model.draw_prior(prior_key, state) if hasattr(self.model, "draw_prior") else state

    def init_from_obs(self, state: EnsembleState, obs: Obs) -> EnsembleState:
        if not hasattr(self.model, "init_from_obs"):
            return state
        members = [arm_models.of_arm(state.members, jnp.int32(j)) for j in range(self.n_members)]
        return self._stack([self.model.init_from_obs(member, obs) for member in members])

    def predict(self, state: EnsembleState, obs: Obs) -> jax.Array:
        return jnp.mean(self._predictions(state, obs), axis=1)

    def width(self, state: EnsembleState, obs: Obs) -> jax.Array:
        return jnp.std(self._predictions(state, obs), axis=1)

    def sample(self, key: jax.Array, state: EnsembleState, obs: Obs) -> jax.Array:
        member = arm_models.of_arm(state.members, rng.randint(key, self.n_members))
        return self.model.predict(member, obs)

    def samples(self, key: jax.Array, state: EnsembleState, obs: Obs, count: int) -> jax.Array:
        return self._predictions(state, obs)[:, rng.randints(key, self.n_members, count)].T

    def update(
        self, key: jax.Array, t: jax.Array, state: EnsembleState, obs: Obs, decision: ArmDecision, reward: jax.Array
    ) -> EnsembleState:
        model_key, normal_key, coin_key = jax.random.split(key, 3)
        keys = jax.random.split(model_key, self.n_members)  # with one key for all, members would converge to each other
        noise = rng.normal_vector(normal_key, self.n_members)
        heads = rng.uniforms(coin_key, self.n_members) < self.share

        def learn(member: Any, member_key: jax.Array, z: jax.Array, learns: jax.Array) -> Any:
            after = self.model.update(member_key, t, member, obs, decision, reward + self.perturbation * z)
            return trees.where(learns, after, member)

        return EnsembleState(vmap_last(learn)(state.members, keys, noise, heads))

    def _predictions(self, state: EnsembleState, obs: Obs) -> jax.Array:
        """Return the predictions `[K, M]` of all members."""
        return vmap_last(lambda member: self.model.predict(member, obs))(state.members)

    def _stack(self, members: list[Any]) -> EnsembleState:
        return EnsembleState(jax.tree.map(lambda *leaves: jnp.stack(leaves, axis=-1), *members))
