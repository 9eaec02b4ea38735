"""Rounds of an environment for learners that run in Python; one call of a compiled program plays a round of all trials.

    view            = rounds.start()                          observation of round 0, [W, ...]
    played, view    = rounds.step(t, index, probability)      rewards [W] of round t, observation of round t + 1
    values          = rounds.record(recommended)              metrics [W, ...] since the last record point

This is the environment's part of `loop.play_round`, with the keys of `loop.trial_keys`, so that a learner in Python
receives the same instances and noise as compiled learners. Metrics are summed as in `loop.play_rounds`, in the same
order.

The trial axis is the last axis on the device, where W is the width of the batch, and the first axis in the arrays that
the learner receives, where W is the number of trials. Arms that never change within a trial are copied to the host only
once.
"""

import dataclasses
import functools
import time
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.errors import InputError
from jaxbandits.base.exact import exact_structure
from jaxbandits.base.memory import require
from jaxbandits.base.pytree import PyTree, map_traced
from jaxbandits.engine import loop
from jaxbandits.engine.loop import Streams
from jaxbandits.engine.meters import STRETCH, Meter, Metric, Round, Totals
from jaxbandits.engine.options import WIDTH_UNIT
from jaxbandits.engine.plan import Job
from jaxbandits.engine.program import to_host, trace_anew
from jaxbandits.engine.recording import check_metric_names, measure, take_snapshot
from jaxbandits.engine.trial_keys import base_key, trial_keys
from jaxbandits.engine.width import bytes_of
from jaxbandits.numerics import rng
from jaxbandits.programs.cached_traces import own_code
from jaxbandits.programs.compilation import FAST_CODE, FAST_COMPILE, CompileUnit, Device, get_function
from jaxbandits.programs.gpu_graphs import target_of
from jaxbandits.tracing import target
from jaxbandits.tracing.vmap_last import TracedFunction
from jaxbandits.types import (
    AdviceObs,
    ArmDecision,
    ContextObs,
    CountsRounds,
    Environment,
    FixedArmObs,
    Obs,
    Reward,
    State,
    narrow,
)

T = TypeVar("T", "TracedStart", "TracedRound")


class View(NamedTuple):
    """Observation that the learner receives in a round, and the learner's time `t`; leaves `[W, ...]`."""

    obs: Obs
    time: Any = None  # [W] int32, the learner's `t` in environments that are `CountsRounds`; None: the t of the loop


class HostCarry(NamedTuple):
    """State of the trials after an observation and before the decision, on the device, with leaves `[..., W]`."""

    env_state: State
    obs: Obs
    totals: Any  # `Totals` of the rounds since the last record point


class Receipt(NamedTuple):
    """Part of a round that the learner receives after its decision; leaves `[W]`."""

    reward: Any
    is_counted: Any = None  # only in environments that are `CountsRounds`


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class TracedStart:
    """Traced functions of an environment in one trial up to the first decision."""

    init: TracedFunction  # (key, environment) -> state
    observe: TracedFunction  # (t, environment, streams, state) -> (obs, View)

    @property
    def functions(self) -> tuple[TracedFunction, ...]:
        """All traced functions."""
        return self.init, self.observe


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class TracedRound:
    """Traced functions of an environment in one trial after a decision."""

    step: TracedFunction  # (t, environment, streams, state, obs, index[, probability]) -> (state, metrics, Receipt)
    snapshot: TracedFunction  # (environment, state[, recommended]) -> metrics at a record point
    totals: Totals  # shapes
    block_values: dict[Metric, Any]  # shapes of the values reported at a record point

    @property
    def functions(self) -> tuple[TracedFunction, ...]:
        """All traced functions."""
        return self.step, self.snapshot


class _RecommendedArm:
    """Learner at a record point whose state is the recommended arm; it stands for a learner in Python."""

    def recommend(self, state: State) -> State:
        """Return the arm."""
        return state


