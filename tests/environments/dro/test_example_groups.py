"""Example 1 of the paper: its risks and optima by hand, its samples by their law, a learner that finds the optimum."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms.dro.atkro_m import ATkROm
from jaxbandits.algorithms.dro.smd import SMD
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import as_arrays, validate
from jaxbandits.domains import Box
from jaxbandits.environments.dro.example_groups import ExampleGroups
from jaxbandits.simulation import simulate
from jaxbandits.types import GroupDecision
from tests.reference import dro_risks

EXAMPLE = as_arrays(ExampleGroups())


def test_the_papers_formulas():
    """L_max = w^2 - 2w + 1 up to 1/2 and w^2 - w + 1/2 beyond; L_5 = w^2 - 1.96 w + .98 and w^2 - 1.6 w + .8."""
    w = np.linspace(0.0, 1.0, 101)
    risks = np.asarray(EXAMPLE.risks(w))
    np.testing.assert_allclose(risks, dro_risks.example_1_risks(w), rtol=0, atol=1e-15)
    low = w <= 0.5
    np.testing.assert_allclose(risks.max(-1), np.where(low, w**2 - 2 * w + 1, w**2 - w + 0.5), atol=1e-14)
    top = np.sort(risks)[:, -5:].mean(-1)
    np.testing.assert_allclose(top, np.where(low, w**2 - 1.96 * w + 0.98, w**2 - 1.6 * w + 0.8), atol=1e-14)


@pytest.mark.slow_after_first
@pytest.mark.parametrize(("k", "w", "value"), [(1, 0.5, 0.25), (5, 0.8, 0.16)])
def test_the_papers_optima(k, w, value):
    np.testing.assert_allclose(EXAMPLE.optimum(k), (w, value), rtol=1e-14)
    q = np.full(16, 0.0)
    q[np.argsort(np.abs(np.asarray(EXAMPLE.means) - w))[:1] if k == 1 else np.arange(5)] = 1.0 / k
    recorded = ExampleGroups(top_k=k).at_record(None, (jnp.array([w]), jnp.asarray(q)))
    assert abs(recorded["duality_gap"]) < 1e-14 and recorded["distance"] < 1e-14


def test_what_the_outlier_costs():
    """At w = 0.8 instead of 0.5 the first risk is 0.09 higher, the mean of the others 0.168 lower."""
    change = EXAMPLE.risks(0.8) - EXAMPLE.risks(0.5)
    np.testing.assert_allclose((change[0], np.mean(change[1:])), (0.09, -0.168), atol=1e-14)


@pytest.mark.parametrize("k", [1, 2, 4])
def test_optima_of_other_means_by_search(k, rng):
    means = rng.uniform(0, 1, 4)
    environment = as_arrays(ExampleGroups(n_groups=4, means=means))
    w = np.linspace(0.0, 1.0, 20_001)
    worst = np.sort(dro_risks.example_1_risks(w, means))[:, -k:].mean(-1)
    at, value = environment.optimum(k)
    assert value == pytest.approx(worst.min(), abs=1e-8) and abs(at - w[worst.argmin()]) <= 1e-4


@pytest.mark.slow
def test_samples_have_the_stated_law(key):
    """Coins with the groups' means; gradient 2 (w - z); what is not drawn reads 0 and is not counted."""
    n, group, drawn = 20_000, np.array([0, 1, 15]), jnp.array([True, True, True])

    @jax.jit
    @jax.vmap
    def step(key):
        decision = GroupDecision(jnp.array([0.3]), None, jnp.asarray(group), drawn)
        return EXAMPLE.step(key, 0, None, None, decision)[1:]

    feedback, outcome = step(jax.random.split(key, n))
    z = 0.3 - np.asarray(feedback.grad)[..., 0] / 2.0
    np.testing.assert_allclose(np.abs(z - np.round(z)).max(), 0.0, atol=1e-14)
    np.testing.assert_allclose(feedback.loss, (0.3 - z) ** 2, atol=1e-14)
    mu = np.asarray(EXAMPLE.means)[group]
    assert np.all(np.abs(z.mean(0) - mu) <= 4.5 * np.sqrt(mu * (1 - mu) / n))
    np.testing.assert_array_equal(outcome.group_samples[0], np.bincount(group, minlength=16))
    decision = GroupDecision(jnp.array([0.3]), None, group, jnp.array([False, True, False]))
    _, masked, counted = EXAMPLE.step(key, 0, None, None, decision)
    assert masked.loss[0] == masked.loss[2] == 0.0 and counted.samples == counted.group_samples[1] == 1.0


def test_decisions_outside_the_interval_are_not_admissible():
    def admits(w, group=0):
        return bool(EXAMPLE.admits(None, None, GroupDecision(jnp.array([w]), None, jnp.array([group]))))

    assert [admits(w) for w in (0.0, 1.0, -0.01, 1.01)] == [True, True, False, False]
    assert not admits(0.5, group=16) and not admits(0.5, group=-1)


def test_means_must_fit():
    with pytest.raises(InputError, match=r"means must have shape \[3\]"):
        validate(ExampleGroups(n_groups=3))
    with pytest.raises(InputError, match="means"):
        validate(ExampleGroups(n_groups=1, means=(1.5,)))


@pytest.mark.slow
@pytest.mark.parametrize(("k", "w"), [(1, 0.5), (5, 0.8)])
def test_learners_come_near_the_optimum(k, w):
    """The theorem's steps with D^2 = 1/2, G = 2 on [0, 1]: within 0.1 after 4,000 rounds (0.03 after 40,000)."""
    settings = {"dim": 1, "n_groups": 16, "horizon": 4000, "lipschitz": 2.0, "domain": Box(dim=1, low=0.0, high=1.0)}
    learner = SMD(**settings) if k == 1 else ATkROm(k=k, **settings)
    trials = simulate(learner, ExampleGroups(top_k=k), 4000, 4, record_points=1, progress=False)
    assert np.abs(trials.final("distance")).max() < 0.1
    assert trials.final("duality_gap").min() >= 0.0 and not next(iter(trials.trials.values())).inadmissible.any()
