"""Sets and oracles of the projection-free family on the NumPy references: membership, projections, inner searches."""

import math

import numpy as np
import pytest

from tests.reference import bfw_tvc, ofw_tvc, scbfw_tvc
from tests.reference.bfw_tvc import BFWTVC, frank_wolfe
from tests.reference.convex_sets import (
    Box,
    CappedSimplex,
    L1Ball,
    L2Ball,
    Polytope,
    Shrunk,
    Simplex,
    Spectrahedron,
    TraceNormBall,
    inner,
    norm,
)
from tests.reference.infeasible_projection import close_infeasible_projection, separate
from tests.reference.lpm import LBPM, LPM
from tests.reference.lpm import theory_constants as lpm_constants
from tests.reference.lyapunov import on_sphere
from tests.reference.opdp import OPDP
from tests.reference.scbfw_tvc import SCBFWTVC
from tests.reference.scofw_tvc import SCOFWTVC
from tests.reference.sinha_vaze import SinhaVaze, StronglyConvexSinhaVaze

POLYTOPE = np.random.default_rng(5).normal(size=(9, 3))
DOMAINS = {
    "l2": (L2Ball(1.3), (4,)),
    "l2-matrix": (L2Ball(0.7), (3, 2)),
    "l1": (L1Ball(5, 2.0), (5,)),
    "box": (Box(4, 0.6), (4,)),
    "simplex": (Simplex(6, 2.5), (6,)),
    "capped simplex": (CappedSimplex(7, 2.5, 0.8), (7,)),
    "polytope": (Polytope(POLYTOPE), (3,)),
    "trace norm": (TraceNormBall((5, 7), 1.7), (5, 7)),
    "trace norm, tall": (TraceNormBall((26, 20), 3.0), (26, 20)),
    "spectrahedron": (Spectrahedron(5, 1.4), (5, 5)),
    "shrunk trace norm": (Shrunk(TraceNormBall((4, 6), 2.0), 0.7), (4, 6)),
    "shrunk l1": (Shrunk(L1Ball(5, 2.0), 0.4), (5,)),
}
SYMMETRIC = ("spectrahedron",)


def direction(rng, name, shape):
    c = rng.standard_normal(shape)
    return c + c.T if name in SYMMETRIC else c


def inside(rng, name, domain, shape):
    """A random point of the set: an average of oracle answers, on a face of random dimension."""
    atoms = [domain.lmo(direction(rng, name, shape)) for _ in range(rng.integers(1, 5))]
    return sum(w * a for w, a in zip(rng.dirichlet(np.ones(len(atoms))), atoms, strict=True))


@pytest.fixture(params=DOMAINS, ids=str)
def place(request):
    return (request.param, *DOMAINS[request.param])


class TestDomains:
    def test_oracle_is_in_the_set_and_best(self, place, rng):
        name, domain, shape = place
        for _ in range(30):
            c = direction(rng, name, shape)
            v = domain.lmo(c)
            assert domain.excess(v) <= 1e-12 * domain.outer
            for _ in range(20):
                # a point of the set by projection, hence not by the oracle under test
                x = domain.project(direction(rng, name, shape) * domain.outer * rng.uniform(0, 3))
                assert inner(c, v) <= inner(c, x) + 1e-9 * domain.outer * norm(c)

    def test_oracle_reaches_the_dual_norm(self, rng):
        c, m = rng.standard_normal(5), rng.standard_normal((5, 7))
        assert inner(c, L2Ball(1.3).lmo(c)) == pytest.approx(-1.3 * norm(c))
        assert inner(c, L1Ball(5, 2.0).lmo(c)) == pytest.approx(-2.0 * np.abs(c).max())
        assert inner(c, Box(5, 0.6).lmo(c)) == pytest.approx(-0.6 * np.abs(c).sum())
        assert inner(m, TraceNormBall((5, 7), 1.7).lmo(m)) == pytest.approx(-1.7 * np.linalg.norm(m, 2))

    @pytest.mark.parametrize("domain", [L2Ball(), TraceNormBall((3, 3)), Spectrahedron(3)])
    def test_nothing_to_minimise_gives_the_origin(self, domain):
        shape = (3,) if isinstance(domain, L2Ball) else (3, 3)
        np.testing.assert_array_equal(domain.lmo(np.zeros(shape)), np.zeros(shape))

    def test_projection_is_nearest(self, place, rng):
        """<y - P(y), v - P(y)> <= 0 for every v of the set, for which the oracle's answer suffices."""
        name, domain, shape = place
        moved = 0
        for _ in range(30):
            y = direction(rng, name, shape) * domain.outer * rng.uniform(0, 2)
            p = domain.project(y)
            assert domain.excess(p) <= 1e-9 * domain.outer
            assert inner(y - p, domain.lmo(p - y) - p) <= 1e-9 * domain.outer * max(norm(y), 1.0)
            moved += norm(y - p) > 1e-6
        assert moved > 10

    def test_projection_keeps_points_of_the_set(self, place, rng):
        name, domain, shape = place
        for _ in range(10):
            x = inside(rng, name, domain, shape)
            np.testing.assert_allclose(domain.project(x), x, atol=1e-9 * domain.outer)

    def test_radii_and_diameter(self, place, rng):
        """R and D bound and are attained by oracle answers (up to search); the inner ball is inside."""
        name, domain, shape = place
        points = [domain.lmo(direction(rng, name, shape)) for _ in range(300)]
        if name in ("l1", "shrunk l1", "box"):
            points += [-p for p in points]
        if name.startswith(("l2", "trace", "shrunk")):
            points += [-p for p in points[:10]]
        assert max(map(norm, points)) == pytest.approx(domain.outer, rel=1e-9)
        apart = max(norm(p - q) for p in points for q in points[:60])
        assert apart <= domain.diameter * (1 + 1e-12)
        if name != "spectrahedron":  # attained by orthogonal atoms, which a random search only nears
            assert apart == pytest.approx(domain.diameter, rel=1e-9)
        for _ in range(20):
            u = on_sphere(rng, shape)
            assert domain.inner == 0.0 or domain.excess(domain.inner * u) <= 1e-12

    def test_inner_radius_cannot_be_larger(self):
        for domain, touching in [
            (L1Ball(5, 2.0), np.ones(5) / np.sqrt(5.0)),
            (Box(4, 0.6), np.eye(4)[0]),
            (TraceNormBall((3, 5), 1.7), np.eye(3, 5) / np.sqrt(3.0)),
        ]:
            assert domain.excess(domain.inner * touching) < 1e-12 < domain.excess(1.001 * domain.inner * touching)


