"""Mistakes of a user in Python: one clear line each, before anything runs."""

import numpy as np
import pytest

from jaxbandits import OFUL, OFWTVC, HeavyTailed, HvtUCB, InputError, LinearLosses, noise, simulate

ENV = HeavyTailed(dim=2, n_arms=5)


@pytest.mark.parametrize(
    ("algorithm", "environment", "message"),
    [
        (HvtUCB(dim=2, horizon=100, eps=1.49), ENV, r"HvtUCB.eps must lie in \(0, 1\], got 1.49"),
        (HvtUCB(dim=2, horizon=100, eps=0.0), ENV, r"HvtUCB.eps must lie in \(0, 1\]"),
        (HvtUCB(dim=2, horizon=100, delta=0), ENV, r"HvtUCB.delta must lie in \(0, 1\), got 0"),
        (HvtUCB(dim=2, horizon=0), ENV, r"HvtUCB.horizon must lie in \[1, inf\)"),
        (HvtUCB(dim=2, horizon=100, ridge=-1.0), ENV, "HvtUCB.ridge must lie in"),
        (HvtUCB(dim=2.0, horizon=100), ENV, "HvtUCB.dim must be a whole number"),
        (OFUL(dim=3), ENV, "OFUL has dim=3, but the environment has dim=2"),
        (OFUL(dim=2), HeavyTailed(dim=2, n_arms=5, available=9), "available must lie in"),
        (OFUL(dim=2), HeavyTailed(dim=2, n_arms=5, noise=noise.StudentT(df=1.5), eps=0.99), "eps must lie below 0.5"),
        (OFUL(dim=2), HeavyTailed(dim=2, n_arms=3, arms=np.zeros(3)), "arms"),
        (OFUL(dim=2), LinearLosses(dim=2), "OFUL does not run on LinearLosses: AttributeError"),
    ],
)
def test_one_line_says_what_is_wrong_and_what_is_allowed(algorithm, environment, message):
    with pytest.raises(InputError, match=message) as error:
        simulate(algorithm, environment, 10, 2, progress=False)
    assert "\n" not in str(error.value)


def test_arms_of_the_wrong_shape():
    with pytest.raises(InputError, match=r"arms must .*\(K, d\)"):
        HeavyTailed.from_arms(np.ones(4), np.ones(4))
    with pytest.raises(InputError, match=r"theta"):
        HeavyTailed.from_arms(np.eye(3), np.ones(2))
    with pytest.warns(UserWarning, match="outside the unit ball"):
        HeavyTailed.from_arms(2.0 * np.eye(3), np.ones(3) / 3.0)


def test_an_algorithm_on_a_foreign_environment_is_refused_before_it_runs():
    with pytest.raises(InputError, match="con"):
        simulate(OFWTVC.theory(dim=2, horizon=10), LinearLosses(dim=2), 10, 2, progress=False)
