"""Learners of other packages play, through `each`, and equal the package's own loop where it is simple to write.

A package that is not installed is skipped; `python -m pytest tests/bridges` runs in an environment that has them.
"""

import numpy as np
import pytest

from jaxbandits import ContextObs, armed, contextual, data, each, linear, operators, play, simulate
from jaxbandits.base.errors import InputError
from jaxbandits.bridges import (
    BayesianBanditsLearner,
    CobaLearner,
    ContextualBanditsLearner,
    MABWiserLearner,
    ObpLearner,
    RiverLearner,
    SklearnLearner,
    TorchLearner,
)
from jaxbandits.diagnostics.history import history
from jaxbandits.types import ArmObs

K, P, W, T = 4, 3, 5, 60  # arms, length of the context, trials, rounds: all different
COINS = armed.BernoulliArms.from_means([0.9, 0.6, 0.3, 0.2])
CONTEXTS = contextual.LinearContexts(n_arms=K, dim=P)
FEATURES = linear.HeavyTailed(dim=P, n_arms=K)


def run(factory, environment, horizon=T):
    return play(each(factory), environment, horizon, W, record_points=horizon, meters=history(), progress=False)


def uniform(environment):
    """Mean regret of uniform play at the horizon."""
    rng = np.random.default_rng(0)

    class Uniform:
        def select(self, t, obs):
            return int(rng.integers(K))

        def update(self, t, obs, index, reward):
            pass

    return run(lambda seed: Uniform(), environment).final("regret").mean()


def assert_learns(result, environment, share=0.8):
    assert result.final("regret").mean() < share * uniform(environment)


def assert_replays(result, choose, update, trial=2):
    """Play a trial again without `play`: the package's own calls, given the rewards that it received."""
    (trials,) = result.values()
    for arm, reward in zip(trials["arm"][0, trial], trials["received"][0, trial], strict=True):
        assert choose() == arm
        update(int(arm), float(reward))


def test_river():
    bandit = pytest.importorskip("river.bandit")
    result = run(lambda seed: RiverLearner(bandit.EpsilonGreedy(epsilon=0.2, seed=seed)), COINS)
    policy = bandit.EpsilonGreedy(epsilon=0.2, seed=2)
    assert_replays(result, lambda: policy.pull(list(range(K))), policy.update)
    assert_learns(run(lambda seed: RiverLearner(bandit.UCB(delta=1, seed=seed)), COINS), COINS)
    learner = lambda seed: RiverLearner(bandit.LinUCBDisjoint(alpha=1.0, beta=100.0, seed=seed))  # noqa: E731
    assert_learns(run(learner, CONTEXTS), CONTEXTS)
    with pytest.raises(InputError, match="LinUCBDisjoint needs a context that all arms share"):
        run(learner, COINS)


def test_mabwiser():
    mab = pytest.importorskip("mabwiser.mab")

    def ucb(seed):
        return mab.MAB(list(range(K)), mab.LearningPolicy.UCB1(alpha=1.0), seed=seed)

    result = run(lambda seed: MABWiserLearner(ucb(seed)), COINS)
    assert_learns(result, COINS)
    np.testing.assert_array_equal(result["Each"]["arm"][0, :, :K], np.tile(np.arange(K), (W, 1)))
    own, (trials,) = ucb(2), result.values()
    arm, reward = trials["arm"][0, 2].astype(int), trials["received"][0, 2]
    own.fit(arm[:K].tolist(), reward[:K].tolist())
    for t in range(K, T):
        assert own.predict() == arm[t]
        own.partial_fit([arm[t].item()], [reward[t].item()])
    policy = mab.LearningPolicy.LinUCB(alpha=0.5)
    assert_learns(run(lambda seed: MABWiserLearner(mab.MAB(list(range(K)), policy, seed=seed)), CONTEXTS), CONTEXTS)


