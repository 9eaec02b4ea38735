"""Trace one round, method by method, so that an error message names the method at fault and a remedy."""

import contextlib
import dataclasses
import linecache
import traceback
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import chex
import jax
import jax.numpy as jnp

from jaxbandits.base.errors import format_value
from jaxbandits.base.pytree import as_arrays
from jaxbandits.testing.failures import translate
from jaxbandits.testing.repeated_draws import has_repeated_draw
from jaxbandits.tracing.jax_compat import jaxpr_as_fun
from jaxbandits.types import (
    Admits,
    AdviceObs,
    Algorithm,
    ArmObs,
    ContextObs,
    Decision,
    Environment,
    Evaluates,
    InitFromObs,
    Obs,
    PairDecision,
    Recommends,
    SetDecision,
    State,
    Stops,
    TeamDecision,
    narrow,
)


class Call(NamedTuple):
    """Traced call of a method of the protocol, with the shapes of its arguments and results."""

    obj: Any  # the algorithm or environment as the user made it
    method: str
    function: Callable[..., Any]  # function of the object with array leaves and of the arguments
    args: tuple[Any, ...]  # shapes of the arguments
    out: Any  # shapes of the results
    program: Any  # the closed jaxpr

    @property
    def name(self) -> str:
        """Class and method, such as `OFUL.select`."""
        return f"{type(self.obj).__name__}.{self.method}"


def rehearse(algorithm: Any, environment: Environment) -> dict[str, Call]:
    """Trace the calls of a round and a record point, and check that each accepts the results of earlier calls.

    Returns:
      Mapping from names such as `algorithm.select` to calls.

    Raises:
      AssertionError: if a call cannot be traced or its results do not fit; the message is one line that names the
        method, what was found, and a remedy.
    """
    calls: dict[str, Call] = {}
    feedback_type = algorithm.feedback
    arrays = {id(obj): as_arrays(obj) for obj in (algorithm, environment)}
    key = jax.eval_shape(lambda: jax.random.key(0, impl="threefry2x32"))
    t = jax.ShapeDtypeStruct((), jnp.int32)

    def call(obj: Any, method: str, *args: Any) -> Any:
        def function(with_arrays: Any, *args: Any) -> Any:
            return getattr(with_arrays, method)(*args)

        args = (arrays[id(obj)], *args)
        try:
            program, shapes = jax.make_jaxpr(lambda *args: function(*args), return_shape=True)(*args)
        except Exception as error:  # the code of the user may raise anything
            raise AssertionError(_explain(obj, method, error) + _dims(algorithm, environment, calls)) from error
        avals: list[Any] = program.out_avals
        leaves = [jax.ShapeDtypeStruct(x.shape, x.dtype, weak_type=x.weak_type) for x in avals]
        out = jax.tree.unflatten(jax.tree.structure(shapes), leaves)  # shapes of an older JAX lack weak types
        calls[f"{'environment' if obj is environment else 'algorithm'}.{method}"] = Call(
            obj, method, function, args, out, program
        )
        return out

    env_state = _stored_shapes(call(environment, "init", key))
    obs = call(environment, "observe", key, t, env_state)
    state = call(algorithm, "init", key)
    if isinstance(algorithm, InitFromObs):
        state = call(algorithm, "init_from_obs", _stored_shapes(state), obs)
    state = _stored_shapes(state)
    decision = call(algorithm, "select", key, t, state, obs)
    if isinstance(decision, SetDecision):
        _check_set_decision(algorithm, decision)
    elif isinstance(decision, PairDecision):
        _check_pair_decision(algorithm, decision)
    elif isinstance(decision, TeamDecision):
        _check_team_decision(algorithm, decision)
    elif isinstance(obs, (ArmObs, ContextObs, AdviceObs)):
        _check_arm_decision(algorithm, decision, obs)
    try:
        stepped = call(environment, "step", key, t, env_state, obs, decision)
    except AssertionError as error:
        if hasattr(decision, "_fields"):
            raise
        raise AssertionError(
            f"{type(algorithm).__name__}.select returned {_kind(decision)}, which {type(environment).__name__}.step "
            "does not accept: return a decision of jaxbandits.types, such as PointDecision.at(x)"
        ) from error
    where = type(environment).__name__
    _check_step(f"{where}.step", stepped)
    try:
        feedback = narrow(stepped[1], feedback_type)
    except ValueError as error:
        raise AssertionError(f"{type(algorithm).__name__}.feedback: {error}") from error
    after = call(algorithm, "update", key, t, state, obs, decision, feedback)
    _check_state(f"{type(algorithm).__name__}.update", state, after, first="init_from_obs or init")
    _check_state(f"{where}.step", env_state, stepped[0], first="init")
    _rehearse_measures(call, algorithm, environment, (state, env_state, obs, decision))
    return calls


