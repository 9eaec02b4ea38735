"""LinearConstraints: feedback, bounds, and the two comparators against independent solutions."""

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import as_arrays, validate
from jaxbandits.domains.ball import L2Ball
from jaxbandits.domains.box import Box
from jaxbandits.domains.nuclear import NuclearBall
from jaxbandits.domains.polytope import Polytope
from jaxbandits.domains.simplex import Simplex
from jaxbandits.environments.coco.linear_constraints import LinearConstraints
from jaxbandits.types import PointDecision
from tests import compiled
from tests.reference.ofw_tvc import best_feasible_on_ball, lmo_nuclear

KEY = jax.random.key(0)
DIMS = [1, 2, 5, 20, (4, 3)]


def dense(environment, point):
    return np.asarray(point)


def make(dim, **fields):
    domain = L2Ball(radius=fields.pop("radius", 1.0)) if isinstance(dim, int) else NuclearBall(radius=2.0)
    return as_arrays(LinearConstraints(dim=dim, domain=domain, **fields))


@jax.jit
def play(environment, key, points):
    """Plays `points[t]` and returns the last state, the costs and normals that were revealed, values, outcomes."""

    def round_(state, row):
        t, x = row
        decision = PointDecision.at(x)
        state, feedback, outcome = environment.step(jax.random.fold_in(key, t), t, state, None, decision)
        return state, (feedback, outcome, state.bound)

    first, rest = jax.random.split(key)
    del first
    rows = (jnp.arange(len(points), dtype=jnp.int32), points)
    return jax.lax.scan(round_, environment.init(rest), rows)


@jax.jit
def records(environment, state):
    return environment.at_record(state, None)


def run(dim, seed=0, rounds=60, **fields):
    environment = make(dim, **fields)
    shape = (dim,) if isinstance(dim, int) else dim
    points = np.random.default_rng(seed).normal(size=(rounds, *shape)) / np.sqrt(np.prod(shape))
    state, (feedback, outcome, bound) = play(environment, jax.random.key(seed), jnp.asarray(points))

    def take(a):
        return dense(environment, jax.tree.map(lambda leaf: leaf[:, 0], a))

    costs, normals = take(feedback.grad), take(feedback.con_grad)
    return environment, points, state, costs, normals, feedback, outcome, np.asarray(bound)


@pytest.mark.parametrize("dim", DIMS, ids=str)
class TestFeedback:
    @pytest.mark.quick_cases("(4, 3)")
    def test_values_are_linear_in_the_revealed_vectors(self, dim):
        _environment, points, _state, costs, normals, feedback, outcome, _ = run(dim)
        axes = tuple(range(1, points.ndim))
        offsets = (normals * points).sum(axes) - np.asarray(feedback.con)[:, 0]
        np.testing.assert_allclose(np.asarray(feedback.loss)[:, 0], (costs * points).sum(axes), atol=1e-13)
        np.testing.assert_allclose(outcome.loss, np.asarray(feedback.loss)[:, 0], atol=1e-13)
        np.testing.assert_allclose(outcome.constraint, np.asarray(feedback.con)[:, 0], atol=1e-13)
        np.testing.assert_allclose(outcome.violation, np.maximum(outcome.constraint, 0.0), atol=1e-13)
        assert np.all((offsets >= 0.2 - 1e-12) & (offsets <= 0.4 + 1e-12))
        assert offsets.std() > 0.01

    @pytest.mark.quick_cases("5", "(4, 3)")
    def test_bounds_and_directions(self, dim):
        environment, _points, state, costs, normals, *_ = run(dim, cost=0.7, cost_noise=0.5, slope=1.3)

        def norm(a):
            return np.sqrt((a**2).sum(tuple(range(1, a.ndim))))

        assert np.all(norm(costs - dense(environment, state.cost)) <= 0.5 + 1e-12)
        assert max(norm(costs).max(), norm(normals).max()) <= environment.lipschitz
        a, c = dense(environment, state.normal), dense(environment, state.cost)
        size = 1.3 * (0.8 if dim == 1 else 1.0)
        assert np.linalg.norm(c) == pytest.approx(0.7, rel=1e-12)
        assert np.linalg.norm(a) == pytest.approx(size, rel=1e-12)
        assert np.sum(a * c) == pytest.approx(-0.8 * 0.7 * 1.3, rel=1e-12)
        steepness = norm(normals) / size
        np.testing.assert_allclose(normals, steepness.reshape(-1, *[1] * a.ndim) * a, atol=1e-12)
        assert 0.5 <= steepness.min() < 0.7 and 1.3 < steepness.max() <= 1.5

    def test_state_avals_are_fixed(self, dim):
        environment = make(dim)
        before = jax.eval_shape(environment.init, KEY)
        zero = jax.tree.map(jnp.zeros_like, before.cost)

        def step(s):
            return environment.step(KEY, jnp.int32(0), s, None, PointDecision.at(zero))[0]

        def describe(tree):
            return [(a.shape, a.dtype, a.weak_type) for a in jax.tree.leaves(tree)]

        assert describe(before) == describe(jax.eval_shape(step, before))


