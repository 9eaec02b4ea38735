"""Replay of a log by rejection sampling (Li, Chu, Langford & Wang, WSDM 2011, Algorithm 2).

    event t presents its arms;   if the learner picks the logged arm, the round counts with probability p_min / p_t, and
    the learner receives the reward;   if the round does not count, the learner's state does not change

p_t is the probability with which the logged arm of event t was drawn, and p_min is the smallest of these probabilities.
Every decision of the learner then counts with the same probability p_min in every context (Dudik, Erhan, Langford & Li,
Statistical Science 2014, Section 4.1), and about n p_min of n events count. If arms were drawn uniformly, p_min / p_t =
1 and about one event in K counts. For i.i.d. events, `mean_reward` estimates the learner's mean reward over the same
number of rounds without bias (Theorem 1 of Li et al., for uniform draws).

If no propensities are given, the replay assumes that arms were drawn uniformly, and `from_log` warns if a score test
rejects this hypothesis. The test covers the frequencies of the arms and their linear dependence on the context. It
cannot detect a dependence on squares or products of the context, on variables that are not in the log, or between
events.
"""

import warnings
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.errors import InputError, format_value
from jaxbandits.base.labels import describe_names, names_of_arms, number_labels, shorten
from jaxbandits.base.pytree import ArrayLike, FieldValue, pytree, shared, static, validate
from jaxbandits.base.ranges import BOOL, floats, integer
from jaxbandits.base.text import count_of
from jaxbandits.environments.data import rows
from jaxbandits.environments.data.logs import Log, number_actions
from jaxbandits.environments.data.rows import Place
from jaxbandits.environments.datasets.files import Path, TextFile, labels_of
from jaxbandits.environments.outcomes import ratio
from jaxbandits.numerics import rng
from jaxbandits.types import ArmDecision, ArmObs, ContextObs, Reward


class Events(NamedTuple):
    """Events of the log; all trials share one copy."""

    seen: ArrayLike | None  # [n, p] contexts; [n, K, d] features of the arms; None: the arms are unit vectors
    index: ArrayLike  # [n] int32, arm that was played
    reward: ArrayLike  # [n]  reward of this arm
    keep: ArrayLike | None = None  # [n] p_min / p, probability with which a matching event counts; None: 1


class ReplayState(NamedTuple):
    """Position of a trial in the log."""

    place: Place  # row of the current event, and order of the rows
    counted: jax.Array  # [] int32, number of counted rounds
    draw: jax.Array | None  # [] uniform variate; a matching event counts if it is below `keep`; None if `keep` is None


class ReplayOutcome(NamedTuple):
    """Outcome of one event."""

    reward: jax.Array  # []  reward; 0 if the event does not count
    counted: jax.Array  # []  1 if the event counts, else 0


_SURE = 1e-6  # level of the test, the probability with which it rejects a uniform log
_FEW_ROUNDS = 100  # a warning is issued if the expected number of rounds that count is smaller


