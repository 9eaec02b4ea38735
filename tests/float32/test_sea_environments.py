"""Environments of the SEA model in float32: gradients within the stated G, and regret that does not drift.

80 000 rounds are accumulated as the simulation does it: float32 sums over the rounds between two record points, blocks
added in float64. The same losses (their float32 parameters, exactly) are replayed in float64, by the definition of
regret. A sum of n terms in sequence is wrong by at most n/2 machine epsilons of the sum of their sizes, and a round's
own values by a few: hence the tolerance, BLOCK/2 + 8 epsilons of all that was added up, whatever the number of blocks.
"""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.base.pytree import as_arrays, validate
from jaxbandits.environments.oco.cell_noise import CellNoise
from jaxbandits.environments.oco.data_stream import DataStream
from jaxbandits.environments.oco.linear_losses import LinearLosses
from jaxbandits.environments.oco.logistic_losses import LogisticLosses
from jaxbandits.environments.oco.pseudo_huber_losses import PseudoHuberLosses
from jaxbandits.environments.oco.quadratic_losses import QuadraticLosses
from jaxbandits.environments.oco.random_order import RandomOrder
from jaxbandits.environments.oco.sequences import Alternating, Drift
from jaxbandits.types import PointDecision

BLOCK, BLOCKS, DIM = 8, 10_000, 3
HORIZON = BLOCK * BLOCKS
EPS = float(np.finfo(np.float32).eps)
TOLERANCE = (BLOCK / 2 + 8) * EPS


@jax.jit
def accumulate(environment, key, points):
    """Block sums and values at record points `[BLOCKS]`; the gradient and the loss of every round."""

    def step(state, t, point):
        decision = PointDecision.at(point)
        state, feedback, outcome = environment.step(jax.random.fold_in(key, t), t, state, None, decision)
        return state, outcome, (feedback.grad[0], getattr(feedback, "oracle", None))

    begin = environment.init(jax.random.fold_in(key, 2**31 - 1))
    _, outcome, _ = jax.eval_shape(step, begin, jnp.int32(0), points[0])
    nothing = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), outcome)

    def round_(carry, inputs):
        state, outcome, rows = step(carry[0], *inputs)
        return (state, jax.tree.map(jnp.add, carry[1], outcome)), rows

    def block(state, inputs):
        (state, sums), rows = jax.lax.scan(round_, (state, nothing), inputs)
        values = environment.at_record(state, None) if hasattr(environment, "at_record") else {}
        return state, (sums._asdict() | values, rows)

    rounds = jnp.arange(HORIZON, dtype=jnp.int32).reshape(BLOCKS, BLOCK)
    _, (values, rows) = jax.lax.scan(block, begin, (rounds, points.reshape(BLOCKS, BLOCK, -1)))
    return nothing, values, jax.tree.map(lambda x: x.reshape(HORIZON, *x.shape[2:]), rows)


def play_rounds(environment, key, rng):
    """Plays in the unit ball, metrics at record points as a result has them, gradients, parameters of the losses."""
    validate(environment)
    points = rng.standard_normal((HORIZON, environment.dim))
    points *= rng.uniform(0.0, 1.0, (HORIZON, 1)) / np.linalg.norm(points, axis=1, keepdims=True)
    points = points.astype(np.float32)
    summed, values, (grads, oracle) = accumulate(as_arrays(environment), key, jnp.asarray(points))
    assert all(leaf.dtype == jnp.float32 for leaf in jax.tree.leaves((values, grads, oracle)))
    metrics = {name: np.asarray(x, float) for name, x in values.items()}
    metrics |= {name: np.cumsum(metrics[name]) for name in summed._fields}
    metrics |= environment.derive(metrics) if hasattr(environment, "derive") else {}
    parameters = [np.asarray(x, float) for x in jax.tree.leaves(oracle)]
    return points.astype(float), metrics, np.asarray(grads, float), np.column_stack(parameters or [points])


def at_records(x):
    """Cumulative sums over rounds, at the record points."""
    return np.cumsum(x)[BLOCK - 1 :: BLOCK]


def check_regret(found, charged, compared):
    """Cumulative `charged - compared`, both `[T]`; `compared` may be the cumulative one already, `[BLOCKS]`."""
    cumulative = at_records(compared) if len(compared) == HORIZON else compared
    size = at_records(np.abs(charged)) + (
        at_records(np.abs(compared)) if len(compared) == HORIZON else np.abs(compared)
    )
    assert found.shape == (BLOCKS,)
    assert (np.abs(found - (at_records(charged) - cumulative)) <= TOLERANCE * size).all()


def check_bound(grads, lipschitz):
    norms = np.linalg.norm(grads, axis=1)
    assert norms.max() <= lipschitz * (1.0 + 4.0 * EPS)
    return norms.max() / lipschitz


