"""Bad inputs by the thousand: every public parameter of some doors with every value of a table, and what comes of it.

    python -m tests.system.generated_inputs    each case that is accepted, or whose message is not one line

A door is a call with one argument open. What its declaration says is legal is decided here, by the type and the range
of the parameter and not by the code behind it: True, False, or None where only the code can know (an array of numbers
for a field that may be swept). A case is wrong if a value that is not legal is accepted, or if the answer is anything
but an `InputError` of one line that names the parameter.
"""

import dataclasses
import datetime
import decimal
import fractions
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits import Grid, InputError, Sweep, compare, race, simulate, time_rounds
from jaxbandits.algorithms import ALGORITHMS
from jaxbandits.base import ranges
from jaxbandits.base.pytree import is_static, named_constructors, validate
from jaxbandits.data import LoggedReplay, RecordedTrace, TableBandit, evaluate
from jaxbandits.environments import ENVIRONMENTS
from jaxbandits.reproduction import TABLES
from jaxbandits.simulation import StoppingRule, product
from jaxbandits.sweeps.load import load_sweep
from jaxbandits.sweeps.merge import merge_sweeps
from jaxbandits.sweeps.run import run_sweep
from jaxbandits.sweeps.status import read_status
from jaxbandits.sweeps.sweep import plan_sweep
from tests.toy_problems import Noisy, Shrink

VALUES: dict[str, Any] = {
    "text": "x",
    "text of a number": "3",
    "no text": "",
    "NUL": "a\0b",
    "half a character": "\ud800",
    "bytes": b"3",
    "None": None,
    "nan": float("nan"),
    "inf": float("inf"),
    "-inf": float("-inf"),
    "negative": -1,
    "negative fraction": -0.5,
    "zero": 0,
    "negative zero": -0.0,
    "subnormal": 5e-324,
    "fraction": 2.5,
    "whole float": 3.0,
    "whole NumPy float": np.float32(3.0),
    "huge float": 1e308,
    "int beyond 32 bits": 2**40,
    "int beyond 64 bits": 2**70,
    "int beyond floats": 10**400,
    "flag": True,
    "NumPy flag": np.bool_(False),
    "complex": 1j,
    "empty list": [],
    "nested": [[[1]]],
    "ragged": [[1], [1, 2]],
    "list of text": ["a", "b"],
    "list of None": [None],
    "tuple of flags": (True, False),
    "dict": {},
    "dict of text": {"a": "b"},
    "set": {1},
    "object": object(),
    "class": int,
    "function": len,
    "generator": (i for i in ()),
    "range": range(0),
    "array of text": np.array(["a"]),
    "array of objects": np.array([object()]),
    "array of dates": np.array(["2020-01-01"], "datetime64[D]"),
    "array of flags": np.array([True]),
    "array without entries": np.zeros((0, 2)),
    "array of nan": np.array([np.nan, 1.0]),
    "array of three axes": np.ones((2, 3, 4)),
    "array of complex": np.array([1j]),
    "masked": np.ma.masked_array([1.0, 2.0], [True, False]),
    "all masked": np.ma.masked_all(3),
    "masked number": np.ma.masked,
    "record": np.zeros(1, [("a", int)]),
    "date": datetime.date(2020, 1, 1),
    "duration": np.timedelta64(1, "s"),
    "not a time": np.datetime64("NaT", "s"),
    "decimal": decimal.Decimal("0.5"),
    "ratio": fractions.Fraction(1, 2),
    "key": jax.random.key(0),
    "error": ValueError("x"),
}


class Door(NamedTuple):
    """A call with one argument open."""

    name: str
    call: Callable[[Any], Any]
    legal: Callable[[Any], bool | None]
    named: tuple[str, ...]  # an answer contains one of these


class Finding(NamedTuple):
    """A case that is answered wrongly."""

    door: str
    value: str
    answer: str

    def __str__(self) -> str:
        return f"{self.door} = {self.value}: {self.answer}"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, (bool, np.timedelta64))


def _inside(value: Any, interval: str) -> bool:
    low, high = (float(end) for end in interval[1:-1].split(","))
    try:
        exact = float(value)
    except OverflowError:
        return False
    with np.errstate(over="ignore"):
        held = float(np.asarray(exact).astype(jnp.result_type(float)))
    if np.isnan(held) or (np.isinf(held) and np.isfinite(exact)):
        return False
    return (held >= low if interval[0] == "[" else held > low) and (
        held <= high if interval[-1] == "]" else held < high
    )


