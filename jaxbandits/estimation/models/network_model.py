"""Abstract base classes of models with a network, and of models with a multilayer perceptron."""

import abc
from typing import Any

import jax

from jaxbandits.base.pytree import pytree, static
from jaxbandits.estimation.models import mlp
from jaxbandits.types import State


@pytree
class NetworkModel(abc.ABC):
    """Abstract model whose network maps a context to one output per arm, or the features of an arm to one output."""

    input_dim: int = static(range="[1, inf)", doc="d, dimension of the context or of the arms")
    n_arms: int | None = static(
        None, "[1, inf)", "K, number of outputs if the input is a context; None if the inputs are features of arms"
    )

    @abc.abstractmethod
    def init(self, key: jax.Array) -> State:
        """Return the initial state."""

    @property
    def reads_context(self) -> bool:
        """True if the network maps a context to one output per arm."""
        return self.n_arms is not None

    @property
    def dim(self) -> int:
        """d, dimension of the context or of the arms."""
        return self.input_dim


@pytree
class PerceptronModel(NetworkModel):
    """Abstract model whose network is a perceptron."""

    hidden: Any = static((50,), doc="sizes of the hidden layers; () for a linear model with an intercept")
    activation: str = static("relu", doc='"relu", "leaky_relu" or "tanh"')

    def __post_init__(self) -> None:
        if isinstance(self.hidden, list):
            object.__setattr__(self, "hidden", tuple(self.hidden))

    def check(self) -> None:
        """Raise InputError for invalid sizes or an unknown activation."""
        mlp.check(type(self).__name__, self.hidden, self.activation)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Sizes of the input, the hidden layers and the output."""
        return (self.input_dim, *self.hidden, 1 if self.n_arms is None else self.n_arms)
