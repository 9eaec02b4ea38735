"""The nuclear-norm ball: linear oracle against the SVD, projection against its optimality conditions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import validate
from jaxbandits.domains.nuclear import NuclearBall, WarmStart, top_singular_value

SHAPES = [(1, 1), (1, 4), (4, 3), (3, 7), (6, 6), (20, 26)]


@jax.jit
def lmo(ball, c):
    return ball.lmo(c)[0]


@jax.jit
def project(ball, x):
    return ball.project(x)


def nuclear(x):
    return np.linalg.svd(x, compute_uv=False).sum()


def random_feasible(rng, shape, radius):
    x = rng.normal(size=shape)
    return radius * rng.uniform() * x / nuclear(x)


class TestOracle:
    @pytest.mark.quick_cases("(1, 1)", "(4, 3)")
    @pytest.mark.parametrize("shape", SHAPES, ids=str)
    def test_value_is_the_dual_norm(self, shape):
        rng = np.random.default_rng(shape)
        for scale in (1e-170, 1e-9, 1.0, 1e9, 1e170):
            c, radius = rng.normal(size=shape) * scale, np.exp(rng.normal())
            v = np.asarray(lmo(NuclearBall(radius=radius), c))
            assert np.sum(c * v) == pytest.approx(-radius * np.linalg.svd(c, compute_uv=False)[0], rel=1e-13)

    @pytest.mark.quick_cases("(1, 1)", "(4, 3)")
    @pytest.mark.parametrize("shape", SHAPES, ids=str)
    def test_answer_is_rank_one_on_the_boundary(self, shape):
        c = np.random.default_rng(shape).normal(size=shape)
        values = np.linalg.svd(np.asarray(lmo(NuclearBall(radius=2.5), c)), compute_uv=False)
        assert values[0] == pytest.approx(2.5, rel=1e-13)
        assert np.all(values[1:] < 1e-13)

    @pytest.mark.parametrize("shape", SHAPES, ids=str)
    def test_no_random_feasible_point_is_better(self, shape):
        rng = np.random.default_rng(shape)
        c = rng.normal(size=shape)
        best = np.sum(c * np.asarray(lmo(NuclearBall(radius=1.7), c)))
        assert best <= min(np.sum(c * random_feasible(rng, shape, 1.7)) for _ in range(300))

    def test_diagonal_by_hand(self):
        v = lmo(NuclearBall(radius=2.0), jnp.diag(jnp.array([1.0, -3.0, 2.0])))
        np.testing.assert_allclose(v, np.diag([0.0, 2.0, 0.0]), atol=1e-14)

    def test_equal_singular_values_any_pair_will_do(self):
        c = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 5)))[0]
        v = np.asarray(lmo(NuclearBall(), c))
        assert np.sum(c * v) == pytest.approx(-1.0, rel=1e-13)
        assert nuclear(v) == pytest.approx(1.0, rel=1e-13)

    @pytest.mark.parametrize("shape", [(4, 3), (3, 7), (70, 65)], ids=str)
    def test_zero_direction(self, shape):
        np.testing.assert_array_equal(lmo(NuclearBall(), np.zeros(shape)), np.zeros(shape))

    def test_vmap_over_radius_and_direction(self):
        rng = np.random.default_rng(1)
        radius, c = np.exp(rng.normal(size=8)), rng.normal(size=(8, 4, 3))
        together = jax.jit(jax.vmap(lambda r, m: NuclearBall(radius=r).lmo(m)[0]))(radius, c)
        for k in range(8):
            np.testing.assert_allclose(together[k], lmo(NuclearBall(radius=radius[k]), c[k]), atol=1e-13)


class TestKrylovSpace:
    """Above `exact_below`: compared by value, since close singular values leave the pair open."""

    @pytest.mark.slow_after_first
    @pytest.mark.parametrize("shape", [(66, 70), (90, 65)], ids=str)
    def test_low_rank_is_exact(self, shape):
        rng = np.random.default_rng(shape)
        c = rng.normal(size=(shape[0], 3)) * [3.0, 1.0, 0.5] @ rng.normal(size=(3, shape[1]))
        v, guess = jax.jit(NuclearBall().lmo)(c)
        assert np.sum(c * np.asarray(v)) == pytest.approx(-np.linalg.norm(c, 2), rel=1e-12)
        assert nuclear(v) == pytest.approx(1.0, rel=1e-12)
        assert guess.residual < 1e-9

    @pytest.mark.slow
    def test_dense_noise_is_nearly_optimal_and_improves(self):
        """The hardest case: no gap at the top of the spectrum."""
        c = np.random.default_rng(2).uniform(-1, 1, size=(140, 100))
        best = np.linalg.norm(c, 2)
        ratios = [-np.sum(c * np.asarray(jax.jit(NuclearBall(iterations=n).lmo)(c)[0])) / best for n in (1, 6, 12, 100)]
        assert np.all(np.diff(ratios) > 0)
        assert ratios[0] < 0.9 < ratios[1]
        assert ratios[3] == pytest.approx(1.0, rel=1e-12)

    @pytest.mark.slow
    def test_warm_starts_follow_a_drifting_direction(self):
        """The value, the residual that comes with it, and the independent check, beside the SVD."""
        rng, shape = np.random.default_rng(5), (100, 140)
        c, warm = rng.uniform(-1, 1, size=shape), jax.jit(NuclearBall(radius=3.0).lmo)
        guess = WarmStart(jnp.ones(140), jnp.zeros(()))
        for k in range(12):
            c = c + rng.uniform(-1, 1, size=shape) / (k + 1.0)
            v, guess = warm(c, guess)
            value, singular = -np.sum(c * np.asarray(v)) / 3.0, np.linalg.svd(c, compute_uv=False)
            assert np.linalg.norm(v) == pytest.approx(3.0, rel=1e-12)
            assert value <= singular[0] * (1 + 1e-13)
            assert np.min(np.abs(singular - value)) <= guess.residual * value * (1 + 1e-9)
        assert value > 0.99 * singular[0]
        asked = jax.jit(top_singular_value, static_argnums=2)(jnp.asarray(c), jax.random.key(0), 50)
        assert 0.999 * singular[0] < asked <= singular[0] * (1 + 1e-13)

    @pytest.mark.quick_cases("(1, 1)", "(4, 3)")
    @pytest.mark.parametrize("shape", [(1, 1), (1, 4), (4, 3), (3, 7)], ids=str)
    def test_small_spaces_are_exact_at_every_scale(self, shape):
        """With as many vectors as there are columns the Krylov space is everything, whatever is left of it."""
        rng = np.random.default_rng(shape)
        for scale in (1e-170, 1.0, 1e170):
            c = rng.normal(size=shape) * scale
            v = np.asarray(lmo(NuclearBall(exact_below=1), c))
            assert np.sum(c * v) == pytest.approx(-np.linalg.svd(c, compute_uv=False)[0], rel=1e-12)
            assert nuclear(v) == pytest.approx(1.0, rel=1e-12)

    def test_a_guess_orthogonal_to_the_answer_does_not_last(self):
        c = np.diag(np.linspace(1.0, 2.0, 70))
        guess = WarmStart(jnp.eye(70)[0], jnp.zeros(()))
        warm = jax.jit(NuclearBall().lmo)
        for _ in range(12):
            v, guess = warm(c, guess)
        assert -np.sum(c * np.asarray(v)) > 1.99

    def test_direction_zero_keeps_the_guess_in_use(self):
        ball = NuclearBall()
        _, guess = jax.jit(ball.lmo)(np.ones((70, 65)))
        v, after = jax.jit(ball.lmo)(np.zeros((70, 65)), guess)
        np.testing.assert_array_equal(v, np.zeros((70, 65)))
        assert np.linalg.norm(after.right) == pytest.approx(1.0) and after.residual == 0.0

    @pytest.mark.slow
    def test_vmap_is_the_loop(self):
        c = np.random.default_rng(3).normal(size=(3, 70, 66))
        together = jax.jit(jax.vmap(lambda m: NuclearBall().lmo(m)[0]))(c)
        for k in range(3):
            np.testing.assert_allclose(together[k], lmo(NuclearBall(), c[k]), atol=1e-12)


class TestProjection:
    @pytest.mark.quick_cases("*-(4, 3)", "0.3-(1, 1)")
    @pytest.mark.parametrize("shape", SHAPES, ids=str)
    @pytest.mark.parametrize("radius", [0.3, 2.0, 1e3])
    def test_optimality(self, shape, radius):
        """p is the projection of x iff it is feasible and `<x - p, z - p> <= 0` for all z, the worst z by an SVD."""
        x = np.random.default_rng(shape).normal(size=shape)
        p = np.asarray(project(NuclearBall(radius=radius), x))
        assert nuclear(p) <= radius * (1 + 1e-12)
        worst = radius * np.linalg.norm(x - p, 2) - np.sum((x - p) * p)
        assert worst <= 1e-12 * (1 + radius)

    def test_inside_is_unchanged(self):
        x = random_feasible(np.random.default_rng(3), (4, 3), 1.0)
        np.testing.assert_array_equal(project(NuclearBall(), x), x)

    def test_diagonal_by_hand(self):
        p = project(NuclearBall(radius=2.0), jnp.diag(jnp.array([3.0, -2.0, 0.5])))
        np.testing.assert_allclose(p, np.diag([1.5, -0.5, 0.0]), atol=1e-14)


def test_diameter_is_attained():
    ball = NuclearBall(radius=3.0)
    c = np.random.default_rng(4).normal(size=(4, 3))
    assert np.linalg.norm(np.asarray(lmo(ball, c) - lmo(ball, -c))) == pytest.approx(ball.diameter, rel=1e-13)


@pytest.mark.parametrize("fields", [{"radius": 0.0}, {"radius": np.nan}, {"iterations": 0}, {"exact_below": 0}])
def test_refuses(fields):
    with pytest.raises(InputError):
        validate(NuclearBall(**fields))