def trace_start(environment: Environment) -> TracedStart:
    """Trace the initialisation of a trial and its observations, and return the traced functions.

    Raises:
      InputError: if the observations of the environment contain no arms.
    """

    def observe(t: jax.Array, environment: Environment, streams: Streams, state: State) -> tuple[Any, View]:
        with own_code():
            key = rng.fold_in(streams.observe, t)
        with own_code(environment):
            obs = environment.observe(key, t, state)
        if not hasattr(obs, "arms"):
            name = type(environment).__name__
            raise InputError(
                f"play needs an environment with arms and rewards; the observations of {name} have no arms"
            )
        learner_time = environment.learner_time(t, state) if isinstance(environment, CountsRounds) else None
        return obs, View(_without_fixed_arms(obs), learner_time)

    # `partial` makes new functions, so that entries of JAX's caches are freed with them.
    key, t = _key_and_round()
    init = TracedFunction.trace(functools.partial(loop.init_environment), key, environment)
    return TracedStart(init=init, observe=TracedFunction.trace(observe, t, environment, _streams(key), init.out))


def trace_round(
    meters: tuple[Meter, ...],
    environment: Environment,
    start: TracedStart,
    has_probability: bool,
    recommends: bool = False,
) -> TracedRound:
    """Trace a round after its decision, and the snapshot at a record point, and return the traced functions.

    Args:
      meters: extra meters.
      environment: shapes of the fields of the environment.
      start: traced functions of the trial up to its first decision.
      has_probability: True if the learner returns the probability with which it drew an arm.
      recommends: True if the learner recommends an arm at record points.

    Raises:
      InputError: if the feedback contains no reward, or if metrics have invalid names or values.
    """

    def step(
        t: jax.Array,
        environment: Environment,
        streams: Streams,
        state: State,
        obs: Obs,
        index: Any,
        probability: Any = None,
    ) -> tuple[Any, dict[Metric, Any], Receipt]:
        decision = ArmDecision(index, obs.arms[index], probability)
        with own_code():
            key = rng.fold_in(streams.step, t)
        with own_code(environment):
            next_state, feedback, outcome = environment.step(key, t, state, obs, decision)
        is_counted = None
        if isinstance(environment, CountsRounds):
            is_counted = environment.is_counted(t, state, obs, decision)
        played = Round(
            t=t,
            algorithm=None,
            environment=environment,
            env_state=state,
            state=None,
            next_state=None,
            obs=obs,
            decision=decision,
            feedback=feedback,
            outcome=outcome,
        )
        return next_state, measure(meters, played), Receipt(narrow(feedback, Reward).reward, is_counted)

    def snapshot(environment: Environment, state: State, recommended: Any = None) -> dict[Metric, Any]:
        if recommended is None:
            return take_snapshot(environment, None, state, ())
        learner: Any = _RecommendedArm()
        return take_snapshot(environment, learner, state, recommended)

    key, t = _key_and_round()
    state, (obs, _) = start.init.out, start.observe.out
    traced_step = TracedFunction.trace(
        step, t, environment, _streams(key), state, obs, *_choice_shapes(has_probability)
    )
    traced_snapshot = TracedFunction.trace(snapshot, environment, state, *_choice_shapes(False) * recommends)
    metrics = traced_step.out[1]
    check_metric_names([*metrics, *traced_snapshot.out])
    return TracedRound(
        step=traced_step,
        snapshot=traced_snapshot,
        totals=jax.eval_shape(functools.partial(Totals.init, metrics)),
        block_values=metrics | traced_snapshot.out,
    )


def _key_and_round() -> tuple[Any, Any]:
    return jax.eval_shape(lambda: (jax.random.key(0, impl="threefry2x32"), jnp.int32(0)))


def _streams(key: Any) -> Streams:
    return Streams(observe=key, step=key, select=key, update=key)


def _choice_shapes(has_probability: bool) -> tuple[Any, ...]:
    """Return the shapes of an arm, and of its probability if the learner returns it."""
    index, probability = jax.ShapeDtypeStruct((), jnp.int32), jax.ShapeDtypeStruct((), jnp.result_type(float))
    return (index, probability) if has_probability else (index,)