class TestComparators:
    @pytest.mark.quick_cases("5", "(4, 3)")
    @pytest.mark.parametrize("dim", DIMS, ids=str)
    def test_statistics_and_the_best_point_of_the_domain(self, dim):
        environment, _, state, costs, normals, feedback, _, bound = run(dim, seed=3)
        total = costs.sum(axis=0)
        dual_norm = np.linalg.norm(total) if isinstance(dim, int) else 2.0 * np.linalg.norm(total, 2)
        assert records(environment, state)["comparator_loss"] == pytest.approx(-dual_norm, rel=1e-12)
        a = dense(environment, state.normal)
        steepness = (normals * a).reshape(60, -1).sum(1) / np.sum(a * a)
        x = np.random.default_rng(3).normal(size=(60, *a.shape)) / np.sqrt(a.size)
        offsets = (normals * x).reshape(60, -1).sum(1) - np.asarray(feedback.con)[:, 0]
        np.testing.assert_allclose(bound[-1], np.min(offsets / steepness), rtol=1e-11)

    @pytest.mark.quick_cases("*-5")
    @pytest.mark.parametrize("dim", [5, 1, 2, 20])
    @pytest.mark.parametrize("conflict, radius", [(0.8, 1.0), (0.99, 4.0), (-0.5, 1.0), (0.1, 0.3)])
    def test_feasible_on_the_ball_in_closed_form(self, dim, conflict, radius):
        environment, _, state, costs, _, _, _, bound = run(dim, seed=4, conflict=conflict, radius=radius)
        a, total = dense(environment, state.normal), costs.sum(axis=0)
        if dim == 1:
            ends = [-radius, radius, bound[-1] / a[0]]
            expected = min(total[0] * x for x in ends if abs(x) <= radius and a[0] * x <= bound[-1] * (1 + 1e-12))
        else:
            expected = best_feasible_on_ball(total, a, bound[-1], radius)
        answer = records(environment, state)
        assert answer["feasible_comparator_loss"] == pytest.approx(expected, rel=1e-10)
        assert answer["comparator_loss"] <= answer["feasible_comparator_loss"] * (1 - 1e-12)

    @pytest.mark.parametrize("seed", [5, 6, 7])
    def test_feasible_on_the_nuclear_ball_by_primal_and_dual(self, seed):
        """Between the dual function at scipy's maximiser and the loss of a feasible point, both by NumPy's SVD."""
        environment, _, state, costs, _, _, _, bound = run((4, 3), seed=seed)
        a, total = dense(environment, state.normal), costs.sum(axis=0)

        def vertex(mu):
            return lmo_nuclear(total + mu * a, 2.0)

        def dual(mu):
            return -2.0 * np.linalg.norm(total + mu * a, 2) - mu * bound[-1]

        search = {"bounds": (0, 1e3), "method": "bounded", "options": {"xatol": 1e-9}}
        mu = scipy.optimize.minimize_scalar(lambda mu: -dual(mu), **search).x
        left, right = vertex(mu * (1 - 1e-4)), vertex(mu * (1 + 1e-4))

        def slack(x):
            return np.sum(a * x) - bound[-1]

        assert slack(left) > 0 > slack(right)
        feasible = (slack(left) * right - slack(right) * left) / (slack(left) - slack(right))
        assert np.linalg.svd(feasible, compute_uv=False).sum() <= 2.0 + 1e-12 and abs(slack(feasible)) < 1e-12
        answer = records(environment, state)
        assert dual(mu) - 1e-9 <= answer["feasible_comparator_loss"] <= np.sum(total * feasible) + 1e-9
        assert np.sum(total * feasible) - dual(mu) < 1e-5 * abs(dual(mu))  # so that the bracket says something
        assert answer["feasible_comparator_loss"] > 0.99 * answer["comparator_loss"]  # and the constraint matters

    @pytest.mark.slow_after_first
    @pytest.mark.parametrize("dim", DIMS, ids=str)
    def test_before_the_first_round(self, dim):
        environment = make(dim)
        answer = records(environment, compiled.init(environment, KEY))
        assert answer["comparator_loss"] == 0.0 and answer["feasible_comparator_loss"] == 0.0

    def test_the_small_ball_is_always_feasible(self):
        environment, _, state, _, _normals, _feedback, _, bound = run(5, rounds=2000)
        assert bound[-1] / np.linalg.norm(dense(environment, state.normal)) >= 0.2 / 1.5
        assert bound[-1] < 0.15  # and nothing much larger is


