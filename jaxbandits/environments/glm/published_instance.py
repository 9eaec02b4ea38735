"""Instance of the experiments of RS-GLinCB's authors, which has the kappas that arXiv:2507.11847 states.

Zhang et al. state kappa = 21, 137 and 963 (logistic; S = 3, 5, 7) and "around" 18, 127 and 882 (Poisson), but state
neither d, K nor the arms. This instance (Sawarni, Das, Barman & Sinha, NeurIPS 2024; repository
nirjhar-das/GLBandit_Limited_Adaptivity, `environment.py` and `simulations.ipynb`: d = 5, K = 20, seed 109832, delta =
0.01), has all six values over the T = 3000 rounds of Zhang et al. (experiment glm/kappas).

Its draws come from one NumPy generator, in this order: u uniform in [-1, 1]^d; then for every round and arm a normal
vector x `[d]` and r = U^{1/d}, U uniform in [0, 1]. theta* = S u / ||u||, and the arm is r x / ||x||, which is uniform
in the unit ball and new in every round. It is one instance for all S, links and trials; trials differ in the rewards'
noise.
"""

import functools
from typing import NamedTuple

import numpy as np

SEED, DIM, N_ARMS = 109832, 5, 20


class Instance(NamedTuple):
    """Direction of theta* and arms of all rounds."""

    direction: np.ndarray  # [d]  of norm 1
    arms: np.ndarray  # [T, K, d]


@functools.cache  # takes one second for 3,000 rounds
def draw(horizon: int) -> Instance:
    """Draw the first `horizon` rounds."""
    generator = np.random.default_rng(SEED)
    u = generator.uniform(-1.0, 1.0, DIM)
    arms = np.empty((horizon * N_ARMS, DIM))
    for row in range(len(arms)):
        x = generator.normal(0.0, 1.0, DIM)
        arms[row] = x / np.linalg.norm(x) * generator.uniform(0.0, 1.0) ** (1.0 / DIM)
    return Instance(u / np.linalg.norm(u), arms.reshape(horizon, N_ARMS, DIM))
