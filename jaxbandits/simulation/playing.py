"""Play learners that run in Python, for example with NumPy, PyTorch or scikit-learn.

The environment is compiled, and one call per round plays that round of all trials. The learner is called in Python
between these calls, never from inside a compiled program. Instances and noise are those of `simulate` and `compare`, so
that `merge([played, simulated]).pairs()` compares both on the same seeds.
"""

import collections
import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from jaxbandits.analysis.info import RunInfo
from jaxbandits.analysis.trials import Trials
from jaxbandits.base import ranges
from jaxbandits.base.digests import digest
from jaxbandits.base.errors import InputError, format_value
from jaxbandits.base.versions import versions
from jaxbandits.engine.collect import Hindsight, collect_trials
from jaxbandits.engine.driver import Device, Timing
from jaxbandits.engine.host_rounds import HostRounds, Receipt, View, host_job
from jaxbandits.engine.identity import describe, guard, host_identity, result_host_code
from jaxbandits.engine.jobs import check_environment
from jaxbandits.engine.meters import Meter, Metric
from jaxbandits.engine.options import COUNT, MAX_SEED, make_options
from jaxbandits.engine.plan import Job, RecordPoints, resolve_record_points
from jaxbandits.engine.progress import ProgressBar
from jaxbandits.results.result import Result
from jaxbandits.tracing.settings import own_settings
from jaxbandits.types import Batches, Delays, Environment, Evaluates, Obs

_BAR_SECONDS = 0.2  # seconds between updates of the progress bar


Rounds: TypeAlias = int | np.ndarray  # number of rounds, one for all trials or `[W]`
Choice: TypeAlias = ArrayLike | tuple[ArrayLike, ArrayLike]  # arms `[W]`, or arms and their probabilities `[W]`


class HostLearner(Protocol):
    """Protocol of a learner in Python that plays W trials at once; no base class is needed.

    The trial axis comes first in all arrays, and the arrays are read-only. `obs` is the observation of the environment:
    `obs.arms` holds the features `[W, K, d]` or the numbers `[W, K]` of the arms; a `ContextObs` also has `obs.context`
    `[W, p]`; `obs.mask` is `[W, K]`, or None if all arms may be played.
    """

    def select(self, t: Rounds, obs: Obs) -> Choice:
        """Choose an arm in every trial.

        Args:
          t: number of rounds played, from 0; `[W]` in environments that do not count all rounds (`LoggedReplay`).
          obs: observation, leaves `[W, ...]`.

        Returns:
          `[W]` integers 0, ..., K - 1; or a tuple of these integers and the probabilities `[W]` of drawing them.
        """
        ...

    def update(self, t: Rounds, obs: Obs, index: np.ndarray, reward: np.ndarray) -> None:
        """Learn from the rewards of a round.

        Args:
          t: number of rounds played before the round of these rewards.
          obs: the observation of that round.
          index: `[W]` arms that were played in that round.
          reward: `[W]` rewards of these arms. Environments that do not count all rounds pass a fifth argument,
            `is_counted` `[W]`: True in the trials in which this round counts.
        """
        ...


@runtime_checkable
class RecommendingLearner(HostLearner, Protocol):
    """Optional protocol of a learner in Python that also recommends an arm, such as its estimate of the best arm."""

    def recommend(self, t: Rounds, obs: Obs) -> ArrayLike:
        """Recommend an arm in every trial, at a record point of an environment that evaluates recommendations.

        Args:
          t: number of rounds played; `[W]` in environments that do not count all rounds.
          obs: observation of the next round, leaves `[W, ...]`.

        Returns:
          `[W]` integers 0, ..., K - 1.
        """
        ...


