"""Measure rounds per CPU second of learners behind the bridges, and of compiled learners on the same problems.

    taskset -c 0 python -m benchmarks.speed.bridges

Context-free learners play five coins, and contextual learners play `LinearContexts` with four arms and three features,
in float64 and batches of 64 trials. Packages that are not installed are left out. CPU seconds count all threads, so
that other processes on the machine have little effect. Figures are medians of three runs, without compilation.
"""

import importlib.util
import statistics
import tempfile
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.speed import host_learners
from jaxbandits import armed, contextual, data, each, play, simulate
from jaxbandits.bridges import (
    BayesianBanditsLearner,
    CobaLearner,
    ContextualBanditsLearner,
    MABWiserLearner,
    RiverLearner,
    SklearnLearner,
    TorchLearner,
    log_from_obp,
    log_to,
    log_to_obp,
    read_dsjson,
    read_vw,
    to_func_env,
    to_gymnasium,
    tune,
    write_dsjson,
    write_vw,
)

COINS = host_learners.COINS
K, P, W = 5, 3, 64  # coins, numbers of a context, trials
K_CONTEXTS = 4
CONTEXTS = contextual.LinearContexts(n_arms=K_CONTEXTS, dim=P)
ARMS, CONTEXT_ARMS = list(range(K)), list(range(K_CONTEXTS))
LONG = 500_000  # rounds of compiled learners


def rate(run, count: int) -> float:
    """Return the number of rounds (or events) per CPU-second."""
    run()
    rates = []
    for _ in range(3):
        begin = time.process_time()
        run()
        rates.append(count / (time.process_time() - begin))
    return statistics.median(rates)


def learners() -> dict:
    """Return by name the module, a factory of learners of one trial, the environment and the number of rounds."""

    def sklearn(seed):
        from sklearn.linear_model import SGDRegressor

        return SklearnLearner(lambda: SGDRegressor(random_state=seed), seed=seed)

    def torch(seed):
        import torch

        module = torch.nn.Linear(P, K_CONTEXTS)
        return TorchLearner(module, lambda p: torch.optim.SGD(p, lr=0.1), seed=seed)

    def river(seed):
        from river import bandit

        return RiverLearner(bandit.UCB(delta=1, seed=seed))

    def mabwiser(seed):
        from mabwiser.mab import MAB, LearningPolicy

        return MABWiserLearner(MAB(ARMS, LearningPolicy.UCB1(), seed=seed))

    def bayesianbandits(seed):
        import bayesianbandits as bb

        arms = [bb.Arm(k, learner=bb.NormalInverseGammaRegressor()) for k in ARMS]
        return BayesianBanditsLearner(bb.Agent(arms, bb.ThompsonSampling(), random_seed=seed))

    def coba(seed):
        import coba as cb

        return CobaLearner(cb.BanditEpsilonLearner(0.1, seed=seed + 1))

    def coba_lin_ucb(seed):
        import coba as cb

        return CobaLearner(cb.LinUCBLearner(seed=seed + 1))

    def contextualbandits(seed):
        from contextualbandits.online import LinUCB

        return ContextualBanditsLearner(LinUCB(nchoices=K_CONTEXTS, random_state=seed + 1))

    return {
        "scikit-learn, SGDRegressor": ("sklearn", sklearn, CONTEXTS, 10),
        "PyTorch, linear": ("torch", torch, CONTEXTS, 50),
        "river, UCB": ("river", river, COINS, 200),
        "MABWiser, UCB1": ("mabwiser", mabwiser, COINS, 50),
        "bayesianbandits, Thompson sampling": ("bayesianbandits", bayesianbandits, COINS, 20),
        "coba, epsilon-greedy": ("coba", coba, COINS, 100),
        "coba, LinUCB": ("coba", coba_lin_ucb, CONTEXTS, 20),
        "contextualbandits, LinUCB": ("contextualbandits", contextualbandits, CONTEXTS, 10),
    }


