"""Verdicts at every edge: of single claims, of several together, and of miniature experiments with known regret."""

import dataclasses
import math

import numpy as np
import pytest
from scipy import special, stats

from jaxbandits.analysis.intervals import Estimate
from jaxbandits.base.errors import InputError
from jaxbandits.reproduction.engine import statistic
from jaxbandits.reproduction.engine.claim import Claim, Measurements, slug
from jaxbandits.reproduction.engine.experiment import Experiment
from jaxbandits.reproduction.engine.figures import Curves
from jaxbandits.reproduction.engine.verdict import Verdict, holm
from jaxbandits.reproduction.engine.verdict import judge as judge_claim
from jaxbandits.results.result import Result
from tests.results import factories

INF = math.inf
NOTHING = Measurements({}, {})


def estimate(value, low, high, n=100, failed=0, **more):
    return Estimate(*map(np.asarray, (value, low, high)), n=n, failed=failed, **more)


def claim_of(found, low=-INF, high=INF, **fields):
    return Claim("id", "it wins", lambda measured: found, "Figure 1", low, high, **fields)


def judge(found, low=-INF, high=INF, **settings):
    return judge_claim(claim_of(found, low, high), NOTHING, **settings)


@pytest.mark.parametrize(
    ("interval", "region", "verdict"),
    [
        ((2.0, 3.0), (1.0, 4.0), "holds"),  # inside
        ((0.0, 0.5), (1.0, 4.0), "does not hold"),  # below
        ((5.0, 6.0), (1.0, 4.0), "does not hold"),  # above
        ((0.5, 2.0), (1.0, 4.0), "open"),  # across the lower end
        ((2.0, 5.0), (1.0, 4.0), "open"),  # across the upper end
        ((0.5, 5.0), (1.0, 4.0), "open"),  # around both
        ((1.0, 2.0), (1.0, 4.0), "open"),  # the region is open: touching from inside does not hold ...
        ((2.0, 4.0), (1.0, 4.0), "open"),
        ((0.5, 1.0), (1.0, 4.0), "does not hold"),  # ... from outside it is outside
        ((4.0, 5.0), (1.0, 4.0), "does not hold"),
        ((1.0, 4.0), (1.0, 4.0), "open"),
        ((-9.0, -1.0), (-INF, 0.0), "holds"),  # open ends
        ((1.0, 9.0), (-INF, 0.0), "does not hold"),
        ((-1.0, 1.0), (-INF, 0.0), "open"),
        ((1.0, 9.0), (0.0, INF), "holds"),
        ((-9.0, -1.0), (0.0, INF), "does not hold"),
        ((-INF, INF), (0.0, INF), "open"),  # nothing known
        ((-INF, -1.0), (-INF, 0.0), "open"),  # an unbounded interval is not inside an unbounded region
        ((2.0, 2.0), (1.0, 4.0), "holds"),  # no spread
        ((1.0, 1.0), (1.0, 4.0), "does not hold"),
    ],
)
def test_verdicts_at_every_edge(interval, region, verdict):
    low, high = interval
    middle = 0.5 * (low + high) if math.isfinite(low) else min(high, 0.0)
    assert judge(estimate(middle, low, high), *region).decision == verdict


def test_nothing_is_decided_without_what_it_needs():
    good = estimate(2.0, 1.5, 2.5, n=50)
    assert judge(good, 1.0).decision == "holds" and judge(good, 3.0).decision == "does not hold"
    for changed, why in (
        ({"n": 49}, "needs 50 seeds, has 49"),
        ({"failed": 1}, "1 trial is not finite"),
        ({"mean": np.asarray(np.nan)}, "the statistic is not a number on these 50 seeds, claimed > 1"),
    ):
        for low in (1.0, 3.0):
            judged = judge(good._replace(**changed), low)
            assert judged.decision == "open" and math.isnan(judged.p)
        assert judge(good._replace(**changed), 1.0).reason == why
    for low in (1.0, 3.0):
        judged = judge(good, low, enough_rounds=False)
        assert judged.decision == "open" and judged.reason.endswith("with fewer rounds than the experiment declares")
    assert judge(good, 1.0).reason == "2 in [1.5, 2.5], claimed > 1"


