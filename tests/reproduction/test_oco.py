"""The SEA experiments: what their panels and derived numbers are."""

import math
import types

import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.reproduction import EXPERIMENTS
from jaxbandits.reproduction.engine import Measurements, Panel, judge
from jaxbandits.reproduction.experiments.oco import bounded, restarts
from jaxbandits.reproduction.experiments.oco.setting import share_of_bound
from jaxbandits.results.result import Result
from tests.reproduction.test_declared_claims import observe, verdicts
from tests.results import factories


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
    trials = factories.trials({"regret": np.asarray([[[1.0, 6.0]]])})
    np.testing.assert_array_equal(
        share_of_bound(trials, None, Panel("panel", None, bound=4.0))["share_of_bound"], [[[0.25, 1.5]]]
    )


def test_the_noise_of_e5_and_e6_is_divided_out():
    """At regret s sqrt(t) the scaled regret is 1; at the identities of Proposition A.1 both errors are 0."""
    e5, e6 = EXPERIMENTS["oco/e5"], EXPERIMENTS["oco/e6"]
    panel = e5.panels(100)["s0.2-m0"]
    records = np.asarray([4, 100])
    trials = factories.trials({"pseudo_regret": 0.2 * np.sqrt(records)[None, None]}, record_points=records)
    np.testing.assert_allclose(e5.derive(trials, None, panel)["scaled_regret"], 1.0)
    panel = e6.panels(100)["n-8"]
    uniform, pointwise = (1.0 - (7.0 / 8.0) ** 8) * records, records / 8.0
    trials = factories.trials(
        {"uniform": uniform[None, None], "pointwise": pointwise[None, None]}, record_points=records
    )
    derived = e6.derive(trials, None, panel)
    np.testing.assert_allclose(derived["uniform_error"], 0.0, atol=1e-12)
    np.testing.assert_allclose(derived["pointwise_error"], 0.0, atol=1e-12)
    np.testing.assert_allclose(derived["uniform_variance"], panel.bound)


def test_learners_without_a_meta_algorithm_exceed_nothing():
    certificates = EXPERIMENTS["oco/certificates"]
    trials = factories.trials({"meta_loss": [[[3.0]]], "meta_budget": [[[5.0]]]})
    assert certificates.derive(trials, None, None)["meta_excess"] == -2.0


def growing(exponents, scale=10.0, seeds=64):
    """Regret `scale T^exponent`, 2 % apart over seeds: panel -> label -> exponent."""
    records, spread = np.asarray([100, 200, 400, 700, 1000]), np.linspace(0.98, 1.02, seeds)
    return Measurements(
        {
            panel: Result(
                {
                    k: factories.trials({"regret": scale * (spread[:, None] * records**v)[None]}, record_points=records)
                    for k, v in of.items()
                }
            )
            for panel, of in exponents.items()
        },
        {},
    )


def test_curved_losses_beside_their_bound():
    """Below the bound and as T^(1/2); with learners swapped, or above the bound, the claims fall."""
    experiment = EXPERIMENTS["oco/curved"]
    panels = experiment.panels(4096)
    for name, panel in panels.items():  # L = 1: curved, and G is that of the ball
        assert float(panel.environment.smoothness) == 1.0
        assert float(experiment.algorithms("theory", 9, panel)["OONS"].lipschitz) == float(panel.environment.lipschitz)
        assert name == "huber" or float(panel.environment.lipschitz) == pytest.approx(
            1.5 + float(panel.environment.noise_scale)
        )
    flips = panels["flips-1"].environment  # |c_t - c_{t-1}| = 1, s = 0.1
    assert panels["flips-1"].bound == pytest.approx(2.0 * (0.1 * 64.0 + math.sqrt(flips.cumulative_variation(4096))))
    story = {"OONS": 5.0, "optimistic OMD": 6.0, "OGD": 9.0}
    for sentence in ("below-omd", "hint-helps"):
        assert set(verdicts("oco/curved", observe(dict.fromkeys(panels, story)), sentence).values()) == {"holds"}
    swapped = {"OONS": 9.0, "optimistic OMD": 6.0, "OGD": 5.0}
    for sentence in ("below-omd", "hint-helps"):
        assert set(verdicts("oco/curved", observe(dict.fromkeys(panels, swapped)), sentence).values()) == {
            "does not hold"
        }
    for share, verdict in ((0.9, "holds"), (1.1, "does not hold")):
        of = observe({key: {"OONS": share} for key in panels}, metric="share_of_bound")
        assert set(verdicts("oco/curved", of, "within-bound").values()) == {verdict}
    for exponent, verdict in ((0.45, "holds"), (0.55, "does not hold")):
        of = growing({key: {"OONS": exponent} for key in panels})
        assert set(verdicts("oco/curved", of, "grows-as-root-t").values()) == {verdict}


