"""Abstract model of features of contexts or arms: what is asked of it is asked of another model, on the features."""

import abc
from typing import Any

import jax

from jaxbandits.base.pytree import param, pytree
from jaxbandits.types import Obs, State


@pytree
class FeatureModel(abc.ABC):
    """Abstract model whose state has the state of another one as `inner`; it lacks what that one lacks."""

    model: Any = param(doc="model on the features")

    @abc.abstractmethod
    def map_obs(self, state: State, obs: Obs) -> Any:
        """Return the observation that the model inside reads."""

    @property
    def reads_context(self) -> bool:
        """As the model."""
        return self.model.reads_context

    def predict(self, state: State, obs: Obs) -> jax.Array:
        return self.model.predict(state.inner, self.map_obs(state, obs))

    @property
    def width(self) -> Any:
        """As `Model.width`, where the model has one."""
        width = self.model.width
        return lambda state, obs: width(state.inner, self.map_obs(state, obs))

    @property
    def sample(self) -> Any:
        """As `Model.sample`, where the model has one."""
        sample = self.model.sample
        return lambda key, state, obs: sample(key, state.inner, self.map_obs(state, obs))

    @property
    def samples(self) -> Any:
        """As `Model.samples`, where the model has one."""
        samples = self.model.samples
        return lambda key, state, obs, count: samples(key, state.inner, self.map_obs(state, obs), count)

    @property
    def noise(self) -> Any:
        """As `Model.noise`, where the model has one."""
        noise = self.model.noise
        return lambda state: noise(state.inner)

    @property
    def information(self) -> Any:
        """As `Model.information`, where the model has one."""
        information = self.model.information
        return lambda state: information(state.inner)
