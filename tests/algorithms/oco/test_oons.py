"""OONS against the NumPy reference, a recorded trace, its path-wise certificate, and its symmetries."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms.oco.ogd import OGD
from jaxbandits.algorithms.oco.oons import OONS
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import as_arrays, validate
from jaxbandits.domains.ball import L2Ball
from jaxbandits.domains.box import Box
from jaxbandits.domains.l1_ball import L1Ball
from jaxbandits.types import Gradient
from tests.reference import oons as reference

KEY = jax.random.key(0)
HORIZON = 250


@jax.jit
def replay(algorithm, offsets, curvature=0.0):
    """Decisions, states before and states after each round on the losses `<offsets[t], x> + curvature ||x||^2 / 2`."""

    def round_(state, inputs):
        t, offset = inputs
        decision = algorithm.select(KEY, t, state, None)
        grad = jax.tree.map(lambda g, q: g + curvature * q, offset, decision.query)
        after = algorithm.update(KEY, t, state, None, decision, Gradient(loss=jnp.zeros(1), grad=grad))
        return after, (decision.play, state, after)

    steps = jnp.arange(len(offsets), dtype=jnp.int32)
    play, before, after = jax.lax.scan(round_, algorithm.init(KEY), (steps, offsets))[1]
    states = [type(s)(*(field for field in s)) for s in (before, after)]
    return play, *states


def trace(algorithm, offsets, curvature=0.0):
    """The same as a reference `Trace`, with eta, A and nabla recomputed in NumPy from the states."""
    algorithm = as_arrays(algorithm)
    play, before, after = jax.tree.map(np.asarray, replay(algorithm, jnp.asarray(offsets), curvature))
    z, bound = 2.0 * float(algorithm.lipschitz), float(algorithm.domain.diameter)
    eta = 1.0 / (bound * np.maximum(float(algorithm.c_eta) * z, np.sqrt(before.variation)))
    dim = play.shape[1]
    metric = (float(algorithm.c_A) + 4.0 * eta)[:, None, None] * z**2 * np.eye(dim) + before.curvature
    grad = offsets + curvature * play
    error = grad - before.hint
    nabla = grad + float(algorithm.c_corr) * (eta * (play * error).sum(axis=1))[:, None] * error
    return reference.Trace(
        play, before.center, after.center, before.hint, grad, nabla, eta, metric, after.curvature, after.variation
    )


def losses(kind, dim, rng, horizon=HORIZON):
    """Gradients of norm at most 1, `[T, d]`."""
    noise = rng.standard_normal((horizon, dim))
    noise /= np.linalg.norm(noise, axis=1, keepdims=True)
    first = np.eye(dim)[0]
    if kind == "iid":
        return 0.4 * first + 0.6 * noise
    if kind == "skewed":  # one noisy direction: the metric becomes far from a multiple of the identity
        return 0.3 * first + 0.7 * noise[:, :1] * np.ones(dim) / np.sqrt(dim)
    if kind == "switching":
        return np.where(np.arange(horizon) // 8 % 2, 1.0, -1.0)[:, None] * first + 0.0 * noise
    raise ValueError(kind)


PRESETS = {"theory": OONS.theory, "practical": OONS.practical}
CONSTANTS = {
    "theory": {"c_eta": 64.0, "c_A": 4.0, "c_corr": 32.0},
    "practical": {"c_eta": 1.0, "c_A": 0.25, "c_corr": 0.5},
}


# Against the reference and the golden trace ---------------------------------------------------------------------------


@pytest.mark.quick_cases("2-switching-0.0-theory", "2-switching-0.0-practical")
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize(
    ("dim", "kind", "curvature"),
    [(2, "switching", 0.0), (5, "skewed", 0.2), (1, "iid", 0.3), (2, "iid", 0.0), (2, "skewed", 0.0), (20, "iid", 0.1)],
)
def test_matches_the_reference(dim, kind, curvature, preset, rng):
    offsets = losses(kind, dim, rng)
    radius = 0.7
    ours = trace(PRESETS[preset](dim=dim, radius=radius, lipschitz=1.3), offsets, curvature)
    expected = reference.run(
        lambda t, x: offsets[t - 1] + curvature * x, HORIZON, dim, radius, 1.3, **CONSTANTS[preset]
    )
    for name in ("play", "center", "next_center", "hint", "grad", "nabla", "eta", "metric", "curvature", "variation"):
        np.testing.assert_allclose(getattr(ours, name), getattr(expected, name), rtol=1e-11, atol=1e-11, err_msg=name)
    assert np.linalg.norm(ours.play, axis=1).max() > 0.999 * radius or kind == "switching" or curvature > 0.0


def test_golden_trace():
    """Recorded from an independent implementation: d = 2, D = 2, G = 1, gradients (1,0), (0,-1), (1,1)/sqrt 2."""
    ours = trace(OONS.theory(dim=2), np.array([[1.0, 0.0], [0.0, -1.0], [2**-0.5, 2**-0.5]]))
    plays = [[0.0, 0.0], [-0.1244984821, 0.0], [-0.0613037887, 0.1254668711]]
    centers = [[-0.0622568093, 0.0], [-0.0612881851, 0.0632256691], [-0.1062166749, 0.0169567821]]
    np.testing.assert_allclose(ours.play, plays, rtol=0.0, atol=6e-11)
    np.testing.assert_allclose(ours.next_center, centers, rtol=0.0, atol=6e-11)
    np.testing.assert_array_equal(ours.eta, 0.00390625)
    # by hand: A_1 = 16.0625 I, x'_2 = -1/16.0625, A_2[0,0] = 16.06640625, x_2 = x'_2 - 1/16.06640625
    np.testing.assert_array_equal(ours.metric[0], 16.0625 * np.eye(2))
    assert ours.metric[1, 0, 0] == 16.06640625
    np.testing.assert_allclose(ours.play[1, 0], -1.0 / 16.0625 - 1.0 / 16.06640625, rtol=1e-15)


TABLE = {  # i.i.d. rows, m = .1: regret recorded from an independent implementation, mean over default_rng(100), (101)
    0.9: {"theory": 44.6, "practical": 56.5, "ogd": 39.1},
    0.3: {"theory": 11.7, "practical": 14.3, "ogd": 5.1},
    0.1: {"theory": 8.3, "practical": 3.7, "ogd": 0.9},
    0.0: {"theory": 7.98, "practical": 2.45, "ogd": 0.45},
}


@pytest.mark.quick_cases("0.1")
@pytest.mark.parametrize("noise_scale", TABLE)
def test_benchmark_e1_iid(noise_scale):
    """The recorded draws, so the recorded digits."""
    horizon, dim = 2048, 5
    algorithms = {"theory": OONS.theory(dim=dim), "practical": OONS.practical(dim=dim), "ogd": OGD(dim=dim)}
    regret = {name: [] for name in algorithms}
    for seed in (100, 101):
        noise = np.random.default_rng(seed).standard_normal((horizon, dim))
        noise /= np.linalg.norm(noise, axis=1, keepdims=True)
        grads = 0.1 * np.eye(dim)[0] + noise_scale * noise
        for name, algorithm in algorithms.items():
            play = np.asarray(play_linear(as_arrays(algorithm), jnp.asarray(grads)))
            regret[name].append((grads * play).sum() + np.linalg.norm(grads.sum(axis=0)))
    for name, expected in TABLE[noise_scale].items():
        digit = 0.01 if noise_scale == 0.0 else 0.1
        assert abs(np.mean(regret[name]) - expected) <= 0.5 * digit + 1e-9, (name, np.mean(regret[name]))


@jax.jit
def play_linear(algorithm, grads):
    def round_(state, inputs):
        t, grad = inputs
        decision = algorithm.select(KEY, t, state, None)
        feedback = Gradient(jnp.zeros(1), jax.tree.map(lambda g: g[None], grad))
        return algorithm.update(KEY, t, state, None, decision, feedback), decision.play

    return jax.lax.scan(round_, algorithm.init(KEY), (jnp.arange(len(grads), dtype=jnp.int32), grads))[1]


# What the analysis promises on every trace ----------------------------------------------------------------------------


@pytest.fixture(
    scope="module",
    params=[(preset, dim, kind) for preset in PRESETS for dim in (2, 5) for kind in ("iid", "skewed", "switching")],
    ids=lambda p: "-".join(map(str, p)),
)
def run(request):
    """A trace on the unit ball and the constants that made it."""
    preset, dim, kind = request.param
    rng = np.random.default_rng([dim, len(kind), len(preset)])
    return trace(PRESETS[preset](dim=dim), losses(kind, dim, rng)), CONSTANTS[preset], preset, kind


@pytest.mark.quick_cases("*-2-*")
def test_path_wise_certificate(run, rng):
    """Summed over the rounds, for every comparator of the ball; with the constants that ran."""
    t, constants, _, _ = run
    dim = t.play.shape[1]
    error, step = t.grad - t.hint, t.nabla - t.hint

    def norm_sq(v):
        return np.einsum("ti,tij,tj->t", v, t.metric, v)

    comparators = rng.standard_normal((20, dim))
    comparators /= np.linalg.norm(comparators, axis=1, keepdims=True)
    comparators[:10] *= rng.uniform(0.0, 1.0, (10, 1))
    best = -t.grad.sum(axis=0)
    for u in [np.zeros(dim), best / max(np.linalg.norm(best), 1e-30), *comparators]:
        left = (t.grad * (t.play - u)).sum()
        right = (
            ((t.play - t.next_center) * step).sum(axis=1)
            + 0.5 * norm_sq(u - t.center)
            - 0.5 * norm_sq(u - t.next_center)
            - 0.5 * norm_sq(t.next_center - t.play)
            - 0.5 * norm_sq(t.play - t.center)
            + 0.5 * constants["c_corr"] * t.eta * ((error @ u) ** 2 - (t.play * error).sum(axis=1) ** 2)
        ).sum()
        assert left <= right + 1e-9 * (abs(left) + abs(right) + 1.0)


def violation(x, metric, center, slope):
    """`R ||r|| + <r, x>` with r the gradient at x: 0 at the minimiser over the unit ball, positive elsewhere."""
    r = np.einsum("tij,tj->ti", metric, x - center) + slope
    return np.linalg.norm(r, axis=1) + (r * x).sum(axis=1)


def test_both_steps_are_minimisers_in_every_round(run):
    t, _, preset, kind = run
    for x, slope in ((t.play, t.hint), (t.next_center, t.nabla)):
        assert (np.linalg.norm(x, axis=1) <= 1.0 + 4e-16).all()
        excess = violation(x, t.metric, t.center, slope)
        scale = np.linalg.norm(t.metric, ord=2, axis=(1, 2))
        assert (np.abs(excess) <= 1e-13 * scale).all()
    if (preset, kind) == ("practical", "skewed"):  # where a Euclidean projection would be caught
        free = t.center - np.linalg.solve(t.metric, t.nabla[..., None])[..., 0]
        outside = np.linalg.norm(free, axis=1) > 1.0
        rescaled = free / np.maximum(1.0, np.linalg.norm(free, axis=1))[:, None]
        assert outside.sum() > 20
        assert violation(rescaled, t.metric, t.center, t.nabla)[outside].max() > 0.02


def test_stability_of_the_two_steps(run):
    """Lemma C.3, constant 1: 0 <= <x_t - x'_{t+1}, nabla_t - m_t> <= ||nabla_t - m_t||^2 in the inverse metric."""
    t, _, _, _ = run
    step = t.nabla - t.hint
    product = ((t.play - t.next_center) * step).sum(axis=1)
    bound = (step * np.linalg.solve(t.metric, step[..., None])[..., 0]).sum(axis=1)
    assert (product >= -1e-14).all()
    assert (product <= bound * (1.0 + 1e-12) + 1e-14).all()