def measure_learners() -> None:
    """Print the rates of learners of other packages."""
    for name, (module, factory, environment, horizon) in learners().items():
        if importlib.util.find_spec(module) is not None:
            run = lambda: play(each(factory), environment, horizon, W, record_points=1, progress=False)  # noqa: B023, E731
            show(name, rate(run, W * horizon))
    show(
        "NumPy UCB1",
        rate(lambda: play(host_learners.UCB1(), COINS, 2000, 1024, record_points=1, progress=False), 2000 * 1024),
    )


def measure_compiled() -> None:
    """Print the rates of compiled learners."""
    pairs = {
        "compiled UCB1": (armed.UCB1(n_arms=K), COINS),
        "compiled EpsGreedy": (armed.EpsGreedy(n_arms=K, gap=0.1), COINS),
        "compiled ThompsonBeta": (armed.ThompsonBeta(n_arms=K), COINS),
        "compiled DisjointLinUCB": (contextual.DisjointLinUCB(n_arms=K_CONTEXTS, dim=P), CONTEXTS),
        "compiled SquareCB": (contextual.SquareCB.example(), contextual.LinearContexts.example()),
    }
    for name, (algorithm, environment) in pairs.items():
        run = lambda: simulate(algorithm, environment, LONG, W, workers=1, record_points=1, progress=False)  # noqa: B023, E731
        show(name, rate(run, LONG * W))


def measure_gymnasium() -> None:
    """Print steps per second of the environments for Gymnasium."""
    if importlib.util.find_spec("gymnasium") is None:
        return
    env = to_gymnasium(CONTEXTS, horizon=2000)

    def step_through():
        env.reset(seed=0)
        for t in range(2000):
            env.step(t % K_CONTEXTS)

    show("to_gymnasium, steps", rate(step_through, 2000))
    func_env = to_func_env(CONTEXTS, horizon=1000)
    keys = jnp.stack([func_env.trial_key(i) for i in range(W)])

    @jax.jit
    @jax.vmap
    def play_arms(key):
        def play_round(state, t):
            state = func_env.transition(state, t % K_CONTEXTS, key)
            return state, state.reward

        return jax.lax.scan(play_round, func_env.initial(key), jnp.arange(1000))[1].sum()

    show("to_func_env, scan and vmap", rate(lambda: play_arms(keys).block_until_ready(), 1000 * W))


def measure_logs() -> None:
    """Print events per second of readers and writers."""
    n, rng = 5000, np.random.default_rng(0)
    log = data.Log.from_arrays(
        rng.integers(K, size=n), rng.normal(size=n), np.full(n, 1 / K), rng.normal(size=(n, P)), actions=K
    )
    with tempfile.TemporaryDirectory() as folder:
        text, lines = Path(folder) / "log.vw", Path(folder) / "log.json"
        show("write_vw, events", rate(lambda: write_vw(log, text), n))
        show("read_vw, events", rate(lambda: read_vw(text), n))
        show("write_dsjson, events", rate(lambda: write_dsjson(log, lines), n))
        show("read_dsjson, events", rate(lambda: read_dsjson(lines), n))
    show("log_to_obp and log_from_obp, events", rate(lambda: log_from_obp(log_to_obp(log)), n))


def measure_calls() -> None:
    """Print calls and points per second of trackers and tuners."""

    class Tracker:
        def log(self, row, step):
            pass

    result = simulate(armed.UCB1(n_arms=K), COINS, 1000, W, record_points=100, progress=False)
    show("log_to, record points", rate(lambda: log_to(result, Tracker()), 100))
    if importlib.util.find_spec("optuna") is None:
        return
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)

    def ask_and_tell():
        study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0, constant_liar=True))
        tune(
            armed.UCBV(n_arms=K), COINS, 1000, W, study=study, n_points=16, n_batches=4, workers=1, progress=False,
            suggest=lambda trial: {"zeta": trial.suggest_float("zeta", 0.1, 2.0)},
        )  # fmt: skip

    show("tune, rounds", rate(ask_and_tell, 64 * W * 1000))


def show(name: str, found: float) -> None:
    """Print a row."""
    print(f"{name:38} {found:14,.0f} a second", flush=True)


def main() -> None:
    """Print all rates."""
    jax.config.update("jax_enable_x64", True)
    measure_learners()
    measure_compiled()
    measure_gymnasium()
    measure_logs()
    measure_calls()


if __name__ == "__main__":
    main()
