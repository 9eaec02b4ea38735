"""Rows as groups: risks are means, draws follow their order, passes end, labels and losses fit, networks train."""

import dataclasses
import os
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from jaxbandits.algorithms.dro.online import Online
from jaxbandits.algorithms.dro.smd import SMD
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import as_arrays, validate
from jaxbandits.catalogue import from_spec, to_spec
from jaxbandits.domains import WholeSpace
from jaxbandits.environments.datasets.adult import adult_like, load_adult
from jaxbandits.environments.datasets.groups import Groups
from jaxbandits.environments.dro.group_data import GroupData, Rows
from jaxbandits.environments.dro.group_losses import Custom, Hinge, Logistic, Squared
from jaxbandits.simulation import simulate
from jaxbandits.types import GroupDecision
from tests import compiled

REAL = Path(os.environ.get("JAXBANDITS_DATA", "")) / "adult"
SIZES = (5, 3, 9)


def table(sizes=SIZES, d=3, seed=0):
    """Rows in mixed order, each with its own number as the last feature."""
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    group = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    features = np.column_stack([rng.normal(size=(n, d - 1)), np.arange(n)])
    return Groups(features, np.where(rng.random(n) < 0.5, 0.0, 1.0), group, tuple("abc"[: len(sizes)]))


def drawn_rows(environment, group, rounds, key, masks=None):
    """`[T, Q]` numbers of the rows (the last feature) that rounds draw, and what each round adds to the outcome."""
    w = jnp.zeros(environment.dim).at[-1].set(1.0)
    environment = as_arrays(dataclasses.replace(environment, loss=Custom(function=_last)))
    masks = np.ones((rounds, len(group)), bool) if masks is None else masks

    def one(state, now):
        key, mask = now
        decision = GroupDecision(w, None, jnp.asarray(group), mask)
        fine = environment.admits(state, None, decision)
        state, feedback, outcome = environment.step(key, 0, state, None, decision)
        return state, (feedback.loss, outcome, fine)

    keys = jax.random.split(key, rounds + 1)
    return jax.jit(lambda: jax.lax.scan(one, environment.init(keys[0]), (keys[1:], jnp.asarray(masks))))()[1]


def _last(params, x, y):
    return params @ x + 0.0 * y


def test_risks_are_means_over_the_rows_of_a_group(rng):
    made = table(d=4)
    for loss, values in (
        (Logistic(), lambda s, y: np.logaddexp(0.0, -y * s)),
        (Hinge(), lambda s, y: np.maximum(0.0, 1.0 - y * s)),
        (Squared(), lambda s, y: (s - y) ** 2),
    ):
        environment = as_arrays(GroupData.from_table(made, loss=loss, loss_scale=0.5))
        w = rng.normal(size=4)
        y = np.where(made.labels == 1.0, 1.0, -1.0) if loss.signed else made.labels
        expected = [0.5 * np.mean(values(made.features[rows] @ w, y[rows])) for rows in made.rows()]
        np.testing.assert_allclose(environment.risks(compiled.init(environment, None), w), expected, rtol=1e-13)


@pytest.mark.parametrize("kind", [np.int8, bool])
def test_features_may_be_whole_numbers(kind, rng):
    x, y, w = rng.integers(2, size=(6, 3)), np.array([1.0, -1.0, 1.0, 1.0, -1.0, -1.0]), rng.normal(size=3)
    environment = GroupData(rows=Rows(x.astype(kind), y), sizes=(2, 4), names=("a", "b"))
    losses = np.logaddexp(0.0, -y * (x @ w))
    risks = environment.risks(compiled.init(environment, None), jnp.asarray(w))
    np.testing.assert_allclose(risks, [losses[:2].mean(), losses[2:].mean()], rtol=1e-13)


def test_blocks_of_rows_add_up(rng, monkeypatch):
    monkeypatch.setattr("jaxbandits.environments.dro.group_data._BLOCK", 4)  # groups of 5, 3 and 9 rows
    made = table()
    environment = as_arrays(GroupData.from_table(made))
    w, y = rng.normal(size=3), np.where(made.labels == 1.0, 1.0, -1.0)
    expected = [np.mean(np.logaddexp(0.0, -y[rows] * (made.features[rows] @ w))) for rows in made.rows()]
    np.testing.assert_allclose(environment.risks(compiled.init(environment, None), w), expected, rtol=1e-13)


