"""Planning in a finite-horizon Markov decision process with known transitions, by backward induction.

    Q_h(s, a) = r_h(s, a) + sum_{s'} P(s' | s, a) V_{h+1}(s'),   V_{H+1} = 0
    V_h(s)    = max_a Q_h(s, a)        `backward_induction`, with the maximising actions
    V_h(s)    = Q_h(s, pi_h(s))        `policy_values`

There are H steps, nS states and nA actions.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxbandits.numerics import first_axis

UNROLL = 8  # number of unrolled steps: a loop over few steps inside the loop over rounds is mostly overhead


class Plan(NamedTuple):
    """Optimal policy for given rewards, and its values."""

    actions: jax.Array  # [H, nS] int32
    values: jax.Array  # [H, nS]


def backward_induction(rewards: jax.Array, transitions: jax.Array) -> Plan:
    """Return an optimal policy and its values; among equally good actions the policy takes the first.

    Args:
      rewards: `[H, nS, nA]` mean rewards r_h(s, a).
      transitions: `[nS, nA, nS]` probabilities P(s' | s, a).
    """

    def step(following: jax.Array, reward: jax.Array) -> tuple[jax.Array, Plan]:
        q = reward + transitions @ following
        plan = Plan(first_axis.argmax(q.T), first_axis.max(q.T))
        return plan.values, plan

    return _backward(step, rewards)


def policy_values(actions: jax.Array, rewards: jax.Array, transitions: jax.Array) -> jax.Array:
    """Return the values `[H, nS]` of a policy.

    Args:
      actions: `[H, nS]` int32, the actions pi_h(s) of the policy.
      rewards: `[H, nS, nA]` mean rewards r_h(s, a).
      transitions: `[nS, nA, nS]` probabilities P(s' | s, a).
    """

    def step(following: jax.Array, inputs: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        reward, action = inputs
        q = reward + transitions @ following
        value = jnp.take_along_axis(q, action[:, None], axis=1)[:, 0]
        return value, value

    return _backward(step, (rewards, actions))


def _backward(step: Callable, inputs: Any) -> Any:
    """Scan over the steps h = H, ..., 1 with inputs `[H, ...]`, from V_{H+1} = 0; return the stacked outputs."""
    rewards = jax.tree.leaves(inputs)[0]
    init = jnp.zeros(rewards.shape[1], rewards.dtype)
    return lax.scan(step, init, inputs, reverse=True, unroll=min(len(rewards), UNROLL))[1]