def test_bayesianbandits():
    bb = pytest.importorskip("bayesianbandits")

    def agent(seed):
        arms = [bb.Arm(k, learner=bb.NormalInverseGammaRegressor()) for k in range(K)]
        return bb.Agent(arms, bb.ThompsonSampling(), random_seed=seed)

    result = run(lambda seed: BayesianBanditsLearner(agent(seed)), COINS)
    own = agent(2)
    assert_replays(result, lambda: own.pull()[0], lambda arm, reward: own.update(np.array([reward])))
    late = run(lambda seed: BayesianBanditsLearner(agent(seed)), operators.with_delay(COINS, 3))
    assert np.isfinite(late.get("regret")).all()

    def contextual_agent(seed):
        arms = [bb.Arm(k, learner=bb.NormalRegressor(alpha=1.0, beta=10.0)) for k in range(K)]
        return BayesianBanditsLearner(bb.ContextualAgent(arms, bb.ThompsonSampling(), random_seed=seed))

    assert_learns(run(contextual_agent, CONTEXTS), CONTEXTS)


def test_coba():
    cb = pytest.importorskip("coba")
    result = run(lambda seed: CobaLearner(cb.BanditEpsilonLearner(0.2, seed=seed + 1)), COINS)
    own = cb.BanditEpsilonLearner(0.2, seed=3)
    assert_replays(
        result,
        lambda: own.predict(None, list(range(K)))[0],
        lambda arm, reward: own.learn(None, arm, reward, 1.0),
    )
    for environment in (FEATURES, CONTEXTS):
        lin_ucb = run(lambda seed: CobaLearner(cb.LinUCBLearner(alpha=0.5, seed=seed + 1)), environment)
        assert_learns(lin_ucb, environment)


def test_contextualbandits():
    online = pytest.importorskip("contextualbandits.online")

    def lin_ucb(seed):
        return online.LinUCB(nchoices=K, alpha=0.5, fit_intercept=False, random_state=seed + 1)

    result = run(lambda seed: ContextualBanditsLearner(lin_ucb(seed)), CONTEXTS, 150)
    assert result.final("regret").mean() < 0.8 * 150 / T * uniform(CONTEXTS)


@pytest.mark.slow
def test_scikit_learn():
    sklearn = pytest.importorskip("sklearn.linear_model")

    def regression(seed):
        return SklearnLearner(lambda: sklearn.SGDRegressor(eta0=0.3, random_state=seed), epsilon=0.1, seed=seed)

    for environment in (CONTEXTS, FEATURES):
        result = run(regression, environment, 150)
        assert result.final("regret").mean() < 0.8 * 150 / T * uniform(environment)

    def classifier(seed):
        model = lambda: sklearn.SGDClassifier(loss="log_loss", random_state=seed)  # noqa: E731
        return SklearnLearner(model, classes=[0, 1], seed=seed)

    rng = np.random.default_rng(1)
    x = rng.normal(size=(200, P))
    table = data.TableBandit.from_table(x, np.argmax(x @ rng.normal(size=(P, K)), axis=1))  # pays 1 for the class
    result = run(classifier, table, 200)
    assert result.final("regret").mean() < 0.8 * 200 / T * uniform(table)


def test_a_greedy_learner_of_scikit_learn_is_least_squares():
    """Against a model of scikit-learn that is exact: the arms are those of the formula."""
    pytest.importorskip("sklearn")

    class Ridge:
        def __init__(self):
            self.gram, self.moment = np.eye(P), np.zeros(P)

        def partial_fit(self, X, y):
            self.gram, self.moment = self.gram + X.T @ X, self.moment + X.T @ y

        def predict(self, X):
            return X @ np.linalg.solve(self.gram, self.moment)

    played = run(lambda seed: SklearnLearner(Ridge, epsilon=0.0), FEATURES)
    greedy = simulate(
        linear.OFUL(dim=P, ridge=1.0, beta_scale=0.0), FEATURES, T, W, record_points=T, meters=history(), progress=False
    )
    np.testing.assert_array_equal(played["Each"]["arm"], greedy["OFUL"]["arm"])


