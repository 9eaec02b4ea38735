"""Warnings of noise scales that are larger than bounded rewards need: who is named, and who is left alone."""

import warnings
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits import Grid, compare, noise, operators, race
from jaxbandits.armed import (
    AOUCB,
    KLUCB,
    MOSS,
    UCB1,
    AdvisedArms,
    BernoulliArms,
    BetaArms,
    NoisyArms,
    PerItem,
    Restarting,
    RetiringArms,
    SwitchingArms,
    ThompsonBeta,
    ThompsonGaussian,
    UCBDelta,
)
from jaxbandits.base.pytree import ArrayLike, param, pytree
from jaxbandits.data import LoggedReplay, TableBandit
from jaxbandits.engine.jobs import make_jobs
from jaxbandits.engine.noise_scales import warn_of_noise_scales
from jaxbandits.engine.options import Options
from jaxbandits.environments.armed.arms import Arms
from jaxbandits.estimation import links
from jaxbandits.glm import GeneralizedLinear
from jaxbandits.simulation import comparison, zip_fields
from jaxbandits.sweeps.run import run_sweep
from jaxbandits.sweeps.sweep import Sweep
from jaxbandits.types import ArmDecision

COINS = BernoulliArms.from_means([0.6, 0.5, 0.4])
AO = AOUCB(n_arms=3)


def warnings_of(algorithms: Any, environment: Any) -> list[str]:
    """Return the warnings of a run, without the run."""
    jobs = make_jobs(algorithms, environment, 10, 2, 1, Options(width=16), jax.local_devices()[0])
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        warn_of_noise_scales(jobs)
    return [str(warning.message) for warning in found]


def rewards(*values: float) -> TableBandit:
    """Return a table of three arms with these rewards."""
    return TableBandit.from_rewards(np.resize(values, (4, 3)))


def replay(*values: float) -> LoggedReplay:
    """Return a log of three arms with these rewards."""
    return LoggedReplay.from_log(np.arange(9) % 3, np.resize(values, 9), n_arms=3)


@pytree
class StakedCoins(Arms):
    """Coins that pay 0 or `stake`, a traced field."""

    source: ClassVar[str] = "coins with stakes"
    stake: ArrayLike = param(1.0, "(0, inf)", "what a coin pays")

    @property
    def reward_range(self) -> tuple[ArrayLike, ArrayLike]:
        return 0.0 * self.stake, self.stake

    def pay(self, key: jax.Array, mean: jax.Array) -> jax.Array:
        return self.stake * (jax.random.uniform(key) < mean)


def test_one_warning_names_learners_the_range_and_the_remedy():
    learners = {
        "UCB1": UCB1(n_arms=3),
        "MOSS": MOSS(n_arms=3, horizon=10),
        "KL": KLUCB(n_arms=3),
        "AO-UCB": AO,
        "Thompson": ThompsonBeta(n_arms=3),
        "Gaussian": ThompsonGaussian(n_arms=3),
        "UCB(delta)": UCBDelta(n_arms=3, delta=0.1),
    }
    assert warnings_of(learners, COINS) == [
        "MOSS, AO-UCB, Gaussian, UCB(delta) assume a noise scale of 1, but rewards of BernoulliArms lie in [0, 1], "
        "for which 0.5 is enough, and therefore explore longer than needed: MOSS.bounded, AOUCB.bounded, "
        "ThompsonGaussian.bounded and UCBDelta.bounded set this scale"
    ]
    (alone,) = warnings_of({"AO-UCB": AO}, COINS)
    assert alone.startswith("AO-UCB assumes a noise scale of 1") and alone.endswith("AOUCB.bounded sets this scale")
    assert "\n" not in alone


UNIT_INTERVAL = [
    COINS,
    BetaArms(n_arms=3),
    RetiringArms(n_arms=3),
    AdvisedArms(n_arms=3, n_experts=2),
    SwitchingArms.constrained(n_arms=3, horizon=10),
    rewards(0.0, 1.0, 0.3),
    replay(0.0, 1.0, 0.5),
    GeneralizedLinear(dim=2, n_arms=3),
    operators.with_delay(COINS, 2),
    operators.with_batches(COINS, 2),
    operators.with_drift(COINS, operators.RandomWalk()),
]


@pytest.mark.parametrize("environment", UNIT_INTERVAL, ids=lambda environment: type(environment).__name__)
def test_environments_with_rewards_in_0_1(environment):
    (found,) = warnings_of({"AO-UCB": AO}, environment)
    assert f"rewards of {type(environment).__name__} lie in [0, 1], for which 0.5 is enough" in found
    assert not warnings_of({"AO-UCB": AOUCB.bounded(n_arms=3)}, environment)


