"""`log_to`: the same curves in three trackers, by their calls and with the packages where they are installed."""

import json

import numpy as np
import pytest

from jaxbandits import armed, compare
from jaxbandits.analysis import intervals
from jaxbandits.base.errors import InputError
from jaxbandits.bridges import log_to
from jaxbandits.results.result import Result
from jaxbandits.simulation import Grid, Meter
from tests.polling import wait_until
from tests.results import factories

W = 20


class WandbRun:
    def __init__(self):
        self.config, self.rows = {}, []

        class Config(dict):
            def update(self, facts, allow_val_change):
                super().update(facts)

        self.config = Config()

    def log(self, row, step):
        assert not self.rows or step > self.rows[-1][0]  # it drops earlier steps
        self.rows.append((step, row))


class Mlflow:
    def __init__(self):
        self.params, self.rows = {}, []

    def log_params(self, params):
        assert all(len(str(value)) <= 6000 for value in params.values())
        self.params = params

    def log_metrics(self, row, step):
        self.rows.append((step, row))


class Writer:
    def __init__(self):
        self.text, self.scalars = "", {}

    def add_text(self, tag, text):
        self.text = text

    def add_scalar(self, tag, value, step):
        self.scalars[tag, step] = value

    @property
    def rows(self):
        steps = sorted({step for _, step in self.scalars})
        return [(t, {tag: value for (tag, step), value in self.scalars.items() if step == t}) for t in steps]


@pytest.fixture(scope="module")
def result():
    coins = armed.BernoulliArms.from_means([0.9, 0.5])
    learners = {"greedy (10 %)": armed.UCB1(n_arms=2), "swept": Grid(armed.UCBV(n_arms=2), {"zeta": [0.1, 0.2]})}
    counts = Meter("count", lambda r: r.next_state.count, "last", axes=("arm",))
    points = {"greedy (10 %)": [2, 5, 9], "swept": [3, 9]}
    return compare(learners, coins, 9, W, record_points=points, meters=[counts], progress=False)


def compute_rows(result):
    rows = {}
    for label, trials in result.items():
        for h, point in enumerate(trials.points):
            for metric in trials.metrics:
                for k in range(2) if metric == "count" else [None]:
                    name = label.replace(" ", "_").replace("(", "_").replace(")", "_").replace("%", "_")
                    name += "".join(f"_zeta-{value}" for value in point.values())
                    name += f"/{metric}" + ("" if k is None else f"_arm-{k}")
                    values = trials[metric][h] if k is None else trials[metric][h, :, :, k]
                    estimate = intervals.t_interval(values)
                    for suffix, curve in (("", estimate.mean), ("/low", estimate.low), ("/high", estimate.high)):
                        for t, value in zip(trials.record_points, curve, strict=True):
                            rows.setdefault(int(t), {})[name + suffix] = value
    return sorted(rows.items())


@pytest.mark.parametrize("kind", [WandbRun, Mlflow, Writer])
def test_curves_and_facts(kind, result):
    run = kind()
    log_to(result, run)
    assert run.rows == compute_rows(result)
    assert [t for t, _ in run.rows] == [2, 3, 5, 9]
    facts = getattr(run, "config", None) or getattr(run, "params", None) or run.text
    assert "greedy__10___/algorithm" in facts and "swept/environment" in facts
    if kind is Mlflow:
        assert run.params["swept/seeds"] == W and run.params["swept/horizon"] == 9
        assert json.loads(run.params["swept/algorithm"])["type"] == "armed/ucb_v"


def test_some_metrics(result):
    run = Mlflow()
    log_to(result, run, metrics=["regret"], level=0.5)
    assert {name.split("/")[1] for _, row in run.rows for name in row} == {"regret"}
    with pytest.raises(InputError, match="unknown metric 'regrets'; did you mean 'regret'"):
        log_to(result, run, metrics=["regrets"])
    with pytest.raises(
        InputError, match="log_to needs a run of Weights & Biases, the module mlflow or a SummaryWriter"
    ):
        log_to(result, 3)


def test_curves_of_one_name_are_refused():
    learners = {"a b": armed.UCB1(n_arms=2), "a_b": armed.UCBV(n_arms=2)}
    two = compare(learners, armed.BernoulliArms.from_means([0.9, 0.5]), 3, W, progress=False)
    with pytest.raises(InputError, match="two curves have the name a_b/regret, one of the label 'a b' and"):
        log_to(two, Mlflow())
    learner = Grid(armed.UCBV(n_arms=2), {"zeta": [0.1, 0.1]})  # the same curve twice
    log_to(compare({"a": learner}, armed.BernoulliArms.from_means([0.9, 0.5]), 3, W, progress=False), Mlflow())


def test_values_that_are_none_are_left_out():
    one = compare([armed.UCB1(n_arms=2)], armed.BernoulliArms.from_means([0.9, 0.5]), 3, 1, progress=False)
    run = Mlflow()
    log_to(one, run)
    assert {name for _, row in run.rows for name in row} == {"UCB1/regret"}  # one seed has no interval
    assert np.isfinite([value for _, row in run.rows for value in row.values()]).all()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_mlflow(result, tmp_path):
    mlflow = pytest.importorskip("mlflow")
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/runs.db")
    with mlflow.start_run() as run:
        log_to(result, mlflow, metrics=["regret"])
    client = mlflow.MlflowClient()
    history = client.get_metric_history(run.info.run_id, "swept_zeta-0.1/regret")
    assert [entry.step for entry in history] == [3, 9]
    assert client.get_run(run.info.run_id).data.params["swept/seeds"] == str(W)


def test_wandb(result, tmp_path):
    wandb = pytest.importorskip("wandb")
    with wandb.init(mode="offline", project="tests", dir=tmp_path, settings=wandb.Settings(silent=True)) as run:
        log_to(result, run, metrics=["regret"])
        assert run.config["swept/seeds"] == W
    (file,) = tmp_path.rglob("*.wandb")
    wait_until(lambda: b"swept_zeta-0.1/regret/high" in file.read_bytes())  # a process of its own writes


def test_tensorboard(result, tmp_path):
    writers = pytest.importorskip("tensorboardX")
    with writers.SummaryWriter(str(tmp_path)) as writer:
        log_to(result, writer, metrics=["regret"])
    (file,) = tmp_path.iterdir()
    assert b"swept_zeta-0.2/regret" in file.read_bytes()


def test_curves_are_means_of_the_trials_that_have_a_value():
    values = np.array([[[np.nan, 0.5], [np.nan, 0.25], [1.0, 0.75]]])
    run = Mlflow()
    log_to(Result({"a": factories.trials({"mean_reward": values}, may_be_missing=("mean_reward",))}), run)
    low, high = intervals.metric_interval(values[0, :, 1])[1:3]
    assert run.rows[0] == (10, {"a/mean_reward": 1.0})  # one value has no interval
    assert run.rows[1] == (20, {"a/mean_reward": 0.5, "a/mean_reward/low": low, "a/mean_reward/high": high})
