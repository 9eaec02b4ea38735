"""The best point: chosen on the first seeds, judged on the others."""

import numpy as np
import pytest

from jaxbandits.base.errors import InputError
from jaxbandits.results.result import Result
from tests.results import factories

POINTS = [{"rate": rate} for rate in (0.1, 0.2, 0.4)]


def _result(finals, **more):
    """`[H, S]` values at the horizon."""
    return Result({"a": factories.trials({"loss": np.asarray(finals)[..., None]}, POINTS, **more)})


def test_selection_and_evaluation_seeds_are_apart():
    finals = np.array([[1.0, 1.0, 9.0, 7.0], [3.0, 3.0, 0.0, 0.0], [5.0, 5.0, 1.0, 1.0]])
    best = _result(finals).best("loss")["a"]
    assert (best.point, best.index, best.value) == ({"rate": 0.1}, 0, 1.0)
    assert best.estimate.mean == 8.0 and best.estimate.n == 2  # not 4.5, and not the 1.0 it was chosen for
    best = _result(finals).best("loss", select=3)["a"]
    assert best.index == 1 and best.estimate.mean == 0.0 and best.estimate.n == 1
    assert _result(finals).best("loss", minimise=False)["a"].index == 2


def test_the_choice_of_pure_noise_is_not_believed(rng):
    """A thousand equal points: the selection value of the best is far below the truth, its estimate is not."""
    trials = factories.trials({"loss": rng.normal(size=(1000, 100, 1))}, [{"rate": float(i)} for i in range(1000)])
    best = Result({"a": trials}).best("loss")["a"]
    assert best.value < -0.3
    assert abs(best.estimate.mean) < 4.0 / np.sqrt(50)


def test_criteria():
    finals = np.array([[0.0, 0.0, 9.0, 1.0], [2.0, 2.0, 2.0, 1.0], [1.0, 1.0, 8.0, 1.0]])
    result = _result(finals)
    assert result.best("loss", select=3)["a"].index == 1
    assert result.best("loss", by="median", select=3)["a"].index == 0
    assert result.best("loss", by=lambda values: values.max(), select=3)["a"].index == 1
    assert result.best("loss", by=lambda values: np.quantile(values, 0.9), select=0.7)["a"].index == 1


def test_a_failed_trial_counts_as_infinitely_bad():
    finals = np.array([[0.0, np.nan, 0.0, 0.0], [3.0, 3.0, 3.0, np.inf], [5.0, 5.0, 5.0, 5.0]])
    for minimise, index in ((True, 1), (False, 2)):
        assert _result(finals).best("loss", minimise=minimise)["a"].index == index
    estimate = _result(finals).best("loss")["a"].estimate
    assert (estimate.mean, estimate.n, estimate.failed) == (3.0, 1, 1)
    lost = np.ones((3, 4), bool)
    lost[:, 0] = False
    with pytest.raises(InputError, match="every point of a has a trial that failed or has no value among its 2 sel"):
        _result(finals, healthy=lost).best("loss")
    with pytest.raises(InputError, match=r"`by` returned no finite number for any point of a$"):
        _result(finals).best("loss", by=lambda values: np.nan)


def test_vector_metrics_need_a_function():
    result = Result({"a": factories.trials({"risk": np.arange(24.0).reshape(1, 4, 2, 3)}, axes={"risk": ("group",)})})
    with pytest.raises(InputError, match=r"'risk' is a vector with axes \(group\)"):
        result.best("risk")
    best = result.best("risk", by=lambda values: values.max(axis=1).mean())["a"]
    assert best.value == (5.0 + 11.0) / 2 and best.estimate.mean.shape == (3,)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"by": "mode"}, "by must be 'mean', 'median', 'environment' or a function"),
        ({"by": 3}, "by must be"),
        ({"by": lambda values: values[:2]}, "must return one number"),
        ({"minimise": "no"}, "minimise must be True or False"),
        ({"select": 0}, "at least 1 must"),
        ({"select": 4}, "remain to evaluate it"),
        ({"select": 1.5}, "select must be a fraction"),
        ({"select": float("nan")}, "select must be a fraction"),
        ({"select": "half"}, "select must be a fraction"),
        ({"select": True}, "select must be a fraction"),
        ({"metric": "los"}, "did you mean 'loss'"),
    ],
)
def test_bad_criteria_are_one_clear_line(settings, message):
    with pytest.raises(InputError, match=message) as error:
        _result(np.ones((3, 4))).best(**settings)
    assert "\n" not in str(error.value)


