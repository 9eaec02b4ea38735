"""The protocol: what passes between algorithm, environment and loop (docs/protocol.md draws it).

    obs      = environment.observe(key, t, env_state)                      what the learner may see before it plays
    decision = algorithm.select(key, t, state, obs)                        reads its state, never changes it
    env_state, feedback, outcome = environment.step(key, t, env_state, obs, decision)
    state    = algorithm.update(key, t, state, obs, decision, narrow(feedback, algorithm.feedback))

`Feedback` goes to the learner, narrowed to the fields its class declares; `Outcome` goes to the meters only. `t` counts
rounds from 0 and is a scalar that is the same for all trials, so that schedules on it stay real branches under `vmap`.
"""

from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import jax

from jaxbandits.base import trees
from jaxbandits.base.errors import InputError
from jaxbandits.numerics.linalg import Vector


class ArmObs(NamedTuple):
    """Linear and generalised linear bandits: the arms of this round."""

    arms: jax.Array  # [K, d]
    mask: Any = None  # [K] True where the arm may be played; None: all of them


class FixedArmObs(ArmObs):
    """Arms that are the same in every round of a trial; the mask may change. A fact of the type, known to Python."""

    __slots__ = ()


class ArmDecision(NamedTuple):
    """Which arm is played."""

    index: jax.Array  # [] int32
    x: Vector  # [d]


class PointDecision(NamedTuple):
    """A point that is played (charged) and points where the oracle is asked (free, counted by the leading axis)."""

    play: Any  # [d], or [m, n] on matrix domains
    query: Any  # [Q, d] (leaves with a leading axis Q)

    @classmethod
    def at(cls, point: Any) -> "PointDecision":
        """Play `point` and ask for the loss there only (Q = 1)."""
        return cls(play=point, query=trees.stack(point))


class GroupDecision(NamedTuple):
    """Group DRO: a model, group weights, and the groups from which one sample each is drawn (loss taken at `play`)."""

    play: Vector  # [d]  w_t
    weights: jax.Array  # [m]  q_t
    group: Any  # [Q] int32; a NumPy array where the choice is fixed, which spares the environment a gather
    drawn: Any = None  # [Q] False where the sample is not drawn (its loss and gradient read 0); None: all are


class Reward(NamedTuple):
    """Bandit feedback."""

    reward: jax.Array  # []


class ScaledReward(NamedTuple):
    """Bandit feedback with the moment scale nu_t = (E |noise|^{1+eps})^{1/(1+eps)} of this round's noise."""

    reward: jax.Array  # []
    noise_scale: jax.Array  # []


class Gradient(NamedTuple):
    """First-order feedback at the queried points."""

    loss: jax.Array  # [Q]
    grad: Any  # [Q, d]

    def first(self) -> "Gradient":
        """`[]` loss and `[d]` gradient at the first of them."""
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
        """`[]` loss and `[d]` gradient at the first queried point."""
        return Gradient(self.loss, self.grad).first()


class Constrained(NamedTuple):
    """First-order feedback on the loss and on one constraint g_t(x) <= 0 at the queried points."""

    loss: jax.Array  # [Q]
    grad: Any  # [Q, d]
    con: jax.Array  # [Q]
    con_grad: Any  # [Q, d]

    def first(self) -> "Constrained":
        """Loss, constraint `[]` and their gradients `[d]` at the first queried point."""
        return trees.row(self, 0)


class ConstrainedValue(NamedTuple):
    """Bandit feedback: the loss and one constraint g_t(x) <= 0 at the queried points, no gradients."""

    loss: jax.Array  # [Q]
    con: jax.Array  # [Q]

    def first(self) -> "ConstrainedValue":
        """Loss and constraint `[]` at the first queried point."""
        return trees.row(self, 0)


class MDPObs(NamedTuple):
    """Episodic decision process with linear rewards and known transitions: nS states, nA actions."""

    features: jax.Array  # [nS, nA, d]  phi(s, a)
    transitions: jax.Array  # [nS, nA, nS]  P(. | s, a)


class PolicyDecision(NamedTuple):
    """A deterministic policy for one episode of H steps."""

    actions: jax.Array  # [H, nS] int32  pi_h(s)


class Episode(NamedTuple):
    """What one episode shows of the rewards."""

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
    """Identification has no action: the learner says where the system goes next."""

    next_state: jax.Array  # [n]


class NextState(NamedTuple):
    """Where the system went."""

    next_state: jax.Array  # [n]


class ScaledNextState(NamedTuple):
    """Where the system went, with the moment scale of each coordinate of its disturbance."""

    next_state: jax.Array  # [n]
    noise_scale: jax.Array  # [n]


class Algorithm(Protocol):
    """A frozen pytree: traced fields are hyperparameters (one trial may differ from the next), static fields sizes."""

    feedback: Any  # the Feedback class it needs: the loop hands over those fields and no others

    def init(self, key: jax.Array) -> Any: ...
    def select(self, key: jax.Array, t: jax.Array, state: Any, obs: Any) -> Any: ...
    def update(self, key: jax.Array, t: jax.Array, state: Any, obs: Any, decision: Any, feedback: Any) -> Any: ...


@runtime_checkable
class InitFromObs(Protocol):
    """Optional: a learner whose first state depends on what it sees, such as the number of arms.

    Called once, after `init`, with the observation of round 0. It draws nothing at random.
    """

    def init_from_obs(self, state: Any, obs: Any) -> Any: ...