class TestMembership:
    def test_every_iterate_stays_in_its_set(self, rng):
        """Full information and bandit runs on the box, the l1 ball and a nuclear ball of 5 x 7."""
        for domain, shape in [(Box(3), (3,)), (L1Ball(4, 2.0), (4,)), (TraceNormBall((5, 7), 3.0), (5, 7))]:
            zero, T = np.zeros(shape), 120
            full = [
                ofw_tvc.OFWTVC(zero, domain.lmo, domain.diameter, T, 1.0, 2.0, 0.5, 0.3, 1.0),
                SCOFWTVC(domain, zero, 0.5, 0.1, 0.5),
                LPM(domain, zero, 0.3, 0.03 * domain.outer**2, 5, 0.2, 0.4),
                OPDP(domain, zero, T, 1.0, 0.4, 0.2),
                SinhaVaze(domain, zero, 1.0, 0.2),
                StronglyConvexSinhaVaze(domain, zero, T, 1.0, 0.5),
            ]
            delta = 0.3 * domain.inner
            bandits = [
                BFWTVC(domain, zero, T, 8, 1.0, 1.0, 1.0, 2.0, 0.5, 0.25, 0.05, delta=delta),
                SCBFWTVC(domain, zero, T, 8, 5, 0.5, 1.0, 1.0, delta=delta),
                LBPM(domain, zero, 0.002, 8, 0.2, 0.4, delta),
            ]
            centre, normal = domain.lmo(rng.standard_normal(shape)), on_sphere(rng, shape)
            for _ in range(T):
                noise = 0.2 * rng.standard_normal(shape)
                for a in full:
                    a.step(a.x - centre + noise, inner(normal, a.x) - 0.1, normal)
                    assert domain.excess(a.x) <= 1e-9
                for a in bandits:
                    x = a.play(on_sphere(rng, shape))
                    assert domain.excess(x) <= 1e-9
                    a.step(0.5 * norm(x - centre) ** 2, inner(normal, x) - 0.1)
                    y = a.x if isinstance(a, LBPM) else a.y
                    assert Shrunk(domain, 0.7).excess(y) <= 1e-9


