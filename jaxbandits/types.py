"""Protocol of algorithms and environments, and the types that pass between them and the loop (docs/protocol.md).

    obs      = environment.observe(key, t, env_state)
    decision = algorithm.select(key, t, state, obs)
    env_state, feedback, outcome = environment.step(key, t, env_state, obs, decision)
    state    = algorithm.update(key, t, state, obs, decision, narrow(feedback, algorithm.feedback))

`Feedback` goes to the learner, narrowed to the fields that the learner declares; `Outcome` goes to the metrics and
meters only. `t` counts rounds from 0 and is the same for all trials, so that branches on `t`, as in schedules, remain
branches under `vmap`; with random delays or `CountsRounds`, learners receive a `t` that differs between trials.
"""

from typing import Any, ClassVar, NamedTuple, Protocol, TypeAlias, TypeVar, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base import trees
from jaxbandits.base.errors import InputError
from jaxbandits.numerics.linalg import Vector

# Pytrees of arrays whose types a class chooses for itself, mostly named tuples; no type describes them all.
State: TypeAlias = Any  # state of an algorithm or an environment
Obs: TypeAlias = Any  # observation on which a decision is based, such as `ArmObs`; None in online convex optimisation
Decision: TypeAlias = Any  # decision of a learner, such as `ArmDecision`
Feedback: TypeAlias = Any  # feedback that a learner receives, such as `Reward`
Outcome: TypeAlias = Any  # named tuple with the metrics of a round
Recommendation: TypeAlias = Any  # return value of `Recommends.recommend`; None for other learners


class ArmObs(NamedTuple):
    """Arms that are offered in one round, with their feature vectors."""

    arms: jax.Array  # [K, d] feature vectors; [K] indices if the arms have no features (`IndexObs`)
    mask: jax.Array | None = None  # [K] True where the arm may be played; None: all of them


class FixedArmObs(ArmObs):
    """Arms that are the same in every round of a trial; the mask may change.

    Fixed arms have a type of their own, because a type is known when a program is traced, whereas the value of a flag
    in an array is not.
    """

    __slots__ = ()


class IndexObs(FixedArmObs):
    """Arms without features, where `arms` holds only the K arm indices; `IndexObs.of(K)` constructs it."""

    __slots__ = ()

    @classmethod
    def of(cls, n_arms: int, mask: jax.Array | None = None) -> "IndexObs":
        """Return arms 0, ..., n_arms - 1; `mask` `[K]` is True for those that may be played (None: all of them)."""
        return cls(jnp.arange(n_arms, dtype=jnp.int32), mask)


class ItemObs(ArmObs):
    """Arms without features, each of which holds an item that may be replaced; `arms` is the item numbers `[K]`.

    An item keeps its number until it is replaced, and no other item of the trial ever has the same number.
    """

    __slots__ = ()


class ContextObs(NamedTuple):
    """Context that all arms share, for learners with one model per arm; `ContextObs.of(context, K)` constructs it."""

    context: Vector  # [p]
    arms: jax.Array  # [K] arm indices; [K, k] features of each arm, for models in which arms share coefficients
    mask: jax.Array | None = None  # [K] True where the arm may be played; None: all of them

    @classmethod
    def of(cls, context: Vector, n_arms: int, mask: jax.Array | None = None) -> "ContextObs":
        """Return the context `[p]` for arms 0, ..., n_arms - 1; `mask` `[K]` is True for those that may be played."""
        return cls(context, jnp.arange(n_arms, dtype=jnp.int32), mask)


class AdviceObs(NamedTuple):
    """Advice of M experts on K arms without features; `AdviceObs.of(advice)` constructs it."""

    advice: jax.Array  # [M, K]  row m: probabilities with which expert m recommends each arm; each row sums to 1
    arms: jax.Array  # [K] numbers of the arms
    mask: jax.Array | None = None  # [K] True where the arm may be played; None: all of them

    @classmethod
    def of(cls, advice: jax.Array, mask: jax.Array | None = None) -> "AdviceObs":
        """Return the advice `[M, K]` on arms 0, ..., K - 1; `mask` `[K]` is True for those that may be played."""
        return cls(advice, jnp.arange(advice.shape[1], dtype=jnp.int32), mask)


