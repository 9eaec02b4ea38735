"""K independent copies of a model, one per arm, which all read the same context.

    f_k(x) = f(x; state_k),   state_k is updated in the rounds in which arm k is played

The prior is the same for all arms. A prediction costs K times as much as that of a single copy; an update costs as much
as that of a single copy.
"""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import param, pytree, static
from jaxbandits.estimation import arm_models
from jaxbandits.estimation.models.protocol import check_model, find_fixed_arms_model, find_full_history_model
from jaxbandits.tracing.vmap_last import vmap_last
from jaxbandits.types import ArmDecision, ArmObs, ContextObs, State


@pytree
class PerArm:
    """K copies of a model, one per arm, on a shared context.

    `PerArm(model=NormalInverseGamma(dim=p), n_arms=K)` is the posterior of Riquelme et al. (2018) without an intercept.
    """

    reads_context: ClassVar[bool] = True
    has_fixed_start: ClassVar[bool] = True
    model: Any = param(doc="inner model, which reads features of arms, with dim = p")
    n_arms: int = static(range="[1, inf)", doc="K, number of arms")

    def check(self) -> None:
        """Raise InputError for a model that reads a context, is for fixed arms, or must learn from every round."""
        check_model("PerArm.model", self.model)
        if self.model.reads_context:
            raise InputError(
                f"PerArm.model must read features of arms, but {type(self.model).__name__} reads a context"
            )
        inner = find_fixed_arms_model(self.model)
        if inner is not None:
            raise InputError(
                f"PerArm.model must not need arms that never change, but {type(inner).__name__} does: for the context, "
                "RandomFeatures(model=Linear(...)) approximates a Gaussian process"
            )
        inner = find_full_history_model(self.model)
        if inner is not None:
            raise InputError(
                "PerArm.model must not store rounds or learn in epochs, but "
                f"{type(inner).__name__} does: the copy of an arm learns only from the rounds of this arm. Use a "
                "network with n_arms instead, which has one output per arm"
            )

    @property
    def dim(self) -> int:
        """p, dimension of the context."""
        return self.model.dim

    def init(self, key: jax.Array) -> State:
        states = [self.model.init(k) for k in jax.random.split(key, self.n_arms)]
        return jax.tree.map(lambda *leaves: jnp.stack(leaves, axis=-1), *states)

    def predict(self, state: State, obs: ContextObs) -> jax.Array:
        return self._of_arms(self.model.predict)(state, obs.context)

    @property
    def width(self) -> Any:
        """Widths `[K]` from the method `width` of the inner model, if it has this method."""
        width = self.model.width
        return lambda state, obs: self._of_arms(width)(state, obs.context)

    @property
    def sample(self) -> Any:
        """Draws `[K]` from the method `sample` of the inner model, if it has this method; arms are independent."""
        sample = self.model.sample

        def draw(key: jax.Array, state: State, obs: ContextObs) -> jax.Array:
            keys = jax.random.split(key, self.n_arms)
            return jax.vmap(lambda k, copy: sample(k, copy, _show(obs.context))[0], (0, -1))(keys, state)

        return draw

    @property
    def noise(self) -> Any:
        """Noise scales `[K]` from the method `noise` of the inner model, if it has this method."""
        noise = self.model.noise
        return lambda state: vmap_last(noise)(state)

    @property
    def information(self) -> Any:
        """Information gains `[K]` from the method `information` of the inner model, if it has this method."""
        information = self.model.information
        return lambda state: vmap_last(information)(state)

    @property
    def draw_prior(self) -> Any:
        """First states from the method `draw_prior` of the inner model, if it has this method; arms are independent."""
        draw_prior = self.model.draw_prior

        def draw(key: jax.Array, state: State) -> State:
            return jax.vmap(draw_prior, (0, -1), -1)(jax.random.split(key, self.n_arms), state)

        return draw

    @property
    def fit(self) -> Any:
        """The method `fit` of the inner model, mapped over arms, if the inner model has this method."""
        return vmap_last(self.model.fit)

    @property
    def coefficients(self) -> Any:
        """The method `coefficients` of the inner model, mapped over arms to `[d, K]`, if the inner model has it."""
        return vmap_last(self.model.coefficients)

    @property
    def fit_noise(self) -> Any:
        """The method `fit_noise` of the inner model, mapped over arms, if the inner model has this method."""
        return vmap_last(self.model.fit_noise)

    def update(
        self, key: jax.Array, t: jax.Array, state: State, obs: ContextObs, decision: ArmDecision, reward: jax.Array
    ) -> Any:
        copy = arm_models.of_arm(state, decision.index)
        alone = ArmDecision(jnp.int32(0), obs.context)
        copy = self.model.update(key, t, copy, _show(obs.context), alone, reward)
        return arm_models.replace(state, decision.index, copy)

    def _of_arms(self, method: Any) -> Any:
        return vmap_last(lambda state, context: method(state, _show(context))[0], (-1, None))


def _show(context: jax.Array) -> ArmObs:
    return ArmObs(context[None])
