"""What in a learner's compiled round works on one trial at a time, and which functions would not.

Read off the program: a learner in the functions of `core.linalg` and `estimation.arms` has its trials side by side in
memory, and the loop over its rounds holds no transpose, no product of small arrays per trial, no LAPACK.
"""

import collections
import re
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from jaxbandits.core.pytree import as_arrays, map_traced
from jaxbandits.simulation import loop
from jaxbandits.types import narrow

_WIDTH, _ROUNDS = 64, 8
_SMALL = 32  # products of arrays with longer axes are worth a call each
_MADE = re.compile(r"^\s*(?:ROOT )?(%[\w.\-]+) = \(?\w+\[([\d,]*)\](?:\{([\d,]*)\S*)?.*? ([\w\-]+)\((%[\w.\-]+)?")
_CONTRACTED = re.compile(r"(lhs|rhs)_contracting_dims=\{([\d,]*)\}")
_FEW_MOVES = 4  # `best_arm` turns the arms around once a round
_NAMES = {"products": "small products", "solves": "LAPACK calls", "gathers": "gathers", "moves": "transposes"}
_BETTER = {
    "products": "products: linalg.inner, matvec, quad",
    "solves": "LAPACK: jaxbandits.factored, linalg.factor and solve",
    "gathers": "gathers: best_arm, best_scored",
    "moves": "transposes: linalg for einsum and @, core.batching for vmap and jax.lax loops",
}


def advice(algorithm: Any, environment: Any) -> tuple[str, ...]:
    """What would make `select` and `update` of a learner faster under many trials: two lines, or none.

    Args:
      algorithm: a small concrete instance.
      environment: a small concrete instance, for what the learner sees and is told; its own speed does not matter.
    """
    found = slow_parts(compiled_learner(algorithm, environment))
    if not found or (found.keys() == {"moves"} and found["moves"] <= _FEW_MOVES):
        return ()
    counted = ", ".join(f"{count} {_NAMES[kind]}" for kind, count in found.items())
    causes = [kind for kind in found if kind != "moves"] or ["moves"]  # the others bring transposes with them
    return (
        f"{type(algorithm).__name__} works on one trial at a time: {counted} a round (docs/protocol.md says why)",
        f"faster for {'; '.join(_BETTER[kind] for kind in causes)}",
    )


def compiled_learner(algorithm: Any, environment: Any) -> str:
    """The HLO text of a loop over `select` and `update` of trials side by side, without the environment."""
    algorithm, environment = as_arrays((algorithm, environment))
    t, key = jnp.int32(0), jax.random.key(0, impl="threefry2x32")

    def first(algorithm: Any, environment: Any) -> tuple[Any, Any, Any]:
        carry = loop.start_trial(algorithm, environment, key, t)
        obs = environment.observe(key, t, carry.env)
        decision = algorithm.select(key, t, carry.alg, obs)
        _, feedback, _ = environment.step(key, t, carry.env, obs, decision)
        return carry.alg, obs, narrow(feedback, algorithm.feedback)

    def many(x: Any) -> Any:
        return jax.ShapeDtypeStruct((*x.shape, _WIDTH), x.dtype)

    state, obs, told = jax.tree.map(many, jax.eval_shape(first, algorithm, environment))
    keys = jax.tree.map(many, jax.eval_shape(lambda: key))

    def one(t: Any, algorithm: Any, key: Any, state: Any, obs: Any, told: Any) -> Any:
        for_select, for_update = (jax.random.fold_in(jax.random.fold_in(key, part), t) for part in (0, 1))
        decision = algorithm.select(for_select, t, state, obs)
        return algorithm.update(for_update, t, state, obs, decision, told)

    def rounds(algorithm: Any, keys: Any, state: Any, obs: Any, told: Any) -> Any:
        def body(t: Any, state: Any) -> Any:
            return loop.mapped(one, _WIDTH, (t,), algorithm, keys, state, obs, told)

        return lax.fori_loop(0, _ROUNDS, body, state)

    arguments = map_traced(many, algorithm), keys, state, obs, told
    return jax.jit(rounds).lower(*arguments).compile().as_text() or ""


def slow_parts(text: str) -> dict[str, int]:
    """How many products of small arrays per trial, LAPACK calls, gathers and moves the loops of a program hold."""
    found: collections.Counter[str] = collections.Counter()
    for computation in _inside_loops(text):
        shapes = {match[1]: match[2] for line in computation if (match := _MADE.match(line))}
        for line in computation:
            if match := _MADE.match(line):
                operation = match[4]
                found["products"] += operation == "dot" and _is_small(line, shapes)
                found["solves"] += operation == "custom-call" and "lapack" in line
                found["gathers"] += operation in ("gather", "scatter")
    found["moves"] += len(moves(text))
    return {kind: found[kind] for kind in _BETTER if found[kind]}


