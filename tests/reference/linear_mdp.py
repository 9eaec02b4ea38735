"""Linear MDPs (`linear_mdp`, `hvt_mdp`, `oful_mdp`) as plain NumPy float64 loops.

Values come from the transition matrix of a policy and matrix products over whole trajectories, or from the enumeration
of all policies; the learners plan by loops over single states, and estimate with the loops of `heavy_tailed_linear`.
"""

import itertools

import numpy as np

from tests.reference.heavy_tailed_linear import Hvt, Oful


def policy_value(pi, r, P, start=0):
    """Expected reward of policy pi [H, nS]: the law of the state is pushed forward, rewards are added up."""
    law, total = np.eye(P.shape[0])[start], 0.0
    for h in range(len(pi)):
        rows = np.arange(P.shape[0])
        total += law @ r[h, rows, pi[h]]
        law = law @ P[rows, pi[h]]
    return total


def best_value(r, P, start=0):
    """The largest value over all nA^(H nS) deterministic policies."""
    H, nS, nA = r.shape
    policies = itertools.product(range(nA), repeat=H * nS)
    return max(policy_value(np.reshape(pi, (H, nS)), r, P, start) for pi in policies)


def plan(r, P):
    """Backward induction, state by state; the first of equally good actions."""
    H, nS, nA = r.shape
    V, pi = np.zeros((H + 1, nS)), np.zeros((H, nS), int)
    for h in reversed(range(H)):
        for s in range(nS):
            q = [r[h, s, a] + sum(P[s, a, n] * V[h + 1, n] for n in range(nS)) for a in range(nA)]
            pi[h, s] = int(np.argmax(q))
            V[h, s] = max(q)
    return pi, V[:H]


class Learner:
    """Optimistic planning with one estimator (with `scores` and `update`) for each step."""

    def __init__(self, estimators, phi, P):
        self.estimators, self.phi, self.P = estimators, phi, P

    def optimistic(self):
        nS, nA, d = self.phi.shape
        return np.array([e.scores(self.phi.reshape(-1, d)).reshape(nS, nA) for e in self.estimators])

    def policy(self):
        return plan(self.optimistic(), self.P)[0]

    def update(self, x, rewards, nu):
        for h, estimator in enumerate(self.estimators):
            estimator.update(x[h], rewards[h], nu)

    @property
    def theta(self):
        return np.array([e.theta for e in self.estimators])


def hvt(phi, P, H, T, eps, **settings):
    return Learner([Hvt(phi.shape[-1], T, eps, **settings) for _ in range(H)], phi, P)


def oful(phi, P, H, R, delta, **settings):
    return Learner([Oful(phi.shape[-1], R, delta, **settings) for _ in range(H)], phi, P)


def closed_loop(learner, theta, noise, uniforms, nu):
    """Plays episodes on recorded noise [K, H] and uniforms [K, H] (inverse CDF): policies, estimates, regrets."""
    phi, P = learner.phi, learner.P
    means = np.einsum("sad,hd->hsa", phi, theta)
    best = plan(means, P)[1][0, 0]
    rows = []
    for k in range(len(noise)):
        pi, s, x, rewards = learner.policy(), 0, [], []
        for h in range(len(theta)):
            a = pi[h, s]
            x.append(phi[s, a])
            rewards.append(means[h, s, a] + noise[k, h])
            s = min(int(np.searchsorted(np.cumsum(P[s, a]), uniforms[k, h], side="right")), P.shape[0] - 1)
        learner.update(x, rewards, nu)
        rows.append((pi, learner.theta, best - policy_value(pi, means, P)))
    return tuple(np.array(column) for column in zip(*rows, strict=True))


def instance(rng, K, H, nS, nA, d):
    """phi [nS, nA, d], P [nS, nA, nS], theta [H, d], noise [K, H], uniforms [K, H].

    Norms of phi differ: with equal norms the scores of the first episode would tie, and rounding decide.
    """
    phi, theta = rng.standard_normal((nS, nA, d)), rng.standard_normal((H, d))
    phi *= rng.uniform(0.7, 1.0, (nS, nA, 1)) / np.linalg.norm(phi, axis=-1, keepdims=True)
    theta /= np.linalg.norm(theta, axis=-1, keepdims=True)
    P = rng.dirichlet(np.full(nS, 0.3), (nS, nA))
    return phi, P, theta, rng.standard_t(2.1, (K, H)), rng.uniform(size=(K, H))
