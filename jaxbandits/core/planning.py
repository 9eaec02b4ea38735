"""Planning in a finite-horizon Markov decision process with known transitions, by backward induction.

    Q_h(s, a) = r_h(s, a) + sum_{s'} P(s' | s, a) V_{h+1}(s'),   V_{H+1} = 0
    V_h(s)    = max_a Q_h(s, a)        `backward_induction`, with the maximising actions
    V_h(s)    = Q_h(s, pi_h(s))        `policy_values`

H steps, nS states, nA actions. Transitions are held as `linalg.vectors` of `[nS, nA, nS]`: a product with V_{h+1} is
then elementwise over pairs.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxbandits.core import linalg
from jaxbandits.core.fusion import once
from jaxbandits.core.linalg import Vec, Vector

UNROLL = 8  # steps that become straight code: a loop over few steps inside the loop over rounds is mostly overhead


class Plan(NamedTuple):
    """A policy that is optimal for the rewards given, and its values."""

    actions: jax.Array  # [H, nS] int32
    values: jax.Array  # [H, nS]


def over_pairs(f: Callable[[Vector], jax.Array], features: Vector) -> jax.Array:
    """`f(phi(s, a))` for every pair.

    Args:
      f: from a vector `[d]` to a scalar; elementwise over leading axes when it gets a `Vec`.
      features: `[nS, nA, d]`.

    Returns:
      `[nS, nA]`.
    """
    return f(features) if isinstance(features, Vec) else jax.vmap(jax.vmap(f))(features)


def backward_induction(rewards: jax.Array, transitions: Vector) -> Plan:
    """The best policy and its values; of equally good actions the first.

    Args:
      rewards: `[H, nS, nA]`.
      transitions: `[nS, nA, nS]`.
    """

    def step(following: jax.Array, reward: jax.Array) -> tuple[jax.Array, Plan]:
        q = _action_values(reward, transitions, following)
        plan = Plan(jnp.argmax(q, axis=-1).astype(jnp.int32), jnp.max(q, axis=-1))
        return plan.values, plan

    return _backward(step, rewards)


def policy_values(actions: jax.Array, rewards: jax.Array, transitions: Vector) -> jax.Array:
    """The values `[H, nS]` of a policy.

    Args:
      actions: `[H, nS]` int32.
      rewards: `[H, nS, nA]`.
      transitions: `[nS, nA, nS]`.
    """

    def step(following: jax.Array, row: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        reward, action = row
        q = _action_values(reward, transitions, following)
        value = jnp.take_along_axis(q, action[:, None], axis=-1)[:, 0]
        return value, value

    return _backward(step, (rewards, actions))


def _action_values(reward: jax.Array, transitions: Vector, following: jax.Array) -> jax.Array:
    return once(reward + transitions @ linalg.vectors(following))


def _backward(step: Callable, rows):
    steps, n_states = jax.tree.leaves(rows)[0].shape[:2]
    return lax.scan(step, jnp.zeros(n_states), rows, reverse=True, unroll=min(steps, UNROLL))[1]
