"""Environments whose rewards Gymnasium would receive too early, or for arms that were not played, are not converted."""

import pytest

from jaxbandits import armed, data, operators
from jaxbandits.base.errors import InputError
from jaxbandits.bridges import to_func_env, to_gymnasium
from jaxbandits.bridges.feedback import check_immediate_feedback

COINS = armed.BernoulliArms.from_means([0.9, 0.5])
LATE = {
    "delayed": operators.with_delay(COINS, 1),
    "batched": operators.with_batches(COINS, 2),
    "random": operators.with_random_delay(COINS, operators.UniformDelay(), bound=3),
}


@pytest.mark.parametrize("name", LATE)
def test_late_feedback_is_refused(name):
    with pytest.raises(InputError, match=f"{type(LATE[name]).__name__} delays its feedback"):
        check_immediate_feedback(LATE[name])


def test_rounds_that_do_not_count_are_refused():
    with pytest.raises(InputError, match="LoggedReplay skips some rounds"):
        check_immediate_feedback(data.LoggedReplay.example())


def test_a_delay_of_no_round_is_accepted():
    check_immediate_feedback(COINS)
    check_immediate_feedback(operators.with_batches(operators.with_delay(COINS, 0), 1))


@pytest.mark.parametrize("convert", [to_gymnasium, to_func_env])
def test_both_conversions_check_it(convert):
    pytest.importorskip("gymnasium")
    with pytest.raises(InputError, match="delays its feedback"):
        convert(LATE["delayed"], 5)