def test_one_seed_cannot_both_choose_and_judge():
    with pytest.raises(InputError, match="a has 1 seed, of which"):
        _result(np.ones((3, 1))).best()


def test_the_easiest_environment_is_not_the_best_learner():
    points = [{"rate": 0.1, "environment.noise": noise} for noise in (1.0, 2.0)]
    trials = factories.trials({"loss": np.array([[0.0] * 4, [1.0] * 4])[..., None]}, points)
    with pytest.warns(
        UserWarning,
        match=r"a: points differ in environment\.noise, so the best point may have the easiest .*by='environ",
    ):
        Result({"a": trials}).best("loss")


def _swept_environment(**more):
    """Two rates on three noises, rate first; the better rate is 0.1, 0.2 and 0.1."""
    points = [{"rate": rate, "environment.noise": noise} for rate in (0.1, 0.2) for noise in (1.0, 2.0, 3.0)]
    finals = np.array(
        [[1.0, 1.0, 5.0], [8.0, 8.0, 8.0], [20.0, 20.0, 26.0], [2.0, 2.0, 2.0], [7.0, 7.0, 9.0], [21.0] * 3]
    )
    return factories.trials({"loss": finals[..., None]}, points, **more)


@pytest.mark.filterwarnings("error")
def test_the_best_point_in_each_environment():
    """The same as choosing in a result of that environment alone; no environment is compared with another."""
    result = Result({"a": _swept_environment(), "b": factories.trials({"loss": np.ones((2, 3, 1))}, POINTS[:2])})
    found = result.best("loss", by="environment", select=2)
    assert [row.point for row in found["a"]] == [
        {"rate": 0.1, "environment.noise": 1.0},
        {"rate": 0.2, "environment.noise": 2.0},
        {"rate": 0.1, "environment.noise": 3.0},
    ]
    assert [row.index for row in found["a"]] == [0, 4, 2]
    assert [float(row.estimate.mean) for row in found["a"]] == [5.0, 9.0, 26.0]
    assert [row.value for row in found["a"]] == [1.0, 7.0, 20.0]
    for noise, row in zip((1.0, 2.0, 3.0), found["a"], strict=True):
        alone = result.only({"a": {"environment.noise": noise}})
        one = Result({"a": alone["a"]})
        (other,) = one.best("loss", by="environment", select=2)["a"]
        assert other.point == row.point and other.value == row.value
    (only,) = found["b"]
    assert only.point == POINTS[0]
    largest = result.best("loss", by="environment", minimise=False, select=2)["a"]
    assert [row.index for row in largest] == [3, 1, 5]


def test_the_table_of_best_points_prints_itself():
    table = Result({"a": _swept_environment()}).best("loss", by="environment", select=2)["a"]
    head, _, *lines = repr(table).splitlines()
    assert " ".join(head.split()) == "rate environment.noise mean on selection seeds mean loss 95 %"
    assert [line.split()[:4] for line in lines] == [
        ["0.1", "1", "1", "5"],
        ["0.2", "2", "7", "9"],
        ["0.1", "3", "20", "26"],
    ]


def test_choosing_in_each_environment_names_the_environment_in_errors():
    healthy = np.ones((6, 3), bool)
    healthy[[1, 4], 0] = False
    result = Result({"a": _swept_environment(healthy=healthy)})
    with pytest.raises(InputError, match=r"every point of a \(environment.noise=2\) has a trial that failed"):
        result.best("loss", by="environment")
    vector = factories.trials({"risk": np.ones((6, 3, 1, 2))}, list(_swept_environment().points))
    with pytest.raises(InputError, match="'risk' is a vector"):
        Result({"a": vector}).best("risk", by="environment")