@pytree
class LoggedReplay:
    """Replay of a logged bandit for any learner.

    Each round of the simulation is one event; rounds after the last event do not count. The learner's `t` is the number
    of earlier rounds that count. It differs between trials, so that learners that store every round cannot be
    used. With the order "given", events are replayed in the order of the log; with "shuffled", in a different random
    order in each trial. With `as_context` the observation is the context itself (`ContextObs`), for learners with one
    model per arm.

    The metrics are `reward` and `counted`, both summed over rounds, and `mean_reward`, their ratio, which is missing
    before the first round that counts.
    """

    source: ClassVar[str] = "your own log, uniform or with propensities; Li, Chu, Langford & Wang, WSDM 2011"
    units: ClassVar = {"mean_reward": "reward", "reward": "reward", "counted": "rounds"}
    may_be_missing: ClassVar = ("mean_reward",)
    log: Events = shared(doc="events of the log (constructed by from_log)")
    n_arms: int = static(range="[1, inf)", doc="K, number of arms")
    order: str = static("given", doc='"given" or "shuffled"')
    as_context: bool = static(False, BOOL, "whether observations are contexts [p] that all arms share")
    actions: tuple[str, ...] = static((), doc="names of the arms 0, ..., K - 1; () if these numbers are the names")

    @classmethod
    def from_log(
        cls,
        index: object,
        reward: object = None,
        n_arms: int | None = None,
        seen: object = None,
        *,
        propensity: object = None,
        actions: Sequence[Any] | None = None,
        **settings: FieldValue,
    ) -> "LoggedReplay":
        """Return a replay of a log.

        Args:
          index: `[n]` arms that were played, as numbers from 0 or as names; or a `Log`, with which only `settings` may
            be given.
          reward: `[n]` rewards of these arms.
          n_arms: K, number of arms; by default the number of `actions`, or else of different arms in the log.
          seen: contexts `[n, p]`, or features of the arms `[n, K, d]`; by default the arms are the unit vectors.
          propensity: `[n]` probabilities with which these arms were drawn; by default 1/K.
          actions: names of the arms 0, ..., K - 1; None as in `Log.from_arrays`.
          **settings: values of other fields.

        Raises:
          InputError: if shapes do not match, an entry is not a finite number, or an arm does not exist.
        """
        log = index
        if not isinstance(log, Log):
            if actions is not None:
                labels = number_labels("index", index, actions, "actions")
            else:
                count = None if n_arms is None else integer("n_arms", n_arms)
                labels = number_actions(index, count, "index", "n_arms")
            rewards = floats("reward", reward, "(n,)")
            context = None if seen is None else floats("seen", seen, "(n, p)", "(n, K, d)")
            rows.check_fits("seen", context, len(rewards), len(labels.names))
            log = Log(
                action=labels.numbers,
                reward=rewards,
                propensity=None if propensity is None else floats("propensity", propensity, "(n,)"),
                context=context,
                actions=labels.names,
                is_sorted_text=labels.is_sorted_text,
            )
        elif any(part is not None for part in (reward, n_arms, seen, propensity, actions)):
            raise InputError(
                "from_log takes either a Log, which contains reward, context and propensity, or separate arrays, "
                "but not both"
            )
        keep = None
        if log.propensity is not None and np.ptp(log.propensity) > 0.0:
            keep = log.propensity.min() / log.propensity
        events = Events(log.context, log.action, log.reward, keep)
        made = cls(log=events, n_arms=log.n_actions, actions=names_of_arms(log.actions), **settings)
        validate(made)
        if log.propensity is None or np.allclose(log.propensity, 1.0 / log.n_actions, rtol=1e-3):
            _warn_unless_uniform(log)
        elif keep is not None and made.expected_rounds < _FEW_ROUNDS < len(log):
            warnings.warn(
                f"LoggedReplay: about {made.expected_rounds:.3g} of {len(log):,} events will count, because the "
                f"smallest propensity is {log.propensity.min():.3g}; evaluating a policy (jaxbandits.data.evaluate) "
                "uses all of them, with weights",
                stacklevel=2,
            )
        return made

    @classmethod
    def from_frame(cls, frame: Any, *, action: str, reward: str, **columns: Any) -> "LoggedReplay":
        """Return a replay of the events of a data frame, which has one event per row.

        Args:
          frame: a pandas, polars or pyarrow data frame, or a mapping of arrays.
          action: name of the column with the arms that were played.
          reward: name of the column with the rewards of these arms.
          **columns: further arguments of `Log.from_frame` (`propensity`, `context`, `actions`, `time`), or the fields
            `order` and `as_context`.

        Raises:
          InputError: as for `Log.from_frame` and `from_log`.
        """
        settings = {name: columns.pop(name) for name in ("order", "as_context") if name in columns}
        return cls.from_log(Log.from_frame(frame, action=action, reward=reward, **columns), **settings)

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
        propensity: str | int | None = None,
        **settings: FieldValue,
    ) -> "LoggedReplay":
        """Return a replay of the events of a CSV file, which has one event per row; for a data frame, use `from_frame`.

        Args:
          path: path of the file, plain or compressed.
          action: name or index of the column with the arms that were played.
          reward: name or index of the column with the rewards of these arms.
          seen: names or indices of the columns of the context, which must contain numbers. By default there is no
            context, and a warning is issued if there are other columns.
          n_arms: K, number of arms; by default the number of different actions.
          delimiter: character that separates cells.
          header: True if the first row contains column names.
          propensity: name or index of the column with the probabilities with which the arms were drawn.
          **settings: values of other fields, and `actions`.

        Raises:
          InputError: if the file cannot be read (the message names the file and the line), and as for `from_log`.
        """
        file = TextFile(path, separator=delimiter, header=header)
        if not isinstance(seen, (Sequence, type(None))) or isinstance(seen, str):
            raise InputError(f"seen must be a list of names or indices of columns, got {format_value(seen)}")
        roles = {"action": action, "reward": reward} | ({} if propensity is None else {"propensity": propensity})
        used = [file.column(role, column) for role, column in roles.items()]
        context = [file.column("seen", column) for column in seen or ()]
        if len({*used, *context}) < len(used) + len(context):
            raise InputError(f"two of {', '.join(roles)} and seen are the same column of {path}")
        rest = [name for name in file.names if name not in used]
        if seen is None and rest:
            warnings.warn(
                f"{path}: columns {shorten(rest)} are not used: pass seen=[...] with the columns of the context",
                stacklevel=2,
            )
        frame = file.read({used[0]: "text"} | dict.fromkeys([*used[1:], *context], "number"))
        arrays = {role: frame[name].to_numpy() for role, name in zip(roles, used, strict=True)}
        arrays["action"] = labels_of(frame[used[0]])
        shown = frame.select(context).to_numpy(order="c") if context else None
        del frame  # frees memory: the frame is as large as the contexts
        return cls.from_log(
            arrays["action"], arrays["reward"], n_arms, shown, propensity=arrays.get("propensity"), **settings
        )

    @classmethod
    def example(cls) -> "LoggedReplay":
        return cls.from_log([0, 1, 1, 0, 2, 1], [0.0, 1.0, 0.5, 0.0, 1.0, 0.0], n_arms=3)

    def check(self) -> None:
        """Raise InputError if the events are invalid or the order is unknown."""
        if not isinstance(self.log, Events) or np.ndim(self.log.reward) != 1:
            raise InputError("LoggedReplay.log must be an Events object, which from_log creates")
        n, index = np.shape(self.log.reward)[0], np.asarray(self.log.index)
        if index.shape != (n,) or index.dtype.kind not in "iu":
            raise InputError(
                f"LoggedReplay.log: index and reward must have one entry per event, got shapes {index.shape} and ({n},)"
            )
        if index.min() < 0 or index.max() >= self.n_arms:
            bad = index[(index < 0) | (index >= self.n_arms)][0]
            raise InputError(f"LoggedReplay.log: arms must lie in [0, n_arms = {self.n_arms}), got {bad}")
        rows.check_fits("LoggedReplay.log.seen", self.log.seen, n, self.n_arms)
        if self.log.keep is not None and np.shape(self.log.keep) != (n,):
            raise InputError(f"LoggedReplay.log.keep must have one entry per event, got {np.shape(self.log.keep)}")
        rows.check_order("order of LoggedReplay", self.order, ("given", "shuffled"))
        rows.check_names("LoggedReplay.actions", self.actions, self.n_arms)
        if self.as_context and (self.log.seen is None or np.ndim(self.log.seen) != 2):
            raise InputError("LoggedReplay.as_context is for contexts of shape (n, p), but the log has none")

    def __repr__(self) -> str:
        """Return text with the sizes, the actions in their order, and the settings."""
        events = count_of(np.shape(self.log.reward)[0], "event")
        events += " with propensities" if self.log.keep is not None else ""
        actions = describe_names("actions", self.actions) if self.actions else f"{self.n_arms:,} actions"
        return f"LoggedReplay({events}; {actions}; {rows.describe(self)})"

    @property
    def dim(self) -> int:
        """Dimension of the observation: p with `as_context`; otherwise d, the dimension of the arms.

        For contexts `[p]` it is d = K p, and without contexts d = K.
        """
        dim = rows.dim_of(self.log.seen, self.n_arms)
        return dim // self.n_arms if self.as_context else dim

    @property
    def expected_rounds(self) -> float:
        """Approximate number of events that count, which is n p_min for every learner (n / K for a uniform log)."""
        n = len(self.log.reward)
        if self.log.keep is None:
            return n / self.n_arms
        return float(np.mean(self.log.keep)) * n / self.n_arms

    @property
    def reward_range(self) -> tuple[float, float]:
        """Smallest and largest reward in the log."""
        rewards = np.asarray(self.log.reward)
        return float(rewards.min()), float(rewards.max())

    def init(self, key: jax.Array) -> ReplayState:
        draw = None
        if self.log.keep is not None:
            key, draw_key = jax.random.split(key)
            draw = rng.uniform(draw_key)
        return ReplayState(rows.begin(key, self.order, self.log.reward.shape[0]), jnp.zeros((), jnp.int32), draw)

    def observe(self, key: jax.Array, t: jax.Array, state: ReplayState) -> ArmObs | ContextObs:
        del key, t
        if self.as_context:
            return ContextObs.of(jnp.asarray(self.log.seen)[state.place.row], self.n_arms)
        return rows.arms_of(self.log.seen, state.place, self.n_arms)

    def learner_time(self, t: jax.Array, state: ReplayState) -> jax.Array:
        """Return the number `[]` of earlier rounds that count."""
        del t
        return state.counted

    def is_counted(self, t: jax.Array, state: ReplayState, obs: ArmObs, decision: ArmDecision) -> jax.Array:
        """Return True if the learner picks the logged arm and the event is accepted."""
        del obs
        row = state.place.row
        matches = (decision.index == jnp.asarray(self.log.index)[row]) & (t < self.log.reward.shape[0])
        return matches if state.draw is None else matches & (state.draw < jnp.asarray(self.log.keep)[row])

    def step(
        self, key: jax.Array, t: jax.Array, state: ReplayState, obs: ArmObs, decision: ArmDecision
    ) -> tuple[ReplayState, Reward, ReplayOutcome]:
        counted = self.is_counted(t, state, obs, decision)
        reward = jnp.asarray(self.log.reward)[state.place.row]
        draw = state.draw
        if draw is not None:
            key, draw_key = jax.random.split(key)
            draw = rng.uniform(draw_key)
        place = rows.follow(key, t, self.order, self.log.reward.shape[0], state.place)
        outcome = ReplayOutcome(jnp.where(counted, reward, 0.0), counted.astype(reward.dtype))
        return ReplayState(place, state.counted + counted.astype(jnp.int32), draw), Reward(reward), outcome

    def admits(self, state: ReplayState, obs: ArmObs, decision: ArmDecision) -> jax.Array:
        """Return True if the index of the arm is in range."""
        del state, obs
        return (decision.index >= 0) & (decision.index < self.n_arms)

    def derive(self, values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return `mean_reward`, the reward per counted round, which is NaN if no round counted."""
        return {"mean_reward": ratio(values["reward"], values["counted"])}


def _warn_unless_uniform(log: Log) -> None:
    """Warn if a score test rejects the hypothesis that every arm was drawn with probability 1/K in every context."""
    k, n = log.n_actions, len(log)
    if k < 2:
        return
    from scipy.stats import chi2

    counts = log.counts
    given = (
        "the log has no propensities, so all are assumed to be" if log.propensity is None else "all propensities are"
    )
    shares = f"arm {log.actions[counts.argmax()]} has {counts.max() / n:.0%} of {n:,} events, 1/K is {1 / k:.0%}"
    found = [(*_dependence(np.ones((n, 1)), log.action, k), shares)]
    if log.context is not None and log.context.ndim == 2:
        centred = log.context - log.context.mean(axis=0)
        found.append((*_dependence(centred, log.action, k), "the arm depends on the context"))
    elif log.context is not None:
        found.append((*_preference(log.context, log.action), "the arm depends on the features of the arms"))
    for statistic, degrees, what in found:
        if n >= 5 * k * degrees / (k - 1) and degrees and chi2.sf(statistic, degrees) < _SURE:
            warnings.warn(
                f"LoggedReplay: {given} 1/K = {1 / k:.3g}, but the log is not uniform ({what}), so mean_reward is "
                "biased: pass the probabilities with which the arms were chosen, or use jaxbandits.data.evaluate "
                "with propensities",
                stacklevel=3,
            )
            return


def _dependence(context: np.ndarray, action: np.ndarray, n_arms: int) -> tuple[float, int]:
    """Return score statistic and degrees of freedom for a logistic model of the arm given contexts `[n, p]`.

    If arms are drawn uniformly, the sums over events of (1{a = k} - 1/K) x for the arms k and l have the covariance
    (1{k = l}/K - 1/K^2) sum x x'.
    """
    sums = np.stack([np.bincount(action, column, n_arms) for column in context.T], axis=1)
    statistic, rank = _wald_statistic(sums - context.sum(axis=0) / n_arms, context.T @ context)
    return n_arms * statistic, (n_arms - 1) * rank


def _preference(arms: np.ndarray, action: np.ndarray) -> tuple[float, int]:
    """Return score statistic and degrees of freedom for a conditional logistic model with the features `[n, K, d]`."""
    centred = arms - arms.mean(axis=1, keepdims=True)
    total = centred[np.arange(len(action)), action].sum(axis=0)
    return _wald_statistic(total[None], np.einsum("nkd,nke->de", centred, centred) / arms.shape[1])


def _wald_statistic(sums: np.ndarray, covariance: np.ndarray) -> tuple[float, int]:
    """Return the sum of s' C^+ s over the rows s of `sums` `[m, d]`, and the rank of the covariance C."""
    scale = np.sqrt(np.diag(covariance))
    scale = np.where(scale > 0.0, scale, 1.0)
    sizes, basis = np.linalg.eigh(covariance / scale / scale[:, None])
    kept = sizes > 1e-9
    return float(np.sum((sums / scale @ basis[:, kept]) ** 2 / sizes[kept])), int(kept.sum())
