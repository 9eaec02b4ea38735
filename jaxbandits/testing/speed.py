"""Advice on speed: the operations of a learner that run on one trial at a time, or that have a cheaper form."""

import collections
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.base.pytree import as_arrays, map_traced, shared_leaves
from jaxbandits.engine import loop
from jaxbandits.tracing import short_sorts
from jaxbandits.tracing.flat import FlatFunction, Step, flatten
from jaxbandits.tracing.jax_compat import open_jaxpr
from jaxbandits.tracing.settings import own_settings
from jaxbandits.tracing.vmap_last import VmapFallback, explain, location
from jaxbandits.types import Algorithm, Decision, Environment, Feedback, Obs, State, narrow

_WIDTH = 64
_SHOWN = 6
_ENTRIES = 4  # smallest number of entries of a quotient or a draw about which there is advice

# Replacements for primitives without a batching rule.
_REMEDIES = {
    "sort": f"sort at most {short_sorts.COUNTED} entries by one key, or keep only the first or last "
    f"{short_sorts.SELECTED} of a longer sort, as in jnp.argsort(-u)[:m]: both are fast",
    "top_k": f"take at most {short_sorts.SELECTED} entries, or choose from at most {short_sorts.COUNTED}",
    "SearchSorted": "count with jnp.sum(sorted_values < x)",
    "eigh": "update a factor or an inverse by rank one instead of decomposing the matrix in every round",
    "cholesky": "update a factor or an inverse by rank one instead of decomposing the matrix in every round",
    "triangular_solve": "update a factor or an inverse by rank one instead of decomposing the matrix in every round",
    "lu": "update a factor or an inverse by rank one instead of decomposing the matrix in every round",
}


class Cost(NamedTuple):
    """Equations on one line of code that have a batching rule but also a cheaper form, and advice to use that form."""

    advice: str
    location: str  # file:line of the traced code, "" if unknown


class _Round(NamedTuple):
    """A round of a learner as a function, with the shapes of its arguments for a batch and for one trial."""

    play: Callable[..., Any]
    many: list[Any]
    one: list[Any]
    axes: tuple[int | None, ...]


def _round(algorithm: Any, environment: Environment) -> _Round:
    """Return `select` and `update` of a learner as a function of keys, states, observations and feedback."""
    algorithm, environment = as_arrays((algorithm, environment))
    t, key = jnp.int32(0), jax.random.key(0, impl="threefry2x32")

    def first(algorithm: Any, environment: Environment) -> tuple[Obs, Decision, State]:
        carry = loop.init_trial(key, algorithm, environment, t)
        obs = environment.observe(key, t, carry.env_state)
        decision = algorithm.select(key, t, carry.alg_state, obs)
        _, feedback, _ = environment.step(key, t, carry.env_state, obs, decision)
        return carry.alg_state, obs, narrow(feedback, algorithm.feedback)

    def many(x: Any) -> Any:
        return jax.ShapeDtypeStruct((*x.shape, _WIDTH), x.dtype)

    def play_round(t: Any, algorithm: Algorithm, key: Any, state: State, obs: Obs, feedback: Feedback) -> Any:
        for_select, for_update = (jax.random.fold_in(jax.random.fold_in(key, part), t) for part in (0, 1))
        decision = algorithm.select(for_select, t, state, obs)
        return algorithm.update(for_update, t, state, obs, decision, feedback)

    state, obs, feedback = jax.eval_shape(first, algorithm, environment)
    one = (t, algorithm, jax.eval_shape(lambda: key), state, obs, feedback)
    batched = (map_traced(many, algorithm), *jax.tree.map(many, one[2:]))
    axes = (None, *(None if is_shared else -1 for is_shared in shared_leaves(batched)))
    leaves, structure = jax.tree.flatten((t, *batched))
    return _Round(
        lambda *leaves: play_round(*jax.tree.unflatten(structure, leaves)), leaves, jax.tree.leaves(one), axes
    )


def vmap_fallbacks(algorithm: Algorithm, environment: Environment) -> list[VmapFallback]:
    """List the equations of `select` and `update` for which `vmap_last` has no rule, so that they run trial by trial.

    Args:
      algorithm: a small concrete instance.
      environment: a small concrete instance, from which the learner gets observations and feedback.
    """
    played = _round(algorithm, environment)
    return explain(played.play, *played.many, in_axes=played.axes)


