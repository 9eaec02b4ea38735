"""Time pairs of a reward model and an exploration rule on one core, and compare them with corresponding learners.

python -m benchmarks.speed.models                 a table: rounds per CPU second, and the ratio to another row
python -m benchmarks.speed.models --only GP-UCB   only rows whose names contain this text

A batch has 256 trials in float32. Compilation and the fixed cost of a call are excluded, and the best of three runs
counts. XLA plays most programs in one function and on one thread, but programs that call a matrix library, such as
the neural-linear one, operation by operation on all cores. With one batch at a time the threads then take two to three
times the CPU time of one core, so the process is pinned to a core.
"""

import argparse
import os
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

from benchmarks.speed.measure import seconds_a_round

TRIALS = 256


class Row(NamedTuple):
    """A learner on an environment.

    Attributes:
      make: function that returns both.
      rounds: number of rounds of the shorter run.
      compared_with: name of the row with which this row is compared; "" for no comparison.
    """

    make: Callable[[], tuple[Any, Any]]
    rounds: int
    compared_with: str = ""


def rows() -> dict[str, Row]:
    """Return the rows of the table."""
    import optax

    from jaxbandits import armed
    from jaxbandits.contextual import Bandit, DisjointLinUCB, GaussianProcessArms, LinearContexts, models, rules
    from jaxbandits.linear import OFUL, HeavyTailed, LinTS

    def on_fixed_arms(learner: Any) -> tuple[Any, Any]:
        return learner, HeavyTailed(dim=10, n_arms=20)

    def on_contexts(learner: Any, dim: int = 5, n_arms: int = 10) -> tuple[Any, Any]:
        return learner, LinearContexts(dim=dim, n_arms=n_arms)

    def on_coins(learner: Any) -> tuple[Any, Any]:
        return learner, armed.BernoulliArms(n_arms=10)

    def on_path(rule: Any) -> tuple[Any, Any]:
        return Bandit(model=models.GaussianProcess(n_arms=20), rule=rule), GaussianProcessArms(n_arms=20)

    linear, ridge = models.Linear(dim=10), models.Ridge(dim=5, n_arms=10)
    momentum = models.Optimizer(make=optax.sgd, hyperparameters={"learning_rate": 0.01, "momentum": 0.9})
    network = models.Network(input_dim=5, n_arms=10, hidden=(16,), optimizer=momentum)
    posterior = models.PerArm(model=models.NormalInverseGamma(dim=50), n_arms=5)
    trained = models.Network(input_dim=10, n_arms=5, hidden=(50,), capacity=1000, train_every=50, n_steps=10, batch=32)
    neural_linear = models.NeuralLinear(network=trained, model=posterior)
    langevin = models.LangevinNetwork(input_dim=10, n_arms=5, capacity=1000, hidden=(20,), train_every=10)
    gradient = models.NeuralGradient(input_dim=10, n_arms=5, capacity=1000, train_every=50)
    subspace = models.SubspaceNetwork(input_dim=10, n_arms=5, hidden=(20,), subspace_dim=30)
    return {
        "OFUL d=10 K=20": Row(lambda: on_fixed_arms(OFUL(dim=10)), 2000),
        "Linear, IGP-UCB": Row(
            lambda: on_fixed_arms(Bandit(model=linear, rule=rules.IGPUCB())), 2000, "OFUL d=10 K=20"
        ),
        "LinTS d=10 K=20": Row(lambda: on_fixed_arms(LinTS(dim=10)), 2000),
        "Linear, Thompson": Row(
            lambda: on_fixed_arms(Bandit(model=linear, rule=rules.Thompson())), 2000, "LinTS d=10 K=20"
        ),
        "LinUCB d=5 K=10": Row(lambda: on_contexts(DisjointLinUCB(dim=5, n_arms=10)), 2000),
        "Ridge, UCB": Row(lambda: on_contexts(Bandit(model=ridge, rule=rules.UCB())), 2000, "LinUCB d=5 K=10"),
        "GP-UCB K=20": Row(lambda: on_path(rules.GPUCB()), 2000),
        "GP Thompson K=20": Row(lambda: on_path(rules.Thompson()), 2000),
        "network 5-16-10": Row(lambda: on_contexts(Bandit(model=network, rule=rules.EpsGreedy())), 2000),
        "neural-linear H=50": Row(
            lambda: on_contexts(Bandit(model=neural_linear, rule=rules.Thompson()), dim=10, n_arms=5), 250
        ),
        "LMC-TS H=20": Row(lambda: on_contexts(Bandit(model=langevin, rule=rules.Thompson()), dim=10, n_arms=5), 100),
        "NeuralUCB m=20": Row(lambda: on_contexts(Bandit(model=gradient, rule=rules.UCB()), dim=10, n_arms=5), 100),
        "subspace Thompson s=30": Row(
            lambda: on_contexts(Bandit(model=subspace, rule=rules.Thompson()), dim=10, n_arms=5), 100
        ),
        "V-IDS K=10 G=128": Row(lambda: on_coins(armed.VIDS(n_arms=10)), 250),
        "IDS K=10 G=128": Row(lambda: on_coins(armed.IDS(n_arms=10)), 250),
        "optimistic Gittins K=10": Row(lambda: on_coins(armed.OptimisticGittins(n_arms=10)), 250),
        "knowledge gradient K=10": Row(lambda: on_coins(armed.KnowledgeGradient(n_arms=10)), 2000),
    }


def rounds_per_second(row: Row) -> float:
    """Return the rounds of all trials together per CPU second."""
    from jaxbandits import simulate

    learner, environment = row.make()

    def run(rounds: int) -> float:
        begin = time.process_time()
        simulate(learner, environment, rounds, TRIALS, workers=1, progress=False, record_points=1)
        return time.process_time() - begin

    run(row.rounds)  # compiles
    return TRIALS / seconds_a_round(run, row.rounds, 4 * row.rounds)


def bytes_of_state(row: Row) -> int:
    """Return the bytes of the learner's state in one trial."""
    import jax

    from jaxbandits.engine.width import bytes_of

    learner, environment = row.make()

    def init(key: jax.Array) -> Any:
        state = learner.init(key)
        if not hasattr(learner, "init_from_obs"):
            return state
        env_state = environment.init(key)
        return learner.init_from_obs(state, environment.observe(key, jax.numpy.int32(0), env_state))

    return bytes_of(jax.eval_shape(init, jax.random.key(0)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="only rows whose names contain this text")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # before JAX starts its threads
    speed: dict[str, float] = {}
    print("| pair | million rounds per CPU second | KB of state per trial | ratio |\n|---|---|---|---|")
    for name, row in rows().items():
        if arguments.only in name:
            speed[name] = rounds_per_second(row)
            ratio = (
                f"{speed[name] / speed[row.compared_with]:.2f} of {row.compared_with}"
                if row.compared_with in speed
                else ""
            )
            state = bytes_of_state(row) / 1e3
            print(f"| {name} | {speed[name] / 1e6:.3g} | {state:.3g} | {ratio} |", flush=True)


if __name__ == "__main__":
    main()
