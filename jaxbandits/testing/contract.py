"""The contract of an algorithm and an environment, as checks on any pair of instances.

`check_algorithm(algorithm, environment)` runs all of them; each is a function of its own, named after what it asserts.
They raise `AssertionError` with one line that says what broke.
"""

import dataclasses
import inspect
import tempfile
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError, shown
from jaxbandits.base.pytree import as_arrays, field_table, replace, validate
from jaxbandits.simulation import Grid, Trials, compare, compilation
from jaxbandits.simulation.loop import Carry, init_trial, play_round
from jaxbandits.testing import rehearsal, speed
from jaxbandits.types import ArmObs, InitFromObs, Recommends

_ROUNDS = 40
_ARGUMENTS = {
    "init": ["key"],
    "init_from_obs": ["state", "obs"],
    "select": ["key", "t", "state", "obs"],
    "update": ["key", "t", "state", "obs", "decision", "feedback"],
    "observe": ["key", "t", "state"],
    "step": ["key", "t", "state", "obs", "decision"],
}


def check_algorithm(algorithm: Any, environment: Any, *, quick: bool = False) -> None:
    """Runs every check of an algorithm on an environment that suits it, and prints what would make it faster, if any.

    Args:
      algorithm: a small concrete instance.
      environment: a small concrete instance.
      quick: only look at how its methods are traced, which takes seconds; the rest compiles a dozen programs.

    Raises:
      AssertionError: a sentence or two: the broken promise, what was seen, how to mend it.
    """
    for check in TRACED_CHECKS if ranges.flag("quick", quick) else ALGORITHM_CHECKS:
        check(algorithm, environment)
    if not quick:
        for line in speed.advice(algorithm, environment):
            print(line)


def check_environment(environment: Any) -> None:
    """Checks what an environment promises on its own: names and ranges (with a learner, `check_algorithm` does more).

    Raises:
      AssertionError: naming the broken promise.
    """
    has_argument_names(environment, ("init", "observe", "step"))
    is_a_pytree_with_ranges(environment)


def has_argument_names(obj: Any, methods: tuple[str, ...]) -> None:
    """The words of the protocol, in its order."""
    assert not isinstance(obj, type), f"{obj.__name__} is a class: make an instance of it"
    for method in methods:
        assert hasattr(obj, method), f"{type(obj).__name__} has no method {method}"
        found = list(inspect.signature(getattr(obj, method)).parameters)
        assert found == _ARGUMENTS[method], f"{type(obj).__name__}.{method} takes {found}, not {_ARGUMENTS[method]}"


def is_a_pytree_with_ranges(obj: Any) -> None:
    """Frozen, hashable structure, every number a field with a range, and every field with a meaning."""
    name = type(obj).__name__
    frozen = dataclasses.is_dataclass(obj) and _parameters(obj).frozen
    assert frozen, f"{name} must be a frozen dataclass: decorate the class with @pytree"
    fields = {field.name for field in dataclasses.fields(obj)}
    for cls in reversed(type(obj).__mro__):
        annotated = inspect.get_annotations(cls)
        for attribute, value in vars(cls).items():
            number = isinstance(value, (bool, int, float, np.ndarray, np.generic, jax.Array))
            forgotten = number and not attribute.startswith("_") and attribute not in fields | annotated.keys()
            assert not forgotten, (
                f"{name}.{attribute} has no annotation, so it is no field and nobody can set or sweep it: write "
                f'`{attribute}: Any = param({shown(value)}, "(0, inf)", "what it means")`, or `ClassVar` for a constant'
            )
    hash(jax.tree.structure(obj))
    validate(obj)
    for row in field_table(obj):
        assert row.doc, (
            f"field {row.name} has no meaning (doc): write "
            f'`{row.name}: Any = param(default, "(0, inf)", "what it means")`, or static(...) for a size'
        )


def _parameters(obj: Any) -> Any:
    return type(obj).__dataclass_params__


def protocol_names_and_fields(algorithm: Any, environment: Any) -> None:
    """Both sides speak the protocol."""
    has_argument_names(algorithm, ("init", "select", "update"))
    if isinstance(algorithm, InitFromObs):
        has_argument_names(algorithm, ("init_from_obs",))
    name = type(algorithm).__name__
    mend = "say what it is told by `feedback: ClassVar[type] = Reward`"
    assert hasattr(algorithm, "feedback"), f"{name} has no feedback: {mend}"
    fields = {field.name for field in dataclasses.fields(algorithm)} if dataclasses.is_dataclass(algorithm) else ()
    assert "feedback" not in fields, f"{name}.feedback is a field, which is swept and saved: {mend}"
    is_a_pytree_with_ranges(algorithm)
    check_environment(environment)