def _rehearse_measures(
    call: Callable[..., Any], algorithm: Any, environment: Environment, args: tuple[Any, ...]
) -> None:
    """Trace the optional methods from which the loop computes metrics, on states, an observation and a decision."""
    state, env_state, obs, decision = args
    if isinstance(environment, Admits):
        call(environment, "admits", env_state, obs, decision)
    if isinstance(algorithm, Stops):
        call(algorithm, "stopped", state)
    recommendation = call(algorithm, "recommend", state) if isinstance(algorithm, Recommends) else None
    if isinstance(environment, Evaluates):
        call(environment, "at_record", env_state, recommendation)


def _check_step(name: str, stepped: Any) -> None:
    """Assert that a round of an environment has a state, and feedback and an outcome with named fields."""
    is_triple = isinstance(stepped, tuple) and len(stepped) == 3
    assert is_triple, f"{name} returned {_kind(stepped)}: return (state, feedback, outcome)"
    for part, value in zip(("feedback", "outcome"), stepped[1:], strict=True):
        assert hasattr(value, "_fields"), f"{name} returned {_kind(value)} as {part}: return a NamedTuple"


def _stored_shapes(state: State) -> Any:
    """Return the shapes of a state during a run, in which no array is weakly typed."""
    return jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), state)


def _check_arm_decision(algorithm: Any, decision: Decision, obs: Obs) -> None:
    """Assert that a decision has the fields, shapes and types that arms require; its type may be the user's own."""
    name = f"{type(algorithm).__name__}.select"
    mend = "return ArmDecision(index, obs.arms[index])"
    # Fields of a NamedTuple, since its attribute `index` may be the method of tuples.
    fields: tuple[str, ...] | None = getattr(decision, "_fields", None)
    is_plain = issubclass(type(decision), (jax.ShapeDtypeStruct, tuple, list, dict, type(None)))
    assert fields is not None or not is_plain, f"{name} returned {_kind(decision)}, not a decision: {mend}"
    for field in ("index", "x"):
        has_field = hasattr(decision, field) if fields is None else field in fields
        assert has_field, f"{name} returned {type(decision).__name__} without {field}: {mend}"
    index, x, arm_shape = decision.index, decision.x, obs.arms.shape[1:]
    with translate(
        f"{name}: the index of its decision is {_kind(index)}, not one whole number (jnp.argmax returns one)"
    ):
        chex.assert_type(index, int)
        chex.assert_shape(index, ())
    with translate(
        f"{name}: the arm of its decision has shape {x.shape}, but the arms in the observation have {arm_shape}: {mend}"
    ):
        chex.assert_shape(x, arm_shape)


def _check_set_decision(algorithm: Any, decision: SetDecision) -> None:
    """Assert that the items of a decision are a vector of whole numbers."""
    name, items = f"{type(algorithm).__name__}.select", decision.items
    with translate(f"{name}: the items of its decision are {_kind(items)}, not an array [m] of whole numbers"):
        chex.assert_type(items, int)
        chex.assert_rank(items, 1)


def _check_pair_decision(algorithm: Any, decision: PairDecision) -> None:
    """Assert that both arms of a decision are whole numbers."""
    name = f"{type(algorithm).__name__}.select"
    for field in ("first", "second"):
        arm = getattr(decision, field)
        with translate(
            f"{name}: {field} of its decision is {_kind(arm)}, not one whole number (jnp.argmax returns one)"
        ):
            chex.assert_type(arm, int)
            chex.assert_shape(arm, ())


def _check_team_decision(algorithm: Any, decision: TeamDecision) -> None:
    """Assert that the arms of a decision are a vector of whole numbers."""
    name, index = f"{type(algorithm).__name__}.select", decision.index
    with translate(f"{name}: the index of its decision is {_kind(index)}, not an array [P] of whole numbers"):
        chex.assert_type(index, int)
        chex.assert_rank(index, 1)


