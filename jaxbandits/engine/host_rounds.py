"""Rounds of an environment for learners that run in Python: one call of a compiled program a round, for all trials.

    view            = rounds.start()                          observation of round 0, [W, ...]
    played, view    = rounds.step(t, index, probability)      rewards [W] of round t, observation of round t + 1
    values          = rounds.record()                         metrics [W, ...] since the last record point

The environment's part of `loop.play_round`, with the keys of `loop.trial_keys`: a learner in Python meets the instances
and the noise of the compiled learners. Metrics are added up as in `loop.play_rounds`, in the same order.

On the device the trial axis is the last one, in what the learner receives the first one, as in NumPy. Arms that never
change within a trial are copied to the host once.
"""

import dataclasses
import functools
import time
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.errors import InputError
from jaxbandits.base.exact import exact_structure
from jaxbandits.base.memory import require
from jaxbandits.base.pytree import map_traced
from jaxbandits.engine import loop
from jaxbandits.engine.loop import Streams
from jaxbandits.engine.meters import STRETCH, Metric, Round, Totals
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
from jaxbandits.types import AdviceObs, ArmDecision, ContextObs, CountsRounds, FixedArmObs, Reward, narrow


class View(NamedTuple):
    """Observation of a round for the learner, and its time; leaves `[W, ...]`."""

    obs: Any
    time: Any = None  # [W] int32, its `t` where the environment `CountsRounds`; None: that of the loop


class HostCarry(NamedTuple):
    """Trials between an observation and the decision, on the device, leaves `[..., W]`."""

    env_state: Any
    obs: Any
    totals: Totals  # of the rounds since the last record point


class Played(NamedTuple):
    """The part of a round that the learner receives after its decision, leaves `[W]`."""

    reward: Any
    is_counted: Any = None  # where the environment `CountsRounds`


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class TracedEnvironment:
    """The functions of an environment in one trial, each traced once."""

    init: TracedFunction  # (key, environment) -> state
    observe: TracedFunction  # (t, environment, streams, state) -> (obs, View)
    step: TracedFunction  # (t, environment, streams, state, obs, index, probability) -> (state, metrics, Played)
    snapshot: TracedFunction  # (environment, state) -> metrics at a record point
    carry: HostCarry  # shapes
    block_values: dict[Metric, Any]  # shapes of what is reported at a record point
    is_foreign: bool = False  # it holds code of others than this package and JAX

    @property
    def functions(self) -> tuple[TracedFunction, ...]:
        """All traced functions."""
        return self.init, self.observe, self.step, self.snapshot


def trace_environment(job: Job, has_probability: bool, device: Device) -> TracedEnvironment:
    """Trace the environment of a job for a learner in Python.

    Args:
      job: whose algorithm is None.
      has_probability: whether the learner says with which probability it drew an arm.
      device: that will run it.

    Raises:
      InputError: for an environment without arms or without rewards, and for metrics with wrong names or values.
    """
    _, environment = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), job.at_point())

    def trace() -> TracedEnvironment:
        with target.trace_for(target_of(device)):
            return _trace(job, environment, has_probability)

    key = (job.meters, target_of(device), has_probability, exact_structure(environment), "host rounds")
    trial, is_foreign = trace_anew(key, trace, lambda trial: trial.functions, job.environment, job.meters)
    return dataclasses.replace(trial, is_foreign=is_foreign)


