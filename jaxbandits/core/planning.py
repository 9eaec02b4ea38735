"""Planning in a finite-horizon Markov decision process with known transitions, by backward induction.

    Q_h(s, a) = r_h(s, a) + sum_{s'} P(s' | s, a) V_{h+1}(s'),   V_{H+1} = 0
    V_h(s)    = max_a Q_h(s, a)        `backward_induction`, with the maximising actions
    V_h(s)    = Q_h(s, pi_h(s))        `policy_values`

H steps, nS states, nA actions.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxbandits.core import linalg
from jaxbandits.core.batching import trials_last
from jaxbandits.core.fusion import once

UNROLL = 8  # steps that become straight code: a loop over few steps inside the loop over rounds is mostly overhead


class Plan(NamedTuple):
    """A policy that is optimal for the rewards given, and its values."""

    actions: jax.Array  # [H, nS] int32
    values: jax.Array  # [H, nS]


def backward_induction(rewards: jax.Array, transitions: jax.Array) -> Plan:
    """The best policy and its values; of equally good actions the first.

    Args:
      rewards: `[H, nS, nA]`.
      transitions: `[nS, nA, nS]`.
    """
    return _best_plan(rewards, transitions)


def policy_values(actions: jax.Array, rewards: jax.Array, transitions: jax.Array) -> jax.Array:
    """The values `[H, nS]` of a policy.

    Args:
      actions: `[H, nS]` int32.
      rewards: `[H, nS, nA]`.
      transitions: `[nS, nA, nS]`.
    """
    return _values_of(actions, rewards, transitions)


@trials_last
def _best_plan(rewards: jax.Array, transitions: jax.Array) -> Plan:
    def step(following: jax.Array, reward: jax.Array) -> tuple[jax.Array, Plan]:
        q = _action_values(reward, transitions, following)
        value, action = q[:, 0], jnp.zeros(q[:, 0].shape, jnp.int32)
        for a in range(1, q.shape[1]):
            better = q[:, a] > value
            value, action = jnp.where(better, q[:, a], value), jnp.where(better, a, action)
        plan = once(Plan(action, value))
        return plan.values, plan

    return _backward(step, rewards, _start(rewards, transitions))


@trials_last
def _values_of(actions: jax.Array, rewards: jax.Array, transitions: jax.Array) -> jax.Array:
    def step(following: jax.Array, row: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        reward, action = row
        q = _action_values(reward, transitions, following)
        value = q[:, 0]
        for a in range(1, q.shape[1]):
            value = jnp.where(action == a, q[:, a], value)
        value = once(value)
        return value, value

    return _backward(step, (rewards, actions), _start(rewards, transitions) + jnp.zeros(actions.shape[1:]))


def _start(rewards: jax.Array, transitions: jax.Array) -> jax.Array:
    """`[nS]` V_{H+1} = 0, with every trial axis."""
    trials = jnp.broadcast_shapes(rewards.shape[3:], transitions.shape[3:])
    return jnp.zeros((rewards.shape[1], *trials), rewards.dtype)


def _action_values(reward: jax.Array, transitions: jax.Array, following: jax.Array) -> jax.Array:
    n_states = following.shape[0]
    if n_states > linalg.UNROLLED:
        return once(reward + jnp.sum(transitions * following[None, None], axis=2))
    return once(reward + linalg.added(transitions[:, :, s] * following[s] for s in range(n_states)))


def _backward(step: Callable, rows, start: jax.Array):
    steps = jax.tree.leaves(rows)[0].shape[0]
    return lax.scan(step, start, rows, reverse=True, unroll=min(steps, UNROLL))[1]