class ArmDecision(NamedTuple):
    """Arm that is played."""

    index: jax.Array  # [] int32
    x: Vector  # [d] features of the arm; its index [] if the arms have no features
    probability: jax.Array | None = None  # [] probability with which the arm was drawn; None: not random, or unknown


class SetDecision(NamedTuple):
    """Items that are chosen together, in the order in which they are displayed."""

    items: jax.Array  # [m] int32, all different; -1 at positions without an item
    probability: Any = None  # [] probability with which the set was drawn; None: not random, or unknown

    def mask(self, n_items: int) -> jax.Array:
        """Return bools `[L]`, True for the chosen items, where L = `n_items`."""
        return jnp.any(self.items[:, None] == jnp.arange(n_items, dtype=self.items.dtype), axis=0)


class PairDecision(NamedTuple):
    """Two arms that are compared with each other; they may be the same arm."""

    first: jax.Array  # [] int32
    second: jax.Array  # [] int32
    probability: Any = None  # [2] probabilities with which the arms were drawn; None: not random, or unknown


class TeamDecision(NamedTuple):
    """Arms that P players choose in one round."""

    index: jax.Array  # [P] int32


class PointDecision(NamedTuple):
    """Point that is played, and Q points at which the oracle is queried; only the played point incurs a loss."""

    play: Any  # [d], or [m, n] on matrix domains: the point that is played
    query: Any  # [Q, d] queried points; every leaf has a leading axis Q

    @classmethod
    def at(cls, point: Any) -> "PointDecision":
        """Return a decision that plays `point` and queries the oracle at the same point only (Q = 1)."""
        return cls(play=point, query=trees.stack(point))


class GroupDecision(NamedTuple):
    """Decision in group DRO: a model, group weights, and Q groups; one sample is drawn from each of the Q groups.

    The loss of the round is the loss of the model `play`.
    """

    play: Vector  # [d]  w_t, the parameters of the model
    weights: jax.Array  # [m]  q_t, the weights of the groups
    group: Any  # [Q] int32; a NumPy array if the choice is fixed, so that the environment needs no gather
    drawn: jax.Array | None = None  # [Q] False: no sample is drawn (loss and gradient are 0); None: all are drawn


class Reward(NamedTuple):
    """Bandit feedback: the reward of the arm that was played."""

    reward: jax.Array  # []


class ItemRewards(NamedTuple):
    """Semi-bandit feedback: the observed rewards of the chosen items.

    In the cascade model, rewards are observed for the items up to the first click.
    """

    reward: jax.Array  # [m]  rewards in the order of the items; 0 for items that were not seen
    seen: jax.Array  # [m] bool, whether the reward of the item is observed


class ListClicks(NamedTuple):
    """Clicks on the items of a list; whether the user saw an item without a click is not known."""

    reward: jax.Array  # [m]  1 for a click and 0 for none, in the order of the items


class SetReward(NamedTuple):
    """Full-bandit feedback on a set: the sum of the rewards of its items, but not the individual rewards."""

    total: jax.Array  # []


class SetFeedback(NamedTuple):
    """Complete feedback on a set of items, for learners that declare `ItemRewards`, `ListClicks` or `SetReward`."""

    reward: jax.Array  # [m]  rewards in the order of the items; 0 for items that were not seen
    seen: jax.Array  # [m] bool, whether the reward of the item is observed
    total: jax.Array  # []  sum of the rewards of the chosen items


class PositionFeedback(NamedTuple):
    """Feedback on a list that hides which items were examined, for learners with `ListClicks` or `SetReward`."""

    reward: jax.Array  # [m]  1 for a click and 0 for none, in the order of the items
    total: jax.Array  # []  sum of the clicks


