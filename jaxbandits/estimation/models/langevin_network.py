"""Langevin Monte Carlo over the weights of a network: approximate Thompson sampling (Xu et al., ICML 2022).

    L(w)  = sum_{s <= t} [(f(x_s, k_s; w) - r_s)^2 - c min(b, max_k f(x_s, k; w))] + lambda ||w||^2
    w <- w - eta_t grad L(w) + sqrt(2 eta_t tau) xi,   xi ~ N(0, I),   n_steps times,   eta_t = eta / (t + 1)
    f_k   = output for arm k at w; since w is itself a draw, `sample` and `predict` return the same values

r_s is the reward of round s. The distribution of w approaches the distribution with density proportional to exp(-L /
tau). With c = 0 and a linear network (`hidden=()`) this is the posterior of ridge regression, $N(theta, tau / 2
V^{-1})$ with V = lambda I + sum x x'. The chain starts from the weights of the previous round. With c > 0 the feel-good
term makes weights that predict a large reward more likely (T. Zhang, 2022).

Notation: eta is the field `learning_rate`, tau is `temperature` (1 / beta of the paper), lambda is `weight_decay`, c is
`feel_good`, and b is `feel_good_bound`. The cost per round is n_steps / train_every passes over all stored rounds, each
with 6 P operations per row for P weights.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import ArrayLike, PyTree, param, pytree, static
from jaxbandits.estimation import history
from jaxbandits.estimation.models import mlp
from jaxbandits.estimation.models.network import Network, Row
from jaxbandits.estimation.models.network_model import PerceptronModel
from jaxbandits.numerics import rng
from jaxbandits.tracing import batching
from jaxbandits.types import ArmDecision, Obs


class LangevinNetworkState(NamedTuple):
    """Weights, which are a draw from the approximate posterior, and the stored rounds."""

    layers: Any  # list of mlp.Layer
    buffer: Any  # Row with a leading axis [capacity]


@pytree
class LangevinNetwork(PerceptronModel):
    """Multilayer perceptron whose weights are drawn by Langevin steps.

    With the rule `Thompson` or `Greedy` it is LMC-TS.

    Guarantee:
      For linear rewards the regret is of order $d^{3/2} sqrt(T)$ up to logarithms, with the paper's step sizes and
      numbers of steps (Xu et al., Theorem 4.2). There is no guarantee for networks.

    Deviations:
      * [printed] eta_t = eta / (t + 1) in every round; the authors' code updates eta_t only every 20 rounds.
      * [ours] Weights are initialised as in `Network`, and biases are updated like weights. In a full buffer the oldest
        round is overwritten. The maximum in the feel-good term is over all arms, also those that were unavailable.

    References:
      Pan Xu, Hongkai Zheng, Eric Mazumdar, Kamyar Azizzadenesheli, Anima Anandkumar. Langevin Monte Carlo for
      Contextual Bandits. ICML 2022, Algorithm 1.
      Tong Zhang. Feel-Good Thompson Sampling for Contextual Bandits and Reinforcement Learning. SIAM Journal on
      Mathematics of Data Science 4(2), 2022.
    """

    learning_rate: ArrayLike = param(0.1, "(0, inf)", "eta; the step size is eta / (t + 1) for the gradient of the sum")
    temperature: ArrayLike = param(0.01, "[0, inf)", "tau; 0 is gradient descent")
    weight_decay: ArrayLike = param(1.0, "[0, inf)", "lambda, coefficient of ||w||^2")
    feel_good: ArrayLike = param(0.0, "[0, inf)", "c, weight of the feel-good term; only with n_arms")
    feel_good_bound: ArrayLike = param(1.0, "[-inf, inf]", "b, bound on the prediction in the feel-good term")
    capacity: int = static(1000, "[1, inf)", "number of rounds stored in the buffer")
    train_every: int = static(1, "[1, inf)", "number of rounds between runs of the chain")
    n_steps: int = static(10, "[1, inf)", "number of steps of a run of the chain")

    def check(self) -> None:
        """Raise InputError for invalid sizes, an unknown activation, or a feel-good term without n_arms."""
        super().check()
        if self.n_arms is None and is_positive(self.feel_good):
            raise InputError(
                "LangevinNetwork.feel_good needs n_arms, because the buffer stores only the features of the arms played"
            )

    @property
    def _network(self) -> Network:
        return Network(
            input_dim=self.input_dim,
            n_arms=self.n_arms,
            hidden=self.hidden,
            activation=self.activation,
            capacity=self.capacity,
            batch=1,
        )

    def init(self, key: jax.Array) -> LangevinNetworkState:
        row = Row(jnp.zeros(self.input_dim), jnp.zeros((), jnp.int32), jnp.zeros(()))
        return LangevinNetworkState(mlp.init(key, self.sizes), history.empty(self.capacity, row))

    def predict(self, state: LangevinNetworkState, obs: Obs) -> jax.Array:
        outputs = mlp.apply(state.layers, self._network.inputs(obs), self.activation)
        return outputs if self.reads_context else outputs[:, 0]

    def sample(self, key: jax.Array, state: LangevinNetworkState, obs: Obs) -> jax.Array:
        del key  # the weights are the draw
        return self.predict(state, obs)

    def update(
        self,
        key: jax.Array,
        t: jax.Array,
        state: LangevinNetworkState,
        obs: Obs,
        decision: ArmDecision,
        reward: jax.Array,
    ) -> LangevinNetworkState:
        buffer = history.append(state.buffer, t, self._network.row(obs, decision, reward))
        layers = batching.cond(
            (t + 1) % self.train_every == 0, lambda: self._run(key, t, state.layers, buffer), lambda: state.layers
        )
        return LangevinNetworkState(layers, buffer)

    def _run(self, key: jax.Array, t: jax.Array, layers: PyTree, buffer: Row) -> Any:
        """Return the weights after a run of the chain."""
        count = jnp.minimum(t + 1, self.capacity)
        rate = self.learning_rate / (t + 1).astype(buffer.reward.dtype)

        def step(i: jax.Array, layers: PyTree) -> Any:
            gradient = history.sum_over(
                buffer, count, lambda rows, valid: jax.grad(self._loss)(layers, rows, valid.astype(rows.reward.dtype))
            )
            noise = _normals_like(jax.random.fold_in(key, i), layers)
            scale = jnp.sqrt(2.0 * rate * self.temperature)

            def move(w: jax.Array, g: jax.Array, z: jax.Array) -> jax.Array:
                return w - rate * (g + 2.0 * self.weight_decay * w) + scale * z

            return jax.tree.map(move, layers, gradient, noise)

        return batching.fori_loop(0, self.n_steps, step, layers)

    def _loss(self, layers: PyTree, rows: Row, valid: jax.Array) -> jax.Array:
        """Return the loss `[]` of the rows, without weight decay."""
        error = self._network.values(layers, rows) - rows.reward
        loss = error * error
        if self.reads_context:
            best = jnp.max(mlp.apply(layers, rows.x, self.activation), axis=1)
            loss = loss - self.feel_good * jnp.minimum(self.feel_good_bound, best)
        return jnp.sum(valid * loss)


def is_positive(value: ArrayLike) -> bool:
    """Return True if any entry of a value is positive."""
    return bool((jnp.asarray(value) > 0.0).any())


def _normals_like(key: jax.Array, tree: PyTree) -> Any:
    """Return a pytree with the shapes of `tree` whose entries are independent standard normal variates."""
    leaves, structure = jax.tree.flatten(tree)
    sizes = [leaf.size for leaf in leaves]
    z = rng.normal_vector(key, sum(sizes))
    parts, first = [], 0
    for leaf, size in zip(leaves, sizes, strict=True):
        parts.append(z[first : first + size].reshape(leaf.shape))
        first += size
    return structure.unflatten(parts)
