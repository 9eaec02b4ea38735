"""Network with confidence widths from its gradient: the model of NeuralUCB and NeuralTS, with a diagonal matrix.

    f(x; w) = sqrt(m) W_L act(W_{L-1} act(... act(W_1 x~))),   x~ = (x, x) / sqrt(2)
    w_0     W_l = (W, 0; 0, W), entries of W N(0, 4 / m);   W_L = (v', -v'), entries of v N(0, 2 / m):   f(x; w_0) = 0
    g_k     = grad_w f(x_k; w),   Z <- Z + g g' / m for the arm played, Z_0 = lambda I; only the diagonal is stored
    f_k     = f(x_k; w),   s_k = R sqrt(g_k'Z^{-1} g_k / m),   sample: f_k + s_k xi_k, xi_k independent N(0, 1)
    w       from w_0 by n_steps steps on  L(w) = sum (f(x_s; w) - r_s)^2 / 2 + m lambda ||w - w_0||^2 / 2

NeuralUCB (Zhou, Li & Gu, 2020) is `UCB(beta=gamma)` with R = 1. NeuralTS (Zhang et al., 2021), whose standard deviation
is nu sqrt(lambda g'Z^{-1} g / m), is `Thompson(scale=nu)` with R = sqrt(lambda). If n_arms is given, the features of
arm k are the context x in block k and 0 elsewhere. Each arm then has its own part of W_1, and its gradient with respect
to the other parts is 0, so that its width s_k costs no more than with one block.

Notation: w are the weights, r_s is the reward of round s, m is the field `n_hidden`, L is `depth`, lambda is `ridge`,
and R is `noise_scale`. The cost per round is n_steps / train_every passes over the stored rounds, and K gradients for
`width` and `sample`.
"""

import math
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import optax

from jaxbandits.base.errors import InputError, unknown_name
from jaxbandits.base.pytree import ArrayLike, PyTree, param, pytree, static
from jaxbandits.base.ranges import BOOL
from jaxbandits.estimation import history
from jaxbandits.estimation.models.mlp import ACTIVATIONS
from jaxbandits.estimation.models.network import Row
from jaxbandits.estimation.models.network_model import NetworkModel
from jaxbandits.estimation.optimizer import Optimizer
from jaxbandits.numerics import rng
from jaxbandits.tracing import batching
from jaxbandits.types import ArmDecision, Obs


class GradientWeights(NamedTuple):
    """Weights of the network, or the diagonal of Z arranged in the same shapes."""

    first: jax.Array  # [G, 2d, m]  W_1' of each block; G = K with n_arms, else 1
    middle: tuple[jax.Array, ...]  # each [m, m]  W_2' ... W_{L-1}'
    last: jax.Array  # [m]  W_L


class NeuralGradientState(NamedTuple):
    """Weights, initial weights, diagonal of Z, and stored rounds."""

    weights: GradientWeights  # w
    start: GradientWeights  # w_0
    precision: GradientWeights  # diagonal of Z
    buffer: Any  # Row with a leading axis [capacity]


def _sgd() -> Optimizer:
    return Optimizer(make=optax.sgd, hyperparameters={"learning_rate": 0.01})