def test_regret_against_the_origin_as_printed_and_as_proved():
    """T^0 is the statement, T^0.4 the proof alone, T^0.6 neither; against 0 KT betting loses its wealth at most."""
    panels = ("flips", "noise")
    for exponent, printed, proved in (
        (0.0, "holds", "holds"),
        (0.4, "does not hold", "holds"),
        (0.6, "does not hold", "does not hold"),
    ):
        of = growing(dict.fromkeys(panels, dict.fromkeys(("CA-OONS", "CLA-OONS"), exponent)))
        assert set(verdicts("oco/origin", of, "flat").values()) == {printed}
        for sentence in ("ca-oons-root-t", "cla-oons-root-t"):
            assert set(verdicts("oco/origin", of, sentence).values()) == {proved}
    for small, verdict in ((40.0, "holds"), (60.0, "does not hold")):
        of = observe({key: {"CA-OONS": 100.0, "CA-OONS, small radii too": small} for key in panels})
        assert set(verdicts("oco/origin", of, "small-radii").values()) == {verdict}
    for regret, verdict in ((0.9, "holds"), (1.2, "does not hold")):
        of = observe({key: {"KT betting": regret} for key in panels}, seeds=256)
        assert set(verdicts("oco/origin", of, "keeps-wealth").values()) == {verdict}
    for panel in EXPERIMENTS["oco/origin"].panels(100).values():
        assert float(panel.environment.comparator if "flips" in panel.title else panel.environment.center) == 0.0


def test_bounded_domains():
    """The bound has D^2 and D: 4 + 2 (...) at R = 1, 64 + 8 (...) at R = 4; every learner lives on that ball."""
    experiment = EXPERIMENTS["oco/bounded"]
    panels = experiment.panels(10_000)
    root = 0.9 * 100.0 + 0.1  # sqrt(T s^2) + m
    assert panels["radius-1"].bound == pytest.approx(4.0 + 2.0 * root)
    assert panels["radius-16"].bound == pytest.approx(1024.0 + 32.0 * root)
    assert bounded.bound_of(panels["drift"].environment, 10_000) == panels["drift"].bound > 64.0
    learners = experiment.algorithms("theory", 10_000, panels["radius-4"])
    for label, learner in learners.items():
        assert float(learner.radius if label.startswith("C") else learner.domain.radius) == 4.0, label
    slopes = {"radius-1": 1.0, "radius-4": 4.0, "radius-16": 16.0}
    for power, verdict in ((1.9, "holds"), (2.1, "does not hold")):
        of = observe({name: {"CA-OONS": radius**power} for name, radius in slopes.items()})
        assert set(verdicts("oco/bounded", of, "grows-as-d-squared").values()) == {verdict}
    for ca, verdict in ((190.0, "holds"), (210.0, "does not hold")):
        of = observe({key: {"CA-OONS": ca, "OONS, given D": 100.0} for key in slopes})
        assert set(verdicts("oco/bounded", of, "modest-price").values()) == {verdict}
    for ogd, omd, verdict in ((9.0, 7.0, "holds"), (3.0, 4.0, "does not hold")):
        moving = {"CA-OONS": 5.0, "CLA-OONS": 6.0, "OGD, given D": ogd, "optimistic OMD, given D": omd}
        of = observe(dict.fromkeys(("corrupted", "drift", "piecewise"), moving))
        for sentence in ("hint-worth-more", "costs-nothing"):
            assert set(verdicts("oco/bounded", of, sentence).values()) == {verdict}


