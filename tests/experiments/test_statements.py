"""Claims made from one statement: the sentence names what the statistic compares, and the claimed side of it."""

import math
from typing import Any

import pytest

from jaxbandits.experiments.engine.statements import equivalent, higher, lower, mostly_below
from jaxbandits.experiments.engine.study import Study
from tests.experiments.test_declared_claims import told

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


def test_an_experiment_has_the_fields_of_its_study_and_its_own_in_their_place():
    study = Study("linear", "Authors, 2025", horizon=10, seeds=4, presets={"only": "as is"}, notes=("of all",))
    fields = {"title": "t", "algorithms": lambda *_: {}, "panels": lambda horizon: {}}
    experiment = study.experiment("fig9", "Figure 9", horizon=20, notes=("of one",), **fields)
    assert (experiment.name, experiment.source) == ("linear/fig9", "Authors, 2025, Figure 9")
    assert (experiment.horizon, experiment.seeds, experiment.metric) == (20, 4, "regret")
    assert experiment.notes == ("of one", "of all")
    with pytest.raises(TypeError, match="horizn"):
        study.experiment("fig9", "Figure 9", horizn=20, **fields)
