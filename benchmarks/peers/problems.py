"""Instances that every package plays, in NumPy: observations, rewards and regret.

Rewards and contexts are drawn before the loop; the simulator of a package draws them itself from the same
distributions.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.speed.numpy_structured import HORIZON, PHASES, PLAYERS
from benchmarks.speed.numpy_structured import MEANS as TEAM_MEANS

N_ARMS = 10
MEANS = np.where(np.arange(N_ARMS) == 0, 0.9, 0.6)  # coins of Auer, Cesa-Bianchi & Fischer (2002), distribution 11
DIM, NOISE = 5, 0.5  # contexts and a parameter for each arm, drawn per trial, uniform on the sphere; Gaussian noise
ALPHA = 1.0  # width of the confidence intervals of LinUCB; ridge 1
LOGISTIC_DIM, LOGISTIC_ARMS, RADIUS = 2, 20, 3.0  # theta* uniform on a sphere, fixed arms uniform in the unit ball
OGD_DIM, CENTER, OGD_NOISE, DIAMETER = 10, 0.5, 0.9, 2.0  # pseudo-Huber losses on the unit ball


class Case(NamedTuple):
    """One row group of the table."""

    name: str
    title: str
    horizon: int


CASES = {
    case.name: case
    for case in (
        Case("ucb1", "UCB1, 10 coins", 2000),
        Case("kl_ucb", "KL-UCB, 10 coins", 2000),
        Case("thompson", "Thompson sampling, 10 coins", 2000),
        Case("linucb", "Disjoint LinUCB, d = 5, 10 arms", 1000),
        Case("logistic", "Logistic bandit, d = 2, 20 arms", 1000),
        Case("ogd", "Online gradient descent, d = 10", 1000),
        Case("glr", "GLR-klUCB, 3 coins whose means change 4 times", 5000),
        Case("mc_top_m", "MCTopM with KL-UCB, 6 players, 9 coins", 1000),
        Case("double_ts", "Double Thompson sampling, 6 arms", 1000),
    )
}


def unit_ball(shape: tuple[int, ...], rng: np.random.Generator, *, sphere: bool = False) -> np.ndarray:
    """Draw uniformly in the unit ball, or on the sphere, of the last axis."""
    x = rng.standard_normal(shape)
    x /= np.linalg.norm(x, axis=-1, keepdims=True)
    return x if sphere else x * rng.random((*shape[:-1], 1)) ** (1.0 / shape[-1])


def play_coins(policy: Any, rounds: int, rng: np.random.Generator) -> float:
    """Play coins with `policy.choose() -> arm` and `policy.learn(arm, reward)`; return the pseudo-regret."""
    uniforms, means = rng.random(rounds).tolist(), MEANS.tolist()
    played = 0.0
    for u in uniforms:
        arm = policy.choose()
        policy.learn(arm, float(u < means[arm]))
        played += means[arm]
    return rounds * max(means) - played


def play_phases(policy: Any, rounds: int, rng: np.random.Generator) -> float:
    """Play coins whose means change, as in `benchmarks.speed.numpy_structured`; return the dynamic pseudo-regret.

    The policy is as in `play_coins`.
    """
    uniforms = rng.random(rounds).tolist()
    last, regret = len(PHASES) - 1, 0.0
    for t, u in enumerate(uniforms):
        means = PHASES[min(t * len(PHASES) // HORIZON, last)]
        arm = policy.choose()
        policy.learn(arm, float(u < means[arm]))
        regret += means.max() - means[arm]
    return regret


def play_team(players: Any, rounds: int, rng: np.random.Generator) -> float:
    """Play a team with `player.choose() -> arm` and `player.learn(arm, coin, collided)`; return the pseudo-regret."""
    best = np.sort(TEAM_MEANS)[-PLAYERS:].sum()
    coins, regret = rng.random((rounds, len(TEAM_MEANS))) < TEAM_MEANS, 0.0
    for coin in coins:
        arms = [player.choose() for player in players]
        regret += best
        for player, arm in zip(players, arms, strict=True):
            collided = arms.count(arm) > 1
            player.learn(arm, float(coin[arm]), collided)
            regret -= 0.0 if collided else TEAM_MEANS[arm]
    return regret


def play_contexts(policy: Any, rounds: int, rng: np.random.Generator) -> float:
    """Play with `policy.choose(context) -> arm` and `policy.learn(context, arm, reward)`; return the pseudo-regret."""
    theta = unit_ball((N_ARMS, DIM), rng, sphere=True)
    contexts = unit_ball((rounds, DIM), rng, sphere=True)
    means, noise = contexts @ theta.T, NOISE * rng.standard_normal(rounds)
    played = 0.0
    for context, mean, e in zip(contexts, means, noise, strict=True):
        arm = policy.choose(context)
        policy.learn(context, arm, float(mean[arm] + e))
        played += mean[arm]
    return float(means.max(axis=1).sum() - played)


def logistic_instance(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw theta* `[d]` and the arms `[K, d]` of a trial."""
    theta = RADIUS * unit_ball((LOGISTIC_DIM,), rng, sphere=True)
    return theta, unit_ball((LOGISTIC_ARMS, LOGISTIC_DIM), rng)


def play_logistic(make: Callable[[np.ndarray], Any], rounds: int, rng: np.random.Generator) -> float:
    """Play a logistic bandit with `make(arms)`, a policy as in `play_coins`; return the pseudo-regret."""
    theta, arms = logistic_instance(rng)
    means, uniforms = (1.0 / (1.0 + np.exp(-arms @ theta))).tolist(), rng.random(rounds).tolist()
    policy, played = make(arms), 0.0
    for u in uniforms:
        arm = policy.choose()
        policy.learn(arm, float(u < means[arm]))
        played += means[arm]
    return rounds * max(means) - played


def ogd_losses(rounds: int, rng: np.random.Generator) -> np.ndarray:
    """Draw the targets `[T, d]` of the losses sqrt(1 + ||x - target||^2) - 1."""
    targets = OGD_NOISE * unit_ball((rounds, OGD_DIM), rng, sphere=True)
    targets[:, 0] += CENTER
    return targets


def ogd_regret(plays: np.ndarray, targets: np.ndarray) -> float:
    """Return the regret of the plays `[T, d]` against the centre of the targets."""
    center = np.zeros(OGD_DIM)
    center[0] = CENTER
    charged, compared = (np.sqrt(1.0 + ((x - targets) ** 2).sum(axis=1)) for x in (plays, center))
    return float((charged - compared).sum())
