"""Quantities and comparisons: the words name what the statistic compares, and the claimed side of it."""

import math

import numpy as np
import pytest

from jaxbandits.base.errors import InputError
from jaxbandits.reproduction.engine import Study, judge
from jaxbandits.reproduction.engine.claim import Measurements
from jaxbandits.reproduction.engine.statistic import final_mean
from jaxbandits.reproduction.sentences import (
    FLAT,
    GROWS,
    at_point,
    claims,
    growth,
    growth_over,
    log_growth,
    mean,
    measure,
    median,
    observations,
    panel_ratio,
    rate,
    share,
    theorems,
    time,
    time_over_panels,
    time_slope,
    wins,
)
from jaxbandits.results.result import Result
from tests.reproduction.test_declared_claims import flat, observe
from tests.results import factories

SETTING = {"says": "{rival} loses", "place": "Figure 9"}


def declare_claim(tests, on="p", **fields):
    (claim,) = claims("it", tests, on=on, **{**SETTING, **fields})
    return claim


def decision(claim, *measured):
    return judge(claim, observe(*measured)).decision


def test_a_row_for_every_panel_and_rival_in_order():
    rows = claims("a-wins", mean("A") < mean("B", "C"), on={"l": "heavy tails", "r": "light tails"}, **SETTING)
    assert [row.text for row in rows] == [
        f"{rival} loses: mean regret of A below that of {rival} ({title})"
        for title in ("heavy tails", "light tails")
        for rival in "BC"
    ]
    assert [row.id for row in rows] == ["a-wins/b/l", "a-wins/c/l", "a-wins/b/r", "a-wins/c/r"]
    assert {row.sentence for row in rows} == {"a-wins"} and rows[1].labels == ("A", "C") and rows[1].rival == "C"
    assert rows[3].panels == ("r",) and {row.kind for row in rows} == {"statement"}


def test_ids_tell_learners_and_averages_apart_where_they_differ():
    """`says` may hold braces of its own: no word of it is looked up."""
    rows = claims("x", mean("A", "B") < mean("C"), median("A") < median("C"), on="p", says="{a} {label}", place="")
    assert [row.id for row in rows] == ["x/mean/a/c/p", "x/mean/b/c/p", "x/median/a/c/p"]
    assert rows[1].says == "{a} B"


@pytest.mark.parametrize(
    ("tests", "words", "holds"),
    [
        (lambda of: of("A") < of("B"), "below that of B", False),
        (lambda of: of("A") < 3.0 * of("B"), "below 3 times that of B", True),
        (lambda of: of("A") < 0.25 * of("B"), "below 1/4 of that of B", False),
        (lambda of: of("A") > of("B"), "above that of B", True),
        (lambda of: of("A") > 3.0 * of("B"), "above 3 times that of B", False),
    ],
)
@pytest.mark.parametrize("average", [mean, median])
def test_words_and_verdict_are_of_the_same_comparison(tests, words, holds, average):
    """A has twice the regret of B."""
    claim = declare_claim(tests(average))
    assert words in claim.test and f"{average.__name__} regret" in claim.test
    assert (decision(claim, {"p": {"A": 200.0, "B": 100.0}}) == "holds") is holds


def test_equivalence_ratios_and_shares():
    claim = declare_claim(mean("A").close_to(mean("B"), within=2.0))
    assert claim.test == "mean regret of A between 1/2 and 2 times that of B" and (claim.low, claim.high) == (0.5, 2.0)
    claim = declare_claim(mean("A") / mean("B") < 1.5)
    assert claim.test == "mean regret of A divided by that of B below 1.5"
    assert decision(claim, {"p": {"A": 140.0, "B": 100.0}}) == "holds"
    assert decision(claim, {"p": {"A": 160.0, "B": 100.0}}) == "does not hold"
    claim = declare_claim(share("A", of="error_ratio") > 0.98, least=400)
    assert claim.test == "share of trials with error ratio of A at most 1: above 0.98"
    assert (claim.low, claim.high, claim.least) == (0.98, math.inf, 400)


def test_means_growth_and_ratios_over_panels():
    """A has 100, 200 and 400 where the abscissa is 1, 2 and 4; its mean does not grow in t."""
    levels = {"p1": {"A": 100.0}, "p2": {"A": 200.0}, "p4": {"A": 400.0}}
    claim = declare_claim(mean("A").between(190.0, 210.0), "p2")
    assert claim.test == "mean regret of A between 190 and 210" and decision(claim, levels) == "holds"
    claim = declare_claim(mean("A") < 210.0, "p4")
    assert claim.test == "mean regret of A below 210" and decision(claim, levels) == "does not hold"
    for high, verdict in ((1.1, "holds"), (0.9, "does not hold")):
        claim = declare_claim(growth_over({"p1": 1.0, "p2": 2.0, "p4": 4.0}, "size", "A") < high, ())
        assert f"against size, of mean regret of A below {high:g}" in claim.test and decision(claim, levels) == verdict
    for low, verdict in ((3.9, "holds"), (4.1, "does not hold")):
        claim = declare_claim(panel_ratio("A", "p4", "p1") > low, ())
        assert f"in panel p4 above {low:g} times that in panel p1" in claim.test and decision(claim, levels) == verdict
    claim = declare_claim(panel_ratio("A", {"the large": ("p2", "p4")}, {"the small": ("p1",)}).between(3.9, 4.1), ())
    assert "largest mean regret of A at the large between 3.9 and 4.1 times that at the small" in claim.test
    assert decision(claim, levels) == "holds"
    assert declare_claim(growth("A") < 0.5, "p1").test == "log-log slope, against t, of mean regret of A below 0.5"


