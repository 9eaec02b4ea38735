"""Advice on speed: the equations of a learner's round without a rule for a batch of trials (`vmap_last.explain`)."""

from typing import Any

import jax
import jax.numpy as jnp

from jaxbandits.base.pytree import as_arrays, map_traced, shared_leaves
from jaxbandits.simulation import loop
from jaxbandits.tracing.vmap_last import VmapFallback, explain
from jaxbandits.types import narrow

_WIDTH = 64
_SHOWN = 6


def vmap_fallbacks(algorithm: Any, environment: Any) -> list[VmapFallback]:
    """List the equations of `select` and `update` that `vmap_last` has no rule for.

    Args:
      algorithm: a small concrete instance.
      environment: a small concrete instance, from which the learner gets observations and feedback.
    """
    algorithm, environment = as_arrays((algorithm, environment))
    t, key = jnp.int32(0), jax.random.key(0, impl="threefry2x32")

    def first(algorithm: Any, environment: Any) -> tuple[Any, Any, Any]:
        carry = loop.init_trial(key, algorithm, environment, t)
        obs = environment.observe(key, t, carry.env_state)
        decision = algorithm.select(key, t, carry.alg_state, obs)
        _, feedback, _ = environment.step(key, t, carry.env_state, obs, decision)
        return carry.alg_state, obs, narrow(feedback, algorithm.feedback)

    def many(x: Any) -> Any:
        return jax.ShapeDtypeStruct((*x.shape, _WIDTH), x.dtype)

    state, obs, feedback = jax.tree.map(many, jax.eval_shape(first, algorithm, environment))
    keys = jax.tree.map(many, jax.eval_shape(lambda: key))

    def play_round(t: Any, algorithm: Any, key: Any, state: Any, obs: Any, feedback: Any) -> Any:
        for_select, for_update = (jax.random.fold_in(jax.random.fold_in(key, part), t) for part in (0, 1))
        decision = algorithm.select(for_select, t, state, obs)
        return algorithm.update(for_update, t, state, obs, decision, feedback)

    batched = (map_traced(many, algorithm), keys, state, obs, feedback)
    axes = [None, *(None if is_shared else -1 for is_shared in shared_leaves(batched))]
    leaves, structure = jax.tree.flatten((t, *batched))
    return explain(lambda *leaves: play_round(*jax.tree.unflatten(structure, leaves)), *leaves, in_axes=tuple(axes))


def advice(algorithm: Any, environment: Any) -> tuple[str, ...]:
    """Return one line that names the equations of a learner that run on one trial at a time, or none.

    Args:
      algorithm: a small concrete instance.
      environment: a small concrete instance.
    """
    found = vmap_fallbacks(algorithm, environment)
    if not found:
        return ()
    shown = [
        f"{u.primitive}{f' x{u.count}' * (u.count > 1)}{f' at {u.location}' * bool(u.location)}" for u in found[:_SHOWN]
    ]
    more = [f"{len(found) - _SHOWN} more"] * (len(found) > _SHOWN)
    return (
        f"{type(algorithm).__name__} runs these on one trial at a time, through jax.vmap: {', '.join(shown + more)}",
    )
