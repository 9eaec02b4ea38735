"""Text tables of times and claims."""

import math

import numpy as np

from jaxbandits.reproduction.engine.claim import Claim, Verdict
from jaxbandits.reproduction.ledger import tables
from jaxbandits.simulation import RoundTimes


def test_times_are_multiples_of_the_learner_asked_for():
    stops = np.asarray([2_000, 8_000])
    ns = {"new": np.full((3, 2), 50.0), "old": np.full((3, 2), 400.0), "lost": np.full((3, 2), -1.0)}
    measured = RoundTimes(1, stops, ns, {"new": 36, "old": 1_024, "lost": 8})
    rows = {line.split("  ")[0]: line.split() for line in tables.times(measured, "new").splitlines()[3:]}
    assert rows["old"] == ["old", "400", "400", "8.0x", "8.0x", "1,024"]
    assert rows["lost"] == ["lost", "~0", "~0", "-", "-", "8"]  # shorter than the cost of the call varies
    assert "a multiple of new's" in tables.times(measured, "new")
    fastest = RoundTimes(1, stops, {name: ns[name] for name in ("new", "old")}, measured.state_bytes)
    for unit in ("", "left out"):
        assert "a multiple of the fastest" in tables.times(fastest, unit)
        assert "8.0x" in tables.times(fastest, unit)


def test_claims_without_enough_seeds_are_a_line_each_under_one_reason():
    def judged(text, n, low=-math.inf, high=0.0, value=-1.0):
        claim = Claim(text, "Figure 1", lambda measured: None, low, high)
        verdict = "holds" if n >= 50 else "not decided"
        return Verdict(claim, verdict, value, value - 1.0, value + 0.5, n, 0, True, p=0.01)

    text = tables.ledger([judged("one", 4), judged("two", 64), judged("three", 4, 1.0, 3.0, 2.0), judged("four", 9)])
    assert text.splitlines() == [
        "HOLDS          two [Figure 1]",
        "               -1 in [-2, -0.5], claimed < 0",
        "NOT DECIDED, 2 claims: needs 50 seeds, has 4; so far (claimed):",
        "  -1 [-2, -0.5] (< 0)  one [Figure 1]",
        "  2 [1, 2.5] (1 to 3)  three [Figure 1]",
        "NOT DECIDED, 1 claim: needs 50 seeds, has 9; so far (claimed):",
        "  -1 [-2, -0.5] (< 0)  four [Figure 1]",
    ]
    nothing = Verdict(judged("five", 64).claim, "not decided", math.nan, -math.inf, math.inf, 50, 0, True, missing=True)
    assert tables.ledger([nothing]).splitlines() == [
        "NOT DECIDED, 1 claim: not measured in this run", "  five [Figure 1]",
    ]  # fmt: skip
