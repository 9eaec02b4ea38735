"""Text tables of times and claims."""

import numpy as np

from jaxbandits.reproduction.engine.claim import Claim
from jaxbandits.reproduction.engine.verdict import Verdict
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


def test_a_sentence_is_a_line_and_its_rows_follow():
    """What nothing can be said of on this run is counted, by reason, and not listed."""

    def judge(id, says, n=64, decision="holds", **fields):
        claim = Claim(id, says, lambda measured: None, "Figure 1", high=0.0, test="mean below 0", where=id[-1])
        return Verdict(claim, decision, -1.0, -2.0, -0.5, n, p=0.01, **fields)

    text = tables.claims(
        [
            judge("one/a", "a wins"),
            judge("two/a", "b wins", decision="does not hold", marks=("b rebuilt",)),
            judge("one/b", "a wins"),
            judge("one/c", "a wins", n=4, decision="open"),
            judge("one/d", "a wins", decision="open", missing=True),
        ]
    )
    assert text.splitlines() == [
        "claims: 2 holds, 1 does not hold",
        "",
        "a wins [Figure 1]",
        "  HOLDS           mean below 0: a",
        "                  -1 in [-2, -0.5], claimed < 0",
        "  HOLDS           mean below 0: b",
        "                  -1 in [-2, -0.5], claimed < 0",
        "",
        "b wins [Figure 1; b rebuilt]",
        "  DOES NOT HOLD   mean below 0: a",
        "                  -1 in [-2, -0.5], claimed < 0",
        "",
        "1 row cannot be judged on this run: needs 50 seeds, has 4",
        "1 row cannot be judged on this run: not measured in this run",
    ]
    assert tables.claims([judge("one/a", "a wins", n=4, decision="open")]).startswith("claims: none can be judged")
