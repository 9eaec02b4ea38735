"""A NaN of a metric that may be missing is no failure: left out where it stands, counted apart, kept in files."""

import dataclasses

import matplotlib as mpl
import numpy as np
import pytest

from jaxbandits.analysis.trials import Trials
from jaxbandits.bridges import tracking
from jaxbandits.environments.linear.noise import Gaussian
from jaxbandits.operators import with_noise
from jaxbandits.results.result import Result
from tests.results import factories

NAN = np.nan
CURVES = np.array([[[NAN, 0.5, 0.75], [NAN, NAN, 0.25], [1.0, 1.0, 0.5], [NAN, NAN, NAN]]])  # [H, S, M]


def trials(**changes):
    made = Trials(
        values={"mean_reward": CURVES},
        points=({},),
        seeds=np.arange(4),
        record_points=np.array([1, 2, 3]),
        healthy=np.ones((1, 4), bool),
        inadmissible=np.zeros((1, 4), int),
        may_be_missing=("mean_reward",),
    )
    return dataclasses.replace(made, **changes)


def test_missing_is_not_failed():
    made = trials()
    assert not made.failures().any() and made.usable().tolist() == [[True, True, True, False]]
    assert trials(may_be_missing=()).failures().tolist() == [[True, True, False, True]]
    assert trials(healthy=np.array([[True, False, True, True]])).failures().tolist() == [[False, True, False, False]]
    infinite = CURVES.copy()
    infinite[0, 2, 1] = np.inf
    assert trials(values={"mean_reward": infinite}).failures().tolist() == [[False, False, True, False]]
    assert made.at_horizon().healthy.all()


def test_a_summary_leaves_them_out_and_says_so():
    result = Result({"replay": trials()}, {})
    with pytest.warns(UserWarning) as told:
        (row,) = result.summary("mean_reward")
    assert (row.mean, row.trials, row.failed) == (0.5, 3, 0)
    assert any("replay: 1 of 4 trials have no value of 'mean_reward'" in str(w.message) for w in told)


def test_the_round_of_the_first_failure_is_not_that_of_a_missing_value():
    infinite = CURVES.copy()
    infinite[0, 2, 1] = np.inf
    with pytest.warns(UserWarning) as told:
        Result({"replay": trials(values={"mean_reward": infinite})}, {}).summary("mean_reward")
    assert "1 of 4 trials have NaN or infinite values, the first of them by round 2;" in str(told[0].message)


def test_curves_are_means_of_the_trials_that_have_a_value():
    mpl.use("Agg")
    result = Result({"replay": trials()}, {})
    with np.errstate(all="raise"):
        for band, expected in (("mean", [1.0, 0.75, 0.5]), ("quantile", [1.0, 0.75, 0.5])):
            line = result.plot("mean_reward", band=band).lines[0]
            np.testing.assert_allclose(line.get_ydata(), expected)
            assert "failed" not in line.get_label()


def test_an_abscissa_is_the_mean_of_the_same_trials():
    """Otherwise the curve begins where no trial is missing."""
    mpl.use("Agg")
    cost = np.array([[[1.0, 2.0, 3.0], [3.0, 4.0, 5.0], [NAN, 6.0, 7.0], [0.0, 0.0, 0.0]]])
    made = trials(values={"mean_reward": CURVES, "cost": cost}, may_be_missing=("mean_reward", "cost"))
    with np.errstate(all="raise"):
        line = Result({"replay": made}, {}).plot("mean_reward", x="cost").lines[0]
    np.testing.assert_allclose(line.get_xdata(), [NAN, 4.0, 5.0])  # no trial has both in round 1
    np.testing.assert_allclose(line.get_ydata(), [NAN, 0.75, 0.5])


def test_a_file_keeps_which_metrics_may_be_missing(tmp_path):
    path = Result({"replay": trials()}, {}).save(tmp_path / "result.npz")
    loaded = Result.load(path)["replay"]
    assert loaded.may_be_missing == ("mean_reward",) and not loaded.failures().any()
    np.testing.assert_array_equal(loaded["mean_reward"], CURVES)


@pytest.mark.filterwarnings("ignore:only 3 seeds")
@pytest.mark.parametrize("shape", [(1, 3, 2), (1, 3, 2, 2)])
def test_a_failed_trial_with_finite_values_is_left_out(shape):
    """Its state held a NaN: of a scalar as of every entry of a vector, in the summary and in a curve."""
    values = np.where(np.arange(3) == 1, 100.0, 1.0).reshape(1, 3, *[1] * (len(shape) - 2)) * np.ones(shape)
    axes = {"loss": ("arm",)} if len(shape) == 4 else {}
    made = factories.trials({"loss": values}, healthy=np.array([[True, False, True]]), axes=axes)
    with pytest.warns(UserWarning, match="1 of 3 trials have NaN"):
        rows = Result({"a": made}).summary("loss")
    assert [(row.mean, row.trials, row.failed) for row in rows] == [(1.0, 2, 1)] * len(rows)
    (line, *_) = Result({"a": made}).plot("loss").lines
    np.testing.assert_array_equal(line.get_ydata(), 1.0)


def test_a_file_keeps_which_metrics_are_indicators(tmp_path):
    made = trials(values={"correct": np.ones_like(CURVES)}, may_be_missing=(), indicators=("correct",))
    assert Result.load(Result({"a": made}, {}).save(tmp_path / "result.npz"))["a"].indicators == ("correct",)


def test_operators_pass_it_on():
    from jaxbandits.data import LoggedReplay

    assert with_noise(LoggedReplay.example(), Gaussian()).may_be_missing == ("mean_reward",)


def test_an_entry_without_a_value_does_not_hide_the_others():
    """The mean reward of every arm: trials in which every arm was played are not a random choice of trials."""
    mpl.use("Agg")
    per_arm = np.array([[[[1.0, 5.0]], [[2.0, NAN]], [[3.0, NAN]], [[NAN, NAN]]]])  # [H, S, M, K]
    made = trials(values={"arm_mean": per_arm}, record_points=np.array([3]), axes={"arm_mean": ("arm",)})
    made = dataclasses.replace(made, may_be_missing=("arm_mean",))
    result = Result({"a": made}, {})
    with pytest.warns(UserWarning) as told:
        rows = result.summary("arm_mean")
    assert "a: 3 of 4 trials have no value of some entries of 'arm_mean'" in str(told[0].message)
    assert [(row.mean, row.trials) for row in rows] == [(2.0, 3), (5.0, 1)]
    assert [line.get_ydata().tolist() for line in result.plot("arm_mean").lines] == [[2.0], [5.0]]
    assert result.plot("arm_mean", x="arm_mean", arm=0).lines[0].get_xdata().tolist() == [2.0]
    rows = tracking._rows(result, None, 0.95)
    assert (rows[3]["a/arm_mean_arm-0"], rows[3]["a/arm_mean_arm-1"]) == (2.0, 5.0)
