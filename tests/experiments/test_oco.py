"""The SEA experiments: what their panels and derived numbers are."""

import math

import numpy as np
import pytest

from jaxbandits.experiments import EXPERIMENTS
from jaxbandits.experiments.declare import Panel
from jaxbandits.experiments.oco.setting import share_of_bound
from tests.results import made


def test_the_bound_of_e1_by_hand():
    """i.i.d. losses with s = 0.9 on R^5: sigma^2 = s^2 a round, no variation, D = 2; a flip of m = 1: Sigma^2 = 4."""
    panels = EXPERIMENTS["oco/e1"].panels(10_000)
    variance = float(panels["iid-0.9"].environment.cumulative_variance(10_000))
    assert panels["iid-0.9"].bound >= 2.0 * math.sqrt(variance) > 0.0
    assert panels["flips-1"].bound == pytest.approx(2.0 * math.sqrt(4.0 * 10_000), rel=1e-3)
    for name, panel in panels.items():  # where the mean moves no figure of bounds: regret is negative there
        moving = name in ("flips-8", "flips-64", "drift", "piecewise")
        assert math.isnan(panel.x) == moving and (moving or panel.x == panel.bound)


def test_shares_of_the_bound_are_those_of_the_panel():
    trials = made.trials({"regret": np.asarray([[[1.0, 6.0]]])})
    np.testing.assert_array_equal(
        share_of_bound(trials, None, Panel("panel", None, bound=4.0))["share_of_bound"], [[[0.25, 1.5]]]
    )


def test_the_noise_of_e5_and_e6_is_divided_out():
    """At regret s sqrt(t) the scaled regret is 1; at the identities of Proposition A.1 both errors are 0."""
    e5, e6 = EXPERIMENTS["oco/e5"], EXPERIMENTS["oco/e6"]
    panel = e5.panels(100)["s0.2-m0"]
    records = np.asarray([4, 100])
    trials = made.trials({"pseudo_regret": 0.2 * np.sqrt(records)[None, None]}, records=records)
    np.testing.assert_allclose(e5.derive(trials, None, panel)["scaled_regret"], 1.0)
    panel = e6.panels(100)["n-8"]
    uniform, pointwise = (1.0 - (7.0 / 8.0) ** 8) * records, records / 8.0
    trials = made.trials({"uniform": uniform[None, None], "pointwise": pointwise[None, None]}, records=records)
    derived = e6.derive(trials, None, panel)
    np.testing.assert_allclose(derived["uniform_error"], 0.0, atol=1e-12)
    np.testing.assert_allclose(derived["pointwise_error"], 0.0, atol=1e-12)
    np.testing.assert_allclose(derived["uniform_variance"], panel.bound)


def test_learners_without_a_meta_algorithm_exceed_nothing():
    certificates = EXPERIMENTS["oco/certificates"]
    trials = made.trials({"meta_loss": [[[3.0]]], "meta_budget": [[[5.0]]]})
    assert certificates.derive(trials, None, None)["meta_excess"] == -2.0
