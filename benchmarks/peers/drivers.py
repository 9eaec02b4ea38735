"""One driver for each package and case: `run(seed, trials, rounds) -> pseudo-regrets [trials]`.

A package with its own simulator is run by that simulator. For other packages a plain loop calls the policy; its cost (a
fraction of a microsecond per round) is small compared with the cost of the policies. A package is imported when its
driver runs.
"""

import importlib.util
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.peers import problems
from benchmarks.peers.problems import ALPHA, DIAMETER, DIM, LOGISTIC_ARMS, LOGISTIC_DIM, MEANS, N_ARMS
from benchmarks.speed import numpy_structured

ARMS = list(range(N_ARMS))


class Driver(NamedTuple):
    """One package on one case."""

    case: str
    package: str  # name of the distribution
    module: str  # name under which the package is imported
    run: Callable[[int, int, int], np.ndarray]
    differs: str  # difference of its algorithm or instance from ours; "" if both are the same

    @property
    def installed(self) -> bool:
        return importlib.util.find_spec(self.module) is not None


DRIVERS: list[Driver] = []


def driver(case: str, package: str, module: str | None = None, differs: str = "") -> Callable:
    """Register a driver: a function of seed, trials and rounds."""

    def register(run: Callable) -> Callable:
        DRIVERS.append(Driver(case, package, module or package, run, differs))
        return run

    return register


def _trials(play: Callable[[np.random.Generator], float], seed: int, trials: int) -> np.ndarray:
    """Play trials one after the other, each with its own random generator."""
    return np.array([play(np.random.default_rng([seed, trial])) for trial in range(trials)])


# --- jaxbandits --------------------------------------------------------------------------------------------------


def _simulated(algorithm: Any, environment: Any, seed: int, trials: int, rounds: int) -> np.ndarray:
    from jaxbandits import simulate

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few seeds, in tests
        result = simulate(algorithm, environment, rounds, trials, seed=seed, workers=1, progress=False, record_points=1)
    return np.asarray(result.final("regret")).ravel()


def _coins(name: str, seed: int, trials: int, rounds: int) -> np.ndarray:
    from jaxbandits import armed

    return _simulated(getattr(armed, name)(n_arms=N_ARMS), armed.BernoulliArms.from_means(MEANS), seed, trials, rounds)


@driver("ucb1", "jaxbandits")
def jaxbandits_ucb1(seed: int, trials: int, rounds: int) -> np.ndarray:
    return _coins("UCB1", seed, trials, rounds)


@driver("kl_ucb", "jaxbandits")
def jaxbandits_kl_ucb(seed: int, trials: int, rounds: int) -> np.ndarray:
    return _coins("KLUCB", seed, trials, rounds)


@driver("thompson", "jaxbandits")
def jaxbandits_thompson(seed: int, trials: int, rounds: int) -> np.ndarray:
    return _coins("ThompsonBeta", seed, trials, rounds)


@driver("linucb", "jaxbandits")
def jaxbandits_linucb(seed: int, trials: int, rounds: int) -> np.ndarray:
    from jaxbandits import contextual, noise

    sizes = {"n_arms": N_ARMS, "dim": DIM}
    environment = contextual.LinearContexts(**sizes, noise=noise.Gaussian(spread=problems.NOISE))
    return _simulated(contextual.DisjointLinUCB(**sizes, alpha=ALPHA), environment, seed, trials, rounds)


@driver("logistic", "jaxbandits")
def jaxbandits_logistic(seed: int, trials: int, rounds: int) -> np.ndarray:
    from jaxbandits import glm

    fields = {"dim": LOGISTIC_DIM, "norm_bound": problems.RADIUS}
    environment = glm.GeneralizedLinear.fixed(n_arms=LOGISTIC_ARMS, **fields)
    return _simulated(glm.GLBOMD.experiments(delta=0.05, **fields), environment, seed, trials, rounds)