class TestInfeasibleProjection:
    @pytest.mark.parametrize("name", ["l2", "l1", "box", "simplex", "polytope", "trace norm", "shrunk trace norm"])
    def test_properties(self, name, rng):
        domain, shape = DOMAINS[name]
        R, certified = domain.outer, 0
        for eps in (0.1 * R**2, 0.01 * R**2):
            for _ in range(10):
                x0 = inside(rng, name, domain, shape)
                y0 = x0 + on_sphere(rng, shape) * R * rng.uniform(0.5, 3.0)
                d0 = norm(x0 - y0) ** 2
                x, y, calls = close_infeasible_projection(domain, x0, y0, eps)
                assert domain.excess(x) <= 1e-9
                assert norm(x - y) ** 2 <= 3.0 * eps * (1 + 1e-12)
                for _ in range(20):
                    z = inside(rng, name, domain, shape)
                    assert norm(y - z) <= norm(y0 - z) + 1e-12
                assert max(calls, default=0) <= math.ceil(27.0 * R**2 / eps)
                assert len(calls) <= max(d0 * (d0 - eps) / (4.0 * eps**2) + 1.0, 1.0)
                certified += len(calls) > 1
        # The ball's y_0 is cut back to the ball itself, where the first separation ends near it.
        assert (certified > 0) == (name != "l2")

    def test_separation_certifies(self, rng):
        """Either near y, or every point of K lies beyond the hyperplane: <y - x, z - y> ... <= eps - ||x - y||^2."""
        domain, shape = DOMAINS["trace norm"]
        y = 3.0 * on_sphere(rng, shape)
        x, _ = separate(domain, inside(rng, "trace norm", domain, shape), y, 0.05)
        assert norm(x - y) ** 2 > 0.15
        for _ in range(50):
            z = inside(rng, "trace norm", domain, shape)
            assert inner(x - y, z - y) >= norm(x - y) ** 2 - 0.05 - 1e-12

    @pytest.mark.parametrize(
        ("T", "start", "share", "blocks"),
        [
            (1500, 0.0, 1.0, None),
            (32_300, 0.0, 1.0, None),  # sqrt(T) < 180: not even with the largest gradients
            (40_000, 0.0, 1.0, 3),
            (40_000, 0.0, 0.3, 9),
            (2000, 1.0, 1.0, None),  # sqrt(T) < 45: not even from the far side of the ball
            (2500, 1.0, 1.0, 3),
        ],
    )
    def test_theory_eps_freezes(self, T, start, share, blocks):
        """Erratum 12: with eps = 60 R^2 / sqrt(T), CIP stays at x_0 while `||x_0 - y|| <= sqrt(180) R T^{-1/4}`.

        A block displaces y by 5 share R T^{-1/4}: the first move takes 2.7 / share blocks. But CIP also cuts y back to
        the ball of radius R, so that from x_1 = 0 it is never farther than R: nothing ever moves up to T = 32400, from
        the boundary up to T = 2025, whatever the gradients.
        """
        learner = LPM(L2Ball(), np.array([start, 0.0]), **lpm_constants(T, 1.0, 1.0))
        assert learner.base.eps == pytest.approx(60.0 / math.sqrt(T))
        moved, first = None, learner.x
        for t in range(T):
            learner.step(np.array([share, 0.0]), -1.0, np.zeros(2))
            if moved is None and np.any(learner.x != first):
                moved = (t + 1) // learner.base.K
        assert moved == blocks


class TestInnerFrankWolfe:
    def test_gap_within_the_bound(self, rng):
        """Jaggi 2013: some gap is at most eps within ceil(13.5 D^2 / eps) steps; 27 / 4 times the curvature 2 D^2."""
        most = 0.0
        for name in ("l2", "l1", "box", "simplex", "polytope", "trace norm"):
            domain, shape = DOMAINS[name]
            for eps in (0.3, 0.03, 0.003):
                eps = eps * domain.diameter**2
                y = inside(rng, name, domain, shape)
                far = rng.standard_normal(shape) * domain.outer * 3.0
                _, steps = frank_wolfe(domain, far, y, y, eps)
                assert steps <= math.ceil(13.5 * domain.diameter**2 / eps)
                most = max(most, steps * eps / (13.5 * domain.diameter**2))
        assert most > 0.01

    def test_theory_eps_needs_one_step_a_block(self):
        """4 D^2 / sqrt(T): every block ends at once, so the oracle is called once a block."""
        T, rng, domain = 2500, np.random.default_rng(0), L2Ball()
        constants = bfw_tvc.theory_constants(T, 2.0, 1.0, 2.0, 1.0, 0.9, 2)
        learner = BFWTVC(domain, np.zeros(2), T=T, G=2.0, M=1.0, c=0.9, **constants)
        for _ in range(T):
            x = learner.play(on_sphere(rng, 2))
            learner.step(0.5 * norm(x - np.array([0.6, 0.0])) ** 2, x[0] - 0.3)
        assert learner.calls == learner.m - 1 == T // constants["K"]


class TestRecentring:
    @pytest.mark.slow
    @pytest.mark.parametrize(("recenter", "limit", "regret"), [(False, 0.3, 135.90), (True, 0.6, 1.80)])
    def test_equation_27_is_pulled_to_the_origin(self, recenter, limit, regret):
        """Erratum 5: f = ||x - a||^2 / 2 with exact gradients; as printed the limit is a / 2."""
        a, T = np.array([0.6, 0.0]), 3000
        learner = SCBFWTVC(
            L2Ball(), np.zeros(2), T, K=10, L=200, alpha=1.0, beta=1.0, gamma=1.0, delta=1e-9, recenter=recenter
        )
        total = 0.0
        for _ in range(T):
            total += 0.5 * norm(learner.y - a) ** 2
            learner.observe(learner.y - a)
        np.testing.assert_allclose(learner.y, [limit, 0.0], atol=1e-3)
        assert total == pytest.approx(regret, abs=5e-3)

    def test_statement_and_proof_disagree_on_gamma(self):
        """Erratum 8: G / (G + alpha D) <= 1 in the statement; the proof's gamma grows as T^{2/3}."""
        for T in (1e3, 1e6):
            gamma = scbfw_tvc.proof_constants(T, 1.0, 2.0, 1.0, 0.3, 0.5)["gamma"]
            assert gamma > 16.0 * T ** (2 / 3) / 0.5 > 1.0
