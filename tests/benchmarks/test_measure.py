"""The speed benchmarks take the rounds between two lengths of a run."""

import pytest

from benchmarks.speed.measure import seconds_a_round


def test_the_fixed_cost_of_a_call_drops_out():
    calls = iter([9.0, 0.0, 0.0, 0.0, 7.0, 0.0])  # two of six runs are disturbed
    assert seconds_a_round(lambda rounds: 5.0 + 2.0 * rounds + next(calls), 10, 40) == pytest.approx(2.0)