def play(  # noqa: PLR0913
    learner: object,
    environment: Environment,
    horizon: int,
    seeds: int,
    *,
    record_points: RecordPoints = 100,
    meters: Sequence[Meter] = (),
    seed: int = 0,
    first_seed: int = 0,
    identity: str | None = None,
    progress: bool = True,
) -> Result:
    """Run independent trials of a learner that is written in Python, with all trials in one batch.

    Args:
      learner: an object with `select(t, obs)` and `update(t, obs, index, reward)` for W trials at once (`HostLearner`),
        or `each(factory)` of learners for one trial. An optional method `start(n_trials=, n_arms=, dim=, seeds=)` is
        called first, with the global seed indices `[W]`. An optional method `recommend(t, obs)`, which returns arms
        `[W]`, is called at every record point if the environment evaluates recommendations: `BernoulliArms`, for
        instance, computes the metrics `correct` and `simple_regret` from them. A mapping assigns labels to learners;
        otherwise the label is the name of the class.
      environment: a bandit environment: its observations contain arms, and its feedback is a reward.
      horizon: rounds per trial, 1 to 2^31 - 1.
      seeds: W, number of trials; trial i has the same instance and the same noise as in `simulate`.
      record_points: as for `simulate`.
      meters: extra `Meter`s; `algorithm`, `state` and `next_state` of their rounds are None.
      seed: base seed of instances and noise; the learner draws its own random numbers.
      first_seed: global index of the first trial.
      identity: text, such as a version, that identifies the code of the learner, since no digest covers this code.
        Without it, results of the same learner from several calls cannot be merged.
      progress: show a progress bar on standard error.

    Returns:
      A `Result` like that of `simulate`; `merge` joins it with results of `simulate` and `compare`.

    Raises:
      InputError: if an argument is invalid, if the environment has random delays, or if the learner returns an invalid
        arm or probability (the message then names the round and the trial).

    Example:
      >>> import numpy as np
      >>> from jaxbandits import armed, play
      >>> class Uniform:
      ...     def start(self, n_trials, n_arms, dim, seeds):
      ...         self.n_arms, self.rng = n_arms, np.random.default_rng(seeds)
      ...     def select(self, t, obs):
      ...         return self.rng.integers(self.n_arms, size=len(obs.arms))
      ...     def update(self, t, obs, index, reward):
      ...         pass
      >>> coins = armed.BernoulliArms.from_means([0.9, 0.5, 0.1])
      >>> result = play(Uniform(), coins, horizon=50, seeds=32, progress=False)
      >>> result.final("regret").shape  # [point, seed]
      (1, 32)
    """
    settings = {"meters": meters, "seed": seed, "first_seed": first_seed, "identity": identity, "progress": progress}
    options = make_options(**settings)
    learners: dict[Any, Any] = dict(learner) if isinstance(learner, Mapping) else {type(learner).__name__: learner}
    if not learners:
        raise InputError("play needs at least one learner")
    for label, one in learners.items():
        _check_learner(label, one)
    rounds = ranges.integer("horizon", horizon, COUNT)
    n_seeds = ranges.integer("seeds", seeds, f"[1, {MAX_SEED + 1}]")
    ranges.integer("first_seed", options.first_seed, f"[0, {MAX_SEED + 1 - n_seeds}]")
    for label in learners:
        check_environment(label, environment, rounds)
    begin, clock, hindsight = time.time(), time.perf_counter(), {}
    device = jax.local_devices()[0]
    trials = {}
    for label, one in learners.items():
        points = resolve_record_points(record_points, rounds)
        job = host_job(label, environment, rounds, points, n_seeds, options.first_seed, tuple(options.meters))
        trials[label] = _play_job(one, job, options.seed, options.identity, options.progress, device, hindsight)
    info = RunInfo(
        versions=versions(),
        devices=(f"{device.platform} {device.device_kind}",),
        workers=1,
        wall_s=time.perf_counter() - clock,
        started_unix_s=begin,
        base_seed=options.seed,
    )
    return Result(trials, info)


def each(factory: Callable[[int], Any]) -> "Each":
    """Combine learners for single trials into one learner for many trials.

    Args:
      factory: function from the global seed index of a trial to a learner. A learner has `select(t, obs)`, which
        returns an arm or a tuple of an arm and its probability, and `update(t, obs, index, reward)`. An optional
        method `start(n_arms=, dim=)` is called first. Either all learners or none have a method `recommend(t, obs)`,
        which returns an arm. Arrays have no trial axis: `obs.arms` is `[K, d]`, or `[K]` numbers.

    Returns:
      A learner that `play` accepts.

    Raises:
      InputError: if `factory` is not callable.

    Example:
      >>> from jaxbandits import armed, each, play
      >>> class First:
      ...     def select(self, t, obs):
      ...         return 0
      ...     def update(self, t, obs, index, reward):
      ...         pass
      >>> coins = armed.BernoulliArms.from_means([0.9, 0.5])
      >>> float(play(each(lambda seed: First()), coins, horizon=9, seeds=3, progress=False).final("regret").sum())
      0.0
    """
    if not callable(factory):
        raise InputError(f"`each` needs a function that maps a seed to a learner, got {format_value(factory)}")
    return Each(factory)