class TestBatch:
    @pytest.mark.slow
    def test_vmap_over_every_field_is_the_loop(self):
        rng = np.random.default_rng(0)
        points = jnp.asarray(rng.normal(size=(20, 3)))
        single = [
            make(
                3, radius=1.0 * k, cost=0.5 * k, cost_noise=0.2 * k, slope=1.0 * k, slope_noise=0.2 * k,
                conflict=0.3 * k, margin=0.1 * k, margin_spread=0.3 * k,
            )
            for k in (1, 2, 3)
        ]  # fmt: skip
        batch = jax.tree.map(lambda *leaves: jnp.stack(leaves), *single)
        keys = jax.random.split(KEY, 3)
        state, rows = jax.vmap(play, in_axes=(0, 0, None))(batch, keys, points)
        answers = jax.vmap(records)(batch, state)
        for k, environment in enumerate(single):
            alone = play(environment, keys[k], points)
            chex.assert_trees_all_close(jax.tree.map(lambda a, k=k: a[k], (state, rows)), alone, atol=1e-12)
            answer = {name: value[k] for name, value in answers.items()}
            chex.assert_trees_all_close(answer, records(environment, alone[0]), atol=1e-11)

    def test_several_queries(self):
        environment = make(2)
        state = compiled.init(environment, KEY)
        query = jnp.array([[0.1, 0.2], [0.3, -0.4], [0.0, 0.0]])
        play_at = jnp.array([0.3, -0.4])
        _, feedback, outcome = compiled.step(environment, KEY, jnp.int32(0), state, None, PointDecision(play_at, query))
        chex.assert_shape([feedback.loss, feedback.con], (3,))
        chex.assert_shape([feedback.grad, feedback.con_grad], (3, 2))
        np.testing.assert_allclose([feedback.loss[1], feedback.con[1]], [outcome.loss, outcome.constraint], rtol=1e-14)
        assert feedback.loss[2] == 0.0 and feedback.con[2] < 0.0


@pytest.mark.parametrize("fields", [{"margin": 0.0}, {"slope_noise": 1.0}, {"conflict": 1.1}, {"domain": object()}])
def test_refuses(fields):
    with pytest.raises(InputError):
        validate(LinearConstraints(dim=2, **fields))


def test_the_domain_must_contain_the_origin():
    far = Polytope(vertices=np.array([[1.0, 0.0], [-1.0, 0.1], [0.0, 1.0]]))
    for domain in (Simplex(), Box(dim=2, low=1.0, high=np.array([2.0, 3.0])), far):
        with pytest.raises(InputError, match=r"LinearConstraints\.domain must contain the origin, which"):
            validate(LinearConstraints(dim=2, domain=domain))
    near = Polytope(vertices=np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]]))  # the origin lies on an edge
    for domain in (Box(dim=2, low=0.0), L2Ball(radius=np.array([1.0, 2.0, 3.0])), near):
        validate(LinearConstraints(dim=2, domain=domain))
