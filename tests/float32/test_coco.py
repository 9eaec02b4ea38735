"""The constrained family in float32 (a process without x64)."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms.coco.ofw import OFW
from jaxbandits.algorithms.coco.ofw_tvc import OFWTVC
from jaxbandits.algorithms.coco.pf_ofw import PFOFW
from jaxbandits.algorithms.coco.scofw import SCOFW
from jaxbandits.algorithms.coco.scofw_tvc import SCOFWTVC
from jaxbandits.algorithms.coco.sinha_vaze import SinhaVaze
from jaxbandits.algorithms.coco.strongly_convex_sinha_vaze import StronglyConvexSinhaVaze
from jaxbandits.base.pytree import as_arrays
from jaxbandits.domains import CappedSimplex, L1Ball, L2Ball, NuclearBall, Simplex, Spectrahedron
from jaxbandits.environments.coco.linear_constraints import LinearConstraints
from jaxbandits.types import Constrained, PointDecision, narrow
from tests.reference import convex_sets, online_frank_wolfe, scofw_tvc, sinha_vaze
from tests.reference import ofw_tvc as reference

KEY = jax.random.key(0)


@jax.jit
def replay(algorithm, dfs, gs, dgs):
    def round_(state, row):
        t, df, g, dg = row

        def lead(a):
            return jax.tree.map(lambda leaf: leaf[None], a)

        feedback = Constrained(loss=jnp.zeros(1), grad=lead(df), con=g[None], con_grad=lead(dg))
        told = narrow(feedback, algorithm.feedback)
        state = algorithm.update(KEY, t, state, None, algorithm.select(KEY, t, state, None), told)
        return state, state

    return jax.lax.scan(round_, algorithm.init(KEY), (jnp.arange(len(gs), dtype=jnp.int32), dfs, gs, dgs))[1]


def float32(*arrays):
    return [jnp.asarray(a, jnp.float32) for a in arrays]


@pytest.mark.quick_cases("(5,)")
@pytest.mark.parametrize("shape", [(1,), (2,), (5,), (20,), (4, 3)], ids=str)
def test_ofw_tvc_follows_the_reference(shape):
    rng = np.random.default_rng(shape)
    dfs, dgs = rng.normal(size=(2, 100, *shape)) / np.sqrt(np.prod(shape))
    gs = rng.normal(0.1, 0.5, 100)
    vector = len(shape) == 1
    domain, lmo = (L2Ball(), reference.lmo_ball) if vector else (NuclearBall(), reference.lmo_nuclear)
    setting = {"beta": 0.8, "gamma": 0.6, "lam": 0.3}
    dim = shape[0] if vector else shape
    algorithm = as_arrays(OFWTVC(dim=dim, domain=domain, horizon=100.0, lipschitz=2.0, **setting))
    states = replay(algorithm, *float32(dfs, gs, dgs))
    x = np.asarray(states.run.last.x)
    loop = reference.OFWTVC(np.zeros(shape), lmo, 2.0, 100.0, 2.0, **setting, g_init=0.8 * 2.0 * 0.6)
    expected = loop.run(dfs, gs, dgs)
    assert x.dtype == np.float32
    assert expected["restart"].sum() >= 3
    np.testing.assert_array_equal(np.asarray(states.run.start) + 1, expected["s"])
    np.testing.assert_allclose(x, expected["x"], atol=1e-4)
    np.testing.assert_allclose(states.queue.total, expected["Q"], rtol=1e-6)


T, ALPHA, BALL = 100.0, 0.4, convex_sets.L2Ball(1.0)
LOOPS = {
    "scofw_tvc": (
        SCOFWTVC(dim=5, horizon=T, curvature=ALPHA, beta=0.4, gamma=0.8),
        lambda: scofw_tvc.SCOFWTVC(BALL, np.zeros(5), ALPHA, 0.4, 0.8),
    ),
    "scofw": (SCOFW(dim=5, curvature=ALPHA), lambda: scofw_tvc.SCOFW(BALL, np.zeros(5), ALPHA / 2.0)),
    "ofw": (OFW(dim=5, horizon=T, lipschitz=2.0), lambda: online_frank_wolfe.OFW(BALL, np.zeros(5), T, 2.0)),
    "pf_ofw": (PFOFW(dim=5, horizon=T, g_init=0.1), lambda: online_frank_wolfe.PFOFW(BALL, np.zeros(5), T, 0.1)),
    "sinha_vaze": (
        SinhaVaze(dim=5, horizon=T, beta=0.4, lam=0.3),
        lambda: sinha_vaze.SinhaVaze(BALL, np.zeros(5), 0.4, 0.3),
    ),
    "strongly_convex_sinha_vaze": (
        StronglyConvexSinhaVaze(dim=5, horizon=T, curvature=ALPHA),
        lambda: sinha_vaze.StronglyConvexSinhaVaze(BALL, np.zeros(5), T, 1.0, ALPHA),
    ),
}


@pytest.mark.parametrize("name", LOOPS)
def test_learners_follow_their_references(name, rng):
    """On the ball, whose oracle has no ties: steps contract what rounding adds, to some hundred roundings of 1."""
    algorithm, loop = LOOPS[name][0], LOOPS[name][1]()
    dfs, dgs = rng.normal(size=(2, 100, 5)) / np.sqrt(5.0)
    gs = rng.normal(0.1, 0.5, 100)
    state = replay(as_arrays(algorithm), *float32(dfs, gs, dgs))
    x = state.x if "vaze" in name else (state.run.last.x if name == "scofw_tvc" else state.last.x)
    for t in range(100):
        told = (dfs[t], gs[t], dgs[t]) if algorithm.feedback is Constrained else (dfs[t],)
        loop.step(*told)
        np.testing.assert_allclose(x[t], loop.x, atol=1e-4)
    assert x.dtype == jnp.float32


@pytest.mark.slow
def test_projections_and_oracles(rng):
    """Six digits of the reference, on sets whose projection is a search."""
    for ours, theirs in (
        (L1Ball(radius=1.7), convex_sets.L1Ball(60, 1.7)),
        (Simplex(total=1.7), convex_sets.Simplex(60, 1.7)),
        (CappedSimplex(dim=60, total=20.0, cap=0.8), convex_sets.CappedSimplex(60, 20.0, 0.8)),
    ):
        domain = as_arrays(ours)
        for scale in (0.1, 1.0, 1e3):
            y = scale * rng.normal(size=60)
            p = np.asarray(domain.project(jnp.asarray(y, jnp.float32)), float)
            np.testing.assert_allclose(p, theirs.project(y), atol=60 * 6e-8 * max(1.0, scale))
            assert bool(domain.contains(jnp.asarray(p, jnp.float32)))
            np.testing.assert_allclose(domain.lmo(jnp.asarray(y, jnp.float32))[0], theirs.lmo(y), rtol=1e-6, atol=1e-6)


@pytest.mark.slow_after_first
@pytest.mark.parametrize("side", [20, 70])
def test_spectrahedron_oracle(side, rng):
    c = rng.normal(size=(side, side))
    c = c + c.T
    v = np.asarray(Spectrahedron(radius=3.0, iterations=70).lmo(jnp.asarray(c, jnp.float32))[0], np.float64)
    assert np.sum(c * v) == pytest.approx(3.0 * np.linalg.eigvalsh(c)[0], rel=1e-5)
    assert np.trace(v) == pytest.approx(3.0, rel=1e-5)


def test_ofw_tvc_theory_constants_on_a_large_domain():
    """beta gamma = 5e-7 and tau = 10^4: nothing may underflow, the run is that of the unit ball scaled."""
    rng = np.random.default_rng(0)
    dfs, gs, dgs = rng.normal(size=(200, 3)), rng.normal(0.1, 0.5, 200), rng.normal(size=(200, 3))
    small, large = (OFWTVC.theory(dim=3, horizon=1e6, lipschitz=3.0, domain=L2Ball(radius=r)) for r in (1.0, 1e4))
    one, two = replay(as_arrays(small), *float32(dfs, gs, dgs)), replay(as_arrays(large), *float32(dfs, 1e4 * gs, dgs))
    np.testing.assert_allclose(two.run.last.x, 1e4 * np.asarray(one.run.last.x), atol=1.0)


def test_violations_add_up_in_a_long_run():
    """10^6 violations of 0.01: a plain float32 sum is 1.3 per cent off (9865.2)."""

    @jax.jit
    def run():
        algorithm = as_arrays(OFWTVC(dim=1, horizon=1e6))
        one = jnp.ones((1, 1))
        feedback = Constrained(loss=jnp.zeros(1), grad=one, con=jnp.full(1, 0.01), con_grad=one)

        def advance(t, state):
            return algorithm.update(KEY, t, state, None, algorithm.select(KEY, t, state, None), feedback)

        return jax.lax.fori_loop(0, 1_000_000, advance, algorithm.init(KEY))

    assert float(run().queue.total) == pytest.approx(1e4, rel=2e-7)


def test_clamped_exponent_is_finite():
    rng = np.random.default_rng(1)
    algorithm = as_arrays(OFWTVC(dim=2, horizon=50.0, beta=1e5, lam=1.0))
    states = replay(algorithm, *float32(rng.normal(size=(50, 2)), rng.normal(size=50), rng.normal(size=(50, 2))))
    assert all(bool(jnp.isfinite(leaf).all()) for leaf in jax.tree.leaves(states))
    assert float(jnp.max(jnp.linalg.norm(states.run.last.x, axis=1))) <= 1.0 + 1e-6
    assert bool(algorithm.diagnostics(jax.tree.map(lambda a: a[-1], states))["clamped"])


@pytest.mark.quick_cases("1e-30-(4, 3)", "1e+30-(4, 3)")
@pytest.mark.parametrize("shape", [(4, 3), (20, 26), (70, 66)], ids=str)
@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_nuclear_oracle(shape, scale):
    c = np.random.default_rng(shape).normal(size=(shape[0], 2)) @ np.random.default_rng(1).normal(size=(2, shape[1]))
    v = np.asarray(NuclearBall(radius=3.0).lmo(jnp.asarray(c * scale, jnp.float32))[0], np.float64)
    assert np.sum(c * v) == pytest.approx(-3.0 * np.linalg.norm(c, 2), rel=1e-5)
    assert np.linalg.svd(v, compute_uv=False).sum() == pytest.approx(3.0, rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("dim", [2, (4, 3)], ids=str)
def test_linear_constraints_comparators(dim):
    vector = isinstance(dim, int)
    domain = L2Ball() if vector else NuclearBall()
    environment = as_arrays(LinearConstraints(dim=dim, domain=domain))

    @jax.jit
    def run():
        zero = jnp.zeros(dim)

        def round_(state, t):
            state, feedback, _ = environment.step(jax.random.fold_in(KEY, t), t, state, None, PointDecision.at(zero))
            return state, feedback.grad

        state, grads = jax.lax.scan(round_, environment.init(jax.random.key(1)), jnp.arange(20_000, dtype=jnp.int32))
        return state, grads, environment.at_record(state, None)

    state, grads, answer = run()
    total = np.float64(grads).sum(axis=(0, 1))
    dual_norm = np.linalg.norm(total) if vector else np.linalg.norm(total, 2)
    assert float(answer["comparator_loss"]) == pytest.approx(-dual_norm, rel=2e-6)
    assert float(answer["comparator_loss"]) < float(answer["feasible_comparator_loss"]) < 0.0
    if vector:
        expected = reference.best_feasible_on_ball(total, np.float64(state.normal), float(state.bound), 1.0)
        assert float(answer["feasible_comparator_loss"]) == pytest.approx(expected, rel=1e-5)


SCALED = {
    "sinha_vaze": lambda c: SinhaVaze(dim=5, horizon=T, lipschitz=c),
    "strongly_convex_sinha_vaze": lambda c: StronglyConvexSinhaVaze(dim=5, horizon=T, curvature=ALPHA * c, lipschitz=c),
    "pf_ofw": lambda c: PFOFW(dim=5, horizon=T),
    "ofw": lambda c: OFW(dim=5, horizon=T, lipschitz=c),
    "scofw": lambda c: SCOFW(dim=5, curvature=ALPHA * c),
    "ofw_tvc": lambda c: OFWTVC(dim=5, horizon=T, lipschitz=c),
}  # SCOFW-TVC is not among them: Phi(x) = x^2 + x has units


@pytest.mark.parametrize("name", SCALED)
def test_units_of_losses_and_constraints_change_nothing(name, rng):
    """Losses of size 1e-20 to 1e20, constants likewise: the same plays, to the bit for powers of two."""
    dfs, dgs = rng.normal(size=(2, 200, 5))
    gs = rng.normal(size=200)

    def plays(c):
        states = replay(as_arrays(SCALED[name](c)), *float32(c * dfs, c * gs, c * dgs))
        state = states.run if hasattr(states, "run") else states
        return np.asarray(state.last.x if hasattr(state, "last") else state.x)

    usual = plays(1.0)
    assert len(np.unique(usual[-50:], axis=0)) > 25
    for exponent in (-66, -30, 30, 62):
        np.testing.assert_array_equal(plays(2.0**exponent), usual, err_msg=f"2^{exponent}")


def test_sinha_vaze_goes_on_after_a_gradient_of_any_size_or_is_failed(rng):
    dfs, dgs = rng.normal(size=(2, 200, 5))
    gs = np.full(200, -1.0)
    for size in (1e10, 1e20, 1e30):
        dfs[0] = size
        states = replay(as_arrays(SinhaVaze(dim=5, horizon=T)), *float32(dfs, gs, dgs))
        assert np.isfinite(np.asarray(states.energy.total)).all() and np.isfinite(np.asarray(states.x)).all()
        eta = float(states.eta_scale[-1]) / (float(states.energy.scale[-1]) * np.sqrt(float(states.energy.total[-1])))
        np.testing.assert_allclose(eta, np.sqrt(0.5) * 2.0 / (np.sqrt(5.0) * size), rtol=1e-4)  # tiny, as it should be
    dfs[0] = np.inf
    states = replay(as_arrays(SinhaVaze(dim=5, horizon=T)), *float32(dfs, gs, dgs))
    assert np.isnan(np.asarray(states.energy.total[-1]))


@pytest.mark.parametrize("size", [1e-30, 1e20])
def test_a_weight_that_float32_cannot_hold_fails_the_trial(size):
    """gamma = 8 G^2 ln(e T) / alpha would be 0 or infinite, and the constraint rule alone or be dropped."""
    learner = StronglyConvexSinhaVaze(dim=5, horizon=T, curvature=1.0, lipschitz=size)
    assert np.isnan(np.asarray(as_arrays(learner).init(KEY).surrogate.gamma))
