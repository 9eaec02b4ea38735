"""SEA environments with curved losses: quadratic, pseudo-Huber, logistic; and the two measures of noise."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.base.pytree import as_arrays, validate
from jaxbandits.environments.oco.logistic_losses import LogisticLosses
from jaxbandits.environments.oco.pseudo_huber_losses import PseudoHuberLosses
from jaxbandits.environments.oco.quadratic_losses import QuadraticLosses
from jaxbandits.environments.oco.sequences import Alternating, Drift
from jaxbandits.types import PointDecision


@jax.jit
def run(environment, key, points, queries):
    def round_(state, inputs):
        t, point, query = inputs
        decision = PointDecision(play=point, query=query)
        state, feedback, outcome = environment.step(jax.random.fold_in(key, t), t, state, None, decision)
        oracle = jax.tree.map(jnp.asarray, jax.tree.leaves(feedback.oracle))  # the parameters of the loss, in order
        at = environment.at_record(state, None) if hasattr(environment, "at_record") else {}
        return state, (feedback.loss, feedback.grad, oracle, outcome, at)

    steps = jnp.arange(len(points), dtype=jnp.int32)
    return jax.lax.scan(round_, environment.init(key), (steps, points, queries))[1]


def play_rounds(environment, key, rng, horizon, n_queries=3):
    """Plays, queries, feedback, the drawn parameters `[T, k]`, outcomes, values at every round."""
    validate(environment)
    points = 2.0 * rng.standard_normal((horizon, environment.dim))
    queries = 2.0 * rng.standard_normal((horizon, n_queries, environment.dim))
    loss, grad, oracle, outcome, snapshots = run(as_arrays(environment), key, points, queries)
    parameters = np.column_stack([np.asarray(leaf) for leaf in oracle])
    return points, queries, np.asarray(loss), np.asarray(grad), parameters, outcome, snapshots


def centers(sequence, a, horizon, dim):
    rows = np.zeros((horizon, dim))
    t = np.arange(horizon)
    if isinstance(sequence, Alternating):
        rows[:, 0] = (-1.0) ** (t // sequence.period)
    else:
        angle = 2.0 * np.pi * sequence.turns / sequence.horizon * t
        rows[:, 0], rows[:, 1] = np.cos(angle), np.sin(angle)
    return a * rows


@pytest.mark.quick_cases("drift-2")
@pytest.mark.parametrize("dim", [2, 20])
@pytest.mark.parametrize("sequence", [Alternating(period=5), Drift(turns=0.4, horizon=150)], ids=["flips", "drift"])
def test_quadratic(dim, sequence, key, rng):
    horizon, a, s, c, radius = 150, 0.7, 0.4, 1.8, 0.3
    settings = {"dim": dim, "radius": radius, "center": a, "noise_scale": s, "sequence": sequence, "loss_scale": c}
    environment = QuadraticLosses(**settings)
    points, queries, loss, grad, parameters, outcome, snapshots = play_rounds(environment, key, rng, horizon)
    theta, middle = parameters[:, :dim], centers(sequence, a, horizon, dim)
    np.testing.assert_allclose(np.linalg.norm(theta - middle, axis=1), s, rtol=1e-11)
    np.testing.assert_allclose(parameters[:, dim], c)
    np.testing.assert_allclose(loss, c / 2 * np.sum((queries - theta[:, None]) ** 2, axis=2), rtol=1e-12)
    np.testing.assert_allclose(grad, c * (queries - theta[:, None]), rtol=0.0, atol=1e-12)
    f = c / 2 * np.sum((points - theta) ** 2, axis=1)
    mean = c / 2 * (np.sum((points - middle) ** 2, axis=1) + s**2)
    np.testing.assert_allclose(outcome.loss, f, rtol=1e-12)
    np.testing.assert_allclose(outcome.mean_loss, mean, rtol=1e-12)

    # Regrets on the host, against every-round NumPy sums over the projected mean of the targets.
    totals = {k: np.cumsum(v) for k, v in outcome._asdict().items()} | {k: np.asarray(v) for k, v in snapshots.items()}
    derived = environment.derive(totals)
    for name, targets, charged, spread in (("regret", theta, f, 0.0), ("pseudo_regret", middle, mean, s**2)):
        for n in (1, 40, horizon):
            u = targets[:n].mean(axis=0)
            u *= min(1.0, radius / max(np.linalg.norm(u), 1e-300))
            best = c / 2 * np.sum(np.sum((u - targets[:n]) ** 2, axis=1) + spread)
            np.testing.assert_allclose(derived[name][n - 1], charged[:n].sum() - best, rtol=1e-9, atol=1e-9)
    u = rng.standard_normal(dim)
    stated = QuadraticLosses(**settings, comparator=u)
    points, _, _, _, parameters, outcome, snapshots = play_rounds(stated, key, rng, horizon)
    totals = {k: np.cumsum(v) for k, v in outcome._asdict().items()} | {k: np.asarray(v) for k, v in snapshots.items()}
    theta = parameters[:, :dim]
    expected = c / 2 * np.cumsum(np.sum((points - theta) ** 2 - (u - theta) ** 2, axis=1))
    np.testing.assert_allclose(stated.derive(totals)["regret"], expected, rtol=0.0, atol=1e-8)
    expected = c / 2 * np.cumsum(np.sum((points - middle) ** 2 - (u - middle) ** 2, axis=1))
    np.testing.assert_allclose(stated.derive(totals)["pseudo_regret"], expected, rtol=0.0, atol=1e-8)

    # Constants: the suprema over the ball, found on a dense set of its boundary points.
    sphere = rng.standard_normal((4000, dim))
    sphere *= radius / np.linalg.norm(sphere, axis=1, keepdims=True)
    sphere = np.concatenate([sphere, -radius * middle[:1] / a, radius * middle[:1] / a])
    first = np.max(np.linalg.norm(c * (sphere - middle[0]), axis=1)) ** 2
    moves = c**2 * np.sum(np.diff(middle, axis=0) ** 2)
    np.testing.assert_allclose(environment.cumulative_variation(horizon), first + moves, rtol=1e-10)
    np.testing.assert_allclose(environment.cumulative_variance(horizon), horizon * (c * s) ** 2)
    np.testing.assert_allclose(environment.cumulative_deviation(horizon), horizon * c * s)
    np.testing.assert_allclose(environment.cumulative_mean_gradients(horizon), horizon * c * (radius + a), rtol=1e-12)
    at_sphere = c * np.linalg.norm(sphere[:, None] - theta[:20], axis=2)
    assert at_sphere.max() <= environment.lipschitz


@pytest.mark.slow
@pytest.mark.parametrize("dim", [2, 20])
def test_pseudo_huber(dim, key, rng):
    horizon, a, s, c = 150, 3.0, 0.4, 1.8
    sequence = Drift(turns=0.4, horizon=horizon)
    settings = {"dim": dim, "center": a, "noise_scale": s, "sequence": sequence, "loss_scale": c}
    for comparator, u in (
        (None, a * np.eye(dim)[0]),
        (-0.5, -0.5 * np.eye(dim)[0]),
        (v := rng.standard_normal(dim), v),
    ):
        environment = PseudoHuberLosses(**settings, comparator=comparator)
        points, queries, loss, grad, parameters, outcome, _ = play_rounds(environment, key, rng, horizon)
        theta = parameters[:, :dim]
        np.testing.assert_allclose(np.linalg.norm(theta - centers(sequence, a, horizon, dim), axis=1), s, rtol=1e-11)

        def f(x, theta=theta):
            return c * (np.sqrt(1.0 + np.sum((x - theta) ** 2, axis=1)) - 1.0)

        np.testing.assert_allclose(loss, np.stack([f(queries[:, q]) for q in range(3)], axis=1), rtol=1e-12, atol=1e-14)
        error = queries - theta[:, None]
        expected = c * error / np.sqrt(1.0 + np.sum(error**2, axis=2, keepdims=True))
        np.testing.assert_allclose(grad, expected, rtol=0.0, atol=1e-13)
        np.testing.assert_allclose(outcome.loss, f(points), rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(outcome.comparator_loss, f(u), rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(outcome.regret, f(points) - f(u), rtol=0.0, atol=1e-12)
        assert np.linalg.norm(grad, axis=2).max() <= environment.lipschitz


def test_pseudo_huber_regret_keeps_its_digits(key):
    """Next to the comparator the difference of the losses is lost to rounding, the regret is not."""
    environment = as_arrays(PseudoHuberLosses(dim=1, center=0.0, noise_scale=0.5))
    h = 1e-12
    decision = PointDecision.at(jnp.array([h]))
    _, feedback, outcome = environment.step(key, jnp.int32(0), None, None, decision)
    slope = float(feedback.grad[0][0])
    np.testing.assert_allclose(outcome.regret, slope * h, rtol=1e-9)


def noise_of_pseudo_huber(dim, s, rng):
    """`[S, X, d]` gradients at points at increasing distance from the centre."""
    xi = rng.standard_normal((20_000, 1, dim))
    xi *= s / np.linalg.norm(xi, axis=2, keepdims=True)
    xi = np.concatenate([xi, -xi])  # so that the mean at the centre is 0 exactly
    x = np.outer(np.linspace(0.0, 4.0 * s + 2.0, 15), np.eye(dim)[0])
    return (x - xi) / np.sqrt(1.0 + np.sum((x - xi) ** 2, axis=2, keepdims=True))


@pytest.mark.slow_cases("*-1", "*-5")
@pytest.mark.parametrize("dim", [2, 1, 5])
@pytest.mark.parametrize("s", [0.2, 1.0, 10.0])
def test_pseudo_huber_noise_is_largest_at_the_centre(dim, s, rng):
    gradients = noise_of_pseudo_huber(dim, s, rng)
    deviations = np.linalg.norm(gradients - gradients.mean(axis=0), axis=2)  # [S, X]
    environment = PseudoHuberLosses(dim=dim, noise_scale=s, loss_scale=3.0)
    for power, exact in ((2, environment.cumulative_variance(7)), (1, environment.cumulative_deviation(7))):
        by_point = 7 * 3.0**power * np.mean(deviations**power, axis=0)
        np.testing.assert_allclose(by_point[0], exact, rtol=1e-12)
        assert by_point.max() <= exact * (1 + 1e-12)
        assert by_point[-1] < 0.999 * exact


def test_pseudo_huber_variation(rng):
    """Exactly c^2 for a fixed centre on R^d; otherwise a bound on what a fine grid finds."""
    assert PseudoHuberLosses(dim=3, center=8.0, loss_scale=2.0).cumulative_variation(1000) == pytest.approx(4.0)
    assert PseudoHuberLosses(dim=1).cumulative_mean_gradients(50) == pytest.approx(50.0)
    sequence = Drift(turns=0.3, horizon=12)
    environment = PseudoHuberLosses(dim=2, center=2.0, noise_scale=0.0, sequence=sequence, radius=5.0)
    middle = centers(sequence, 2.0, 12, 2)
    radii, angles = np.meshgrid(np.linspace(0.0, 5.0, 200), np.linspace(0.0, 2 * np.pi, 400))
    x = np.stack([radii * np.cos(angles), radii * np.sin(angles)], axis=-1).reshape(-1, 1, 2)
    gradients = (x - middle) / np.sqrt(1.0 + np.sum((x - middle) ** 2, axis=2, keepdims=True))  # [X, T, 2]
    moves = np.diff(gradients, axis=1, prepend=np.zeros((len(x), 1, 2)))
    found = np.sum(np.max(np.sum(moves**2, axis=2), axis=0))
    assert 0.8 * environment.cumulative_variation(12) <= found <= environment.cumulative_variation(12)
    lengths = np.sum(np.max(np.linalg.norm(gradients, axis=2), axis=0))
    np.testing.assert_allclose(environment.cumulative_mean_gradients(12), lengths, rtol=1e-3)
    assert lengths <= environment.cumulative_mean_gradients(12) * (1 + 1e-12)


@pytest.mark.slow_after_first
@pytest.mark.parametrize("dim", [2, 20])
def test_logistic(dim, key, rng):
    horizon, b, s, c = 4000, 2.0, 1.5, 0.7
    environment = LogisticLosses(dim=dim, center=b, feature_norm=s, loss_scale=c, sequence=Alternating(period=3))
    points, queries, loss, grad, parameters, outcome, _ = play_rounds(environment, key, rng, horizon)
    features, label = parameters[:, :dim], parameters[:, dim]
    np.testing.assert_allclose(np.linalg.norm(features, axis=1), s, rtol=1e-12)
    assert set(label) == {-1.0, 1.0}

    def f(x):
        return c * np.log1p(np.exp(-label * np.sum(features * x, axis=1)))

    np.testing.assert_allclose(loss, np.stack([f(queries[:, q]) for q in range(3)], axis=1), rtol=1e-10)
    weight = -c * label[:, None] / (1.0 + np.exp(label[:, None] * np.einsum("td,tqd->tq", features, queries)))
    np.testing.assert_allclose(grad, weight[..., None] * features[:, None], rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(outcome.loss, f(points), rtol=1e-10)
    np.testing.assert_allclose(outcome.regret, f(points) - f(b * np.eye(dim)[0]), rtol=0.0, atol=1e-12)
    # The labels follow the model, and features and labels are drawn apart.
    model = np.outer((-1.0) ** (np.arange(horizon) // 3), b * np.eye(dim)[0])
    probability = 1.0 / (1.0 + np.exp(-np.sum(features * model, axis=1)))
    for direction in (*features.T, np.ones(horizon), model[:, 0] * features[:, 0]):
        error = ((label > 0) - probability) * direction
        assert abs(error.mean()) <= 5.0 * error.std() / np.sqrt(horizon)
    assert np.linalg.norm(grad, axis=2).max() <= environment.lipschitz


def test_logistic_comparator_is_the_minimiser(key, rng):
    """The gradient of the losses at b e_1 has mean zero."""
    environment = LogisticLosses(dim=3, center=1.5)
    horizon = 4000
    points = np.tile(1.5 * np.eye(3)[0], (horizon, 1))
    _, grad, _, outcome, _ = run(as_arrays(environment), key, points, points[:, None])
    grad = np.asarray(grad)[:, 0]
    assert (np.abs(grad.mean(axis=0)) <= 5.0 * grad.std(axis=0) / np.sqrt(horizon)).all()
    np.testing.assert_array_equal(outcome.regret, np.zeros(horizon))
