"""Text tables of times."""

import numpy as np

from jaxbandits.report import tables
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
