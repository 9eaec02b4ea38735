"""Neural-linear model: Bayesian regression on the last hidden layer of a network (Riquelme, Tucker & Snoek, ICLR 2018).

    z(x) = last hidden layer `[H]` of the network at x,   the model's posterior on (z, reward)

The network is trained as in `Network`. After each training the posterior is recomputed from all stored rounds with
their new z; between trainings it learns from each reward. Predictions, widths and draws are those of the model on z:
they express uncertainty about the last layer, but not about the features. A model with `fit` (`Linear`, `Ridge`,
`NormalInverseGamma`, and `PerArm` of these) is recomputed in closed form, from the Gram matrix of the rows of each arm
and one factorisation; other models learn from the stored rounds one by one. So does every model if a sum over a full
buffer would lose too many digits: from 80,000 stored rounds on in float32.
"""

import functools
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import PyTree, param, pytree
from jaxbandits.estimation import history, moments
from jaxbandits.estimation.models import mlp
from jaxbandits.estimation.models.feature_model import FeatureModel
from jaxbandits.estimation.models.protocol import check_model
from jaxbandits.tracing import batching
from jaxbandits.types import ArmDecision, ArmObs, ContextObs, Obs

_MOST_ROUNDING = 0.01  # of a sum of squares, for features of the order 1, compared with a ridge of the order 1


class NeuralLinearState(NamedTuple):
    """Network with its rounds, and the posterior on its last hidden layer."""

    network: Any
    inner: PyTree