def whole(interval: str, *others: Any) -> Callable[[Any], bool]:
    """Return a test for ints of an interval, or one of some other values."""

    def legal(value: Any) -> bool:
        is_int = _is_number(value) and isinstance(value, (int, np.integer))
        return (is_int and _inside(value, interval)) or any(value is other for other in others)

    return legal


def real(interval: str, *others: Any) -> Callable[[Any], bool]:
    """Return a test for numbers of an interval, or one of some other values."""
    return lambda value: (_is_number(value) and _inside(value, interval)) or any(value is other for other in others)


def flag(value: Any) -> bool:
    """Return whether a value is a flag."""
    return isinstance(value, (bool, np.bool_))


def is_never_legal(value: Any) -> bool:
    """Return False: every value of the table is wrong."""
    del value
    return False


def only(*values: Any) -> Callable[[Any], bool]:
    """Return a test for some values."""
    return lambda value: any(value is other for other in values)


def arrays(value: Any) -> bool | None:
    """Return None for what can be an array of numbers, or of labels, else False."""
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):
        return False
    plain = array.dtype.kind in "iufbUS" and array.size > 0
    finite = plain and (array.dtype.kind not in "f" or bool(np.isfinite(array).all()))
    return None if finite and not np.ma.isMaskedArray(value) else False


def _field(field: Any) -> Callable[[Any], bool | None]:
    """Return the test that the declaration of a field makes."""
    allowed, static = field.metadata.get("range"), is_static(field)

    def legal(value: Any) -> bool | None:
        if value is None:
            return field.default is None
        if allowed is None:
            return None
        if allowed == ranges.BOOL:
            return flag(value)
        if static:
            return whole(allowed)(value)
        array = arrays(value)
        if not _is_number(value) and array is None:
            return None if np.asarray(value).dtype.kind in "iuf" else False  # an array to sweep over
        return _is_number(value) and _inside(value, allowed)

    return legal


def _with(function: Callable[..., Any], given: dict[str, Any], name: str) -> Callable[[Any], Any]:
    return lambda value: function(**{**given, name: value})


FAMILIES = ("armed/", "explore/", "contextual/", "combinatorial/", "duels/", "teams/", "data/")


def field_doors() -> Iterator[Door]:
    """Yield the fields of every learner and environment of some families."""
    for name, entry in sorted((ALGORITHMS | ENVIRONMENTS).items()):
        if name.startswith(FAMILIES):
            for field in dataclasses.fields(entry.example):

                def call(value: Any, entry: Any = entry, field: Any = field) -> Any:
                    return validate(dataclasses.replace(entry.example, **{field.name: value}))

                yield Door(f"{name}.{field.name}", call, _field(field), (field.name,))


PRESET_ARGUMENTS: dict[str, Any] = {
    "n_arms": 5, "n_experts": 4, "dim": 2, "shared_dim": 2, "horizon": 200, "changes": 3, "gap": 0.2, "delta": 0.1,
    "means": np.array([0.2, 0.5, 0.9]), "starts": np.array([0, 9]), "eps": 0.5, "variance": 1.0, "variance_bound": 2.0,
    "moment_bound": 2.0, "regret": 5.0, "best": 1, "arms": np.eye(3), "theta": np.ones(3) / 3, "budget": 100,
    "n_items": 6, "list_size": 3, "n_players": 2,
}  # fmt: skip


def preset_doors() -> Iterator[Door]:
    """Yield the arguments of the presets of the same families that have a declared default or an example above."""
    for name, entry in sorted((ALGORITHMS | ENVIRONMENTS).items()):
        if not name.startswith(FAMILIES[:-1]):
            continue
        for method, preset in named_constructors(type(entry.example)).items():
            parameters = [p for p in inspect.signature(preset).parameters.values() if p.kind is p.KEYWORD_ONLY]
            required = [p for p in parameters if p.default is p.empty]
            given = {p.name: PRESET_ARGUMENTS.get(p.name) for p in required}
            for p in required if given.keys() <= PRESET_ARGUMENTS.keys() else ():
                yield Door(
                    f"{name}.{method}.{p.name}",
                    lambda value, preset=preset, given=given, p=p: validate(preset(**{**given, p.name: value})),
                    lambda value: None if _is_number(value) else arrays(value),
                    (p.name,),
                )


