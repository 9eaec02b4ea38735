"""`tune`: the means and standard errors that a study is told, with a study of the test's own and with Optuna."""

import types

import numpy as np
import pytest

from jaxbandits import Grid, armed, simulate
from jaxbandits.base.errors import InputError
from jaxbandits.bridges import tune
from jaxbandits.simulation import Meter
from tests.toy_problems import Noisy, Shrink

T, W = 20, 30
OVERFLOW = 1.7e308  # a first play whose losses have an infinite sum
QUIET = {"progress": False}


class HalvingStudy:
    """A study with the interface of Optuna: uniform rates, then rates around the best one."""

    def __init__(self, direction="MINIMIZE"):
        self.direction = types.SimpleNamespace(name=direction) if direction.isupper() else direction
        self.trials, self.values, self.rng = [], {}, np.random.default_rng(0)

    def ask(self):
        trial = HalvingTrial(self, len(self.trials))
        self.trials.append(trial)
        return trial

    def tell(self, trial, values):
        assert trial.number not in self.values
        self.values[trial.number] = values

    @property
    def best(self):
        return self.trials[min(self.values, key=self.values.__getitem__)]


class HalvingTrial:
    def __init__(self, study, number):
        self.study, self.number, self.params, self.user_attrs = study, number, {}, {}

    def suggest_float(self, name, low, high, *, log=False):
        start = self.study.best.params[name] if self.study.values else None
        value = self.study.rng.uniform(low, high) if start is None else start * self.study.rng.uniform(0.8, 1.2)
        self.params[name] = float(np.clip(value, low, high))
        return self.params[name]

    def set_user_attr(self, key, value):
        self.user_attrs[key] = value


def suggest(trial):
    return {"rate": trial.suggest_float("rate", 0.05, 0.9, log=True)}


def test_a_study_is_told_the_means_on_the_same_seeds():
    study = HalvingStudy()
    environment = Noisy(scale=0.5)
    found = tune(
        Shrink(), environment, T, W, study=study, suggest=suggest, n_points=4, n_batches=2, metric="loss", **QUIET
    )
    assert len(found) == len(study.trials) == len(study.values) == 8
    points = [trial.params for trial in study.trials]
    assert [entry.point for entry in found] == points
    simulated = simulate(Grid(Shrink(), points), environment, T, W, **QUIET).final("loss")
    np.testing.assert_allclose([study.values[i] for i in range(8)], simulated.mean(axis=1), rtol=1e-13)
    errors = simulated.std(axis=1, ddof=1) / np.sqrt(W)
    np.testing.assert_allclose([trial.user_attrs["standard_error"] for trial in study.trials], errors, rtol=1e-10)
    assert {trial.user_attrs["seeds"] for trial in study.trials} == {W}
    first, second = ([entry.mean for entry in found[k : k + 4]] for k in (0, 4))
    assert min(second) < min(first)  # the second batch is asked for after the first was told


@pytest.mark.parametrize(("direction", "worst"), [("MINIMIZE", np.inf), ("MAXIMIZE", -np.inf), ("maximize", -np.inf)])
def test_a_point_with_failed_trials_has_the_worst_value(direction, worst):
    study = HalvingStudy(direction)
    rates = iter([0.5, OVERFLOW])

    def suggest_start(trial):
        return {"start": next(rates)}

    found = tune(
        Shrink(), Noisy(), T, W, study=study, suggest=suggest_start, n_points=2, n_batches=1, metric="loss", **QUIET
    )
    assert np.isfinite(found[0].mean) and found[1].mean == study.values[1] == worst
    assert np.isnan(study.trials[1].user_attrs["standard_error"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"study": 3}, r"study needs ask\(\) and tell\(trial, value\), like a study of Optuna; got 3"),
        ({"suggest": {"rate": 0.5}}, "suggest must be a function from a trial to a point"),
        ({"suggest": lambda trial: 0.5}, "suggest must return a point, a mapping from fields to values, got 0.5"),
        ({"suggest": lambda trial: {"rat": 0.5}}, "has no field 'rat'"),
        ({"n_points": 0}, "n_points must be"),
        ({"n_batches": 0}, "n_batches must be"),
        ({"metric": "los"}, "unknown metric 'los'"),
        ({"checkpoint": "here"}, "tune does not accept `checkpoint`"),
    ],
)
def test_wrong_arguments(changes, message):
    settings = {"study": HalvingStudy(), "suggest": suggest, "n_points": 1, "n_batches": 1, **QUIET}
    with pytest.raises(InputError, match=message):
        tune(Shrink(), Noisy(), T, 2, **settings | changes)


def test_a_metric_must_be_a_number():
    plays = Meter("plays", lambda r: r.next_state.count, "last", axes=("arm",))
    with pytest.raises(InputError, match=r"metric 'plays' of UCBV is a vector with axes \(arm\)"):
        tune(
            armed.UCBV(n_arms=2), armed.BernoulliArms.from_means([0.9, 0.5]), T, 2, study=HalvingStudy(), n_points=1,
            suggest=lambda trial: {"zeta": 0.5}, metric="plays", meters=[plays], **QUIET,
        )  # fmt: skip


def test_a_study_of_optuna():
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    found = tune(Shrink(), Noisy(scale=0.5), T, W, study=study, suggest=suggest, n_points=5, n_batches=2, **QUIET)
    assert [trial.params for trial in study.trials] == [entry.point for entry in found]
    assert [trial.value for trial in study.trials] == [entry.mean for entry in found]
    assert [trial.user_attrs["standard_error"] for trial in study.trials] == [entry.standard_error for entry in found]
    assert all(trial.state.name == "COMPLETE" for trial in study.trials)
    assert study.best_value == min(entry.mean for entry in found)
    study = optuna.create_study()
    (failed,) = tune(
        Shrink(),
        Noisy(),
        T,
        W,
        study=study,
        suggest=lambda trial: {"start": OVERFLOW},
        n_points=1,
        n_batches=1,
        **QUIET,
    )
    assert failed.mean == study.trials[0].value == np.inf
