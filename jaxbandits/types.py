"""Protocol of algorithms and environments, and the types that pass between them and the loop (docs/protocol.md).

    obs      = environment.observe(key, t, env_state)
    decision = algorithm.select(key, t, state, obs)
    env_state, feedback, outcome = environment.step(key, t, env_state, obs, decision)
    state    = algorithm.update(key, t, state, obs, decision, narrow(feedback, algorithm.feedback))

`Feedback` goes to the learner, narrowed to the fields its class declares; `Outcome` goes to the meters only. `t` counts
rounds from 0 and is a scalar that is the same for all trials, so that schedules on it stay real branches under `vmap`.
"""

from typing import Any, ClassVar, NamedTuple, Protocol, TypeAlias, TypeVar, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base import trees
from jaxbandits.base.errors import InputError
from jaxbandits.numerics.linalg import Vector

# Pytrees of arrays whose types a class chooses for itself, mostly named tuples; no type describes them all.
State: TypeAlias = Any  # of an algorithm or environment
Obs: TypeAlias = Any  # what a learner sees before it decides, such as `ArmObs`; None in online convex optimisation
Decision: TypeAlias = Any  # such as `ArmDecision`
Feedback: TypeAlias = Any  # such as `Reward`
Outcome: TypeAlias = Any  # named tuple of metrics of a round
Recommendation: TypeAlias = Any  # what `Recommends.recommend` returns; None of other learners


class ArmObs(NamedTuple):
    """Arms of a round of a linear or generalised linear bandit."""

    arms: jax.Array  # [K, d]; [K] where they have no features (`IndexObs`)
    mask: jax.Array | None = None  # [K] True where the arm may be played; None: all of them


class FixedArmObs(ArmObs):
    """Arms that are the same in every round of a trial; the mask may change. The type is known during tracing."""

    __slots__ = ()


class IndexObs(FixedArmObs):
    """Arms without features: `arms` are their numbers, so that K arms cost O(K); made by `IndexObs.of(K)`."""

    __slots__ = ()

    @classmethod
    def of(cls, n_arms: int, mask: jax.Array | None = None) -> "IndexObs":
        """Show the arms 0, ..., n_arms - 1, under a mask `[K]` (None: all of them)."""
        return cls(jnp.arange(n_arms, dtype=jnp.int32), mask)


class ItemObs(ArmObs):
    """Arms without features behind which stand items that may be replaced: `arms` are the numbers of the items, `[K]`.

    An item keeps its number as long as it is there, and no other item ever has it.
    """

    __slots__ = ()


class ContextObs(NamedTuple):
    """A context that all arms share, for learners with a model an arm; made by `ContextObs.of(context, K)`."""

    context: Vector  # [p]
    arms: jax.Array  # [K] numbers of the arms; [K, k] features of their own, of models that share coefficients
    mask: jax.Array | None = None  # [K] True where the arm may be played; None: all of them

    @classmethod
    def of(cls, context: Vector, n_arms: int, mask: jax.Array | None = None) -> "ContextObs":
        """Show a context `[p]` of the arms 0, ..., n_arms - 1, under a mask `[K]` (None: all of them)."""
        return cls(context, jnp.arange(n_arms, dtype=jnp.int32), mask)


class AdviceObs(NamedTuple):
    """Advice of M experts on K arms without features; made by `AdviceObs.of(advice)`."""

    advice: jax.Array  # [M, K]  probabilities that expert m recommends for the arms, with sum 1
    arms: jax.Array  # [K] numbers of the arms
    mask: jax.Array | None = None  # [K] True where the arm may be played; None: all of them

    @classmethod
    def of(cls, advice: jax.Array, mask: jax.Array | None = None) -> "AdviceObs":
        """Show the advice `[M, K]` on the arms 0, ..., K - 1, under a mask `[K]` (None: all of them)."""
        return cls(advice, jnp.arange(advice.shape[1], dtype=jnp.int32), mask)


class ArmDecision(NamedTuple):
    """Arm that is played."""

    index: jax.Array  # [] int32
    x: Vector  # [d]; its number [] where arms have no features
    probability: jax.Array | None = None  # [] with which it was drawn; None: not drawn at random, or unknown