@driver("ogd", "jaxbandits")
def jaxbandits_ogd(seed: int, trials: int, rounds: int) -> np.ndarray:
    from jaxbandits import oco

    fields = {"center": problems.CENTER, "noise_scale": problems.OGD_NOISE}
    environment = oco.PseudoHuberLosses(dim=problems.OGD_DIM, **fields)
    return _simulated(oco.OGD(dim=problems.OGD_DIM), environment, seed, trials, rounds)


def _structured(name: str, seed: int, trials: int, rounds: int) -> np.ndarray:
    return _simulated(*numpy_structured.build(name), seed, trials, rounds)


@driver("glr", "jaxbandits")
def jaxbandits_glr(seed: int, trials: int, rounds: int) -> np.ndarray:
    return _structured("glr", seed, trials, rounds)


@driver("mc_top_m", "jaxbandits")
def jaxbandits_mc_top_m(seed: int, trials: int, rounds: int) -> np.ndarray:
    return _structured("mc_top_m", seed, trials, rounds)


@driver("double_ts", "jaxbandits")
def jaxbandits_double_ts(seed: int, trials: int, rounds: int) -> np.ndarray:
    return _structured("double_ts", seed, trials, rounds)


# --- pymab: its simulator, in Rust -------------------------------------------------------------------------------


