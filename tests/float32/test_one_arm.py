"""All rounds with one arm: widths and estimates in float32 beside float64 (`benchmarks.one_arm`)."""

import pytest

from benchmarks.one_arm import CASES, DRIFTING, MILLION, deviations

pytestmark = pytest.mark.float32


def agree(name, rounds, rng):
    off = deviations(CASES[name], rounds, rng)
    assert off.least > 0.0
    assert off.width < 1e-4
    assert off.estimate < 1e-3 or not CASES[name].estimate


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_one_arm_for_as_long_as_it_can_be(name, rng):
    """Widths within 1e-4 and estimates within 1e-3, relative, at each of 100 records; no negative variance ever."""
    agree(name, CASES[name].rounds, rng)


@pytest.mark.quick_cases("ECOLog", "TOFU")
@pytest.mark.parametrize("name", CASES)
def test_one_arm_for_a_short_while(name, rng):
    """The same over 2000 rounds."""
    agree(name, 2000, rng)


@pytest.mark.slow
@pytest.mark.parametrize("name", DRIFTING)
def test_what_no_reward_shows_drifts(name, rng):
    """Weights 10^9 times the ridge and more: width and x'theta are still right, theta across the arm is rounding."""
    off = deviations(DRIFTING[name], MILLION, rng)
    assert off.least > 0.0
    assert off.width < 1e-4
    assert off.along < 1e-4
    assert {"OFUL, ridge = 0.001": 0.01, "Hvt-UCB, nu = 0": 0.1}[name] < off.estimate < 2.0
