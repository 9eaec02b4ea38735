"""Closed loops of a bandit learner over recorded arms and rewards, shared by the tests of the one-pass methods."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.pytree import as_arrays
from jaxbandits.numerics import inverse_factors
from jaxbandits.types import ArmObs, Reward

KEY = jax.random.key(0)
ROUNDS = 150  # of every trace; shorter ones are padded with zero arms, which change nothing


@jax.jit
def _play(algorithm, arms, rewards):
    def round_(state, row):
        t, x, r = row
        radius = algorithm.radius(t, state)
        obs = ArmObs(x)
        decision = algorithm.select(KEY, t, state, obs)
        state = algorithm.update(KEY, t, state, obs, decision, Reward(r[decision.index]))
        fields = {name: value for name, value in state._asdict().items() if value is not None}
        fields["inverse"] = inverse_factors.to_dense(state.inverse)
        return state, fields | {"index": decision.index, "radius": radius}

    rounds = jnp.arange(len(arms), dtype=jnp.int32)
    return jax.lax.scan(round_, algorithm.init(KEY), (rounds, arms, rewards))[1]


def play(algorithm, arms, rewards):
    """Over arms [T, K, d] and rewards [T, K]: the fields of the state after, index and radius before every round."""
    missing, real = max(0, ROUNDS - len(arms)), jnp.result_type(float)
    both = [np.concatenate([a, np.zeros((missing, *np.shape(a)[1:]))]) for a in (arms, rewards)]
    padded = [jnp.asarray(a, real) for a in both]
    return {name: np.asarray(values)[: len(arms)] for name, values in _play(as_arrays(algorithm), *padded).items()}


def force(algorithm, xs, rs):
    """The same for given actions [T, d] and rewards [T]: each arm five times over, so that any choice is the one."""
    xs, rs = np.asarray(xs, float), np.asarray(rs, float)
    return play(algorithm, np.repeat(xs[:, None], 5, axis=1), np.repeat(rs[:, None], 5, axis=1))


def agree(trace, X, R, learner, atol=1e-9):
    """A reference learner forced to the same actions has the same theta, matrix and radius at every round.

    It would have played the same arm wherever its two best scores are not within 1e-6 of each other.
    """
    for t in range(len(X)):
        np.testing.assert_allclose(trace["radius"][t], learner.beta(), rtol=1e-9)
        scores = learner.scores(X[t])
        best, second = np.sort(scores)[:-3:-1]
        if best - second > 1e-6:
            assert trace["index"][t] == np.argmax(scores)
        k = trace["index"][t]
        learner.update(X[t, k], R[t, k])
        np.testing.assert_allclose(trace["theta"][t], learner.theta, rtol=1e-9, atol=atol)
        np.testing.assert_allclose(trace["inverse"][t] @ learner.matrix, np.eye(X.shape[-1]), atol=1e-9)


def lemma_4(family, S, lam, xs, rs, star, thetas, start=0.0):
    """Left minus right side of equation 11 after every round, from the estimates alone."""
    eta, g, d = 1.0 + family.R * S, family.g, xs.shape[1]
    H, old, right, gaps = lam * np.eye(d), np.zeros(d) + start, 4.0 * lam * S**2, []
    for x, r, new in zip(xs, rs, thetas, strict=True):
        loss_star, loss_new = ((family.m(x @ th) - r * (x @ th)) / g for th in (star, new))
        move = new - old
        right += 2.0 * eta * (loss_star - loss_new) - move @ H @ move
        right += 2.0 * eta * family.R * S * family.largest(S) / g * (move @ move)
        H = H + family.slope(x @ new) / g * np.outer(x, x)
        gaps.append((new - star) @ H @ (new - star) - right)
        old = new
    return np.array(gaps)