def test_pytorch():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)

    def contextual_net(seed):
        torch.manual_seed(seed)
        module = torch.nn.Linear(P, K, bias=False)
        return TorchLearner(module, lambda p: torch.optim.SGD(p, lr=0.2), seed=seed)

    def net_of_features(seed):
        module = torch.nn.Sequential(torch.nn.Linear(P, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
        return TorchLearner(module, lambda p: torch.optim.Adam(p, lr=0.03), seed=seed)

    for factory, environment in ((contextual_net, CONTEXTS), (net_of_features, FEATURES)):
        result = run(factory, environment, 150)
        assert result.final("regret").mean() < 0.8 * 150 / T * uniform(environment)


class ObpLike:
    """The calls of obp 0.5.5 (`BaseContextFreePolicy`, `BaseContextualPolicy`), which no Python after 3.10 installs."""

    def __init__(self, seed):
        self.rng, self.rounds = np.random.default_rng(seed), []

    def select_action(self):
        return self.rng.permutation(K)[:1]

    def update_params(self, action, reward):
        self.rounds.append((action, reward))


class ContextualObpLike(ObpLike):
    def select_action(self, context):
        assert context.shape == (1, P)
        return self.rng.permutation(K)[:1]

    def update_params(self, action, reward, context):
        assert context.shape == (1, P)
        self.rounds.append((action, reward))


@pytest.mark.parametrize(("policy", "environment"), [(ObpLike, COINS), (ContextualObpLike, CONTEXTS)])
def test_obp(policy, environment):
    policies = {}

    def factory(seed):
        policies[seed] = policy(seed)
        return ObpLearner(policies[seed])

    (trials,) = run(factory, environment).values()
    for seed, one in policies.items():
        np.testing.assert_array_equal([action for action, _ in one.rounds], trials["arm"][0, seed])
        np.testing.assert_array_equal([reward for _, reward in one.rounds], trials["received"][0, seed])


def test_masked_arms_are_not_offered():
    masked = ContextObs(np.ones(P), np.arange(K), np.array([False, False, True, False]))

    class Zero:
        def partial_fit(self, X, y):
            pass

        def predict(self, X):
            return np.zeros(len(X))

    learner = SklearnLearner(Zero, epsilon=0.3, seed=0)
    assert {learner.select(0, masked) for _ in range(20)} == {2}
    learner.update(0, masked, 2, 1.0)
    assert {learner.select(1, masked) for _ in range(20)} == {2}
    assert MABWiserLearner(None).select(0, masked) == 2

    class First:
        def pull(self, arms):
            return arms[0]

    assert RiverLearner(First()).select(0, masked) == 2


def test_coba_learners_draw_arms_with_the_same_features_as_one_action():
    """The recorded probability is that with which the arm is played, which importance weights need."""
    cb = pytest.importorskip("coba")
    arms = np.array([[1.0, 0.0, 2.0], [0.0, 1.0, 2.0], [1.0, 0.0, 2.0], [1.0, 0.0, 2.0]])
    learner = CobaLearner(cb.RandomLearner())
    draws = [learner.select(t, ArmObs(arms)) for t in range(400)]
    assert {arm for arm, _ in draws} == {0, 1}
    for arm in (0, 1):
        share = np.mean([a == arm for a, _ in draws])
        (probability,) = {p for a, p in draws if a == arm}
        assert probability == 0.5 and abs(share - 0.5) < 4 * 0.5 / 20


class NaNModel:
    def partial_fit(self, X, y):
        pass

    def predict(self, X):
        return np.where(np.arange(len(X)) == len(X) - 1, np.nan, 0.0)


@pytest.mark.parametrize("obs", [ArmObs(np.eye(K)), ContextObs(np.ones(P), np.arange(K))], ids=["features", "context"])
def test_predictions_that_are_nan_are_refused(obs):
    learner = SklearnLearner(NaNModel, epsilon=0.0)
    for arm in range(K):
        learner.update(arm, obs, arm, 1.0)
    first = K - 1 if isinstance(obs, ArmObs) else 0
    with pytest.raises(
        InputError, match=f"SklearnLearner: the model returns NaN for arm {first}; it must return numbers"
    ) as error:
        learner.select(K, obs)
    assert "\n" not in str(error.value)


def test_values_of_a_module_that_are_nan_are_refused():
    torch = pytest.importorskip("torch")

    class NaNLinear(torch.nn.Linear):
        def forward(self, x):
            return torch.where(torch.arange(K) == 1, torch.nan, super().forward(x))

    learner = TorchLearner(NaNLinear(P, K), lambda p: torch.optim.SGD(p, lr=0.1), epsilon=0.0)
    with pytest.raises(InputError, match="TorchLearner: the model returns NaN for arm 1; it must") as error:
        learner.select(0, ContextObs(np.ones(P), np.arange(K)))
    assert "\n" not in str(error.value)
    assert learner.select(0, ContextObs(np.ones(P), np.arange(K), np.array([True, False, True, True]))) != 1