def test_preconditions(run):
    t, constants, preset, _ = run
    error = t.grad - t.hint
    norm = np.linalg.norm(error, axis=1)
    assert (norm <= 2.0).all()  # the range hint z = 2G
    assert (np.diff(t.eta) <= 0.0).all()
    assert (np.linalg.eigvalsh(t.metric)[:, 0] >= constants["c_A"] * 4.0).all()
    if preset == "theory":
        assert (32.0 * t.eta * np.abs((t.play * error).sum(axis=1)) <= 0.5).all()
        assert (np.linalg.norm(t.nabla - t.hint, axis=1) <= 1.5 * norm + 1e-15).all()


def test_the_step_size_leaves_its_cap_when_the_variation_is_large():
    """eta_t = 1 / (D sqrt(V_{t-1})) from V > (c_eta z)^2: here (1 * 2)^2, and never within 250 rounds at 64."""
    alternating = np.where(np.arange(HORIZON) % 2, 1.0, -1.0)[:, None] * [1.0, 0.0]
    ours = trace(OONS.practical(dim=2), alternating)
    before = np.concatenate([[0.0], ours.variation[:-1]])
    np.testing.assert_array_equal(ours.eta[before <= 4.0], 0.25)
    np.testing.assert_allclose(ours.eta[before > 4.0], 0.5 / np.sqrt(before[before > 4.0]), rtol=1e-15)
    assert (before > 4.0).sum() > 200
    assert (trace(OONS.theory(dim=2), alternating).eta == 1.0 / 256.0).all()


