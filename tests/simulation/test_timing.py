"""Time per round, stretch by stretch."""

import numpy as np
import pytest

from jaxbandits.base.errors import InputError
from jaxbandits.simulation import Grid, time_rounds
from tests.toy_problems import Noisy, Shrink, Slow


def test_time_per_round_is_measured_for_every_stretch():
    learners = {"a": Shrink(), "b": Shrink(rate=0.1)}
    times = time_rounds(learners, Noisy(), 1000, repeats=3, stretches=5, progress=False)
    np.testing.assert_array_equal(times.stretch_ends, [200, 400, 600, 800, 1000])
    for ns in times.ns.values():
        assert ns.shape == (3, 5) and (np.abs(ns) < 1e6).all()  # noise may pass zero
    np.testing.assert_allclose(times.at("a", 100), times.ns["a"][:, 0])
    np.testing.assert_allclose(times.at("a", 200), times.ns["a"][:, :2].mean(axis=1))
    assert times.width == 1 and times.state_bytes == {"a": 8, "b": 8}


@pytest.mark.slow
def test_more_work_takes_more_time():
    learners = {"little": Slow(work=100), "much": Slow(work=1000)}
    times = time_rounds(learners, Noisy(), 400, width=32, repeats=5, stretches=2, progress=False)
    ratio = np.median(times.ns["much"]) / np.median(times.ns["little"])
    assert 3.0 < ratio < 30.0


def test_patience_ends_after_three_turns():
    times = time_rounds({"a": Slow(work=1000)}, Noisy(), 50, repeats=30, patience=1e-9, stretches=2, progress=False)
    assert times.ns["a"].shape == (3, 2)


@pytest.mark.parametrize("horizon", [1, 2, 3])
def test_short_horizons_are_timed_too(horizon):
    times = time_rounds({"a": Shrink()}, Noisy(), horizon, repeats=2, progress=False)
    assert times.stretch_ends[-1] == horizon and np.isfinite(times.ns["a"]).all()


def test_a_grid_is_timed_at_one_point_only():
    times = time_rounds({"a": Grid(Shrink(), {"rate": [0.1]})}, Noisy(), 4, repeats=1, progress=False)
    assert list(times.ns) == ["a"]
    with pytest.raises(InputError, match="single algorithms, a is a Grid of 2 points"):
        time_rounds({"a": Grid(Shrink(), {"rate": [0.1, 0.2]})}, Noisy(), 4, progress=False)


@pytest.mark.parametrize("change", [{"patience": float("nan")}, {"patience": 0}, {"repeats": 0}, {"width": 3},
                                    {"stretches": 1.5}, {"progress": "yes"}])  # fmt: skip
def test_wrong_settings_are_named(change):
    with pytest.raises(InputError, match=next(iter(change))):
        time_rounds({"a": Shrink()}, Noisy(), 10, **change)
