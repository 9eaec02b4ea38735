"""Instance of the experiments by the authors of RS-GLinCB, with the values of kappa that arXiv:2507.11847 states.

Zhang et al. (arXiv:2507.11847) state kappa = 21, 137 and 963 (logistic; S = 3, 5, 7) and "around" 18, 127 and 882
(Poisson), but they state neither d, K nor the arms. The instance in this module (Sawarni, Das, Barman & Sinha, NeurIPS
2024; repository nirjhar-das/GLBandit_Limited_Adaptivity, `environment.py` and `simulations.ipynb`: d = 5, K = 20, seed
109832, delta = 0.01) has all six values of kappa over the T = 3000 rounds of Zhang et al. (experiment glm/kappas).

All draws come from one NumPy generator, in this order: u uniform in [-1, 1]^d; then for every round and arm a normal
vector x `[d]`, and r = U^{1/d} with U uniform in [0, 1]. theta* is S u / ||u||. The arm is r x / ||x||, which is
uniform in the unit ball. The instance is the same for all S, links and trials; trials differ only in the noise of the
rewards.
"""

import functools
from typing import NamedTuple

import numpy as np

SEED, DIM, N_ARMS = 109832, 5, 20


class Instance(NamedTuple):
    """Direction of theta* and arms of all rounds."""

    direction: np.ndarray  # [d]  theta* / S, which has norm 1
    arms: np.ndarray  # [T, K, d]


@functools.cache  # takes one second for 3,000 rounds
def draw(horizon: int) -> Instance:
    """Draw the direction of theta* and the arms of the first `horizon` rounds."""
    generator = np.random.default_rng(SEED)
    u = generator.uniform(-1.0, 1.0, DIM)
    arms = np.empty((horizon * N_ARMS, DIM))
    for row in range(len(arms)):
        x = generator.normal(0.0, 1.0, DIM)
        arms[row] = x / np.linalg.norm(x) * generator.uniform(0.0, 1.0) ** (1.0 / DIM)
    return Instance(u / np.linalg.norm(u), arms.reshape(horizon, N_ARMS, DIM))
