"""The width of a batch changes no bit of a trial, in float64."""

import pytest

from tests.width_invariance import assert_same_bits, cases


@pytest.mark.parametrize(("name", "widths"), cases(["armed/ucb1", "oco/oons"]))
def test_the_width_changes_no_bit(name, widths):
    assert_same_bits(name, widths)