_A, _E = Shrink(), Noisy()
_RUN = {"algorithm": _A, "environment": _E, "horizon": 3, "seeds": 2, "record_points": 2, "progress": False, "width": 1}
_COUNT = f"[1, {2**31 - 1}]"
_OPTIONS: dict[str, Callable[[Any], bool | None]] = {
    "seed": whole(f"[0, {2**32 - 1}]"),
    "first_seed": whole(f"[0, {2**31 - 3}]"),
    "width": lambda value: value is None,
    "workers": whole(_COUNT, None),
    "devices": only(None),
    "seconds_per_call": real("(0, inf)"),
    "save_every": real("[0, inf]"),
    "progress": flag,
    "meters": lambda value: None if isinstance(value, (list, tuple)) and not value else False,
}
_ROUNDS = {"horizon": whole(_COUNT), "seeds": whole(_COUNT)}


def _records(value: Any) -> bool | None:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1  # more than rounds: every round


def run_doors(directory: Path) -> Iterator[Door]:
    """Yield the arguments of `simulate`, `compare`, `race`, `time_rounds`, sweeps and tuning."""
    for name, legal in {**_ROUNDS, **_OPTIONS, "record_points": _records}.items():
        yield Door(f"simulate.{name}", _with(simulate, _RUN, name), legal, (name,))
    for name in ("algorithm", "environment"):
        yield Door(f"simulate.{name}", _with(simulate, _RUN, name), is_never_legal, (name,))
    for k in ("count", "rounds"):
        made = {"count": lambda v: ("log", v), "rounds": lambda v: [v]}[k]
        legal = {"count": whole("[1, inf)"), "rounds": whole("[1, 3]")}[k]
        call = lambda value, made=made: simulate(**{**_RUN, "record_points": made(value)})  # noqa: E731
        yield Door(f"simulate.record_points.{k}", call, legal, ("record_points", "record points"))
    both = {"algorithms": {"a": _A, "b": _A}, "environment": _E, "horizon": 3, "seeds": 2, "progress": False}
    for name in ("algorithms", "environment", "until"):
        named = ("algorithm", "label", "compare") if name == "algorithms" else (name,)
        yield Door(
            f"compare.{name}", _with(compare, both, name), only(None) if name == "until" else is_never_legal, named
        )
    for name, legal in {
        "metric": lambda value: value is None or (isinstance(value, str) and value != ""),
        "looks": whole("[1, 1000]"),
        "level": _level,
        "margin": real("[0, inf)"),
    }.items():
        yield Door(f"StoppingRule.{name}", lambda value, name=name: StoppingRule(**{name: value}), legal, (name,))
    grid = Grid(_A, {"rate": [0.1, 0.2]})
    racing = {"grid": grid, "environment": _E, "horizon": 3, "seeds": 2, "progress": False}
    for name, legal in {
        **_ROUNDS,
        "grid": is_never_legal,
        "environment": is_never_legal,
        "metric": only(None),
        "error": real("(0, 0.5]"),
        "tolerance": real("[0, 1)"),
        **{k: _OPTIONS[k] for k in ("seed", "workers", "save_every")},
    }.items():
        yield Door(f"race.{name}", _with(race, racing, name), legal, (name, "Grid", "grid"))
    timing = {"algorithms": [_A], "environment": _E, "horizon": 4, "repeats": 1, "patience": 0.1, "progress": False}
    for name, legal in {
        "horizon": whole(_COUNT),
        "repeats": whole(_COUNT),
        "stretches": whole(_COUNT),
        "patience": real("(0, inf]"),
        "progress": flag,
    }.items():
        yield Door(f"time_rounds.{name}", _with(time_rounds, timing, name), legal, (name,))
    yield Door("product", product, lambda value: None if isinstance(value, dict) else False, ("grid",))
    sweeping = {"algorithms": [_A], "environment": _E, "horizon": 3, "seeds": 2}
    for name, legal in {
        **_ROUNDS,
        "record_points": _records,
        "part_trials": whole(_COUNT, None),
        "precision": only(None),
        "metrics": lambda value: value is None,
        "algorithms": is_never_legal,
        "environment": is_never_legal,
        **{k: _OPTIONS[k] for k in ("seed", "first_seed", "width", "meters")},
    }.items():
        named = ("algorithm", "label", "compare") if name == "algorithms" else (name,)
        yield Door(
            f"Sweep.{name}", lambda value, name=name: plan_sweep(Sweep(**{**sweeping, name: value})), legal, named
        )
    running = {"sweep": Sweep(**sweeping), "out": directory / "sweep", "progress": False}
    for name, legal in {
        "shard": is_never_legal,
        "fail_fast": flag,
        "retry_failed": flag,
        **{k: _OPTIONS[k] for k in ("workers", "devices", "save_every", "progress")},
    }.items():
        yield Door(f"run_sweep.{name}", _with(run_sweep, running, name), legal, (name,))
    run = _with(run_sweep, {"out": directory / "s", "progress": False}, "sweep")
    yield Door("run_sweep.sweep", run, is_never_legal, ("sweep", "file"))
    for door in (load_sweep, read_status, lambda value: merge_sweeps([value], directory / "m")):
        yield Door(f"{getattr(door, '__name__', 'merge_sweeps')}.path", door, is_never_legal, ("directory", "sweep"))
    yield Door(
        "merge_sweeps", lambda value: merge_sweeps(value, directory / "m"), is_never_legal, ("director", "sweep")
    )
    name, learner = next(iter(TABLES["glm"].learners.items()))
    for argument in ("horizon", "seeds"):
        call = lambda value, argument=argument: TABLES["glm"].tune(name, learner, **{argument: value})  # noqa: E731
        yield Door(f"tune.{argument}", call, whole(_COUNT, None), (argument,))


