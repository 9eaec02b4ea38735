"""The explicit bounds of the theorems are those of the papers, evaluated by hand or by the independent reference."""

import math

import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms.glm.glb_omd import GLBOMD
from jaxbandits.base.errors import InputError
from jaxbandits.estimation.links import Bernoulli, Gaussian, Poisson
from jaxbandits.reproduction import EXPERIMENTS
from jaxbandits.theory import coco, dro, glm, linear, oco
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


@pytest.mark.parametrize("bound", [np.uint8(20), jnp.int8(20)])
def test_glm_theorem_2_for_integers_of_8_bits(bound):
    got, expected = (
        glm.theorem_2(GLBOMD(dim=2, norm_bound=number, ridge=500.0), np.asarray([10]), np.asarray([1.0]))
        for number in (bound, 20.0)
    )
    np.testing.assert_allclose(got, expected, rtol=1e-12)


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
        assert dro.theorem_15(m, t, k, **CONSTANTS)[0] == pytest.approx(
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
        dro.theorem_15: d_g * (1 / t) ** 0.5 * (2 * 5**0.5 + 8 * log_2**0.5)
        + (1 / (2 * t)) ** 0.5
        + ((1 / (2 * t)) ** 0.5 + m / (k * t) + (m / (k * t * log_m)) ** 0.5) * math.log(40.0)
        + 3 * (m * log_m / (k * t)) ** 0.5
        + m * log_m / (k * t),
    }
    for theorem, value in likely.items():
        assert theorem(m, t, k, product=2.0, delta=0.1)[1] == pytest.approx(value, rel=1e-12)


def test_dro_regrets_of_the_players_are_those_printed():
    """Written out from the paper at delta = 0.1, D G = sqrt(2), m = 16, t = 900, k = 5; sums over T."""
    m, t, k, d_g, log_m, log_t = 16, 900, 5, 2**0.5, math.log(16), math.log(900)
    half = (t / 2) ** 0.5
    expected = {
        dro.theorem_3: (2 * d_g * (5 * t) ** 0.5 / t, d_g * t**0.5 * (2 * 5**0.5 + 8 * math.log(10.0) ** 0.5) / t),
        dro.theorem_4: (
            (3 * (m * t * log_m) ** 0.5 + half + 3 * ((m * t / log_m) ** 0.5 + half + 1)) / t,
            (3 * (m * t * log_m) ** 0.5 + half + ((m * t / log_m) ** 0.5 + half + 1) * math.log(30.0)) / t,
        ),
        dro.theorem_6: (
            d_g / (901**0.5 - 1) * (2.25 + 1.25 * log_t),
            d_g / (901**0.5 - 1) * (4.25 + 3.25 * log_t + 2 * math.log(10.0)),
        ),
        dro.theorem_7: (
            ((3 + log_t) * (m * log_m) ** 0.5 + 6 * (m / log_m) ** 0.5 + 4 * ((1 + log_t) / 2) ** 0.5)
            / (2 * (901**0.5 - 1)),
            (
                (3 + log_t) * (m * log_m) ** 0.5
                + (2 * (m / log_m) ** 0.5 + ((1 + log_t) / 2) ** 0.5) * math.log(30.0)
                + ((1 + log_t) / 2) ** 0.5
            )
            / (2 * (901**0.5 - 1)),
        ),
        dro.theorem_14: (
            (3 * half + 2 * m / k + 2 * (m * t / (k * log_m)) ** 0.5 + 3 * (m * t * log_m / k) ** 0.5 + m * log_m / k)
            / t,
            (
                half
                + (half + m / k + (m * t / (k * log_m)) ** 0.5) * math.log(20.0)
                + 3 * (m * t * log_m / k) ** 0.5
                + m * log_m / k
            )
            / t,
        ),
    }
    for theorem, bounds in expected.items():
        assert theorem(m, t, k, product=2.0, delta=0.1) == pytest.approx(bounds, rel=1e-12), theorem