def test_epochs_cost_at_most_a_logarithm():
    """log2 T = 10, 12, 14 and twice: 9 times holds for the first alone, 1.9 times for both, 15 times for neither."""
    experiment = EXPERIMENTS["oco/anytime"]
    panels = experiment.panels(2**14)
    assert sorted({panel.rounds for panel in panels.values()}) == [2**10, 2**12, 2**14]
    learners = experiment.algorithms("theory", 2**14, panels["norm-8-T-over-16"])
    assert learners["CA-OONS, given T"].n_base == 10 and float(learners["CA-OONS, given T"].horizon) == 2.0**10
    assert learners["anytime CA-OONS"].learner.n_base == 10
    for times, log, modest in (
        (1.9, "holds", "holds"),
        (9.0, "holds", "does not hold"),
        (15.0, "does not hold", "does not hold"),
    ):
        story = {
            "CA-OONS, given T": 10.0,
            "anytime CA-OONS": 10.0 * times,
            "CA-OONS, practical, given T": 5.0,
            "anytime CA-OONS, practical": 5.0 * times,
        }
        of = observe(dict.fromkeys(panels, story))
        assert set(verdicts("oco/anytime", of, "logarithmic-price").values()) == {log}
        assert set(verdicts("oco/anytime", of, "modest-price").values()) == {modest}
    of = observe({key: {**story, "anytime CA-OONS": 110.0} for key in panels})  # 11 times: too much at T = 2^10 alone
    found = verdicts("oco/anytime", of, "logarithmic-price/anytime-ca-oons/")
    for norm in (2, 8):
        at = f"logarithmic-price/anytime-ca-oons/ca-oons-given-t/norm-{norm}-t-over"
        assert [found[f"{at}-{part}"] for part in (16, 4, 1)] == ["does not hold", "holds", "holds"]


def test_restarts_and_radii_by_hand():
    """At T = 1024: 10 restarts are log2(T), 7 log2(T)/2 + 2; radii 32 and 64 are sqrt(T) and 2 sqrt(T)."""
    state = types.SimpleNamespace
    for before, after, counted in ((2.0, 5.0, 1.0), (2.0, 2.0, 0.0)):
        played = state(state=state(bound=jnp.asarray(before)), next_state=state(bound=jnp.asarray(after)))
        assert float(restarts.is_restart(played)) == counted
    trials = factories.trials({"restarts": [[[7.0]]], "radius": [[[48.0]]]}, record_points=np.asarray([1024]))
    found = {name: value.item() for name, value in restarts.shares(trials, None, None).items()}
    assert found == {
        "restarts_over_log": 0.7,
        "restarts_over_half_log": 1.0,
        "radius_over_root": 1.5,
        "log2_of_rounds": 10.0,
    }
    claims = {claim.id: claim for claim in EXPERIMENTS["oco/restarts"].claims}
    for metric, value, sentence, verdict in (
        ("restarts_over_log", 1.0, "few-updates", "holds"),
        ("restarts_over_log", 1.1, "few-updates", "does not hold"),
        ("restarts_over_half_log", 1.0, "half-as-many", "holds"),
        ("radius_over_root", 1.5, "radius-as-printed", "does not hold"),
        ("radius_over_root", 1.5, "radius-as-updated", "holds"),
        ("radius_over_root", 2.1, "radius-as-updated", "does not hold"),
    ):
        values = factories.trials({metric: np.full((1, 256, 1), value)})
        measured = Measurements({"linear": Result({"CLA-OONS": values})}, {})
        assert judge(claims[f"{sentence}/linear"], measured).decision == verdict, sentence


def test_rank_and_dimension():
    """Noise on r axes of R^16; regret as d^0.9 is within the rank's factor, as d^1.1 is not; OMD has none."""
    experiment = EXPERIMENTS["oco/dimension"]
    panels = experiment.panels(100)
    assert [panels[f"r-{r}"].environment.noise_rank for r in (1, 4)] == [1, 4]
    assert {panels[f"r-{r}"].environment.dim for r in (1, 4)} == {16}
    sizes = {f"d-{n}": float(n) for n in (1, 2, 4, 8, 16)}
    for power, verdict in ((0.9, "holds"), (1.1, "does not hold")):
        of = observe({name: dict.fromkeys(("OONS", "OONS, practical"), n**power) for name, n in sizes.items()})
        assert set(verdicts("oco/dimension", of, "grows-as-rank").values()) == {verdict}
    of = observe(
        {name: {"OONS": n**0.2, "OONS, practical": n**0.05, "optimistic OMD": n**0.2} for name, n in sizes.items()}
    )
    for sentence, verdict in (
        ("rank-shows", "holds"),
        ("small-constants-too", "does not hold"),
        ("omd-flat", "does not hold"),
    ):
        assert verdicts("oco/dimension", of, sentence) == {sentence: verdict}
    for low, verdict in ((1.4, "holds"), (1.6, "does not hold"), (0.6, "does not hold")):
        both = ("OONS", "OONS, practical")
        of = observe(
            {f"{kind}-{r}": dict.fromkeys(both, r * (low if kind == "r" else 1.0)) for kind in "dr" for r in (1, 4)}
        )
        assert set(verdicts("oco/dimension", of, "rank-counts").values()) == {verdict}