class Preference(NamedTuple):
    """Feedback on a duel between two arms."""

    won: jax.Array  # []  1 if the first arm wins, 0 if the second does


class PlayerRewards(NamedTuple):
    """Feedback to P players who share arms; in the feedback that a single player receives, each field is `[]`."""

    sensed: jax.Array  # [P]  reward that the arm of each player generates, even if others play the same arm
    reward: jax.Array  # [P]  reward of each player, 0 if another player chose the same arm
    collided: jax.Array  # [P]  1 if the player is informed of a collision, else 0


class ScaledReward(NamedTuple):
    """Bandit feedback with the moment scale nu_t = (E |noise|^{1+eps})^{1/(1+eps)} of the noise of this round."""

    reward: jax.Array  # []
    noise_scale: jax.Array  # []


class Gradient(NamedTuple):
    """First-order feedback: losses and gradients at the queried points."""

    loss: jax.Array  # [Q]
    grad: Any  # [Q, d]

    def first(self) -> "Gradient":
        """Return the loss `[]` and the gradient `[d]` at the first queried point."""
        return trees.row(self, 0)


class SampledRows(NamedTuple):
    """First-order feedback on rows drawn from groups, together with the labelled rows themselves."""

    loss: jax.Array  # [Q]
    grad: Any  # [Q, d]
    x: jax.Array  # [Q, d]  features
    y: jax.Array  # [Q]  labels


class FullInformation(NamedTuple):
    """First-order feedback at the queried points, and the loss function, which can be evaluated at any point."""

    loss: jax.Array  # [Q]
    grad: Any  # [Q, d]
    oracle: Any  # the loss function, a pytree with the methods value(x) and gradient(x) (`numerics.losses`)

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
        """Return the values `[]` and gradients `[d]` of loss and constraint at the first queried point."""
        return trees.row(self, 0)


class ConstrainedValue(NamedTuple):
    """Zeroth-order feedback: values of the loss and of one constraint g_t(x) <= 0 at the queried points."""

    loss: jax.Array  # [Q]
    con: jax.Array  # [Q]

    def first(self) -> "ConstrainedValue":
        """Return the values `[]` of loss and constraint at the first queried point."""
        return trees.row(self, 0)


class MDPObs(NamedTuple):
    """Episodic Markov decision process with linear rewards, known transitions, nS states and nA actions."""

    features: jax.Array  # [nS, nA, d]  phi(s, a)
    transitions: jax.Array  # [nS, nA, nS]  P(. | s, a)


class PolicyDecision(NamedTuple):
    """Deterministic policy for one episode of H steps."""

    actions: jax.Array  # [H, nS] int32  pi_h(s)


class Episode(NamedTuple):
    """Features and rewards along one episode."""

    features: jax.Array  # [H, d]  phi(s_h, a_h) of the visited state-action pairs
    rewards: jax.Array  # [H]


class ScaledEpisode(NamedTuple):
    """Episode with the moment scale of its reward noise, as defined in `ScaledReward`."""

    features: jax.Array  # [H, d]
    rewards: jax.Array  # [H]
    noise_scale: jax.Array  # []


class SystemObs(NamedTuple):
    """State and input of a linear system to be identified, stacked into one vector."""

    regressor: Vector  # [p]  z = [x; u]


class Prediction(NamedTuple):
    """Prediction of the next state; in system identification the learner takes no other decision."""

    next_state: jax.Array  # [n]


class NextState(NamedTuple):
    """Feedback in system identification: the next state."""

    next_state: jax.Array  # [n]


class ScaledNextState(NamedTuple):
    """Next state of a linear system, with the moment scale of each coordinate of the disturbance."""

    next_state: jax.Array  # [n]
    noise_scale: jax.Array  # [n]


