"""Index policy that forgets an arm when a test detects a change in its rewards (GLR-klUCB, M-UCB, CUSUM-UCB).

    tau_i, T_i, S_i   round of the last restart of arm i; its plays and total reward since then
    play              arm t mod n if t mod n < K, n = floor(K / w); else the arm that the policy chooses from T_i and
                      S_i, with t - tau_i in place of t in the index of arm i
    after a change    tau_i = t + 1 for the arms that have changed (local), or for all arms (global)

Notation: w is the field `exploration`. With `at_random`, exploration rounds and their arms are random. The cost per
round is $O(K)$ plus the costs of the policy and the test.
"""

import math
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.armed.index_policy import IndexPolicy, Pulls
from jaxbandits.algorithms.armed.kl_ucb import KLUCB
from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError, format_value
from jaxbandits.base.pytree import ArrayLike, param, pytree, static
from jaxbandits.base.ranges import BOOL
from jaxbandits.estimation.arms import check_count, choose_best
from jaxbandits.estimation.detectors import CUSUM, GLR, HalfWindows
from jaxbandits.numerics import rng
from jaxbandits.types import ArmDecision, ArmObs, AssumesNoiseScale, Reward

_FORCED = 0.9  # the score of a forced arm is this fraction of the largest float, above all other scores


class RestartState(NamedTuple):
    """Counts and sums since the last restart of each arm, the round of that restart, and the state of the detector."""

    pulls: Pulls
    since: jax.Array  # [K] int32  tau_i
    restarts: jax.Array  # []  number of rounds in which an arm was forgotten
    detector: Any


