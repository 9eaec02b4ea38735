"""SMD(m) against a NumPy loop at its smallest and at larger sizes, identities, weights that underflow."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms.dro.smd import SMD
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
def replay(algorithm, x, y):
    """Plays recorded rows `[T, m, d]`; states `[T + 1, ...]` (dense), averages `[T, ...]`."""

    def round_(state, row):
        t, x, y = row
        decision = algorithm.select(KEY, t, state, None)
        feedback = logistic(decision.play, x[decision.group], y[decision.group])
        state = algorithm.update(KEY, t, state, None, decision, feedback)
        return state, dense(state)

    def dense(state):
        return tuple(map(jnp.asarray, (state.model.w, jnp.exp(state.weights.log_q), *algorithm.recommend(state))))

    start = algorithm.init(KEY)
    _, after = jax.lax.scan(round_, start, (jnp.arange(len(x)), x, y))
    (w, q, w_mean, q_mean), (w0, q0, *_) = after, dense(start)
    return jnp.concatenate([w0[None], w]), jnp.concatenate([q0[None], q]), w_mean, q_mean


def rows(rng, horizon, m, d):
    return rng.normal(size=(horizon, m, d)), rng.choice([-1.0, 1.0], size=(horizon, m))


@pytest.mark.parametrize(("m", "d"), [(2, 1), (20, 30)])
def test_equals_the_reference_at_every_step(m, d, rng):
    x, y = rows(rng, 60, m, d)
    step_w, step_q = rng.uniform(0.1, 0.5), rng.uniform(0.5, 2.0)
    radius = 0.5 * np.max(np.linalg.norm(reference.smd_m(x, y, step_w, step_q, np.inf)[0], axis=1))  # it binds
    algorithm = as_arrays(
        SMD(dim=d, n_groups=m, horizon=60, step_w=step_w, step_q=step_q, domain=L2Ball(radius=radius))
    )
    w, q, w_mean, q_mean = replay(algorithm, x, y)
    expected_w, expected_q = reference.smd_m(x, y, step_w, step_q, radius)
    for ours, theirs in [
        (w, expected_w),
        (q, expected_q),
        (w_mean, reference.running_means(expected_w)),
        (q_mean, reference.running_means(expected_q)),
    ]:
        np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-13)


def test_constant_losses_leave_the_weights(rng):
    x = np.repeat(rng.normal(size=(20, 1, 3)), 4, axis=1)  # the same row in every group
    y = np.repeat(rng.choice([-1.0, 1.0], size=(20, 1)), 4, axis=1)
    _, q, *_ = replay(
        as_arrays(SMD(dim=3, n_groups=4, horizon=60, step_w=0.3, step_q=2.0, domain=L2Ball(radius=0.3))), x, y
    )
    np.testing.assert_allclose(q, 0.25, rtol=1e-14)


def test_permuting_groups_permutes_weights(rng):
    x, y = rows(rng, 60, 4, 3)
    algorithm = as_arrays(SMD(dim=3, n_groups=4, horizon=60, step_w=0.3, step_q=2.0, domain=L2Ball(radius=0.3)))
    order = np.array([2, 0, 3, 1])
    w, q, *_ = replay(algorithm, x, y)
    permuted_w, permuted_q, *_ = replay(algorithm, x[:, order], y[:, order])
    np.testing.assert_allclose(permuted_w, w, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(permuted_q, np.asarray(q)[:, order], rtol=1e-12)


def test_weights_survive_where_probabilities_underflow():
    """Log weights: a group whose weight falls to exp(-4000) comes back when its losses grow."""
    losses = np.zeros((80, 4))
    losses[:40, 0], losses[40:, 1] = 100.0, 101.0  # step 1: 40 rounds each

    @jax.jit
    def weights(algorithm):
        def round_(state, row):
            t, loss = row
            feedback = Gradient(loss, jnp.zeros((4, 3)))
            decision = algorithm.select(KEY, t, state, None)
            return (state := algorithm.update(KEY, t, state, None, decision, feedback)), state.weights.log_q

        return jax.lax.scan(round_, algorithm.init(KEY), (jnp.arange(80), losses))[1]

    log_q = weights(as_arrays(SMD(dim=3, n_groups=4, horizon=60, step_w=0.3, step_q=1.0, domain=L2Ball(radius=0.3))))
    np.testing.assert_allclose(log_q[39], [0.0, -4000.0, -4000.0, -4000.0], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(log_q[-1, :2], [-40.0, 0.0], rtol=1e-9, atol=1e-12)


def test_gradient_is_unbiased_over_all_samples(rng):
    """(12): over every combination of two rows a group, the mean w-step is the gradient of phi."""
    pool_x, pool_y = rng.normal(size=(2, 3, 2)), rng.choice([-1.0, 1.0], size=(2, 3))
    q, w, step = rng.dirichlet(np.ones(3)), rng.normal(size=2), 0.3
    algorithm = as_arrays(SMD(dim=2, n_groups=3, horizon=9, step_w=step, step_q=1.0, domain=WholeSpace()))
    start = algorithm.init(KEY)
    start = start._replace(
        model=start.model._replace(w=jnp.asarray(w)), weights=start.weights._replace(log_q=jnp.log(q))
    )

    @jax.jit
    @jax.vmap
    def after(x, y):
        decision = algorithm.select(KEY, 0, start, None)
        return algorithm.update(KEY, 0, start, None, decision, logistic(start.model.w, x, y)).model.w

    picks = np.stack(np.meshgrid(*[[0, 1]] * 3), -1).reshape(-1, 3)
    steps = after(pool_x[picks, np.arange(3)], pool_y[picks, np.arange(3)])
    risk_gradient = sum(
        q[i] * 0.5 * reference.logistic(w, pool_x[r, i], pool_y[r, i])[1] for i in range(3) for r in range(2)
    )
    np.testing.assert_allclose((w - np.mean(steps, 0)) / step, risk_gradient, rtol=1e-12)