class Algorithm(Protocol):
    """Protocol of an algorithm, a frozen pytree.

    Traced fields are hyperparameters, which may differ between trials, and static fields are sizes.

    The methods are pure functions for a single trial; the loop maps them over trials. The shapes and types of the state
    must be the same after every round.

    The attribute `feedback`, a NamedTuple class such as `Reward`, declares which feedback the learner needs: `update`
    receives the fields of that class and no others. `feedback` is a class variable, or a property if it depends on
    fields of the algorithm. It is not declared below, because type checkers accept only one of these two forms for a
    member of a protocol.
    """

    def init(self, key: jax.Array) -> State:
        """Return the state before the first round.

        Args:
          key: `[]` random key that no other call receives.

        Returns:
          A pytree of arrays. It may hold constants that are computed once from the hyperparameters.
        """
        ...

    def select(self, key: jax.Array, t: jax.Array, state: State, obs: Obs) -> Decision:
        """Return the decision of a round; the state does not change.

        Args:
          key: `[]` random key of this call.
          t: `[]` int32, index of the round, starting at 0.
          state: state that `init` or the last `update` returned.
          obs: observation, such as `ArmObs`; None in online convex optimisation.

        Returns:
          A decision of a type that the environment accepts: `ArmDecision`, `PointDecision`, `GroupDecision`, ...
        """
        ...

    def update(
        self, key: jax.Array, t: jax.Array, state: State, obs: Obs, decision: Decision, feedback: Feedback
    ) -> State:
        """Compute the next state from the feedback of a round.

        Args:
          key: `[]` random key of this call.
          t: `[]` int32, index of the round to which the feedback belongs, starting at 0.
          state: state of the learner.
          obs: observation of round t.
          decision: decision of round t.
          feedback: an instance of the class `feedback`, such as a reward `[]`, or losses `[Q]` and gradients `[Q, d]`;
            rewards and losses are in the units of the environment.

        Returns:
          The next state, with the same shapes and types as `state`.
        """
        ...


@runtime_checkable
class InitFromObs(Protocol):
    """Optional protocol: a learner whose initial state depends on the first observation, such as on the number of arms.

    `init_from_obs` is called once per trial, after `init`. It receives no random key.
    """

    def init_from_obs(self, state: State, obs: Obs) -> State:
        """Return the state before the first round, from the state of `init` and the observation of round 0."""
        ...


@runtime_checkable
class AssumesNoiseScale(Protocol):
    """Optional protocol: a learner whose exploration assumes sub-Gaussian rewards of a known scale.

    A run issues a warning if the environment implements `BoundsRewards` and the bounds imply a smaller scale.
    """

    @property
    def sub_gaussian_scale(self) -> Any:
        """Scale R `[]`: rewards minus their mean are assumed to be R-sub-Gaussian; None: no scale is assumed."""
        ...


@runtime_checkable
class Recommends(Protocol):
    """Optional protocol: an algorithm with an output besides its decisions, such as an averaged iterate."""

    def recommend(self, state: State) -> Recommendation:
        """Return the output, which is passed to `Evaluates.at_record`."""
        ...


@runtime_checkable
class Stops(Protocol):
    """Optional protocol: a learner that decides when to stop, as in best-arm identification with fixed confidence.

    After the learner has stopped, the states of the trial no longer change and summed metrics no longer grow. The
    results have the further metrics `stopping_time` (number of rounds played) and `stopped` (1 if the learner had
    stopped by the record point).
    """

    def stopped(self, state: State) -> jax.Array:
        """Return `[]` True if the learner has stopped."""
        ...


@runtime_checkable
class HasConfidenceSet(Protocol):
    """Optional protocol: a learner with a confidence set around its estimate."""

    def radius(self, t: Any, state: State) -> jax.Array:
        """Return the radius `[]` after t rounds, in the norm of the design matrix, including all tuning multipliers."""
        ...