def state_shape_is_fixed(algorithm: Any, environment: Any) -> None:
    """Every method can be traced and returns what the next one takes; states keep shapes, dtypes, weak types."""
    rehearsal.rehearse(algorithm, environment)


def select_is_read_only(algorithm: Any, environment: Any) -> None:
    """A round uses no key twice, `select` included, and its program is the same whenever it is traced."""
    for call in rehearsal.rehearse(algorithm, environment).values():
        repeated = rehearsal.repeated_keys(call)
        assert repeated is None, repeated
        # what a method keeps in Python between two calls (an attribute, NumPy's generator) is traced as another program
        first, second = call.program, rehearsal.trace(call)
        changed = (
            f"{call.name} is another program when it is traced again: random numbers of NumPy or Python are drawn once "
            "and then stay (draw with the key: jaxbandits.rng, jax.random); what a method keeps belongs into its state"
        )
        assert str(first.jaxpr) == str(second.jaxpr), changed
        assert len(first.consts) == len(second.consts), changed
        for x, y in zip(first.consts, second.consts, strict=True):
            assert np.array_equal(_data(x), _data(y), equal_nan=not _is_key(x)), changed


def masked_arms_are_never_played(algorithm: Any, environment: Any) -> None:
    """With one arm available, that arm is played."""
    algorithm, environment = as_arrays((algorithm, environment))
    seen = jax.eval_shape(lambda: environment.observe(_key(), jnp.int32(0), environment.init(_key())))
    if not isinstance(seen, ArmObs):
        return
    carry = _start(algorithm, environment)
    obs = environment.observe(jax.random.key(1), jnp.int32(0), carry.env_state)
    n_arms = obs.arms.shape[0]

    @jax.jit
    def played_under(mask):
        return algorithm.select(jax.random.key(2), jnp.int32(0), carry.alg_state, obs._replace(mask=mask)).index

    for k in (0, n_arms // 2, n_arms - 1):
        played = int(played_under(jnp.arange(n_arms) == k))
        assert played == k, (
            f"only arm {k} was available, arm {played} was played: give masked arms a score of -inf (obs.mask is True "
            "where an arm may be played), or choose with best_arm(obs.arms, obs.mask, score)"
        )


def stays_finite(algorithm: Any, environment: Any) -> None:
    """Zero feedback and feedback of size 1e6 leave a finite state."""
    algorithm, environment = as_arrays((algorithm, environment))
    for scale in (0.0, 1.0, 1e6):
        carry = _start(algorithm, environment)
        for t in range(3):
            carry = _round(_Told(algorithm, jnp.asarray(scale)), environment, jnp.int32(t), carry)
        for leaf in jax.tree.leaves(carry.alg_state):
            if jnp.issubdtype(leaf.dtype, jnp.floating):
                assert not np.isnan(leaf).any(), (
                    f"the state is NaN after feedback scaled by {scale:g}: guard divisions, logarithms and exponentials"
                )


def trials_do_not_depend_on_the_split(algorithm: Any, environment: Any) -> None:
    """More seeds, other calls, a checkpoint: every trial keeps its bits."""
    few = _run(algorithm, environment, seeds=3)
    for name, other in (
        ("more seeds", _run(algorithm, environment, seeds=11)),
        ("one round a call", _run(algorithm, environment, seeds=3, seconds_per_call=1e-9)),
        ("a later first seed", _run(algorithm, environment, seeds=2, first_seed=1)),
    ):
        for metric, values in few.values.items():
            start = 0 if name == "a later first seed" else 1
            theirs = other.values[metric][:, start : start + 2]
            assert np.array_equal(values[:, 1:3], theirs, equal_nan=True), (
                f"{name} changed {metric}: a trial must depend on its key and state alone, not on what Python remembers"
            )
    with tempfile.TemporaryDirectory() as directory:
        once = _run(algorithm, environment, seeds=3, checkpoint=directory)
        again = _run(algorithm, environment, seeds=3, checkpoint=directory)
    for metric, values in few.values.items():
        assert np.array_equal(values, once.values[metric], equal_nan=True), f"a checkpoint changed {metric}"
        assert np.array_equal(values, again.values[metric], equal_nan=True), f"loading a checkpoint changed {metric}"


def decisions_are_admissible(algorithm: Any, environment: Any) -> None:
    """Check that all decisions of a short run are admissible, if the environment tells."""
    inadmissible = _run(algorithm, environment, seeds=3).inadmissible
    assert not inadmissible.any(), (
        f"{int(inadmissible.sum())} of {inadmissible.size * _ROUNDS} decisions are not admissible: an arm's index lies "
        "in [0, K), a point in the domain (end update with domain.project)"
    )


def every_traced_field_can_be_swept(algorithm: Any, environment: Any) -> None:
    """A sweep over each numeric field equals separate runs, bit for bit, and compiles nothing new."""
    _run(algorithm, environment, seeds=2)
    compiled = compilation.compiled_count()
    for field, values in _sweepable(algorithm):
        swept = _run(Grid(algorithm, {field: values}), environment, seeds=2)
        for h, value in enumerate(values):
            alone = _run(replace(algorithm, field, value), environment, seeds=2)
            for metric, expected in alone.values.items():
                same = np.array_equal(swept.values[metric][h], expected[0], equal_nan=True)
                assert same, f"sweeping {field} gives another {metric} than running {field}={value:g} alone"
    assert compilation.compiled_count() == compiled, "new hyperparameter values compiled a new program"


def recommendation_is_finite(algorithm: Any, environment: Any) -> None:
    """`recommend`, where there is one, is finite from the first state on."""
    if not isinstance(algorithm, Recommends):
        return
    for leaf in jax.tree.leaves(_first_recommendation(as_arrays(algorithm))):
        assert np.isfinite(leaf).all(), (
            "the recommendation of the first state is not finite: recommend something before the first round too"
        )


TRACED_CHECKS = (protocol_names_and_fields, state_shape_is_fixed, select_is_read_only)  # nothing is compiled
ALGORITHM_CHECKS = (
    *TRACED_CHECKS,
    masked_arms_are_never_played,
    stays_finite,
    recommendation_is_finite,
    decisions_are_admissible,
    trials_do_not_depend_on_the_split,
    every_traced_field_can_be_swept,
)


def _sweepable(algorithm: Any) -> Iterator[tuple[str, list[float]]]:
    """Numeric scalar fields with two admissible values each: the example's own and one nearby."""
    for row in field_table(algorithm):
        if row.kind != "traced" or isinstance(row.value, bool) or not isinstance(row.value, (int, float)):
            continue
        for nearby in (0.9 * row.value, 1.1 * row.value):
            try:
                validate(replace(algorithm, row.name, nearby))
            except InputError:
                continue
            if np.isfinite(row.value):
                yield row.name, [float(row.value), float(nearby)]
            break


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class _Told:
    """The learner, told its feedback times a factor."""

    algorithm: Any
    scale: jax.Array

    @property
    def feedback(self) -> type:
        return self.algorithm.feedback

    def select(self, key: jax.Array, t: jax.Array, state: Any, obs: Any) -> Any:
        return self.algorithm.select(key, t, state, obs)

    def update(self, key: jax.Array, t: jax.Array, state: Any, obs: Any, decision: Any, feedback: Any) -> Any:
        scaled = jax.tree.map(lambda x: (x * self.scale).astype(x.dtype), feedback)
        return self.algorithm.update(key, t, state, obs, decision, scaled)


# Compiled once for all checks of a pair, not operation by operation.
@jax.jit
def _start(algorithm: Any, environment: Any) -> Carry:
    return init_trial(_key(), algorithm, environment, jnp.int32(3))


@jax.jit
def _round(told: _Told, environment: Any, t: jax.Array, carry: Carry) -> Carry:
    return play_round(told, environment, t, carry)[0]


@jax.jit
def _first_recommendation(algorithm: Any) -> Any:
    return algorithm.recommend(algorithm.init(_key()))


def _is_key(x: Any) -> bool:
    return jnp.issubdtype(x.dtype, jax.dtypes.prng_key)


def _data(x: Any) -> np.ndarray:
    return np.asarray(jax.random.key_data(x) if _is_key(x) else x)


def _run(algorithm: Any, environment: Any, seeds: int, **options: Any) -> Trials:
    settings = {"width": 32, "progress": False, "record_points": 4, **options}
    return compare({"learner": algorithm}, environment, _ROUNDS, seeds, **settings)["learner"]


def _key() -> jax.Array:
    return jax.random.key(0, impl="threefry2x32")