@pytest.mark.slow_after_first
@pytest.mark.parametrize(
    "environment",
    [
        *UNIT_INTERVAL,
        rewards(-3.0, 0.5, 7.0),
        replay(2.0, -2.0, 0.1),
        StakedCoins(n_arms=3, stake=4.0),
        operators.with_corruption(COINS, rate=0.5),
        operators.with_corruption(COINS, factor=3.0, shift=-1.0),
    ],
    ids=lambda environment: type(environment).__name__,
)
def test_rewards_lie_in_the_range_and_reach_its_ends(environment, key):
    """Two rounds of 2,000 trials, all arms in turn; fractions come near the ends only."""

    def play(key, arm):
        state, received = environment.init(key), []
        for t in range(2):
            of_round = jax.random.fold_in(key, t)
            obs = environment.observe(of_round, jnp.int32(t), state)
            decision = ArmDecision(arm, obs.arms[arm])
            state, feedback, _ = environment.step(of_round, jnp.int32(t), state, obs, decision)
            received.append(feedback.reward)
        return jnp.stack(received)

    received = np.asarray(jax.jit(jax.vmap(play))(jax.random.split(key, 2000), jnp.arange(2000) % 3))
    low, high = environment.reward_range
    assert low <= received.min() and received.max() <= high
    assert received.min() - low <= 0.01 * (high - low) and high - received.max() <= 0.01 * (high - low)


@pytest.mark.parametrize(
    "environment",
    [
        NoisyArms(n_arms=3),
        NoisyArms(n_arms=3, noise=noise.Pareto(shape=1.5)),
        NoisyArms(n_arms=3, noise=noise.StudentT(df=2.1)),
        operators.with_noise(COINS, noise.Gaussian(spread=0.01)),
        GeneralizedLinear(dim=2, n_arms=3, link=links.Poisson()),
        operators.with_delay(NoisyArms(n_arms=3), 2),
    ],
    ids=lambda environment: type(environment).__name__,
)
def test_unbounded_rewards_have_no_range(environment):
    assert not warnings_of({"AO-UCB": AO, "large": UCBDelta(n_arms=3, delta=0.1, noise_scale=100.0)}, environment)


def test_other_ranges_than_0_1():
    """A range of width w needs w / 2: 1 is enough up to 2, too little beyond it, and too much below."""
    for enough in (rewards(0.0, 2.0), rewards(-5.0, 5.0), rewards(3.0, 3.0), replay(-1.0, 1.0)):
        assert not warnings_of([AO], enough)
    (found,) = warnings_of([AO], rewards(10.0, 10.5))
    assert "lie in [10, 10.5], for which 0.25 is enough" in found and found.endswith(
        "AOUCB.bounded(width=0.5) sets this scale"
    )
    (found,) = warnings_of([AOUCB(n_arms=3, noise_scale=20.0)], rewards(-5.0, 5.0))
    assert "a noise scale of 20" in found and "for which 5 is enough" in found
    for width in (0.3, 0.1, 1.0 / 3.0, 1e-6, 1e6):
        assert not warnings_of([AOUCB.bounded(n_arms=3, width=width)], rewards(0.0, width))
        assert not warnings_of([AOUCB.bounded(n_arms=3, width=np.float32(width))], rewards(0.0, width))


def test_corrupted_rewards_are_in_the_range_of_true_and_changed_ones():
    def warnings_after(factor, shift):
        return warnings_of([AO], operators.with_corruption(COINS, factor=factor, shift=shift))

    for factor, shift, interval in ((0.0, 0.5, "[0, 1]"), (-0.5, 0.0, "[-0.5, 1]"), (1.0, 0.5, "[0, 1.5]")):
        assert interval in warnings_after(factor, shift)[0]
    assert not warnings_after(-1.0, 0.0) and not warnings_after(1.0, 1.0) and not warnings_after(100.0, -3.0)


def test_scales_that_the_run_compares_are_left_out():
    scales = [0.25, 0.5, 1.0, 2.0]
    assert not warnings_of({"AO-UCB": Grid(AO, {"noise_scale": scales})}, COINS)
    assert not warnings_of({f"R = {r}": AOUCB(n_arms=3, noise_scale=r) for r in scales}, COINS)
    zipped = zip_fields({"noise_scale": scales, "environment.stake": scales})
    assert not warnings_of({"AO-UCB": Grid(AO, zipped)}, StakedCoins(n_arms=3))
    (found,) = warnings_of({"AO-UCB": Grid(AO, {"noise_scale": scales}), "MOSS": MOSS(n_arms=3, horizon=10)}, COINS)
    assert found.startswith("MOSS assumes")