def data_doors() -> Iterator[Door]:
    """Yield the arguments of constructors of bandits made of data, and of the evaluation of a policy."""
    features, labels = np.eye(4), np.array([0, 1, 0, 1])
    log = {"index": labels, "reward": np.ones(4), "n_arms": 2, "seen": features}
    trace = {"arms": np.ones((4, 2, 3)), "reward": np.ones((4, 2))}
    events = {
        "log": labels, "reward": np.ones(4), "propensity": np.full(4, 0.5), "policy": np.full((4, 2), 0.5),
        "model": None, "level": 0.95,
    }  # fmt: skip
    for name, function, given in (
        ("TableBandit.from_table", TableBandit.from_table, {"features": features, "labels": labels}),
        ("TableBandit.from_rewards", TableBandit.from_rewards, {"rewards": np.ones((4, 2)), "seen": features}),
        ("LoggedReplay.from_log", LoggedReplay.from_log, log),
        ("RecordedTrace.from_arrays", RecordedTrace.from_arrays, trace),
        ("evaluate", evaluate, events),
    ):
        for argument in given:
            legal = {"n_arms": whole("[1, inf)"), "level": _level}.get(argument, arrays)
            if argument in ("n_arms", "seen", "model"):
                legal = _or_none(legal)
            # An array of actions is numbered as `actions` have it, and errors name these.
            yield Door(f"{name}.{argument}", _with(function, given, argument), legal, (*given, "action"))


def _level(value: Any) -> bool | None:
    """A level is a number of the host, where the least double is one."""
    return True if isinstance(value, float) and 0.0 < value < 1.0 else real("(0, 1)")(value)


def _or_none(legal: Callable[[Any], bool | None]) -> Callable[[Any], bool | None]:
    return lambda value: True if value is None else legal(value)


def answer(door: Door, value: str) -> Finding | None:
    """Return what is wrong with the answer of a door to a value; None if nothing is."""
    given = VALUES[value]
    legal = door.legal(given)
    if legal:
        return None  # it is not for this table to run it
    try:
        door.call(given)
    except InputError as error:
        text = str(error)
        if "\n" in text or len(text) > 400:
            return Finding(door.name, value, f"more than a line: {text}")
        if legal is False and not any(name in text for name in door.named):
            return Finding(door.name, value, f"another parameter is named: {text}")
        return None
    except Exception as error:
        return Finding(door.name, value, f"{type(error).__name__}: {' '.join(str(error).split())[:200]}")
    return None if legal is None else Finding(door.name, value, "accepted in silence")


def main() -> None:
    import tempfile
    import warnings

    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as directory:
        doors = [*field_doors(), *preset_doors(), *run_doors(Path(directory)), *data_doors()]
        found = [finding for door in doors for value in VALUES if (finding := answer(door, value)) is not None]
    print(*found, sep="\n")
    print(f"{len(found)} of {len(doors) * len(VALUES)} answers of {len(doors)} doors")


if __name__ == "__main__":
    main()
