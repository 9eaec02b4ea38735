"""Neural network model: a network that maps a context to one output per arm, or the features of an arm to one output.

    f_k    output k of the network at the context (n_arms given), or its output at the features of arm k
    loss   (f_k - r)^2 + weight_decay ||weights||^2 / 2,   for the arm k played and its reward r

Without a buffer, every round takes one step of an optax transformation on the loss of the round. With a buffer of
`capacity` rounds, `n_steps` steps are taken after every `train_every` rounds, each on the mean loss of `batch`
consecutive rows. The first rows of the batches are spread evenly over the buffer and are the same in all trials, so
that no gather is needed. A step costs about 6 P operations per row for P weights.
"""

from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import optax

from jaxbandits.base.errors import InputError, format_value
from jaxbandits.base.pytree import ArrayLike, PyTree, param, pytree, static
from jaxbandits.base.ranges import BOOL
from jaxbandits.estimation import history
from jaxbandits.estimation.models import mlp
from jaxbandits.estimation.models.network_model import PerceptronModel
from jaxbandits.estimation.models.protocol import at
from jaxbandits.estimation.optimizer import Optimizer
from jaxbandits.numerics import sampling
from jaxbandits.tracing import batching
from jaxbandits.types import ArmDecision, Obs

_GOLDEN = 0x9E3779B9  # 2^32 (sqrt(5) - 1) / 2, whose multiples modulo 2^32 are spread evenly


class Row(NamedTuple):
    """Data of one round, a row of the buffer."""

    x: jax.Array  # [d]  context, or features of the arm played
    index: jax.Array  # []  index of the arm played
    reward: jax.Array  # []


@runtime_checkable
class Architecture(Protocol):
    """Protocol for networks of another library, such as flax or equinox; implement it as a `pytree` class."""

    def init(self, key: jax.Array, n_in: int, n_out: int) -> PyTree:
        """Return the initial weights, a pytree of floating-point arrays.

        Args:
          key: random key.
          n_in: number of inputs.
          n_out: number of outputs.
        """
        ...

    def apply(self, weights: PyTree, x: jax.Array) -> jax.Array:
        """Return the outputs `[..., n_out]` for inputs `[..., n_in]`."""
        ...


class NetworkState(NamedTuple):
    """Weights, the state of the optimizer, and the buffer."""

    layers: Any  # list of mlp.Layer, or the weights of an `Architecture`
    optimizer: Any  # state of the optax transformation
    buffer: Any  # Row with a leading axis [capacity]; None: no buffer