@runtime_checkable
class Recommends(Protocol):
    """Optional: an algorithm with an output besides what it plays (an estimate, an averaged iterate)."""

    def recommend(self, state: Any) -> Any: ...


@runtime_checkable
class HasConfidenceSet(Protocol):
    """Optional: a learner with a confidence set around its estimate."""

    def radius(self, t: Any, state: Any) -> jax.Array:
        """`[]` in the norm of its design, after t rounds, with which round t is played; every multiplier included."""
        ...


class Environment(Protocol):
    """A frozen pytree too, so that noise levels and drifts are sweepable.

    `step` returns the next state, everything any learner may be told, and the `Outcome`: a NamedTuple of numbers or
    arrays (of the same shape in every round) that are summed (`regret`, `loss`, `violation`, ...).

    Two class variables may describe the metrics of outcome, `at_record`, `in_hindsight` and `derive`:
    `axes: ClassVar[dict[str, tuple[str, ...]]]` names the axes of arrays (`{"risk": ("group",)}`), and
    `units: ClassVar[dict[str, str]]` says what is counted (`{"regret": "reward"}`).
    """

    def init(self, key: jax.Array) -> Any: ...
    def observe(self, key: jax.Array, t: jax.Array, state: Any) -> Any: ...
    def step(self, key: jax.Array, t: jax.Array, state: Any, obs: Any, decision: Any) -> tuple[Any, Any, Any]: ...


@runtime_checkable
class Admits(Protocol):
    """Optional: an environment that knows which decisions are admissible (index in range, point in the domain).

    A run counts the other rounds of every trial; `state` is the one before the round.
    """

    def admits(self, state: Any, obs: Any, decision: Any) -> jax.Array: ...


@runtime_checkable
class Delays(Protocol):
    """Optional: an environment whose feedback reaches the learner so many rounds late.

    The learner is then told the round that the feedback belongs to: `update` receives its `t`, `obs` and `decision`.
    Until the first feedback arrives its state stays the first one; what is late at the end never arrives. A learner
    that needs the feedback of a round before the next one declares `needs_immediate_feedback: ClassVar[bool] = True`
    and is refused.
    """

    @property
    def feedback_delay(self) -> int: ...


@runtime_checkable
class CountsRounds(Protocol):
    """Optional: an environment with rounds that do not count, such as events of a log that show another arm.

    After such a round the learner's state is what it was before, and its `t` does not move on.
    """

    def learner_time(self, t: jax.Array, state: Any) -> jax.Array:
        """`[]` int32: rounds that have counted, the learner's `t`."""
        ...

    def is_counted(self, t: jax.Array, state: Any, obs: Any, decision: Any) -> jax.Array:
        """`[]` whether this round counts; `state` is the one before it."""
        ...


@runtime_checkable
class Evaluates(Protocol):
    """Optional: an environment with quantities too expensive for every round; called at record points.

    Values are numbers or arrays, of the same shape at every record point.
    """

    def at_record(self, state: Any, recommendation: Any) -> dict[str, jax.Array]: ...


@runtime_checkable
class InHindsight(Protocol):
    """Optional: an environment with metrics that need the whole run and a solver, such as an offline optimum.

    Called on the host after the run, once per instance: for every hyperparameter point of the environment and every
    seed, not for every learner, with float64 arrays `[M, ...]` of the metrics named in `hindsight_needs` (sums
    cumulated) and the `[M]` record points; what those hold must not depend on the learner, or it is called for each
    that differs. It returns further metrics `[M, ...]`, which `derive` may use.
    """

    hindsight_needs: Any  # ClassVar[tuple[str, ...]]

    def in_hindsight(self, recorded: dict[str, Any], record_points: Any) -> dict[str, Any]: ...


@runtime_checkable
class RebuildsInstance(Protocol):
    """Optional, beside `InHindsight`: what that needs of an instance and nobody records, such as its parameters.

    Written in JAX for one instance: from the metrics that `in_hindsight` asks for to further named arrays, which join
    them. Compiled, and mapped over the instances of a run.
    """

    def rebuild_instance(self, recorded: dict[str, jax.Array]) -> dict[str, jax.Array]: ...


@runtime_checkable
class Derives(Protocol):
    """Optional: an environment with metrics that follow from others at record points, computed on the host.

    `derive` receives a float64 array per metric (sums cumulated) with axes (point, seed, record, ...), and returns
    further ones, such as `regret = loss - comparator_loss`.
    """

    def derive(self, values: dict[str, Any]) -> dict[str, Any]: ...


F = TypeVar("F")


def narrow(feedback: Any, declared: type[F]) -> F:
    """The fields that the algorithm declared, and no others: a zeroth-order method cannot see a gradient.

    Raises:
      InputError: before anything runs, when the environment does not offer a declared field.
    """
    for what, cls in (("an algorithm's feedback", declared), ("an environment's feedback", type(feedback))):
        if not hasattr(cls, "_fields"):
            raise InputError(f"{what} must be a NamedTuple, got {getattr(cls, '__name__', cls)!r}")
    fields: tuple[str, ...] = getattr(declared, "_fields")  # noqa: B009 (a NamedTuple class; F cannot say so)
    missing = [name for name in fields if not hasattr(feedback, name)]
    if missing:
        raise InputError(
            f"the algorithm needs {declared.__name__}({', '.join(fields)}), but this environment gives "
            f"{type(feedback).__name__}({', '.join(feedback._fields)}): {', '.join(missing)} missing"
        )
    return declared(**{name: getattr(feedback, name) for name in fields})
