"""Contract of algorithms and environments, as checks on a pair of instances.

`check_algorithm(algorithm, environment)` runs all checks. Each check is a function whose name states what it asserts;
it raises `AssertionError` with one line that describes the problem, and `check_algorithm` lists these lines.
"""

import dataclasses
import inspect
import tempfile
from collections.abc import Iterator, Mapping
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError, format_value
from jaxbandits.base.foreign import has_foreign_code
from jaxbandits.base.generators import generator_states, generators_of
from jaxbandits.base.pytree import as_arrays, field_table, replace, validate
from jaxbandits.engine.loop import Carry, init_trial, play_round
from jaxbandits.programs import compilation
from jaxbandits.simulation import Grid, Trials, compare
from jaxbandits.testing import rehearsal, speed
from jaxbandits.testing.failures import translate
from jaxbandits.tracing.jax_compat import trace_foreign_code_anew
from jaxbandits.tracing.settings import own_settings
from jaxbandits.types import (
    AdviceObs,
    Algorithm,
    ArmObs,
    BoundsHorizon,
    ContextObs,
    Decision,
    Environment,
    Feedback,
    InitFromObs,
    Obs,
    PairDecision,
    Recommends,
    SetDecision,
    State,
    TeamDecision,
)

_ROUNDS = 40
_LONG = 2_000  # largest number of rounds of a check
_ARGUMENTS = {
    "init": ["key"],
    "init_from_obs": ["state", "obs"],
    "select": ["key", "t", "state", "obs"],
    "update": ["key", "t", "state", "obs", "decision", "feedback"],
    "observe": ["key", "t", "state"],
    "step": ["key", "t", "state", "obs", "decision"],
}


@own_settings()
def check_algorithm(algorithm: Algorithm, environment: Environment, *, quick: bool = False) -> None:
    """Run every check of an algorithm on an environment, and print a verdict and advice on the algorithm's speed.

    Args:
      algorithm: a small concrete instance.
      environment: a small concrete instance whose observations and feedback the algorithm accepts.
      quick: only trace the methods, which takes seconds, and give no advice; the other checks compile a dozen programs.

    Raises:
      AssertionError: if a check fails; the message has a line for every problem, with the violated rule, what was
        found, and a remedy.
    """
    checks = TRACED_CHECKS if ranges.flag("quick", quick) else ALGORITHM_CHECKS
    problems: dict[str, None] = {}  # distinct messages in the order of the checks
    is_traced = is_declared = True
    with trace_foreign_code_anew(algorithm, environment):  # a global may have changed since the last call
        for check in checks:
            if not (is_declared if check is fields_have_meanings else is_traced):
                continue  # the other checks need the methods of the learner and their traces
            try:
                check(algorithm, environment)
            except AssertionError as error:
                problems[str(error)] = None
                is_traced &= check not in _TRACES
                is_declared &= check is not protocol_names_and_fields
    if problems:
        raise AssertionError("\n".join(problems))
    if not quick:
        for line in speed.advice(algorithm, environment):
            print(line)
    names = f"{type(algorithm).__name__} on {type(environment).__name__}"
    print(f"{names}: obeys the contract" + (", as far as its traces show" if quick else f" ({len(checks)} checks)"))


@own_settings()
def check_environment(environment: Environment) -> None:
    """Check the names and ranges of an environment; `check_algorithm` checks it together with a learner.

    Raises:
      AssertionError: if there are problems; the message has a line for each.
    """
    _has_names_and_ranges(environment)
    missing = list(_fields_without_meaning(environment))
    assert not missing, "\n".join(missing)


def _has_names_and_ranges(environment: Environment) -> None:
    has_argument_names(environment, ("init", "observe", "step"))
    is_a_pytree_with_ranges(environment)


def has_argument_names(obj: object, methods: tuple[str, ...]) -> None:
    """Assert that each method accepts, by position, the arguments that the protocol passes."""
    assert not isinstance(obj, type), f"{obj.__name__} is a class: pass an instance of it"
    for method in methods:
        assert hasattr(obj, method), f"{type(obj).__name__} has no method {method}"
        signature = inspect.signature(getattr(obj, method))
        found, expected = list(signature.parameters), _ARGUMENTS[method]
        try:
            signature.bind(*expected)
        except TypeError:
            raise AssertionError(
                f"{type(obj).__name__}.{method} takes the arguments {found}, but it must take {expected}"
            ) from None