def _trace(job: Job, environment: Any, has_probability: bool) -> TracedEnvironment:
    key, t = jax.eval_shape(lambda: (jax.random.key(0, impl="threefry2x32"), jnp.int32(0)))

    def observe(t: jax.Array, environment: Any, streams: Streams, state: Any) -> tuple[Any, View]:
        with own_code():
            key = rng.fold_in(streams.observe, t)
        with own_code(environment):
            obs = environment.observe(key, t, state)
        if not hasattr(obs, "arms"):
            name = type(environment).__name__
            raise InputError(f"play needs an environment that shows arms and pays rewards; {name} shows no arms")
        learner_time = environment.learner_time(t, state) if isinstance(environment, CountsRounds) else None
        return obs, View(without_fixed_arms(obs), learner_time)

    def step(
        t: jax.Array, environment: Any, streams: Streams, state: Any, obs: Any, index: Any, probability: Any = None
    ) -> tuple[Any, dict[Metric, Any], Played]:
        decision = ArmDecision(index, obs.arms[index], probability)
        with own_code():
            key = rng.fold_in(streams.step, t)
        with own_code(environment):
            next_state, feedback, outcome = environment.step(key, t, state, obs, decision)
        is_counted = None
        if isinstance(environment, CountsRounds):
            is_counted = environment.is_counted(t, state, obs, decision)
        played = Round(
            t=t, algorithm=None, environment=environment, env_state=state, state=None, next_state=None, obs=obs,
            decision=decision, feedback=feedback, outcome=outcome,
        )  # fmt: skip
        return next_state, measure(job.meters, played), Played(narrow(feedback, Reward).reward, is_counted)

    def snapshot(environment: Any, state: Any) -> dict[Metric, Any]:
        return take_snapshot(environment, None, state, ())

    # `partial` makes new functions: what JAX's caches hold by function is freed with them.
    traced_init = TracedFunction.trace(functools.partial(loop.init_environment), key, environment)
    state, streams = traced_init.out, Streams(key, key, key, key)
    traced_observe = TracedFunction.trace(observe, t, environment, streams, state)
    obs = traced_observe.out[0]
    index = jax.ShapeDtypeStruct((), jnp.int32)
    probability = jax.ShapeDtypeStruct((), jnp.result_type(float))
    chosen = (index, *[probability] * has_probability)
    traced_step = TracedFunction.trace(step, t, environment, streams, state, obs, *chosen)
    traced_snapshot = TracedFunction.trace(snapshot, environment, state)
    metrics = traced_step.out[1]
    check_metric_names([*metrics, *traced_snapshot.out])
    return TracedEnvironment(
        init=traced_init,
        observe=traced_observe,
        step=traced_step,
        snapshot=traced_snapshot,
        carry=HostCarry(state, obs, jax.eval_shape(functools.partial(Totals.init, metrics))),
        block_values=metrics | traced_snapshot.out,
    )


def without_fixed_arms(obs: Any) -> Any:
    """Drop the arms of an observation that never change within a trial: the learner has those of round 0."""
    return obs._replace(arms=()) if has_fixed_arms(obs) else obs


def has_fixed_arms(obs: Any) -> bool:
    """Return whether the arms of an observation, of one trial, never change within the trial."""
    return isinstance(obs, FixedArmObs) or (isinstance(obs, (ContextObs, AdviceObs)) and obs.arms.ndim == 1)


def _observe_first(trial: TracedEnvironment, width: int, env: Any, streams: Any, state: Any, t: Any) -> Any:
    obs, view = loop.vmap_trials(trial.observe, width, (t,), env, streams, state)
    return obs, _trials_first(view._replace(obs=obs))  # with all arms


def _play(
    trial: TracedEnvironment, width: int, env: Any, streams: Any, carry: HostCarry, t: Any, *chosen: Any
) -> tuple[HostCarry, Played, View]:
    """Step in round t, and observe round t + 1: one call a round."""
    arguments = (env, streams, carry.env_state, carry.obs, *chosen)
    state, metrics, played = loop.vmap_trials(trial.step, width, (t,), *arguments)
    obs, view = loop.vmap_trials(trial.observe, width, (t + 1,), env, streams, state)
    return HostCarry(state, obs, carry.totals.add(metrics)), _trials_first(played), _trials_first(view)


def _init(init: TracedFunction, width: int, keys: Any, env: Any) -> Any:
    return loop.vmap_trials(init, width, (), keys, env)


def _fold(totals: Totals) -> Totals:
    return totals.fold()


