"""One round traced method by method: what breaks is said of the method that breaks it, and how to mend it."""

import contextlib
import dataclasses
import linecache
import traceback
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.base.errors import shown
from jaxbandits.base.pytree import as_arrays
from jaxbandits.tracing.jax_compat import jaxpr_as_fun
from jaxbandits.types import ArmObs, InitFromObs, narrow


class Call(NamedTuple):
    """One call of a method of the protocol: nothing is computed, only shapes are known."""

    of: Any  # the algorithm or environment as the user made it
    method: str
    function: Callable[..., Any]  # of the object with array leaves, and of its arguments
    args: tuple[Any, ...]  # shapes
    out: Any  # shapes
    program: Any  # the closed jaxpr

    @property
    def name(self) -> str:
        """Class and method."""
        return f"{type(self.of).__name__}.{self.method}"


def rehearse(algorithm: Any, environment: Any) -> dict[str, Call]:
    """The calls of a first round by method, each checked: it can be traced, and returns what the next one takes.

    Raises:
      AssertionError: a sentence that names the method, what was seen, and how to mend it.
    """
    calls: dict[str, Call] = {}
    told_by = algorithm.feedback
    arrays = {id(obj): as_arrays(obj) for obj in (algorithm, environment)}
    key = jax.eval_shape(lambda: jax.random.key(0, impl="threefry2x32"))
    t = jax.ShapeDtypeStruct((), jnp.int32)

    def call(of: Any, method: str, *args: Any) -> Any:
        def function(obj: Any, *args: Any) -> Any:
            return getattr(obj, method)(*args)

        args = (arrays[id(of)], *args)
        try:
            program, shapes = jax.make_jaxpr(lambda *args: function(*args), return_shape=True)(*args)
        except Exception as error:  # whatever the user's code raises
            raise AssertionError(_explained(of, method, error) + _dims(algorithm, environment, calls)) from error
        avals: list[Any] = program.out_avals
        leaves = [jax.ShapeDtypeStruct(x.shape, x.dtype, weak_type=x.weak_type) for x in avals]
        out = jax.tree.unflatten(jax.tree.structure(shapes), leaves)  # shapes of an older JAX lack weak types
        calls[f"{'environment' if of is environment else 'algorithm'}.{method}"] = Call(
            of, method, function, args, out, program
        )
        return out

    env_state = call(environment, "init", key)
    obs = call(environment, "observe", key, t, env_state)
    state = call(algorithm, "init", key)
    if isinstance(algorithm, InitFromObs):
        state = call(algorithm, "init_from_obs", state, obs)
    decision = call(algorithm, "select", key, t, state, obs)
    _check_decision(algorithm, decision, obs)
    stepped = call(environment, "step", key, t, env_state, obs, decision)
    where = type(environment).__name__
    assert isinstance(stepped, tuple) and len(stepped) == 3, (
        f"{where}.step returned {_kind(stepped)}: return (state, feedback, outcome)"
    )
    try:
        told = narrow(stepped[1], told_by)
    except ValueError as error:
        raise AssertionError(f"{type(algorithm).__name__}.feedback: {error}") from error
    after = call(algorithm, "update", key, t, state, obs, decision, told)
    _check_state(type(algorithm).__name__, "update", state, after)
    _check_state(where, "step", env_state, stepped[0])
    return calls


def _check_decision(algorithm: Any, decision: Any, obs: Any) -> None:
    name = f"{type(algorithm).__name__}.select"
    arms = isinstance(obs, ArmObs)
    mend = (
        "ArmDecision(index, obs.arms[index])" if arms else "a decision of jaxbandits.types, such as PointDecision.at(x)"
    )
    assert hasattr(decision, "_fields"), f"{name} returned {_kind(decision)}, not a decision: return {mend}"
    if not arms:
        return
    for field in ("index", "x"):
        assert field in decision._fields, f"{name} returned {type(decision).__name__} without {field}: return {mend}"
    index, x, arm = decision.index, decision.x, obs.arms.shape[1:]
    whole = jnp.issubdtype(index.dtype, jnp.integer) and index.shape == ()
    assert whole, f"{name}: the index of its decision is {_kind(index)}, not one whole number (jnp.argmax gives one)"
    assert x.shape == arm, f"{name}: the arm of its decision has shape {x.shape}, those shown have {arm}: return {mend}"