class Environment(Protocol):
    """Protocol of an environment, a frozen pytree.

    As in an `Algorithm`, a sweep can vary traced fields, such as noise levels and drift rates.

    Class variables may describe the metrics of the outcome and of `at_record`, `in_hindsight` and `derive`:

    * `axes: ClassVar[dict[str, tuple[str, ...]]]` names the axes of metrics that are arrays (`{"risk": ("group",)}`);
    * `units: ClassVar[dict[str, str]]` names the units of metrics (`{"regret": "reward"}`);
    * `may_be_missing: ClassVar[tuple[str, ...]]` lists the metrics in which a NaN means that no value exists (such as a
      mean over zero events), not that the trial failed.
    """

    def init(self, key: jax.Array) -> State:
        """Draw the problem instance of a trial.

        Args:
          key: `[]` random key that no other call receives.

        Returns:
          The state before the first round, a pytree of arrays.
        """
        ...

    def observe(self, key: jax.Array, t: jax.Array, state: State) -> Obs:
        """Return the observation that the learner receives before it decides.

        Args:
          key: `[]` random key of this call.
          t: `[]` int32, index of the round, starting at 0.
          state: state of the environment.

        Returns:
          The observation, such as `ArmObs` with arms `[K, d]`; None if the environment has no observations.
        """
        ...

    def step(
        self, key: jax.Array, t: jax.Array, state: State, obs: Obs, decision: Decision
    ) -> tuple[State, Feedback, Outcome]:
        """Play a round.

        Args:
          key: `[]` random key of this call.
          t: `[]` int32, index of the round, starting at 0.
          state: state of the environment.
          obs: observation of this round.
          decision: decision of the learner.

        Returns:
          The next state; the feedback, a NamedTuple with all fields that any learner may declare; and the outcome, a
          NamedTuple of metrics such as `regret`, `loss` and `violation`. Each metric is a number or an array whose
          shape is the same in every round, and the run sums it over rounds.
        """
        ...


@runtime_checkable
class Admits(Protocol):
    """Optional protocol: an environment that tests whether a decision is admissible (index in range, point in domain).

    For every trial, a run counts the rounds in which the decision is inadmissible.
    """

    def admits(self, state: State, obs: Obs, decision: Decision) -> jax.Array:
        """Return `[]` True if the decision is admissible, given the state before the round and the observation."""
        ...


@runtime_checkable
class Delays(Protocol):
    """Optional protocol: an environment whose feedback reaches the learner after a fixed number of rounds.

    `update` receives `t`, `obs` and `decision` of the round to which the feedback belongs. The learner keeps its
    initial state until the first feedback arrives; feedback that is due after the horizon never arrives. A learner that
    needs the feedback of each round before the next round declares `needs_immediate_feedback: ClassVar[bool] = True`;
    running it with a delay or with batches is an error.
    """

    @property
    def feedback_delay(self) -> int:
        """Number of rounds between a decision and its feedback, 0 or more."""
        ...


@runtime_checkable
class Batches(Protocol):
    """Optional protocol: an environment whose feedback arrives in batches, each at the end of a fixed number of rounds.

    At the end of a batch, `update` is called for each of its rounds in chronological order. A batch that is incomplete
    at the horizon never arrives. With a `feedback_delay` of D rounds, a batch arrives D rounds after its end.
    """

    @property
    def feedback_batch(self) -> int:
        """Number of rounds in a batch, 1 or more; with 1, feedback arrives after every round."""
        ...


@runtime_checkable
class DelaysAtRandom(Protocol):
    """Optional protocol: an environment whose feedback reaches the learner after a random number of rounds.

    Feedback that arrives enters a first-in, first-out queue; in each round, at most one item leaves the queue and
    updates the learner. Updates may therefore come in another order than their rounds; learners that store past rounds
    (`estimation.history`) are rejected. The random delay is added to `Delays.feedback_delay`; combining it with
    `Batches` is not supported.
    """

    @property
    def delay_bound(self) -> int | None:
        """Largest random delay; None: delays are not random."""
        ...

    def draw_delay(self, key: jax.Array) -> jax.Array:
        """Return the delay of a round, `[]` int32 from 0 to `delay_bound`, drawn with the key that `step` receives."""
        ...


