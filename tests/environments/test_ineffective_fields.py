"""Fields of environments that have no effect beside another field: other values than the default are refused."""

import numpy as np
import pytest

from jaxbandits import simulate, sweep
from jaxbandits.algorithms.linear.oful import OFUL
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import validate
from jaxbandits.coco import MatrixCompletion
from jaxbandits.combinatorial import CascadingClicks
from jaxbandits.duels import DuelingArms
from jaxbandits.linear import HeavyTailed

ARMS, THETA = np.eye(3, 2), np.array([0.6, 0.8])
MATRIX = DuelingArms.cyclic().preferences

CASES = {
    "arms": (lambda **more: HeavyTailed(dim=2, n_arms=3, arms=ARMS, **more), {"unit_arms": True}, "arms are given"),
    "theta": (lambda **more: HeavyTailed(dim=2, n_arms=3, theta=THETA, **more), {"theta_norm": 2.0}, "theta is given"),
    "duels": (lambda **more: DuelingArms(n_arms=4, preferences=MATRIX, **more), {"spread": 0.5}, "preferences are"),
    "clicks": (
        lambda **more: CascadingClicks(n_items=2, list_size=1, attraction=np.array([0.5, 0.2]), **more),
        {"prior_failure": 40.0},
        "attraction is given",
    ),
    "figure": (lambda **more: MatrixCompletion.stand_in(**more), {"allowance": 0.5}, 'constraint is "figure"'),
}


@pytest.mark.parametrize("name", CASES)
def test_a_field_without_effect_keeps_its_default(name):
    make, change, condition = CASES[name]
    validate(make())
    ((field, value),) = change.items()
    with pytest.raises(InputError, match=rf"\.{field} has no effect if {condition}.*: leave it at .*, got {value}"):
        validate(make(**change))


def test_a_field_with_effect_is_free():
    validate(HeavyTailed(dim=2, n_arms=3, unit_arms=True, theta=THETA))
    validate(HeavyTailed(dim=2, n_arms=3, theta_norm=2.0, arms=ARMS))
    validate(DuelingArms(n_arms=4, spread=0.5))
    validate(CascadingClicks(n_items=2, list_size=1, prior_failure=40.0))
    validate(MatrixCompletion.stand_in(constraint="budget", allowance=0.5))


def test_a_sweep_over_a_field_without_effect_is_refused():
    env = HeavyTailed(dim=2, n_arms=3, theta=THETA)
    with pytest.raises(InputError, match=r"HeavyTailed\.theta_norm has no effect if theta is given") as error:
        sweep(OFUL(dim=2), env, 5, 2, grid={"environment.theta_norm": [1.0, 2.0]}, progress=False)
    assert "\n" not in str(error.value)
    assert simulate(OFUL(dim=2), env, 5, 2, progress=False, width=1).final("regret").shape == (1, 2)
