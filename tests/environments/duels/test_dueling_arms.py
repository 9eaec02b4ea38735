"""Duels: regret by hand, the law of the winner, orders of the arms, instances of the papers, bad input."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats as st

from jaxbandits import from_spec, operators, simulate, to_spec
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import as_arrays
from jaxbandits.duels import RUCB, DuelingArms
from jaxbandits.types import IndexObs, PairDecision

NO_WINNER = np.array([[0.5, 0.9, 0.2], [0.1, 0.5, 0.7], [0.8, 0.3, 0.5]])


def regrets(p, i, j):
    """Strong, weak and Copeland regret of the duel (i, j), by counting."""
    n = len(p)
    zeta = [sum(p[a][b] > 0.5 for b in range(n) if b != a) / (n - 1) for a in range(n)]
    best = zeta.index(max(zeta))
    loss = [p[best][a] - 0.5 for a in (i, j)]
    return sum(loss) / 2, min(loss), max(zeta) - (zeta[i] + zeta[j]) / 2


@pytest.mark.parametrize("name", ["cyclic", "arxiv", "mslr", "none wins"])
def test_regret_and_winners(name, key):
    p = NO_WINNER if name == "none wins" else getattr(DuelingArms, name)().preferences
    env = as_arrays(DuelingArms.from_preferences(p))
    state = jax.jit(env.init)(key)
    mine = np.asarray(state.preferences)
    orders = (list(order) for order in itertools.permutations(range(len(p))))
    assert any(np.allclose(mine[np.ix_(order, order)], p, rtol=1e-12) for order in orders)
    step = jax.jit(jax.vmap(lambda k, i, j: env.step(k, None, state, IndexObs.of(len(p)), PairDecision(i, j))[1:],
                            (0, None, None)))  # fmt: skip
    keys = jax.random.split(key, 4_000)
    for i, j in ((0, 1), (1, 2), (2, 2), (2, 0)):
        feedback, outcome = step(keys, jnp.int32(i), jnp.int32(j))
        assert st.binomtest(int(feedback.won.sum()), 4_000, mine[i, j]).pvalue > 1e-4
        found = [float(x[0]) for x in outcome]
        np.testing.assert_allclose(found, regrets(mine.tolist(), i, j), atol=1e-12)


@pytest.mark.slow
def test_every_trial_has_an_order_of_its_own():
    env = as_arrays(DuelingArms.cyclic())
    states = jax.vmap(env.init)(jax.random.split(jax.random.key(0), 4_000))
    winner = np.asarray(states.loss).argmin(axis=1)
    assert st.chisquare(np.bincount(winner, minlength=4)).pvalue > 1e-4
    np.testing.assert_allclose(states.preferences + np.swapaxes(states.preferences, 1, 2), 1.0, rtol=1e-12)


@pytest.mark.slow
def test_drawn_preferences_are_those_of_strengths():
    env = as_arrays(DuelingArms(n_arms=4, spread=3.0))
    p = np.asarray(jax.vmap(env.init)(jax.random.split(jax.random.key(0), 500)).preferences)
    odds = np.log(p / (1 - p))
    np.testing.assert_allclose(odds[:, 0, 1] + odds[:, 1, 2], odds[:, 0, 2], atol=1e-9)
    assert np.abs(odds).max() < 3.0 and np.abs(odds).max() > 2.0


def test_instances_of_the_papers():
    assert [made().n_arms for made in (DuelingArms.arxiv, DuelingArms.arithmetic, DuelingArms.cyclic)] == [6, 8, 4]
    for made in (DuelingArms.arxiv(), DuelingArms.arithmetic(), DuelingArms.cyclic(), DuelingArms.mslr()):
        assert (np.asarray(made.preferences)[0, 1:] > 0.5).all()  # the first is the Condorcet winner
    assert DuelingArms.mslr().preferences[4, 3] == pytest.approx(1 - 0.50999465)
    np.testing.assert_allclose(DuelingArms.arithmetic(3).preferences[0], [0.5, 0.55, 0.6])


@pytest.mark.parametrize(("pair", "admitted"), [((0, 2), True), ((1, 1), True), ((0, 3), False), ((-1, 0), False)])
def test_pairs_of_arms_that_exist_are_admitted(pair, admitted):
    env = DuelingArms(n_arms=3)
    assert bool(env.admits(None, IndexObs.of(3), PairDecision(*map(jnp.int32, pair)))) == admitted


def test_late_winners_arrive_and_noise_is_refused():
    env, learner = DuelingArms(n_arms=3), RUCB(n_arms=3)
    (late,) = simulate(learner, operators.with_delay(env, 3), 50, 4, progress=False).trials.values()
    assert late.healthy.all() and not late.inadmissible.any()
    with pytest.raises(InputError, match="needs an environment with one reward per round"):
        simulate(learner, operators.with_corruption(env, rounds=3), 5, 2, progress=False)


def test_specifications_round_trip():
    for env in (DuelingArms.cyclic(), DuelingArms(n_arms=5)):
        again = from_spec(to_spec(env))
        assert type(again) is DuelingArms and to_spec(again) == to_spec(env)


def test_wrong_arguments():
    for make, said in (
        (lambda: DuelingArms.from_preferences([[0.5, 0.6], [0.6, 0.5]]), "p_ij"),
        (lambda: DuelingArms.from_preferences([[0.5, 0.6], [0.4, 0.6]]), "p_ij"),
        (lambda: DuelingArms.from_preferences([[0.5, 1.6], [-0.6, 0.5]]), "preferences"),
        (lambda: DuelingArms.arithmetic(12), "n_arms"),
        (lambda: simulate(RUCB(n_arms=3), DuelingArms(n_arms=3, preferences=np.eye(2)), 2, 2), "shape"),
    ):
        with pytest.raises(InputError, match=said):
            make()
