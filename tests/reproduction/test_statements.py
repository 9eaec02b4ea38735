"""Claims made from one statement: the sentence names what the statistic compares, and the claimed side of it."""

import math
from typing import Any

import numpy as np
import pytest

from jaxbandits.reproduction.engine.claim import Measured
from jaxbandits.reproduction.engine.statements import (
    at_point,
    difference,
    difference_of_metrics,
    equivalent,
    growth,
    growth_over_panels,
    higher,
    lower,
    mean_within,
    mostly_below,
    panel_ratio,
    rate,
    round_cost,
    slower,
    trial_time_ratio,
    wins,
)
from jaxbandits.reproduction.engine.study import Study
from jaxbandits.results.result import Result
from tests.reproduction.test_declared_claims import flat, told
from tests.results import made

SETTING: dict[str, Any] = {"says": "{second} loses", "place": "Figure 9"}


def test_a_claim_for_every_panel_and_rival_in_order():
    claims = lower("A", ("B", "C"), on={"left": "heavy tails", "right": "light tails"}, **SETTING)
    assert [claim.text for claim in claims] == [
        f"{rival} loses: mean regret of A below that of {rival} ({title})"
        for title in ("heavy tails", "light tails")
        for rival in "BC"
    ]
    assert {claim.source for claim in claims} == {"Figure 9"}


@pytest.mark.parametrize(
    ("builder", "factor", "words", "holds"),
    [
        (lower, 1.0, "below that of B", False),
        (lower, 3.0, "below 3 times that of B", True),
        (lower, 0.25, "below 1/4 of that of B", False),
        (higher, 1.0, "above that of B", True),
        (higher, 3.0, "above 3 times that of B", False),
    ],
)
@pytest.mark.parametrize("average", ["mean", "median"])
def test_the_sentence_and_the_verdict_are_of_the_same_comparison(builder, factor, words, holds, average):
    """A has twice the regret of B."""
    (claim,) = builder("A", "B", on="p", factor=factor, average=average, **SETTING)
    assert words in claim.text and f"{average} regret" in claim.text
    assert (claim.judge(told({"p": {"A": 200.0, "B": 100.0}})).decision == "holds") is holds


def test_equivalence_and_shares():
    (claim,) = equivalent("A", "B", on="p", says="A is comparable", place="Figure 9", within=2.0)
    assert "within 2 times either way (p)" in claim.text and (claim.low, claim.high) == (0.5, 2.0)
    (claim,) = mostly_below("A", "error_ratio", on="p", says="it covers", place="Lemma 1", share=0.98, trials=400)
    assert claim.text == "it covers; here: in over 98 % of trials (p)"
    assert (claim.low, claim.high, claim.trials) == (0.98, math.inf, 400)


def decision(claim, *measured):
    return claim.judge(told(*measured)).decision


def test_means_growth_and_ratios_over_panels():
    """A has 100, 200 and 400 where the abscissa is 1, 2 and 4; its mean does not grow in t."""
    levels = {"p1": {"A": 100.0}, "p2": {"A": 200.0}, "p4": {"A": 400.0}}
    (claim,) = mean_within("A", "regret", on="p2", low=190.0, high=210.0, **SETTING)
    assert "mean regret of A between 190 and 210 (p2)" in claim.text and decision(claim, levels) == "holds"
    (claim,) = mean_within("A", "regret", on="p4", high=210.0, **SETTING)
    assert "below 210 (p4)" in claim.text and decision(claim, levels) == "does not hold"
    for high, verdict in ((1.1, "holds"), (0.9, "does not hold")):
        claim = growth_over_panels("A", {"p1": 1.0, "p2": 2.0, "p4": 4.0}, "size", high=high, **SETTING)
        assert f"against size below {high:g}" in claim.text and decision(claim, levels) == verdict
    for low, verdict in ((3.9, "holds"), (4.1, "does not hold")):
        claim = panel_ratio("A", "p4", "p1", low=low, **SETTING)
        assert f"at p4 above {low:g} times that at p1" in claim.text and decision(claim, levels) == verdict
    (claim,) = growth("A", on="p1", high=0.5, **SETTING)
    assert "log-log slope of mean regret of A below 0.5 (p1)" in claim.text


def test_differences_of_learners_and_of_metrics():
    """A has 0.3 more than B; its metric `now` is 0.1 below its metric `then`."""
    measured = told({"p": {"A": 1.3, "B": 1.0}})
    for high, verdict in ((0.35, "holds"), (0.28, "does not hold")):
        (claim,) = difference("A", "B", on="p", low=0.25, high=high, **SETTING)
        assert claim.text == f"B loses: mean regret of A less that of B between 0.25 and {high:g} (p)"
        assert claim.judge(measured).decision == verdict
    values = {"now": np.full((1, 64, 1), 0.9), "then": np.full((1, 64, 1), 1.0)}
    measured = Measured({"p": Result({"A": made.trials(values)})}, {})
    for high, verdict in ((0.0, "holds"), (-0.2, "does not hold")):
        (claim,) = difference_of_metrics("A", "now", "then", on="p", high=high, says="A falls", place="Figure 9")
        assert claim.text == f"A falls: mean now of A less its then below {high:g} (p)"
        assert claim.judge(measured).decision == verdict