@pytest.mark.parametrize(
    ("gap", "model", "weights"),
    [
        (dro.theorem_5, dro.theorem_3, dro.theorem_4),
        (dro.theorem_15, dro.theorem_3, dro.theorem_14),
    ],
)
def test_dro_gaps_are_sums_of_both_regrets(gap, model, weights):
    """As the paper combines them: expectations, and each with half of delta; Theorem 8 is a little looser."""
    at, delta = (16, 900, 5), {"product": 2.0, "delta": 0.1}
    halves = [theorem(*at, product=2.0, delta=0.05) for theorem in (model, weights)]
    assert gap(*at, **delta)[0] == pytest.approx(sum(bound for bound, _ in halves), rel=1e-12)
    assert gap(*at, **delta)[1] == pytest.approx(sum(bound for _, bound in halves), rel=1e-12)
    six, seven = (np.array(theorem(*at, product=2.0, delta=0.05)) for theorem in (dro.theorem_6, dro.theorem_7))
    looser = np.array(dro.theorem_8(*at, **delta)) / (six + seven)
    assert np.all((looser > 1.0) & (looser < 1.1))


def test_dro_bounds_of_numbers_of_groups_that_have_none():
    """The weights of single samples have the step sqrt(log(m) / (m T)), which is 0 for m = 1."""
    delta = {"product": 2.0, "delta": 0.1}
    for theorem in (dro.theorem_4, dro.theorem_5, dro.theorem_7, dro.theorem_8, dro.theorem_14, dro.theorem_15):
        with pytest.raises(InputError, match=r"m must be a whole number in \[2, inf\), got 1"):
            theorem(1, 900, **delta)
    for theorem in (dro.theorem_1, dro.theorem_2, dro.theorem_14, dro.theorem_15):
        with pytest.raises(InputError, match=r"k must be a whole number in \[1, 5\], got 6"):
            theorem(5, 900, 6, **delta)
    assert dro.theorem_1(1, 900, **delta)[0] == pytest.approx(2.0 * math.sqrt(20.0 / 900.0))


def test_dro_theorems_9_and_10_by_hand():
    """n = (800, 400), D^2 = 1/2, G = L = 2, delta = 0.1: mu = 8 + 2 log 20; b of (45) at n_m = 400."""
    bounds = dro.theorem_9((800, 400), product=2.0, delta=0.1)
    first = (8 + 2 * math.log(20.0)) * math.sqrt(10 * (2 + math.log(2.0)) * 800)
    np.testing.assert_allclose(bounds, [first / 800, first / 400], rtol=1e-12)
    b = np.array([(1 / 20 + 1) / (1 / 20 + 0.5**0.5), 1.0])
    smooth = 2 * 2**0.5 * b[0] * (0.5 * 2 + 0.5 * 2 * math.log(2.0) ** 0.5)
    omega = max(b[0] ** 2 / 2, 1.0)
    sigma = math.sqrt(2 * omega * (0.5 * 4 + math.log(2.0) ** 2) / 400)
    log_2 = math.log(20.0)
    inner = 7 * smooth / 400 + sigma * (14 * (2 / 3) ** 0.5 + 7 * (3 * log_2) ** 0.5 + 14 / 400 * log_2)
    fields = {"diameter_sq": 0.5, "lipschitz": 2.0, "smoothness": 2.0, "delta": 0.1}
    np.testing.assert_allclose(dro.theorem_10((800, 400), b, **fields), inner / b, rtol=1e-12)
    looser = dro.theorem_10((800, 400), b, **fields, regularity=2.0, constant=3.0)
    sigma_2 = math.sqrt(6 * omega * (2 * 0.5 * 4 + math.log(2.0) ** 2) / 400)
    np.testing.assert_allclose(looser, (inner + (sigma_2 - sigma) * (inner - 7 * smooth / 400) / sigma) / b, rtol=1e-12)


def test_coco_theorems_3_and_4_by_hand():
    """T = 16: T^{3/4} = 8, r = 1, c = 1/2, d M = 2, D = 2, G = 3; T = 8: T^{2/3} = 4, alpha = 1/2."""
    problem = {"dim": 2, "M": 1.0, "r": 1.0, "c": 0.5}
    c1 = 0.5 * 2 / 1 + 1.5 + 1 + 2 * 0.5 * 2 / 2 + 2 * 2 / 0.5  # 12.5
    c2, c3 = 2 + 8, 48 * c1
    regret, violation = coco.theorem_3(3.0, 2.0, 16.0, **problem)
    assert regret == pytest.approx(c3 * 8 + c3 * c2 * 8)
    assert violation == pytest.approx(2 * c3 * 8 * math.log(2 + 2 * (1 + c2) * 8 + 2 * 3 * 2 * 16 / c3))
    wide = coco.theorem_3(3.0, 8.0, 16.0, **problem)  # D / 4 = 2 takes the place of 1 there
    assert wide.regret == pytest.approx(48 * (4 + 1.5 + 2 + 4 + 32) * 8 * (1 + 8 + 32))
    third = 8 + 1.5 + 1 + 24
    weight = 8 * math.log(2.0) + third
    gamma = 16 * weight * 9 * 4 / 0.5
    regret, violation = coco.theorem_4(3.0, 2.0, 8.0, 0.5, **problem)
    expected = (1 + math.log(2.0)) * (8 * 4 / (0.25 * gamma**2 * 0.5) + 3 * 0.5 * 4) * 4
    assert regret == pytest.approx(expected + (16 * math.log(2.0) + 2 * third) * 9 / 0.5 * 4)
    c4 = 8 * 4 * (1 + math.log(2.0)) / (16 * weight * 0.25 * 9)
    c5 = 48 * weight * 9 * 4 * (1 + math.log(2.0)) + 32 / 0.25 * weight**2 * 81
    assert violation**2 == pytest.approx(2 * c4 + 2 * c5 * 16 + 32 / 0.5 * weight * 9 * 2 * 32)