def _without_fixed_arms(obs: Obs) -> Any:
    """Drop arms that never change within a trial from an observation, since the learner received them in round 0."""
    return obs._replace(arms=()) if _has_fixed_arms(obs) else obs


def _has_fixed_arms(obs: Obs) -> bool:
    """Return whether the arms in an observation of one trial never change within the trial."""
    return isinstance(obs, FixedArmObs) or (isinstance(obs, (ContextObs, AdviceObs)) and obs.arms.ndim == 1)


def _init(start: TracedStart, width: int, keys: Any, env: Any) -> PyTree:
    return loop.vmap_trials(start.init, width, (), keys, env)


def _observe_first(start: TracedStart, width: int, env: Any, streams: Any, state: State, t: Any) -> tuple[Any, View]:
    obs, view = loop.vmap_trials(start.observe, width, (t,), env, streams, state)
    return obs, _trials_first(view._replace(obs=obs))  # the first view contains all arms


def _play(
    start: TracedStart, traced: TracedRound, width: int, env: Any, streams: Any, carry: HostCarry, t: Any, *chosen: Any
) -> tuple[HostCarry, Receipt, View]:
    """Step in round t and observe round t + 1, in one call per round."""
    before = (env, streams, carry.env_state, carry.obs)
    state, metrics, played = loop.vmap_trials(traced.step, width, (t,), *before, *chosen)
    obs, view = loop.vmap_trials(start.observe, width, (t + 1,), env, streams, state)
    return HostCarry(state, obs, carry.totals.add(metrics)), _trials_first(played), _trials_first(view)


def _fold(totals: Totals) -> Totals:
    return totals.fold()


def _record(
    traced: TracedRound, width: int, env: Any, carry: HostCarry, *recommended: Any
) -> tuple[Totals, dict[Metric, jax.Array]]:
    snapshot = loop.vmap_trials(traced.snapshot, width, (), env, carry.env_state, *recommended)
    values = carry.totals.fold().values() | snapshot
    return Totals.init(carry.totals.recent), values


def _trials_first(tree: PyTree) -> Any:
    return jax.tree.map(lambda x: jnp.moveaxis(x, -1, 0), tree)