class SetDecision(NamedTuple):
    """Items that are chosen together, in the order of display."""

    items: jax.Array  # [m] int32, all different; -1 in places that hold no item
    probability: Any = None  # [] with which the set was drawn; None: it was not drawn, or the learner does not say

    def mask(self, n_items: int) -> jax.Array:
        """Return `[L]` True for the items that are chosen, of L = `n_items`."""
        return jnp.any(self.items[:, None] == jnp.arange(n_items, dtype=self.items.dtype), axis=0)


class PairDecision(NamedTuple):
    """Two arms that are compared; both may be the same one."""

    first: jax.Array  # [] int32
    second: jax.Array  # [] int32
    probability: Any = None  # [2] with which each was drawn; None: they were not drawn, or the learner does not say


class TeamDecision(NamedTuple):
    """Arms of P players."""

    index: jax.Array  # [P] int32


class PointDecision(NamedTuple):
    """A point that is played (charged) and points where the oracle is asked (free, counted by the leading axis)."""

    play: Any  # [d], or [m, n] on matrix domains
    query: Any  # [Q, d] (leaves with a leading axis Q)

    @classmethod
    def at(cls, point: Any) -> "PointDecision":
        """Play `point` and ask for the loss there only (Q = 1)."""
        return cls(play=point, query=trees.stack(point))


class GroupDecision(NamedTuple):
    """Decision of group DRO: a model, group weights, and the groups of one sample each; the loss is that of `play`."""

    play: Vector  # [d]  w_t
    weights: jax.Array  # [m]  q_t
    group: Any  # [Q] int32; a NumPy array where the choice is fixed, which spares the environment a gather
    drawn: jax.Array | None = None  # [Q] False where the sample is not drawn (loss and gradient read 0); None: all are


class Reward(NamedTuple):
    """Bandit feedback."""

    reward: jax.Array  # []


class ItemRewards(NamedTuple):
    """Semi-bandit feedback: a reward of each chosen item that was seen, such as those up to the first click."""

    reward: jax.Array  # [m]  of the items in their order; 0 where not seen
    seen: jax.Array  # [m] bool


class ListClicks(NamedTuple):
    """Clicks on the items of a list; whether the user saw an item without a click is not known."""

    reward: jax.Array  # [m]  1 where clicked, in the order of the items


class SetReward(NamedTuple):
    """Full-bandit feedback of a set: the sum of the rewards of its items, and nothing about each."""

    total: jax.Array  # []


class SetFeedback(NamedTuple):
    """All that an environment with sets may reveal, for learners of `ItemRewards`, `ListClicks` or `SetReward`."""

    reward: jax.Array  # [m]
    seen: jax.Array  # [m] bool
    total: jax.Array  # []


class PositionFeedback(NamedTuple):
    """All that an environment with hidden examinations may reveal, for learners of `ListClicks` or `SetReward`."""

    reward: jax.Array  # [m]
    total: jax.Array  # []


class Preference(NamedTuple):
    """Feedback of a duel."""

    won: jax.Array  # []  1 if the first arm wins, 0 if the second does


class PlayerRewards(NamedTuple):
    """Feedback of P players who share arms; of one player, each is `[]`."""

    sensed: jax.Array  # [P]  of the arm of each player, whether others are on it or not
    reward: jax.Array  # [P]  0 where the player met another one
    collided: jax.Array  # [P]  1 where the player knows that it did, else 0


class ScaledReward(NamedTuple):
    """Bandit feedback with the moment scale nu_t = (E |noise|^{1+eps})^{1/(1+eps)} of this round's noise."""

    reward: jax.Array  # []
    noise_scale: jax.Array  # []


class Gradient(NamedTuple):
    """First-order feedback at the queried points."""

    loss: jax.Array  # [Q]
    grad: Any  # [Q, d]

    def first(self) -> "Gradient":
        """Return the loss `[]` and the gradient `[d]` at the first queried point."""
        return trees.row(self, 0)