def test_differences_of_learners_and_of_metrics():
    """A has 0.3 more than B; its metric `now` is 0.1 below its metric `then`."""
    for high, verdict in ((0.35, "holds"), (0.28, "does not hold")):
        claim = declare_claim((mean("A") - mean("B")).between(0.25, high))
        assert claim.test == f"mean regret of A minus that of B between 0.25 and {high:g}"
        assert decision(claim, {"p": {"A": 1.3, "B": 1.0}}) == verdict
    values = {"now": np.full((1, 64, 1), 0.9), "then": np.full((1, 64, 1), 1.0)}
    measured = Measurements({"p": Result({"A": factories.trials(values)})}, {})
    for factor, words, verdict in ((1.0, "", "holds"), (0.5, "1/2 of ", "does not hold")):
        claim = declare_claim(mean("A", of="now") - factor * mean("A", of="then") < 0.0)
        assert claim.test == f"A: now minus {words}then, mean over trials, below 0"
        assert judge(claim, measured).decision == verdict


def test_wins_and_points_of_a_sweep():
    """A ends below B in 48 of 64 trials; the second point of the sweep has twice the regret of the first one."""
    first = np.where(np.arange(64) < 48, 1.0, 3.0)
    trials = {
        name: factories.trials({"regret": x.reshape(1, 64, 1)}) for name, x in (("A", first), ("B", np.full(64, 2.0)))
    }
    measured = Measurements({"p": Result(trials)}, {})
    for least, verdict in ((0.5, "holds"), (0.9, "does not hold")):
        claim = declare_claim(wins("A", "B") > least)
        assert claim.test == f"share of trials in which the regret of A ends below that of B: above {least:g}"
        assert judge(claim, measured).decision == verdict
    values = np.stack([np.full((64, 1), 100.0), np.full((64, 1), 200.0)])
    swept = Measurements({"p": Result({"A": factories.trials({"regret": values}, [{"rate": 0.1}, {"rate": 0.4}])})}, {})
    for factor, words, verdict in ((3.0, "minus 3 times that", "holds"), (1.0, "minus that", "does not hold")):
        claim = declare_claim(at_point({"rate": 0.4}, {"rate": 0.1}, factor) < 0.0)
        assert claim.test == f"mean regret at rate = 0.4 {words} at 0.1 below 0"
        assert judge(claim, swept).decision == verdict


def test_rates_of_the_second_half():
    """The metric is flat for 500 rounds and grows by 2 a round for 500 more."""
    curve = np.maximum(0.0, 2.0 * (np.arange(10.0, 1001.0, 10.0) - 500.0))
    values = {"regret": np.broadcast_to(curve, (1, 64, 100))}
    measured = Measurements({"p": Result({"A": factories.trials(values)})}, {})
    for low, verdict in ((1.9, "holds"), (2.1, "does not hold")):
        claim = declare_claim(rate("A") > low)
        assert (
            claim.test == f"mean increase per round of the regret of A over the second half of the rounds above {low:g}"
        )
        assert judge(claim, measured).decision == verdict


def test_times_of_trials_and_rounds():
    """A round of A takes 100 ns at p and 300 ns at q; one of B takes as many as it is late."""
    times = {"p": {"A": flat(100.0), "B": lambda t: 10.0 * t}, "q": {"A": flat(300.0)}}
    rows = {
        declare_claim(time("B") > time("A")): "holds",
        declare_claim(time("B") > 80.0 * time("A")): "does not hold",
        declare_claim(time("B").more_than(time("A"), at_most=20.0)): "does not hold",
        declare_claim((2.0 * time("B")).more_than(time("A"), at_most=20.0)): "does not hold",
        declare_claim(time("A") < time("B")): "holds",
        declare_claim(time("A") < 1.0): "holds",
        declare_claim(time_over_panels("A", "q", "p").between(2.0, 4.0), ()): "holds",
        declare_claim(time_over_panels("A", "q", "p") < 2.0, ()): "does not hold",
        declare_claim(time_slope("A") < FLAT): "holds",
        declare_claim(time_slope("A") > GROWS): "does not hold",
        declare_claim(time_slope("B") > GROWS): "holds",
    }
    for claim, verdict in rows.items():
        assert (claim.kind, claim.unit, claim.least) == ("time", "repeats", 3)
        assert decision(claim, {}, times) == verdict, claim.text
    first, second, third, fourth, *_ = (claim.test for claim in rows)
    assert first == "a trial of B takes longer than one of A"
    assert second == "a trial of B takes more than 80 times as long as one of A"
    assert third == "a trial of B takes longer than one of A, but less than 20 times as long"
    assert fourth == "a trial of B takes more than 0.5 times as long as one of A, but less than 10 times as long"
    (ours,) = observations("x", time("B") > time("A"), on="p", says="B is slow")
    assert ours.kind == "observation"  # what is ours stays ours