def _record(
    trial: TracedEnvironment, width: int, env: Any, carry: HostCarry
) -> tuple[HostCarry, dict[Metric, jax.Array]]:
    values = carry.totals.fold().values() | loop.vmap_trials(trial.snapshot, width, (), env, carry.env_state)
    return carry._replace(totals=Totals.init(carry.totals.recent)), values


def _trials_first(tree: Any) -> Any:
    return jax.tree.map(lambda x: jnp.moveaxis(x, -1, 0), tree)


class HostRounds:
    """Trials of one environment that a learner in Python plays, side by side.

    Attributes:
      n_arms: K, number of arms.
      dim: d, length of the context, or of the features of an arm; 0 where there are none.
      compile_s: seconds of tracing and compilation.
    """

    def __init__(self, job: Job, base_seed: int, device: Device):
        """Draw the instances.

        Args:
          job: what is run; its algorithm is None, it has one point, and its width is a multiple of 16 of at least its
            number of trials.
          base_seed: of the run.
          device: that runs the environment.

        Raises:
          InputError: for an environment without arms or without rewards, for metrics with wrong names or values, and
            for more trials than there is memory for.
        """
        self._job, self._device, self.compile_s = job, device, 0.0
        self._traces: dict[bool, TracedEnvironment] = {}
        self._compiled: dict[tuple[str, bool], Any] = {}
        self.digests: dict[str, str] = {}  # of the programs, by name
        trial = self._trace(False)
        obs = trial.carry.obs
        self.n_arms = obs.arms.shape[0]
        features = obs.context.shape if isinstance(obs, ContextObs) else obs.arms.shape[1:]
        self.dim = features[0] if features else 0
        size = 3 * job.width * bytes_of((trial.carry, trial.observe.out[1]))  # before, after, and for the learner
        require(size, f"{job.label}: {job.n_trials:,} trials side by side", "play fewer seeds at a time")
        points, seeds = job.slots(0, job.n_trials)
        keys = trial_keys(base_key(base_seed), seeds)
        self._environment, self._streams = jax.device_put((job.at_points(points)[1], keys.streams), device)
        init = self._function("init_environment")
        totals = jax.device_put(Totals.init(self._batch(trial.carry.totals.recent), np.full), device)
        self._carry = HostCarry(init(keys.env_init, self._environment), None, totals)
        self._fixed_arms: Any = None

    def start(self) -> View:
        """Return what the learner receives before its first decision."""
        observe = self._function("observe_first")
        obs, view = observe(self._environment, self._streams, self._carry.env_state, np.int32(0))
        self._carry = self._carry._replace(obs=obs)
        view = self._to_host(view)
        if has_fixed_arms(self._trace(False).carry.obs):
            self._fixed_arms = view.obs.arms
        return view

    def step(self, t: int, index: np.ndarray, probability: np.ndarray | None = None) -> tuple[Played, View]:
        """Play round t and observe the next one.

        Args:
          t: rounds finished before this one.
          index: `[W]` arms.
          probability: `[W]` with which they were drawn; None: the learner does not say.

        Returns:
          What the learner receives after its decision, and the observation of round t + 1.
        """
        chosen = [self._pad(index, np.int32)]
        if probability is not None:
            chosen.append(self._pad(probability, jnp.result_type(float)))
        play = self._function("play_host_round", probability is not None)
        arguments = (self._environment, self._streams, self._carry, np.int32(t), *chosen)
        self._carry, played, view = play(*arguments)
        if (t + 1) % STRETCH == 0 and t + 1 not in self._record_points:
            self._carry = self._carry._replace(totals=self._function("fold_totals")(self._carry.totals))
        view = self._to_host(view)
        if self._fixed_arms is not None:
            view = view._replace(obs=view.obs._replace(arms=self._fixed_arms))
        return self._to_host(played), view

    def record(self) -> dict[Metric, np.ndarray]:
        """Return the values `[W, ...]` of the block of rounds that ends here."""
        self._carry, values = self._function("record_host")(self._environment, self._carry)
        return {metric: np.moveaxis(x, -1, 0)[: self._job.n_trials] for metric, x in to_host(values).items()}

    @functools.cached_property
    def _record_points(self) -> frozenset[int]:
        return frozenset(self._job.record_points.tolist())

    def _pad(self, values: np.ndarray, dtype: Any) -> np.ndarray:
        """Return `[W]` values for all slots of the batch, of which the last ones repeat the last trial."""
        padded = np.empty(self._job.width, dtype)
        padded[: len(values)] = values
        padded[len(values) :] = values[-1]
        return padded

    def _to_host(self, tree: Any) -> Any:
        return jax.tree.map(lambda x: np.asarray(x)[: self._job.n_trials], tree)

    def _trace(self, has_probability: bool) -> TracedEnvironment:
        if has_probability not in self._traces:
            self._traces[has_probability] = trace_environment(self._job, has_probability, self._device)
        return self._traces[has_probability]

    def _batch(self, tree: Any) -> Any:
        """Return the shapes of a batch of trials, from those of one trial."""
        sharding = jax.sharding.SingleDeviceSharding(self._device)
        width = self._job.width
        return jax.tree.map(lambda x: jax.ShapeDtypeStruct((*x.shape, width), x.dtype, sharding=sharding), tree)

    def _function(self, name: str, has_probability: bool = False) -> Any:
        """Return a compiled function; the first call compiles it."""
        if (name, has_probability) not in self._compiled:
            begin = time.perf_counter()
            function = get_function(self._unit(name, has_probability), self._device)
            self._compiled[name, has_probability] = function.compile()
            self.digests[name] = function.identity.digest
            self.compile_s += time.perf_counter() - begin
        return self._compiled[name, has_probability]

    def _unit(self, name: str, has_probability: bool) -> CompileUnit:
        trial, width = self._trace(has_probability), self._job.width
        sharding = jax.sharding.SingleDeviceSharding(self._device)

        def of_one(x: Any) -> Any:
            return jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=sharding)

        key, t = (of_one(x) for x in jax.eval_shape(lambda: (jax.random.key(0, impl="threefry2x32"), jnp.int32(0))))
        real = jax.ShapeDtypeStruct((), jnp.result_type(float))
        keys = self._batch(key)
        environment = jax.tree.map(of_one, map_traced(self._batch, self._job.at_point()[1]))
        streams, carry = Streams(keys, keys, keys, keys), self._batch(trial.carry)
        index, probability = self._batch(jax.ShapeDtypeStruct((), jnp.int32)), self._batch(real)
        played, view = trial.step.out[2], trial.observe.out[1]
        functions: dict[str, tuple[Any, tuple[Any, ...], tuple[TracedFunction, ...], Any]] = {
            "init_environment": (_init, (keys, environment), (trial.init,), trial.init.out),
            "observe_first": (
                _observe_first,
                (environment, streams, carry.env_state, t),
                (trial.observe,),
                (trial.carry.obs, view._replace(obs=trial.carry.obs)),
            ),
            "play_host_round": (
                _play,
                (environment, streams, carry, t, index, *[probability] * has_probability),
                (trial.step, trial.observe),
                (trial.carry, played, view),
            ),
            "fold_totals": (_fold, (carry.totals,), (), trial.carry.totals),
            "record_host": (_record, (environment, carry), (trial.snapshot,), (trial.carry, trial.block_values)),
        }
        function, args, traces, out = functions[name]
        takes = {"init_environment": trial.init, "fold_totals": None}.get(name, trial)
        return CompileUnit(
            name=name,
            function=function,
            static_args=() if takes is None else (takes, width),
            args=args,
            cpu_options=FAST_CODE if name == "play_host_round" else FAST_COMPILE,
            traces=traces,
            width=width,
            is_foreign=trial.is_foreign,
            metrics=tuple(trial.block_values) if name in ("play_host_round", "record_host", "fold_totals") else (),
            out=out,
        )