class SampledRows(NamedTuple):
    """First-order feedback at rows drawn from groups, and the labelled rows themselves."""

    loss: jax.Array  # [Q]
    grad: Any  # [Q, d]
    x: jax.Array  # [Q, d]  features
    y: jax.Array  # [Q]  labels


class FullInformation(NamedTuple):
    """First-order feedback at the queried points, and the loss itself, which may be asked anywhere (`losses`)."""

    loss: jax.Array  # [Q]
    grad: Any  # [Q, d]
    oracle: Any  # a pytree with value(x) and gradient(x)

    def first(self) -> Gradient:
        """Return the loss `[]` and the gradient `[d]` at the first queried point."""
        return Gradient(self.loss, self.grad).first()


class Constrained(NamedTuple):
    """First-order feedback on the loss and on one constraint g_t(x) <= 0 at the queried points."""

    loss: jax.Array  # [Q]
    grad: Any  # [Q, d]
    con: jax.Array  # [Q]
    con_grad: Any  # [Q, d]

    def first(self) -> "Constrained":
        """Return loss and constraint `[]` and their gradients `[d]` at the first queried point."""
        return trees.row(self, 0)


class ConstrainedValue(NamedTuple):
    """Bandit feedback: the loss and one constraint g_t(x) <= 0 at the queried points, no gradients."""

    loss: jax.Array  # [Q]
    con: jax.Array  # [Q]

    def first(self) -> "ConstrainedValue":
        """Return loss and constraint `[]` at the first queried point."""
        return trees.row(self, 0)


class MDPObs(NamedTuple):
    """Episodic decision process with linear rewards and known transitions: nS states, nA actions."""

    features: jax.Array  # [nS, nA, d]  phi(s, a)
    transitions: jax.Array  # [nS, nA, nS]  P(. | s, a)


class PolicyDecision(NamedTuple):
    """A deterministic policy for one episode of H steps."""

    actions: jax.Array  # [H, nS] int32  pi_h(s)


class Episode(NamedTuple):
    """Features and rewards of one episode."""

    features: jax.Array  # [H, d]  phi(s_h, a_h) of the pairs visited
    rewards: jax.Array  # [H]


class ScaledEpisode(NamedTuple):
    """An episode with the moment scale of its reward noise (`ScaledReward`)."""

    features: jax.Array  # [H, d]
    rewards: jax.Array  # [H]
    noise_scale: jax.Array  # []


class SystemObs(NamedTuple):
    """Identification of a linear system: its state and input, stacked."""

    regressor: Vector  # [p]  z = [x; u]


class Prediction(NamedTuple):
    """Predicted next state; identification has no action."""

    next_state: jax.Array  # [n]


class NextState(NamedTuple):
    """Next state of the system."""

    next_state: jax.Array  # [n]


class ScaledNextState(NamedTuple):
    """Next state of the system, with the moment scale of each coordinate of its disturbance."""

    next_state: jax.Array  # [n]
    noise_scale: jax.Array  # [n]


class Algorithm(Protocol):
    """A frozen pytree: traced fields are hyperparameters (they may differ between trials), static fields are sizes.

    The methods are pure functions of one trial; the loop maps them over trials. Shapes and types of the state are the
    same after every round.

    The class declares which feedback it needs by `feedback`, a NamedTuple class such as `Reward`: `update` receives the
    fields of that class and no others. `feedback` is a class variable, or a property where fields of the algorithm
    decide; type checkers allow a member of a protocol to be one of the two only, so it is not declared below.
    """

    def init(self, key: jax.Array) -> State:
        """Make the state before the first round.

        Args:
          key: `[]` random key of its own.

        Returns:
          A pytree of arrays, which holds the constants that follow from hyperparameters, too.
        """
        ...

    def select(self, key: jax.Array, t: jax.Array, state: State, obs: Obs) -> Decision:
        """Choose the decision of a round; the state is only read.

        Args:
          key: `[]` random key of this call.
          t: `[]` int32, rounds played before, from 0.
          state: state of `init` or the last `update`.
          obs: observation, such as `ArmObs`; None in online convex optimisation.

        Returns:
          A decision that the environment knows: `ArmDecision`, `PointDecision`, `GroupDecision`, ...
        """
        ...

    def update(
        self, key: jax.Array, t: jax.Array, state: State, obs: Obs, decision: Decision, feedback: Feedback
    ) -> State:
        """Compute the next state from the feedback of a round.

        Args:
          key: `[]` random key of this call.
          t: `[]` int32, the round that the feedback belongs to, from 0.
          state: the present one.
          obs: the observation of round t.
          decision: that of round t.
          feedback: the fields that the class `feedback` declares: rewards `[]` or losses `[Q]` in units of the
            environment, gradients `[Q, d]`.

        Returns:
          The next state, with the shapes and types of the present one.
        """
        ...