def test_gradients_are_those_of_the_losses(rng):
    """Every loss against JAX's derivative of its values, row by row."""
    x, y, w = rng.normal(size=(6, 3)), np.where(rng.random(6) < 0.5, -1.0, 1.0), rng.normal(size=3)
    for loss in (Logistic(), Hinge(), Squared(), Custom(function=lambda w, x, y: jnp.abs(x @ w - y))):

        def values(w, loss=loss):
            return loss.values(w, x, y)

        told = jax.jit(
            lambda w, loss=loss, values=values: (loss.gradients(w, x, y), (values(w), jax.jacobian(values)(w)))
        )
        for ours, theirs in zip(*told(w), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_iid_rows_are_uniform_in_their_group(key):
    """Chi-square of 12,000 draws of each group; the rows belong to the group asked for."""
    made = table()
    environment = GroupData.from_table(made, loss=Squared())
    rows, outcome, fine = drawn_rows(environment, [2, 0, 2], 4000, key)
    rows = np.asarray(rows).astype(int)
    for column, group in enumerate([2, 0, 2]):
        assert set(rows[:, column]) == set(made.rows()[group])
    for drawn in (rows[:, [0, 2]].ravel(), rows[:, 1]):
        assert scipy.stats.chisquare(np.unique(drawn, return_counts=True)[1]).pvalue > 1e-5
    assert not outcome.overdrawn.any() and fine.all()


@pytest.mark.slow
def test_held_out_rows_are_never_drawn_and_measure_the_risks(key, rng):
    made = table()
    environment = as_arrays(GroupData.from_table(made, held_out=2))
    state, other = (compiled.init(environment, k) for k in jax.random.split(key))
    w = rng.normal(size=3)
    y = np.where(made.labels == 1.0, 1.0, -1.0)
    firsts = np.cumsum([0, *SIZES])[:-1]
    numbers = np.concatenate(made.rows())  # of the rows as they lie in the environment
    held = [numbers[np.asarray(state.order[first : first + 2])] for first in firsts]
    expected = [np.mean(np.logaddexp(0.0, -y[rows] * (made.features[rows] @ w))) for rows in held]
    np.testing.assert_allclose(environment.risks(state, w), expected, rtol=1e-13)
    assert not np.array_equal(state.order, other.order)  # each trial holds out its own
    drawn, _, _ = drawn_rows(GroupData.from_table(made, held_out=2, loss=Squared()), [0, 1, 2], 300, key)
    order = compiled.init(environment, jax.random.split(key, 301)[0]).order  # of that trial
    for i, rows in enumerate(np.asarray(drawn).astype(int).T):
        held = numbers[np.asarray(order[firsts[i] : firsts[i] + 2])]
        assert set(rows) == set(made.rows()[i]) - set(held)


def test_a_pass_meets_every_row_once_and_says_when_it_is_over(key):
    """Groups of 5, 3 and 9; two rows of group 2 and one of group 1 a round, one of group 0 where the mask says."""
    made = table()
    environment = GroupData.from_table(made, order="once", loss=Squared())
    masks = np.array([[True, True, True, t < 2] for t in range(6)])
    rows, outcome, fine = drawn_rows(environment, [2, 1, 2, 0], 6, key, masks)
    rows = np.asarray(rows).astype(int)
    twos, ones, zeros = rows[:, [0, 2]].ravel(), rows[:, 1], rows[:2, 3]
    assert set(twos[:9]) == set(made.rows()[2]) and set(ones[:3]) == set(made.rows()[1])
    assert set(zeros) < set(made.rows()[0]) and len(set(zeros)) == 2
    np.testing.assert_array_equal(twos[9:], twos[:3])  # from the front again
    np.testing.assert_array_equal(ones[3:], ones[:3])
    overdrawn = np.asarray(outcome.overdrawn)
    np.testing.assert_array_equal(overdrawn[:, 1], [0, 0, 0, 1, 1, 1])
    np.testing.assert_array_equal(overdrawn[:, 2], [0, 0, 0, 0, 1, 2])
    np.testing.assert_array_equal(outcome.group_samples[0], [1, 1, 2])
    np.testing.assert_array_equal(fine, [True, True, True, False, False, False])


@pytest.mark.slow
def test_passes_of_trials_differ_and_are_uniform(key):
    """All 3! orders of the smallest group are met equally often."""
    environment = as_arrays(GroupData.from_table(table(), order="once"))
    orders = jax.jit(jax.vmap(lambda k: environment.init(k).order))(jax.random.split(key, 3000))
    assert np.array_equal(np.sort(orders, axis=1), np.broadcast_to(np.arange(17), (3000, 17)))
    counts = np.unique(np.asarray(orders)[:, 5:8], axis=0, return_counts=True)[1]
    assert len(counts) == 6 and scipy.stats.chisquare(counts).pvalue > 1e-5


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*intervals of skewed quantities")
def test_a_run_tells_of_what_it_overdrew():
    """Online(1) draws 40 rows of 17; the summary warns, and rows are counted exactly."""
    environment = GroupData.from_table(table(), order="once")
    trials = simulate(Online(dim=3, n_groups=3, horizon=40), environment, 40, 2, record_points=2, progress=False)
    counts, over = (trials.get(name)[0] for name in ("group_samples", "overdrawn"))
    np.testing.assert_array_equal(over, np.maximum(counts - np.asarray(SIZES), 0))
    assert trials["Online"].inadmissible.min() > 0
    with pytest.warns(UserWarning, match="made inadmissible decisions"):
        trials.table("max_risk")


def network(params, x, y):
    """Logistic loss of a network with one hidden layer."""
    hidden, out = params
    return jnp.logaddexp(0.0, -y * (jnp.tanh(x @ hidden) @ out))


@pytest.mark.slow
def test_a_network_learns_what_no_line_can():
    """Exclusive or in two groups: the parameters are a pair of arrays."""
    rng = np.random.default_rng(0)
    x = rng.choice([-1.0, 1.0], size=(200, 2)) + 0.1 * rng.normal(size=(200, 2))
    labels, group = np.sign(x[:, 0] * x[:, 1]), rng.integers(0, 2, 200)
    made = Groups(np.column_stack([x, np.ones(200)]), labels, group, ("a", "b"))
    settings = {"n_groups": 2, "horizon": 400, "step_w": 0.5, "step_q": 0.01, "domain": WholeSpace()}
    start = rng.normal(size=(3, 8)), np.zeros(8)
    deep = SMD(start=start, **settings), GroupData.from_table(made, loss=Custom(function=network))
    linear = SMD(dim=3, **settings), GroupData.from_table(made)
    deep, linear = (
        simulate(*pair, 400, 2, record_points=2, progress=False).final("max_risk") for pair in (deep, linear)
    )
    assert deep.max() < 0.3 < 0.6 < linear.min()


def test_specifications_come_back():
    for loss in (Hinge(), Squared()):
        made = GroupData.from_table(table(), loss=loss, order="once", held_out=1)
        data = {}
        again = from_spec(to_spec(made, data), data)
        assert (again.names, again.sizes, again.order, type(again.loss)) == (
            made.names,
            made.sizes,
            "once",
            type(loss),
        )
        np.testing.assert_array_equal(again.rows.features, made.rows.features)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"order": "onec"}, "did you mean 'once'"),
        ({"held_out": 3}, "'b' has only 3"),
        ({"top_k": 4}, "top_k must be at most 3, the number of groups"),
        ({"weights": np.ones(2)}, r"weights must have shape \[3\]"),
        ({"loss_scale": 0.0}, "loss_scale"),
    ],
)
def test_settings_that_do_not_fit(settings, message):
    with pytest.raises(InputError, match=message):
        validate(GroupData.from_table(table(), **settings))


