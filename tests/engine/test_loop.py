"""Streams, blocks and calls: draws of a round and values of a record point, however the rounds are cut."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms.armed.ucb1 import UCB1
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import pytree
from jaxbandits.engine import driver
from jaxbandits.engine.loop import end_of_stretch
from jaxbandits.environments.armed.bernoulli_arms import BernoulliArms
from jaxbandits.programs.compilation import RateEstimator
from jaxbandits.simulation import Meter, compare, simulate
from jaxbandits.types import ArmDecision
from tests.toy_problems import CONSUMERS, Draws, DrawsEnvironment, Noisy, Shrink, Vectors, draws_of

QUIET = {"progress": False, "width": 32}
TABLE = np.arange(12.0).reshape(4, 3)


@pytest.mark.slow
def test_every_consumer_of_randomness_has_a_stream_of_its_own_and_every_round_new_draws():
    meter = Meter("draws", draws_of, "last", axes=("consumer",))
    run = compare(
        {"a": Draws(), "b": Draws(unused=1.0)}, DrawsEnvironment(), 9, 40, record_points=9, meters=[meter], **QUIET
    )
    draws = run.get("draws", "a")[0]  # [seed, round, consumer]
    assert draws.shape == (40, 9, len(CONSUMERS))
    per_trial, per_round = draws[:, 0, [0, 3]], draws[:, :, [1, 2, 4, 5]]
    np.testing.assert_array_equal(draws[:, :, [0, 3]], np.broadcast_to(per_trial[:, None], (40, 9, 2)))
    everything = np.concatenate([per_trial.ravel(), per_round.ravel()])
    assert len(np.unique(everything)) == everything.size  # 53 bits: equal draws are one draw
    # Another algorithm meets the same environment, and its own streams depend on the seed alone.
    np.testing.assert_array_equal(draws, run.get("draws", "b")[0])


def test_all_algorithms_meet_the_same_instances_and_noise():
    result = compare({"a": Shrink(rate=0.5), "b": Shrink(rate=0.1)}, Noisy(scale=1.0), 20, 400, **QUIET)
    noise = {
        name: result.final("loss", name)[0] - sum((1.0 - rate) ** k for k in range(20))
        for name, rate in (("a", 0.5), ("b", 0.1))
    }
    np.testing.assert_allclose(noise["a"], noise["b"], rtol=1e-12, atol=1e-12)
    assert len(np.unique(noise["a"])) == 400
    # 20 rounds of independent unit noise; 400 trials tell their deviation to 1 / sqrt(800).
    assert abs(noise["a"].std() / np.sqrt(20.0) - 1.0) < 5.0 / np.sqrt(800.0)


@pytest.mark.slow
@pytest.mark.parametrize("width", [1, 32])
def test_results_do_not_depend_on_how_rounds_are_cut_into_calls(monkeypatch, width):
    meters = [Meter("largest", lambda r: r.feedback.reward, "max"), Meter("newest_round", lambda r: r.t, "last")]
    settings = {"progress": False, "width": width, "meters": meters, "record_points": [1, 2, 7, 8, 30, 41]}

    def run(**more):
        environment = {"scalars": Noisy(scale=1.0), "vectors": Vectors(table=TABLE, limit=0.5)}
        return compare(dict.fromkeys(environment, Shrink(rate=0.01)), environment, 41, 3, **settings, **more)

    whole = run(seconds_per_call=100.0)
    one_by_one = run(seconds_per_call=1e-9, workers=1)
    monkeypatch.setattr(RateEstimator, "rounds_in", lambda self, seconds, previous: 5)
    fives = run()
    monkeypatch.setattr(driver, "_RECORD_CAPACITIES", (2,))  # no room for more than two record points a call
    small_capacity = run()
    for other in (one_by_one, fives, small_capacity):
        for label in whole:
            np.testing.assert_array_equal(other[label].inadmissible, whole[label].inadmissible)
            for metric, values in whole[label].values.items():
                np.testing.assert_array_equal(other.get(metric, label), values, err_msg=f"{label} {metric}")


@pytest.mark.parametrize(
    ("t", "end", "expected"),
    [(0, 1000, 256), (255, 1000, 256), (256, 1000, 512), (300, 400, 400), (2**31 - 257, 2**31 - 1, 2**31 - 256),
     (2**31 - 256, 2**31 - 1, 2**31 - 1), (2**31 - 2, 2**31 - 1, 2**31 - 1)],
)  # fmt: skip
def test_stretches_end_before_the_last_possible_round(t, end, expected):
    """The multiple of 256 after the last stretch of the longest horizon is not an int32."""
    assert int(end_of_stretch(jnp.int32(t), jnp.int32(end))) == expected


@pytest.mark.parametrize("width", [1, 32])
def test_bits_do_not_depend_on_the_number_of_trials_or_workers(width):
    def run(seeds, **more):
        return simulate(Shrink(), Noisy(scale=1.0), 30, seeds, record_points=5, progress=False, width=width, **more)

    alone, crowd, one_worker, later = run(1), run(70), run(70, workers=1), run(3, first_seed=67)
    for metric in crowd.metrics:
        np.testing.assert_array_equal(alone.get(metric)[0, 0], crowd.get(metric)[0, 0])
        np.testing.assert_array_equal(one_worker.get(metric), crowd.get(metric))
        np.testing.assert_array_equal(later.get(metric)[0], crowd.get(metric)[0, 67:])


@pytest.mark.parametrize("width", [1, 32])
def test_outcomes_snapshots_and_meters_may_be_arrays_with_named_axes(width):
    meter = Meter("worst", lambda r: r.outcome.risk[:2], "max", axes=("worst_group",), unit="losses")
    environment = Vectors(table=TABLE)
    trials = simulate(
        Shrink(rate=0.0), environment, 6, 5, record_points=[2, 6], meters=[meter], progress=False, width=width
    )["Shrink"]
    rows = np.concatenate([TABLE, TABLE])[:6] + 1.0
    np.testing.assert_allclose(trials.get("risk"), np.broadcast_to(rows.cumsum(0)[[1, 5]], (1, 5, 2, 3)))
    np.testing.assert_allclose(trials.get("worst")[0, 0], np.maximum.accumulate(rows)[[1, 5]][:, :2])
    np.testing.assert_allclose(trials.get("loss")[0, 0], rows.mean(1).cumsum()[[1, 5]])
    square = trials.get("square")
    assert square.shape == (1, 5, 2, 2, 2)
    np.testing.assert_allclose(
        square[0, :, 0] / square[0, :, 0, 0, 1, None, None], np.tile([[0, 1], [2, 3]], (5, 1, 1))
    )
    assert trials.axes == {"risk": ("group",), "worst": ("worst_group",), "square": ("row", "column")}
    assert trials.units == {"risk": "losses", "worst": "losses"}


def test_inadmissible_decisions_are_counted_by_trial():
    inside = simulate(Shrink(rate=0.0), Vectors(table=TABLE), 7, 4, record_points=3, **QUIET)["Shrink"]
    np.testing.assert_array_equal(inside.inadmissible, np.zeros((1, 4)))
    result = simulate(Shrink(rate=0.5, start=1.0), Vectors(table=TABLE, limit=0.2), 7, 4, record_points=3, **QUIET)[
        "Shrink"
    ]
    np.testing.assert_array_equal(result.inadmissible, np.full((1, 4), 3))  # plays 1, 0.5, 0.25 lie above 0.2
    assert result.inadmissible.dtype == np.int64 and "inadmissible" not in result.values
    np.testing.assert_array_equal(simulate(Shrink(), Noisy(), 3, 2, **QUIET)["Shrink"].inadmissible, np.zeros((1, 2)))


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (jnp.zeros(1, jnp.int32), r"of shape \(1,\) and type int32, but the number of an arm must be one integer"),
        (jnp.zeros(2, jnp.int32), r"of shape \(2,\)"),
        (jnp.zeros(()), r"of shape \(\) and type float"),
        (jnp.bool_(True), r"of shape \(\) and type bool"),
    ],
)
def test_the_number_of_an_arm_is_one_integer(index, message):
    @pytree
    class Learner(UCB1):
        def select(self, key, t, state, obs):
            return ArmDecision(index, index)

    env = BernoulliArms.from_means([0.9, 0.5, 0.1])
    with pytest.raises(InputError, match=rf"Learner returns ArmDecision\(index=...\) {message}"):
        simulate(Learner(n_arms=3), env, 5, 4, **QUIET)


def test_an_environment_admits_a_decision_or_not():
    @pytree
    class Environment(Noisy):
        def admits(self, state, obs, decision):
            return jnp.ones(2, bool)

    with pytest.raises(InputError, match=r"Environment\.admits must return one bool for a decision, .* shape \(2,\)"):
        simulate(Shrink(), Environment(), 5, 4, **QUIET)


def test_a_record_dictionary_is_what_at_record_returns():
    @pytree
    class Wrong(Noisy):
        def at_record(self, state, recommendation):
            return state

    with pytest.raises(InputError, match="at_record must return a dict from names to numbers or arrays"):
        simulate(Shrink(), Wrong(), 3, 2, **QUIET)
