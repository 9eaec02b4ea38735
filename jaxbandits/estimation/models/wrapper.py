"""Abstract model that trains an inner model and shows the arms and the dimension of it."""

import abc
from typing import Any

import jax

from jaxbandits.base.pytree import param, pytree
from jaxbandits.estimation.models.protocol import check_model
from jaxbandits.types import State


@pytree
class Wrapper(abc.ABC):
    """Abstract model with a field `model`, whose sizes and kind of observation it has."""

    model: Any = param(doc="inner model")

    @abc.abstractmethod
    def init(self, key: jax.Array) -> State:
        """Return the first state."""

    def check(self) -> None:
        """Raise InputError for a value that is not a model."""
        check_model(f"{type(self).__name__}.model", self.model)

    @property
    def reads_context(self) -> bool:
        """True if the inner model reads a context."""
        return self.model.reads_context

    @property
    def n_arms(self) -> int:
        """K, number of arms, if the inner model has one."""
        return self.model.n_arms

    @property
    def dim(self) -> int:
        """Dimension of the inner model."""
        return self.model.dim
