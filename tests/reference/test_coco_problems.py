"""Problems of the projection-free family on the NumPy references: estimators, the figure's constraint, comparators."""

import math

import numpy as np
import pytest

from tests.reference import ofw_tvc
from tests.reference.convex_sets import (
    L2Ball,
    TraceNormBall,
    norm,
)
from tests.reference.feasible_comparator import feasible_comparator
from tests.reference.lyapunov import on_sphere, one_point, two_point


class TestEstimators:
    def test_one_point_is_unbiased_for_a_linear_function(self):
        rng, slope, delta = np.random.default_rng(0), np.array([0.3, -0.5, 0.2]), 0.4
        y, n = np.array([0.1, 0.0, -0.1]), 200_000
        u = rng.standard_normal((n, 3))
        u /= np.linalg.norm(u, axis=1, keepdims=True)
        draws = 3 / delta * ((y + delta * u) @ slope + 0.2)[:, None] * u
        np.testing.assert_array_equal(draws[0], one_point((y + delta * u[0]) @ slope + 0.2, u[0], delta))
        error = draws.std(axis=0) / math.sqrt(n)
        assert np.all(np.abs(draws.mean(axis=0) - slope) < 5 * error)
        M = np.abs((y + delta * u) @ slope + 0.2).max()
        assert np.mean(np.sum(draws**2, axis=1)) <= (3 * M / delta) ** 2

    def test_two_points_do_not_pay_for_a_small_delta(self):
        """E ||.||^2 = d ||slope||^2 for a linear function, whatever delta."""
        slope, y = np.array([0.3, -0.5, 0.2]), np.array([0.1, 0.0, -0.1])
        sizes = []
        for delta in (0.4, 1e-3):
            rng, draws = np.random.default_rng(1), []
            for _ in range(20_000):
                u = on_sphere(rng, 3)
                draws.append(two_point((y + delta * u) @ slope + 0.2, (y - delta * u) @ slope + 0.2, u, delta))
            sizes.append(np.mean(np.sum(np.square(draws), axis=1)))
            error = np.std(draws, axis=0) / math.sqrt(len(draws))
            assert np.all(np.abs(np.mean(draws, axis=0) - slope) < 5 * error)
        np.testing.assert_allclose(sizes, 3 * norm(slope) ** 2, rtol=0.05)
        assert sizes[0] == pytest.approx(sizes[1], rel=1e-6)

    def test_the_papers_weight_biases_the_estimate(self):
        """Erratum 9: Phi'(beta Q_t) knows u_t; for an active linear g the factor is exp(s g)(1 + s g), s = lam beta."""
        s, g, rng, delta, slope = 2.5, 0.16, np.random.default_rng(2), 1e-2, np.array([0.6, 0.8])
        factor = math.exp(s * g) * (1.0 + s * g)
        assert factor == pytest.approx(2.09, abs=5e-3)
        n = 200_000
        u = rng.standard_normal((n, 2))
        u /= np.linalg.norm(u, axis=1, keepdims=True)
        along = u @ slope

        def estimates(weight):
            """Along the gradient, averaged over u and -u, which takes most of the noise out."""
            above, below = ((g + sign * delta * along) for sign in (1.0, -1.0))
            return (weight(above) * above - weight(below) * below) * along / delta

        paper = estimates(lambda value: np.exp(s * value))
        unbiased = estimates(lambda value: np.ones(n))
        for draws, expected in ((paper, factor), (unbiased, 1.0)):
            error = draws.std() / math.sqrt(n)
            assert abs(draws.mean() - expected) < 5 * error + 1e-3  # delta^2
            assert error < 5e-3


class TestFigureConstraint:
    def test_fresh_constraints_cannot_be_learned(self):
        """Erratum 10: E g^+ = ||X||_F / sqrt(6 pi), whatever X, for P uniform on [-1, 1]."""
        rng = np.random.default_rng(3)
        x = rng.standard_normal((20, 26))
        g = rng.uniform(-1.0, 1.0, (20_000, 520)) @ x.ravel()
        assert np.mean(np.maximum(g, 0.0)) / norm(x) == pytest.approx(1.0 / math.sqrt(6.0 * math.pi), rel=0.03)
        assert 1.0 / math.sqrt(6.0 * math.pi) == pytest.approx(0.2303, abs=1e-4)

    @pytest.mark.parametrize(("T", "low", "high"), [(8, 1.0, 1.0), (16, 0.35, 0.65), (64, 0.0, 0.02)])
    def test_a_feasible_direction_beyond_the_origin(self, T, low, high):
        """Wendel 1962: T symmetric half-spaces through 0 leave a cone of R^d with probability 1, 1/2, about 0."""
        d = 8
        probability = sum(math.comb(T - 1, k) for k in range(d)) / 2.0 ** (T - 1)
        assert low <= probability <= high


class TestFeasibleComparator:
    def test_known_optima(self, rng):
        """A ball cut by one half-space, solved by geometry; and a box where the constraint is slack."""
        c, a, T = rng.standard_normal(3), rng.standard_normal(3), 50
        offsets = 0.1 + 0.3 * rng.random(T)
        x, mu, violation = feasible_comparator(
            lambda x: c @ x, lambda _: c, 0.0, L2Ball().project, np.tile(a, (T, 1)), offsets, np.zeros(3)
        )
        best = ofw_tvc.best_feasible_on_ball(c, a, offsets.min(), 1.0)
        assert violation < 1e-6 and c @ x == pytest.approx(best, abs=1e-6)
        assert np.count_nonzero(mu > 1e-9) == int(c @ L2Ball().lmo(c) < best - 1e-9)

    def test_quadratic_with_active_constraints(self, rng):
        """KKT: gradient + A' mu = 0 inside K, complementary slackness; multipliers of a projection on a polyhedron."""
        d, T = 4, 6
        A, target = rng.standard_normal((T, d)), 3.0 * rng.standard_normal(d)
        b = 0.1 + rng.random(T)
        x, mu, violation = feasible_comparator(
            lambda x: 0.5 * norm(x - target) ** 2, lambda x: x - target, 1.0, L2Ball(100.0).project, A, b, np.zeros(d)
        )
        assert violation < 1e-7
        np.testing.assert_allclose(x - target + A.T @ mu, 0.0, atol=1e-6)
        np.testing.assert_allclose(mu * (A @ x - b), 0.0, atol=1e-6)
        assert mu.max() > 1e-3

    def test_matrices(self, rng):
        """On a trace-norm ball: no feasible point by search is better, and the constraints hold."""
        ball, target = TraceNormBall((3, 4), 2.0), rng.standard_normal((3, 4))
        A, b = rng.standard_normal((5, 3, 4)), np.full(5, 0.1)

        def value(x):
            return 0.5 * norm(x - target) ** 2

        x, _, violation = feasible_comparator(value, lambda x: x - target, 1.0, ball.project, A, b, np.zeros((3, 4)))
        assert violation < 1e-6 and ball.excess(x) < 1e-9
        for _ in range(2000):
            z = ball.project(x + 0.3 * rng.standard_normal((3, 4)) * rng.random())
            excess = max(np.max(np.tensordot(A, z, 2) - b), 0.0)
            assert excess > 0.0 or value(z) >= value(x) - 1e-6
