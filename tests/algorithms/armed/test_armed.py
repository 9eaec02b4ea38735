"""K-armed learners step by step against their references, and the laws of their draws."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats as st

from jaxbandits import simulate
from jaxbandits.algorithms.armed.ao_ucb import AOUCB
from jaxbandits.algorithms.armed.bayes_ucb import BayesUCB
from jaxbandits.algorithms.armed.catoni_ucb import CatoniUCB
from jaxbandits.algorithms.armed.chernoff_ucb import ChernoffUCB
from jaxbandits.algorithms.armed.d_kl_ucb import DKLUCB
from jaxbandits.algorithms.armed.d_ucb import DUCB
from jaxbandits.algorithms.armed.discounted_ts import DiscountedTS
from jaxbandits.algorithms.armed.eps_greedy import EpsGreedy
from jaxbandits.algorithms.armed.etc import ETC
from jaxbandits.algorithms.armed.exp3 import Exp3
from jaxbandits.algorithms.armed.exp3_ix import Exp3IX
from jaxbandits.algorithms.armed.exp3_s import Exp3S
from jaxbandits.algorithms.armed.index_policy import Pulls
from jaxbandits.algorithms.armed.kl_ucb import KLUCB
from jaxbandits.algorithms.armed.median_of_means_ucb import MedianOfMeansUCB
from jaxbandits.algorithms.armed.moss import MOSS
from jaxbandits.algorithms.armed.rexp3 import REXP3
from jaxbandits.algorithms.armed.robust_ucb import RobustUCB
from jaxbandits.algorithms.armed.sw_kl_ucb import SWKLUCB
from jaxbandits.algorithms.armed.sw_ucb import SWUCB
from jaxbandits.algorithms.armed.thompson_beta import ThompsonBeta
from jaxbandits.algorithms.armed.thompson_gaussian import ThompsonGaussian
from jaxbandits.algorithms.armed.tsallis_inf import TsallisINF, tsallis_weights
from jaxbandits.algorithms.armed.ucb1 import UCB1
from jaxbandits.algorithms.armed.ucb_delta import UCBDelta
from jaxbandits.algorithms.armed.ucb_tuned import UCBTuned
from jaxbandits.algorithms.armed.ucb_v import UCBV
from jaxbandits.armed import BernoulliArms, NoisyArms
from jaxbandits.base.errors import InputError
from jaxbandits.reproduction.experiments.classics import besson_tables
from jaxbandits.types import ArmDecision, ArmObs, IndexObs, Reward
from tests.algorithms.armed.replay_armed import compare_with_reference, index, play, weights
from tests.reference import armed as reference

ROUNDS, ARMS = 200, 4
INDEX_POLICIES = {
    "ucb1": (UCB1(n_arms=ARMS), reference.UCB1(ARMS)),
    "ucb1 with 1/2": (UCB1(n_arms=ARMS, exploration=0.5), reference.UCB1(ARMS, exploration=0.5)),
    "ucb_delta": (
        UCBDelta(n_arms=ARMS, delta=0.03, noise_scale=0.7),
        reference.UCBDelta(ARMS, delta=0.03, noise_scale=0.7),
    ),
    "chernoff_ucb": (ChernoffUCB(n_arms=ARMS), reference.ChernoffUCB(ARMS)),
    "ao_ucb": (AOUCB(n_arms=ARMS, noise_scale=0.7), reference.AOUCB(ARMS, noise_scale=0.7)),
    "moss": (MOSS(n_arms=ARMS, horizon=ROUNDS), reference.MOSS(ARMS, horizon=ROUNDS, noise_scale=1.0)),
    "ucb_v": (
        UCBV(n_arms=ARMS, zeta=0.9, c=0.5, reward_range=2.0),
        reference.UCBV(ARMS, zeta=0.9, c=0.5, reward_range=2.0),
    ),
    "ucb_tuned": (UCBTuned(n_arms=ARMS), reference.UCBTuned(ARMS)),
    "kl_ucb": (KLUCB(n_arms=ARMS), reference.KLUCB(ARMS, c=0.0)),
    "kl_ucb theory": (KLUCB.theory(n_arms=ARMS), reference.KLUCB(ARMS, c=3.0)),
    "bayes_ucb": (BayesUCB(n_arms=ARMS), reference.BayesUCB(ARMS, horizon=1000.0, c=0.0)),
    "bayes_ucb theory": (BayesUCB.theory(n_arms=ARMS, horizon=ROUNDS), reference.BayesUCB(ARMS, horizon=ROUNDS, c=5.0)),
    "robust_ucb": (
        RobustUCB(n_arms=ARMS, moment_bound=0.3, eps=0.7, scale=0.1),
        reference.RobustUCB(ARMS, moment_bound=0.3, eps=0.7, scale=0.1),
    ),
    "median_of_means_ucb": (
        MedianOfMeansUCB(n_arms=ARMS, moment_bound=0.3, eps=0.7, scale=0.02, n_bins=32),
        reference.MedianOfMeansUCB(ARMS, moment_bound=0.3, eps=0.7, scale=0.02, n_bins=32),
    ),
    "median_of_means_ucb with two bins": (
        MedianOfMeansUCB(n_arms=ARMS, moment_bound=0.3, scale=0.02, n_bins=2),
        reference.MedianOfMeansUCB(ARMS, moment_bound=0.3, eps=1.0, scale=0.02, n_bins=2),
    ),
    "catoni_ucb": (
        CatoniUCB(n_arms=ARMS, variance_bound=0.2, scale=0.1, n_bins=32),
        reference.CatoniUCB(ARMS, variance_bound=0.2, scale=0.1, n_bins=32),
    ),
    "etc": (ETC(n_arms=ARMS, exploration=7.0), reference.ETC(ARMS, exploration=7)),
    "d_ucb": (DUCB(n_arms=ARMS, discount=0.95), reference.DUCB(ARMS, discount=0.95, reward_bound=1.0, xi=0.6)),
    "sw_ucb": (
        SWUCB(n_arms=ARMS, window=23, reward_bound=0.5),
        reference.SWUCB(ARMS, window=23, reward_bound=0.5, xi=0.6),
    ),
    "d_kl_ucb": (DKLUCB(n_arms=ARMS, discount=0.95), reference.DKLUCB(ARMS, discount=0.95, c=0.0)),
    "d_kl_ucb with c": (DKLUCB(n_arms=ARMS, discount=0.9, c=3.0), reference.DKLUCB(ARMS, discount=0.9, c=3.0)),
    "d_kl_ucb of the thesis": (
        besson_tables.DKLUCBOfThesis(n_arms=ARMS, discount=0.95), reference.DKLUCBOfThesis(ARMS, discount=0.95)
    ),
    "sw_kl_ucb": (SWKLUCB(n_arms=ARMS, window=23), reference.SWKLUCB(ARMS, window=23, c=0.0)),
    "sw_kl_ucb with c": (SWKLUCB(n_arms=ARMS, window=40, c=3.0), reference.SWKLUCB(ARMS, window=40, c=3.0)),
}  # fmt: skip
DISCOUNTED = {"discount": 0.9, "prior_success": 0.5, "prior_failure": 2.0}
SAMPLED = {
    "exp3": (Exp3(n_arms=ARMS, learning_rate=0.2), reference.Exp3(ARMS, learning_rate=0.2)),
    "exp3 anytime": (Exp3(n_arms=ARMS), reference.AnytimeExp3(ARMS)),
    "exp3_ix": (Exp3IX(n_arms=ARMS, learning_rate=0.3), reference.Exp3IX(ARMS, learning_rate=0.3)),
    "tsallis_inf": (TsallisINF(n_arms=ARMS), reference.TsallisINF(ARMS)),
}


def recorded_rewards(rng, kind):
    """Rewards `[T, K]` in [0, 1], and which arms are available."""
    means = np.array([0.7, 0.5, 0.4, 0.1])
    rewards = (rng.uniform(size=(ROUNDS, ARMS)) < means).astype(float) if kind == "coins" else None
    if rewards is None:
        rewards = rng.beta(3 * means, 3 * (1 - means), size=(ROUNDS, ARMS))
    mask = np.ones((ROUNDS, ARMS), bool)
    if kind == "masked":
        mask = rng.uniform(size=(ROUNDS, ARMS)) < 0.6
        mask[np.arange(ROUNDS), rng.integers(ARMS, size=ROUNDS)] = True
    return rewards, mask


@pytest.mark.slow_cases("bayes_ucb theory-coins", "bayes_ucb theory-masked", "*-fractions")
@pytest.mark.parametrize("kind", ["coins", "fractions", "masked"])
@pytest.mark.parametrize("name", INDEX_POLICIES)
def test_index_policies_against_their_references(name, kind, rng, key):
    learner, made = INDEX_POLICIES[name]
    fresh = type(made)(**{"n_arms": ARMS} | {k: v for k, v in vars(made).items() if k not in _ROUNDS_SO_FAR})
    decisions, _ = compare_with_reference(learner, fresh, *recorded_rewards(rng, kind), key, index)
    assert len(np.unique(decisions.index)) > 1


@pytest.mark.parametrize("kind", ["coins", "fractions", "masked"])
@pytest.mark.parametrize("name", SAMPLED)
def test_sampled_policies_against_their_references(name, kind, rng, key):
    learner, made = SAMPLED[name]
    fresh = type(made)(**{"n_arms": ARMS} | {k: v for k, v in vars(made).items() if k not in _ROUNDS_SO_FAR})
    rewards, mask = recorded_rewards(rng, kind)
    decisions, found = compare_with_reference(learner, fresh, rewards, mask, key, weights)
    drawn = np.asarray(found)[np.arange(ROUNDS), decisions.index]
    if kind != "masked":
        np.testing.assert_array_equal(decisions.probability, drawn)
    else:
        assert (np.asarray(decisions.probability) >= drawn * (1.0 - 1e-12)).all()  # the others share what is missing


_ROUNDS_SO_FAR = ("K", "arms", "rewards", "drawn_with", "masks")


MIXED = {
    "exp3_s": (
        Exp3S(n_arms=ARMS, exploration=0.3, sharing=0.01), reference.Exp3S(ARMS, exploration=0.3, sharing=0.01)
    ),
    "exp3_s without sharing": (
        Exp3S(n_arms=ARMS, exploration=0.3, sharing=0.0), reference.Exp3S(ARMS, exploration=0.3, sharing=0.0)
    ),
    "rexp3": (REXP3(n_arms=ARMS, exploration=0.3, period=17), reference.REXP3(ARMS, exploration=0.3, period=17)),
}  # fmt: skip


def probabilities(learner, key, t, state):
    """Return the probabilities of a policy of mixed weights where all arms are available."""
    del key
    return learner.probabilities(t, state)


@pytest.mark.parametrize("kind", ["coins", *(pytest.param(k, marks=pytest.mark.slow) for k in ("fractions", "masked"))])
@pytest.mark.parametrize("name", MIXED)
def test_mixed_weights_against_their_references(name, kind, rng, key):
    learner, made = MIXED[name]
    fresh = type(made)(**{"n_arms": ARMS} | {k: v for k, v in vars(made).items() if k not in _ROUNDS_SO_FAR})
    rewards, mask = recorded_rewards(rng, kind)
    decisions, found = compare_with_reference(learner, fresh, rewards, mask, key, probabilities)
    found = np.asarray(found)
    drawn, available = found[np.arange(ROUNDS), decisions.index], (found * mask).sum(axis=1)
    np.testing.assert_allclose(decisions.probability, drawn / available, rtol=1e-12)
    assert np.ptp(found, axis=0).max() > 0.1


@pytest.mark.parametrize(
    ("learner", "reward", "share"),
    [(Exp3(n_arms=3), 0.0, 0.8), (TsallisINF(n_arms=3), 0.0, 0.8), (Exp3S(n_arms=3, sharing=0.0), 1.0, 0.3)],
)
def test_an_arm_that_becomes_available_late_is_soon_judged_by_its_rewards(learner, reward, share, key):
    """Estimates of losses or of rewards that stand still in the meantime would take as long again to be outgrown."""
    n = 4_000
    rewards, mask = np.broadcast_to([reward, 0.7, 0.4], (n, 3)), np.ones((n, 3), bool)
    mask[: n // 2, 0] = False
    played = np.asarray(play(learner, rewards, mask, key, lambda learner, key, t, state: ())[0].index)
    best = 0 if reward == 1.0 else 1
    assert (played[n // 2 :] == best).mean() > share


@pytest.mark.parametrize(
    "learner", [Exp3S(n_arms=2, exploration=0.5, sharing=0.0), REXP3(n_arms=2, exploration=0.5, period=10**6)]
)
def test_an_arm_that_was_worse_for_long_is_found_once_it_is_the_best(learner, key):
    """A weight of e^-1000 is 0 in floating point, and would remain 0 whatever the arm pays."""
    n = 4_000
    rewards = np.repeat([[1.0, 0.0], [0.0, 1.0]], n, axis=0)
    played = np.asarray(play(learner, rewards, np.ones((2 * n, 2), bool), key, lambda *_: ())[0].index)
    assert (played[n - 500 : n] == 0).mean() > 0.7
    assert (played[-500:] == 1).mean() > 0.7


def posterior(learner, key, t, state):
    """Return both parameters of every arm, one after the other."""
    del key, t
    return jnp.concatenate(learner.posterior(state))


@pytest.mark.parametrize(
    ("learner", "their_class"),
    [
        (DiscountedTS(n_arms=ARMS, **DISCOUNTED), reference.DiscountedTS),
        (besson_tables.CodeOfThesis(paper=DiscountedTS(n_arms=ARMS, **DISCOUNTED)), reference.DiscountedTSOfThesis),
    ],
    ids=["paper", "code of the thesis"],
)
def test_posteriors_are_discounted(learner, their_class, rng, key):
    theirs = their_class(ARMS, **DISCOUNTED)
    compare_with_reference(learner, theirs, *recorded_rewards(rng, "fractions"), key, posterior)


def test_ties_of_the_code_of_the_thesis_are_broken_at_random(key):
    """Between two arms with one reward each, before a third with none."""
    learner = besson_tables.DKLUCBOfThesis(n_arms=3, discount=0.9)
    state = besson_tables.LastSums(jnp.ones(3), jnp.array([0.0, 1.0, 1.0]), jnp.arange(3, dtype=jnp.int32))
    select = jax.jit(jax.vmap(lambda k: learner.select(k, jnp.int32(3), state, IndexObs.of(3)).index))
    counts = np.bincount(select(jax.random.split(key, 4000)), minlength=3)
    assert counts[0] == 0 and st.binomtest(int(counts[1]), 4000).pvalue > 1e-4


@pytest.mark.slow_after_first
@pytest.mark.parametrize("name", SAMPLED)
def test_arms_are_drawn_with_the_probability_that_decisions_carry(name, key):
    learner, _ = SAMPLED[name]
    state = jax.jit(learner.init)(key)._replace(losses=jnp.array([0.0, 3.0, 1.0, 7.0]))
    mask, t = jnp.array([True, True, False, True]), jnp.int32(40)
    select = jax.jit(jax.vmap(lambda k: learner.select(k, t, state, IndexObs.of(ARMS, mask))))
    decisions = select(jax.random.split(key, 20_000))
    counts = np.bincount(decisions.index, minlength=ARMS)
    assert counts[2] == 0
    p = np.array([decisions.probability[decisions.index == i][0] if counts[i] else 0.0 for i in range(ARMS)])
    np.testing.assert_allclose(p.sum(), 1.0, rtol=1e-12)
    assert st.chisquare(counts[[0, 1, 3]], 20_000 * p[[0, 1, 3]]).pvalue > 1e-4


@pytest.mark.parametrize("n", [1, 2, 10, 1000])
def test_tsallis_weights_against_bisection(n, rng):
    for scale in (0.0, 0.01, 1.0, 10.0, 1e4):
        losses, rate = scale * rng.exponential(size=n), 0.3
        wanted = reference.tsallis(losses, rate)
        np.testing.assert_allclose(tsallis_weights(jnp.asarray(losses), jnp.asarray(rate)), wanted, rtol=1e-9)


@pytest.mark.parametrize("learner", [Exp3, Exp3IX])
@pytest.mark.parametrize(("n_arms", "t"), [(1000, 3_000_000), (10, 2**31 - 2)])
def test_rates_of_long_runs(learner, n_arms, t):
    """The product K t of the learning rate exceeds the range of int32."""
    losses = 100.0 * np.sqrt(t) * np.arange(n_arms) / n_arms
    wanted = np.exp(-np.sqrt(np.log(n_arms) / (float(n_arms) * (t + 1))) * losses)
    found = learner(n_arms=n_arms).weights(jnp.int32(t), jnp.asarray(losses))
    np.testing.assert_allclose(found, wanted / wanted.sum(), rtol=1e-9, atol=1e-300)


def test_catoni_estimate_under_heavy_tails(rng):
    """From the root of all rewards but the last one, which may be huge."""
    learner, t = CatoniUCB(n_arms=2, variance_bound=20.0, n_bins=128), jnp.int32(100)
    update, index = jax.jit(learner.update), jax.jit(lambda s: learner.index(None, t, s)[0])
    decision = ArmDecision(jnp.int32(0), None)
    for scale in (1.0, 1e3):
        x = scale * rng.standard_t(2.1, size=60)
        x[[20, 59]] = 1e6, -1e4
        state, theirs = learner.init(None), reference.CatoniUCB(2, variance_bound=20.0, scale=1.0, n_bins=128)
        for n, reward in enumerate(x, start=1):
            state = update(None, jnp.int32(n - 1), state, None, decision, Reward(jnp.asarray(reward)))
            if n >= 40:
                np.testing.assert_allclose(index(state), theirs.of(100, x[:n]), rtol=1e-7, err_msg=str(n))


def test_catoni_estimate_after_a_reward_whose_square_overflows():
    """The influence of a reward grows with its logarithm, and no longer where squares overflow."""
    learner = CatoniUCB(n_arms=2, n_bins=64)
    update, index = jax.jit(learner.update), jax.jit(lambda s: learner.index(None, jnp.int32(50), s)[0])
    found = []
    for huge in (1e140, 1e200, np.inf):
        state = learner.init(None)
        for n in range(50):
            reward = Reward(jnp.asarray(huge if n == 20 else 0.1 * n))
            state = update(None, jnp.int32(n), state, None, ArmDecision(jnp.int32(0), None), reward)
        found.append(float(index(state)))
    assert found[0] < found[1] == found[2] < 2.5 * found[0]


@pytest.mark.parametrize("learner", [Exp3S(n_arms=2), REXP3(n_arms=2), RobustUCB(n_arms=2)])
def test_a_reward_of_nan_remains_in_the_state(learner, key):
    """A trial whose state has no NaN counts as healthy."""
    state, obs, t = learner.init(key), IndexObs.of(2), jnp.int32(1)
    decision = learner.select(key, t, state, obs)
    state = learner.update(key, t, state, obs, decision, Reward(jnp.array(jnp.nan)))
    assert any(np.isnan(leaf).any() for leaf in jax.tree.leaves(state))


def test_the_earlier_name_of_the_positive_count_warns():
    state = Pulls(jnp.array([3.0, 0.0]), jnp.array([1.0, 0.0]))
    with pytest.warns(DeprecationWarning, match="use `positive_count`"):
        np.testing.assert_array_equal(state.played, state.positive_count)
    np.testing.assert_array_equal(state.positive_count, [3.0, 1.0])


def test_eps_greedy_explores_at_its_rate(key):
    learner, theirs = EpsGreedy(n_arms=ARMS, rate=0.5, gap=0.3), reference.EpsGreedy(ARMS, rate=0.5, gap=0.3)
    state = Pulls(jnp.array([3.0, 2.0, 4.0, 5.0]), jnp.array([1.0, 1.9, 1.0, 0.0]))
    for t in (0, 10, 60, 1000):
        mask = jnp.array([True, True, True, t != 60])
        select = jax.jit(jax.vmap(lambda k: learner.select(k, jnp.int32(t), state, IndexObs.of(ARMS, mask)).index))  # noqa: B023
        counts = np.bincount(select(jax.random.split(key, 20_000)), minlength=ARMS)
        eps = theirs.exploration(t)
        np.testing.assert_allclose(learner.exploration(jnp.int32(t)), eps, rtol=1e-12)
        p = np.where(mask, eps / mask.sum(), 0.0) + (1.0 - eps) * (np.arange(ARMS) == 1)
        seen = p > 0.0
        assert counts[~seen].sum() == 0
        assert st.chisquare(counts[seen], 20_000 * p[seen] / p.sum()).pvalue > 1e-4


THOMPSON = {
    "gaussian": (ThompsonGaussian(n_arms=ARMS, noise_scale=0.5), lambda r, i: st.norm(*r.gaussian(i, 0.5))),
    "beta": (ThompsonBeta(n_arms=ARMS), lambda r, i: st.beta(*r.beta(i, 1.0, 1.0, 1.0))),
    "beta reshaped": (
        ThompsonBeta(n_arms=ARMS, prior_success=0.5, prior_failure=2.0, reshaping=2.5),
        lambda r, i: st.beta(*r.beta(i, 0.5, 2.0, 2.5)),
    ),
    "discounted": (DiscountedTS(n_arms=ARMS, discount=1.0), lambda r, i: st.beta(*r.beta(i, 1.0, 1.0, 1.0))),
}


@pytest.mark.quick_cases("beta", "gaussian")
@pytest.mark.parametrize("name", THOMPSON)
def test_thompson_sampling_draws_its_posterior(name, rng, key):
    """After a trace of 20 rounds, and the arm with the largest draw is played."""
    learner, law = THOMPSON[name]
    theirs, state, t = reference.Thompson(ARMS), learner.init(key), jnp.int32(20)
    for arm, reward in zip(rng.integers(ARMS - 1, size=20), rng.uniform(size=20), strict=True):
        state = learner.update(key, t, state, None, ArmDecision(jnp.int32(arm), None), Reward(jnp.asarray(reward)))
        theirs.update(arm, reward)
    keys = jax.random.split(key, 20_000)
    drawn = np.asarray(jax.jit(jax.vmap(lambda k: learner.index(k, t, state)))(keys))
    for i in range(ARMS):  # the last arm was never played
        assert st.kstest(drawn[:, i], law(theirs, i).cdf).pvalue > 1e-4, i
    assert (np.abs(np.corrcoef(drawn.T) - np.eye(ARMS)) < 5.0 / np.sqrt(len(drawn))).all()
    mask = jnp.array([True, True, True, False])
    played = jax.jit(jax.vmap(lambda k: learner.select(k, t, state, IndexObs.of(ARMS, mask)).index))(keys)
    np.testing.assert_array_equal(played, drawn[:, :3].argmax(axis=1))


def test_etc_commits(rng, key):
    rewards, mask = recorded_rewards(rng, "coins")
    rewards[12:] = np.inf  # ignored
    played = np.asarray(play(ETC(n_arms=ARMS, exploration=2.5), rewards, mask, key, index)[0].index)
    np.testing.assert_array_equal(played[:12], np.arange(12) % ARMS)
    means = [rewards[:12][played[:12] == i, i].mean() for i in range(ARMS)]
    assert (played[12:] == np.argmax(means)).all()


def test_unplayed_arms_come_in_turn_while_feedback_is_late():
    learner = UCB1(n_arms=3)
    state = learner.init(jax.random.key(0))
    select = jax.jit(lambda t: learner.select(jax.random.key(0), t, state, IndexObs.of(3)).index)
    played = [int(select(jnp.int32(t))) for t in range(6)]
    assert played == [0, 1, 2, 0, 1, 2]


@pytest.mark.parametrize(
    "learner",
    [DUCB(n_arms=300, discount=0.5), AOUCB(n_arms=4, noise_scale=1e50)],
    ids=lambda learner: type(learner).__name__,
)
def test_every_arm_is_played_before_the_index_is_used_however_large_it_is(learner, key):
    """Bounds of D-UCB grow without limit for arms whose plays are long ago."""
    n = learner.n_arms
    decisions, _ = play(learner, np.full((2 * n, n), 0.5), np.ones((2 * n, n), bool), key, index)
    np.testing.assert_array_equal(decisions.index[:n], np.arange(n))


def test_catoni_plays_every_arm_often_enough_however_large_the_index_is(key):
    learner = CatoniUCB(n_arms=2, variance_bound=1e120)
    decisions, _ = play(learner, np.full((120, 2), 0.5), np.ones((120, 2), bool), key, index)
    assert np.bincount(decisions.index).min() > 8.0 * np.log(100.0)


@pytest.mark.parametrize("c", [100.0, 1000.0])
def test_quantiles_of_tails_that_underflow(c):
    pulls = Pulls(jnp.full(3, 10.0), jnp.array([1.0, 5.0, 9.0]))
    found = np.asarray(BayesUCB(n_arms=3, c=c).index(None, jnp.int32(50), pulls))
    assert ((found > 0.99) & (found <= 1.0)).all() and (np.diff(found) >= 0.0).all()


def test_presets():
    n, gap = 1000, 0.2
    assert ETC.theory(gap=gap, horizon=n).exploration == np.ceil(4 / gap**2 * np.log(n * gap**2 / 4)) == 231
    assert ETC.theory(gap=1.0, horizon=1).exploration == 1
    assert Exp3.theory(n_arms=5, horizon=n).learning_rate == pytest.approx(np.sqrt(np.log(5) / (5 * n)))
    assert Exp3IX.theory(n_arms=5, horizon=n).learning_rate == pytest.approx(np.sqrt(2 * np.log(6) / (5 * n)))
    assert DUCB.theory(n_arms=5, horizon=10_000, changes=4).discount == pytest.approx(1 - 0.02 / 4)
    assert SWUCB.theory(n_arms=5, horizon=10_000, changes=4).window == np.ceil(2 * np.sqrt(1e4 * np.log(1e4) / 4))
    assert KLUCB.theory(n_arms=5).c == 3.0
    window = SWKLUCB.theory(n_arms=5, horizon=10_000, changes=4).window
    assert window == np.ceil(2 * np.sqrt(1e4 * np.log(1e4) / 4))
    assert DKLUCB.theory(n_arms=5, horizon=10_000, changes=4).discount == pytest.approx(1 - 0.02 / 4)
    exp3_s = Exp3S.theory(n_arms=5, horizon=n, changes=3)
    assert exp3_s.sharing == 1 / n
    assert exp3_s.exploration == pytest.approx(np.sqrt(5 * (3 * np.log(5 * n) + np.e) / ((np.e - 1) * n)))
    rexp3 = REXP3.theory(n_arms=5, horizon=n, variation=2.0)
    assert rexp3.period == np.ceil((5 * np.log(5)) ** (1 / 3) * (n / 2) ** (2 / 3)) == 127
    assert rexp3.exploration == pytest.approx(np.sqrt(5 * np.log(5) / ((np.e - 1) * 127)))
    for n_arms, period in ((5, 10**9), (1, 1)):  # a quotient T / V that overflows
        assert REXP3.theory(n_arms=n_arms, horizon=10**9, variation=1e-300).period == period
    with pytest.raises(
        InputError, match=r"^variation must be at least about 0.003 .* but a run has at most 2147483647"
    ):
        REXP3.theory(n_arms=5, horizon=10**11, variation=1e-4)
    for n_arms, n in ((5, 10**11), (2, 3 * 10**10), (7, 8 * 10**11), (50, 10**12)):  # what is advised is accepted
        with pytest.raises(InputError, match="at least about") as refused:
            REXP3.theory(n_arms=n_arms, horizon=n, variation=1e-9)
        advised = float(str(refused.value).split("at least about ")[1].split()[0])
        assert REXP3.theory(n_arms=n_arms, horizon=n, variation=advised).period < 2**31
    assert UCBDelta.theory(n_arms=5, horizon=jnp.array(100_000, jnp.int32)).delta == pytest.approx(1e-10)
    with pytest.raises(InputError, match=r"changes must"):
        SWUCB.theory(n_arms=5, horizon=10, changes=11)


@pytest.mark.parametrize(
    ("learner", "needs"),
    [(AOUCB, {}), (MOSS, {"horizon": 100}), (ThompsonGaussian, {}), (UCBDelta, {"horizon": 100})],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_bounded_presets_have_half_the_width_as_noise_scale(learner, needs):
    """Hoeffding's lemma: E exp(s (X - E X)) <= exp(s^2 w^2 / 8) for X in an interval of width w."""
    made = learner.bounded(n_arms=5, **needs)
    assert (made.noise_scale, made.sub_gaussian_scale, made.n_arms) == (0.5, 0.5, 5)
    assert learner.bounded(n_arms=5, width=3.0, **needs).noise_scale == 1.5
    assert learner.bounded(n_arms=5, noise_scale=0.1, **needs).noise_scale == 0.1
    np.testing.assert_array_equal(learner.bounded(n_arms=5, width=[1.0, 4.0], **needs).noise_scale, [0.5, 2.0])
    if learner is UCBDelta:
        assert made.delta == 1e-4
    for width in (0.0, -1.0, np.inf, "wide", True):
        with pytest.raises(InputError, match="width must"):
            learner.bounded(n_arms=5, width=width, **needs)