@pytree
class Restarting:
    """Index policy with a change detector, for means that change occasionally.

    Guarantee:
      For the preset `glr`, rewards in [0, 1] and C changes that are far enough apart, the expected regret after T
      rounds is $O(sqrt(C K T log T))$ (Besson et al., Corollary 6).

    Deviations:
      * [ours] The policy treats an arm that was forgotten like an arm that was never played: policies that begin with
        one play of every arm, such as KLUCB, play it before all others, except in exploration rounds. The classes of
        `jaxbandits.detectors` state the deviations of the detectors.

    References:
      Lilian Besson, Emilie Kaufmann, Odalric-Ambrym Maillard, Julien Seznec. Efficient Change-Point Detection for
      Tackling Piecewise-Stationary Bandits. JMLR 23(77), 2022: `glr`.
      Yang Cao, Zheng Wen, Branislav Kveton, Yao Xie. Nearly Optimal Adaptive Procedure with Change Detection for
      Piecewise-Stationary Bandit. AISTATS 2019: `m_ucb`.
      Fang Liu, Joohyun Lee, Ness Shroff. A Change-Detection Based Framework for Piecewise-Stationary Multi-Armed Bandit
      Problem. AAAI 2018: `cusum`.
      Lilian Besson. Multi-Players Bandit Algorithms for Internet of Things Networks. PhD thesis, CentraleSupelec, 2019,
      Chapter 6: the constants.
    """

    feedback: ClassVar[type] = Reward
    source: ClassVar[str] = "Besson, Kaufmann, Maillard & Seznec, JMLR 23(77), 2022; Cao et al. 2019; Liu et al. 2018"
    environments: ClassVar[tuple[str, ...]] = ("armed/switching_arms",)
    policy: Any = param(doc="index policy of jaxbandits.armed that keeps counts and sums of rewards, such as KLUCB")
    detector: Any = param(doc="change detector of jaxbandits.detectors, such as GLR")
    exploration: ArrayLike = param(
        0.0, "[0, 1]", "w, fraction of the rounds with uniform exploration; in a fixed schedule K / floor(K / w)"
    )
    is_local: bool = static(True, BOOL, "True: forget only the arms that have changed; False: forget all arms")
    at_random: bool = static(
        False, BOOL, "True: each round explores with probability w; False: exploration rounds follow a fixed schedule"
    )

    @classmethod
    def glr(cls, *, policy: Any, horizon: int, changes: int, scale: float = 0.05, **fields: Any) -> "Restarting":
        """Use GLR with delta = 1 / sqrt(K C T) and w = scale sqrt(K C log T / T) for C changes in T rounds.

        For global restarts, K is replaced by 1 in both formulas.
        """
        horizon, changes, n_arms = _setting(policy, horizon, changes)
        factor = changes * (n_arms if ranges.flag("is_local", fields.get("is_local", True)) else 1)
        share = ranges.real("scale", scale, "[0, inf)") * math.sqrt(factor * math.log(horizon) / horizon)
        detector = GLR(horizon=horizon, delta=1.0 / math.sqrt(factor * horizon))
        made = {"detector": detector, "exploration": min(1.0, share)}
        return cls(**{"policy": policy} | made | fields)

    @classmethod
    def m_ucb(cls, *, policy: Any, horizon: int, changes: int, window: int = 150, **fields: Any) -> "Restarting":
        """Use M-UCB (Cao et al., 2019), with windows of n rewards (the argument `window`) and global restarts.

        The threshold is b = sqrt(n/2 log(2 K T^2)), and w = sqrt(C K (2 b + 3 sqrt(n)) / (2 T)) for C changes in T
        rounds.
        """
        horizon, changes, n_arms = _setting(policy, horizon, changes)
        window = ranges.integer("window", window, "[2, 1000000]")
        b = math.sqrt(0.5 * window * math.log(2.0 * n_arms * horizon**2))
        share = math.sqrt(changes * n_arms * (2.0 * b + 3.0 * math.sqrt(window)) / (2.0 * horizon))
        made = {"detector": HalfWindows(window=window, threshold=b), "exploration": min(1.0, share), "is_local": False}
        return cls(**{"policy": policy} | made | fields)

    @classmethod
    def cusum(
        cls, *, policy: Any, horizon: int, changes: int, drift: ArrayLike = 0.1, baseline: ArrayLike = 150.0,
        **fields: Any,
    ) -> "Restarting":  # fmt: skip
        """Use CUSUM with threshold h = log(T / C) and random exploration with w = sqrt(C / T log(T / C)).

        T is the number of rounds and C the number of changes (Liu et al., 2018).
        """
        horizon, changes, _ = _setting(policy, horizon, changes)
        h = max(math.log(horizon / changes), 1e-6)
        detector = CUSUM(threshold=h, drift=drift, baseline=baseline)
        made = {"detector": detector, "exploration": min(1.0, math.sqrt(changes / horizon * h)), "at_random": True}
        return cls(**{"policy": policy} | made | fields)

    @classmethod
    def example(cls) -> "Restarting":
        return cls(policy=KLUCB(n_arms=5), detector=GLR(horizon=200, period=5, delta=0.3), exploration=0.1)

    def check(self) -> None:
        """Raise InputError for an unsuitable policy or an invalid detector.

        The policy must keep counts and sums of rewards and nothing else, and must not override `select`. The GLR test
        needs the counts and sums of all rewards, which policies that discount or ignore rewards lack.
        """
        policy, key = self.policy, jax.random.key(0)
        suits = isinstance(policy, IndexPolicy) and type(policy).select is IndexPolicy.select
        suits = suits and isinstance(jax.eval_shape(policy.init, key), Pulls)
        if suits:  # each arm has a separate round counter
            one = jax.tree.map(lambda x: jax.ShapeDtypeStruct((), jnp.result_type(float)), policy)  # one sweep point
            rounds = jnp.zeros(policy.n_arms, jnp.int32)
            index = jax.eval_shape(lambda policy: policy.index(key, rounds, policy.init(key)), one)
            suits = index.shape == (policy.n_arms,)
        if not suits:
            raise InputError(
                "Restarting.policy must be an index policy of jaxbandits.armed that keeps counts and sums of rewards, "
                f"such as KLUCB, UCB1 or ThompsonBeta, got {format_value(policy)}"
            )
        if not all(hasattr(self.detector, method) for method in ("init", "update", "restart")):
            raise InputError(
                "Restarting.detector must be a detector of jaxbandits.detectors, such as GLR(horizon=5000), got "
                f"{format_value(self.detector)}"
            )
        if isinstance(self.detector, GLR) and not policy.counts_all:
            raise InputError(
                "Restarting.policy must count all rewards if the detector is GLR, which tests the counts and sums; "
                f"{type(policy).__name__} discounts or ignores some of them"
            )

    @property
    def n_arms(self) -> int:
        """Number K of arms."""
        return self.policy.n_arms

    @property
    def sub_gaussian_scale(self) -> ArrayLike | None:
        """Sub-Gaussian constant R of the policy; None if the policy does not use R."""
        return self.policy.sub_gaussian_scale if isinstance(self.policy, AssumesNoiseScale) else None

    def init(self, key: jax.Array) -> RestartState:
        n = self.n_arms
        return RestartState(self.policy.init(key), jnp.zeros(n, jnp.int32), jnp.zeros(()), self.detector.init(n))

    def index(self, key: jax.Array, t: jax.Array, state: RestartState) -> jax.Array:
        """Return the index of every arm `[K]`, computed from the rounds since the last restart of the arm."""
        return self.policy.index(key, jnp.asarray(t, jnp.int32) - state.since, state.pulls)

    def select(self, key: jax.Array, t: jax.Array, state: RestartState, obs: ArmObs) -> ArmDecision:
        check_count(obs.arms, self.n_arms)
        n_arms = self.n_arms
        if self.at_random:
            key, coin_key, arm_key = jax.random.split(key, 3)
        scores = self.policy.in_turn(t, state.pulls.count, self.index(key, t, state))
        if self.at_random:
            explores = rng.bernoulli(coin_key, self.exploration)
            forced = rng.randint(arm_key, n_arms)
        else:
            period = jnp.floor(n_arms / jnp.maximum(self.exploration, 1e-9))
            forced = jnp.asarray(t % period.astype(jnp.int32), jnp.int32)
            explores = (forced < n_arms) & (self.exploration > 0.0)
        is_forced = explores & (jnp.arange(n_arms, dtype=jnp.int32) == forced)
        top = _FORCED * float(jnp.finfo(scores.dtype).max)
        return choose_best(obs.arms, obs.mask, jnp.where(is_forced, top, scores))

    def update(
        self, key: jax.Array, t: jax.Array, state: RestartState, obs: ArmObs, decision: ArmDecision, feedback: Reward
    ) -> RestartState:
        pulls = self.policy.update(key, t, state.pulls, obs, decision, feedback)
        detector, changed = self.detector.update(t, state.detector, pulls, decision.index, feedback.reward)
        forgets = changed if self.is_local else jnp.broadcast_to(jnp.any(changed), changed.shape)
        return RestartState(
            pulls=jax.tree.map(lambda x: jnp.where(forgets, 0.0, x), pulls),
            since=jnp.where(forgets, jnp.asarray(t + 1, jnp.int32), state.since),
            restarts=state.restarts + jnp.any(forgets),
            detector=self.detector.restart(t, detector, forgets),
        )


def _setting(policy: Any, horizon: Any, changes: Any) -> tuple[int, int, int]:
    """Check the arguments of a preset, and return the numbers of rounds, changes and arms."""
    horizon = ranges.integer("horizon", horizon, "[1, 1000000000]")
    if not isinstance(policy, IndexPolicy):
        raise InputError(
            f"policy must be an index policy of jaxbandits.armed, such as KLUCB, got {format_value(policy)}"
        )
    return horizon, ranges.integer("changes", changes, f"[1, {horizon}]"), policy.n_arms
