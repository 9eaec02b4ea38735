"""Neural-linear model: Bayesian regression on the last hidden layer of a network (Riquelme, Tucker & Snoek, ICLR 2018).

    z(x) = last hidden layer `[H]` of the network at x,   posterior of the model given the pairs (z, reward)

The network is trained as in `Network`. After each training the posterior is recomputed from all stored rounds with the
new features z; between trainings the posterior is updated with each reward. Predictions, widths and draws are those of
the model of z: they express uncertainty about the last layer, but not about the features. A model with the method `fit`
(`Linear`, `Ridge`, `NormalInverseGamma`, and `PerArm` of these) is recomputed in closed form, from the Gram matrix of
the rows of each arm and one factorisation; other models are updated with the stored rounds one by one. Every model is
updated in this way if a sum over a full buffer would lose too many digits: in float32, if the capacity exceeds about
84,000 rounds.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import PyTree, param, pytree
from jaxbandits.estimation import history, moments
from jaxbandits.estimation.models import mlp
from jaxbandits.estimation.models.feature_model import FeatureModel
from jaxbandits.estimation.models.protocol import (
    check_model,
    find_full_history_model,
    find_shared_features_model,
)
from jaxbandits.tracing import batching
from jaxbandits.types import ArmDecision, ArmObs, ContextObs, Obs

_MOST_ROUNDING = 0.01  # largest relative rounding error of a sum of squares; features and ridge are of order 1


class NeuralLinearState(NamedTuple):
    """State of the network with its stored rounds, and posterior of the model of the last hidden layer."""

    network: Any  # state of `Network`
    inner: PyTree  # state of the model


@pytree
class NeuralLinear(FeatureModel):
    """Bayesian linear model of features that are learned by a network.

    `NeuralLinear(network=Network(input_dim=d, n_arms=K, hidden=(50,), capacity=T, train_every=50, n_steps=100,
    batch=512), model=PerArm(model=NormalInverseGamma(dim=50), n_arms=K))` with `Thompson` is the paper's learner.

    Guarantee:
      There is no guarantee, since the features change with the data.

    Deviations:
      * [printed] The posterior is updated with every reward, also in rounds of training; the authors' code refits it
        without the last rounds of an arm that is played for the first time.
      * [ours] In an `Ensemble`, each training forgets the draw from the prior with which a member started: from then on
        members differ by their networks and the noise on their rewards.

    References:
      Carlos Riquelme, George Tucker, Jasper Snoek. Deep Bayesian Bandits Showdown. ICLR 2018, Section 3.
    """

    network: Any = param(doc="Network with a capacity, whose last hidden layer has size H")
    model: Any = param(doc="linear model with dim = H; it must read a context if the network does")

    def check(self) -> None:
        """Raise InputError if network and model do not fit together, or if the model needs more than the stored rows.

        The rows lack the features of arms. Since a full buffer has fewer rows than there were rounds, a model that
        stores rounds would count rows of zeros as data, and a model in epochs would miss the ends of epochs.
        """
        check_model("NeuralLinear.model", self.model)
        inner = find_full_history_model(self.model)
        if inner is not None:
            raise InputError(
                "NeuralLinear.model must not store rounds or learn in epochs, but "
                f"{type(inner).__name__} does: it is fitted again to the stored rounds after each training"
            )
        inner = find_shared_features_model(self.model)
        if inner is not None:
            raise InputError(
                "NeuralLinear.model must read only the last hidden layer, but "
                f"{type(inner).__name__} also reads features of arms"
            )
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
            raise InputError(
                "NeuralLinear.network must be a perceptron (without architecture=...), because otherwise its last "
                "hidden layer is not known"
            )
        if self.model.reads_context != self.network.reads_context:
            reads = "a context" if self.network.reads_context else "features of arms"
            raise InputError(f"NeuralLinear.model must read {reads}, as the network does")
        n_arms = getattr(self.model, "n_arms", self.n_arms)
        if n_arms != self.n_arms:
            raise InputError(f"NeuralLinear.model must have n_arms={self.n_arms}, as the network has, got {n_arms}")

    @property
    def n_arms(self) -> int | None:
        """K, number of arms, if the network has one output per arm; otherwise None."""
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
        """Return the features z `[..., H]` for inputs `[..., d]`."""
        return mlp.last_hidden_layer(state.network.layers, x, self.network.activation)

    def update(
        self, key: jax.Array, t: jax.Array, state: NeuralLinearState, obs: Obs, decision: ArmDecision, reward: jax.Array
    ) -> NeuralLinearState:
        network_key, model_key, refit_key = jax.random.split(key, 3)
        network = self.network.update(network_key, t, state.network, obs, decision, reward)
        state = state._replace(network=network)
        row = self.network.row(obs, decision, reward)
        # The update is also computed in rounds of training, in which its result is not used: a branch that returns
        # a given value copies nothing. The branches do not return the buffer, so that it is not copied either.
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
        """Return the posterior given all stored rounds, with features from the current weights."""
        count = jnp.minimum(t + 1, self.network.capacity)
        if hasattr(self.model, "fit") and self._is_exact(state.network.buffer.reward.dtype):
            return self._fit(count, state)

        init_key, learn_key = jax.random.split(key)

        def one(i: jax.Array, inner: PyTree) -> Any:
            rows = history.slice_rows(state.network.buffer, i, 1)
            # With one key for all rows, a member of an ensemble would learn from all rows or from none.
            row_key = jax.random.fold_in(learn_key, i)
            return self._learn(row_key, i, state, inner, jax.tree.map(lambda leaf: leaf[0], rows))

        return batching.fori_loop(0, count, one, self.model.init(init_key))

    def _is_exact(self, dtype: Any) -> bool:
        """Return True if sums over a full buffer are accurate enough for a posterior."""
        return self.network.capacity * float(jnp.finfo(dtype).eps) < _MOST_ROUNDING

    def _fit(self, count: jax.Array, state: NeuralLinearState) -> Any:
        """Return the posterior given the first `count` rows of the buffer, in closed form."""
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