@runtime_checkable
class InitFromObs(Protocol):
    """Optional: a learner whose first state depends on the observation, such as the number of arms.

    Its method is called once per trial, after `init`, and draws nothing at random.
    """

    def init_from_obs(self, state: State, obs: Obs) -> State:
        """Return the state before the first round, from the state of `init` and the observation of round 0."""
        ...


@runtime_checkable
class AssumesNoiseScale(Protocol):
    """Optional: a learner for sub-Gaussian rewards of one scale, by which its exploration grows.

    A run warns where the environment `BoundsRewards` and a smaller scale than the learner's is enough.
    """

    @property
    def sub_gaussian_scale(self) -> Any:
        """R `[]`: the rewards of an arm, less their mean, are taken to be R-sub-Gaussian; None: nothing is assumed."""
        ...


@runtime_checkable
class Recommends(Protocol):
    """Optional: an algorithm with an output besides its plays (an estimate, an averaged iterate)."""

    def recommend(self, state: State) -> Recommendation:
        """Return the output, which `Evaluates.at_record` receives."""
        ...


@runtime_checkable
class Stops(Protocol):
    """Optional: a learner that may declare itself done, such as one that identifies the best arm.

    From then on its trial is frozen: no state changes and nothing is charged. Every result has the metrics
    `stopping_time` (rounds played) and `stopped` (1 where the learner was done at the record point).
    """

    def stopped(self, state: State) -> jax.Array:
        """Return `[]` whether no further round is needed."""
        ...


@runtime_checkable
class HasConfidenceSet(Protocol):
    """Optional: a learner with a confidence set around its estimate."""

    def radius(self, t: Any, state: State) -> jax.Array:
        """Return the radius `[]` of round t, after t rounds, in the norm of the design, with all multipliers."""
        ...


class Environment(Protocol):
    """A frozen pytree, too, so that noise levels and drifts are sweepable.

    Class variables may describe the metrics of outcome, `at_record`, `in_hindsight` and `derive`:
    `axes: ClassVar[dict[str, tuple[str, ...]]]` names the axes of arrays (`{"risk": ("group",)}`), and
    `units: ClassVar[dict[str, str]]` names their units (`{"regret": "reward"}`), and
    `may_be_missing: ClassVar[tuple[str, ...]]` names those in which a NaN stands for no value (a mean of which nothing
    has counted), and not for a failed trial.
    """

    def init(self, key: jax.Array) -> State:
        """Draw the instance of a trial.

        Args:
          key: `[]` random key of its own.

        Returns:
          The state before the first round, a pytree of arrays.
        """
        ...

    def observe(self, key: jax.Array, t: jax.Array, state: State) -> Obs:
        """Return the observation that the learner receives before it decides.

        Args:
          key: `[]` random key of this call.
          t: `[]` int32, rounds played before, from 0.
          state: state of the environment.

        Returns:
          Such as `ArmObs` with arms `[K, d]`; None without observations.
        """
        ...

    def step(
        self, key: jax.Array, t: jax.Array, state: State, obs: Obs, decision: Decision
    ) -> tuple[State, Feedback, Outcome]:
        """Play a round.

        Args:
          key: `[]` random key of this call.
          t: `[]` int32, rounds played before, from 0.
          state: state of the environment.
          obs: the observation of this round.
          decision: that of the learner.

        Returns:
          The next state; the feedback, a NamedTuple with all fields that any learner may declare; and the outcome, a
          NamedTuple of numbers or arrays (of the same shape in every round), which are summed: `regret`, `loss`,
          `violation`, ..., in the units of `units`.
        """
        ...


