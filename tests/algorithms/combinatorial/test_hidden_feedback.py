"""Learners of clicks without examinations, and of sums alone, against their references; what they may observe."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats as st

from jaxbandits import from_spec, simulate, to_spec
from jaxbandits.base.errors import InputError
from jaxbandits.combinatorial import (
    CTS,
    PBMUCB,
    CascadeUCB1,
    CascadingClicks,
    CombUCB1,
    FullBanditTS,
    PositionClicks,
    SemiBandit,
)
from jaxbandits.estimation.oracles import LayeredPaths, Partition, TopM
from jaxbandits.linear import LinTS
from jaxbandits.types import IndexObs, ListClicks, SetDecision, SetReward
from tests.reference import combinatorial as reference

ROUNDS, L = 200, 6
EXAMINATION = np.array([0.9, 0.6, 0.3])


@jax.jit
def play_lists(learner, clicks, mask, key):
    """Decisions and indices `[T]` for recorded clicks `[T, m]` and masks `[T, L]`."""

    def round_(state, row):
        t, clicked, allowed = row
        obs = IndexObs.of(L, allowed)
        decision, index = learner.select(None, t, state, obs), learner.index(None, t, state)
        feedback = ListClicks(jnp.where(decision.items >= 0, clicked, 0.0))
        return learner.update(None, t, state, obs, decision, feedback), (decision.items, index)

    return jax.lax.scan(round_, learner.init(key), (jnp.arange(len(clicks), dtype=jnp.int32), clicks, mask))[1]


@pytest.mark.slow_after_first
@pytest.mark.parametrize("kind", ["coins", "masked", "none", "all", "equal positions"])
def test_pbm_ucb_is_its_reference(kind, rng, key):
    examination = np.full(3, 0.5) if kind == "equal positions" else EXAMINATION
    learner = PBMUCB.theory(n_items=L, examination=examination, eps=0.2)
    clicks = (rng.uniform(size=(ROUNDS, 3)) < 0.4).astype(float)
    clicks = {"none": 0.0 * clicks, "all": np.ones_like(clicks)}.get(kind, clicks)
    mask = np.ones((ROUNDS, L), bool)
    if kind == "masked":
        mask = rng.uniform(size=mask.shape) < rng.choice([0.2, 0.7], size=(ROUNDS, 1))
        mask[np.arange(ROUNDS), rng.integers(L, size=ROUNDS)] = True
    items, index = map(np.asarray, play_lists(learner, clicks, mask, key))
    theirs = reference.PBMUCB(L, examination, 0.2)
    for t in range(ROUNDS):
        wanted = theirs.index(t)
        shown = np.isfinite(wanted)
        np.testing.assert_allclose(index[t][shown], wanted[shown], rtol=1e-9, err_msg=f"round {t}")
        chosen = items[t][items[t] >= 0]
        assert mask[t][chosen].all() and len(chosen) == min(3, mask[t].sum()), f"round {t}"
        scores = np.where(shown, wanted, 1e6)
        np.testing.assert_allclose(scores[chosen], scores[reference.best_list(scores, mask[t], 3)], rtol=1e-9)
        theirs.update(items[t], clicks[t])
    assert all(theirs.displays)


@pytest.mark.parametrize("ridge", [1.0, 0.1])
def test_full_bandit_thompson_sampling_is_ridge_regression_of_sums(ridge, rng, key):
    learner, theirs = FullBanditTS(n_items=4, oracle=TopM(size=2), ridge=ridge), reference.RidgeOfSums(4, ridge)
    state, update = learner.init(key), jax.jit(learner.update)
    for t in range(60):
        items, total = rng.permutation(4)[:2], rng.normal()
        if t % 7 == 0:
            items[1] = -1  # a place without an item
        state = update(key, jnp.int32(t), state, None, SetDecision(jnp.asarray(items)), SetReward(jnp.asarray(total)))
        theirs.update(set(items) - {-1}, total)
        np.testing.assert_allclose(learner.recommend(state), theirs.posterior()[0], rtol=1e-9, atol=1e-9)


@pytest.mark.slow
def test_full_bandit_thompson_sampling_draws_its_posterior(rng, key):
    learner, theirs = FullBanditTS(n_items=4, oracle=TopM(size=2), width=0.7), reference.RidgeOfSums(4, 1.0)
    state, update = learner.init(key), jax.jit(learner.update)
    for t in range(20):
        items, total = rng.permutation(4)[:2], rng.normal()
        state = update(key, jnp.int32(t), state, None, SetDecision(jnp.asarray(items)), SetReward(jnp.asarray(total)))
        theirs.update(set(items), total)
    mean, covariance = theirs.posterior()
    keys = jax.random.split(key, 20_000)
    drawn = np.asarray(jax.jit(jax.vmap(lambda k: learner.regression.draw(k, state)))(keys))
    white = np.linalg.solve(np.linalg.cholesky(0.49 * covariance), (drawn - mean).T)
    for row in white:
        assert st.kstest(row, st.norm.cdf).pvalue > 1e-4
    np.testing.assert_allclose(np.corrcoef(white), np.eye(4), atol=0.04)
    chosen = np.asarray(jax.jit(jax.vmap(lambda k: learner.select(k, jnp.int32(9), state, IndexObs.of(4)).items))(keys))
    np.testing.assert_array_equal(chosen, np.argsort(-drawn, axis=1)[:, :2])


def test_theory_of_full_bandit_thompson_sampling_is_that_of_the_linear_bandit():
    made = FullBanditTS.theory(n_items=6, oracle=Partition(blocks=3, block_size=2), horizon=1e4)
    assert made.width == LinTS.theory(dim=6, horizon=1e4, noise_scale=np.sqrt(3) / 2).width
    assert made.width == pytest.approx(np.sqrt(3) / 2 * np.sqrt(9 * 6 * np.log(1e4 / 0.05)))


@pytest.mark.slow
def test_lists_and_sets_are_learned_from_less():
    """Regret of the second half is a small part of that of the first."""
    clicks = PositionClicks.from_probabilities([0.9, 0.1, 0.8, 0.1, 0.1], EXAMINATION[:2])
    paths = LayeredPaths.disjoint(n_paths=3, length=2)
    for learner, env in (
        (PBMUCB.theory(n_items=5, examination=EXAMINATION[:2]), clicks),
        (FullBanditTS(n_items=5, oracle=TopM(size=2)), SemiBandit.from_means([0.9, 0.1, 0.8, 0.1, 0.1], TopM(size=2))),
        (FullBanditTS(n_items=6, oracle=paths), SemiBandit.from_means([0.2, 0.8, 0.3] * 2, paths)),
    ):
        (trials,) = simulate(learner, env, 2000, 32, record_points=[1000, 2000], progress=False).trials.values()
        regret = trials.get("regret").mean(axis=(0, 1))
        assert regret[1] - regret[0] < 0.6 * regret[0], type(learner).__name__
        assert not trials.inadmissible.any()


def test_environments_reveal_what_learners_declare_and_no_more():
    """Cascade and semi-bandit learners need the examinations that the position-based model hides."""
    clicks = PositionClicks(n_items=5, list_size=2, examination=EXAMINATION[:2])
    for learner in (CascadeUCB1(n_items=5, list_size=2), CombUCB1(n_items=5, oracle=TopM(size=2)),
                    CTS(n_items=5, oracle=TopM(size=2))):  # fmt: skip
        with pytest.raises(InputError, match=r"needs ItemRewards\(reward, seen\).*without seen"):
            simulate(learner, clicks, 5, 2, progress=False, width=1)
    for env in (clicks, CascadingClicks(n_items=5, list_size=2), SemiBandit(n_items=5, oracle=TopM(size=2))):
        simulate(FullBanditTS(n_items=5, oracle=TopM(size=2)), env, 5, 2, progress=False, width=1)


def test_specifications_round_trip():
    for learner in (PBMUCB.example(), FullBanditTS.example()):
        assert to_spec(from_spec(to_spec(learner))) == to_spec(learner)


def test_wrong_arguments_are_refused_in_one_line():
    env = PositionClicks(n_items=3, list_size=2, examination=EXAMINATION[:2])
    for make, said in (
        (lambda: PBMUCB.theory(n_items=3, examination=[0.3, 0.9]), "must not increase"),
        (lambda: PBMUCB.theory(n_items=3, examination=[0.3, 0.0]), "examination"),
        (lambda: PBMUCB(n_items=3, list_size=2, examination=[0.5]), r"must have shape \[2\]"),
        (lambda: PBMUCB.theory(n_items=2, examination=EXAMINATION), "list_size must be at most n_items=2, got 3"),
        (lambda: FullBanditTS(n_items=3, oracle=TopM(size=4)), "size must be at most n_items=3, got 4"),
        (lambda: FullBanditTS(n_items=4, oracle=TopM(size=2)), "has 3 items, but the learner has n_items=4"),
    ):
        with pytest.raises(InputError, match=said) as error:
            simulate(make(), env, 5, 2, progress=False, width=1)
        assert "\n" not in str(error.value)