def _pymab(environment: Any, policy: Any, seed: int, trials: int, rounds: int) -> np.ndarray:
    import pymab

    config = pymab.ExperimentConfig(horizon=rounds, n_replicates=trials, seed=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = pymab.Experiment(environment=environment, policies={"policy": policy}, config=config).run()
    best = np.asarray(result.arm_means).max(axis=-1)
    return (best - np.asarray(result.expected_rewards)[..., 0]).sum(axis=1)


def _pymab_coins(policy: Any, seed: int, trials: int, rounds: int) -> np.ndarray:
    import pymab

    environment = pymab.BanditEnvironment(means=MEANS, reward_model=pymab.BernoulliReward())
    return _pymab(environment, policy, seed, trials, rounds)


@driver("ucb1", "pymab")
def pymab_ucb1(seed: int, trials: int, rounds: int) -> np.ndarray:
    from pymab.policies.ucb import UCBPolicy

    return _pymab_coins(UCBPolicy(n_arms=N_ARMS, c=2.0), seed, trials, rounds)


@driver("kl_ucb", "pymab")
def pymab_kl_ucb(seed: int, trials: int, rounds: int) -> np.ndarray:
    from pymab.policies.ucb import KLUCBPolicy

    return _pymab_coins(KLUCBPolicy(n_arms=N_ARMS, c=1e-9), seed, trials, rounds)  # c must be positive


@driver("thompson", "pymab")
def pymab_thompson(seed: int, trials: int, rounds: int) -> np.ndarray:
    from pymab.policies.thompson_sampling import BernoulliThompsonSamplingPolicy

    return _pymab_coins(BernoulliThompsonSamplingPolicy(n_arms=N_ARMS), seed, trials, rounds)


def _pymab_linucb(contexts: Any, seed: int, trials: int, rounds: int) -> np.ndarray:
    import pymab
    from pymab.policies.contextual_bandits import LinUCBPolicy

    def play(rng: np.random.Generator) -> float:
        environment = pymab.LinearContextualEnvironment(
            theta=problems.unit_ball((N_ARMS, DIM), rng, sphere=True),
            context_provider=contexts,
            reward_model=pymab.GaussianReward(std=problems.NOISE),
        )
        policy = LinUCBPolicy(n_arms=N_ARMS, n_features=DIM, alpha=ALPHA)
        return float(_pymab(environment, policy, int(rng.integers(2**31)), 1, rounds)[0])

    return _trials(play, seed, trials)


@driver("linucb", "pymab", differs="the Rust simulator draws a Gaussian context for every arm")
def pymab_linucb(seed: int, trials: int, rounds: int) -> np.ndarray:
    import pymab

    contexts = pymab.GaussianContextProvider(n_arms=N_ARMS, n_features=DIM, std=DIM**-0.5)
    return _pymab_linucb(contexts, seed, trials, rounds)


@driver("linucb", "pymab (Python)", "pymab")
def pymab_linucb_python(seed: int, trials: int, rounds: int) -> np.ndarray:
    return _pymab_linucb(lambda rng: problems.unit_ball((DIM,), rng, sphere=True), seed, trials, rounds)


@driver("logistic", "pymab", differs="epsilon-greedy with one model per arm, fitted by gradient descent")
def pymab_logistic(seed: int, trials: int, rounds: int) -> np.ndarray:
    import pymab
    from pymab.policies.contextual_bandits import LogisticContextualBanditPolicy

    def play(rng: np.random.Generator) -> float:
        theta, arms = problems.logistic_instance(rng)
        environment = pymab.LogisticContextualEnvironment(
            theta=np.tile(theta, (LOGISTIC_ARMS, 1)), context_provider=pymab.FixedContextProvider(arms)
        )
        policy = LogisticContextualBanditPolicy(n_arms=LOGISTIC_ARMS, n_features=LOGISTIC_DIM)
        return float(_pymab(environment, policy, int(rng.integers(2**31)), 1, rounds)[0])

    return _trials(play, seed, trials)


# --- MABWiser ----------------------------------------------------------------------------------------------------


class _MABWiser:
    """MABWiser policy. Its `fit` must be called first: with every arm played once (`first_all`), or with one round."""

    def __init__(self, policy: Any, seed: int, first_all: bool = False):
        from mabwiser.mab import MAB

        self.mab = MAB(ARMS, policy, seed=seed)
        self.first = [] if first_all else None
        self.fitted = False

    def choose(self, context: Any = None) -> int:
        if self.first is not None and len(self.first) < N_ARMS:
            return len(self.first)
        if not self.fitted:
            return 0
        return self.mab.predict() if context is None else self.mab.predict(context[None])

    def learn(self, *interaction: Any) -> None:
        *context, arm, reward = interaction
        if self.first is not None and len(self.first) < N_ARMS:
            self.first.append(reward)
            if len(self.first) == N_ARMS:
                self.mab.fit(ARMS, self.first)
                self.fitted = True
            return
        step = self.mab.partial_fit if self.fitted else self.mab.fit
        step([arm], [reward], *(c[None] for c in context))
        self.fitted = True


@driver("ucb1", "mabwiser")
def mabwiser_ucb1(seed: int, trials: int, rounds: int) -> np.ndarray:
    from mabwiser.mab import LearningPolicy

    def play(rng: np.random.Generator) -> float:
        policy = _MABWiser(LearningPolicy.UCB1(alpha=1.0), int(rng.integers(2**31)), first_all=True)
        return problems.play_coins(policy, rounds, rng)

    return _trials(play, seed, trials)


@driver("thompson", "mabwiser")
def mabwiser_thompson(seed: int, trials: int, rounds: int) -> np.ndarray:
    from mabwiser.mab import LearningPolicy

    def play(rng: np.random.Generator) -> float:
        policy = _MABWiser(LearningPolicy.ThompsonSampling(), int(rng.integers(2**31)))
        return problems.play_coins(policy, rounds, rng)

    return _trials(play, seed, trials)


@driver("linucb", "mabwiser")
def mabwiser_linucb(seed: int, trials: int, rounds: int) -> np.ndarray:
    from mabwiser.mab import LearningPolicy

    def play(rng: np.random.Generator) -> float:
        policy = _MABWiser(LearningPolicy.LinUCB(alpha=ALPHA, l2_lambda=1.0), int(rng.integers(2**31)))
        return problems.play_contexts(policy, rounds, rng)

    return _trials(play, seed, trials)


# --- SMPyBandits -------------------------------------------------------------------------------------------------


def import_smpybandits() -> Any:
    """Return the module of policies of SMPyBandits."""
    import scipy.special

    if not hasattr(scipy.special, "btdtri"):  # removed from SciPy; SMPyBandits imports it
        scipy.special.btdtri = scipy.special.betaincinv
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from SMPyBandits import Policies
    return Policies


class _SMPyBandits:
    def __init__(self, name: str, seed: int):
        np.random.seed(seed)  # noqa: NPY002 # its only source of randomness
        policy = getattr(import_smpybandits(), name)(N_ARMS)
        policy.startGame()
        self.choose, self.learn = policy.choice, policy.getReward


def _smpybandits(name: str, seed: int, trials: int, rounds: int) -> np.ndarray:
    return _trials(
        lambda rng: problems.play_coins(_SMPyBandits(name, int(rng.integers(2**31))), rounds, rng), seed, trials
    )


@driver("ucb1", "SMPyBandits")
def smpybandits_ucb1(seed: int, trials: int, rounds: int) -> np.ndarray:
    return _smpybandits("UCB", seed, trials, rounds)


@driver("kl_ucb", "SMPyBandits")
def smpybandits_kl_ucb(seed: int, trials: int, rounds: int) -> np.ndarray:
    return _smpybandits("klUCB", seed, trials, rounds)


@driver("thompson", "SMPyBandits")
def smpybandits_thompson(seed: int, trials: int, rounds: int) -> np.ndarray:
    return _smpybandits("Thompson", seed, trials, rounds)


@driver("glr", "SMPyBandits")
def smpybandits_glr(seed: int, trials: int, rounds: int) -> np.ndarray:
    policies = import_smpybandits()

    class IndexAtLogT(policies.klUCB_forGLR):  # its default has 3 log t
        def __init__(self, *args: Any, **kwargs: Any):
            super().__init__(*args, **{**kwargs, "c": 1.0})

    n_arms, changes = problems.PHASES.shape[1], len(problems.PHASES) - 1
    factor = n_arms * changes

    def play(rng: np.random.Generator) -> float:
        np.random.seed(int(rng.integers(2**31)))  # noqa: NPY002
        policy = policies.BernoulliGLR_IndexPolicy_WithDeterministicExploration(
            n_arms,
            policy=IndexAtLogT,
            per_arm_restart=True,
            delta=(factor * problems.HORIZON) ** -0.5,
            alpha0=0.05 * (factor * np.log(problems.HORIZON) / problems.HORIZON) ** 0.5,
        )
        policy.startGame()
        return problems.play_phases(_Renamed(policy.choice, policy.getReward), rounds, rng)

    return _trials(play, seed, trials)


class _Renamed(NamedTuple):
    choose: Callable
    learn: Callable


@driver("mc_top_m", "SMPyBandits", differs="plays every arm once before its rule starts")
def smpybandits_mc_top_m(seed: int, trials: int, rounds: int) -> np.ndarray:
    policies = import_smpybandits()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from SMPyBandits import PoliciesMultiPlayers

    def player(child: Any) -> Any:
        def learn(arm: int, coin: float, collided: bool) -> None:
            (child.handleCollision if collided else child.getReward)(arm, coin)

        return _Renamed(child.choice, learn)

    def play(rng: np.random.Generator) -> float:
        np.random.seed(int(rng.integers(2**31)))  # noqa: NPY002
        team = PoliciesMultiPlayers.MCTopM(problems.PLAYERS, len(problems.TEAM_MEANS), policies.klUCB)
        for child in team.children:
            child.startGame()
        return problems.play_team([player(child) for child in team.children], rounds, rng)

    return _trials(play, seed, trials)


# --- duelpy ------------------------------------------------------------------------------------------------------


@driver("double_ts", "duelpy", differs="the second arm is the one that the first arm most probably beats")
def duelpy_double_ts(seed: int, trials: int, rounds: int) -> np.ndarray:
    if "float" not in vars(np):  # removed from NumPy; duelpy reads it
        setattr(np, "float", float)  # noqa: B010 (no stub has it)
    from duelpy.algorithms import DoubleThompsonSampling
    from duelpy.feedback import MatrixFeedback

    from jaxbandits.duels import DuelingArms

    preferences = np.asarray(DuelingArms.arxiv().preferences)

    class Recorded(MatrixFeedback):
        def __init__(self, random_state: np.random.RandomState):
            super().__init__(preferences, random_state=random_state)
            self.regret = 0.0

        def duel(self, arm_i_index: int, arm_j_index: int) -> bool:
            self.regret += 0.5 * float(preferences[0, arm_i_index] + preferences[0, arm_j_index]) - 0.5
            return super().duel(arm_i_index, arm_j_index)

    def play(rng: np.random.Generator) -> float:
        state = np.random.RandomState(int(rng.integers(2**31)))
        feedback = Recorded(state)
        DoubleThompsonSampling(feedback, time_horizon=rounds, random_state=state).run()
        return feedback.regret

    return _trials(play, seed, trials)


# --- river -------------------------------------------------------------------------------------------------------


class _River:
    def __init__(self, policy: Any, keys: list[str] | None = None):
        self.policy, self.keys = policy, keys

    def choose(self, context: Any = None) -> int:
        return self.policy.pull(ARMS, *self._named(context))

    def learn(self, *interaction: Any) -> None:
        *context, arm, reward = interaction
        self.policy.update(arm, *(self._named(context[0]) if context else ()), reward)

    def _named(self, context: Any) -> tuple:
        return () if self.keys is None else (dict(zip(self.keys, context.tolist(), strict=True)),)


@driver("ucb1", "river")
def river_ucb1(seed: int, trials: int, rounds: int) -> np.ndarray:
    from river import bandit

    def play(rng: np.random.Generator) -> float:
        return problems.play_coins(_River(bandit.UCB(delta=1.0, seed=int(rng.integers(2**31)))), rounds, rng)

    return _trials(play, seed, trials)


@driver("thompson", "river")
def river_thompson(seed: int, trials: int, rounds: int) -> np.ndarray:
    from river import bandit, proba

    def play(rng: np.random.Generator) -> float:
        policy = bandit.ThompsonSampling(reward_obj=proba.Beta(1, 1), seed=int(rng.integers(2**31)))
        return problems.play_coins(_River(policy), rounds, rng)

    return _trials(play, seed, trials)


@driver("linucb", "river", differs="the confidence width is that of a reward with its noise, not that of the mean")
def river_linucb(seed: int, trials: int, rounds: int) -> np.ndarray:
    from river import bandit

    def play(rng: np.random.Generator) -> float:
        policy = bandit.LinUCBDisjoint(alpha=1.0, beta=1.0, seed=int(rng.integers(2**31)))
        return problems.play_contexts(_River(policy, list("abcde")), rounds, rng)

    return _trials(play, seed, trials)


# --- coba --------------------------------------------------------------------------------------------------------


class _Coba:
    def __init__(self, learner: Any, actions: list):
        self.learner, self.actions = learner, actions
        self.index = {action: i for i, action in enumerate(actions)}
        self.probability = 1.0

    def choose(self, context: Any = None) -> int:
        context = None if context is None else context.tolist()
        action, self.probability = self.learner.predict(context, self.actions)
        return self.index[action]

    def learn(self, *interaction: Any) -> None:
        *context, arm, reward = interaction
        self.learner.learn(context[0].tolist() if context else None, self.actions[arm], reward, self.probability)


@driver("ucb1", "coba", differs="the algorithm is UCB1-Tuned")
def coba_ucb1(seed: int, trials: int, rounds: int) -> np.ndarray:
    from coba.learners import BanditUCBLearner

    def play(rng: np.random.Generator) -> float:
        return problems.play_coins(_Coba(BanditUCBLearner(seed=int(rng.integers(2**31))), ARMS), rounds, rng)

    return _trials(play, seed, trials)


@driver("linucb", "coba")
def coba_linucb(seed: int, trials: int, rounds: int) -> np.ndarray:
    from coba.learners import LinUCBLearner

    one_hot = [tuple(row) for row in np.eye(N_ARMS, dtype=int).tolist()]  # and 50 features: context x arm

    def play(rng: np.random.Generator) -> float:
        learner = LinUCBLearner(alpha=ALPHA, features=["ax"], seed=int(rng.integers(2**31)))
        return problems.play_contexts(_Coba(learner, one_hot), rounds, rng)

    return _trials(play, seed, trials)


# --- contextualbandits -------------------------------------------------------------------------------------------


@driver("linucb", "contextualbandits")
def contextualbandits_linucb(seed: int, trials: int, rounds: int) -> np.ndarray:
    from contextualbandits.online import LinUCB

    class Policy:
        def __init__(self, seed: int):
            self.policy = LinUCB(N_ARMS, alpha=ALPHA, fit_intercept=False, use_float=False, random_state=seed)
            self.fitted = False

        def choose(self, context: np.ndarray) -> int:
            return int(self.policy.predict(context[None])[0]) if self.fitted else 0

        def learn(self, context: np.ndarray, arm: int, reward: float) -> None:
            self.policy.partial_fit(context[None], np.array([arm]), np.array([reward]))
            self.fitted = True

    return _trials(lambda rng: problems.play_contexts(Policy(int(rng.integers(2**31))), rounds, rng), seed, trials)


# --- Vowpal Wabbit -----------------------------------------------------------------------------------------------


@driver("logistic", "vowpalwabbit", differs="SquareCB with one linear model, fitted by squared loss")
def vowpalwabbit_logistic(seed: int, trials: int, rounds: int) -> np.ndarray:
    from vowpalwabbit import Workspace

    class Policy:
        def __init__(self, arms: np.ndarray, rng: np.random.Generator):
            self.model = Workspace(f"--cb_explore_adf --squarecb --quiet --random_seed {rng.integers(2**31)}")
            self.lines = [f"| x:{x:.6f} y:{y:.6f}" for x, y in arms]
            self.rng, self.probability = rng, 1.0

        def choose(self) -> int:
            probabilities = np.array(self.model.predict(self.lines))
            arm = min(int(np.searchsorted(np.cumsum(probabilities), self.rng.random())), LOGISTIC_ARMS - 1)
            self.probability = probabilities[arm]
            return arm

        def learn(self, arm: int, reward: float) -> None:
            lines = list(self.lines)
            lines[arm] = f"0:{-reward}:{self.probability} {lines[arm]}"
            self.model.learn(lines)

    return _trials(lambda rng: problems.play_logistic(lambda arms: Policy(arms, rng), rounds, rng), seed, trials)


# --- PyNOL -------------------------------------------------------------------------------------------------------


@driver("ogd", "pynol-xzp", "pynol")
def pynol_ogd(seed: int, trials: int, rounds: int) -> np.ndarray:
    from pynol.environment.domain import Ball
    from pynol.environment.environment import Environment
    from pynol.learner.base import OGD

    steps = DIAMETER / np.sqrt(np.arange(1.0, rounds + 1.0))

    def play(rng: np.random.Generator) -> float:
        targets = problems.ogd_losses(rounds, rng)
        start = np.zeros(problems.OGD_DIM)
        learner = OGD(Ball(problems.OGD_DIM, radius=DIAMETER / 2.0), steps, prior=start)
        environment, plays = Environment(), np.empty_like(targets)
        for t, target in enumerate(targets):
            environment.func = lambda x, target=target: np.sqrt(1.0 + (x - target) @ (x - target)) - 1.0
            environment.grad_func = lambda x, target=target: (x - target) / np.sqrt(1.0 + (x - target) @ (x - target))
            learner.t = t  # its own loop over models counts; a base learner alone keeps its first step size
            plays[t], _, _ = learner.opt(environment)
        return problems.ogd_regret(plays, targets)

    return _trials(play, seed, trials)