@runtime_checkable
class Admits(Protocol):
    """Optional: an environment that knows which decisions are admissible (index in range, point in the domain).

    A run counts the other rounds of every trial; `state` is the one before the round.
    """

    def admits(self, state: State, obs: Obs, decision: Decision) -> jax.Array:
        """Return `[]` whether a decision is admissible, for the state before the round and its observation."""
        ...


@runtime_checkable
class Delays(Protocol):
    """Optional: an environment whose feedback reaches the learner after a delay of a fixed number of rounds.

    `update` receives `t`, `obs` and `decision` of the round that the feedback belongs to. The learner keeps its first
    state until the first feedback arrives; feedback that is due after the horizon never arrives. A learner that needs
    the feedback of a round before the next one declares `needs_immediate_feedback: ClassVar[bool] = True` and is
    refused.
    """

    @property
    def feedback_delay(self) -> int:
        """Number of rounds between a decision and its feedback, 0 or more."""
        ...


@runtime_checkable
class Batches(Protocol):
    """Optional: an environment whose feedback arrives at the end of each batch of a fixed number of rounds.

    `update` is called for one round after the other, in their order. A batch that is not complete at the horizon never
    arrives; with a `feedback_delay` D a batch arrives D rounds after its end.
    """

    @property
    def feedback_batch(self) -> int:
        """Number of rounds in a batch, 1 or more; 1: after every round."""
        ...


@runtime_checkable
class DelaysAtRandom(Protocol):
    """Optional: an environment whose feedback reaches the learner after a random number of rounds.

    Feedback that has arrived waits in a queue, and the learner is updated with one round of it per round, first come
    first served. The random delay is added to `Delays.feedback_delay`; `Batches` are not supported.
    """

    @property
    def delay_bound(self) -> int | None:
        """Largest random delay; None: delays are not random."""
        ...

    def draw_delay(self, key: jax.Array) -> jax.Array:
        """Return the delay `[]` int32 of a round, from 0 to `delay_bound`, for the key that `step` receives."""
        ...


@runtime_checkable
class BoundsHorizon(Protocol):
    """Optional: an environment with data for a limited number of rounds; a longer horizon is an error."""

    @property
    def max_horizon(self) -> int | None:
        """Largest number of rounds of a trial; None: any."""
        ...


@runtime_checkable
class BoundsRewards(Protocol):
    """Optional: an environment that knows an interval which holds all rewards that a learner receives.

    Rewards in an interval of width w are sub-Gaussian of scale w / 2 (Hoeffding's lemma).
    """

    @property
    def reward_range(self) -> tuple[Any, Any] | None:
        """The ends `[]` of the interval, elementwise in traced fields; None: there is none, or it is not known."""
        ...


@runtime_checkable
class CountsRounds(Protocol):
    """Optional: an environment with rounds that do not count, such as events of a log that show another arm.

    Such a round leaves the learner's state and its `t` as they are.
    """

    def learner_time(self, t: jax.Array, state: State) -> jax.Array:
        """Return `[]` int32, the number of rounds that have counted: the learner's `t`."""
        ...

    def is_counted(self, t: jax.Array, state: State, obs: Obs, decision: Decision) -> jax.Array:
        """Return `[]` whether this round counts; `state` is the one before it."""
        ...


@runtime_checkable
class Evaluates(Protocol):
    """Optional: an environment with quantities that are too expensive for every round."""

    def at_record(self, state: State, recommendation: Recommendation) -> dict[str, jax.Array]:
        """Return metrics at a record point by name: numbers or arrays, of the same shapes at every record point.

        Args:
          state: state of the environment.
          recommendation: recommendation of the algorithm, if it `Recommends`; else None.
        """
        ...


