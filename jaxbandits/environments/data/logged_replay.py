"""Replay of a log by rejection sampling (Li, Chu, Langford & Wang, WSDM 2011, Algorithm 2).

    event t shows its arms;   where the learner picks the logged arm it receives its reward, and the round counts;
    elsewhere the event is dropped, and the learner stays as it was

If the logged arms were drawn uniformly and independently of everything else, the rounds that count are distributed as
those of the learner on the real system (Theorem 1 there, for i.i.d. events): `mean_reward` is an unbiased estimate of
what a learner earns per round over as many rounds. About one event in K counts. Logs of another law are not corrected:
`from_log` warns where the shares of the arms rule out uniform draws, and `jaxbandits.data.evaluate` weighs such logs.
"""

import warnings
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.errors import InputError, format_value
from jaxbandits.base.pytree import ArrayLike, pytree, shared, static, validate
from jaxbandits.environments.data import rows
from jaxbandits.environments.data.rows import Place
from jaxbandits.environments.datasets import streams
from jaxbandits.environments.datasets.labelled import numbers_or_texts
from jaxbandits.environments.datasets.streams import Path
from jaxbandits.types import ArmDecision, ArmObs, Reward


class Log(NamedTuple):
    """Events: one copy serves all trials."""

    seen: ArrayLike | None  # [n, p] a context; [n, K, d] the arms; None: unit vectors, the same in all events
    index: ArrayLike  # [n] int32, the arm that was played
    reward: ArrayLike  # [n] what it paid


class ReplayState(NamedTuple):
    """Position of a trial in the log."""

    place: Place
    counted: jax.Array  # [] int32, rounds that counted


class ReplayOutcome(NamedTuple):
    """Of one event."""

    reward: jax.Array  # []  0 where the event does not count
    counted: jax.Array  # []  1 where it counts


_SURE = 1e-6  # probability with which a uniform log is taken for another one


def _numbered(index: Any, n_arms: Any) -> Any:
    """Number arms that are named by text in the sorted order of their names."""
    try:
        array = np.asarray(index)
    except Exception:  # ragged, traced: `rows.table` says what is wrong
        return index
    if array.dtype.kind not in "USO" or not all(isinstance(name, str) for name in array.flat):
        return index
    names, numbers = np.unique(array.astype(str), return_inverse=True)
    if isinstance(n_arms, int) and len(names) > n_arms:
        raise InputError(f"index names {len(names)} arms ({', '.join(names[:4])}, ...), but n_arms = {n_arms}")
    return numbers.reshape(array.shape)


def _warn_unless_uniform(counts: np.ndarray) -> None:
    """Warn where Pearson's test rules out that every arm was drawn with probability 1/K."""
    n, k = counts.sum(), len(counts)
    if k < 2 or n < 5 * k:  # too few for the test
        return
    from scipy.stats import chi2

    expected = n / k
    if chi2.sf(((counts - expected) ** 2 / expected).sum(), k - 1) < _SURE:
        warnings.warn(
            f"LoggedReplay: the log is not uniform (arm {counts.argmax()} has {counts.max() / n:.0%} of {n:,} events, "
            f"1/K is {1 / k:.0%}), so its mean_reward is biased: use jaxbandits.data.evaluate with propensities",
            stacklevel=3,
        )


