"""Model with an intercept: a coordinate that is always 1 is prepended to contexts or features of arms.

    z = (1, x),   the model's posterior on (z, reward)

The intercept has the same prior as the coefficients.
"""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import PyTree, param, pytree
from jaxbandits.estimation.models.feature_model import FeatureModel
from jaxbandits.estimation.models.protocol import check_model
from jaxbandits.types import ArmDecision, ContextObs, Obs


class InterceptState(NamedTuple):
    """State of the inner model."""

    inner: PyTree


@pytree
class Intercept(FeatureModel):
    """Wrapper that prepends a coordinate 1 to the features that its inner model reads.

    `Intercept(model=PerArm(model=NormalInverseGamma(dim=p + 1), n_arms=K))` is the linear posterior of Riquelme et al.
    (2018).
    """

    has_fixed_start: ClassVar[bool] = True
    model: Any = param(doc="inner model, with dim = p + 1")

    def check(self) -> None:
        """Raise InputError if the inner model has no field `dim`, or if `dim` is less than 2."""
        check_model("Intercept.model", self.model)
        dim = getattr(self.model, "dim", None)
        if dim is None or dim < 2:
            raise InputError(
                f"Intercept.model must have a dim of at least 2, but {type(self.model).__name__} has {dim}"
            )

    @property
    def dim(self) -> int:
        """p, dimension of the context or of the arms."""
        return self.model.dim - 1

    def init(self, key: jax.Array) -> InterceptState:
        return InterceptState(self.model.init(key))

    def init_from_obs(self, state: InterceptState, obs: Obs) -> InterceptState:
        if not hasattr(self.model, "init_from_obs"):
            return state
        return InterceptState(self.model.init_from_obs(state.inner, self.map_obs(state, obs)))

    def update(
        self, key: jax.Array, t: jax.Array, state: InterceptState, obs: Obs, decision: ArmDecision, reward: jax.Array
    ) -> InterceptState:
        if not self.reads_context:
            decision = decision._replace(x=_extend(decision.x))
        return InterceptState(self.model.update(key, t, state.inner, self.map_obs(state, obs), decision, reward))

    def map_obs(self, state: InterceptState, obs: Obs) -> Any:
        del state
        if self.reads_context:
            return ContextObs(_extend(obs.context), obs.arms, obs.mask)
        return type(obs)(_extend(obs.arms), obs.mask)


def _extend(x: jax.Array) -> jax.Array:
    return jnp.concatenate([jnp.ones((*x.shape[:-1], 1), x.dtype), x], axis=-1)