@runtime_checkable
class InHindsight(Protocol):
    """Optional: an environment with metrics that need the whole run and a solver, such as an offline optimum.

    Its method is called on the host after the run, once per instance: for every hyperparameter point of the environment
    and every seed, not for every learner. If the metrics that it needs differ between learners, it is called for each.
    """

    hindsight_needs: ClassVar[tuple[str, ...]]  # names of recorded metrics

    def in_hindsight(self, recorded: dict[str, np.ndarray], record_points: np.ndarray) -> dict[str, np.ndarray]:
        """Return further metrics `[M, ...]` by name, which `derive` may use.

        Args:
          recorded: by name float64 arrays `[M, ...]` of the metrics in `hindsight_needs` (sums cumulated).
          record_points: `[M]` rounds.
        """
        ...


@runtime_checkable
class RebuildsInstance(Protocol):
    """Optional, for `InHindsight`: quantities of an instance that no metric records, such as its parameters.

    Its method is written in JAX for one instance, compiled, and mapped over the instances of a run.
    """

    def rebuild_instance(self, recorded: dict[str, jax.Array]) -> dict[str, jax.Array]:
        """Return arrays by name that are added to the metrics `recorded` which `in_hindsight` receives."""
        ...


@runtime_checkable
class Derives(Protocol):
    """Optional: an environment with metrics that follow from others at record points, computed on the host."""

    def derive(self, values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return further metrics, such as `regret = loss - comparator_loss`.

        Args:
          values: by name float64 arrays of all metrics (sums cumulated), with axes (point, seed, record point, ...).
        """
        ...


F = TypeVar("F")

_FAMILY_OF_DECISION: dict[type, str] = {  # decisions that few environments take
    SetDecision: "combinatorial",
    PairDecision: "duels",
    TeamDecision: "teams",
}

_DECISIONS = (ArmDecision, SetDecision, PairDecision, TeamDecision, PointDecision, GroupDecision)


def check_decision(algorithm: Any, environment: Any, decision: Any) -> None:
    """Check that an environment takes the decisions of a learner.

    An environment for other decisions than one arm, one point, ... names their type: `decision_type: ClassVar[type]`.

    Raises:
      InputError: during tracing, if the decision lacks fields of that type, or is of a type that must be named.
    """
    wanted = getattr(environment, "decision_type", None)
    fields = set(getattr(decision, "_fields", ()))
    if wanted is not None:
        needed = set(wanted._fields) - set(wanted._field_defaults)
        is_another = isinstance(decision, _DECISIONS) and not isinstance(decision, wanted)
        if is_another or not needed <= fields:
            raise InputError(
                f"{type(environment).__name__} takes {wanted.__name__}({', '.join(wanted._fields)}), and "
                f"{type(algorithm).__name__} returns {type(decision).__name__}: take a learner of "
                f"jaxbandits.{_FAMILY_OF_DECISION.get(wanted, 'the same family')}"
            )
    elif isinstance(decision, tuple(_FAMILY_OF_DECISION)):
        raise InputError(
            f"{type(algorithm).__name__} returns {type(decision).__name__}, which {type(environment).__name__} does "
            f"not take: take an environment of jaxbandits.{_FAMILY_OF_DECISION[type(decision)]}"
        )


def narrow(feedback: Feedback, declared: type[F]) -> F:
    """Return the fields that the algorithm declared, and no others: a zeroth-order method cannot see a gradient.

    Raises:
      InputError: during tracing, if the environment does not offer a declared field.
    """
    for owner, cls in (("an algorithm's feedback", declared), ("an environment's feedback", type(feedback))):
        if not hasattr(cls, "_fields"):
            raise InputError(f"{owner} must be a NamedTuple, got {getattr(cls, '__name__', cls)!r}")
    fields: tuple[str, ...] = getattr(declared, "_fields")  # noqa: B009 (a NamedTuple class; F cannot say so)
    missing = [name for name in fields if not hasattr(feedback, name)]
    if missing:
        raise InputError(
            f"the algorithm needs {declared.__name__}({', '.join(fields)}), but this environment gives "
            f"{type(feedback).__name__}({', '.join(feedback._fields)}): {', '.join(missing)} missing"
        )
    return declared(**{name: getattr(feedback, name) for name in fields})