def is_a_pytree_with_ranges(obj: Any) -> None:
    """Assert that an object is a frozen pytree, that its numbers are fields, and that their values are in range."""
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
                f"{name}.{attribute} has no annotation, so it is not a field and cannot be set or swept: write "
                f'`{attribute}: Any = param({format_value(value)}, "(0, inf)", "what it means")`, '
                "or `ClassVar` for a constant"
            )
    hash(jax.tree.structure(obj))
    validate(obj)


def fields_have_meanings(algorithm: Algorithm, environment: Environment) -> None:
    """Assert that every field of algorithm and environment has a description."""
    missing = [line for obj in (algorithm, environment) for line in _fields_without_meaning(obj)]
    assert not missing, "\n".join(missing)


def _fields_without_meaning(obj: object) -> Iterator[str]:
    for row in field_table(obj):
        range_ = '"[1, inf)"' if row.kind == "static" else '"(0, inf)"'
        declared = {"static": "int = static", "shared": "Any = shared"}.get(row.kind, "Any = param")
        write = f'`{row.name}: {declared}(default, {range_}, "what it means")`'
        if not row.doc:
            yield f"field {row.name} has no description (doc): write {write}"


def _parameters(obj: Any) -> Any:
    return type(obj).__dataclass_params__


def protocol_names_and_fields(algorithm: Algorithm, environment: Environment) -> None:
    """Assert that algorithm and environment have the methods, feedback and fields of the protocol."""
    has_argument_names(algorithm, ("init", "select", "update"))
    if isinstance(algorithm, InitFromObs):
        has_argument_names(algorithm, ("init_from_obs",))
    name = type(algorithm).__name__
    mend = "declare the feedback it receives, as `feedback: ClassVar[type] = Reward`"
    assert hasattr(algorithm, "feedback"), f"{name} has no feedback: {mend}"
    fields = {field.name for field in dataclasses.fields(algorithm)} if dataclasses.is_dataclass(algorithm) else ()
    assert "feedback" not in fields, f"{name}.feedback is a field, which is swept and saved: {mend}"
    is_a_pytree_with_ranges(algorithm)
    _has_names_and_ranges(environment)


def state_shape_is_fixed(algorithm: Algorithm, environment: Environment) -> None:
    """Assert that all methods can be traced and accept each other's results, and that states keep their shapes."""
    rehearsal.rehearse(algorithm, environment)


def select_is_read_only(algorithm: Algorithm, environment: Environment) -> None:
    """Assert that no method uses its key twice, and that tracing a method again gives the same program."""
    generators = generators_of(algorithm, environment) if has_foreign_code(algorithm, environment) else ()
    for call in rehearsal.rehearse(algorithm, environment).values():
        message = rehearsal.find_repeated_key(call)
        assert message is None, message
        # State that a method keeps in Python (an attribute, a counter) changes the second trace. A draw of one of three
        # arms is often the same again, so that draws are noticed by the states of the generators.
        changed = (
            f"{call.name} gives a different program when it is traced again, or draws numbers during tracing: random "
            "numbers of NumPy or Python are drawn once and never change (draw with the key: jaxbandits.rng, "
            "jax.random), and values that a method keeps belong in the state"
        )
        before = generator_states(generators)
        again = rehearsal.trace(call)
        assert str(call.program.jaxpr) == str(again.jaxpr) and generator_states(generators) == before, changed
        with translate(changed):
            chex.assert_trees_all_equal(call.program.consts, again.consts)