def costs(algorithm: Algorithm, environment: Environment) -> list[Cost]:
    """List operations in `select` and `update` that have a batching rule but also a cheaper form.

    Args:
      algorithm: a small concrete instance.
      environment: a small concrete instance, from which the learner gets observations and feedback.
    """
    played = _round(algorithm, environment)
    flat = flatten(*open_jaxpr(jax.make_jaxpr(played.play)(*played.one)), _inside)
    found = collections.Counter([*_quotients(flat), *_categorical_draws(flat)])
    return list(found)


def _inside(eqn: Any) -> Any | None:
    """Return the jaxpr of a call that is part of the function around it; None for loops and branches."""
    return eqn.params["jaxpr"] if eqn.primitive.name in ("jit", "pjit") else None


def _quotients(flat: FlatFunction) -> Iterator[Cost]:
    """Yield quotients of arrays by one or few numbers, unless these numbers are constants of the program."""
    makers = {name: step for step in flat.steps for name in step.outputs}

    def entries(name: int, shape: tuple[int, ...]) -> int:
        """Return the number of distinct entries of a value that were computed; 0 for a constant."""
        step: Step | None = makers.get(name)
        if name in flat.constants:
            return 0
        if step is None or step.eqn.primitive.name not in ("broadcast_in_dim", "convert_element_type", "reshape"):
            return math.prod(shape)
        return entries(step.inputs[0], step.eqn.invars[0].aval.shape)

    for step in flat.steps:
        if step.eqn.primitive.name != "div":
            continue
        result, divisor = step.eqn.outvars[0].aval, step.eqn.invars[1].aval
        size, computed = math.prod(result.shape), entries(step.inputs[1], divisor.shape)
        if size >= _ENTRIES and 0 < computed <= size // _ENTRIES and jnp.issubdtype(result.dtype, jnp.floating):
            yield Cost(
                f"divides {size} entries by {'one number' if computed == 1 else f'{computed} numbers'}: x * (1.0 / "
                "s) instead of x / s divides only once and differs only in the last digit",
                location(step),
            )


def _categorical_draws(flat: FlatFunction) -> Iterator[Cost]:
    """Yield draws, such as those of `jax.random.categorical`, that take a separate random number for each entry."""
    for step in flat.steps:
        size = math.prod(step.eqn.outvars[0].aval.shape) if step.eqn.outvars else 0
        gumbel = any(call.params.get("name") == "_gumbel" for call in step.calls)
        if step.eqn.primitive.name == "random_bits" and gumbel and size >= _ENTRIES:
            yield Cost(
                f"draws {size} random numbers for a Gumbel maximum (jax.random.categorical): one is enough, "
                "jnp.sum(jnp.cumsum(p)[:-1] <= jax.random.uniform(key)) for probabilities p",
                location(step),
            )


@own_settings()
def advice(algorithm: Algorithm, environment: Environment) -> tuple[str, ...]:
    """Return lines of advice, each of which names a slow operation or a faster replacement; () if there is none.

    Args:
      algorithm: a small concrete instance.
      environment: a small concrete instance.
    """
    name, found = type(algorithm).__name__, vmap_fallbacks(algorithm, environment)
    lines = []
    if found:
        shown = [
            f"{u.primitive}{f' x{u.count}' * (u.count > 1)}{f' at {u.location}' * bool(u.location)}"
            for u in found[:_SHOWN]
        ]
        more = [f"{len(found) - _SHOWN} more"] * (len(found) > _SHOWN)
        lines.append(f"{name} runs these primitives on one trial at a time: {', '.join(shown + more)}")
        remedies = dict.fromkeys((u.primitive, _REMEDIES[u.primitive]) for u in found if u.primitive in _REMEDIES)
        lines += [f"{primitive}: {remedy}" for primitive, remedy in remedies]
    lines += [f"{name}{f' at {x.location}' * bool(x.location)} {x.advice}" for x in costs(algorithm, environment)]
    return tuple(lines)