def test_labels_must_fit_the_loss():
    three = Groups(np.ones((3, 1)), [0.0, 1.0, 2.0], [0, 1, 2], ("a", "b", "c"))
    with pytest.raises(InputError, match="two distinct values for this loss, got 3"):
        GroupData.from_table(three)
    fits = GroupData.from_table(three, loss=Squared())
    np.testing.assert_array_equal(fits.rows.labels, [0.0, 1.0, 2.0])
    with pytest.raises(InputError, match="labels -1 and 1"):
        validate(dataclasses.replace(fits, loss=Hinge()))
    with pytest.raises(InputError, match="must be a Groups"):
        GroupData.from_table(np.ones(3))


def test_the_stand_in_says_so():
    made = GroupData.from_table(adult_like(scale=0.01))
    assert made.dataset == "stand-in" and made.dim == 105 and made.n_groups == 6


@pytest.mark.skipif("JAXBANDITS_DATA" not in os.environ or not REAL.is_dir(), reason="no JAXBANDITS_DATA/adult")
def test_adult_has_the_papers_budgets_and_the_known_least_risk():
    """Sizes to the digit; at the pooled minimiser the known risks of the groups."""
    made = GroupData.from_table(load_adult(REAL))
    once = dataclasses.replace(made, order="once", held_out=364)
    validate(once)
    assert once.budgets == (26656, 11519, 1780, 1720, 999, 364) and made.dataset == "adult"
    everything = as_arrays(made)
    x, y = (np.asarray(part) for part in everything.rows)
    w = np.zeros(105)
    for _ in range(8):  # Newton's method on the pooled rows
        slope = 1.0 / (1.0 + np.exp(y * (x @ w)))
        hessian = (x * (slope * (1.0 - slope))[:, None]).T @ x / len(y) + 1e-9 * np.eye(105)
        w = w + np.linalg.solve(hessian, x.T @ (y * slope) / len(y))
    known = (0.3998, 0.1972, 0.2793, 0.1174, 0.3578, 0.2203)
    np.testing.assert_allclose(jax.jit(everything.risks)(everything.init(None), w), known, atol=1e-4)