@pytree
class LoggedReplay:
    """A uniformly logged bandit, replayed for any learner.

    A round of the simulation is an event; after the last one nothing counts any more. The learner's `t` is the number
    of rounds that counted, which differs from trial to trial: learners that keep every round in a history are refused.
    Orders: "given" (as logged, the same in all trials) or "shuffled" (a random order for every trial).

    Recorded: `mean_reward`, the reward per counted round (0 before the first), `reward` and `counted`.
    """

    source: ClassVar[str] = "your own uniformly logged events; Li, Chu, Langford & Wang, WSDM 2011, Algorithm 2"
    units: ClassVar = {"mean_reward": "reward", "reward": "reward", "counted": "rounds"}
    log: Log = shared(doc="the events (made by from_log)")
    n_arms: int = static(range="[1, inf)", doc="K, number of arms")
    order: str = static("given", doc='"given" or "shuffled"')

    @classmethod
    def from_log(cls, index: Any, reward: Any, n_arms: int, seen: Any = None, **settings: Any) -> "LoggedReplay":
        """Return a replay of logged events.

        Args:
          index: `[n]` the arm that was played, from 0, or its name (names are numbered in sorted order), drawn
            uniformly from all K.
          reward: `[n]` what it paid.
          n_arms: K.
          seen: contexts `[n, p]`, or arms `[n, K, d]`; None: arms are the unit vectors.
          **settings: the other fields.

        Raises:
          InputError: shapes that do not fit, entries that are not finite numbers, arms that there are not.
        """
        rewards = rows.table("reward", reward, {"(n,)": 1})
        numbers = rows.table("index", _numbered(index, n_arms), {"(n,)": 1})
        log = Log(rows.fits("seen", seen, len(rewards), n_arms), numbers.astype(np.int32), rewards)
        if not np.array_equal(log.index, numbers):
            raise InputError(f"index must hold whole numbers, got {numbers[log.index != numbers][0]}")
        made = cls(log=log, n_arms=n_arms, **settings)
        validate(made)
        _warn_unless_uniform(np.bincount(log.index, minlength=n_arms))
        return made

    @classmethod
    def from_file(
        cls,
        path: Path,
        action: str | int,
        reward: str | int,
        *,
        seen: Sequence[str | int] | None = None,
        n_arms: int | None = None,
        delimiter: str = ",",
        header: bool = True,
        **settings: Any,
    ) -> "LoggedReplay":
        """Replay the events of a CSV file, a row each.

        Args:
          path: the file, plain or gzip-compressed (`.gz`).
          action: the column of the arm that was played, a number or a name: its name, or its number from 0.
          reward: the column of what it paid.
          seen: the columns of the context, numbers; others are not read. None: all further columns, a time stamp too.
          n_arms: K; by default the number of different actions.
          delimiter: one character between the cells.
          header: whether the first row holds names.
          **settings: the other fields.

        Raises:
          InputError: naming file and line, when it cannot be read; and what `from_log` refuses.
        """
        if isinstance(seen, str) or not isinstance(seen, (Sequence, type(None))):
            raise InputError(f"seen must be a list of columns, got {format_value(seen)}")
        context = {f"seen column {k}": column for k, column in enumerate(seen or ())}
        columns = {"action": action, "reward": reward, **context}
        reading: dict[str, Any] = {"delimiter": delimiter, "header": header, "only": seen is not None}
        table, places, names = streams.read_csv(path, columns, text="action", **reading)
        actions = numbers_or_texts(names)
        n_arms = len(np.unique(actions)) if n_arms is None else n_arms
        shown = [k for k in range(table.shape[1]) if k not in (places["action"], places["reward"])]
        shown = shown if seen is None else [places[what] for what in context]
        contexts = table[:, shown] if shown else None
        return cls.from_log(actions, table[:, places["reward"]], n_arms, contexts, **settings)

    @classmethod
    def example(cls) -> "LoggedReplay":
        return cls.from_log([0, 1, 1, 0, 2, 1], [0.0, 1.0, 0.5, 0.0, 1.0, 0.0], n_arms=3)

    def check(self) -> None:
        """Raise InputError on logs that are none, and unknown orders."""
        if not isinstance(self.log, Log) or np.ndim(self.log.reward) != 1:
            raise InputError("LoggedReplay.log must be a Log, as from_log makes it")
        n, index = np.shape(self.log.reward)[0], np.asarray(self.log.index)
        if index.shape != (n,) or index.dtype.kind not in "iu":
            raise InputError(
                f"LoggedReplay.log: index and reward must have one entry an event, got {index.shape}, ({n},)"
            )
        if index.min() < 0 or index.max() >= self.n_arms:
            bad = index[(index < 0) | (index >= self.n_arms)][0]
            raise InputError(f"LoggedReplay.log: arms must lie in [0, n_arms = {self.n_arms}), got {bad}")
        rows.fits("LoggedReplay.log.seen", self.log.seen, n, self.n_arms)
        rows.check_order("order of LoggedReplay", self.order, ("given", "shuffled"))

    @property
    def dim(self) -> int:
        """d, dimension of the arms: K p with contexts `[p]`, K without any."""
        return rows.dim_of(self.log.seen, self.n_arms)

    def init(self, key: jax.Array) -> ReplayState:
        return ReplayState(rows.begin(key, self.order, self.log.reward.shape[0]), jnp.zeros((), jnp.int32))

    def observe(self, key: jax.Array, t: jax.Array, state: ReplayState) -> ArmObs:
        del key, t
        return rows.arms_of(self.log.seen, state.place, self.n_arms)

    def learner_time(self, t: jax.Array, state: ReplayState) -> jax.Array:
        """Return the number of rounds that have counted."""
        del t
        return state.counted

    def is_counted(self, t: jax.Array, state: ReplayState, obs: ArmObs, decision: ArmDecision) -> jax.Array:
        """Return whether the learner picks the logged arm."""
        del obs
        return (decision.index == jnp.asarray(self.log.index)[state.place.row]) & (t < self.log.reward.shape[0])

    def step(
        self, key: jax.Array, t: jax.Array, state: ReplayState, obs: ArmObs, decision: ArmDecision
    ) -> tuple[ReplayState, Reward, ReplayOutcome]:
        counted = self.is_counted(t, state, obs, decision)
        reward = jnp.asarray(self.log.reward)[state.place.row]
        place = rows.follow(key, t, self.order, self.log.reward.shape[0], state.place)
        outcome = ReplayOutcome(jnp.where(counted, reward, 0.0), counted.astype(reward.dtype))
        return ReplayState(place, state.counted + counted.astype(jnp.int32)), Reward(reward), outcome

    def admits(self, state: ReplayState, obs: ArmObs, decision: ArmDecision) -> jax.Array:
        """Return whether the arm exists."""
        del state, obs
        return (decision.index >= 0) & (decision.index < self.n_arms)

    def derive(self, values: dict[str, Any]) -> dict[str, Any]:
        """Return the reward per counted round."""
        return {"mean_reward": values["reward"] / np.maximum(values["counted"], 1.0)}
