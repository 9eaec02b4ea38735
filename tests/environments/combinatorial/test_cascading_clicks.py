"""The cascade model: laws of clicks and of what is seen, regret by hand, sizes at their ends, bad input."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats as st

from jaxbandits import from_spec, operators, simulate, to_spec
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import as_arrays
from jaxbandits.combinatorial import CascadeUCB1, CascadingClicks
from jaxbandits.environments.combinatorial.cascading_clicks import ClicksState
from jaxbandits.types import IndexObs, SetDecision
from tests.reference.combinatorial import click_probability

W = np.array([0.1, 0.7, 0.3, 0.0, 1.0])


def lists(items, key, draws=20_000):
    """Feedback and outcome of one list, many times; items attract with the probabilities W in their order."""
    env = as_arrays(CascadingClicks.from_attraction(W, len(items)))
    state = ClicksState(jnp.asarray(W), jnp.asarray(1.0))
    step = jax.jit(jax.vmap(lambda k: env.step(k, None, state, IndexObs.of(5), SetDecision(jnp.asarray(items)))[1:]))
    return jax.tree.map(np.asarray, step(jax.random.split(key, draws)))


@pytest.mark.parametrize("items", [[0], [0, 2, 1], [2, 3, 0, 1], [1, -1, 0], [3, 3], [0, 4, 1]])
def test_the_first_attractive_item_is_clicked(items, key):
    feedback, outcome = lists(items, key)
    w = np.where(np.array(items) >= 0, W[items], 0.0)
    p = w * np.cumprod([1.0, *(1.0 - w[:-1])])
    clicks = feedback.reward.sum(axis=0)
    assert feedback.reward.sum(axis=1).max() <= 1.0
    for count, chance in zip(clicks, p, strict=True):
        assert st.binomtest(int(count), len(feedback.reward), min(chance, 1.0)).pvalue > 1e-4
    np.testing.assert_array_equal(outcome.clicks, feedback.reward.sum(axis=1))
    np.testing.assert_allclose(outcome.regret, 1.0 - click_probability(w), atol=1e-12)
    before = np.cumsum(feedback.reward, axis=1) - feedback.reward
    np.testing.assert_array_equal(feedback.seen, (before == 0) & (np.array(items) >= 0))


@pytest.mark.slow
def test_every_trial_has_an_order_of_its_own():
    env = as_arrays(CascadingClicks.with_gap(n_items=4, list_size=2, attraction=0.5, gap=0.2))
    states = jax.vmap(env.init)(jax.random.split(jax.random.key(0), 4_000))
    w = np.asarray(states.attraction)
    np.testing.assert_allclose(np.sort(w, axis=1), [[0.3, 0.3, 0.5, 0.5]] * len(w))
    assert st.chisquare((w == 0.5).sum(axis=0)).pvalue > 1e-4
    np.testing.assert_allclose(states.best, 0.75)


@pytest.mark.slow
def test_drawn_attractions_have_their_law():
    env = as_arrays(CascadingClicks(n_items=3, list_size=2, prior_success=1.0, prior_failure=40.0))
    states = jax.vmap(env.init)(jax.random.split(jax.random.key(0), 5_000))
    assert st.kstest(np.ravel(states.attraction), st.beta(1, 40).cdf).pvalue > 1e-4
    best = np.sort(states.attraction, axis=1)[:, 1:]
    np.testing.assert_allclose(states.best, 1.0 - (1.0 - best).prod(axis=1))


@pytest.mark.parametrize(("items", "mask", "admitted"), [
    ([0, 1], None, True), ([4, 0], None, True), ([1, 1], None, False), ([0, 5], None, False), ([0, -2], None, False),
    ([3, -1], None, True), ([-1, -1], None, True), ([0, 1], [1, 0, 1, 1, 1], False), ([0, 2], [1, 0, 1, 1, 1], True),
])  # fmt: skip
def test_lists_of_different_available_items_are_admitted(items, mask, admitted):
    env = CascadingClicks(n_items=5, list_size=2)
    mask = None if mask is None else jnp.asarray(mask, bool)
    assert bool(env.admits(None, IndexObs.of(5, mask), SetDecision(jnp.asarray(items)))) == admitted


def test_a_list_of_all_items_has_no_regret():
    trials = simulate(
        CascadeUCB1(n_items=4, list_size=4), CascadingClicks(n_items=4, list_size=4), 200, 8, progress=False
    )
    (found,) = trials.trials.values()
    np.testing.assert_allclose(found.final("regret"), 0.0, atol=1e-12)
    assert (found.final("clicks") > 0).all() and not found.inadmissible.any()


def test_late_clicks_arrive_and_noise_is_refused():
    env, learner = CascadingClicks(n_items=4, list_size=2), CascadeUCB1(n_items=4, list_size=2)
    (late,) = simulate(learner, operators.with_delay(env, 3), 50, 4, progress=False).trials.values()
    assert late.healthy.all() and not late.inadmissible.any()
    for made in (operators.with_corruption(env, rounds=3), operators.with_noise(env, _gaussian())):
        with pytest.raises(InputError, match="needs an environment with one reward per round; CascadingClicks has sev"):
            simulate(learner, made, 5, 2, progress=False)


def _gaussian():
    from jaxbandits import noise

    return noise.Gaussian(spread=0.1)


def test_specifications_round_trip():
    for env in (CascadingClicks.with_gap(n_items=5, list_size=2), CascadingClicks(n_items=5, list_size=2)):
        again = from_spec(to_spec(env))
        assert type(again) is CascadingClicks and to_spec(again) == to_spec(env)


def test_wrong_arguments():
    for make, said in (
        (lambda: CascadingClicks.with_gap(n_items=4, list_size=5), "list_size"),
        (lambda: CascadingClicks.with_gap(n_items=4, list_size=2, attraction=0.1, gap=0.2), "gap"),
        (lambda: CascadingClicks.from_attraction([0.5, 1.2], 1), "attraction"),
        (lambda: CascadingClicks.from_attraction([0.5, 0.2], 3), "list_size must be at most n_items=2, got 3"),
    ):
        with pytest.raises(InputError, match=said):
            make()