def test_a_claim_is_about_its_presets():
    found = estimate(2.0, 1.5, 2.5)
    claim = claim_of(found, 1.0, presets=("theory", "printed"))
    assert judge_claim(claim, NOTHING, preset="theory").decision == judge_claim(claim, NOTHING).decision == "holds"
    judged = judge_claim(claim, NOTHING, preset="practical")
    assert judged.decision == "open" and judged.reason == "this row is about the preset theory or printed"


def test_what_was_left_out_and_what_is_no_number_are_told_apart():
    results = {"one": Result({"a": factories.trials({"regret": np.ones((1, 60, 1))})})}
    claim = Claim("id", "it wins", statistic.final_mean("one", "b"), "Figure 1", high=2.0)
    left_out = judge_claim(claim, Measurements(results, {}), left_out={"b"})
    assert left_out.missing and not left_out.fault and left_out.reason == "not measured in this run"
    assert "not a number" in judge(estimate(np.nan, -INF, INF)).reason


def test_a_statistic_that_no_run_can_compute_is_a_fault():
    """A misspelt name is not taken for a label that was left out, and no entry of a vector stands for all of them."""
    values = {"regret": np.ones((1, 60, 1)), "risk": np.ones((1, 60, 1, 3))}
    trials = factories.trials(values, axes={"risk": ("group",)})
    measured = Measurements({"one": Result({"a": trials, "c": trials})}, {})
    faults = {
        statistic.final_mean("one", "b"): "unknown label 'b'",
        statistic.final_mean("ones", "a"): "unknown panel 'ones'; did you mean 'one'?",
        statistic.final_mean("one", "a", "regrets"): "unknown metric 'regrets'; did you mean 'regret'?",
        statistic.win_share("one", "a", "c", "risk"): "metric 'risk' has the axis group: derive a metric without axes",
        statistic.total_time("one", "a"): "panel one was not timed",
        lambda measured: estimate(np.ones(3), np.zeros(3), np.ones(3)): "single number, got an array of shape (3,)",
    }
    for about, fault in faults.items():
        claim = Claim("id", "it wins", about, "Figure 1", high=2.0)
        judged = judge_claim(claim, measured, left_out={"d"})
        assert judged.decision == "open" and judged.missing and fault in judged.fault and judged.reason == judged.fault
        assert not judge_claim(dataclasses.replace(claim, presets=("tuned",)), measured, preset="theory").fault
    untimed = Claim("id", "it is fast", statistic.total_time("one", "a"), "Figure 1", high=2.0, unit="repeats")
    assert not judge_claim(untimed, measured, timing=False).fault


def test_statistics_may_ask_for_panels_that_are_not_there():
    def about(measured):
        assert "one" in measured.results and "two" not in measured.results
        assert measured.results.get("two") is None and len(measured.results) == 1
        return statistic.final_mean("one", "a")(measured)

    results = {"one": Result({"a": factories.trials({"regret": np.ones((1, 60, 1))})})}
    judged = judge_claim(Claim("id", "it wins", about, "Figure 1", high=2.0), Measurements(results, {}))
    assert judged.decision == "holds" and judged.panels == ("one",)


def test_what_no_seed_can_change_needs_none():
    judged = judge(estimate(2.0, 2.0, 2.0, n=0, deterministic=True), 1.0, 3.0)
    assert judged.decision == "holds" and judged.p == 0.0
    assert judged.reason == "2, the same in every trial, claimed in (1, 3)"


def test_panels_that_a_claim_looked_at_are_noted():
    results = {name: Result({"a": factories.trials({"regret": np.ones((1, 60, 1))})}) for name in ("one", "two")}
    claim = Claim("id", "it wins", statistic.final_mean("two", "a"), "Figure 1", high=2.0)
    judged = judge_claim(claim, Measurements(results, {}))
    assert judged.panels == ("two",) and judged.decision == "holds" and judged.deterministic


def normal(value, error, n=100):
    """An estimate whose interval at any level is the normal one."""

    def at(level):
        half = special.ndtri(0.5 + level / 2.0) * error
        return value - half, value + half

    return estimate(value, *at(0.95), n=n, interval_at=at)