class Each:
    """Learner for many trials that consists of one learner per trial; `each` constructs it."""

    def __init__(self, factory: Callable[[int], Any]):
        self._factory = factory
        self.learners: list[Any] = []
        self.recommend: Callable[[Rounds, Obs], list[int]] | None = None  # set by `start`

    def start(self, n_trials: int, n_arms: int, dim: int, seeds: np.ndarray) -> None:
        """Make a learner for every trial, and call its method `start` if it has one.

        Raises:
          InputError: if a learner lacks `select` or `update`, or if only some of the learners have `recommend`.
        """
        self.learners = [self._factory(int(seed)) for seed in seeds]
        for learner in self.learners:
            if not callable(getattr(learner, "select", None)) or not callable(getattr(learner, "update", None)):
                raise InputError(f"`each` needs learners with methods select and update, got {format_value(learner)}")
            if hasattr(learner, "start"):
                learner.start(n_arms=n_arms, dim=dim)
        n_recommending = sum(callable(getattr(learner, "recommend", None)) for learner in self.learners)
        if n_recommending not in (0, len(self.learners)):
            raise InputError(
                f"each: {n_recommending} of {len(self.learners)} learners have a method recommend; either all or "
                "none must have it"
            )
        self.recommend = self._recommend if n_recommending else None

    def select(self, t: Rounds, obs: Obs) -> Choice:
        """Return the arms `[W]` that the learners choose, and their probabilities `[W]` if the learners return any.

        Raises:
          InputError: if only some of the learners return a probability, or if a tuple has another length than 2.
        """
        rows = zip(self.learners, self._times(t), split_trials(obs), strict=True)
        chosen = [learner.select(own_t, one) for learner, own_t, one in rows]
        are_tuples = {isinstance(one, tuple) and len(one) == 2 for one in chosen}
        if len(are_tuples) > 1 or (are_tuples == {False} and any(isinstance(one, tuple) for one in chosen)):
            raise InputError(
                "each: select must return an arm in every trial, or a tuple of an arm and its probability in every "
                f"trial, got {format_value(next(one for one in chosen if isinstance(one, tuple)))} in one of them"
            )
        if isinstance(chosen[0], tuple):
            return [index for index, _ in chosen], np.array([probability for _, probability in chosen], float)
        return chosen

    def _recommend(self, t: Rounds, obs: Obs) -> list[int]:
        rows = zip(self.learners, self._times(t), split_trials(obs), strict=True)
        return [learner.recommend(own_t, one) for learner, own_t, one in rows]

    def _times(self, t: Rounds) -> Sequence[int] | np.ndarray:
        return t if isinstance(t, np.ndarray) else [t] * len(self.learners)

    def update(
        self, t: Rounds, obs: Obs, index: np.ndarray, reward: np.ndarray, is_counted: np.ndarray | None = None
    ) -> None:
        """Update the learner of every trial in which the round counts."""
        n, times = len(self.learners), self._times(t)
        counts = [True] * n if is_counted is None else is_counted
        rows = zip(self.learners, times, split_trials(obs), index.tolist(), reward.tolist(), counts, strict=True)
        for learner, own_t, one, i, r, counted in rows:
            if counted:
                learner.update(own_t, one, i, r)


def split_trials(obs: Obs) -> Iterator[Obs]:
    """Yield the observation of each trial in turn, given an observation with leaves `[W, ...]`."""
    kind, n = type(obs), len(obs.arms)
    rows = [iter(field) if isinstance(field, np.ndarray) else iter([field] * n) for field in obs]
    for fields in zip(*rows, strict=True):
        yield kind(*fields)


class _Round(NamedTuple):
    """Arguments of an update that takes place in a later round."""

    t: Rounds
    obs: Obs
    index: np.ndarray
    played: Receipt


