"""QuadraticConstraints: feedback, bounds, and the best feasible point against independent solutions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import as_arrays, validate
from jaxbandits.domains import Box, L1Ball, L2Ball, NuclearBall
from jaxbandits.domains.simplex import Simplex
from jaxbandits.environments.coco.quadratic_constraints import QuadraticConstraints
from jaxbandits.types import PointDecision
from tests.reference import convex_sets
from tests.reference.feasible_comparator import feasible_comparator

SETS = {
    "ball": (4, L2Ball(), convex_sets.L2Ball()),
    "l1": (5, L1Ball(radius=1.5), convex_sets.L1Ball(5, 1.5)),
    "box": (3, Box(dim=3, low=-0.6, high=0.6), convex_sets.Box(3, 0.6)),
    "nuclear": ((3, 2), NuclearBall(), convex_sets.TraceNormBall((3, 2))),
}


@jax.jit
def _play(environment, key, plays):
    def round_(state, row):
        t, x = row
        query = jnp.stack([x, -x])
        state, *told = environment.step(jax.random.fold_in(key, t), t, state, None, PointDecision(x, query))
        return state, told

    state = environment.init(jax.random.fold_in(key, 12345))
    state, told = jax.lax.scan(round_, state, (jnp.arange(len(plays), dtype=jnp.int32), plays))
    return state, *told, environment.at_record(state, None)


def run(name, seed, rounds=40, **fields):
    dim, domain, other = SETS[name]
    shape = dim if isinstance(dim, tuple) else (dim,)
    environment = as_arrays(QuadraticConstraints(dim=dim, domain=domain, **fields))
    plays = np.random.default_rng(seed).normal(size=(rounds, *shape)) * 0.3
    out = jax.tree.map(np.asarray, _play(environment, jax.random.key(seed), jnp.asarray(plays)))
    return environment, other, plays, *out


@pytest.mark.slow_after_first
@pytest.mark.parametrize("name", SETS)
def test_feedback_and_bounds(name):
    environment, other, plays, state, told, charged, _ = run(name, 0, curvature=1.7, slope=1.3)
    axes = tuple(range(1, plays.ndim))
    targets = plays - told.grad[:, 0] / 1.7
    np.testing.assert_allclose(told.loss[:, 0], 0.85 * ((plays - targets) ** 2).sum(axes), rtol=1e-12)
    np.testing.assert_allclose(told.loss[:, 1], 0.85 * ((-plays - targets) ** 2).sum(axes), rtol=1e-12)
    np.testing.assert_allclose(told.grad[:, 1], 1.7 * (-plays - targets), atol=1e-12)
    np.testing.assert_allclose(told.con_grad[:, 0], told.con_grad[:, 1])
    normals = told.con_grad[:, 0]
    offsets = (normals * plays).sum(axes) - told.con[:, 0]
    np.testing.assert_allclose(told.con[:, 1], -(normals * plays).sum(axes) - offsets, atol=1e-12)
    assert np.all((offsets >= 0.2) & (offsets <= 0.4))
    np.testing.assert_allclose(charged.loss, told.loss[:, 0], rtol=1e-15)
    np.testing.assert_allclose(charged.constraint, told.con[:, 0], rtol=1e-12)
    np.testing.assert_array_equal(charged.violation, np.maximum(charged.constraint, 0.0))
    np.testing.assert_allclose(charged.origin_loss, 0.85 * (targets**2).sum(axes), rtol=1e-12)
    distance = np.sqrt(((targets - state.target) ** 2).sum(axes))
    assert 0.1 < distance.max() <= 0.3 and np.sqrt((state.target**2).sum()) == pytest.approx(0.8)
    cosine = (state.target * state.normal).sum() / (0.8 * 1.3)
    assert cosine == pytest.approx(0.8)
    reach = other.outer + 0.8 + 0.3
    if name != "nuclear":
        assert float(environment.lipschitz) == pytest.approx(max(1.7 * reach, 1.3 * 1.5))
        assert float(environment.value_bound) == pytest.approx(0.85 * reach**2)
    assert state.bound == pytest.approx(np.min(offsets / np.sqrt((normals**2).sum(axes)) * 1.3))
    assert state.rounds == 40


@pytest.mark.quick_cases("0.8-ball", "-0.5-ball")
@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("conflict", [0.8, -0.5])
def test_comparators(name, conflict):
    """Against FISTA and an augmented Lagrangian over every single constraint, in NumPy."""
    _, other, plays, _, told, charged, answer = run(name, 3, conflict=conflict)
    targets, normals = plays - told.grad[:, 0], told.con_grad[:, 0]
    offsets = (normals * plays).sum(tuple(range(1, plays.ndim))) - told.con[:, 0]

    def value(x):
        return 0.5 * np.sum((x - targets) ** 2)

    best = value(other.project(targets.mean(axis=0)))
    origin = charged.origin_loss.sum()
    assert answer["comparator_excess"] == pytest.approx(best - origin, rel=1e-10)
    x, _, excess = feasible_comparator(
        value,
        lambda x: np.sum(x - targets, axis=0),
        40.0,
        other.project,
        normals,
        offsets,
        np.zeros(plays.shape[1:]),
        rho=10.0,
    )
    assert excess < 1e-6
    assert answer["feasible_comparator_excess"] == pytest.approx(value(x) - origin, abs=2e-4)
    if conflict > 0:  # the constraint matters
        assert answer["feasible_comparator_excess"] > answer["comparator_excess"] + 0.1
    else:
        assert answer["feasible_comparator_excess"] == pytest.approx(float(answer["comparator_excess"]), rel=1e-12)


def test_on_the_ball_in_closed_form():
    """The nearest point of ball and half-space to m, from the plane's circle where both bind."""
    for seed in range(4):
        environment, _, _, state, _, _, answer = run("ball", seed, center=1.5, conflict=0.6)
        del environment
        m = state.target + state.noise_sum.total / 40.0
        a, b = state.normal, state.bound
        length = np.linalg.norm(a)
        flat = m - (a @ m - b) / length**2 * a  # onto the plane
        foot = b / length**2 * a
        if np.linalg.norm(flat) > 1.0:
            across = flat - foot
            flat = foot + across / np.linalg.norm(across) * np.sqrt(1.0 - foot @ foot)
        assert a @ (m / max(1.0, np.linalg.norm(m))) > b  # the half-space binds
        assert answer["feasible_comparator_excess"] == pytest.approx(40.0 * (0.5 * flat @ flat - flat @ m), rel=1e-11)