@pytest.mark.parametrize("region", [(-INF, 0.0), (0.0, INF), (-5.0, 0.0), (-5.0, 50.0)])
@pytest.mark.parametrize("value", [-3.0, -2.0, -0.5, 1.0, 2.5])
def test_p_follows_from_the_interval(region, value):
    """Two-sided, of the nearest end in reaches of the interval: both tails of Student's law with 6 degrees there."""
    distance = min(abs(value - end) for end in region if math.isfinite(end))
    judged = judge(normal(value, 1.0), *region)
    assert judged.p == pytest.approx(2.0 * stats.t.sf(distance / 1.959964 * stats.t.ppf(0.975, 6), 6), rel=1e-5)
    assert (judged.decision != "open") == (judged.p < 0.05)


def test_p_at_hand_checked_distances():
    """Reaches of the end's side; of two scales the one on which the end is nearer; t_6(0.975) = 2.4469."""
    uneven = estimate(2.0, 1.0, 10.0)  # reaches 1 down and 8 up
    assert judge(uneven, low=0.0).p == pytest.approx(2.0 * stats.t.sf(2.0 * 2.446912, 6), rel=1e-5)
    assert judge(uneven, high=10.0).p == pytest.approx(0.05, rel=1e-6)
    assert judge(uneven, low=0.0, high=10.0).p == pytest.approx(0.05, rel=1e-6)
    ratio = estimate(1.0, 0.8, 1.25)  # 2 is log 2 / log 1.25 = 3.106 reaches up, not 4
    assert judge(ratio, high=2.0).p == pytest.approx(2.0 * stats.t.sf(2.446912 * 3.106284, 6), rel=1e-5)
    assert judge(ratio, low=0.5).p == pytest.approx(2.0 * stats.t.sf(2.446912 * 2.5, 6), rel=1e-5)  # not 3.106
    assert judge(estimate(1.0, -INF, INF), 0.0).p == 1.0
    assert judge(estimate(2.0, 2.0, 3.0), low=1.0).p == 0.0 and judge(estimate(2.0, 2.0, 3.0), high=4.0).p < 0.05


def test_holm_by_hand():
    """0.01 <= 0.05/4, 0.015 <= 0.05/3, 0.03 > 0.05/2: the step-down stops there, whatever follows."""
    assert holm([0.03, 0.01, 0.04, 0.015]) == [False, True, False, True]
    assert holm([0.05]) == [True] and holm([0.051]) == [False] and holm([]) == []
    assert holm([0.02, 0.02, math.nan]) == [True, True, False]  # 0.05/2, then 0.05/1; NaN is no test
    assert holm([0.02, 0.02, 0.9]) == [False, False, False]  # 0.05/3


def test_an_id_has_a_form_and_ends_enclose_something():
    """Files join by it: neither spaces nor capitals; ends the wrong way round would hold for nobody."""
    for id in ("", "Far ahead", "far_ahead", "a:b"):
        with pytest.raises(InputError, match="id of a claim must be made of"):
            Claim(id, "it wins", lambda measured: normal(0.0, 1.0), "Figure 1")
    with pytest.raises(InputError, match="low must be below high, got 1 and 1"):
        claim_of(None, 1.0, 1.0)
    assert slug("Hvt-UCB, bound only") == "hvt-ucb-bound-only" and slug("eps0.2 (x)") == "eps0.2-x"


def test_two_claims_and_two_figures_of_an_experiment_have_two_names():
    claims = (claim_of(None), claim_of(None))
    fields = {"horizon": 1, "seeds": 1, "presets": {"p": ""}, "algorithms": lambda *_: {}, "panels": lambda _: {}}
    with pytest.raises(InputError, match="toy/one has two claims with the id 'id'"):
        Experiment("toy/one", "t", "s", metric="regret", claims=claims, **fields)
    figures = (Curves(), Curves(metric="loss"), Curves(metric="loss", logarithmic=True))
    with pytest.raises(InputError, match="toy/one has two figures with the name 'curves', whose files would be the"):
        Experiment("toy/one", "t", "s", metric="regret", figures=figures, **fields)


