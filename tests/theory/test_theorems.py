"""The explicit bounds of the theorems are those of the papers, evaluated by hand or by the independent reference."""

import math

import numpy as np
import pytest

from jaxbandits.experiments import EXPERIMENTS
from jaxbandits.theory import coco, dro, glm, linear
from tests.reference import dro_steps as printed

PROBLEM = {"diameter_sq": 0.5, "lipschitz": 2.0}
CONSTANTS = {"product": 2.0, "delta": 0.01}


def test_linear_theorem_1_by_hand():
    """At d = 2, T = 18000, eps = 0.99: kappa 33.647, tau0 1.44246, ell 32.167, beta_T 5092 (hand-checked constants).

    On its third branch w_t^2 is tau_0 t^e / (2 sqrt(alpha) beta_{t-1}), alpha = 4: hence the 4 of the second term.
    """
    panel = EXPERIMENTS["linear/bound"].panels(18_000)["student"]
    (algorithm,) = EXPERIMENTS["linear/bound"].algorithms("theory", 18_000, panel).values()
    rounds = np.asarray([18_000])
    got = linear.theorem_1(algorithm, rounds, np.asarray([18_000 * 1.31**2]))
    c = np.sqrt(12.0) / 1.44246 + 107 * 32.167
    expected = 4 * 5092 * (np.sqrt(2 * 33.647) * np.sqrt(18_000 * 1.31**2 + 1) + 4.0 * c * 33.647 / np.sqrt(2.0))
    np.testing.assert_allclose(got, expected, rtol=1e-3)


def test_glm_theorem_2_by_hand():
    """d = 2, S = 3, T = 3000, logistic: lambda = 2 * 7 * 2 * 4 = 112, beta_T = 67.682, kappa = 2 + 2 cosh 3 = 22.1353.

    beta_T^2 = 4 * 112 * 9 + 8 log 20 + 192 log(2 + 1500 / 112) = 4580.9; g1 = 2 * 67.682 sqrt(5 log(1 + 750 / 224));
    g2 = 8 * 22.1353 * 2 / 4 * 4580.9 log(1 + 3000 / (22.1353 * 224)).
    """
    experiment = EXPERIMENTS["glm/bound"]
    (algorithm,) = experiment.algorithms("theory", 3000, experiment.panels(3000)["S3"]).values()
    got = glm.theorem_2(algorithm, np.asarray([3000]), np.asarray([[3000 / 20.0], [0.0]]))[:, 0]
    g1, g2 = 366.955, 191_911.0
    expected = 2 * g2 + 4 * g1**2 + 2 * g1 * np.sqrt(2 * g2)
    np.testing.assert_allclose(got, [expected + 2 * g1 * np.sqrt(150.0), expected], rtol=1e-5)
    assert got[0] == pytest.approx(1.4e6, rel=0.03)
    # Gaussian, S = 2: lambda = 2, R = 0, C_mu = kappa = 1; beta_T^2 = 32 + 2 log 20 + 12 log 3002 = 134.076.
    (algorithm,) = experiment.algorithms("theory", 3000, experiment.panels(3000)["gaussian"]).values()
    got = glm.theorem_2(algorithm, np.asarray([3000]), np.asarray([3000.0]))
    g1 = 2 * np.sqrt(134.076 * 8 * np.log(751.0))
    np.testing.assert_allclose(got, 2 * g1 * np.sqrt(3000.0), rtol=1e-5)