def test_oco_theorems_by_hand():
    """At D = 2, z = 2, eta_1 = 1/256; T = 256 (e^2 - 1) makes the logarithm 2, eta_T = 1/512."""
    rounds = 256 * (math.e**2 - 1.0)
    fields = {"rank": 5, "eta_first": 1 / 256, "range_first": 2.0, "diameter": 2.0, "norm_sq": 1.5}
    at = {"eta_last": np.array(1 / 512), "errors": np.array(3.0), "moves": np.array(0.25)}
    bound = oco.theorem_3_1(np.array(rounds), range_last=2.0, **fields, **at)
    assert bound == pytest.approx(33 / 16 * 5 * 2 * 512 + 8 * (257 / 256) * 1.5 + 24 * 3 - 4 * 0.25)
    wider = oco.theorem_3_1(np.array(64 * (math.e**2 - 1.0)), range_last=4.0, **fields, **at)
    assert wider == pytest.approx(bound + 2 * (4 - 2) / 16)  # z_T^2 / z_1^2 = 4
    assert oco.conversion_2(3.0, np.array(2.0), np.array(5.0)) == pytest.approx(9 + 12 + 20)
    terms = oco.theorem_4_5(3.0, 2.0, variance=16.0, variation=25.0, deviation=5.0, mean_gradients=4.0)
    assert list(terms.values()) == pytest.approx([9 * 9, 4 * 9, 81, 2 * 27, 4 * 3])


def test_lemma_2_of_the_heavy_tailed_paper_by_hand():
    found = linear.lemma_2(np.array([5.0]), np.array([2.0]), np.array([3.0]), ridge=2.0, norm_bound=3.0)
    np.testing.assert_allclose(found, [5 + 2 - 3 + 72])


def test_kappas_that_the_paper_states():
    """kappa = 2 + 2 cosh(S r), or e^(S r) for Poisson rewards: r = arcosh(kappa / 2 - 1) / S, or log(kappa) / S."""
    for size, logistic, poisson in ((3, 21.0, 18.0), (5, 137.0, 127.0), (7, 963.0, 882.0)):
        norm = glm.implied_arm_norm(Bernoulli(), float(size), logistic)
        assert norm == pytest.approx(math.acosh(logistic / 2 - 1) / size, rel=1e-6)
        assert glm.largest_inverse_slope(Bernoulli(), float(size), norm) == pytest.approx(logistic, rel=1e-6)
        assert glm.implied_arm_norm(Poisson(), float(size), poisson) == pytest.approx(
            math.log(poisson) / size, rel=1e-6
        )
    assert glm.largest_inverse_slope(Bernoulli(), 3.0) == pytest.approx(2 + 2 * math.cosh(3.0))


@pytest.mark.parametrize(("link", "stated"), [(Bernoulli(), 3.9), (Bernoulli(), 1e4), (Gaussian(), 21.0)])
def test_kappas_that_no_arm_norm_explains(link, stated):
    with pytest.raises(InputError, match=rf"kappa must lie in \[.*\] for arm norms in \[0, 2\], got {stated:.6g}"):
        glm.implied_arm_norm(link, 3.0, stated)


def test_kappa_of_slopes_that_underflow():
    assert glm.largest_inverse_slope(Bernoulli(), 1e4) == np.inf
    assert glm.implied_arm_norm(Bernoulli(), 1e4, 1e3) == pytest.approx(math.acosh(1e3 / 2 - 1) / 1e4, rel=1e-6)