def test_derived_metrics():
    environment = QuadraticConstraints(dim=2)
    values = {"loss": np.array([3.0]), "origin_loss": np.array([4.0]), "comparator_excess": np.array([-2.0])}
    derived = environment.derive(values | {"feasible_comparator_excess": np.array([-1.5])})
    assert {name: float(value[0]) for name, value in derived.items()} == {
        "comparator_loss": 2.0,
        "feasible_comparator_loss": 2.5,
        "regret": 1.0,
        "feasible_regret": 0.5,
    }


@pytest.mark.parametrize("fields", [{"margin": 0.0}, {"curvature": 0.0}, {"conflict": 1.1}, {"domain": object()}])
def test_refuses(fields):
    with pytest.raises(InputError):
        validate(QuadraticConstraints(dim=2, **fields))


def test_the_domain_must_contain_the_origin():
    for domain in (Simplex(), Box(dim=2, low=1.0, high=np.array([2.0, 3.0]))):
        with pytest.raises(InputError, match=r"QuadraticConstraints\.domain must contain the origin, which"):
            validate(QuadraticConstraints(dim=2, domain=domain))
    for domain in (Box(dim=2, low=0.0), L2Ball(radius=np.array([1.0, 2.0, 3.0]))):
        validate(QuadraticConstraints(dim=2, domain=domain))