# Symmetries and hand cases --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("preset", PRESETS)
def test_rotation_equivariance(preset, rng):
    q = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    offsets = losses("skewed", 5, rng)
    plain, rotated = trace(PRESETS[preset](dim=5), offsets), trace(PRESETS[preset](dim=5), offsets @ q.T)
    np.testing.assert_allclose(rotated.play, plain.play @ q.T, rtol=0.0, atol=1e-11)
    np.testing.assert_allclose(rotated.curvature, q @ plain.curvature @ q.T, rtol=0.0, atol=1e-11)


@pytest.mark.parametrize("preset", PRESETS)
def test_sign_symmetry(preset, rng):
    """Reflecting one axis reflects the plays on that axis only, exactly (also for all axes: -g gives -x)."""
    offsets = losses("iid", 2, rng)
    plain = trace(PRESETS[preset](dim=2), offsets)
    for signs in ([-1.0, 1.0], [-1.0, -1.0]):
        np.testing.assert_array_equal(trace(PRESETS[preset](dim=2), offsets * signs).play, plain.play * signs)


@pytest.mark.slow_after_first
@pytest.mark.parametrize("dim", [2, 1, 20])
def test_zero_gradients_keep_the_origin(dim):
    ours = trace(OONS.theory(dim=dim), np.zeros((10, dim)))
    for field in (ours.play, ours.next_center, ours.curvature, ours.variation):
        np.testing.assert_array_equal(field, 0.0)