def test_kinds_and_quantities_of_ones_own():
    (claim,) = theorems("x", mean("A") < 1.0, on="p", says="it is bounded", place="Theorem 1", least=100)
    assert (claim.kind, claim.least, claim.text) == ("theorem", 100, "it is bounded: mean regret of A below 1 (p)")
    own = measure("the end of A", final_mean("p", "A"), ("A",), template="{of} is {region}")
    claim = declare_claim(own < 1.0, (), says="it ends low")
    assert (claim.id, claim.text, claim.labels) == ("it", "it ends low: the end of A is below 1", ("A",))
    assert decision(claim, {"p": {"A": 0.5}}) == "holds"
    rows = claims(
        "x", measure("m", lambda p: final_mean(p, "A"), in_panel=True) < 1.0, on=("p", "q"), says="", place=""
    )
    assert [judge(row, observe({"p": {"A": 0.5}, "q": {"A": 2.0}})).decision for row in rows] == [
        "holds",
        "does not hold",
    ]


def test_an_experiment_has_the_fields_of_its_study_and_its_own_in_their_place():
    study = Study("linear", "Authors, 2025", horizon=10, seeds=4, presets={"only": "as is"}, notes=("of all",))
    fields = {"title": "t", "algorithms": lambda *_: {}, "panels": lambda horizon: {}}
    experiment = study.experiment("fig9", "Figure 9", horizon=20, notes=("of one",), **fields)
    assert (experiment.name, experiment.source) == ("linear/fig9", "Authors, 2025, Figure 9")
    assert (experiment.horizon, experiment.seeds, experiment.metric) == (20, 4, "regret")
    assert experiment.notes == ("of one", "of all")
    with pytest.raises(TypeError, match="horizn"):
        study.experiment("fig9", "Figure 9", horizn=20, **fields)


def test_a_factor_on_the_left_divides():
    """2 A < B is A < B/2; the reflected comparison of a number is that of the mean."""
    for tests, words in (
        (2.0 * mean("A") < mean("B"), "mean regret of A below 1/2 of that of B"),
        (2.0 * mean("A") > 6.0 * mean("B"), "mean regret of A above 3 times that of B"),
        (mean("A") > 0.5, "mean regret of A above 0.5"),
        (2.0 * time("A") > time("B"), "a trial of A takes more than 0.5 times as long as one of B"),
    ):
        assert declare_claim(tests).test == words
    claim = declare_claim(2.0 * mean("A") < mean("B"))
    assert [decision(claim, {"p": {"A": a, "B": 100.0}}) for a in (40.0, 60.0)] == ["holds", "does not hold"]
    claim = declare_claim(mean("A", of="loss") < mean("B"))  # the metric of the first is that of both
    assert claim.test == "mean loss of A below that of B"


@pytest.mark.parametrize(
    "compare",
    [
        lambda: mean("A", of="loss") < mean("B", of="regret"),
        lambda: mean("A") < mean("B", of="loss"),
        lambda: mean("A") < median("B"),
        lambda: 2.0 * mean("A") < 0.5,
        lambda: median("A") < 0.5,
        lambda: 2.0 * mean("A") / mean("B"),
        lambda: mean("A").close_to(2.0 * mean("B")),
        lambda: median("A") / median("B"),
        lambda: 2.0 * mean("A") - mean("B"),
        lambda: mean("A") - mean("A"),
        lambda: mean("A", of="loss") - mean("B", of="regret"),
        lambda: -1.0 * mean("A"),
        lambda: 2.0 * time("A") < 1.0,
        lambda: 0.5 < mean("A") < 1.0,
        lambda: mean("A") < mean("B") < mean("C"),
        lambda: mean("A") < mean("A", "B"),
        lambda: mean() < mean("B"),
        lambda: wins("A", "A") > 0.5,
        lambda: wins("A") > 0.5,
        lambda: mean("A").between(),
        lambda: mean("A") < time("B"),
        lambda: mean("A").close_to(mean("B"), within=1.0),
        lambda: log_growth("A", unit=0.0, what="its constant"),
        lambda: at_point({"ridge": 1.0}, {"ridge": 2.0}, factor=-1.0),
    ],
)
def test_comparisons_that_mean_nothing_are_refused_in_one_line(compare):
    with pytest.raises(InputError) as error:
        compare()
    assert "\n" not in str(error.value)
