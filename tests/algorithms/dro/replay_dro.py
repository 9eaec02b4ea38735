"""Plays a learner of group DRO on recorded rows and uniforms, as the NumPy references are played."""

from typing import Any, NamedTuple
from unittest import mock

import jax
import jax.numpy as jnp

from jaxbandits.base.pytree import as_arrays
from jaxbandits.numerics import rng
from jaxbandits.types import Gradient

KEY = jax.random.key(0)


class Replay(NamedTuple):
    """Like `dro_methods.Run`."""

    w: jax.Array  # [T + 1, d]
    q: jax.Array  # [T + 1, m]
    mean_w: jax.Array  # [T, d]
    mean_q: jax.Array  # [T, m]
    samples: jax.Array  # [T, m]


def logistic(w, x, y):
    """Losses `[Q]` and gradients `[Q, d]` of rows."""
    v = -y * (x @ w)
    return Gradient(jnp.logaddexp(v, 0.0), (-y * jax.nn.sigmoid(v))[:, None] * x)


def patch_uniforms(u):
    """The uniforms `[m]` of a round in place of drawn ones: a learner takes the first that it needs."""
    return mock.patch.multiple(
        rng,
        uniform=lambda key, counter=0: u[0],
        uniforms=lambda key, count, counter=0: u[:count],
        categorical=lambda key, q: jnp.searchsorted(jnp.cumsum(q)[:-1], u[0], side="right"),
        randint=lambda key, n: jnp.floor(u[0] * n).astype(jnp.int32),
    )


def play(learner: Any, t: Any, state: Any, x: Any, y: Any, u: Any, by_slot: bool = False) -> Any:
    """One round: the next state, and the decision. Rows are `[m, d]` one a group, or (`by_slot`) one a sample."""
    with patch_uniforms(u):
        decision = learner.select(KEY, t, state, None)
    rows = (x, y) if by_slot else (x[decision.group], y[decision.group])
    feedback = logistic(decision.play, *rows)
    if decision.drawn is not None:
        feedback = Gradient(feedback.loss * decision.drawn, feedback.grad * decision.drawn[:, None])
    return learner.update(KEY, t, state, None, decision, feedback), decision


def _rounds(n):
    """As the loop counts them."""
    return jnp.arange(n, dtype=jnp.int32)


def _counts(decision, m):
    drawn = 1.0 if decision.drawn is None else decision.drawn.astype(float)
    return jnp.zeros(m).at[decision.group].add(drawn)


@jax.jit
def _replay(learner, x, y, u, start):
    def round_(state, row):
        t, x, y, u = row
        state, decision = play(learner, t, state, x, y, u)
        counts = _counts(decision, learner.n_groups)
        return state, (state.model.w, jnp.exp(state.weights.log_q), *learner.recommend(state), counts)

    first = learner.init(KEY)
    if start is not None:
        w, q = start
        first = first._replace(model=first.model._replace(w=w), weights=first.weights._replace(log_q=jnp.log(q)))
    _, (w, q, *rest) = jax.lax.scan(round_, first, (_rounds(len(x)), x, y, u))
    ws = jnp.concatenate([first.model.w[None], w])
    return Replay(ws, jnp.concatenate([jnp.exp(first.weights.log_q)[None], q]), *rest)


def replay(learner, x, y, u, start=None) -> Replay:
    """Rows `[T, m, d]`, `[T, m]`, uniforms `[T, m]`; from (w, q) `start`."""
    return _replay(as_arrays(learner), jnp.asarray(x), jnp.asarray(y), jnp.asarray(u), start)


class Prox(NamedTuple):
    """Like `dro_methods.MirrorProx`, without the initial anchor."""

    w: jax.Array  # [T, d]
    q: jax.Array
    anchor_w: jax.Array
    anchor_q: jax.Array
    mean_w: jax.Array
    mean_q: jax.Array
    samples: jax.Array


@jax.jit
def _replay_prox(learner, x, y):
    def round_(state, row):
        t, x, y = row
        state, decision = play(learner, t, state, x, y, jnp.zeros(1), by_slot=True)
        places = (state.point.w, jnp.exp(state.point.log_q), state.anchor.w, jnp.exp(state.anchor.log_q))
        return state, (*places, *learner.recommend(state), _counts(decision, learner.n_groups))

    half = x.shape[0] * 2
    rows = _rounds(half), x.reshape(half, *x.shape[2:]), y.reshape(half, *y.shape[2:])
    _, after = jax.lax.scan(round_, learner.init(KEY), rows)
    *places, counts = after
    return Prox(*(place[1::2] for place in places), counts[::2] + counts[1::2])


def replay_prox(learner, x, y) -> Prox:
    """SMPA_m on batches `[T, 2, sum of batch sizes, d]`, rows in the order of the groups."""
    return _replay_prox(as_arrays(learner), jnp.asarray(x), jnp.asarray(y))
