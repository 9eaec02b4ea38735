"""`simulate` and `compare` on toys whose results are known by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.base.errors import InputError
from jaxbandits.engine.meters import Metric
from jaxbandits.engine.plan import resolve_record_points
from jaxbandits.engine.recording import HEALTHY, take_snapshot
from jaxbandits.programs import compilation
from jaxbandits.results.merge import merge
from jaxbandits.simulation import Meter, compare, simulate
from tests.toy_problems import NanLearner, NeedsGradient, Noisy, Shrink

QUIET = {"progress": False, "width": 32}


def test_block_sums_are_the_exact_cumulative_sums():
    result = simulate(Shrink(rate=0.5), Noisy(), 10, 3, record_points=[1, 2, 5, 10], **QUIET)
    expected = 2.0 * (1.0 - 0.5 ** np.array([1, 2, 5, 10]))
    np.testing.assert_allclose(result.get("loss"), np.broadcast_to(expected, (1, 3, 4)), rtol=1e-12)
    np.testing.assert_array_equal(result.get("played")[0], np.tile([1.0, 2.0, 5.0, 10.0], (3, 1)))
    np.testing.assert_allclose(result.get("newest")[0], np.tile(0.5 ** np.array([1, 2, 5, 10]), (3, 1)))
    assert result["Shrink"].units == {"loss": "points"}


def test_a_trial_is_the_same_alone_in_a_crowd_and_in_any_order():
    alone = simulate(Shrink(), Noisy(scale=1.0), 30, 1, record_points=5, **QUIET)
    crowd = simulate(Shrink(), Noisy(scale=1.0), 30, 500, record_points=5, **QUIET)
    later = simulate(Shrink(), Noisy(scale=1.0), 30, 3, record_points=5, first_seed=497, workers=1, **QUIET)
    for metric in alone.metrics:
        np.testing.assert_array_equal(alone.get(metric)[0, 0], crowd.get(metric)[0, 0])
        np.testing.assert_array_equal(later.get(metric)[0], crowd.get(metric)[0, 497:])


@pytest.mark.slow
def test_the_batch_width_changes_nothing_but_rounding():
    runs = [simulate(Shrink(), Noisy(scale=1.0), 50, 70, progress=False, width=width) for width in (1, 32, 64, 96)]
    for other in runs[1:]:
        np.testing.assert_allclose(other.get("loss"), runs[0].get("loss"), rtol=1e-12, atol=1e-12)


def test_the_base_seed_changes_every_trial():
    a, b = (simulate(Shrink(), Noisy(scale=1.0), 5, 4, seed=seed, **QUIET) for seed in (0, 1))
    assert not np.isclose(a.final("loss"), b.final("loss")).any()


def test_new_values_never_compile_again():
    simulate(Shrink(rate=0.2), Noisy(scale=0.3), 7, 2, record_points=3, **QUIET)
    before = compilation.compiled_count()
    simulate(Shrink(rate=1, start=3), Noisy(scale=2.0), 9, 5, record_points=3, seed=9, **QUIET)
    assert compilation.compiled_count() == before


def test_meters_reduce_by_sum_maximum_and_last():
    meters = [
        Meter("total", lambda r: r.decision.play),
        Meter("largest", lambda r: -r.decision.play, "max"),
        Meter("newest_round", lambda r: r.t, "last"),
    ]
    result = simulate(Shrink(), Noisy(), 8, 2, record_points=[2, 4, 8], meters=meters, **QUIET)
    np.testing.assert_allclose(result.get("total")[0, 0], [1.5, 1.875, 2 - 2**-7])
    np.testing.assert_allclose(result.get("largest")[0, 0], [-0.5, -0.125, -(2.0**-7)])
    np.testing.assert_array_equal(result.get("newest_round")[0, 0], [1, 3, 7])


def test_a_maximum_remembers_earlier_blocks():
    """The largest value stands in the first block; a sum adds blocks, and "last" is of the newest one."""
    blocks = np.asarray([[3.0, 1.0, 2.0], [-5.0, -7.0, -6.0]])
    np.testing.assert_array_equal(Metric("max", "m").accumulate(blocks), [[3.0, 3.0, 3.0], [-5.0, -5.0, -5.0]])
    np.testing.assert_array_equal(Metric("sum", "m").accumulate(blocks), [[3.0, 4.0, 6.0], [-5.0, -12.0, -18.0]])
    np.testing.assert_array_equal(Metric("last", "m").accumulate(blocks), blocks)


def test_long_sums_do_not_lose_small_terms_in_float32_blocks():
    """A float32 running sum of 2^17 terms of 0.1 is off by 1e-4; block sums added in float64 are not."""
    result = simulate(Shrink(rate=0.0, start=0.1), Noisy(), 2**17, 1, record_points=200, **QUIET)
    assert abs(result.final("loss")[0, 0] / (0.1 * 2**17) - 1.0) < 1e-6


def test_failed_trials_are_counted_by_trial_and_left_out_with_a_warning():
    result = simulate(Shrink(), Noisy(fail_at=3.0), 6, 60, record_points=6, **QUIET)
    positive = result.final("offset")[0] > 0
    np.testing.assert_array_equal(result.failures("loss")[0], positive)
    with pytest.warns(UserWarning, match="NaN or infinite"):
        (row,) = result.summary("loss")
    assert row.failed == positive.sum() > 0
    assert row.trials == 60 - row.failed
    assert row.mean == pytest.approx(2 - 2**-5)


def test_a_nan_in_the_state_counts_even_if_every_metric_is_finite():
    result = simulate(NanLearner(), Noisy(), 6, 60, record_points=3, **QUIET)
    assert np.isfinite(result.final("loss")).all()
    assert result.failures("loss").all()
    assert not simulate(Shrink(), Noisy(), 6, 60, record_points=3, **QUIET).failures("loss").any()


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float32, complex])
def test_a_nan_of_any_type_counts(dtype):
    for entry, is_healthy in ((1.0, True), (np.nan, False)):
        state = (jnp.int32(3), jnp.asarray([0.0, entry], dtype))
        assert take_snapshot(NeedsGradient(), None, (), state)[HEALTHY] == is_healthy


def test_metrics_may_not_hide_each_other():
    for name in ("loss", "offset"):
        with pytest.raises(InputError, match=f"two metrics have the name '{name}'"):
            simulate(Shrink(), Noisy(), 5, 2, meters=[Meter(name, lambda r: r.t, "max")], **QUIET)


@pytest.mark.parametrize(
    ("record_points", "expected"),
    [
        (4, [25, 50, 75, 100]),
        (1000, list(range(1, 101))),
        ([7, 20], [7, 20, 100]),
        (("log", 3), [1, 10, 100]),
        (("log", 1), [100]),
        ([100], [100]),
    ],
)
def test_record_points(record_points, expected):
    np.testing.assert_array_equal(resolve_record_points(record_points, 100), expected)


def test_log_records_are_dense_and_end_at_the_horizon():
    points = resolve_record_points("log", 10**6)
    assert points[0] == 1 and points[-1] == 10**6 and 90 <= len(points) <= 121 and (np.diff(points) > 0).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"horizon": 0}, r"horizon must be a whole number in \[1, 2147483647\], got 0"),
        ({"horizon": 2.5}, "horizon must be a whole number"),
        ({"horizon": True}, "horizon must be a whole number"),
        ({"seeds": 0}, r"seeds must be a whole number in \[1, "),
        ({"seed": -1}, r"seed must be a whole number in \[0, 4294967295\], got -1"),
        ({"record_points": [5, 3]}, "increase strictly"),
        ({"record_points": np.array([3, 2, 5], np.uint32)}, "increase strictly"),
        ({"record_points": "sometimes"}, "record_points must be"),
        ({"record_points": [float("nan")]}, "must be whole numbers of rounds"),
        ({"record_points": ("log", 0)}, "whole number of at least 1"),
        ({"first_seed": 2**31}, r"first_seed must be a whole number in \[0, "),
        ({"devices": []}, "devices must be a list"),
        ({"algorithm": Shrink(rate=None)}, "Shrink.rate must be given"),
        ({"meters": [Meter("m", lambda r: r.t, "mean")]}, "reduce must be one of sum, max, last"),
        ({"algorithm": Shrink(rate=1.5)}, r"Shrink.rate must lie in \[0, 1\], got 1.5"),
        ({"algorithm": Shrink(rate="fast")}, "Shrink.rate must be a number"),
        ({"algorithm": Shrink(rate=float("nan"))}, "Shrink.rate must lie in"),
        ({"algorithm": Shrink}, "algorithm 'Shrink' is the class Shrink: pass an instance of it"),
        ({"seeds": [3, 5]}, r"seeds must be the number of seeds, got \[3, 5\]; first_seed is the first of them"),
        ({"seeds": range(4)}, r"got range\(0, 4\); first_seed"),
        ({"seeds": np.arange(3)}, "seeds must be the number of seeds, got .*; first_seed is the first of them"),
        ({"environment": object()}, "environment 'object|environment .* must be"),
        ({"algorithm": NeedsGradient()}, "without .*grad"),
        ({"meters": [Meter("m", lambda r: r.t), Meter("m", lambda r: r.t)]}, "different names"),
        ({"meters": ["regret"]}, "must be a list of Meter objects"),
        ({"width": -3}, "width must be"),
        ({"width": 40}, "width must be 1 or a multiple of 16"),
        ({"width": 32.5}, "width must be a whole number"),
        ({"workers": 0}, "workers must be"),
        ({"worker": 2}, "unknown option 'worker'; did you mean 'workers'"),
        ({"seconds_per_call": 0}, r"seconds_per_call must lie in \(0, inf\)"),
        ({"seconds_per_call": float("nan")}, r"seconds_per_call must lie in \(0, inf\)"),
        ({"save_every": -1.0}, r"save_every must lie in \[0, inf\]"),
        ({"save_every": "often"}, "save_every must be a number in"),
        ({"checkpoint": 3}, "checkpoint must be the path of a directory"),
        ({"progress": "no"}, "progress must be True or False"),
        ({"devices": ["cpu"]}, "devices must be a list of JAX devices"),
        ({"algorithm": Noisy(), "environment": Shrink()}, "the algorithm comes first, the environment second"),
        ({"algorithm": Shrink(rate=1j)}, "Shrink.rate must be a number"),
        ({"meters": [Meter("m", lambda r: None)]}, "meter 'm' must be a real number or an array, got NoneType"),
        ({"meters": [Meter("m", lambda r: {"a": r.t})]}, "meter 'm' must be a real number or an array, got dict"),
        ({"meters": [Meter("m", lambda r: r.t * 1j)]}, "meter 'm' must be a real number or an array"),
        ({"meters": [Meter("m", lambda r: r.nothing)]}, "meter 'm' cannot be measured: AttributeError: .*nothing"),
        ({"meters": [Meter("m", "loss")]}, "measure must be a function of a Round"),
        ({"meters": [Meter(3, lambda r: r.t)]}, "the name of a meter must be one line of text without a colon, got 3"),
        ({"meters": [Meter("a:b", lambda r: r.t)]}, "the name of a meter must be one line of text without a colon"),
        ({"meters": [Meter("m", lambda r: r.t, axes="group")]}, "axes must be a tuple of names"),
        ({"meters": [Meter("healthy", lambda r: r.t)]}, "a metric cannot be called 'healthy'"),
        ({"meters": [Meter("inadmissible", lambda r: r.t)]}, "a metric cannot be called 'inadmissible'"),
        ({"meters": Meter("m", lambda r: r.t)}, "must be a list of Meter objects"),
    ],
)
def test_bad_input_is_one_clear_line(change, message):
    settings = {"algorithm": Shrink(), "environment": Noisy(), "horizon": 5, "seeds": 2, **QUIET, **change}
    with pytest.raises(InputError, match=message) as error:
        simulate(**settings)
    assert "\n" not in str(error.value)


def test_values_under_a_transformation_are_refused_by_name():
    with pytest.raises(InputError, match=r"Shrink.rate is traced by a JAX transformation"):
        jax.jit(lambda rate: simulate(Shrink(rate=rate), Noisy(), 3, 2, **QUIET).final("loss"))(0.5)


def test_every_label_has_its_own_environment_horizon_seeds_and_record_points():
    learners = {"slow": Shrink(rate=0.1), "fast": Shrink(rate=0.5)}
    full = compare(learners, Noisy(scale=1.0), 12, 80, record_points=3, **QUIET)
    own = compare(
        learners,
        {"slow": Noisy(scale=1.0), "fast": Noisy(scale=0.0)},
        {"slow": 12, "fast": 8},
        {"slow": 7, "fast": 80},
        record_points={"slow": 3, "fast": [2, 8]},
        **QUIET,
    )
    np.testing.assert_array_equal(own.get("loss", "slow"), full.get("loss", "slow")[:, :7])
    np.testing.assert_array_equal(own["fast"].record_points, [2, 8])
    assert own.get("loss", "fast").shape == (1, 80, 2) and own["fast"].horizon == 8
    np.testing.assert_allclose(own.final("loss", "fast")[0], 2.0 - 2.0**-7)
    assert own["slow"].spec["horizon"] == 12 and own["slow"].spec["width"] == 32


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seeds": {"slow": 7}}, "seeds has no entry for the label 'fast'"),
        ({"seeds": {"slow": 7, "fats": 3, "fast": 3}}, "unknown label in seeds 'fats'; did you mean 'fast'"),
        ({"seeds": {"slow": 0, "fast": 3}}, "seeds of slow must be"),
        ({"horizon": {"slow": 7, "fast": 2.5}}, "horizon of fast must be"),
        ({"environment": {"slow": Noisy()}}, "environment has no entry for the label 'fast'"),
        ({"environment": {"slow": Noisy(), "fast": None}}, "environment of 'fast' must be"),
        ({"record_points": {"fast": 3}}, "record_points has no entry for the label 'slow'"),
        ({"algorithms": {}}, "at least one algorithm"),
        ({"algorithms": {3: Shrink()}}, "a label must be text, got 3"),
        ({"algorithms": {"a\0": Shrink()}}, r"Unicode text without the character NUL, got 'a\\x00'"),
        ({"algorithms": {"a\ud800": Shrink()}}, r"Unicode text without the character NUL, got 'a\\ud800'"),
        ({"algorithms": Shrink()}, "must be a mapping from labels to algorithms, or a list"),
        ({"algorithms": [Shrink(), Shrink()]}, "two algorithms in the list have the same class"),
    ],
)
def test_what_is_given_per_label_must_name_every_label(change, message):
    run = {"algorithms": {"slow": Shrink(), "fast": Shrink()}, "environment": Noisy(), "horizon": 5, "seeds": 3}
    with pytest.raises(InputError, match=message) as error:
        compare(**{**run, **QUIET, **change})
    assert "\n" not in str(error.value)


def test_the_fast_tier_plays_the_same_game_and_is_recorded(tmp_path):
    def run(**settings):
        return simulate(Shrink(), Noisy(scale=1.0), 20, 3, **QUIET, **settings)

    full, fast = run(), run(compile="fast", checkpoint=tmp_path)
    np.testing.assert_allclose(fast.get("loss"), full.get("loss"), rtol=1e-12)
    assert fast["Shrink"].spec["compile"] == "fast" and "compile" not in full["Shrink"].spec
    np.testing.assert_array_equal(run(compile="fast", checkpoint=tmp_path).get("loss"), fast.get("loss"))
    with pytest.raises(InputError, match=r"holds another run: .*compile"):
        run(checkpoint=tmp_path)
    with pytest.raises(InputError, match="cannot merge"):
        merge([full, run(first_seed=3, compile="fast")])
    with pytest.raises(InputError, match="compile must be one of full, fast, got 'quick'"):
        run(compile="quick")
