"""Abstract model that trains an inner model and has the number of arms and the dimension of the inner model."""

import abc
from typing import Any

import jax

from jaxbandits.base.pytree import param, pytree
from jaxbandits.estimation.models.protocol import check_model
from jaxbandits.types import State


@pytree
class Wrapper(abc.ABC):
    """Abstract model with an inner model, from which it takes sizes and the kind of observation."""

    model: Any = param(doc="inner model")

    @abc.abstractmethod
    def init(self, key: jax.Array) -> State:
        """Return the initial state."""

    def check(self) -> None:
        """Raise InputError for a value that is not a model."""
        check_model(f"{type(self).__name__}.model", self.model)

    @property
    def reads_context(self) -> bool:
        """True if the inner model reads a context."""
        return self.model.reads_context

    @property
    def n_arms(self) -> int:
        """K, number of arms, if the inner model has this field."""
        return self.model.n_arms

    @property
    def dim(self) -> int:
        """Dimension of the inner model."""
        return self.model.dim