def _check_state(name: str, before: object, after: object, first: str) -> None:
    """Assert that a method returns a state with the structure, shapes and types of the first state.

    Args:
      name: name of the method.
      before: shapes of the first state.
      after: shapes of the returned state.
      first: names of the methods that make the first state.
    """
    assert after is not None or before is None, (
        f"{name} returned None: it must return the next state (is there a `return` on every path?)"
    )
    with translate(
        f"{name} returns a state whose structure, {_kind(after)}, differs from that of {first}, {_kind(before)}: a "
        "compiled loop needs a state whose structure does not change from round to round"
    ):
        chex.assert_trees_all_equal_structs(before, after)
    for (path, x), y in zip(jax.tree.leaves_with_path(before), jax.tree.leaves(after), strict=True):
        leaf = f"{name}: state{jax.tree_util.keystr(path)}"
        with translate(
            f"{leaf} changes its shape from {x.shape} to {y.shape} in one round: keep the size fixed (write at an "
            "index, or add)"
        ):
            chex.assert_equal_shape([x, y])
        with translate(
            f"{leaf} changes from {x.dtype} to {y.dtype} in one round: start with that dtype, or cast with .astype"
        ):
            chex.assert_trees_all_equal_dtypes(x, y)


def find_repeated_key(call: Call) -> str | None:
    """Return an error message if a method uses its key twice, otherwise None."""
    is_repeated = has_repeated_draw(call.program)
    traced = jax.jit(jaxpr_as_fun(call.program))
    with jax.debug_key_reuse(True):  # examines the program under `jit`; the Python of the method does not run again
        try:
            jax.eval_shape(traced, *jax.tree.leaves(call.args))
        except jax.errors.KeyReuseError:
            is_repeated = True
    if not is_repeated:
        return None
    return (
        f"{call.name} uses a key twice, so that two draws return the same numbers: make separate keys by "
        "`first, second = jax.random.split(key)`, or pass different values of `counter` to jaxbandits.rng"
    )


def trace(call: Call) -> Any:
    """Trace the program of a call again, and return its closed jaxpr."""
    return jax.make_jaxpr(lambda *args: call.function(*args))(*call.args)


def _kind(value: Any) -> str:
    """Describe a value by its kind, shape and type."""
    if value is None:
        return "None"
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"a number of type {value.dtype}" if value.shape == () else f"an array of shape {tuple(value.shape)}"
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return f"a tuple of {len(value)}"
    return f"a {type(value).__name__}"


def _dims(algorithm: Algorithm, environment: Environment, calls: dict[str, Call]) -> str:
    """Return a hint if algorithm and environment have different dimensions, the usual cause of shape errors."""
    dim, seen = getattr(algorithm, "dim", None), getattr(environment, "dim", None)
    observed = calls.get("environment.observe")
    if observed is not None and isinstance(observed.out, ArmObs):
        seen = None if observed.out.arms.ndim == 1 else observed.out.arms.shape[1]
    if dim is None or seen is None or isinstance(dim, jax.Array) or dim == seen:
        return ""
    return (
        f" ({type(algorithm).__name__} has dim={dim}, but {type(environment).__name__} has dim={seen}: make them equal)"
    )


def _explain(obj: object, method: str, error: Exception) -> str:
    """Return the message for an error: class, method and line, what was found, and a remedy."""
    where = f"{type(obj).__name__}.{method}{_line(obj, method, error)}"
    errors = jax.errors
    if isinstance(error, errors.TracerBoolConversionError):
        return (
            f"{where} uses as a condition in Python (if, while, and, or, min, max) a value that is known only when "
            "the program runs: use jnp.where(condition, a, b), or jax.lax.cond for a branch on t"
        )
    if isinstance(error, (errors.TracerArrayConversionError, errors.TracerIntegerConversionError)):
        return (
            f"{where} turns a value that is known only when the program runs into a NumPy array or a Python number: "
            "use jax.numpy instead of numpy, and static() fields for sizes"
        )
    if isinstance(error, errors.ConcretizationTypeError):
        return (
            f"{where} needs a value that is known only when the program runs (float, int, a shape): compute with it in "
            "jax.numpy, and make sizes static() fields"
        )
    if isinstance(error, dataclasses.FrozenInstanceError):
        return f"{where} changes a field of the object, which is frozen: values that change belong in the state"
    text = " ".join(str(error).split("\n\n")[0].split())
    return f"{where} raises {type(error).__name__}: {text[:200]}; does the environment suit the learner?"


def _line(obj: object, method: str, error: BaseException) -> str:
    """Return the number and text of the innermost line of the method's file in the traceback."""
    with contextlib.suppress(AttributeError):
        file = getattr(type(obj), method).__code__.co_filename
        for frame in reversed(list(_frames(error, file))):
            text = linecache.getline(file, frame).strip()
            return f", line {frame}" + (f" ({format_value(text)[1:-1]})" if text else "")
    return ""


def _frames(error: BaseException, file: str) -> Iterator[int]:
    for frame, line in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_filename == file:
            yield line
