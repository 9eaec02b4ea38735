"""Every learner of K arms with every operator and with data: a round can be traced, and a run is sound."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits import noise, operators, simulate
from jaxbandits.algorithms import ALGORITHMS
from jaxbandits.armed import BernoulliArms, NoisyArms
from jaxbandits.base.pytree import as_arrays
from jaxbandits.data import LoggedReplay, TableBandit
from jaxbandits.engine import loop
from jaxbandits.environments import ENVIRONMENTS

K, ROUNDS = 5, 60
LEARNERS = [name for name in ALGORITHMS if name.startswith(("armed/", "explore/"))]
OPERATORS = {
    "delay": lambda env: operators.with_delay(env, 4),
    "batches": lambda env: operators.with_batches(env, 7),
    "corruption": lambda env: operators.with_corruption(env, rounds=20),
    "noise": lambda env: operators.with_noise(env, noise.Gaussian(spread=0.1)),
}
OF_MEANS = {
    "drift": operators.with_drift(NoisyArms(n_arms=K), operators.PiecewiseDrift(period=20)),
    "given drift": operators.with_drift(BernoulliArms(n_arms=K), operators.Given(path=np.eye(K)[[0, 1, 2]])),
    "rewards": TableBandit.from_rewards(np.eye(K)[[0, 1, 2, 2, 4]], order="given"),
    "table": TableBandit.from_table(np.eye(6, 2), list("abcdec")),
    "replay": LoggedReplay.from_log([0, 1, 4, 2, 3] * 12, [0.0, 1.0, 0.5, 0.0, 1.0] * 12, n_arms=K),
}
ALL = [*OPERATORS, *OF_MEANS]


def environment(learner, kind):
    """Return an environment that suits a learner: its own one under an operator, else arms with means or data."""
    if kind in OPERATORS:
        return OPERATORS[kind](ENVIRONMENTS[ALGORITHMS[learner].environments[0]].example)
    return OF_MEANS[kind]


def is_advised(learner):
    """Return whether a learner needs advice, which only its own environment shows."""
    return getattr(ALGORITHMS[learner].example, "reads_advice", False)


PAIRS = [(name, kind) for name in LEARNERS for kind in ALL if kind in OPERATORS or not is_advised(name)]
TOGETHER = (
    operators.with_delay(operators.with_corruption(OF_MEANS["drift"], rounds=20), 4),
    operators.with_batches(OF_MEANS["table"], 7),
    OF_MEANS["replay"],
)


@pytest.mark.slow_cases(
    "armed/bayes_ucb",
    "armed/catoni_ucb",
    "armed/restarting",
    "armed/discounted_ts",
    "explore/kl_lucb",
    "explore/track_and_stop",
    "explore/top_two_thompson",
)
@pytest.mark.parametrize("name", LEARNERS)
def test_a_round_can_be_traced(name):
    """The state after a round has the shapes and types of the one before."""
    learner = as_arrays(ALGORITHMS[name].example)
    for env in (environment(name, "delay"), environment(name, "batches")) if is_advised(name) else TOGETHER:

        def after_a_round(env):
            carry = loop.init_trial(jax.random.key(0), learner, env, jnp.int32(0))
            return carry, loop.play_round(learner, env, jnp.int32(0), carry)[0]

        before, after = jax.eval_shape(after_a_round, as_arrays(env))
        assert jax.tree.structure(before) == jax.tree.structure(after)
        for old, new in zip(jax.tree.leaves(before), jax.tree.leaves(after), strict=True):
            assert (old.shape, old.dtype) == (new.shape, new.dtype)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:ThompsonGaussian assumes a noise scale")
@pytest.mark.parametrize(("name", "kind"), PAIRS)
def test_a_run_is_sound(name, kind):
    learner = ALGORITHMS[name].example
    found = simulate(learner, environment(name, kind), ROUNDS, 3, width=32, progress=False)
    (trials,) = found.trials.values()
    assert trials.healthy.all() and not trials.inadmissible.any()
    metrics = trials.values.keys() - {*trials.may_be_missing}  # a mean of no reward is missing
    assert all(np.isfinite(trials.get(metric)).all() for metric in metrics)
