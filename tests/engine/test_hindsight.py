"""Comparators that need the whole run: computed on the host, once per instance."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import pytree
from jaxbandits.engine import program
from jaxbandits.simulation import Grid, compare, simulate
from tests.toy_problems import Hindsight, NanLearner, Shrink

QUIET = {"progress": False, "width": 32}


@pytest.fixture(autouse=True)
def _count_from_zero():
    Hindsight.called.clear()


def test_it_is_called_once_per_instance_and_not_per_learner():
    learners = {"a": Shrink(), "b": Shrink(rate=0.1), "many": Grid(Shrink(), {"rate": [0.2, 0.3, 0.4]})}
    result = compare(learners, Hindsight(), 12, 5, record_points=3, **QUIET)
    assert Hindsight.called == [1.0] * 5  # five seeds
    for label in learners:
        trials = result[label]
        np.testing.assert_allclose(trials.get("best_point"), trials.get("target") / trials.record_points)
        np.testing.assert_array_equal(trials.get("distance"), np.abs(trials.get("best_point")))
        np.testing.assert_array_equal(trials.get("best_point")[0], result.get("best_point", "a")[0])
    assert result["a"].metrics[:2] == ("distance", "loss")


def test_other_hyperparameters_or_horizons_are_other_instances():
    learners = {"a": Grid(Shrink(), {"environment.scale": [0.0, 2.0]}), "b": Shrink()}
    compare(learners, Hindsight(), {"a": 12, "b": 8}, 3, record_points=2, **QUIET)
    assert Hindsight.called == [0.0] * 3 + [2.0] * 3 + [1.0] * 3


def test_no_solver_is_asked_about_a_failed_trial():
    @pytree
    class FailsBelow(Hindsight):
        def step(self, key, t, state, obs, decision):
            state, feedback, outcome = Hindsight.step(self, key, t, state, obs, decision)
            return state, feedback, outcome._replace(target=jnp.where(state > 0, outcome.target, jnp.nan))

    trials = simulate(Shrink(), FailsBelow(), 5, 20, record_points=2, **QUIET)["Shrink"]
    lost = np.isnan(trials.final("target"))
    assert 0 < lost.sum() < 20 and len(Hindsight.called) == (~lost).sum()
    np.testing.assert_array_equal(np.isnan(trials.final("best_point")), lost)


def test_a_learner_that_is_lost_does_not_matter_to_the_comparator():
    trials = simulate(NanLearner(), Hindsight(), 5, 4, record_points=2, **QUIET)["NanLearner"]
    assert np.isfinite(trials.get("best_point")).all() and not trials.healthy.any()


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (3, "in_hindsight must return a dict from names to arrays, got int"),
        ({"loss": np.zeros(2)}, "in_hindsight returns a metric 'loss'"),
        (
            {"best": np.zeros(3)},
            r"in_hindsight must return arrays whose shape begins with \(1, 4, 2\), got \(1, 4, 3\) for 'best'",
        ),
    ],
)
def test_what_it_returns_is_checked(returned, message):
    @pytree
    class Wrong(Hindsight):
        def in_hindsight(self, recorded, record_points):
            return returned

    with pytest.raises(InputError, match=message):
        simulate(Shrink(), Wrong(), 5, 4, record_points=2, **QUIET)


@pytest.mark.parametrize("method", ["in_hindsight", "derive"])
def test_metrics_of_the_result_are_not_changed_by_a_method_that_reads_them(method):
    """A method that divides an array in place would otherwise change the metric that was measured."""

    def divide(self, values, record_points=1):
        values["target"] /= 2.0
        return {}

    changing = pytree(type("Changing", (Hindsight,), {method: divide}))
    with pytest.raises(InputError, match=f"^Shrink: {method} changes a read-only array, such"):
        simulate(Shrink(), changing(), 5, 4, record_points=2, **QUIET)

    def replace(self, values):
        values["target"] = 0.0 * values["target"]  # the dict is a copy
        return {"zero": values["target"]}

    replacing = pytree(type("Replacing", (Hindsight,), {"derive": replace}))
    trials = simulate(Shrink(), replacing(), 5, 4, record_points=2, **QUIET)["Shrink"]
    assert (trials.get("target") != 0.0).all() and (trials.get("zero") == 0.0).all()


@pytest.mark.parametrize("seeds", [3, 33])
def test_what_nobody_recorded_is_computed_again_for_all_instances(seeds, monkeypatch):
    """From what is recorded and the point's own fields, compiled once: more instances than one call takes, too."""
    traced, trace = [], program._trace_rebuild_instance
    monkeypatch.setattr(
        program, "_trace_rebuild_instance", lambda *args: (traced.append(args[2]["target"].shape), trace(*args))[1]
    )

    @pytree
    class Recalling(Hindsight):
        def rebuild_instance(self, recorded):
            return {"scaled": self.scale * recorded["target"]}

        def in_hindsight(self, recorded, record_points):
            assert recorded["scaled"].dtype == np.float64
            return {"recalled": recorded["scaled"], "of": np.full(len(record_points), float(self.scale))}

        def derive(self, values):
            return {}

    result = compare({"a": Grid(Shrink(), {"environment.scale": [0.5, 2.0]}), "b": Shrink()}, Recalling(), 6, seeds,
                     record_points=2, **QUIET)  # fmt: skip
    assert set(traced) == {(2,)}
    for label, scales in (("a", [0.5, 2.0]), ("b", [1.0])):
        trials = result[label]
        for h, scale in enumerate(scales):
            np.testing.assert_array_equal(trials.get("of")[h], scale)
            np.testing.assert_allclose(trials.get("recalled")[h], scale * trials.get("target")[h], rtol=1e-15)


def test_what_it_needs_must_be_recorded():
    @pytree
    class Needs(Hindsight):
        hindsight_needs = ("gradient",)

    with pytest.raises(InputError, match="in_hindsight needs the metrics gradient, which are not recorded"):
        simulate(Shrink(), Needs(), 5, 4, record_points=2, **QUIET)