@pytree
class NeuralLinear(FeatureModel):
    """Bayesian linear model on features that a network learns.

    `NeuralLinear(network=Network(input_dim=d, n_arms=K, hidden=(50,), capacity=T, train_every=50, n_steps=100,
    batch=512), model=PerArm(model=NormalInverseGamma(dim=50), n_arms=K))` with `Thompson` is the paper's learner.

    Guarantee:
      None, since the features change with the data.

    Deviations:
      * [printed] The posterior learns from every reward, also in a round of training; the authors' code refits it
        without the last rounds of an arm that is played for the first time.

    References:
      Carlos Riquelme, George Tucker, Jasper Snoek. Deep Bayesian Bandits Showdown. ICLR 2018, Section 3.
    """

    # By its bytes, most of them rows that a round does not read, a trial would run alone, which is six times slower.
    min_width: ClassVar[int] = 16
    network: Any = param(doc="Network with a capacity and hidden layers, the last one of size H")
    model: Any = param(doc="linear model with dim = H, for a context or for features of arms as the network is")

    def check(self) -> None:
        """Raise InputError for an incompatible network and model."""
        check_model("NeuralLinear.model", self.model)
        sizes = getattr(self.network, "hidden", None)
        if not sizes or getattr(self.network, "capacity", None) is None:
            raise InputError(
                "NeuralLinear.network must be a Network with hidden layers and a capacity, "
                f"got {type(self.network).__name__} with hidden={sizes} and "
                f"capacity={getattr(self.network, 'capacity', None)}"
            )
        if getattr(self.model, "dim", None) != sizes[-1]:
            raise InputError(
                f"NeuralLinear.model must have dim={sizes[-1]}, the size of the network's last hidden layer, "
                f"got {type(self.model).__name__} with dim={getattr(self.model, 'dim', None)}"
            )
        if getattr(self.network, "architecture", None) is not None:
            raise InputError("NeuralLinear.network must be a perceptron, whose last hidden layer is known")
        if self.model.reads_context != self.network.reads_context:
            reads = "a context" if self.network.reads_context else "features of arms"
            raise InputError(f"NeuralLinear.model must read {reads}, as the network does")

    @property
    def n_arms(self) -> int | None:
        """K, number of arms of a network with one output per arm; None: any number."""
        return self.network.n_arms

    @property
    def dim(self) -> int:
        """d, dimension of the context or of the arms."""
        return self.network.dim

    @property
    def capacity(self) -> int:
        """Number of rounds that the network stores."""
        return self.network.capacity

    def init(self, key: jax.Array) -> NeuralLinearState:
        network_key, model_key = jax.random.split(key)
        return NeuralLinearState(self.network.init(network_key), self.model.init(model_key))

    def features(self, state: NeuralLinearState, x: jax.Array) -> jax.Array:
        """Return z `[..., H]` of inputs `[..., d]`."""
        return mlp.last_hidden_layer(state.network.layers, x, self.network.activation)

    def update(
        self, key: jax.Array, t: jax.Array, state: NeuralLinearState, obs: Obs, decision: ArmDecision, reward: jax.Array
    ) -> NeuralLinearState:
        network_key, model_key, refit_key = jax.random.split(key, 3)
        network = self.network.update(network_key, t, state.network, obs, decision, reward)
        state = state._replace(network=network)
        row = self.network.row(obs, decision, reward)
        # The posterior learns in rounds of training, too, where it is replaced: a branch that returns it unchanged
        # copies nothing. Branches without the buffer do not copy it either.
        learned = self._learn(model_key, t, state, state.inner, row)
        inner = batching.cond(self.network.trains(t), lambda: self._refit(refit_key, t, state), lambda: learned)
        return state._replace(inner=inner)

    def _learn(self, key: jax.Array, t: jax.Array, state: NeuralLinearState, inner: PyTree, row: PyTree) -> Any:
        z = self.features(state, row.x)
        if self.reads_context:
            seen: Any = ContextObs.of(z, self.network.n_arms)
            return self.model.update(key, t, inner, seen, ArmDecision(row.index, seen.arms[row.index]), row.reward)
        return self.model.update(key, t, inner, ArmObs(z[None]), ArmDecision(jnp.int32(0), z), row.reward)

    def _refit(self, key: jax.Array, t: jax.Array, state: NeuralLinearState) -> Any:
        """Return the posterior of all stored rounds at the current weights."""
        count = jnp.minimum(t + 1, self.network.capacity)
        if hasattr(self.model, "fit") and self._is_exact(state.network.buffer.reward.dtype):
            return self._fit(count, state)

        def one(i: jax.Array, inner: PyTree) -> Any:
            rows = history.slice_rows(state.network.buffer, i, 1)
            return self._learn(key, i, state, inner, jax.tree.map(lambda leaf: leaf[0], rows))

        return batching.fori_loop(0, count, one, self.model.init(key))

    def _is_exact(self, dtype: Any) -> bool:
        """Return whether sums over a full buffer keep the digits that a posterior needs."""
        return self.network.capacity * float(jnp.finfo(dtype).eps) < _MOST_ROUNDING

    def _fit(self, count: jax.Array, state: NeuralLinearState) -> Any:
        """Return the posterior of the first rows of the buffer in closed form."""
        rows, features = state.network.buffer, _features(self.network.activation)
        n_groups = self.network.n_arms if self.reads_context else 1
        group = rows.index if self.reads_context else jnp.zeros_like(rows.index)
        data = (features, state.network.layers, rows.x, group, rows.reward, count)
        sums = moments.moments(*data, n_groups)
        inner = self.model.fit(sums if self.reads_context else jax.tree.map(lambda leaf: leaf[..., 0], sums))
        if not hasattr(self.model, "fit_noise"):
            return inner
        mean = self.model.coefficients(inner)
        squares = moments.squared_residuals(*data, mean if self.reads_context else mean[:, None])
        return self.model.fit_noise(inner, squares if self.reads_context else squares[0])

    def map_obs(self, state: NeuralLinearState, obs: Obs) -> Any:
        z = self.features(state, self.network.inputs(obs))
        return ContextObs(z, obs.arms, obs.mask) if self.reads_context else ArmObs(z, obs.mask)


@functools.cache
def _features(activation: str) -> Callable[[Any, jax.Array], jax.Array]:
    return lambda layers, x: mlp.last_hidden_layer(layers, x, activation)
