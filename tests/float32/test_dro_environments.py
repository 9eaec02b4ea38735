"""The environments of group DRO other than the synthetic one in float32 (a process without x64), beside NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.base.pytree import as_arrays
from jaxbandits.environments.datasets.groups import Groups
from jaxbandits.environments.dro.example_groups import ExampleGroups
from jaxbandits.environments.dro.group_data import GroupData
from jaxbandits.environments.dro.group_losses import Custom, Hinge, Logistic, Squared
from jaxbandits.types import GroupDecision
from tests.reference import dro_risks

SIZES = (7000, 3, 900)  # more rows than one block of a mean holds, and fewer


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(2)
    group = rng.permutation(np.repeat(np.arange(3), SIZES))
    labels = np.where(rng.random(sum(SIZES)) < 0.3, -1.0, 1.0)
    return Groups(rng.normal(size=(sum(SIZES), 4)) + 0.3 * group[:, None], labels, group, ("a", "b", "c"))


LOSSES = {
    Logistic(): lambda s, y: np.logaddexp(0.0, -y * s),
    Hinge(): lambda s, y: np.maximum(0.0, 1.0 - y * s),
    Squared(): lambda s, y: (s - y) ** 2,
    Custom(function=lambda w, x, y: jnp.abs(x @ w - y)): lambda s, y: np.abs(s - y),
}


def test_risks_and_rows_of_a_table(table, key, rng):
    """Means of 7000 losses to a few roundings; a pass draws each row of a group of 3 once, and then is over."""
    made = [as_arrays(GroupData.from_table(table, loss=loss, order="once")) for loss in LOSSES]
    w = np.float32(rng.normal(size=4))

    @jax.jit
    def play(key):
        def one(state, key):
            decision = GroupDecision(w, None, jnp.array([1, 0]))
            fine = environment.admits(state, None, decision)
            state, feedback, outcome = environment.step(key, 0, state, None, decision)
            return state, (feedback.loss, outcome, fine)

        environment = made[0]
        state = environment.init(key)
        rounds = jax.lax.scan(one, state, jax.random.split(key, 5))[1]
        return [environment.risks(state, w) for environment in made], state.order, rounds

    risks, order, (loss_drawn, outcome, fine) = play(key)
    for found, values in zip(risks, LOSSES.values(), strict=True):
        every = [values(table.features[rows] @ w, table.labels[rows]) for rows in table.rows()]
        np.testing.assert_allclose(found, [part.mean() for part in every], rtol=5e-6)
    assert risks[0].dtype == loss_drawn.dtype == outcome.loss.dtype == jnp.float32
    rows = np.concatenate(table.rows())[np.asarray(order)]
    expected = np.logaddexp(0.0, -table.labels[rows] * (table.features[rows] @ w))
    first = SIZES[0] + np.array([0, 1, 2, 0, 1])
    np.testing.assert_allclose(loss_drawn, np.stack([expected[first], expected[:5]], 1), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(outcome.overdrawn[:, 1], [0, 0, 0, 1, 1])
    np.testing.assert_array_equal(fine, [True, True, True, False, False])


@pytest.mark.slow_after_first
@pytest.mark.parametrize("k", [1, 5])
def test_example_1(k, rng):
    environment = as_arrays(ExampleGroups(top_k=k))
    w, q = np.float32(rng.uniform(size=1)), np.float32(rng.dirichlet(np.ones(16)))
    recorded, optimum = jax.jit(lambda w, q: (environment.at_record(None, (w, q)), environment.optimum(k)))(w, q)
    risks = dro_risks.example_1_risks(float(w[0]))
    worst, center = np.sort(risks)[-k:].mean(), q.astype(float) @ np.asarray(ExampleGroups().means) / q.sum()
    assert recorded["duality_gap"].dtype == jnp.float32
    np.testing.assert_allclose(recorded["risk"], risks, atol=3e-7)
    np.testing.assert_allclose(recorded["duality_gap"], worst - center * (1.0 - center), atol=1e-6)
    np.testing.assert_allclose(optimum, {1: (0.5, 0.25), 5: (0.8, 0.16)}[k], rtol=1e-6)
