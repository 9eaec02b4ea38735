"""Semi-bandits: laws of rewards, regret by hand, constraints, bad input."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats as st

from jaxbandits import from_spec, simulate, to_spec
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import as_arrays
from jaxbandits.combinatorial import CTS, CombUCB1, SemiBandit
from jaxbandits.estimation.oracles import Partition, TopM
from jaxbandits.types import IndexObs, SetDecision

MEANS = [0.2, 0.9, 0.4, 0.6]


@pytest.mark.parametrize(("oracle", "best"), [(TopM(size=2), 1.5), (Partition(blocks=2, block_size=2), 1.5)])
def test_rewards_of_the_chosen_items_are_seen(oracle, best, key):
    env = as_arrays(SemiBandit.from_means(MEANS, oracle))
    state, items = env.init(key), jnp.array([2, -1], jnp.int32)
    np.testing.assert_allclose(state.best, best)
    step = jax.jit(jax.vmap(lambda k: env.step(k, None, state, IndexObs.of(4), SetDecision(items))[1:]))
    feedback, outcome = jax.tree.map(np.asarray, step(jax.random.split(key, 4_000)))
    assert feedback.seen[:, 0].all() and not feedback.seen[:, 1].any() and (feedback.reward[:, 1] == 0.0).all()
    assert st.binomtest(int(feedback.reward[:, 0].sum()), 4_000, 0.4).pvalue > 1e-4
    np.testing.assert_allclose(outcome.regret, best - 0.4)


@pytest.mark.parametrize(("items", "admitted"), [([0, 3], True), ([1, -1], True), ([0, 1], False), ([3, 0], False)])
def test_sets_that_keep_the_constraints_are_admitted(items, admitted):
    env = SemiBandit(n_items=4, oracle=Partition(blocks=2, block_size=2))
    assert bool(env.admits(None, IndexObs.of(4), SetDecision(jnp.array(items)))) == admitted


@pytest.mark.slow
def test_the_best_set_is_found_and_sampling_is_ahead():
    env, found = SemiBandit.from_means(MEANS, Partition(blocks=2, block_size=2)), {}
    for learner in (CombUCB1, CTS):
        made = learner(n_items=4, oracle=Partition(blocks=2, block_size=2))
        (trials,) = simulate(made, env, 4000, 32, record_points=[2000, 4000], progress=False).trials.values()
        regret = trials.get("regret").mean(axis=(0, 1))
        assert regret[1] - regret[0] < 0.5 * regret[0]
        found[learner.__name__] = regret[1]
    assert found["CTS"] < found["CombUCB1"]


def test_specifications_round_trip():
    for env in (SemiBandit.from_means(MEANS, TopM(size=2)), SemiBandit(n_items=4, oracle=TopM(size=1))):
        again = from_spec(to_spec(env))
        assert type(again) is SemiBandit and to_spec(again) == to_spec(env)


def test_wrong_arguments():
    for make, said in (
        (lambda: SemiBandit.from_means([0.1, 0.2], TopM(size=3)), "size must be at most n_items=2, got 3"),
        (lambda: SemiBandit.from_means([0.1, 1.2], TopM(size=1)), "means"),
    ):
        with pytest.raises(InputError, match=said):
            make()
