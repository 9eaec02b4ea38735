"""K-armed environments: laws of the rewards, regrets against means computed by hand, operators, bad input."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats as st

from jaxbandits import OFUL, compare, from_spec, noise, operators, simulate, to_spec
from jaxbandits.armed import KLUCB, SWUCB, UCB1, BernoulliArms, BetaArms, Exp3, NoisyArms, SwitchingArms
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import as_arrays
from jaxbandits.cli import main
from jaxbandits.data import LoggedReplay, TableBandit
from jaxbandits.environments.armed.switching_arms import Phases
from jaxbandits.glm import ECOLog
from jaxbandits.linear import Uniform
from jaxbandits.simulation import Meter, sweep
from jaxbandits.types import ArmDecision

LEARNERS = {"UCB1": UCB1(n_arms=3), "KL-UCB": KLUCB(n_arms=3), "Exp3": Exp3(n_arms=3), "SW": SWUCB(n_arms=3, window=9)}


def rewards_of_arm(env, arm, key, t=0, draws=20_000):
    """Rewards and regrets of one arm."""
    state = env.init(key)
    decision = ArmDecision(jnp.int32(arm), jnp.int32(arm))
    step = jax.jit(
        jax.vmap(lambda k: env.step(k, jnp.int32(t), state, env.observe(k, jnp.int32(t), state), decision)[1:])
    )
    feedback, outcome = step(jax.random.split(key, draws))
    return np.asarray(feedback.reward), np.asarray(outcome.regret)


def test_rewards_and_regret(key):
    coins = as_arrays(BernoulliArms.from_means([0.2, 0.7]))
    reward, regret = rewards_of_arm(coins, 0, key)
    assert set(reward) == {0.0, 1.0}
    np.testing.assert_allclose(regret, 0.5, rtol=1e-12)
    assert st.binomtest(int(reward.sum()), reward.size, 0.2).pvalue > 1e-4
    reward, regret = rewards_of_arm(as_arrays(BetaArms.from_means([0.2, 0.7], concentration=3.0)), 1, key)
    assert st.kstest(reward, st.beta(2.1, 0.9).cdf).pvalue > 1e-4 and (regret == 0.0).all()
    for law, scipy_law in ((noise.Gaussian(spread=0.5), st.norm(1.5, 0.5)), (noise.StudentT(df=2.1), st.t(2.1, 1.5))):
        reward, regret = rewards_of_arm(as_arrays(NoisyArms.from_means([1.5, -2.0], noise=law)), 0, key)
        assert st.kstest(reward, scipy_law.cdf).pvalue > 1e-4
        assert (regret == 0.0).all()


LAWS = {
    "normal": (noise.Gaussian(spread=[0.5, 2.0]), [noise.Gaussian(spread=s) for s in (0.5, 2.0)]),
    "t": (noise.StudentT(df=np.array([2.1, 9.0])), [noise.StudentT(df=df) for df in (2.1, 9.0)]),
    "lomax": (noise.Lomax(shape=(3, 4), spread=[1, 2]), [noise.Lomax(shape=k, spread=k - 2) for k in (3, 4)]),
}


@pytest.mark.parametrize("law", LAWS)
def test_fields_of_the_noise_may_have_one_entry_per_arm(law, key):
    """The rewards of an arm are those of the noise whose fields are the numbers of this arm."""
    per_arm, of_each = LAWS[law]
    for arm, alone in enumerate(of_each):
        ours, _ = rewards_of_arm(as_arrays(NoisyArms.from_means([0.5, 0.1], noise=per_arm)), arm, key, draws=20)
        theirs, _ = rewards_of_arm(as_arrays(NoisyArms.from_means([0.5, 0.1], noise=alone)), arm, key, draws=20)
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)


def test_noise_of_another_number_of_arms_is_one_clear_line():
    three = noise.Gaussian(spread=np.ones(3))
    message = r"must be numbers, or arrays \[2\] with one entry per arm, got a Gaussian whose draws have shape \[3\]"
    with pytest.raises(InputError, match=message):
        simulate(UCB1(n_arms=2), NoisyArms.from_means([0.5, 0.1], noise=three), 5, 1, progress=False)
    env = operators.with_noise(BernoulliArms.from_means([0.5, 0.1, 0.2]), three)
    with pytest.raises(InputError, match=r"must be numbers, but Gaussian draws arrays of shape \[3\]; only NoisyArms"):
        simulate(UCB1(n_arms=3), env, 5, 1, progress=False)


def test_drawn_means_differ_between_trials():
    env = BernoulliArms(n_arms=3)
    means = jax.jit(jax.vmap(lambda k: env.init(k).theta))(jax.random.split(jax.random.key(0), 5_000))
    assert st.kstest(np.ravel(means), "uniform").pvalue > 1e-4


def test_switching_arms_pay_by_phase(key):
    env = as_arrays(SwitchingArms.from_phases([[0.2, 0.7], [0.9, 0.1]], [0, 10]))
    for t, means in ((0, [0.2, 0.7]), (9, [0.2, 0.7]), (10, [0.9, 0.1]), (1000, [0.9, 0.1])):
        reward, regret = rewards_of_arm(env, 0, key, t)
        np.testing.assert_allclose(regret, max(means) - means[0], atol=1e-12)
        assert st.binomtest(int(reward.sum()), reward.size, means[0]).pvalue > 1e-4


def test_fixed_arm_regret_is_against_the_best_arm_of_all_rounds():
    means, starts, horizon = np.array([[0.2, 0.7, 0.0], [0.9, 0.1, 0.0]]), [0, 12], 50
    env = SwitchingArms.from_phases(means, starts)
    played = Meter("played", lambda r: r.decision.index, "last")
    result = compare([UCB1(n_arms=3)], env, horizon, 4, record_points=horizon, meters=[played], progress=False)
    arms = result["UCB1"].get("played").astype(int)
    of_round = means[(np.arange(horizon) >= 12).astype(int)]
    got = of_round[np.arange(horizon), arms]
    fixed = of_round.cumsum(axis=0).max(axis=1) - got.cumsum(axis=-1)
    np.testing.assert_allclose(result["UCB1"].get("fixed_arm_regret"), fixed, atol=1e-5)
    best = (of_round.max(axis=1) - got).cumsum(axis=-1)
    np.testing.assert_allclose(result["UCB1"].get("regret"), best, atol=1e-5)


def test_constrained_adversary():
    env = SwitchingArms.constrained(n_arms=3, horizon=100, gap=0.25, best=1)
    means, starts = env.phases
    np.testing.assert_array_equal(starts[:6], [0, 1, 2, 4, 8, 14])  # lengths floor(1.6^n) = 1, 1, 2, 4, 6, 10, ...
    np.testing.assert_array_equal(means[:2], [[0.75, 1.0, 0.75], [0.0, 0.25, 0.0]])
    assert starts[-1] < 100 <= starts[-1] + int(1.6 ** (len(starts) - 1))


@pytest.mark.slow
@pytest.mark.parametrize(
    "env",
    [
        operators.with_delay(BernoulliArms.from_means([0.9, 0.5, 0.1]), 4),
        operators.with_drift(BernoulliArms.from_means([0.9, 0.5, 0.1]), operators.Given(path=np.eye(3)[[0, 1, 2]])),
        operators.with_drift(NoisyArms(n_arms=3), operators.PiecewiseDrift(period=20)),
        operators.with_corruption(BetaArms(n_arms=3), rounds=20),
        operators.with_noise(NoisyArms(n_arms=3), noise.Gaussian()),
        SwitchingArms.constrained(n_arms=3, horizon=60),
        TableBandit.from_rewards(np.eye(3)[[0, 1, 2, 2]], order="given"),
        TableBandit.from_table(np.eye(6, 2), ["a", "b", "c", "c", "c", "a"]),
        LoggedReplay.from_log([0, 1, 1, 0, 2, 1] * 10, [0.0, 1.0, 0.5, 0.0, 1.0, 0.0] * 10, n_arms=3),
    ],
    ids=["delay", "given drift", "drift", "corruption", "noise", "switching", "rewards", "table", "replay"],
)
def test_learners_run_with_operators_and_data(env):
    result = compare(LEARNERS, env, 60, 3, progress=False)
    for label in LEARNERS:
        trials = result[label]
        assert trials.healthy.all() and not trials.inadmissible.any()
        for metric, values in trials.values.items():
            assert not trials.failures(metric).any()
            # The mean reward of a replay has no value until an event of the log matches.
            assert metric in trials.may_be_missing or np.isfinite(values).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BernoulliArms.from_means([0.5, 1.5]), r"BernoulliArms.means must lie in \[0, 1\]"),
        (lambda: BernoulliArms.from_means([[0.5]]), r"BernoulliArms.means must have shape \(K,\), got \(1, 1\)"),
        (lambda: NoisyArms.from_means(["a"]), "NoisyArms.means must be numbers"),
        (lambda: NoisyArms.from_means([0.0], noise=1.0), "NoisyArms.noise must be"),
        (lambda: SwitchingArms.from_phases([[0.5, 2.0]], [0]), r"means must lie in \[0, 1\]"),
        (lambda: SwitchingArms.from_phases([[0.5], [0.1]], [0, 0]), "starts must begin with 0 and increase"),
        (
            lambda: SwitchingArms.from_phases([[0.5]], [0.5]),
            r"starts must be whole numbers in \[0, 2147483647\], got 0.5",
        ),
        (lambda: SwitchingArms.from_phases([[0.5], [0.1]], [0, 3e9]), r"\[0, 2147483647\], got 3000000000$"),
        (
            lambda: simulate(UCB1(n_arms=1), SwitchingArms(phases=Phases(np.array([[np.nan]]), np.array([0]))), 3, 2),
            r"means must lie in",
        ),
        (lambda: SwitchingArms.constrained(n_arms=2, horizon=9, best=2), r"best must"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(InputError, match=message):
        make()


@pytest.mark.parametrize("learner", [OFUL(dim=3), OFUL(dim=5), ECOLog(dim=3, norm_bound=1.0)])
def test_learners_of_features_are_refused(learner):
    with pytest.raises(InputError, match="needs features of arms, which BernoulliArms does not provide"):
        compare([learner], BernoulliArms(n_arms=3), 5, 1, progress=False)


def test_uniform_play_needs_no_features():
    result = compare([Uniform(dim=1)], BernoulliArms.from_means([1.0, 0.0]), 400, 8, progress=False)
    assert 150 < result["Uniform"].final("regret").mean() < 250


def test_specifications_are_read_back():
    for env in (SwitchingArms.example(), BernoulliArms.from_means([0.1, 0.2]), NoisyArms(n_arms=2)):
        again = from_spec(to_spec(env))
        assert type(again) is type(env) and jax.tree.structure(again) == jax.tree.structure(env)
        jax.tree.map(np.testing.assert_array_equal, jax.tree.leaves(again), jax.tree.leaves(env))


def test_sweep_files_list_means(tmp_path):
    file = tmp_path / "mine.toml"
    learner = '[algorithms.a]\ntype = "armed/exp3"\nn_arms = 2\nlearning_rate = { values = [0.1, 1.0] }\n'
    coins = '[environments.e]\ntype = "armed/bernoulli_arms"\nn_arms = 2\nmeans = [0.9, 0.2]\n'
    file.write_text("horizon = 20\nseeds = 2\n" + learner + coins)
    assert main(["sweep", str(file), "--out", str(tmp_path / "out"), "--quiet"]) == 0


def test_means_of_another_number_of_arms():
    env = BernoulliArms(n_arms=2, means=np.array([0.1, 0.2, 0.3]))
    with pytest.raises(InputError, match=r"BernoulliArms.means must have shape \[2\]"):
        compare([UCB1(n_arms=2)], env, 5, 1, progress=False)


@pytest.mark.slow_after_first
@pytest.mark.parametrize("cls", [BernoulliArms, BetaArms, NoisyArms])
def test_a_gap_stands_for_means_and_may_be_swept(cls):
    """The same trials, bit for bit, as with the means written out: one arm at `best`, the others a gap below."""
    gaps = [0.0625, 0.125, 0.25]  # differences without rounding
    env = cls.from_gap(gap=0.5, n_arms=3, best=0.75)
    quiet = {"progress": False, "record_points": 3, "width": 16}
    swept = sweep(UCB1(n_arms=3), env, 60, 4, grid={"environment.gap": gaps}, **quiet)["UCB1"]
    assert [point["environment.gap"] for point in swept.points] == gaps
    for h, gap in enumerate(gaps):
        written = cls.from_means([0.75, 0.75 - gap, 0.75 - gap])
        alone = compare([UCB1(n_arms=3)], written, 60, 4, **quiet)["UCB1"]
        np.testing.assert_array_equal(swept.get("regret")[h], alone.get("regret")[0])
    state = env.init(jax.random.key(0))
    np.testing.assert_array_equal(state.theta, [0.75, 0.25, 0.25])
    assert state.best == 0.75 and cls.from_gap(gap=0.1, n_arms=2).best == 0.5
    again = from_spec(to_spec(env))
    assert (again.gap, again.best, again.means) == (0.5, 0.75, None)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BernoulliArms.from_gap(gap=0.7, n_arms=2), r"BernoulliArms: best and best - gap must lie in \[0, 1\]"),
        (lambda: BernoulliArms.from_gap(gap=0.1, n_arms=2, best=1.05), r"best and best - gap must lie in \[0, 1\]"),
        (lambda: BernoulliArms.from_gap(gap=np.uint8(1), n_arms=2, best=np.uint8(0)), "got -1"),  # not 255
        (lambda: BetaArms.from_gap(gap=0.5, n_arms=2), r"BetaArms: best and best - gap must lie in \(0, 1\)"),
        (lambda: NoisyArms.from_gap(gap=-0.1, n_arms=2), r"NoisyArms.gap must lie in \[0, inf\)"),
        (lambda: BernoulliArms.from_gap(gap="wide", n_arms=2), "BernoulliArms.gap must be a number"),
        (lambda: BernoulliArms.from_means([0.5, 0.4], gap=0.1, best=0.5), "takes either means, or gap and best"),
        (lambda: BernoulliArms.from_means([0.5, 0.4], best=0.5), "takes either means, or gap and best"),
        (lambda: sweep_gap(BernoulliArms(n_arms=2), [0.1]), "takes either means, or gap and best"),
        (lambda: sweep_gap(BernoulliArms.from_gap(gap=0.1, n_arms=2), [0.1, 0.6]), "best and best - gap must lie"),
    ],
)
def test_gaps_that_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


def sweep_gap(env, gaps):
    """Sweep the gap of two arms."""
    return sweep(UCB1(n_arms=2), env, 5, 2, grid={"environment.gap": gaps}, progress=False)


def test_arms_with_a_gap_drift_and_tell_the_best(key):
    env = operators.with_drift(BernoulliArms.from_gap(gap=0.25, n_arms=2), operators.RandomWalk(length=0.0))
    result = compare([UCB1(n_arms=2)], env, 20, 2, progress=False, width=16)
    assert result["UCB1"].healthy.all() and (result.final("regret") <= 20 * 0.25).all()
    env = BernoulliArms.from_gap(gap=0.25, n_arms=3)
    found = env.at_record(env.init(key), jnp.int32(2))
    assert float(found["simple_regret"]) == 0.25 and not found["correct"]