def test_swept_ranges_are_taken_point_by_point():
    grid = Grid(MOSS(n_arms=3, horizon=10), {"horizon": [5, 10], "environment.stake": [1.0, 2.0, 8.0]})
    (found,) = warnings_of({"MOSS": grid}, StakedCoins(n_arms=3))
    assert found.count("MOSS assumes") == 1 and "[0, 1], for which 0.5" in found
    assert not warnings_of({"MOSS": Grid(grid.algorithm, {"environment.stake": [2.0, 8.0]})}, StakedCoins(n_arms=3))
    (found,) = warnings_of(
        {"MOSS": Grid(grid.algorithm, {"n_arms": [3], "environment.stake": [0.5, 1.0]})}, StakedCoins(n_arms=3)
    )
    assert "[0, 0.5], for which 0.25" in found and "[0, 1], for which 0.5" in found


def test_every_label_has_its_own_environment():
    learners = {"coins": AO, "noise": AO, "wide": AO}
    (found,) = warnings_of(learners, {"coins": COINS, "noise": NoisyArms(n_arms=3), "wide": rewards(0.0, 2.0)})
    assert found.startswith("coins assumes")


def test_other_learners_with_the_property():
    @pytree
    class Own(UCB1.__bases__[0]):
        """A learner without the preset."""

        @property
        def sub_gaussian_scale(self) -> float:
            return 3.0

        def index(self, key, t, state):
            return state.mean

    (found,) = warnings_of({"mine": Own(n_arms=3)}, COINS)
    assert found.startswith("mine assumes a noise scale of 3") and found.endswith("longer than needed: set this scale")
    assert warnings_of({"items": PerItem(policy=AO)}, RetiringArms(n_arms=3))[0].startswith(
        "items assumes a noise scale of 1"
    )
    assert not warnings_of({"items": PerItem(policy=UCB1(n_arms=3))}, RetiringArms(n_arms=3))
    assert not warnings_of({"items": PerItem(policy=AOUCB.bounded(n_arms=3))}, RetiringArms(n_arms=3))
    restarts = {"restarts": Restarting.glr(policy=AO, horizon=100, changes=2)}
    assert warnings_of(restarts, COINS)[0].startswith("restarts assumes a noise scale of 1")
    assert not warnings_of({"restarts": Restarting.glr(policy=UCB1(n_arms=3), horizon=100, changes=2)}, COINS)


@pytest.mark.filterwarnings("always")
def test_a_run_warns_once_at_the_users_line(tmp_path):
    """Runs in several groups of seeds, too; a race that is left with one scale says nothing."""
    quick: dict[str, Any] = {"compile": "fast", "progress": False, "width": 16}
    with pytest.warns(UserWarning, match="noise scale") as found:
        compare([AO, UCB1(n_arms=3)], COINS, 20, 16, **quick)
        compare([AO, UCB1(n_arms=3)], COINS, 20, 16, until="decided", **quick)
        race(Grid(UCBDelta(n_arms=3, delta=0.1), {"delta": [0.1, 0.11]}), COINS, 20, 64, **quick)
        run_sweep(Sweep(algorithms=[AO], environment=COINS, horizon=20, seeds=2, width=16), tmp_path, progress=False)
    about = [warning for warning in found if "noise scale" in str(warning.message)]
    assert len(about) == 4 and all(warning.filename == __file__ for warning in about)
    assert len({warning.lineno for warning in about}) == 4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        race(Grid(UCBDelta(n_arms=3, delta=0.1), {"noise_scale": [1.0, 30.0]}), COINS, 100, 64, **quick)


def test_numbers_do_not_depend_on_the_preset(key):
    state = AO.init(key)._replace(count=jnp.array([1.0, 2.0, 3.0]), total=jnp.array([1.0, 0.0, 2.0]))
    by_hand = AOUCB(n_arms=3, noise_scale=0.5).index(key, jnp.int32(6), state)
    np.testing.assert_array_equal(AOUCB.bounded(n_arms=3).index(key, jnp.int32(6), state), by_hand)


@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("horizon", [100, 101])
def test_horizons_at_which_counters_stop_are_named(x64, horizon, monkeypatch):
    monkeypatch.setattr(comparison, "_LARGEST_COUNT", 100)
    with jax.enable_x64(x64), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        compare([UCB1(n_arms=2)], BernoulliArms.from_means([0.9, 0.5]), horizon, 2, progress=False)
    messages = [str(warning.message) for warning in caught]
    assert any("a horizon of 101 rounds exceeds 2^24" in message for message in messages) == (horizon > 100 and not x64)
