"""What a word of a paper means as a number."""

import pytest

from jaxbandits.analysis.intervals import share_interval
from jaxbandits.reproduction.engine.thresholds import share_for_all


@pytest.mark.parametrize(
    ("trials", "share"), [(36, 0.9), (50, 0.9), (182, 0.9), (183, 0.98), (400, 0.99), (1000, 0.99)]
)
def test_always_is_the_most_that_so_many_trials_show(trials, share):
    assert share_for_all(trials) == share
    assert share < share_interval(trials, trials).low
    assert all(larger > share_interval(trials, trials).low for larger in (0.9, 0.98, 0.99) if larger > share)


def test_fewer_trials_do_not_show_it():
    assert share_interval(35, 35).low < 0.9
    with pytest.raises(ValueError, match="empty"):
        share_for_all(35)