def _is_small(line: str, shapes: dict[str, str]) -> bool:
    """Whether a product of many matrices has short axes only."""
    if "lhs_batch_dims={" not in line:
        return False
    operands = re.findall(r"%[\w.\-]+", line.partition("dot(")[2])[:2]
    lengths = [int(n) for operand in operands for n in shapes.get(operand, "").split(",")[1:] if n]
    return all(n <= _SMALL for n in lengths)


def moves(text: str, width: int | None = None) -> list[str]:
    """The instructions inside loops of a program that transpose, or copy to another order of axes.

    Args:
      text: of the compiled program.
      width: only those before or after which axes of this length, trials, are not the contiguous ones. Others move
        whole rows of trials, which costs little more than a pass over the array. None: all.
    """

    def contiguous(shape: str, order: str) -> bool:
        lengths = shape.split(",")
        return lengths[int(order.split(",")[0])] == str(width) if order else lengths == [str(width)]

    found = []
    for computation in _inside_loops(text):
        made: dict[str, tuple[str, str]] = {}
        for line in computation:
            if match := _MADE.match(line):
                result, shape, order, operation, operand = match.groups()
                made[result] = (shape, order)
                another = operation == "copy" and made.get(operand, (shape, order)) != (shape, order)
                whole = contiguous(shape, order) and contiguous(*made.get(operand, (shape, order)))
                if (operation == "transpose" or another) and (width is None or not whole):
                    found.append(line.strip())
    return found


def open_loops(text: str) -> list[str]:
    """The loops and branches of a program that ask the host, step by step, on an accelerator: no length is known."""
    loops = (line.strip() for line in text.splitlines() if " while(" in line or " conditional(" in line)
    return [line for line in loops if '"known_trip_count"' not in line]


_FREE = {"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "iota", "partition-id", "opt-barrier"}
_TRIPS = re.compile(r'"known_trip_count":\{"n":"(\d+)"\}')


def kernels(text: str) -> int:
    """How many kernels one step of the outermost loop of a program starts, those of loops inside it counted each time.

    The outermost loop of known length, that is: the one that starts most kernels in all. What a CPU fuses is not what
    an accelerator does: counts of one device say nothing about another.
    """
    computations = _computations(text)

    def of(name: str) -> int:
        total = 0
        for line in computations[name]:
            operation = match[4] if (match := _MADE.match(line)) else _operation(line)
            called = re.search(r"(?:body|to_apply)=(%[\w.\-]+)", line)
            if operation == "while" and called:
                total += int((_TRIPS.search(line) or ["", "1"])[1]) * of(called[1])
            elif operation == "call" and called:
                total += of(called[1])
            else:
                total += operation not in _FREE
        return total

    bodies = [
        (int(trips[1]), body[1])
        for line in text.splitlines()
        if (trips := _TRIPS.search(line)) and (body := re.search(r"body=(%[\w.\-]+)", line))
    ]
    return max(((of(body) * steps, of(body)) for steps, body in bodies), default=(0, 0))[1]


def _operation(line: str) -> str:
    """Of an instruction that makes a tuple."""
    found = re.search(r" ([a-z][\w\-]*)\(", line.partition(" = ")[2])
    return found[1] if found else ""


def _computations(text: str) -> dict[str, list[str]]:
    """The lines of every computation by its name."""
    computations: dict[str, list[str]] = {}
    name = ""
    for line in text.splitlines():
        if line.endswith("{") and not line.startswith(" "):
            name = line.removeprefix("ENTRY ").split()[0].split("(")[0]
            computations[name] = []
        elif name and line.startswith(" "):
            computations[name].append(line)
    return computations


def _inside_loops(text: str) -> list[list[str]]:
    """The lines of every computation that a loop runs, directly or not."""
    computations = _computations(text)
    loops = dict.fromkeys(
        body for lines in computations.values() for line in lines for body in re.findall(r"body=(%[\w.\-]+)", line)
    )
    inside = list(loops)
    for computation in inside:  # grows while it is read
        for line in computations[computation]:
            for called in re.findall(r"%[\w.\-]+", line.partition(" = ")[2]):
                if called in computations and called not in inside:
                    inside.append(called)
    return [computations[computation] for computation in inside]