def test_rounds_may_have_64_bits(key):
    """As the rounds of `lax.fori_loop` with x64."""
    learner = RobustUCB(n_arms=2)
    state = learner.init(key)._replace(count=jnp.full(2, 9.0))
    narrow, wide = (learner.index(key, jnp.asarray(1000, kind), state) for kind in (jnp.int32, jnp.int64))
    np.testing.assert_array_equal(narrow, wide)


@pytest.mark.parametrize("name", ["prior_success", "prior_failure"])
def test_priors_for_which_beta_quantiles_are_wrong_are_refused(name):
    with pytest.raises(InputError, match=rf"BayesUCB\.{name} must lie in \[0\.1, inf\), got 0\.001"):
        simulate(BayesUCB(n_arms=2, **{name: 0.001}), BernoulliArms(n_arms=2), 5, 2, progress=False)


def test_an_odd_number_of_bins_is_refused():
    with pytest.raises(InputError, match=r"CatoniUCB\.n_bins must be even, got 5"):
        simulate(CatoniUCB(n_arms=3, n_bins=5), NoisyArms(n_arms=3), 5, 2, progress=False)


def test_features_are_not_looked_at(key):
    learner = UCB1(n_arms=3)
    decision = learner.select(key, jnp.int32(1), learner.init(key), ArmObs(jnp.eye(3, 2)))
    np.testing.assert_array_equal(decision.x, [0.0, 1.0])
    with pytest.raises(InputError, match="has 4 arms, but the learner has n_arms=3"):
        learner.select(key, jnp.int32(0), learner.init(key), IndexObs.of(4))
    state = learner.update(
        key, jnp.int32(0), learner.init(key), None, ArmDecision(jnp.int32(2), jnp.zeros(2)), Reward(0.5)
    )
    np.testing.assert_array_equal(state.total, [0.0, 0.0, 0.5])
