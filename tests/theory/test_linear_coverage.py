"""What the theorems of the linear family promise, over many trials through the public interface."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits import OFUL, HeavyTailed, HvtUCB, Meter, noise, simulate
from jaxbandits.numerics import inverse_factors, linalg

DIM, ARMS, HORIZON, TRIALS = 2, 10, 400, 256


def norm_in_v(inverse, x):
    """`||x||_V` from `V^{-1}`."""
    return jnp.sqrt(x @ linalg.solve(linalg.factor(inverse_factors.to_dense(inverse)), x))


def hvt_ratio(r):
    error = r.next_state.theta - r.env_state.theta
    return norm_in_v(r.next_state.inverse, error) / r.algorithm.radius(r.t + 1, r.next_state)


def oful_ratio(r):
    error = r.algorithm.recommend(r.next_state) - r.env_state.theta
    return norm_in_v(r.next_state.inverse, error) / r.algorithm.radius(r.t + 1, r.next_state)


def worst_ratios(algorithm, environment, ratio):
    meters = [Meter("ratio", ratio, "max")]
    result = simulate(algorithm, environment, HORIZON, TRIALS, meters=meters, record_points=4, progress=False)
    assert not result.failures("ratio").any()
    return result.final("ratio")[0]


@pytest.mark.slow_after_first
@pytest.mark.parametrize("law", [noise.StudentT(df=2.1), noise.Fisk(shape=2.5)])
def test_hvt_ucb_confidence_set_covers_theta_in_every_round(law):
    """Lemma 1: with probability 1 - 4 delta, delta = 1/(8T), for all t: it fails in no trial of this size."""
    environment = HeavyTailed(dim=DIM, n_arms=ARMS, noise=law, eps=0.99)
    worst = worst_ratios(HvtUCB.theory(dim=DIM, horizon=HORIZON, eps=0.99), environment, hvt_ratio)
    assert worst.max() < 1.0
    assert worst.min() > 0.0


@pytest.mark.slow
def test_oful_confidence_set_covers_theta_as_often_as_promised_and_is_not_vacuous():
    """Theorem 2: coverage at least 1 - delta for sub-Gaussian noise; a radius of a fifth does not cover."""
    environment = HeavyTailed(dim=DIM, n_arms=ARMS, noise=noise.Gaussian())
    delta = 0.1
    worst = worst_ratios(OFUL(dim=DIM, noise_scale=1.0, delta=delta), environment, oful_ratio)
    failures = int((worst > 1.0).sum())
    assert failures <= delta * TRIALS + 5.0 * np.sqrt(TRIALS * delta * (1.0 - delta))
    assert (worst > 0.2).mean() > 0.5


@pytest.mark.slow
def test_regret_stays_below_theorem_1():
    """Reg_T <= 4 beta_T (sqrt(2 kappa) sqrt(sum nu^2 + 1) + 4 c L kappa / sqrt(lambda)), from the proof (loose)."""
    horizon, eps, nu = 400, 0.99, 4.387787
    algorithm = HvtUCB.theory(dim=DIM, horizon=horizon, eps=eps, moment_bound=nu)
    environment = HeavyTailed(dim=DIM, n_arms=ARMS, noise=noise.StudentT(df=2.1), eps=eps)
    regret = simulate(algorithm, environment, horizon, TRIALS, record_points=1, progress=False).final("regret")[0]
    state = algorithm.estimator.init()
    kappa = DIM * np.log1p(horizon / (horizon**-1.0 * DIM * 4.0 * DIM))
    ell = np.log(2.0 * horizon**2 * 8.0 * horizon)
    c = np.sqrt(DIM * 6.0) / float(state.tau0) + 107.0 * ell
    beta = float(algorithm.radius(jnp.asarray(horizon), state))
    bound = 4.0 * beta * (np.sqrt(2.0 * kappa * (nu**2 * horizon + 1.0)) + 4.0 * c * kappa / np.sqrt(DIM))
    assert regret.min() > -1e-9 and regret.max() <= bound