def test_equivalence_is_two_one_sided_tests():
    """At 2.5 % each: the interval of 95 % inside the margins."""
    claim = claim_of(normal(0.0, 0.5), -1.0, 1.0)
    assert claim.equivalence and judge_claim(claim, NOTHING).decision == "holds"
    assert judge(normal(0.0, 0.52), -1.0, 1.0).decision == "open"
    assert not claim_of(normal(0.0, 0.5), high=1.0).equivalence


# Miniature experiments ------------------------------------------------------------------------------------------------


def learners(seeds=400, **levels):
    """One panel: a gamma-distributed regret of mean `level` for each label, over shared instances."""
    rng = np.random.default_rng(5)
    shared = rng.gamma(4.0, 0.25, seeds)
    values = {k: level * shared * rng.gamma(16.0, 1 / 16.0, seeds) for k, level in levels.items()}
    trials = {k: factories.trials({"regret": v[None, :, None]}) for k, v in values.items()}
    return Measurements({"p": Result(trials)}, {})


MINIATURE = (
    Claim("better", "better", statistic.mean_difference("p", "new", "old"), "toy", high=0.0),
    Claim("worse", "worse", statistic.mean_difference("p", "new", "old"), "toy", low=0.0),
    Claim(
        "less-than-half", "less than half", statistic.mean_difference("p", "new", "old", factor=0.5), "toy", high=0.0
    ),
    Claim(
        "within-a-factor-of-1.25", "within a factor of 1.25", statistic.mean_ratio("p", "new", "old"), "toy", 0.8, 1.25
    ),
    Claim("wins", "wins", statistic.win_share("p", "new", "old"), "toy", low=0.5),
    Claim("median", "median", statistic.median_difference("p", "new", "old"), "toy", high=0.0),
)
YES, NO, OPEN = "holds", "does not hold", "open"


@pytest.mark.slow_cases("levels3-expected3")
@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        ({"new": 1.0, "old": 4.0}, (YES, NO, YES, NO, YES, YES)),  # clearly better
        ({"new": 4.0, "old": 1.0}, (NO, YES, NO, NO, NO, NO)),  # clearly worse
        ({"new": 1.0, "old": 1.0}, (OPEN, OPEN, NO, YES, OPEN, OPEN)),  # equal
        ({"new": 1.5, "old": 2.0}, (YES, NO, NO, NO, YES, YES)),  # better, by less than half
    ],
)
def test_verdicts_on_learners_of_known_regret(levels, expected):
    measured = learners(**levels)
    assert tuple(judge_claim(claim, measured).decision for claim in MINIATURE) == expected
    few = learners(seeds=40, **levels)
    assert {judge_claim(claim, few).decision for claim in MINIATURE} == {OPEN}


def test_a_ratio_is_of_the_first_over_the_second():
    found = statistic.mean_ratio("p", "new", "old")(learners(new=1.0, old=4.0))
    assert float(found.mean) == pytest.approx(0.25, rel=0.05) and found.low < 0.25 < found.high


def test_a_trial_that_failed_leaves_everything_undecided():
    measured = learners(new=1.0, old=4.0)
    measured.results["p"]["new"].values["regret"][0, 7, -1] = np.nan
    judged = [judge_claim(claim, measured) for claim in MINIATURE]
    assert {item.decision for item in judged} == {OPEN} and {item.failed for item in judged} == {1}


def test_a_mean_is_not_shown_alone():
    judged = judge_claim(MINIATURE[0], learners(new=1.0, old=4.0))
    assert isinstance(judged, Verdict) and [name for name, _ in judged.companions] == [
        "median difference",
        "share below 0",
    ]
    assert judged.companions[1][1] > 0.95 and "share below 0" in judged.reason


def test_a_difference_from_a_multiple_is_shown_as_a_ratio_too():
    measured = learners(new=1.0, old=4.0)
    (name, ratio), *_ = statistic.mean_difference("p", "new", "old", 0.5)(measured).companions
    means = {label: measured.results["p"][label].final("regret")[0].mean() for label in ("new", "old")}
    assert name == "ratio of means" and ratio == pytest.approx(means["new"] / means["old"])