def _check_learner(label: object, learner: object) -> None:
    if not isinstance(label, str) or not label:
        raise InputError(f"a label must be text, got {format_value(label)}")
    if isinstance(learner, type):
        raise InputError(f"learner {label!r} is the class {learner.__name__}: pass an instance of it")
    if hasattr(learner, "feedback") and hasattr(learner, "init"):
        raise InputError(f"{label} is a compiled learner: run it with `simulate` or `compare`")
    for method in ("select", "update"):
        if not callable(getattr(learner, method, None)):
            raise InputError(
                f"learner {label!r} needs select(t, obs) and update(t, obs, index, reward), but it has no {method}"
            )


@own_settings()
def _prepare(job: Job, seed: int, device: Device) -> HostRounds:
    return HostRounds(job, seed, device)


def _play_job(
    learner: HostLearner,
    job: Job,
    seed: int,
    identity: str | None,
    progress: bool,
    device: Device,
    hindsight: Hindsight,
) -> Trials:
    begin = time.perf_counter()
    with ProgressBar(job.n_trials * job.horizon, "rounds", "", progress, scale=True) as bar:
        bar.begin_stage("compiling the environment, or reading it from the cache")
        rounds = _prepare(job, seed, device)
        bar.describe(job.label)
        if (start := getattr(learner, "start", None)) is not None:
            start(n_trials=job.n_trials, n_arms=rounds.n_arms, dim=rounds.dim, seeds=job.seeds)
        has_recommend = callable(getattr(learner, "recommend", None))  # after `start`, which sets it in `Each`
        rounds.recommends = has_recommend and isinstance(job.environment, Evaluates)
        block_values = _play_rounds(learner, job, rounds, bar)
    seconds = time.perf_counter() - begin
    run_s = seconds - rounds.compile_s
    timing = Timing(rounds.compile_s, run_s, job.n_trials * job.horizon, (run_s / (job.n_trials * job.horizon) * 1e9,))
    return collect_trials(job, block_values, timing, hindsight, _spec(job, learner, seed, identity, rounds, device))


def _play_rounds(learner: HostLearner, job: Job, rounds: HostRounds, bar: ProgressBar) -> dict[Metric, np.ndarray]:
    """Play all rounds; return block values `[trials, M, ...]`."""
    environment = job.environment
    delay = environment.feedback_delay if isinstance(environment, Delays) else 0
    batch = environment.feedback_batch if isinstance(environment, Batches) else 1
    if getattr(environment, "delay_bound", None):
        raise InputError(f"{type(environment).__name__} has random delays, which `play` does not support")
    late: collections.deque[_Round] = collections.deque()
    block_values: dict[Metric, np.ndarray] = {}
    record_points = job.record_points.tolist()
    view, n_recorded, shown, last = _start(rounds), 0, 0, time.perf_counter()
    for t in range(job.horizon):
        learner_time = t if view.time is None else view.time
        with _named_errors(learner, "select", t):
            chosen = learner.select(learner_time, view.obs)
        index, probability = _check_choice(chosen, t, job, rounds.n_arms)
        played, next_view = _step(rounds, t, index, probability)
        late.append(_Round(learner_time, view.obs, index, played))
        for _ in range(_due(t, delay, batch)):
            _update(learner, late.popleft(), t)
        view = next_view
        if t + 1 == record_points[n_recorded]:
            recommended = None
            if rounds.recommends and isinstance(learner, RecommendingLearner):
                recommended = _recommend(learner, t + 1, view, job, rounds)
            for metric, values in _record(rounds, recommended).items():
                if metric not in block_values:
                    block_values[metric] = np.empty((job.n_trials, len(record_points), *values.shape[1:]), values.dtype)
                block_values[metric][:, n_recorded] = values
            n_recorded += 1
        if (now := time.perf_counter()) - last > _BAR_SECONDS or t + 1 == job.horizon:
            bar.update((t + 1 - shown) * job.n_trials)
            shown, last = t + 1, now
    return block_values


# Only these calls run with the settings of this package's code; the learner runs with those of the user.
_start = own_settings()(HostRounds.start)
_step = own_settings()(HostRounds.step)
_record = own_settings()(HostRounds.record)