def host_job(
    label: str,
    environment: Environment,
    horizon: int,
    record_points: np.ndarray,
    n_seeds: int,
    first_seed: int = 0,
    meters: tuple[Meter, ...] = (),
) -> Job:
    """Return the job of a learner in Python, with all trials in one batch; the arguments are those of `Job`."""
    return Job(
        label=label,
        algorithm=None,
        environment=environment,
        points=({},),
        horizon=horizon,
        record_points=record_points,
        n_seeds=n_seeds,
        first_seed=first_seed,
        meters=meters,
        width=-(-n_seeds // WIDTH_UNIT) * WIDTH_UNIT,
    )


class HostRounds:
    """Trials of one environment, played in one batch by a learner in Python.

    Attributes:
      n_arms: K, number of arms.
      dim: d, length of the context or of the features of an arm; 0 if there is neither.
      compile_s: seconds of tracing and compilation.
      digests: dict from the names of the compiled programs to their digests.
      recommends: True if `record` receives the arms that the learner recommends; it must be set before the first round.
    """

    def __init__(self, job: Job, base_seed: int, device: Device):
        """Compile the programs that start the trials.

        Args:
          job: job to run, with algorithm None, one point, and a width that is a multiple of 16 and at least the number
            of trials.
          base_seed: seed of the run.
          device: device that runs the environment.

        Raises:
          InputError: if observations contain no arms, or if the trials need more memory than is available.
        """
        begin = time.perf_counter()
        self._job, self._device, self.recommends = job, device, False
        self._target = target_of(device)
        self._shapes = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), job.at_point()[1])
        self._key = (job.meters, self._target, exact_structure(self._shapes), "host rounds")
        self._start, self._is_foreign = self._trace("start", lambda: trace_start(self._shapes))
        obs, view = self._start.observe.out
        self.n_arms = obs.arms.shape[0]
        features = obs.context.shape if isinstance(obs, ContextObs) else obs.arms.shape[1:]
        self.dim = features[0] if features else 0
        # Memory for the state before a round, the state after it, and the arrays for the learner.
        size = 3 * job.width * bytes_of((self._start.init.out, obs, view))
        require(size, f"{job.label}: a batch of {job.n_trials:,} trials", "play fewer seeds at a time")
        self._base_key = base_key(base_seed)
        self._environment = jax.device_put(job.at_points(job.slots(0, job.n_trials)[0])[1], device)
        self.digests: dict[str, str] = {}
        key, self._t = self._one(_key_and_round())
        environment = self._one(map_traced(self._batch, job.at_point()[1]))
        self._round_args = (environment, _streams(self._batch(key)))
        state = self._start.init.out
        traces, args = (self._start.init,), (self._batch(key), environment)
        self._init = self._compile("init_environment", _init, (self._start,), args, traces, state)
        traces, args = (self._start.observe,), (*self._round_args, self._batch(state), self._t)
        out = (obs, view._replace(obs=obs))
        self._observe_first = self._compile("observe_first", _observe_first, (self._start,), args, traces, out)
        self._carry: Any = None
        self._streams: Any = None
        self._fixed_arms: Any = None
        # Compiled in the first round, when it is known whether the learner returns probabilities.
        self._play: Any = None
        self._no_totals: Any = None
        self._has_probability = False
        self.compile_s = time.perf_counter() - begin

    def start(self, first_seed: int | None = None) -> View:
        """Draw the instances, and return the observation of round 0.

        Args:
          first_seed: global index of the first trial; None: the first seed of the job.
        """
        _, seeds = self._job.slots(0, self._job.n_trials)
        shift = 0 if first_seed is None else first_seed - self._job.first_seed
        keys = trial_keys(self._base_key, seeds + np.int32(shift))
        self._streams = jax.device_put(keys.streams, self._device)
        state = self._init(keys.env_init, self._environment)
        obs, view = self._observe_first(self._environment, self._streams, state, np.int32(0))
        self._carry = HostCarry(state, obs, self._no_totals)
        view = self._to_host(view)
        if _has_fixed_arms(self._start.observe.out[0]):
            self._fixed_arms = view.obs.arms
        return view

    def step(self, t: int, index: np.ndarray, probability: np.ndarray | None = None) -> tuple[Receipt, View]:
        """Play round t and observe the next round.

        Args:
          t: number of rounds finished before this one.
          index: `[W]` arms.
          probability: `[W]` probabilities with which the arms were drawn; None if the learner returns none. They must
            be given in every round or in none.

        Returns:
          The rewards and further feedback for the learner, and the observation of round t + 1.

        Raises:
          InputError: in the first round, if the feedback contains no reward or metrics have invalid names or values; in
            a later round, if probabilities are given in some rounds only.
        """
        has_probability = probability is not None
        if self._play is None:
            self._compile_rounds(has_probability)
        elif has_probability != self._has_probability:
            raise InputError(f"round {t}: select must return probabilities in every round or in none")
        chosen = [self._pad(index, np.int32)]
        if probability is not None:
            chosen.append(self._pad(probability, jnp.result_type(float)))
        played: Receipt
        view: View
        arguments = (self._environment, self._streams, self._carry, np.int32(t), *chosen)
        play_round: Any = self._play
        self._carry, played, view = play_round(*arguments)
        if (t + 1) % STRETCH == 0 and t + 1 not in self._record_points:
            self._carry = self._carry._replace(totals=self._fold(self._carry.totals))
        view = self._to_host(view)
        if self._fixed_arms is not None:
            view = view._replace(obs=view.obs._replace(arms=self._fixed_arms))
        return self._to_host(played), view

    def record(self, recommended: np.ndarray | None = None) -> dict[Metric, np.ndarray]:
        """Return the metrics `[W, ...]` of the rounds that were played since the last record point.

        Args:
          recommended: `[W]` arms of a learner that recommends; None for other learners.
        """
        arms = () if recommended is None else (self._pad(recommended, np.int32),)
        totals, values = self._record(self._environment, self._carry, *arms)
        self._carry = self._carry._replace(totals=totals)
        return {metric: np.moveaxis(x, -1, 0)[: self._job.n_trials] for metric, x in to_host(values).items()}

    @functools.cached_property
    def _record_points(self) -> frozenset[int]:
        return frozenset(self._job.record_points.tolist())

    def _pad(self, values: np.ndarray, dtype: Any) -> np.ndarray:
        """Pad the values of the trials to all slots of the batch; the last slots repeat the last trial."""
        padded = np.empty(self._job.width, dtype)
        padded[: len(values)] = values
        padded[len(values) :] = values[-1]
        return padded

    def _to_host(self, tree: PyTree) -> Any:
        return jax.tree.map(lambda x: np.asarray(x)[: self._job.n_trials], tree)

    def _one(self, tree: PyTree) -> Any:
        """Return shapes of arrays that lie on the device."""
        sharding = jax.sharding.SingleDeviceSharding(self._device)
        return jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=sharding), tree)

    def _batch(self, tree: PyTree) -> Any:
        """Return the shapes of a batch of trials on the device, from those of one trial."""
        width = self._job.width
        return self._one(jax.tree.map(lambda x: jax.ShapeDtypeStruct((*x.shape, width), x.dtype), tree))

    def _trace(self, name: str, trace: Callable[[], T]) -> tuple[T, bool]:
        def trace_for_target() -> T:
            with target.trace_for(self._target):
                return trace()

        objects = (self._job.environment, self._job.meters)
        return trace_anew((name, *self._key), trace_for_target, lambda traced: traced.functions, *objects)

    def _compile_rounds(self, has_probability: bool) -> None:
        begin = time.perf_counter()
        self._has_probability = has_probability
        start, (obs, view) = self._start, self._start.observe.out

        def trace() -> TracedRound:
            return trace_round(self._job.meters, self._shapes, start, has_probability, self.recommends)

        name = f"round {has_probability}" + " recommends" * self.recommends
        traced, is_foreign = self._trace(name, trace)
        self._is_foreign |= is_foreign
        carry = HostCarry(start.init.out, obs, traced.totals)
        of_batch, played = self._batch(carry), traced.step.out[2]
        environment, streams = self._round_args
        chosen = self._batch(_choice_shapes(has_probability))
        metrics = tuple(traced.block_values)
        self._play = self._compile(
            "play_host_round",
            _play,
            (start, traced),
            (environment, streams, of_batch, self._t, *chosen),
            (traced.step, start.observe),
            (carry, played, view),
            FAST_CODE,
            metrics,
        )
        self._fold = self._compile("fold_totals", _fold, (), (of_batch.totals,), (), traced.totals, metrics=metrics)
        self._record = self._compile(
            "record_host_rounds",
            _record,
            (traced,),
            (environment, of_batch, *self._batch(_choice_shapes(False) * self.recommends)),
            (traced.snapshot,),
            (traced.totals, traced.block_values),
            metrics=metrics,
        )
        self._no_totals = jax.device_put(Totals.init(of_batch.totals.recent, np.full), self._device)
        self._carry = self._carry._replace(totals=self._no_totals)
        self.compile_s += time.perf_counter() - begin

    def _compile(
        self,
        name: str,
        function: Callable[..., Any],
        static_args: tuple[Any, ...],
        args: tuple[PyTree, ...],
        traces: tuple[TracedFunction, ...],
        out: PyTree,
        cpu_options: Any = FAST_COMPILE,
        metrics: tuple[Metric, ...] = (),
    ) -> Any:
        """Return a compiled function; static arguments are followed by the width, if there are any."""
        unit = CompileUnit(
            name=name,
            function=function,
            static_args=(*static_args, self._job.width) if static_args else (),
            args=args,
            cpu_options=cpu_options,
            traces=traces,
            width=self._job.width,
            is_foreign=self._is_foreign,
            metrics=metrics,
            out=out,
        )
        made = get_function(unit, self._device)
        self.digests[name] = made.identity.digest
        return made.compile()
