"""The width of a batch changes no bit of a trial, in float32."""

import pytest

from tests.width_invariance import assert_same_bits, cases

# One of each kind of program: counts, draws, scores of arms, small solves, experts, gradients, constraints.
QUICK = (
    "armed/ucb1", "armed/thompson_gaussian", "linear/oful", "oco/oons", "oco/msmwc", "oco/ogd", "coco/ofw_tvc",
    "coco/opdp",
)  # fmt: skip


@pytest.mark.parametrize(("name", "widths"), cases(QUICK))
def test_the_width_changes_no_bit(name, widths):
    assert_same_bits(name, widths)
