"""Online(1) against a NumPy loop at its smallest and at larger sizes, the identities of implicit exploration."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms.dro.online import Online
from jaxbandits.base.pytree import as_arrays
from jaxbandits.domains import L2Ball, WholeSpace
from jaxbandits.types import Gradient
from tests.reference import group_dro as reference

KEY = jax.random.key(0)


def logistic(w, x, y):
    """Feedback at w for rows `[Q, d]`, in the form that d asks for."""
    margin = y * (x @ w)
    return Gradient(jnp.logaddexp(-margin, 0.0), (-y * jax.nn.sigmoid(-margin))[:, None] * x)


@jax.jit
def replay(algorithm, x, y, u):
    """Plays recorded rows `[T, m, d]` with the index made from `u[t]`; states `[T + 1, ...]` (dense), averages."""

    def round_(state, row):
        t, x, y, u = row
        decision = algorithm.select(KEY, t, state, None)
        index = jnp.searchsorted(jnp.cumsum(decision.weights)[:-1], u, side="right")
        decision = decision._replace(group=index[None])
        feedback = logistic(decision.play, x[decision.group], y[decision.group])
        state = algorithm.update(KEY, t, state, None, decision, feedback)
        return state, (index, dense(state))

    def dense(state):
        return tuple(map(jnp.asarray, (state.model.w, jnp.exp(state.weights.log_q), *algorithm.recommend(state))))

    start = algorithm.init(KEY)
    _, (index, after) = jax.lax.scan(round_, start, (jnp.arange(len(x)), x, y, u))
    (w, q, w_mean, q_mean), (w0, q0, *_) = after, dense(start)
    return index, jnp.concatenate([w0[None], w]), jnp.concatenate([q0[None], q]), w_mean, q_mean


def place(state, w, q):
    """The state with both players elsewhere."""
    return state._replace(model=state.model._replace(w=w), weights=state.weights._replace(log_q=jnp.log(q)))


def one_step(algorithm, w, q, index, loss, grad):
    """The state after one round in which group `index` reads this loss and gradient."""
    state = place(algorithm.init(KEY), w, q)
    decision = algorithm.select(KEY, 0, state, None)._replace(group=index[None])
    feedback = Gradient(loss[None], jax.tree.map(lambda a: a[None], grad))
    state = algorithm.update(KEY, 0, state, None, decision, feedback)
    return state.model.w, state.weights.log_q


each_group = jax.jit(jax.vmap(one_step, in_axes=(None, None, None, 0, 0, 0)))


@pytest.fixture
def round_(rng):
    """One round at a fixed point, played once for each possible group: `(algorithm, w, q, losses, grads)`."""
    algorithm = as_arrays(Online(dim=2, n_groups=5, horizon=10, step_w=0.3, step_q=0.4, domain=WholeSpace()))
    return algorithm, rng.normal(size=2), rng.dirichlet(np.ones(5)), rng.uniform(0, 1, 5), rng.normal(size=(5, 2))


def estimates(q, log_q, step_q):
    """`[i_t, i]` the estimate s behind each step, up to the constant that normalisation takes away."""
    raw = -(np.asarray(log_q) - np.log(q)) / step_q
    others = np.array([np.delete(row, i)[0] for i, row in enumerate(raw)])  # s = 0 wherever i is not i_t
    return raw - others[:, None]


@pytest.mark.parametrize(("m", "d"), [(2, 1), (20, 30)])
def test_equals_the_reference_at_every_step(m, d, rng):
    x, y, u = rng.normal(size=(90, m, d)), rng.choice([-1.0, 1.0], size=(90, m)), rng.uniform(size=90)
    step_w, step_q = rng.uniform(0.1, 0.5), rng.uniform(0.2, 1.0)
    free, _, _ = reference.online_1(x, y, u, step_w, step_q, step_q / 2.0, np.inf)
    radius = 0.5 * np.max(np.linalg.norm(free, axis=1))  # it binds
    algorithm = as_arrays(
        Online(dim=d, n_groups=m, horizon=90, step_w=step_w, step_q=step_q, domain=L2Ball(radius=radius))
    )
    index, w, q, w_mean, q_mean = replay(algorithm, x, y, u)
    expected_w, expected_q, chosen = reference.online_1(x, y, u, step_w, step_q, step_q / 2.0, radius)
    np.testing.assert_array_equal(index, chosen)
    for ours, theirs in [
        (w, expected_w),
        (q, expected_q),
        (w_mean, reference.running_means(expected_w)),
        (q_mean, reference.running_means(expected_q)),
    ]:
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)


def test_clip_only_changes_losses_above_one(rng):
    x, y, u = 4.0 * rng.normal(size=(90, 4, 3)), rng.choice([-1.0, 1.0], size=(90, 4)), rng.uniform(size=90)
    steps = {"step_w": 0.3, "step_q": 0.5, "gamma": 0.25}
    algorithm = as_arrays(Online(dim=3, n_groups=4, horizon=90, domain=L2Ball(radius=0.3), **steps))
    _, _, clipped, *_ = replay(dataclasses.replace(algorithm, clip=True), x, y, u)
    _, _, faithful, *_ = replay(algorithm, x, y, u)
    np.testing.assert_allclose(clipped, reference.online_1(x, y, u, clip=True, radius=0.3, **steps)[1], rtol=1e-10)
    assert np.max(np.abs(clipped - faithful)) > 0.01


def test_step_of_w_is_unbiased(round_):
    """(24): no factor q and no importance weight, because i_t is drawn from q."""
    algorithm, w, q, losses, grads = round_
    after, _ = each_group(algorithm, w, q, np.arange(5), losses, grads)
    np.testing.assert_allclose((w - q @ np.asarray(after)) / 0.3, q @ grads, rtol=1e-12)


@pytest.mark.slow
def test_implicit_exploration_identity_and_bias(round_):
    """(84): <q, s> = (1 - loss) - gamma sum s; over i_t the mean of s_i is (1 - loss_i) q_i / (q_i + gamma)."""
    algorithm, w, q, losses, grads = round_
    _, log_q = each_group(algorithm, w, q, np.arange(5), losses, grads)
    s, gamma = estimates(q, log_q, 0.4), 0.2
    np.testing.assert_allclose(s @ q, (1.0 - losses) - gamma * s.sum(1), rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(q @ s, (1.0 - losses) * q / (q + gamma), rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("excess", [0.0, 5.0])
def test_one_round_moves_log_weights_by_at_most_twice_the_reward(round_, excess):
    """With gamma = eta_q / 2 the exponent is at most 2 |1 - loss|, also for losses above 1 and q near 0."""
    algorithm, w, _, losses, grads = round_
    q = np.array([1e-12, 1e-6, 1e-3, 0.1, 0.0])
    q[-1] = 1.0 - q.sum()
    _, log_q = each_group(algorithm, w, q, np.arange(5), losses + excess, grads)
    moves = 0.4 * np.diag(estimates(q, log_q, 0.4))
    assert np.all(np.abs(moves) <= 2.0 * np.abs(1.0 - losses - excess) + 1e-12)
    np.testing.assert_allclose(moves[0], 2.0 * (1.0 - losses[0] - excess), rtol=1e-8)


def test_permuting_groups_permutes_weights(round_):
    algorithm, w, q, losses, grads = round_
    order = np.array([2, 0, 4, 1, 3])
    after, log_q = each_group(algorithm, w, q, np.arange(5), losses, grads)
    permuted, permuted_log_q = each_group(algorithm, w, q[order], np.arange(5), losses[order], grads[order])
    np.testing.assert_allclose(permuted, np.asarray(after)[order], rtol=1e-13)
    np.testing.assert_allclose(permuted_log_q, np.asarray(log_q)[np.ix_(order, order)], rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("m", [5, 20])
def test_groups_are_drawn_with_their_weights(m, rng, key):
    algorithm = as_arrays(Online(dim=2, n_groups=m, horizon=10))
    q = rng.dirichlet(np.full(m, 5.0))
    state = place(algorithm.init(key), jnp.zeros(2), q)
    draw = jax.jit(jax.vmap(lambda k: algorithm.select(k, 0, state, None)))
    decisions, n = draw(jax.random.split(key, 40_000)), 40_000
    assert decisions.group.shape == (n, 1)
    np.testing.assert_allclose(decisions.weights[0], q, rtol=1e-13)
    frequencies = np.bincount(decisions.group[:, 0], minlength=m) / n
    np.testing.assert_array_less(np.abs(frequencies - q), 4.5 * np.sqrt(q * (1 - q) / n) + 1e-12)