@pytree
class NeuralGradient(NetworkModel):
    """Network with widths from its gradient: NeuralUCB with the rule `UCB`, NeuralTS with `Thompson`.

    Guarantee:
      With the full matrix Z, a width m polynomial in T and the paper's step sizes, the regret is of order
      $d~ sqrt(T)$, where d~ is the effective dimension of the neural tangent kernel (Zhou et al., Theorem 4.5). There
      is no guarantee for the diagonal of Z.

    Deviations:
      * [printed] Only the diagonal of Z is stored, as in the papers' experiments.
      * [ours] Steps are taken on L divided by the number of stored rounds, so that one learning rate is suitable for
        all rounds; it must be of the order 1 / m. The input (x, x) / sqrt(2) is formed here, whereas the papers assume
        arms of this form.
      * [printed] The authors' code has no factor sqrt(m), its initialisation is not symmetric, its weight decay is
        towards 0 instead of w_0, and each training starts from the weights of the previous round. Its score is f +
        sqrt(sum lambda nu g^2 / Z), with nu under the root, and it updates Z as soon as an arm is chosen instead of
        when the reward arrives. `restarts=False` starts each training from the weights of the previous round; the other
        differences are not available as options.

    References:
      Dongruo Zhou, Lihong Li, Quanquan Gu. Neural Contextual Bandits with UCB-based Exploration. ICML 2020, Algorithms
      1 and 2.
      Weitong Zhang, Dongruo Zhou, Lihong Li, Quanquan Gu. Neural Thompson Sampling. ICLR 2021, Algorithm 1.
    """

    min_width: ClassVar[int] = 1  # passes over the buffer are matrix products, which are as fast for one trial
    n_hidden: int = static(20, "[2, inf)", "m, size of every hidden layer, an even number")
    depth: int = static(2, "[2, inf)", "L, number of layers of weights")
    activation: str = static("relu", doc='"relu", "leaky_relu" or "tanh"')
    ridge: ArrayLike = param(1.0, "(0, inf)", "lambda, regularisation")
    noise_scale: ArrayLike = param(1.0, "[0, inf)", "R, factor of s_k and hence of the deviations of samples")
    optimizer: Any = param(factory=_sgd, doc="an `Optimizer`: a function of optax and its arguments")
    capacity: int = static(1000, "[1, inf)", "number of rounds stored in the buffer")
    train_every: int = static(1, "[1, inf)", "number of rounds between trainings")
    n_steps: int = static(10, "[1, inf)", "J, number of steps in each training")
    restarts: bool = static(True, BOOL, "True: each training starts from w_0, as in the papers")

    def check(self) -> None:
        """Raise InputError for an odd m, an unknown activation, or a value that is not an Optimizer."""
        if self.n_hidden % 2:
            raise InputError(f"NeuralGradient.n_hidden must be even, got {self.n_hidden}")
        if self.activation not in ACTIVATIONS:
            raise unknown_name("NeuralGradient.activation", self.activation, ACTIVATIONS)
        if not hasattr(self.optimizer, "transformation"):
            raise InputError(f"NeuralGradient.optimizer must be an Optimizer(...), got {self.optimizer!r}")

    @property
    def _n_blocks(self) -> int:
        return 1 if self.n_arms is None else self.n_arms

    def init(self, key: jax.Array) -> NeuralGradientState:
        m, half, keys = self.n_hidden, self.n_hidden // 2, jax.random.split(key, self.depth)
        blocks = rng.normals(keys[0], self._n_blocks * self.input_dim, half).reshape(-1, self.input_dim, half)
        scale = 2.0 / math.sqrt(m)
        first = scale * jax.vmap(_block_diagonal)(blocks)
        middle = tuple(scale * _block_diagonal(rng.normals(k, half, half)) for k in keys[1:-1])
        last = math.sqrt(2.0 / m) * rng.normal_vector(keys[-1], half)
        weights = GradientWeights(first, middle, jnp.concatenate([last, -last]))
        precision = jax.tree.map(lambda leaf: jnp.zeros_like(leaf) + self.ridge, weights)
        row = Row(jnp.zeros(self.input_dim), jnp.zeros((), jnp.int32), jnp.zeros(()))
        return NeuralGradientState(weights, weights, precision, history.empty(self.capacity, row))

    def predict(self, state: NeuralGradientState, obs: Obs) -> jax.Array:
        return jax.vmap(lambda first, x: self._value(state.weights, first, x))(*self._arms(state.weights, obs))

    def width(self, state: NeuralGradientState, obs: Obs) -> jax.Array:
        weights, precision = state.weights, state.precision
        firsts, xs = self._arms(weights, obs)
        scales = self._arms(precision, obs)[0]

        def width_sq(first: jax.Array, x: jax.Array, scale: jax.Array) -> jax.Array:
            g = jax.grad(lambda w: self._value(w, w.first[0], x))(weights._replace(first=first[None]))
            terms = jax.tree.map(lambda a, z: jnp.sum(a * a / z), g, precision._replace(first=scale[None]))
            return sum(jax.tree.leaves(terms), jnp.zeros(()))

        return self.noise_scale * jnp.sqrt(jax.vmap(width_sq)(firsts, xs, scales) / self.n_hidden)

    def sample(self, key: jax.Array, state: NeuralGradientState, obs: Obs) -> jax.Array:
        width = self.width(state, obs)
        return self.predict(state, obs) + width * rng.normal_vector(key, width.shape[0])

    def noise(self, state: NeuralGradientState) -> jax.Array:
        del state
        return jnp.zeros(()) + self.noise_scale

    def update(
        self,
        key: jax.Array,
        t: jax.Array,
        state: NeuralGradientState,
        obs: Obs,
        decision: ArmDecision,
        reward: jax.Array,
    ) -> NeuralGradientState:
        del key
        row = Row(obs.context if self.reads_context else decision.x, decision.index, reward)
        g = jax.grad(lambda w: self._predict_row(w, row))(state.weights)
        precision = jax.tree.map(lambda z, a: z + a * a / self.n_hidden, state.precision, g)
        buffer = history.append(state.buffer, t, row)
        weights = batching.cond(
            (t + 1) % self.train_every == 0,
            lambda: self._train(t, state._replace(buffer=buffer)),
            lambda: state.weights,
        )
        return NeuralGradientState(weights, state.start, precision, buffer)

    def _train(self, t: jax.Array, state: NeuralGradientState) -> Any:
        """Return the weights after a training."""
        count = jnp.minimum(t + 1, self.capacity)
        first = state.start if self.restarts else state.weights
        transformation = self.optimizer.transformation()

        def step(_: jax.Array, carry: PyTree) -> Any:
            weights, inner = carry

            def loss(w: GradientWeights, rows: Row, valid: jax.Array) -> jax.Array:
                error = jax.vmap(lambda row: self._predict_row(w, row))(rows) - rows.reward
                return 0.5 * jnp.sum(jnp.where(valid, error * error, 0.0))

            total = history.sum_over(state.buffer, count, lambda rows, valid: jax.grad(loss)(weights, rows, valid))
            scale, decay = 1.0 / count.astype(state.buffer.reward.dtype), self.n_hidden * self.ridge
            gradient = jax.tree.map(lambda g, w, w0: scale * (g + decay * (w - w0)), total, weights, state.start)
            change, inner = transformation.update(gradient, inner, weights)
            moved: Any = optax.apply_updates(weights, change)
            weights = jax.tree.map(lambda new, old: jnp.asarray(new, old.dtype), moved, weights)
            return weights, inner

        inner = jax.tree.map(lambda leaf: jnp.asarray(leaf), transformation.init(first))
        return batching.fori_loop(0, self.n_steps, step, (first, inner))[0]

    def _value(self, weights: GradientWeights, first: jax.Array, x: jax.Array) -> jax.Array:
        """Return f `[]` at an input `[d]`, given the first layer `[2d, m]` of the block of its arm."""
        act = ACTIVATIONS[self.activation]
        h = act((jnp.concatenate([x, x]) / math.sqrt(2.0)) @ first)
        for layer in weights.middle:
            h = act(h @ layer)
        return math.sqrt(self.n_hidden) * (h @ weights.last)

    def _predict_row(self, weights: GradientWeights, row: Row) -> jax.Array:
        """Return f `[]` for the arm of a row."""
        block = weights.first[row.index] if self.reads_context else weights.first[0]
        return self._value(weights, block, row.x)

    def _arms(self, weights: GradientWeights, obs: Obs) -> tuple[jax.Array, jax.Array]:
        """Return the first layer `[K, 2d, m]` and the input `[K, d]` of every arm."""
        if self.reads_context:
            return weights.first, jnp.broadcast_to(obs.context, (len(weights.first), self.input_dim))
        return jnp.broadcast_to(weights.first, (len(obs.arms), *weights.first.shape[1:])), obs.arms


def _block_diagonal(block: jax.Array) -> jax.Array:
    """Return the block-diagonal matrix `[2a, 2b]` with two copies of a block `[a, b]`."""
    zero = jnp.zeros_like(block)
    return jnp.block([[block, zero], [zero, block]])