def test_one_dimension_is_a_clipped_step(rng):
    ours = trace(OONS.practical(dim=1, radius=0.4), losses("iid", 1, rng))
    a = ours.metric[:, 0, 0]
    for x, slope in ((ours.play, ours.hint), (ours.next_center, ours.nabla)):
        expected = np.clip(ours.center[:, 0] - slope[:, 0] / a, -0.4, 0.4)
        np.testing.assert_allclose(x[:, 0], expected, rtol=1e-13, atol=1e-16)
    assert 10 < (np.abs(ours.play[:, 0]) == 0.4).sum() < HORIZON


def test_perfect_hints_leave_curvature_and_variation():
    """A constant gradient is its own hint from round 2: e_t = 0, and OONS is gradient descent with step 1 / A."""
    ours = trace(OONS.theory(dim=2), np.tile([0.03, -0.04], (30, 1)))
    np.testing.assert_array_equal(ours.curvature, np.broadcast_to(ours.curvature[0], ours.curvature.shape))
    np.testing.assert_array_equal(ours.variation, ours.variation[0])
    np.testing.assert_allclose(ours.variation[0], 0.05**2)
    steps = ours.next_center[1:] - ours.center[1:]
    np.testing.assert_allclose(steps, -np.linalg.solve(ours.metric[1], [0.03, -0.04]) * np.ones((29, 1)), rtol=1e-12)


# As a part of another algorithm, and its inputs -----------------------------------------------------------------------


@pytest.mark.slow
def test_batched_base_learners_agree_with_a_loop(rng):
    """CA-OONS holds learners with D_j = 2^j on the balls of radius D_j as one OONS with batched leaves."""
    scales = jnp.asarray([2.0, 4.0, 8.0])
    offsets = losses("iid", 2, rng)

    def learner(scale):
        return as_arrays(OONS(dim=2, domain=L2Ball(radius=scale), diameter=scale))

    batched = jax.vmap(learner)(scales)
    play, _, after = jax.jit(jax.vmap(replay, in_axes=(0, None)))(batched, jnp.asarray(offsets))
    for j, scale in enumerate((2.0, 4.0, 8.0)):
        alone, _, last = replay(learner(scale), jnp.asarray(offsets))
        np.testing.assert_allclose(play[j], alone, rtol=0.0, atol=1e-13)
        np.testing.assert_allclose(after.curvature[j], last.curvature, rtol=1e-12)
        expected = reference.run(lambda t, x: offsets[t - 1], HORIZON, 2, scale, 1.0, diameter=scale)
        np.testing.assert_allclose(play[j], expected.play, rtol=0.0, atol=1e-11)


def test_inputs():
    for fine in (OONS(dim=3), OONS.theory(dim=3, radius=2.0, lipschitz=5.0), OONS.practical(dim=3)):
        validate(fine)
    given = OONS.practical(dim=3, radius=2.0, c_corr=0.7)
    assert (given.c_eta, given.c_A, given.c_corr, given.domain.radius) == (1.0, 0.25, 0.7, 2.0)
    validate(OONS(dim=2, domain=L2Ball(radius=4.0), diameter=4.0))
    with pytest.raises(InputError, match="at least the radius"):
        validate(OONS(dim=2, domain=L2Ball(radius=4.0), diameter=3.9))
    for domain in (Box(dim=2), L1Ball()):
        with pytest.raises(InputError, match=r"OONS.domain must be an L2Ball\(...\), got"):
            validate(OONS(dim=2, domain=domain))
    for wrong in ({"dim": 0}, {"c_eta": 0.0}, {"c_A": -1.0}, {"c_corr": -1.0}, {"lipschitz": 0.0}):
        with pytest.raises(InputError):
            validate(OONS(**{"dim": 2, **wrong}))