@pytest.mark.quick_cases("0.7")
@pytest.mark.parametrize("comparator", [None, 0.7])
def test_linear_losses(comparator, key, rng):
    m, s, c = 0.3, 0.7, 1.5
    environment = LinearLosses(
        dim=DIM, mean=m, noise_scale=s, loss_scale=c, comparator=comparator, sequence=Drift(horizon=HORIZON)
    )
    x, metrics, grads, slopes = play_rounds(environment, key, rng)
    assert check_bound(grads, environment.lipschitz) > 0.99
    angle = 2.0 * np.pi * 0.25 / HORIZON * np.arange(HORIZON)
    means = c * m * np.column_stack([np.cos(angle), np.sin(angle), np.zeros(HORIZON)])
    for name, gradients in (("regret", slopes), ("pseudo_regret", means)):
        if comparator is None:
            compared = -np.linalg.norm(np.cumsum(gradients, axis=0), axis=1)[BLOCK - 1 :: BLOCK]
        else:
            compared = comparator * gradients[:, 0]
        check_regret(metrics[name], np.sum(x * gradients, axis=1), compared)


@pytest.mark.slow
@pytest.mark.parametrize("comparator", [None, -0.4])
def test_quadratic_losses(comparator, key, rng):
    a, s = 0.9, 0.3
    environment = QuadraticLosses(
        dim=DIM, center=a, noise_scale=s, comparator=comparator, sequence=Alternating(period=700)
    )
    x, metrics, grads, parameters = play_rounds(environment, key, rng)
    assert check_bound(grads, environment.lipschitz) > 0.8
    centers = np.outer((-1.0) ** (np.arange(HORIZON) // 700), a * np.eye(DIM)[0])
    for name, targets, spread in (("regret", parameters[:, :DIM], 0.0), ("pseudo_regret", centers, 0.5 * s**2)):
        square = at_records(0.5 * np.sum(targets**2, axis=1) + spread)
        count = BLOCK * np.arange(1, BLOCKS + 1)
        total = np.cumsum(targets, axis=0)[BLOCK - 1 :: BLOCK]
        if comparator is None:
            u = total / count[:, None]
            u /= np.maximum(1.0, np.linalg.norm(u, axis=1, keepdims=True))
        else:
            u = np.tile(comparator * np.eye(DIM)[0], (BLOCKS, 1))
        compared = square - np.sum(total * u, axis=1) + 0.5 * count * np.sum(u**2, axis=1)
        check_regret(metrics[name], 0.5 * np.sum((x - targets) ** 2, axis=1) + spread, compared)


@pytest.mark.quick_cases("0.2")
@pytest.mark.parametrize("comparator", [None, 0.2])
def test_pseudo_huber_losses(comparator, key, rng):
    """The regret of a round is computed as one difference: the tolerance is of its size, not of the losses'."""
    environment = PseudoHuberLosses(dim=DIM, center=3.0, noise_scale=0.4, comparator=comparator)
    x, metrics, grads, parameters = play_rounds(environment, key, rng)
    assert check_bound(grads, environment.lipschitz) > 0.9

    def f(x):
        return np.sqrt(1.0 + np.sum((x - parameters[:, :DIM]) ** 2, axis=1)) - 1.0

    regret = f(x) - f((3.0 if comparator is None else np.float32(comparator)) * np.eye(DIM)[0])
    check_regret(metrics["regret"], regret, 0.0 * regret)
    check_regret(metrics["loss"], f(x), 0.0 * regret)


def test_logistic_losses(key, rng):
    environment = LogisticLosses(dim=DIM, center=2.0, feature_norm=1.5, loss_scale=0.5)
    x, metrics, grads, parameters = play_rounds(environment, key, rng)
    assert check_bound(grads, environment.lipschitz) > 0.5
    margin = parameters[:, :DIM] * parameters[:, DIM : DIM + 1]

    def f(x):
        return 0.5 * np.logaddexp(0.0, -np.sum(margin * x, axis=1))

    check_regret(metrics["regret"], f(x), f(2.0 * np.eye(DIM)[0]))


@pytest.mark.slow
@pytest.mark.parametrize("comparator", [None, 0.7])
def test_random_order(comparator, key, rng):
    n = 63  # the last pass is not complete
    environment = RandomOrder(dim=DIM, pool_size=n, mean=0.2, noise_scale=0.8, comparator=comparator)
    x, metrics, grads, slopes = play_rounds(environment, key, rng)
    assert check_bound(grads, environment.lipschitz) > 0.95
    # F_t is the mean of what its pass has left, from round t to the end of the pass: suffix sums of whole passes.
    pool = np.unique(slopes, axis=0)
    assert len(pool) == n
    passes = np.concatenate([slopes, np.zeros((-HORIZON % n, DIM))]).reshape(-1, n, DIM)
    passes[-1, -(-HORIZON % n) :] = _left_over(pool, slopes[HORIZON - HORIZON % n :])
    left = np.cumsum(passes[:, ::-1], axis=1)[:, ::-1] / np.arange(n, 0, -1)[:, None]
    means = left.reshape(-1, DIM)[:HORIZON]
    for name, gradients in (("regret", slopes), ("pseudo_regret", means)):
        total = np.cumsum(gradients, axis=0)[BLOCK - 1 :: BLOCK]
        compared = -np.linalg.norm(total, axis=1) if comparator is None else comparator * gradients[:, 0]
        # The sum of what is left is kept by subtraction, afresh every pass: its roundings do not add up.
        charged = np.sum(x * gradients, axis=1)
        check_regret(metrics[name], charged, compared)


def test_the_mean_of_what_a_large_pool_has_left():
    """Rounding errors of subtractions do not add up: a plain sum would give errors of 0.07 at the end of the pass."""
    n = 100_000
    environment = as_arrays(RandomOrder(dim=DIM, pool_size=n))

    def step(state, t):
        key = jax.random.fold_in(jax.random.key(1), t)
        state, told, outcome = environment.step(key, t, state, None, PointDecision.at(jnp.ones(DIM)))
        return state, (told.grad[0], outcome.mean_loss)

    _, found = jax.jit(lambda state: jax.lax.scan(step, state, jnp.arange(n, dtype=jnp.int32)))(
        environment.init(jax.random.key(0))
    )
    slopes, mean_loss = (np.asarray(a, float) for a in found)
    left = np.cumsum(slopes[::-1].sum(axis=1))[::-1] / np.arange(n, 0, -1)
    np.testing.assert_allclose(mean_loss, left, rtol=1e-5, atol=1e-4)


def _left_over(pool, drawn):
    """The rows of the pool that were not drawn."""
    used = {tuple(row) for row in drawn}
    return np.array([row for row in pool if tuple(row) not in used])


@pytest.mark.quick_cases("shuffled-squared", "given-logistic")
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("order", ["shuffled", "iid", "given"])
def test_data_stream(loss, order, key, rng):
    features = rng.standard_normal((37, DIM))
    signal = features @ [0.5, -1.0, 0.2] + rng.logistic(size=37)
    targets = np.sign(signal) if loss == "logistic" else signal
    u = np.array([0.3, -0.6, 0.1], np.float32)
    environment = DataStream.from_arrays(features, targets, loss=loss, order=order, comparator=u, loss_scale=2.0)
    x, metrics, grads, parameters = play_rounds(environment, key, rng)
    assert check_bound(grads, environment.lipschitz(1.0)) > 0.3
    rows, target = parameters[:, :DIM], parameters[:, DIM]

    def f(x):
        product = np.sum(rows * x, axis=1)
        return 2.0 * (0.5 * (product - target) ** 2 if loss == "squared" else np.logaddexp(0.0, -target * product))

    check_regret(metrics["regret"], f(x), f(u.astype(float)))


@pytest.mark.slow
@pytest.mark.parametrize("n_cells", [2, 64])
def test_cell_noise(n_cells, key, rng):
    """Zeros and ones: counts are exact, and a learner is told nothing."""
    _, metrics, grads, _ = play_rounds(CellNoise(n_cells=n_cells), key, rng)
    np.testing.assert_array_equal(grads, 0.0)
    for count in metrics.values():
        np.testing.assert_array_equal(count, np.round(count))
        assert (np.diff(count) >= 0.0).all() and count[-1] <= HORIZON
    exact = {"pointwise": 1.0 / n_cells, "uniform": 1.0 - (1.0 - 1.0 / n_cells) ** n_cells}
    for name, p in exact.items():
        assert abs(metrics[name][-1] / HORIZON - p) <= 5.0 * np.sqrt(p * (1.0 - p) / HORIZON)


def test_random_order_deviation_and_lengths_of_the_means(rng):
    """Bounds by Jensen's inequality against all 4! orders of a pass, and close to them."""
    n, passes, rest = 4, 2, 3
    pool = rng.standard_normal((n, DIM)) + 0.5
    deviation, length = np.zeros((2, n))
    for order in itertools.permutations(range(n)):
        for t in range(n):
            left = pool[list(order[t:])]
            mean = left.mean(axis=0)
            deviation[t] += np.mean(np.linalg.norm(left - mean, axis=1)) / 24
            length[t] += np.linalg.norm(mean) / 24
    environment = RandomOrder(dim=DIM, pool_size=n)
    for exact, bound in (
        (deviation, environment.cumulative_deviation(n * passes + rest, pool)),
        (length, environment.cumulative_mean_gradients(n * passes + rest, pool)),
    ):
        expected = passes * exact.sum() + exact[:rest].sum()
        assert expected * (1.0 - 4.0 * EPS) <= float(bound) <= 1.25 * expected
    # Where every vector is as far from the mean of what is left as any other, nothing is lost: two of them.
    pair = RandomOrder(dim=DIM, pool_size=2)
    np.testing.assert_allclose(
        float(pair.cumulative_deviation(8, pool[:2])), 4 * 0.5 * np.linalg.norm(pool[0] - pool[1]), rtol=1e-6
    )