def _due(t: int, delay: int, batch: int) -> int:
    """Return the number of rounds whose feedback arrives at the end of round t, as in `engine.late_feedback`."""
    if batch == 1:
        return int(t >= delay)
    first = t - (delay + batch - 1)
    return batch if first >= 0 and first % batch == 0 else 0


def _recommend(learner: RecommendingLearner, t: int, view: View, job: Job, rounds: HostRounds) -> np.ndarray:
    """Return the arms `[W]` that a learner recommends after t rounds."""
    with _named_errors(learner, "recommend", t):
        arms = learner.recommend(t if view.time is None else view.time, view.obs)
    return _check_arms(arms, "recommend", t, job, rounds.n_arms)


def _update(learner: HostLearner, past: _Round, t: int) -> None:
    more = () if past.played.is_counted is None else (past.played.is_counted,)
    with _named_errors(learner, "update", t):
        learner.update(past.t, past.obs, past.index, past.played.reward, *more)


@contextlib.contextmanager
def _named_errors(learner: HostLearner, method: str, t: int) -> Iterator[None]:
    """Add the round to an error in the code of a learner."""
    try:
        yield
    except Exception as error:
        error.add_note(f"in {type(learner).__name__}.{method}, round {t}")
        raise


def _check_choice(chosen: Choice, t: int, job: Job, n_arms: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the arms `[W]` and their probabilities, if the learner returns them.

    Raises:
      InputError: for invalid arms or probabilities; the message names round and trial.
    """
    chosen, probability = chosen if isinstance(chosen, tuple) and len(chosen) == 2 else (chosen, None)
    index, n = _check_arms(chosen, "select", t, job, n_arms), job.n_trials
    if probability is not None:
        probability = np.asarray(probability, float)
        # Very small probabilities are 0 in the precision of the environment.
        is_good = (probability.astype(jnp.result_type(float)) > 0.0) & (probability <= 1.0)
        if probability.shape != (n,):
            raise InputError(f"round {t}: select must return {n} probabilities, got shape {probability.shape}")
        if not is_good.all():
            where = f"round {t}, trial {job.first_seed + int(np.argmin(is_good))}"
            raise InputError(f"{where}: probabilities must be in (0, 1], got {probability[np.argmin(is_good)]}")
    return index, probability


def _check_arms(chosen: ArrayLike, method: str, t: int, job: Job, n_arms: int) -> np.ndarray:
    """Return the arms `[W]` that a method of a learner has returned.

    The array is a copy, since late feedback needs it after the learner may have overwritten its own array.

    Raises:
      InputError: for invalid arms; the message names method, round and trial.
    """
    try:
        index = np.array(chosen)
    except ValueError:  # rows of several lengths
        index = np.empty(0, object)
    n = job.n_trials
    if index.shape != (n,):
        got = f"{type(chosen).__name__} of shape {index.shape}"
        raise InputError(
            f"round {t}: {method} must return one arm for each of {n} trials, integers of shape ({n},); got {got}"
        )
    if index.dtype.kind not in "iu" or index.min() < 0 or index.max() >= n_arms:
        wrong = next((i for i in range(n) if not _is_arm(index[i], n_arms)), None)
        if wrong is not None:
            where = f"round {t}, trial {job.first_seed + wrong}"
            got = format_value(_plain(index[wrong]))
            raise InputError(f"{where}: {method} returned {got}, but arms are numbered from 0 to {n_arms - 1}")
        index = index.astype(np.int64)  # whole numbers of another type
    return index


def _is_arm(value: int, n_arms: int) -> bool:
    return ranges.is_whole(value) and 0 <= value < n_arms


def _plain(value: object) -> object:
    return value.item() if isinstance(value, np.generic) else value


def _spec(
    job: Job, learner: HostLearner, seed: int, identity: str | None, rounds: HostRounds, device: Device
) -> dict[str, Any]:
    """Return the specification of a label; no digest covers the learner."""
    described = {"learner": job.label, **describe(job), "base_seed": seed}
    spec = {**described, "digest": digest(guard(described, job.width, [device]))}
    spec["programs"] = {"{}": digest(dict(sorted(rounds.digests.items())))}
    host_code = [f"{job.label} is code that runs in Python", *result_host_code(job)]
    return spec | host_identity(host_code, identity)