def test_wins_points_of_a_sweep_and_the_worst_of_several_panels():
    """A ends below B in 48 of 64 trials; the second point of the sweep has twice the regret of the first one."""
    first = np.where(np.arange(64) < 48, 1.0, 3.0)
    trials = {name: made.trials({"regret": x.reshape(1, 64, 1)}) for name, x in (("A", first), ("B", np.full(64, 2.0)))}
    measured = Measured({"p": Result(trials)}, {})
    for share, verdict in ((0.5, "holds"), (0.9, "does not hold")):
        (claim,) = wins("A", "B", on="p", share=share, **SETTING)
        assert claim.text == f"B loses: regret of A ends below that of B in over {100 * share:g} % of trials (p)"
        assert claim.judge(measured).decision == verdict
    values = np.stack([np.full((64, 1), 100.0), np.full((64, 1), 200.0)])
    swept = Measured({"p": Result({"A": made.trials({"regret": values}, [{"rate": 0.1}, {"rate": 0.4}])})}, {})
    for ends, words, verdict in (
        ({"below": 3.0}, "at rate = 0.4 below 3 times that at 0.1", "holds"),
        ({"below": 1.0}, "at rate = 0.4 below that at 0.1", "does not hold"),
        ({"above": 1.5}, "at rate = 0.4 above 1.5 times that at 0.1", "holds"),
    ):
        claim = at_point({"rate": 0.4}, {"rate": 0.1}, on="p", **ends, **SETTING)
        assert claim.text.endswith(f"mean regret {words}") and claim.judge(swept).decision == verdict
    levels = {"p1": {"A": 100.0}, "p2": {"A": 200.0}, "p4": {"A": 400.0}}
    claim = panel_ratio("A", {"the large": ("p2", "p4")}, {"the small": ("p1",)}, low=3.9, high=4.1, **SETTING)
    assert "largest mean regret of A at the large between 3.9 and 4.1 times that at the small" in claim.text
    assert decision(claim, levels) == "holds"
    values = {"now": np.full((1, 64, 1), 0.9), "then": np.full((1, 64, 1), 1.0)}
    measured = Measured({"p": Result({"A": made.trials(values)})}, {})
    (claim,) = difference_of_metrics("A", "now", "then", on="p", factor=0.5, high=0.0, **SETTING)
    assert "mean now of A less 1/2 of its then below 0 (p)" in claim.text
    assert claim.judge(measured).decision == "does not hold"


def test_rates_of_the_second_half():
    """The metric is flat for 500 rounds and grows by 2 a round for 500 more."""
    curve = np.maximum(0.0, 2.0 * (np.arange(10.0, 1001.0, 10.0) - 500.0))
    values = {"regret": np.broadcast_to(curve, (1, 64, 100))}
    measured = Measured({"p": Result({"A": made.trials(values)})}, {})
    for low, verdict in ((1.9, "holds"), (2.1, "does not hold")):
        (claim,) = rate("A", on="p", low=low, says="A does not learn", place="Figure 9")
        assert claim.text == f"A does not learn: mean regret a round in the last half (A) above {low:g} (p)"
        assert claim.judge(measured).decision == verdict


def test_times_of_trials_and_rounds():
    """A round of A takes 100 ns at p and 300 ns at q; one of B takes as many as it is late."""
    times = {"p": {"A": flat(100.0), "B": lambda t: 10.0 * t}, "q": {"A": flat(300.0)}}
    claims = {
        slower("B", "A", on="p", place="Table 1", says="{fast} is fast")[0]: "holds",
        slower("B", "A", on="p", place="Table 1", times=80.0)[0]: "does not hold",
        slower("B", "A", on="p", place="Table 1", at_most=20.0)[0]: "does not hold",
        trial_time_ratio("A", "q", "p", low=2.0, high=4.0, **SETTING): "holds",
        trial_time_ratio("A", "q", "p", high=2.0, **SETTING): "does not hold",
        round_cost("A", on="p", place="Table 1", grows=False): "holds",
        round_cost("A", on="p", place="Table 1", grows=True): "does not hold",
        round_cost("B", on="p", place="Table 1", grows=True): "holds",
    }
    for claim, verdict in claims.items():
        assert decision(claim, {}, times) == verdict, claim.text
    first, second, third, *_ = (claim.text for claim in claims)
    assert first == "A is fast: a trial of B takes longer than one of A (p)"
    assert "takes more than 80 times as long as one of A (p)" in second and "less than 20 times" in third


def test_an_experiment_has_the_fields_of_its_study_and_its_own_in_their_place():
    study = Study("linear", "Authors, 2025", horizon=10, seeds=4, presets={"only": "as is"}, notes=("of all",))
    fields = {"title": "t", "algorithms": lambda *_: {}, "panels": lambda horizon: {}}
    experiment = study.experiment("fig9", "Figure 9", horizon=20, notes=("of one",), **fields)
    assert (experiment.name, experiment.source) == ("linear/fig9", "Authors, 2025, Figure 9")
    assert (experiment.horizon, experiment.seeds, experiment.metric) == (20, 4, "regret")
    assert experiment.notes == ("of one", "of all")
    with pytest.raises(TypeError, match="horizn"):
        study.experiment("fig9", "Figure 9", horizn=20, **fields)
