"""Abstract model that maps contexts or arms to features and delegates to an inner model of these features."""

import abc
from typing import Any

import jax

from jaxbandits.base.pytree import param, pytree
from jaxbandits.types import Obs, State


@pytree
class FeatureModel(abc.ABC):
    """Abstract model with the methods `width`, `sample`, `samples`, `noise`, `information` and `draw_prior`.

    It has each of these methods only if its inner model has it. The field `inner` of the state is the state of the
    inner model.
    """

    model: Any = param(doc="inner model, which reads the features")

    @abc.abstractmethod
    def map_obs(self, state: State, obs: Obs) -> Any:
        """Return the observation that the inner model reads."""

    @property
    def reads_context(self) -> bool:
        """True if the inner model reads a context."""
        return self.model.reads_context

    @property
    def n_arms(self) -> int | None:
        """K, number of arms, if the inner model has this field."""
        return self.model.n_arms

    def predict(self, state: State, obs: Obs) -> jax.Array:
        return self.model.predict(state.inner, self.map_obs(state, obs))

    @property
    def width(self) -> Any:
        """The method `width` of the inner model on the mapped observation, if the inner model has this method."""
        width = self.model.width
        return lambda state, obs: width(state.inner, self.map_obs(state, obs))

    @property
    def sample(self) -> Any:
        """The method `sample` of the inner model on the mapped observation, if the inner model has this method."""
        sample = self.model.sample
        return lambda key, state, obs: sample(key, state.inner, self.map_obs(state, obs))

    @property
    def samples(self) -> Any:
        """The method `samples` of the inner model on the mapped observation, if the inner model has this method."""
        samples = self.model.samples
        return lambda key, state, obs, count: samples(key, state.inner, self.map_obs(state, obs), count)

    @property
    def noise(self) -> Any:
        """The method `noise` of the inner model, if the inner model has this method."""
        noise = self.model.noise
        return lambda state: noise(state.inner)

    @property
    def information(self) -> Any:
        """The method `information` of the inner model, if the inner model has this method."""
        information = self.model.information
        return lambda state: information(state.inner)

    @property
    def draw_prior(self) -> Any:
        """The method `draw_prior` of the inner model, if the inner model has this method."""
        draw_prior = self.model.draw_prior
        return lambda key, state: state._replace(inner=draw_prior(key, state.inner))