@runtime_checkable
class BoundsHorizon(Protocol):
    """Optional protocol: an environment with data for a limited number of rounds; a longer horizon is an error."""

    @property
    def max_horizon(self) -> int | None:
        """Largest number of rounds of a trial; None: unlimited."""
        ...


@runtime_checkable
class BoundsRewards(Protocol):
    """Optional protocol: an environment with a known interval that contains all rewards a learner receives.

    Rewards in an interval of width w are sub-Gaussian of scale w / 2 (Hoeffding's lemma).
    """

    @property
    def reward_range(self) -> tuple[Any, Any] | None:
        """Ends of the interval, each `[]`, or arrays of ends if fields are swept; None: no interval is known."""
        ...


@runtime_checkable
class CountsRounds(Protocol):
    """Optional protocol: an environment in which some rounds do not count.

    An example is the replay of a log, in which rounds count only if the learner plays the logged arm.

    A round that does not count changes neither the learner's state nor its `t`.
    """

    def learner_time(self, t: jax.Array, state: State) -> jax.Array:
        """Return the number of counted rounds before round t, `[]` int32, which the learner receives as its `t`."""
        ...

    def is_counted(self, t: jax.Array, state: State, obs: Obs, decision: Decision) -> jax.Array:
        """Return `[]` True if this round counts, given the state before the round."""
        ...


@runtime_checkable
class Evaluates(Protocol):
    """Optional protocol: an environment with metrics that are too expensive to compute in every round."""

    def at_record(self, state: State, recommendation: Recommendation) -> dict[str, jax.Array]:
        """Return a dict from names to metrics at a record point; their shapes must be the same at every record point.

        The mean of a metric of dtype bool is a share of trials, and has the exact interval of Clopper and Pearson.

        Args:
          state: state of the environment.
          recommendation: output of the algorithm if it implements `Recommends`, else None.
        """
        ...


@runtime_checkable
class InHindsight(Protocol):
    """Optional protocol: an environment with metrics that need the whole run and a solver, such as an offline optimum.

    `in_hindsight` is called on the host after the run, once for each pair of a hyperparameter point of the environment
    and a seed; all learners share the result. If the metrics in `hindsight_needs` differ between learners, it is called
    once per learner.
    """

    hindsight_needs: ClassVar[tuple[str, ...]]  # names of recorded metrics

    def in_hindsight(self, recorded: dict[str, np.ndarray], record_points: np.ndarray) -> dict[str, np.ndarray]:
        """Return a dict of further metrics `[M, ...]`, which `derive` may use.

        Args:
          recorded: dict from the names in `hindsight_needs` to read-only float64 arrays `[M, ...]`; summed metrics
            are cumulative.
          record_points: `[M]` rounds at which metrics are recorded.
        """
        ...


@runtime_checkable
class RebuildsInstance(Protocol):
    """Optional protocol: an `InHindsight` environment that recomputes unrecorded quantities, such as true parameters.

    `rebuild_instance` is written in JAX for one instance; a run compiles it and maps it over all instances.
    """

    def rebuild_instance(self, recorded: dict[str, jax.Array]) -> dict[str, jax.Array]:
        """Return a dict of arrays, which is merged into the argument `recorded` of `in_hindsight`."""
        ...