def masked_arms_are_never_played(algorithm: Algorithm, environment: Environment) -> None:
    """Assert that a learner plays the only available arm when all other arms are masked.

    The first round is tested, and a round after a short run, when the learner may choose in another way.
    """
    algorithm, environment = as_arrays((algorithm, environment))
    if not _has_arms(environment):
        return

    @jax.jit
    def played_under(t, carry, mask):
        obs = environment.observe(jax.random.key(1), t, carry.env_state)._replace(mask=mask)
        return _arms_of(algorithm.select(jax.random.key(2), t, carry.alg_state, obs))

    for t, carry in _early_and_late(algorithm, environment):
        n_arms = environment.observe(jax.random.key(1), t, carry.env_state).arms.shape[0]
        for k in (0, n_arms // 2, n_arms - 1):
            played = np.asarray(played_under(t, carry, jnp.arange(n_arms) == k))
            chosen = set(played[played >= 0].tolist())  # -1 stands for no item
            wrong = min(chosen - {k}, default="none")
            assert chosen == {k}, (
                f"in round {t}, only arm {k} was available, but arm {wrong} was played: give masked arms a score of "
                "-inf (obs.mask is True where an arm may be played), or choose with best_arm(obs.arms, obs.mask, score)"
            )


def decisions_have_the_features_of_their_arms(algorithm: Algorithm, environment: Environment) -> None:
    """Assert that the features `x` of a decision are those of its arm `index`, in the first and in a later round."""
    algorithm, environment = as_arrays((algorithm, environment))
    if not _has_arms(environment):
        return

    @jax.jit
    def decide(t, carry):
        obs = environment.observe(jax.random.key(1), t, carry.env_state)
        decision = algorithm.select(jax.random.key(2), t, carry.alg_state, obs)
        if isinstance(decision, (SetDecision, PairDecision, TeamDecision)):
            return None
        return decision.index, decision.x, obs.arms[decision.index], jnp.max(jnp.abs(obs.arms))

    for t, carry in _early_and_late(algorithm, environment):
        if (found := decide(t, carry)) is not None:
            index, x, arm, size = map(np.asarray, found)
            assert np.allclose(x, arm, rtol=1e-3, atol=1e-5 * size), (
                f"in round {t}, the decision has the index {index}, but not the features of this arm: return "
                "ArmDecision(index, obs.arms[index])"
            )


def _has_arms(environment: Environment) -> bool:
    """Return True if the observations of an environment with array leaves have arms and a mask."""
    seen = jax.eval_shape(lambda: environment.observe(_key(), jnp.int32(0), environment.init(_key())))
    return isinstance(seen, (ArmObs, ContextObs, AdviceObs))


def _early_and_late(algorithm: Algorithm, environment: Environment) -> list[tuple[jax.Array, Carry]]:
    """Return the number and the carry of the first round and of the last round of a short run."""
    first = carry = _start(algorithm, environment)
    last = min(_ROUNDS, _most_rounds(algorithm, environment)) - 1
    for t in range(last):
        carry = _round(_ScaledFeedback(algorithm, jnp.asarray(1.0)), environment, jnp.int32(t), carry)
    return [(jnp.int32(0), first), (jnp.int32(last), carry)]


def _arms_of(decision: Any) -> jax.Array:
    """Return the arms or items of a decision."""
    if isinstance(decision, PairDecision):
        return jnp.stack([decision.first, decision.second])
    return decision.items if isinstance(decision, SetDecision) else decision.index


def stays_finite(algorithm: Algorithm, environment: Environment) -> None:
    """Assert that the learner's state has no NaN after three rounds with feedback multiplied by 0, 1 and 1e6."""
    algorithm, environment = as_arrays((algorithm, environment))
    for scale in (0.0, 1.0, 1e6):
        carry = _start(algorithm, environment)
        for t in range(3):
            carry = _round(_ScaledFeedback(algorithm, jnp.asarray(scale)), environment, jnp.int32(t), carry)
        for leaf in jax.tree.leaves(carry.alg_state):
            if jnp.issubdtype(leaf.dtype, jnp.inexact):
                assert not np.isnan(leaf).any(), (
                    f"the state is NaN after feedback scaled by {scale:g}: guard divisions, logarithms and exponentials"
                )


def stays_finite_over_many_rounds(algorithm: Algorithm, environment: Environment) -> None:
    """Assert that states have no NaN, and metrics are finite, in 32 trials of 2,000 rounds.

    The trials are shorter if the learner has a smaller field `horizon` or `capacity` (the length of its history), or if
    the environment has data for fewer rounds.
    """
    rounds = _most_rounds(algorithm, environment)
    trials = _run(algorithm, environment, seeds=32, horizon=rounds)
    failed = ~trials.healthy[0]
    if failed.any():
        seed = int(np.flatnonzero(failed)[0])
        leaf, t = _first_nan(as_arrays(algorithm), as_arrays(environment), seed, rounds)
        raise AssertionError(
            f"a state is NaN in {int(failed.sum())} of {failed.size} trials within {rounds:,} rounds; with seed {seed} "
            f"{leaf} is NaN after round {t}: guard divisions, logarithms and exponentials"
        )
    for metric in trials.metrics:
        failed = trials.failures(metric)[0]
        assert not failed.any(), (
            f"{metric} is NaN or infinite in {int(failed.sum())} of {failed.size} trials within {rounds:,} rounds, so "
            f"that these trials count as failed: return finite outcomes from {type(environment).__name__}.step"
        )


def _most_rounds(algorithm: Algorithm, environment: Environment) -> int:
    """Return the largest number of rounds that a learner can play on an environment, at most 2,000."""
    limits = [getattr(algorithm, name, None) for name in ("horizon", "capacity")]
    limits.append(environment.max_horizon if isinstance(environment, BoundsHorizon) else None)
    return int(min([_LONG, *(limit for limit in limits if limit is not None)]))


def _first_nan(algorithm: Algorithm, environment: Environment, seed: int, rounds: int) -> tuple[str, int]:
    """Return the leaf of a state in which the first NaN of a trial appears, and the round of that NaN."""

    def numbers(carry: Carry) -> list[tuple[str, jax.Array]]:
        states = {"state": carry.alg_state, "the environment's state": carry.env_state}
        return [
            (f"{name}{jax.tree_util.keystr(path)}", leaf)
            for name, state in states.items()
            for path, leaf in jax.tree.leaves_with_path(state)
            if jnp.issubdtype(leaf.dtype, jnp.inexact)
        ]

    @jax.jit
    def play() -> Any:
        def one_round(carry: Carry, t: jax.Array) -> tuple[Carry, jax.Array]:
            carry = play_round(algorithm, environment, t, carry)[0]
            return carry, jnp.stack([jnp.isnan(leaf).any() for _, leaf in numbers(carry)])

        carry = init_trial(_key(), algorithm, environment, jnp.int32(seed))
        return jax.lax.scan(one_round, carry, jnp.arange(rounds, dtype=jnp.int32))

    carry, found = play()
    found = np.asarray(found)
    t = int(found.any(axis=1).argmax())
    return numbers(carry)[int(found[t].argmax())][0], t


def trials_do_not_depend_on_the_split(algorithm: Algorithm, environment: Environment) -> None:
    """Assert that trials are bit-for-bit the same with more seeds, in shorter calls, and resumed from a checkpoint."""
    few = _run(algorithm, environment, seeds=3)
    for name, other in (
        ("more seeds", _run(algorithm, environment, seeds=11)),
        ("one round per call", _run(algorithm, environment, seeds=3, seconds_per_call=1e-9)),
        ("a later first seed", _run(algorithm, environment, seeds=2, first_seed=1)),
    ):
        start = 0 if name == "a later first seed" else 1
        _assert_same(
            {metric: values[:, 1:3] for metric, values in few.values.items()},
            {metric: values[:, start : start + 2] for metric, values in other.values.items()},
            f"{name} changed {{metric}}: a trial may depend only on its key and state, not on values kept in Python",
        )
    with tempfile.TemporaryDirectory() as directory:
        once = _run(algorithm, environment, seeds=3, checkpoint=directory)
        again = _run(algorithm, environment, seeds=3, checkpoint=directory)
    _assert_same(few.values, once.values, "a checkpoint changed {metric}")
    _assert_same(few.values, again.values, "loading a checkpoint changed {metric}")


def decisions_are_admissible(algorithm: Algorithm, environment: Environment) -> None:
    """Assert that all decisions of a short run are admissible, if the environment can tell (`Admits`)."""
    trials = _run(algorithm, environment, seeds=3)
    inadmissible, n_decisions = trials.inadmissible, trials.inadmissible.size * trials.horizon
    assert not inadmissible.any(), (
        f"{int(inadmissible.sum())} of {n_decisions} decisions are not admissible: the index of an "
        "arm must lie in [0, K), and a point must lie in the domain (end update with domain.project)"
    )


def every_traced_field_can_be_swept(algorithm: Algorithm, environment: Environment) -> None:
    """Assert that a sweep over each numeric field equals separate runs bit for bit, and compiles no new program."""
    _run(algorithm, environment, seeds=2)
    compiled = compilation.compiled_count()
    for field, values in _sweepable(algorithm):
        swept = _run(Grid(algorithm, {field: values}), environment, seeds=2)
        for h, value in enumerate(values):
            alone = _run(replace(algorithm, field, value), environment, seeds=2)
            _assert_same(
                {metric: values[0] for metric, values in alone.values.items()},
                {metric: values[h] for metric, values in swept.values.items()},
                f"sweeping {field} gives a different {{metric}} from running {field}={value:g} alone",
            )
    assert compilation.compiled_count() == compiled, "new hyperparameter values compiled a new program"


def recommendation_is_finite(algorithm: Algorithm, environment: Environment) -> None:
    """Assert that the recommendation of the initial state is finite, for learners that recommend."""
    if not isinstance(algorithm, Recommends):
        return
    with translate(
        "the recommendation from the initial state is not finite: `recommend` must return a decision even before "
        "the first round"
    ):
        chex.assert_tree_all_finite(_first_recommendation(as_arrays(algorithm)))


_TRACES = (protocol_names_and_fields, state_shape_is_fixed, select_is_read_only)  # these checks compile nothing
TRACED_CHECKS = (*_TRACES, fields_have_meanings)  # the check of descriptions is last, since errors are more important
ALGORITHM_CHECKS = (
    *_TRACES,
    masked_arms_are_never_played,
    decisions_have_the_features_of_their_arms,
    stays_finite,
    recommendation_is_finite,
    decisions_are_admissible,
    stays_finite_over_many_rounds,
    trials_do_not_depend_on_the_split,
    every_traced_field_can_be_swept,
    fields_have_meanings,
)


def _sweepable(algorithm: Algorithm) -> Iterator[tuple[str, list[float]]]:
    """Yield the names of numeric scalar fields, each with two admissible values: that of the example and one nearby."""
    for row in field_table(algorithm):
        if row.kind != "traced" or isinstance(row.value, bool) or not isinstance(row.value, (int, float)):
            continue
        for nearby in (0.9 * row.value, 1.1 * row.value) if row.value else (0.1, -0.1):
            try:
                validate(replace(algorithm, row.name, nearby))
            except InputError:
                continue
            if np.isfinite(row.value):
                yield row.name, [float(row.value), float(nearby)]
            break


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class _ScaledFeedback:
    """Learner that receives feedback multiplied by a factor."""

    algorithm: Any
    scale: jax.Array

    @property
    def feedback(self) -> type:
        return self.algorithm.feedback

    def select(self, key: jax.Array, t: jax.Array, state: State, obs: Obs) -> Decision:
        return self.algorithm.select(key, t, state, obs)

    def update(
        self, key: jax.Array, t: jax.Array, state: State, obs: Obs, decision: Decision, feedback: Feedback
    ) -> State:
        scaled = jax.tree.map(lambda x: (x * self.scale).astype(x.dtype), feedback)
        return self.algorithm.update(key, t, state, obs, decision, scaled)


# Jitted functions of the module: one compilation serves all checks of a pair.
@jax.jit
def _start(algorithm: Algorithm, environment: Environment) -> Carry:
    return init_trial(_key(), algorithm, environment, jnp.int32(3))


@jax.jit
def _round(learner: Any, environment: Any, t: jax.Array, carry: Carry) -> Carry:
    return play_round(learner, environment, t, carry)[0]


@jax.jit
def _first_recommendation(algorithm: Any) -> Any:
    return algorithm.recommend(algorithm.init(_key()))


def _assert_same(values: Mapping[str, Any], others: Mapping[str, Any], message: str) -> None:
    """Assert that metrics are equal, bit for bit; `{metric}` in `message` becomes the first metric that differs."""
    for metric in values:
        with translate(message.format(metric=metric)):
            chex.assert_trees_all_equal(values[metric], others[metric])


def _run(
    algorithm: Algorithm | Grid, environment: Environment, seeds: int, horizon: int | None = None, **options: Any
) -> Trials:
    """Run trials of `horizon` rounds, by default of 40 rounds or, if that is less, of all that the pair can play."""
    if horizon is None:
        learner = algorithm.algorithm if isinstance(algorithm, Grid) else algorithm
        horizon = min(_ROUNDS, _most_rounds(learner, environment))
    settings = {"width": 32, "progress": False, "record_points": min(4, horizon), **options}
    return compare({"learner": algorithm}, environment, horizon, seeds, **settings)["learner"]


def _key() -> jax.Array:
    return jax.random.key(0, impl="threefry2x32")
