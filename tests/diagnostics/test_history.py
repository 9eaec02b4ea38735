"""The history of trials: equal to what the stepped trial shows, round by round."""

import numpy as np
import pytest

from jaxbandits import armed, linear, simulate, step_through
from jaxbandits.base.errors import InputError
from jaxbandits.diagnostics.history import history
from jaxbandits.oco import OGD, QuadraticLosses


def test_history_of_a_bandit():
    pair = armed.UCB1(n_arms=3), armed.BernoulliArms.from_means([0.9, 0.6, 0.3])
    result = simulate(*pair, 12, 5, record_points=12, meters=history(), progress=False)
    trial = step_through(*pair, trial=4)
    for t in range(12):
        trial.step()
        assert result["arm"][0, 4, t] == trial.decision.index
        np.testing.assert_allclose(result["received"][0, 4, t], trial.feedback.reward, rtol=1e-12)
    assert len(np.unique(result["arm"])) == 3


def test_history_of_features_and_points():
    pair = linear.OFUL(dim=2), linear.HeavyTailed(dim=2, n_arms=5)
    result = simulate(*pair, 4, 3, record_points=4, meters=history("features"), progress=False)
    assert result["features"].shape == (1, 3, 4, 2)
    result = simulate(OGD(dim=2), QuadraticLosses(dim=2), 4, 3, record_points=4, progress=False,
                      meters=history("played_point", "observed_loss"))  # fmt: skip
    assert result["played_point"].shape == (1, 3, 4, 2)
    loss = np.diff(result["loss"][0], prepend=0.0, axis=1)
    np.testing.assert_allclose(result["observed_loss"][0, ..., 0], loss, rtol=1e-9)


def test_unknown_parts_are_refused():
    with pytest.raises(InputError, match="unknown part of a round 'arms'; did you mean 'arm'"):
        history("arms")


@pytest.mark.parametrize(("name", "decision"), [("arm", "index"), ("probability", "probability"), ("features", "x")])
def test_a_part_that_a_decision_lacks_is_named(name, decision):
    """The decision is a tuple, whose method `index` is no arm."""
    with pytest.raises(InputError, match=f"no '{name}' of OGD, whose decision .PointDecision. has no {decision}"):
        simulate(OGD(dim=2), QuadraticLosses(dim=2), 4, 3, meters=history(name), progress=False)