def _check_state(name: str, method: str, before: Any, after: Any) -> None:
    """`method` returns the state that `init` began with: structure, shapes, types."""
    first = "init_from_obs" if method == "update" else "init"
    assert after is not None or before is None, (
        f"{name}.{method} returned None: it must return the next state (is there a `return` on every path?)"
    )
    same = jax.tree.structure(before) == jax.tree.structure(after)
    assert same, (
        f"{name}.{method} returns a state of another structure, {_kind(after)}, than {first} or init, {_kind(before)}: "
        "the state changes its structure in one round, which a compiled loop cannot do"
    )
    for (path, x), y in zip(jax.tree.leaves_with_path(before), jax.tree.leaves(after), strict=True):
        where = f"{name}.{method}: state{jax.tree_util.keystr(path)} changes"
        assert x.shape == y.shape, (
            f"{where} its shape from {x.shape} to {y.shape} in one round: keep a fixed size (write at an index, add)"
        )
        assert x.dtype == y.dtype, (
            f"{where} from {x.dtype} to {y.dtype} in one round: begin with that type, or cast with .astype"
        )
        weak = getattr(x, "weak_type", False), getattr(y, "weak_type", False)
        assert weak[0] == weak[1], (
            f"{where} its weak type in one round: begin with an array, jnp.zeros(()), not with a Python number"
        )


def repeated_keys(call: Call) -> str | None:
    """Return an error message if a method uses its key twice, otherwise None."""
    traced = jax.jit(jaxpr_as_fun(call.program))
    with jax.debug_key_reuse(True):  # looks at what is traced below `jit`: the program, its Python does not run again
        try:
            jax.eval_shape(traced, *jax.tree.leaves(call.args))
        except jax.errors.KeyReuseError:
            return (
                f"{call.name} uses a key twice, so that two draws are the same numbers: take keys of their own by "
                "`first, second = jax.random.split(key)`"
            )
    return None


def trace(call: Call) -> Any:
    """The program of a call, traced now."""
    return jax.make_jaxpr(lambda *args: call.function(*args))(*call.args)


def _kind(value: Any) -> str:
    """A value in words: never its numbers."""
    if value is None:
        return "None"
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"a number of type {value.dtype}" if value.shape == () else f"an array of shape {tuple(value.shape)}"
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return f"a tuple of {len(value)}"
    return f"a {type(value).__name__}"


def _dims(algorithm: Any, environment: Any, calls: dict[str, Call]) -> str:
    """The usual reason why shapes do not fit."""
    dim, seen = getattr(algorithm, "dim", None), getattr(environment, "dim", None)
    observed = calls.get("environment.observe")
    if observed is not None and isinstance(observed.out, ArmObs):
        seen = observed.out.arms.shape[1]
    if dim is None or seen is None or isinstance(dim, jax.Array) or dim == seen:
        return ""
    return f" ({type(algorithm).__name__} has dim={dim}, {type(environment).__name__} {seen}: make them equal)"


def _explained(of: Any, method: str, error: Exception) -> str:
    """Class, method and line, what was seen there, how to mend it."""
    where = f"{type(of).__name__}.{method}{_line(of, method, error)}"
    errors = jax.errors
    if isinstance(error, errors.TracerBoolConversionError):
        return (
            f"{where} asks in Python (if, while, and, or, min, max) for a value that is known only when the program "
            "runs: use jnp.where(condition, a, b), or jax.lax.cond for a branch on t"
        )
    if isinstance(error, (errors.TracerArrayConversionError, errors.TracerIntegerConversionError)):
        return (
            f"{where} turns a value that is known only when the program runs into a NumPy array or a Python number: "
            "use jax.numpy in place of numpy, and static() fields for sizes"
        )
    if isinstance(error, errors.ConcretizationTypeError):
        return (
            f"{where} needs a value that is known only when the program runs (float, int, a shape): compute with it in "
            "jax.numpy, and make sizes static() fields"
        )
    if isinstance(error, dataclasses.FrozenInstanceError):
        return f"{where} changes a field of the object, which is frozen: what changes belongs into the state"
    text = " ".join(str(error).split("\n\n")[0].split())
    return f"{where} raises {type(error).__name__}: {text[:200]}"


def _line(of: Any, method: str, error: BaseException) -> str:
    """The last line of the user's own file on the way to the error, and what stands there."""
    with contextlib.suppress(AttributeError):
        file = getattr(type(of), method).__code__.co_filename
        for frame in reversed(list(_frames(error, file))):
            text = linecache.getline(file, frame).strip()
            return f", line {frame}" + (f" ({shown(text)[1:-1]})" if text else "")
    return ""


def _frames(error: BaseException, file: str) -> Iterator[int]:
    for frame, line in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_filename == file:
            yield line