def test_coco_theorems_1_and_2_by_hand():
    """T = 16: T^{3/4} = 8; T = 8: T^{2/3} = 4, G = 1, D = 2, alpha = 1/2: gamma = 1/2, beta = 1/8000."""
    regret, violation = coco.theorem_1(1.5, 2.0, 16.0)
    assert regret == pytest.approx(64.0 * 3.0 * 9.0)
    assert violation == pytest.approx(128.0 * 3.0 * 8.0 * math.log(66.0))
    assert coco.constants(1.0, 2.0, 8.0, 0.5) == pytest.approx((0.5, 1.0 / 8000.0))
    regret, violation = coco.theorem_2(1.0, 2.0, 8.0, 0.5)
    assert regret == pytest.approx(224.0 * 4.0 / 0.125 + 2.0 * 1.5 / 0.5)
    assert violation**2 == pytest.approx(2.5 * 8000.0**2 + 16.0 * 8000.0)
    last = 500.0 * 2.5 * 16.0 / 0.25 + 0.25 * 0.5 * 2.0 * 32.0 / 250.0  # T^{4/3} = 16, T^{5/3} = 32
    assert coco.theorem_2_last_form(1.0, 2.0, 8.0, 0.5) ** 2 == pytest.approx(last)


@pytest.mark.parametrize("t", [17, 4000])
@pytest.mark.parametrize("m", [6, 16])
def test_dro_bounds_of_the_mean_are_those_printed(m, t):
    for k in (1, 5):
        assert dro.theorem_1(m, t, k, **CONSTANTS)[0] == pytest.approx(
            printed.bound_theorem_1(m, t, k=k, **PROBLEM), rel=1e-12
        )
        assert dro.theorem_2(m, t, k, **CONSTANTS)[0] == pytest.approx(
            printed.bound_theorem_2(m, t, k=k, **PROBLEM), rel=1e-12
        )
        assert dro.theorem_14(m, t, k, **CONSTANTS)[0] == pytest.approx(
            printed.bound_theorem_14(m, t, k=k, **PROBLEM), rel=1e-12
        )
    assert dro.theorem_5(m, t, **CONSTANTS)[0] == pytest.approx(printed.bound_theorem_4(m, t, **PROBLEM), rel=1e-12)
    assert dro.theorem_8(m, t, **CONSTANTS)[0] == pytest.approx(printed.bound_theorem_8(m, t, **PROBLEM), rel=1e-12)


def test_dro_bounds_of_likely_gaps_are_those_printed():
    """Written out from the card at delta = 0.1, D G = sqrt(2), m = 16, t = 900, k = 5."""
    m, t, k, d_g, log_m = 16, 900, 5, 2**0.5, math.log(16)
    log_2, log_t = math.log(20.0), math.log(900)
    likely = {
        dro.theorem_1: (8 + 2 * log_2) * (10 * (2 + math.log(m / k)) / t) ** 0.5,
        dro.theorem_2: (2 + math.log(m / k)) ** 0.5
        * (9 + 11 * log_2 + 7 * log_t + 3 * log_2 * log_t)
        / (2**0.5 * (901**0.5 - 1)),
        dro.theorem_5: d_g * (1 / t) ** 0.5 * (2 * 5**0.5 + 8 * log_2**0.5)
        + 3 * (m * log_m / t) ** 0.5
        + (1 / (2 * t)) ** 0.5
        + ((m / (t * log_m)) ** 0.5 + (1 / (2 * t)) ** 0.5 + 1 / t) * math.log(60.0),
        dro.theorem_8: (
            (3 + log_t) * (m * log_m) ** 0.5
            + (2 * (m / log_m) ** 0.5 + ((1 + log_t) / 2) ** 0.5) * math.log(60.0)
            + ((1 + log_t) / 2) ** 0.5
            + d_g * (9 + 7 * log_t + 4 * log_2)
        )
        / (2 * (901**0.5 - 1)),
        dro.theorem_14: d_g * (1 / t) ** 0.5 * (2 * 5**0.5 + 8 * log_2**0.5)
        + (1 / (2 * t)) ** 0.5
        + ((1 / (2 * t)) ** 0.5 + m / (k * t) + (m / (k * t * log_m)) ** 0.5) * math.log(40.0)
        + 3 * (m * log_m / (k * t)) ** 0.5
        + m * log_m / (k * t),
    }
    for theorem, value in likely.items():
        assert theorem(m, t, k, product=2.0, delta=0.1)[1] == pytest.approx(value, rel=1e-12)
