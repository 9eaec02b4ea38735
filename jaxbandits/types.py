"""The protocol: what passes between algorithm, environment and loop (docs/protocol.md draws it).

    obs      = environment.observe(key, t, env_state)                      what the learner may see before it plays
    decision = algorithm.select(key, t, state, obs)                        reads its state, never changes it
    env_state, feedback, outcome = environment.step(key, t, env_state, obs, decision)
    state    = algorithm.update(key, t, state, obs, decision, narrow(feedback, algorithm.feedback))

`Feedback` goes to the learner, narrowed to the fields its class declares; `Outcome` goes to the meters only. `t` counts
rounds from 0 and is a scalar that is the same for all trials, so that schedules on it stay real branches under `vmap`.
"""

from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar, runtime_checkable

import jax

from jaxbandits.core.errors import InputError
from jaxbandits.core.linalg import Vec, Vector

# K arms: unrolled as K vectors (small K d^2: fastest under vmap), one `Vec` with leaves [K] (large K), or an array
# [K, d] (large d). `core.linalg.dense(arms)` is [K, d] in every case; `estimation.arms.best_arm` accepts every form.
ArmSet: TypeAlias = tuple[Vector, ...] | Vec | jax.Array


class ArmObs(NamedTuple):
    """Linear and generalised linear bandits: the arms of this round."""

    arms: ArmSet  # [K, d]
    mask: Any = None  # [K] True where the arm may be played (K scalars when `arms` is unrolled); None: all of them


class HintObs(NamedTuple):
    """Online convex optimisation with a hint of the next gradient."""

    hint: Vector  # [d]


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
        return cls(play=point, query=jax.tree.map(lambda a: a[None], point))


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


class Value(NamedTuple):
    """Zeroth-order feedback at the queried points."""

    loss: jax.Array  # [Q]


class FullInformation(NamedTuple):
    """First-order feedback at the queried points, and the loss itself, which may be asked anywhere (`core.losses`)."""

    loss: jax.Array  # [Q]
    grad: Any  # [Q, d]
    oracle: Any  # a pytree with value(x) and gradient(x)


class Constrained(NamedTuple):
    """First-order feedback on the loss and on one constraint g_t(x) <= 0 at the queried points."""

    loss: jax.Array  # [Q]
    grad: Any  # [Q, d]
    con: jax.Array  # [Q]
    con_grad: Any  # [Q, d]


class MDPObs(NamedTuple):
    """Episodic decision process with linear rewards and known transitions: nS states, nA actions."""

    features: Vector  # [nS, nA, d]  phi(s, a)
    transitions: Vector  # [nS, nA, nS]  P(. | s, a)


class PolicyDecision(NamedTuple):
    """A deterministic policy for one episode of H steps."""

    actions: jax.Array  # [H, nS] int32  pi_h(s)


class Episode(NamedTuple):
    """What one episode shows of the rewards."""

    features: Vector  # [H, d]  phi(s_h, a_h) of the pairs visited
    rewards: jax.Array  # [H]


class ScaledEpisode(NamedTuple):
    """An episode with the moment scale of its reward noise (`ScaledReward`)."""

    features: Vector  # [H, d]
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
class Recommends(Protocol):
    """Optional: an algorithm with an output besides what it plays (an estimate, an averaged iterate)."""

    def recommend(self, state: Any) -> Any: ...


class Environment(Protocol):
    """A frozen pytree too, so that noise levels and drifts are sweepable.

    `step` returns the next state, everything any learner may be told, and the `Outcome`: a NamedTuple of scalars that
    meters sum per block (`regret`, `loss`, `violation`, ...).
    """

    def init(self, key: jax.Array) -> Any: ...
    def observe(self, key: jax.Array, t: jax.Array, state: Any) -> Any: ...
    def step(self, key: jax.Array, t: jax.Array, state: Any, obs: Any, decision: Any) -> tuple[Any, Any, Any]: ...


@runtime_checkable
class Evaluates(Protocol):
    """Optional: an environment with quantities too expensive for every round; called at record points."""

    def at_record(self, state: Any, recommendation: Any) -> dict[str, jax.Array]: ...


@runtime_checkable
class Derives(Protocol):
    """Optional: an environment with metrics that follow from others at record points, computed on the host.

    `derive` receives a float64 array per metric (sums cumulated) and returns further ones of the same shape, such as
    `regret = loss - comparator_loss`.
    """

    def derive(self, values: dict[str, Any]) -> dict[str, Any]: ...


F = TypeVar("F")


def narrow(feedback: Any, declared: type[F]) -> F:
    """The fields that the algorithm declared, and no others: a zeroth-order method cannot see a gradient.

    Raises:
      InputError: before anything runs, when the environment does not offer a declared field.
    """
    fields: tuple[str, ...] = getattr(declared, "_fields")  # noqa: B009 (a NamedTuple class; F cannot say so)
    missing = [name for name in fields if not hasattr(feedback, name)]
    if missing:
        raise InputError(
            f"the algorithm needs {declared.__name__}({', '.join(fields)}), but this environment gives "
            f"{type(feedback).__name__}({', '.join(feedback._fields)}): {', '.join(missing)} missing"
        )
    return declared(**{name: getattr(feedback, name) for name in fields})
