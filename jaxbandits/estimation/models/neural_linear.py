"""Neural-linear model: Bayesian regression on the last hidden layer of a network (Riquelme, Tucker & Snoek, ICLR 2018).

    z(x) = last hidden layer `[H]` of the network at x,   the model's posterior on (z, reward)

The network is trained as in `Network`. After each training the posterior is recomputed from all stored rounds with
their new z; between trainings it learns from each reward. Predictions, widths and draws are those of the model on z:
they express uncertainty about the last layer, but not about the features. A training includes one update of the model
per stored round.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import PyTree, param, pytree
from jaxbandits.estimation import history
from jaxbandits.estimation.models import mlp
from jaxbandits.estimation.models.feature_model import FeatureModel
from jaxbandits.estimation.models.protocol import check_model
from jaxbandits.tracing import batching
from jaxbandits.types import ArmDecision, ArmObs, ContextObs, Obs


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
        network_key, model_key = jax.random.split(key)
        network = self.network.update(network_key, t, state.network, obs, decision, reward)
        state = state._replace(network=network)
        row = self.network.row(obs, decision, reward)
        return batching.cond(
            self.network.trains(t),
            lambda: self._refit(model_key, t, state),
            lambda: state._replace(inner=self._learn(model_key, t, state, state.inner, row)),
        )

    def _learn(self, key: jax.Array, t: jax.Array, state: NeuralLinearState, inner: PyTree, row: PyTree) -> Any:
        z = self.features(state, row.x)
        if self.reads_context:
            seen: Any = ContextObs.of(z, self.network.n_arms)
            return self.model.update(key, t, inner, seen, ArmDecision(row.index, seen.arms[row.index]), row.reward)
        return self.model.update(key, t, inner, ArmObs(z[None]), ArmDecision(jnp.int32(0), z), row.reward)

    def _refit(self, key: jax.Array, t: jax.Array, state: NeuralLinearState) -> NeuralLinearState:
        """Return the state with the posterior of all stored rounds at the current weights."""
        count = jnp.minimum(t + 1, self.network.capacity)

        def one(i: jax.Array, inner: PyTree) -> Any:
            rows = history.slice_rows(state.network.buffer, i, 1)
            return self._learn(key, i, state, inner, jax.tree.map(lambda leaf: leaf[0], rows))

        return state._replace(inner=batching.fori_loop(0, count, one, self.model.init(key)))

    def map_obs(self, state: NeuralLinearState, obs: Obs) -> Any:
        z = self.features(state, self.network.inputs(obs))
        return ContextObs(z, obs.arms, obs.mask) if self.reads_context else ArmObs(z, obs.mask)