@pytree
class Network(PerceptronModel):
    """Multilayer perceptron, or a network of another library, trained by an optax transformation.

    Deviations:
      * [ours] Mini-batches are consecutive rounds. In a full buffer the oldest round is overwritten.
    """

    architecture: Any = param(None, doc="network that replaces `hidden` and `activation`; None for a perceptron")
    optimizer: Any = param(factory=Optimizer, doc="an `Optimizer`: a function of optax and its arguments")
    weight_decay: ArrayLike = param(0.0, "[0, inf)", "coefficient of ||weights||^2 / 2 in the loss")
    capacity: int | None = static(None, "[1, inf)", "number of rounds stored in the buffer; None for no buffer")
    train_every: int = static(1, "[1, inf)", "number of rounds between trainings; used only with a buffer")
    n_steps: int = static(1, "[1, inf)", "number of steps in each training; used only with a buffer")
    batch: int = static(32, "[1, inf)", "number of rows in each step; used only with a buffer")
    resets_optimizer: bool = static(False, BOOL, "True: every training starts from the initial state of the optimizer")

    def check(self) -> None:
        """Raise InputError for invalid sizes, an unknown activation, or a batch larger than the capacity."""
        super().check()
        if self.architecture is not None and not isinstance(self.architecture, Architecture):
            raise InputError(
                f"Network.architecture must have the methods init and apply, got {format_value(self.architecture)}"
            )
        if not hasattr(self.optimizer, "transformation"):
            raise InputError(f"Network.optimizer must be an Optimizer(...), got {self.optimizer!r}")
        if self.capacity is not None and self.batch > self.capacity:
            raise InputError(f"Network.batch must be at most capacity = {self.capacity}, got {self.batch}")

    def init(self, key: jax.Array) -> NetworkState:
        layers = self._init_layers(key)
        inner = self.optimizer.transformation().init(layers)
        row = Row(jnp.zeros(self.input_dim), jnp.zeros((), jnp.int32), jnp.zeros(()))
        buffer = None if self.capacity is None else history.empty(self.capacity, row)
        first = NetworkState(layers, inner, buffer)
        after = jax.eval_shape(lambda s: self.step(s, lambda _: jnp.zeros(())), first)
        return jax.tree.map(lambda leaf, like: jnp.asarray(leaf, like.dtype), first, after)

    def predict(self, state: NetworkState, obs: Obs) -> jax.Array:
        outputs = self._apply(state.layers, self.inputs(obs))
        return outputs if self.reads_context else outputs[:, 0]

    def inputs(self, obs: Obs) -> jax.Array:
        """Return the inputs of the network: the context `[d]`, or the features of all arms `[K, d]`."""
        return obs.context if self.reads_context else obs.arms

    def row(self, obs: Obs, decision: ArmDecision, reward: jax.Array) -> Row:
        """Return the row of the buffer for a round."""
        return Row(obs.context if self.reads_context else decision.x, decision.index, reward)

    def value(self, layers: Any, row: Row) -> jax.Array:
        """Return the prediction `[]` for the arm of a row."""
        outputs = self._apply(layers, row.x)
        return at(outputs, row.index) if self.reads_context else outputs[0]

    def update(
        self, key: jax.Array, t: jax.Array, state: NetworkState, obs: Obs, decision: ArmDecision, reward: jax.Array
    ) -> NetworkState:
        del key
        row = self.row(obs, decision, reward)
        if state.buffer is None:
            return self.step(state, lambda layers: jnp.square(self.value(layers, row) - reward))
        state = state._replace(buffer=history.append(state.buffer, t, row))
        # The branches do not return the buffer, because it would then be copied in every round.
        layers, inner = batching.cond(
            self.trains(t), lambda: self.train(t, state)[:2], lambda: (state.layers, state.optimizer)
        )
        return NetworkState(layers, inner, state.buffer)

    def trains(self, t: jax.Array) -> jax.Array:
        """Return True if training takes place after round t = 0, 1, ..."""
        return (t + 1) % self.train_every == 0

    def train(self, t: jax.Array, state: NetworkState) -> NetworkState:
        """Return the state after training on the stored rows, of which round t is the last."""
        buffer = state.buffer
        capacity, size = buffer.reward.shape[0], self.batch
        count = jnp.minimum(t + 1, capacity)
        inner = self.optimizer.transformation().init(state.layers) if self.resets_optimizer else state.optimizer

        def one(i: jax.Array, carry: PyTree) -> Any:
            word = (t * self.n_steps + i + 1).astype(jnp.uint32) * jnp.uint32(_GOLDEN)
            start = sampling.uniform_index(jnp.maximum(count - size + 1, 1), word)
            rows = history.slice_rows(buffer, start, size)
            valid = (jnp.arange(size) < count).astype(rows.reward.dtype)  # the buffer may have fewer rows than a batch

            def loss(layers: Any) -> jax.Array:
                error = self.values(layers, rows) - rows.reward
                return jnp.sum(valid * error * error) / jnp.sum(valid)

            layers, inner = carry
            return self.step(NetworkState(layers, inner, None), loss)[:2]

        layers, inner = batching.fori_loop(0, self.n_steps, one, (state.layers, inner))
        return NetworkState(layers, inner, buffer)

    def values(self, layers: Any, rows: Row) -> jax.Array:
        """Return the predictions `[n]` for the arms of n rows."""
        outputs = self._apply(layers, rows.x)  # [n, K or 1]
        if not self.reads_context:
            return outputs[:, 0]
        return jnp.sum(jnp.where(jnp.arange(outputs.shape[1]) == rows.index[:, None], outputs, 0.0), axis=1)

    def step(self, state: NetworkState, loss: Any) -> NetworkState:
        """Return the state after one step on `loss(weights)` plus weight decay."""

        def regularised_loss(layers: Any) -> jax.Array:
            return loss(layers) + 0.5 * self.weight_decay * mlp.norm_sq(layers)

        value, gradient = jax.value_and_grad(regularised_loss)(state.layers)
        change, inner = self.optimizer.transformation().update(
            gradient, state.optimizer, state.layers, value=value, grad=gradient
        )
        layers: Any = optax.apply_updates(state.layers, change)
        layers = jax.tree.map(lambda new, old: jnp.asarray(new, old.dtype), layers, state.layers)
        inner = jax.tree.map(lambda new, old: jnp.asarray(new, jnp.asarray(old).dtype), inner, state.optimizer)
        return NetworkState(layers, inner, state.buffer)

    def _init_layers(self, key: jax.Array) -> Any:
        if self.architecture is not None:
            return self.architecture.init(key, self.sizes[0], self.sizes[-1])
        return mlp.init(key, self.sizes)

    def _apply(self, layers: Any, x: jax.Array) -> jax.Array:
        """Return the outputs `[..., K or 1]` for inputs `[..., d]`."""
        if self.architecture is not None:
            return self.architecture.apply(layers, x)
        return mlp.apply(layers, x, self.activation)