@runtime_checkable
class Derives(Protocol):
    """Optional protocol: an environment that computes metrics on the host from other metrics at the record points."""

    def derive(self, values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return a dict of further metrics, such as `regret = loss - comparator_loss`.

        Args:
          values: dict from the names of all metrics to read-only float64 arrays with axes (point, seed, record
            point, ...); summed metrics are cumulative.
        """
        ...


F = TypeVar("F")

_FAMILY_OF_DECISION: dict[type, str] = {  # types of decisions that few environments accept
    SetDecision: "combinatorial",
    PairDecision: "duels",
    TeamDecision: "teams",
}

_ARM_NUMBERS: dict[type, tuple[str, ...]] = {ArmDecision: ("index",), PairDecision: ("first", "second")}
_DECISIONS = (ArmDecision, SetDecision, PairDecision, TeamDecision, PointDecision, GroupDecision)


def check_decision(algorithm: Any, environment: Any, decision: Any) -> None:
    """Check that an environment accepts the decisions of a learner.

    An environment that accepts sets, pairs or teams declares the type: `decision_type: ClassVar[type]`.

    Raises:
      InputError: during tracing, if the decision lacks fields of the declared type, if it is a set, a pair or a team
        and the environment declares no type, or if the number of an arm is an array with axes or not an integer.
    """
    wanted = getattr(environment, "decision_type", None)
    fields = set(getattr(decision, "_fields", ()))
    if wanted is not None:
        needed = set(wanted._fields) - set(wanted._field_defaults)
        is_another = isinstance(decision, _DECISIONS) and not isinstance(decision, wanted)
        if is_another or not needed <= fields:
            raise InputError(
                f"{type(environment).__name__} takes {wanted.__name__}({', '.join(wanted._fields)}), but "
                f"{type(algorithm).__name__} returns {type(decision).__name__}: use a learner of "
                f"{f'jaxbandits.{_FAMILY_OF_DECISION[wanted]}' if wanted in _FAMILY_OF_DECISION else 'the same family'}"
            )
    elif isinstance(decision, tuple(_FAMILY_OF_DECISION)):
        raise InputError(
            f"{type(algorithm).__name__} returns {type(decision).__name__}, which {type(environment).__name__} does "
            f"not accept: use an environment of jaxbandits.{_FAMILY_OF_DECISION[type(decision)]}"
        )
    for name in _ARM_NUMBERS.get(type(decision), ()):
        arm = jnp.asarray(getattr(decision, name))
        if arm.ndim or not jnp.issubdtype(arm.dtype, jnp.integer):
            raise InputError(
                f"{type(algorithm).__name__} returns {type(decision).__name__}({name}=...) of shape {arm.shape} and "
                f"type {arm.dtype}, but the number of an arm must be one integer, of shape ()"
            )


def check_collisions(algorithm: Any, environment: Any) -> None:
    """Check that the players of a team observe all collisions, if the team declares `needs_collisions = True`.

    An environment in which a collision can remain hidden has a false attribute `sees_collisions`.

    Raises:
      InputError: during tracing, if collisions can remain hidden and the team needs them.
    """
    if getattr(algorithm, "needs_collisions", False) and not getattr(environment, "sees_collisions", True):
        raise InputError(
            f"{type(algorithm).__name__} needs players who observe every collision, but {type(environment).__name__} "
            "has sees_collisions=False: use sees_collisions=True, or a team such as RandTopM or Selfish"
        )


def narrow(feedback: Feedback, declared: type[F]) -> F:
    """Return only the fields that an algorithm declared, so that a zeroth-order method never receives a gradient.

    Args:
      feedback: feedback of the environment.
      declared: NamedTuple class that the algorithm declares as its `feedback`.

    Returns:
      An instance of `declared`.

    Raises:
      InputError: during tracing, if the feedback lacks a declared field, or if one of the two is not a NamedTuple.
    """
    for owner, cls in (("an algorithm's feedback", declared), ("an environment's feedback", type(feedback))):
        if not hasattr(cls, "_fields"):
            raise InputError(f"{owner} must be a NamedTuple, got {getattr(cls, '__name__', cls)!r}")
    fields: tuple[str, ...] = getattr(declared, "_fields")  # noqa: B009 (F cannot express a NamedTuple)
    missing = [name for name in fields if not hasattr(feedback, name)]
    if missing:
        raise InputError(
            f"the algorithm needs {declared.__name__}({', '.join(fields)}), but this environment gives "
            f"{type(feedback).__name__}({', '.join(feedback._fields)}), without {', '.join(missing)}"
        )
    return declared(**{name: getattr(feedback, name) for name in fields})
