"""CLA-OONS against the NumPy reference and recorded traces, its certificates, restarts and symmetries."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms.oco.cla_oons import CLAOONS
from jaxbandits.base import trees
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import as_arrays, validate
from jaxbandits.diagnostics import oons_rounds as rounds
from jaxbandits.tracing.barrier import barrier
from jaxbandits.types import Gradient
from tests.reference import cla_oons as reference

KEY = jax.random.key(0)
HORIZON = 300


@jax.jit
def replay(algorithm, offsets, curved, comparator):
    """Plays, states before and after, and certificates; gradients `offset`, or pseudo-Huber ones with that target."""

    def round_(state, inputs):
        t, offset = inputs
        decision = algorithm.select(KEY, t, state, None)
        error = barrier(decision.play - offset)
        huber = error / jnp.sqrt(1.0 + error @ error)
        grad = trees.where(curved, huber, offset)
        feedback = Gradient(jnp.zeros(1), jax.tree.map(lambda g: g[None], grad))
        after = algorithm.update(KEY, t, state, None, decision, feedback)
        r = jax.tree.map(lambda x: x[0], rounds.inside(algorithm, state, decision, feedback))
        u = comparator
        u = u * jnp.minimum(1.0, r.radius / (jnp.linalg.norm(u) + 1e-300))
        checks = {
            "slack": rounds.inequality_slack(r, u),
            "projection": jnp.stack(rounds.projection_residuals(r)),
            "stability": jnp.stack(rounds.stability(r)),
            "preconditions": jnp.stack(rounds.preconditions(r)),
        }
        return after, (decision.play, grad, r, state, after, checks)

    steps = jnp.arange(len(offsets), dtype=jnp.int32)
    return jax.lax.scan(round_, algorithm.init(KEY), (steps, offsets))[1]


def trace(algorithm, offsets, curved=False, comparator=None):
    """The same as a reference `Trace`, and the checks."""
    comparator = np.ones(offsets.shape[1]) if comparator is None else comparator
    out = replay(as_arrays(algorithm), jnp.asarray(offsets), curved, jnp.asarray(comparator))
    play, grad, r, before, after, checks = out
    ours = reference.Trace(
        play,
        grad,
        r.grad,
        after.scale,
        before.bound,
        r.eta,
        r.metric,
        after.bound != before.bound,
    )
    return jax.tree.map(np.asarray, ours), {name: np.asarray(x) for name, x in checks.items()}


def draws(dim, rng, scale=1.0, horizon=HORIZON):
    noise = rng.standard_normal((horizon, dim))
    noise /= np.linalg.norm(noise, axis=1, keepdims=True)
    return scale * (0.2 * np.eye(dim)[0] + 0.8 * noise)


PRACTICAL = {"c_eta": 1.0, "c_A": 0.25, "c_corr": 0.5}


@pytest.mark.quick_cases("2-False-fields0", "2-True-fields1")
@pytest.mark.parametrize(
    ("dim", "curved", "fields"),
    [
        (2, False, {"initial_scale": 0.01}),
        (2, True, {**PRACTICAL, "radius": 1.5}),
        (1, False, {}),
        (2, True, {}),
        (2, False, PRACTICAL),
        (15, True, PRACTICAL),
    ],
)
def test_matches_the_reference(dim, curved, fields, rng):
    offsets = 3.0 * np.eye(dim)[0] + 0.3 * rng.standard_normal((HORIZON, dim)) if curved else draws(dim, rng, 2.5)
    offsets *= 1.0 if curved else np.linspace(0.1, 1.0, HORIZON)[:, None]  # the range of the hints keeps growing

    def gradient(t, x):
        e = x - offsets[t - 1]
        return e / np.sqrt(1.0 + e @ e) if curved else offsets[t - 1]

    ours, _ = trace(CLAOONS(dim=dim, **fields), offsets, curved)
    expected = reference.run(gradient, HORIZON, dim, **fields)
    for name in reference.Trace._fields:
        np.testing.assert_allclose(getattr(ours, name), getattr(expected, name), rtol=1e-9, atol=1e-10, err_msg=name)
    assert expected.restarted.sum() >= 2
    assert curved or (expected.scale[:-1] < expected.scale[1:]).sum() > 5


def test_golden_trace():
    """Recorded from an independent implementation: d = 1, B_0 = 1, linear."""
    ours, _ = trace(CLAOONS(dim=1), np.array([0.5, 3.0, -2.0, 1.0, 1.0, 1.0])[:, None])
    play = [0.0, -0.2460356166, -0.1196945930, 0.0620287856, -0.0979408801, -0.1376928743]
    np.testing.assert_allclose(ours.play[:, 0], play, rtol=0.0, atol=6e-11)
    np.testing.assert_allclose(ours.clipped[:, 0], [0.5, 1.5, 0.5, 1.0, 1.0, 1.0], rtol=0.0, atol=1e-14)
    np.testing.assert_array_equal(ours.scale, [1.0, 2.5, 5.0, 5.0, 5.0, 5.0])
    np.testing.assert_allclose(ours.bound, [1.0, 1.0, *[2.4494897428] * 4], rtol=0.0, atol=6e-11)
    np.testing.assert_array_equal(ours.restarted, [False, True, False, False, False, False])


E4 = {
    0.01: (735.6, 3, 8.0),
    0.1: (-272.0, 4, 16.5),
    1.0: (-3831.5, 5, 41.6),
    10.0: (356.3, 5, 45.7),
    100.0: (827.2, 5, 45.7),
}


@pytest.mark.slow
def test_benchmark_e4():
    """The recorded draws: regret / c against -2 e_1, restarts, final D, for losses multiplied by c. Not scale-free."""
    noise = np.random.default_rng(7).standard_normal((2048, 2))
    grads = 0.2 * np.eye(2)[0] + 0.8 * noise / np.linalg.norm(noise, axis=1, keepdims=True)
    for c, (regret, restarts, bound) in E4.items():
        ours, _ = trace(CLAOONS(dim=2), c * grads)
        found = (grads * (ours.play - [-2.0, 0.0])).sum()
        assert abs(found - regret) <= 0.05 + 1e-9, (c, found)
        assert ours.restarted.sum() == restarts
        assert abs(ours.bound[-1] - bound) <= 0.05 + 1e-9


@pytest.mark.parametrize("fields", [{}, PRACTICAL], ids=["theory", "practical"])
@pytest.mark.parametrize("curved", [False, True])
def test_certificates(curved, fields, rng):
    """Path-wise, in every round of every epoch, for comparators drawn into the current ball."""
    comparators = np.array([[0.0, 0.0], [-50.0, 1.0], [0.3, 0.1], [0.0, -2.0], *rng.standard_normal((4, 2))])
    for scale in (0.3, 3.0):
        offsets = draws(2, rng, scale)
        for comparator in comparators:
            ours, checks = trace(CLAOONS(dim=2, **fields), offsets, curved, comparator)
            size = 1.0 + np.linalg.norm(ours.metric, axis=(1, 2)) * ours.bound**2
            assert (checks["slack"] >= -1e-13 * size).all()
            assert (np.abs(checks["projection"]) <= 1e-14).all()
            product, bound = checks["stability"].T
            assert (product >= -1e-12 * size).all()
            assert (product <= bound * (1.0 + 1e-9) + 1e-12).all()
            hint_error, step_size, correction, step = checks["preconditions"].T
            assert (hint_error <= 1.0 + 1e-14).all()  # the clipped gradient stays within the range of the hint
            if not fields:
                assert (np.stack([step_size, correction, step]) <= 1.0 + 1e-14).all()
            within = ~ours.restarted[:-1]
            assert (np.diff(ours.eta)[within] <= 0.0).all()
            # A_t >= c_A z^2 I with the range z at the start of the epoch.
            starts = np.concatenate([[0], 1 + np.flatnonzero(ours.restarted[:-1])])
            first = np.repeat(np.concatenate([[1.0], ours.scale])[starts], np.diff([*starts, HORIZON]))
            least = np.linalg.eigvalsh(ours.metric)[:, 0]
            assert (least >= fields.get("c_A", 4.0) * first**2 * (1.0 - 1e-14)).all()


def test_restarts_are_few_and_double_the_ball(rng):
    for scale in (0.1, 1.0, 30.0):
        ours, _ = trace(CLAOONS(dim=2), draws(2, rng, scale))
        assert ours.restarted.sum() <= 0.5 * np.log2(HORIZON) + 2.0
        grown = ours.bound[1:][ours.restarted[:-1]]
        assert (grown >= 2.0 * ours.bound[:-1][ours.restarted[:-1]]).all()
        assert ours.bound.max() <= 2.0 * np.sqrt(HORIZON)
        assert (np.linalg.norm(ours.play, axis=1) <= ours.bound * (1.0 + 1e-15)).all()


def test_rotation_and_sign(rng):
    offsets = draws(2, rng)
    q = np.linalg.qr(rng.standard_normal((2, 2)))[0]
    plain = trace(CLAOONS(dim=2), offsets)[0]
    rotated = trace(CLAOONS(dim=2), offsets @ q.T)[0]
    np.testing.assert_allclose(rotated.play, plain.play @ q.T, rtol=0.0, atol=1e-11)
    np.testing.assert_array_equal(trace(CLAOONS(dim=2), -offsets)[0].play, -plain.play)


@pytest.mark.slow_after_first
@pytest.mark.parametrize("dim", [2, 1, 15])
def test_zero_gradients_keep_the_origin(dim):
    ours, _ = trace(CLAOONS(dim=dim), np.zeros((HORIZON, dim)))
    np.testing.assert_array_equal(ours.play, 0.0)
    np.testing.assert_array_equal(ours.bound, 1.0)


def test_inputs():
    for fine in (CLAOONS(dim=2), CLAOONS.practical(dim=2, radius=3.0)):
        validate(fine)
    for wrong in ({"initial_scale": 0.0}, {"radius": 0.0}, {"c_eta": 0.0}, {"dim": 0}):
        with pytest.raises(InputError):
            validate(CLAOONS(**{"dim": 2, **wrong}))
