"""`play`: learners in Python meet the instances and the noise of the compiled ones, and their mistakes are named."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import polars as pl
import pytest

from jaxbandits import armed, contextual, data, each, glm, linear, merge, operators, play, pytree, simulate
from jaxbandits.base.errors import InputError
from jaxbandits.combinatorial import SemiBandit
from jaxbandits.duels import DuelingArms
from jaxbandits.oco import OGD, QuadraticLosses
from jaxbandits.simulation import Meter
from jaxbandits.teams import SharedArms

K, D, W = 5, 3, 7  # arms, dimension, trials: all different, so that no axis can stand for another one
QUIET = {"progress": False}
ARM = Meter("arm", lambda r: r.decision.index, "last")


class UCB1:
    """UCB1 in NumPy for W trials."""

    def start(self, n_trials, n_arms, dim, seeds):
        self.count, self.total = np.zeros((n_trials, n_arms)), np.zeros((n_trials, n_arms))
        self.trials = np.arange(n_trials)

    def select(self, t, obs):
        t, played, n_arms = np.reshape(t, (-1, 1)), np.maximum(self.count, 1.0), self.count.shape[1]
        index = self.total / played + np.sqrt(2.0 * np.log(np.maximum(t, 1)) / played)
        turn = (np.arange(n_arms) - t) % n_arms  # arms that were not played come first, from arm t mod K on
        return np.argmax(np.where(self.count == 0, 1e9 * (n_arms - turn), index), axis=1)

    def update(self, t, obs, index, reward, is_counted=True):
        self.count[self.trials, index] += is_counted
        self.total[self.trials, index] += reward * is_counted


class SingleUCB1:
    """The same for one trial."""

    def __init__(self, seed):
        self.inside = UCB1()
        self.inside.start(1, K, 0, [seed])

    def select(self, t, obs):
        assert len(obs.arms) == K
        return int(self.inside.select(t, obs)[0])

    def update(self, t, obs, index, reward):
        self.inside.update(t, obs, index, reward)


class LinUCB:
    """LinUCB with disjoint models in NumPy."""

    def start(self, n_trials, n_arms, dim, seeds):
        assert (n_trials, n_arms, dim) == (W, K, D)
        self.gram = np.tile(np.eye(dim), (n_trials, n_arms, 1, 1))
        self.moment, self.trials = np.zeros((n_trials, n_arms, dim)), np.arange(n_trials)

    def select(self, t, obs):
        assert obs.context.shape == (W, D) and obs.arms.shape == (W, K) and obs.mask is None
        inverse = np.linalg.inv(self.gram)
        theta = np.einsum("wkij,wkj->wki", inverse, self.moment)
        variance = np.einsum("wi,wkij,wj->wk", obs.context, inverse, obs.context)
        return np.argmax(np.einsum("wki,wi->wk", theta, obs.context) + np.sqrt(variance), axis=1)

    def update(self, t, obs, index, reward):
        self.gram[self.trials, index] += obs.context[:, :, None] * obs.context[:, None, :]
        self.moment[self.trials, index] += reward[:, None] * obs.context


class Script:
    """A learner that returns what it is told to, and notes what it receives."""

    def __init__(self, choose):
        self.choose, self.updates = choose, []

    def select(self, t, obs):
        return self.choose(t, obs)

    def update(self, *received):
        self.updates.append(received)


def coins(n_arms=K):
    return armed.BernoulliArms.from_means(np.linspace(0.9, 0.1, n_arms))


def assert_same(played, simulated, rtol=1e-12):
    """All metrics at all record points: the arms exactly, sums to rounding."""
    (one,), (other,) = played.values(), simulated.values()
    assert set(one.metrics) == set(other.metrics)
    for metric in one.metrics:
        np.testing.assert_allclose(one[metric], other[metric], rtol=rtol, atol=rtol, err_msg=metric)
    np.testing.assert_array_equal(one["arm"], other["arm"])


def run_both(learner, compiled, environment, horizon, n=W, **settings):
    settings = {"record_points": horizon, "meters": [ARM], **QUIET} | settings  # every round
    return play(learner, environment, horizon, n, **settings), simulate(compiled, environment, horizon, n, **settings)


@pytest.mark.parametrize("learner", [UCB1(), each(SingleUCB1)], ids=["all trials", "each"])
def test_ucb1_in_numpy_equals_the_compiled_one_round_by_round(learner):
    played, simulated = run_both(learner, armed.UCB1(n_arms=K), coins(), 200, first_seed=11, seed=3)
    assert_same(played, simulated)
    assert len(np.unique(played["arm"])) == K and len(np.unique(played.final("regret"))) > 1


def test_lin_ucb_in_numpy_equals_the_compiled_one_round_by_round():
    environment = contextual.LinearContexts(n_arms=K, dim=D)
    assert_same(*run_both(LinUCB(), contextual.DisjointLinUCB(n_arms=K, dim=D), environment, 60))


@pytest.mark.slow_after_first
@pytest.mark.parametrize("rounds", [3, 4])
def test_late_feedback_arrives_as_in_the_compiled_loop(rounds):
    for operator in (operators.with_delay, operators.with_batches):
        assert_same(*run_both(UCB1(), armed.UCB1(n_arms=K), operator(coins(), rounds), 40))
    both = operators.with_delay(operators.with_batches(coins(), 3), 2)
    learner = Script(lambda t, obs: np.full(W, t % K))
    play(learner, both, 12, W, **QUIET)
    assert [t for t, *_ in learner.updates] == list(range(9))
    assert all((index == t % K).all() for t, _, index, _ in learner.updates)


def test_a_learner_may_choose_in_the_same_array_in_every_round():
    chosen = np.zeros(W, int)

    def choose(t, obs):
        chosen[:] = t % K
        return chosen

    learner = Script(choose)
    play(learner, operators.with_delay(coins(), 2), 9, W, **QUIET)
    assert [index.tolist() for _, _, index, _ in learner.updates] == [[t % K] * W for t in range(7)]


class RecommendingUCB1(UCB1):
    """UCB1 in NumPy that recommends the arm with the largest mean."""

    def recommend(self, t, obs):
        assert np.all(self.count.sum(axis=1) <= t) and obs.arms.shape == (W, K)
        return np.argmax(self.total / np.maximum(self.count, 1.0), axis=1)


class SingleRecommendingUCB1(SingleUCB1):
    """The same for one trial."""

    def recommend(self, t, obs):
        assert obs.arms.shape == (K,)
        return int(np.argmax(self.inside.total[0] / np.maximum(self.inside.count[0], 1.0)))


@pytree
class CompiledRecommendingUCB1(armed.UCB1):
    """The same, compiled."""

    def recommend(self, state):
        return jnp.argmax(state.mean)


@pytest.mark.parametrize("learner", [RecommendingUCB1(), each(SingleRecommendingUCB1)], ids=["all trials", "each"])
def test_recommendations_are_evaluated_as_those_of_a_compiled_learner(learner):
    compiled, points = CompiledRecommendingUCB1(n_arms=K), [1, 3, 10, 200]
    played, simulated = run_both(learner, compiled, coins(), 200, record_points=points)
    assert_same(played, simulated)
    (trials,) = played.values()
    assert trials["correct"].shape == (1, W, len(points)) and 0.0 < trials["correct"][..., 1:].mean() < 1.0
    np.testing.assert_array_equal(trials["correct"], trials["simple_regret"] == 0.0)
    assert trials.indicators == ("correct",)
    assert_same(*run_both(learner, compiled, operators.with_delay(coins(), 4), 30))  # what has arrived counts


def test_recommendations_are_asked_for_where_they_are_evaluated():
    class Silent(UCB1):
        def recommend(self, t, obs):
            raise AssertionError

    played = play(Silent(), contextual.LinearContexts(n_arms=K, dim=D), 3, W, **QUIET)
    assert played["Silent"].indicators == () and "correct" not in played["Silent"].metrics
    arm = Script(lambda t, obs: np.zeros(W, int))
    arm.recommend = lambda t, obs: np.zeros(W, int)
    played = play(arm, linear.HeavyTailed(dim=D, n_arms=K), 3, W, **QUIET)
    assert "estimation_error" not in played["Script"].metrics  # of estimates, which an arm is not


@pytest.mark.parametrize(
    ("recommended", "message"),
    [
        (np.full(W, K), f"round 1, trial 0: recommend returned {K}, but arms are numbered from 0 to {K - 1}"),
        (np.zeros(W + 1, int), "round 1: recommend must return one arm for each of 7 trials"),
        (None, "round 1: recommend must return one arm for each of 7 trials, .* got NoneType"),
    ],
)
def test_wrong_recommendations(recommended, message):
    learner = Script(lambda t, obs: np.zeros(W, int))
    learner.recommend = lambda t, obs: recommended
    with pytest.raises(InputError, match=message):
        play(learner, coins(), 3, W, record_points=[1, 3], **QUIET)


def test_all_learners_of_each_recommend_or_none():
    factory = lambda seed: (SingleRecommendingUCB1 if seed else SingleUCB1)(seed)  # noqa: E731
    with pytest.raises(
        InputError, match="each: 6 of 7 learners have a method recommend; either all or none must have it"
    ):
        play(each(factory), coins(), 3, W, **QUIET)


def test_rounds_that_do_not_count_are_marked():
    rng = np.random.default_rng(0)
    action = rng.integers(K, size=400)
    frame = pl.DataFrame({"action": action, "reward": rng.random(400) < 0.2 + 0.1 * action})
    replay = data.LoggedReplay.from_frame(frame, action="action", reward="reward")
    assert_same(*run_both(UCB1(), armed.UCB1(n_arms=K), replay, 300))
    assert_same(*run_both(each(SingleUCB1), armed.UCB1(n_arms=K), replay, 300))


def test_sums_over_many_rounds_are_those_of_the_compiled_loop():
    """Record points beside the multiples of 256 at which sums are folded."""
    environment = armed.NoisyArms(n_arms=K)
    settings = {"record_points": [100, 256, 700, 768, 800], "meters": []}
    played, simulated = run_both(UCB1(), armed.UCB1(n_arms=K), environment, 800, 3, **settings)
    np.testing.assert_allclose(played["UCB1"]["regret"], simulated["UCB1"]["regret"], rtol=1e-13)


def test_arms_that_never_change_are_those_of_the_instance():
    environment = linear.HeavyTailed(dim=D, n_arms=K)
    shown = []
    play(Script(lambda t, obs: shown.append(obs.arms) or np.zeros(W, int)), environment, 3, W, **QUIET)
    assert shown[0].shape == (W, K, D) and shown[0] is shown[2]
    assert not shown[0].flags.writeable
    arms = Meter("x", lambda r: r.decision.x, "last")
    result = play(Script(lambda t, obs: np.arange(W) % K), environment, 1, W, meters=[arms], **QUIET)
    np.testing.assert_array_equal(result.final("x")[0], shown[0][np.arange(W), np.arange(W) % K])


def test_probabilities_reach_the_decision():
    meter = Meter("probability", lambda r: r.decision.probability, "last")
    result = play(
        Script(lambda t, obs: (np.zeros(W, int), np.linspace(0.1, 1.0, W))), coins(), 2, W, meters=[meter], **QUIET
    )
    np.testing.assert_allclose(result.final("probability")[0], np.linspace(0.1, 1.0, W))


@pytest.mark.filterwarnings("ignore:only 7 seeds")
def test_a_played_result_is_compared_with_a_simulated_one_in_pairs():
    played = play({"numpy": UCB1(), "first": Script(lambda t, obs: np.zeros(W, int))}, coins(), 50, W, **QUIET)
    simulated = simulate(armed.UCB1(n_arms=K), coins(), 50, W, **QUIET)
    both = merge([played, simulated])
    assert both.labels == ("numpy", "first", "UCB1")
    assert {(pair.first, pair.second) for pair in both.pairs()} >= {("numpy", "UCB1")}
    assert both.paired_difference("numpy", "UCB1").mean == 0.0
    assert "first" in both.table()


def test_a_played_result_is_saved_and_loaded(tmp_path):
    played = play(UCB1(), coins(), 5, W, **QUIET)
    loaded = played.load(played.save(tmp_path / "played"))
    np.testing.assert_array_equal(loaded.get("regret"), played.get("regret"))
    assert loaded["UCB1"].spec["environment"] == played["UCB1"].spec["environment"]


def test_code_of_a_learner_is_vouched_for_or_not_merged():
    first, second = (play(UCB1(), coins(), 5, W, first_seed=seed, **QUIET) for seed in (0, W))
    with pytest.raises(
        InputError,
        match="UCB1 is code that runs in Python; no digest identifies the version of this code: pass identity",
    ):
        merge([first, second])
    parts = [play(UCB1(), coins(), 5, W, first_seed=seed, identity="1", **QUIET) for seed in (0, W)]
    whole = play(UCB1(), coins(), 5, 2 * W, **QUIET)
    np.testing.assert_array_equal(merge(parts).get("regret"), whole.get("regret"))


def choose(value, at=2, trial=4):
    """Return a rule that plays arm 0, but in one round and trial something else."""

    def rule(t, obs):
        index = np.zeros(W, np.asarray(value).dtype if value is not None else object)
        index[trial] = value if t == at else 0
        return index

    return rule


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (choose(K), f"round 2, trial 104: select returned {K}, but arms are numbered from 0 to {K - 1}"),
        (choose(-1), f"round 2, trial 104: select returned -1, but arms are numbered from 0 to {K - 1}"),
        (choose(np.nan), "round 0, trial 100: select returned 0.0, but arms are"),
        (lambda t, obs: np.full(W, np.nan), "round 0, trial 100: select returned nan, but arms are"),
        (choose(None), "round 2, trial 104: select returned None, but arms are"),
        (
            lambda t, obs: 0,
            rf"round 0: select must return one arm for each of {W} trials, integers of shape \({W},\); got int",
        ),
        (lambda t, obs: np.zeros(W + 1, int), rf"got ndarray of shape \({W + 1},\)"),
        (lambda t, obs: [[0], [1, 2]], "round 0: select must return one arm"),
        (lambda t, obs: None, "round 0: select must return one arm"),
        (lambda t, obs: (np.zeros(W, int), np.zeros(W)), r"round 0, trial 100: probabilities must be in \(0, 1\]"),
        (
            lambda t, obs: (np.zeros(W, int), np.ones(W)) if t < 2 else np.zeros(W, int),
            "round 2: select must return probabilities in every round or in none",
        ),
        (lambda t, obs: (np.zeros(W, int), np.ones(2)), rf"round 0: select must return {W} probabilities"),
    ],
)
def test_a_wrong_choice_is_named_by_round_and_trial(rule, message):
    with pytest.raises(InputError, match=message) as error:
        play(Script(rule), coins(), 4, W, first_seed=100, **QUIET)
    assert "\n" not in str(error.value)


def test_an_error_in_the_code_of_a_learner_names_the_round():
    def rule(t, obs):
        return np.zeros(W, int) if t < 3 else 1 / 0

    with pytest.raises(ZeroDivisionError) as error:
        play(Script(rule), coins(), 5, W, **QUIET)
    assert error.value.__notes__ == ["in Script.select, round 3"]


@pytest.mark.parametrize(
    ("learner", "environment", "message"),
    [
        (UCB1, coins(), "is the class UCB1: pass an instance of it"),
        (object(), coins(), r"needs select\(t, obs\) and update\(t, obs, index, reward\), but it has no select"),
        (armed.UCB1(n_arms=K), coins(), "UCB1 is a compiled learner: run it with `simulate` or `compare`"),
        ({}, coins(), "play needs at least one learner"),
        (UCB1(), OGD(dim=2), "environment of 'UCB1' must be a frozen pytree"),
        (UCB1(), QuadraticLosses(dim=2), "play needs an environment with arms and rewards"),
        (UCB1(), DuelingArms.example(), r"one arm in each round, but DuelingArms takes PairDecision\(first, second"),
        (UCB1(), SemiBandit.example(), r"one arm in each round, but SemiBandit takes SetDecision\(items"),
        (UCB1(), SharedArms.example(), r"one arm in each round, but SharedArms takes TeamDecision\(index\)"),
        (each(lambda seed: 5), coins(), "`each` needs learners with methods select and update, got 5"),
    ],
)
def test_what_cannot_be_played_is_refused(learner, environment, message):
    with pytest.raises(InputError, match=message):
        play(learner, environment, 5, W, **QUIET)


def test_simulate_points_to_play():
    with pytest.raises(InputError, match=r"got UCB1 \(`play` runs learners that are written in Python\)"):
        simulate(UCB1(), coins(), 5, W, **QUIET)


def test_the_horizon_of_data_is_kept():
    table = np.linspace(-0.5, 0.5, 6 * K * D).reshape(6, K, D)
    environment = glm.GeneralizedLinear(dim=D, n_arms=K, fresh_arms=True, table=table)
    with pytest.raises(InputError, match="horizon must be at most 6"):
        play(UCB1(), environment, 7, 3, **QUIET)
    shown = []
    play(Script(lambda t, obs: shown.append(obs.arms) or np.zeros(3, int)), environment, 6, 3, **QUIET)
    np.testing.assert_array_equal(shown, np.tile(table[:, None], (1, 3, 1, 1)))


def test_probabilities_that_are_zero_in_float32_are_refused():
    with (
        jax.enable_x64(False),
        pytest.raises(InputError, match=r"trial 0: probabilities must .* got 1e-60"),
    ):
        play(Script(lambda t, obs: (np.zeros(W, int), np.full(W, 1e-60))), coins(), 4, W, **QUIET)


@pytest.mark.parametrize("odd", [0, 1])
@pytest.mark.parametrize("choice", [(0, 0.5), (0, 0.5, 1.0)])
def test_learners_of_each_return_probabilities_in_all_trials_or_none(odd, choice):
    class Learner(SingleUCB1):
        def select(self, t, obs):
            return choice if self.seed % 2 == odd else 0

    def factory(seed):
        learner = Learner(seed)
        learner.seed = seed
        return learner

    message = rf"each: select must return an arm in every trial, or a tuple .*, got {re.escape(str(choice))} in one"
    with pytest.raises(InputError, match=message):
        play(each(factory), coins(), 3, W, **QUIET)
