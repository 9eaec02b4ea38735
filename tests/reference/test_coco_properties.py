"""Inequalities behind the analysis of the projection-free family, and errata of its paper, on the NumPy references."""

import math

import numpy as np
import pytest

from tests.reference import ofw_tvc
from tests.reference.convex_sets import (
    L2Ball,
    norm,
)
from tests.reference.loo_bogd import LOOBOGD
from tests.reference.lpm import LPM
from tests.reference.lyapunov import Exponential, Quadratic, double, double_at_once
from tests.reference.online_frank_wolfe import OFW, PFOFW
from tests.reference.opdp import OPDP
from tests.reference.scofw_tvc import SCOFW, SCOFWTVC, proof_constants, statement_constants


class TestDoubling:
    def test_one_exponent_equals_the_while_loop(self, rng):
        level = np.exp(rng.uniform(-20, 20, 3000))
        target = level * np.exp(rng.uniform(-5, 20, 3000))
        target[:500] = level[:500] * 2.0 ** rng.integers(-2, 12, 500)  # 1/4, 1/2, 1, 2, 4, ... exactly
        target[500:750] = np.nextafter(4.0 * level[500:750], np.inf)
        target[750:1000] = np.nextafter(4.0 * level[750:1000], 0.0)
        # target / level rounds to a power of two where the exact ratio is one ulp beside it, for levels that are none
        powers = np.ldexp(1.0, rng.integers(-30, 30, 3000))
        for a, b in [*zip(powers, target, strict=True), *zip(level[:500], target[:500], strict=True)]:
            assert double_at_once(a, b) == double(a, b)
        wrong = sum(double_at_once(a, b) != double(a, b) for a, b in zip(level, target, strict=True))
        assert wrong <= 500  # only among the neighbours of a power of two

    @pytest.mark.parametrize(("ratio", "level"), [(0.3, 1.0), (1.0, 1.0), (2.0, 2.0), (4.0, 4.0), (4.1, 8.0)])
    def test_by_hand(self, ratio, level):
        assert double(1.7, 1.7 * ratio) == double_at_once(1.7, 1.7 * ratio) == 1.7 * level


class TestLyapunov:
    @pytest.mark.parametrize("phi", [Exponential(0.3), Quadratic(), Quadratic(1.0)])
    def test_slope_is_the_derivative_and_the_function_is_admissible(self, phi):
        x = np.linspace(0.0, 5.0, 101)
        values, slopes = np.array([phi.value(z) for z in x]), np.array([phi.slope(z) for z in x])
        assert values[0] == 0.0 and np.all(np.diff(values) >= 0) and np.all(np.diff(slopes) >= 0)
        central = np.array([(phi.value(z + 1e-5) - phi.value(z - 1e-5)) / 2e-5 for z in x])
        np.testing.assert_allclose(slopes, central, rtol=1e-7, atol=1e-9)

    def test_weight_of_the_constraint_under_theorem_1(self):
        """Erratum 3: at most lam exp(lam T / 64), whatever happens, relative to the loss's 1."""
        worst = {T: Exponential(0.5 * T**-0.75).slope(T / 64.0) for T in (1e3, 1e5, 1e7, 1e12)}
        np.testing.assert_allclose(list(worst.values()), [2.9e-3, 1.0e-4, 4.4e-6, 1.2e-6], rtol=0.05)
        trivial = [T for T in np.logspace(2, 16, 1401) if 128.0 * T**0.75 * math.log(2.0 + 4.0 * T) < T]
        assert trivial[0] == pytest.approx(4e14, rel=0.2)  # below it the bound exceeds G D T


class TestStrongConvexityConstants:
    @pytest.mark.parametrize("alpha", [1e-3, 0.1, 1.0, 10.0, 1e3])
    def test_beta_of_the_statement_violates_39(self, alpha):
        """Erratum 7: (39) needs gamma alpha D >= 224 G for the statement's beta; gamma alpha D <= G always."""
        G, D, T = 1.7, 2.0, 1000.0
        stated, proved = statement_constants(T, G, D, alpha), proof_constants(T, G, D, alpha)
        assert stated["gamma"] * alpha * D <= G
        needed = stated["gamma"] * alpha / (224.0 * G**2 * T ** (2 / 3))
        assert stated["beta"] > 100 * needed
        assert proved["beta"] < needed

    def test_corrected_violation_bound(self):
        """Q^2 <= (2 + gamma) / beta^2 + 2 gamma G D T / beta with the proof's beta, written out."""
        G, D, T, alpha = 1.7, 2.0, 1000.0, 0.3
        c = proof_constants(T, G, D, alpha)
        general = (2.0 + c["gamma"]) / c["beta"] ** 2 + 2.0 * c["gamma"] * G * D * T / c["beta"]
        written = 250000.0 * (2.0 + c["gamma"]) * G**4 * T ** (4 / 3) / (c["gamma"] * alpha) ** 2
        written += 1000.0 * G**3 * D * T ** (5 / 3) / alpha
        assert written == pytest.approx(general, rel=1e-12)


class TestLemma4:
    @pytest.mark.parametrize(("clip", "furthest", "ratio"), [(False, 3.0, 1.413), (True, 1.0, 0.497)])
    def test_printed_step_leaves_the_domain_and_breaks_the_lemma(self, clip, furthest, ratio):
        """Erratum 1: 2 / sqrt(t - s + 1) > 1 for t - s < 3. eta = T^{-3/4}, h = (1, 0), x_1 = (1, 0)."""
        T, start = 2000, np.array([1.0, 0.0])
        learner = ofw_tvc.OFWTVC(start, L2Ball().lmo, 2.0, T, 0.4, 0.5, 2.0, 0.1, 1.0, clip=clip)
        longest, worst = 0.0, 0.0
        for t in range(2, T + 2):
            learner.step((1.0, 0.0), -1.0, (0.0, 0.0))
            longest = max(longest, norm(learner.x))
            gap = ofw_tvc.surrogate_gap_on_ball(learner.x, start, T**-0.75, np.array([t - 1.0, 0.0]))
            worst = max(worst, gap / (2.0 * 2.0**2 * 2.0 / math.sqrt(t)))
        assert longest == pytest.approx(furthest, abs=1e-9)
        assert worst == pytest.approx(ratio, abs=5e-4)

    @pytest.mark.parametrize("seed", range(4))
    def test_on_random_runs_with_restarts(self, seed):
        rng = np.random.default_rng(seed)
        domain, T = L2Ball(), 200
        learner = ofw_tvc.OFWTVC(np.zeros(4), domain.lmo, 2.0, T, 1.0, 0.5, 0.7, 0.3, 0.1)
        drift, worst, epochs = rng.standard_normal(4), 0.0, set()
        for t in range(2, T + 2):
            df, dg = (z / max(norm(z), 1.0) for z in rng.standard_normal((2, 4)) + drift)
            row = learner.step(df, rng.normal(0.1, 0.5), dg)
            eta = 2.0 / (2.0 * row["level"] * T**0.75)
            gap = ofw_tvc.surrogate_gap_on_ball(row["x"], row["anchor"], eta, learner.gsum)
            worst = max(worst, gap / (2.0 * 2.0**2 * 2.0 / math.sqrt(t - row["s"] + 1)))
            epochs.add(row["s"])
        assert len(epochs) >= 3
        assert 1e-3 < worst <= 1.0


class TestInvariances:
    def run(self, learner, rows):
        xs = []
        for row in rows:
            learner.step(*row)
            xs.append(learner.x)
        return np.array(xs)

    def rows(self, seed, rounds=100, dim=4):
        rng = np.random.default_rng(seed)
        vectors = rng.standard_normal((2, rounds, dim)) + rng.standard_normal(dim)
        vectors /= np.linalg.norm(vectors, axis=2).max()
        return [(df, g, dg) for df, g, dg in zip(vectors[0], rng.normal(0.1, 0.5, rounds), vectors[1], strict=True)]

    def test_ofw_tvc_under_scaling_of_the_functions(self):
        rows, s = self.rows(0), 37.0
        one = ofw_tvc.OFWTVC(np.zeros(4), L2Ball().lmo, 2.0, 100, 1.0, 0.8, 0.6, 0.3, 0.8 * 0.6)
        two = ofw_tvc.OFWTVC(np.zeros(4), L2Ball().lmo, 2.0, 100, s, 0.8 / s, 0.6, 0.3, 0.8 * 0.6)
        plain = self.run(one, rows)
        np.testing.assert_allclose(self.run(two, [(s * a, s * g, s * b) for a, g, b in rows]), plain, atol=1e-11)
        assert one.s > 1

    def test_ofw_tvc_under_scaling_of_the_domain(self):
        rows, s = self.rows(1), 1e4
        one = ofw_tvc.OFWTVC(np.zeros(4), L2Ball().lmo, 2.0, 100, 1.0, 0.8, 0.6, 0.3, 0.8 * 0.6)
        two = ofw_tvc.OFWTVC(np.zeros(4), L2Ball(s).lmo, 2 * s, 100, 1.0, 0.8 / s, 0.6, 0.3, 0.8 / s * 0.6)
        plain = self.run(one, rows)
        np.testing.assert_allclose(self.run(two, [(a, s * g, b) for a, g, b in rows]), s * plain, atol=1e-11 * s)

    def test_scofw_tvc_depends_on_the_weight_over_gamma_only(self):
        """h and C1 divided by gamma beta: same iterates. With Phi' near 1, beta hardly matters at all."""
        rows, x1, domain = self.rows(2), np.full(4, 0.1), L2Ball()
        learner = SCOFWTVC(domain, x1, alpha=0.8, beta=1e-9, gamma=0.6)
        plain = self.run(learner, rows)
        np.testing.assert_allclose(
            self.run(SCOFWTVC(domain, x1, alpha=0.8, beta=1e-6, gamma=0.6), rows), plain, atol=1e-3
        )
        scaled, Q = SCOFW(domain, x1, 0.8 / 2.0), 0.0
        xs = []
        for df, g, dg in rows:
            Q += max(g, 0.0)
            scaled.step(df + (2e-9 * Q + 1.0) / 0.6 * (g > 0) * dg)
            xs.append(scaled.x)
        np.testing.assert_allclose(plain, xs, atol=1e-9)

    def test_without_violations_the_constrained_methods_are_the_plain_ones(self):
        rows = [(df, -1.0, dg) for df, _, dg in self.rows(3)]
        x1, domain = np.full(4, 0.1), L2Ball()
        plain = self.run(SCOFW(domain, x1, 0.4), [(df,) for df, _, _ in rows])
        np.testing.assert_array_equal(self.run(SCOFWTVC(domain, x1, 0.8, beta=1.0, gamma=1.0), rows), plain)
        np.testing.assert_allclose(self.run(SCOFWTVC(domain, x1, 0.8, beta=0.3, gamma=0.6), rows), plain, atol=1e-10)
        # OFW-TVC from G~ = beta G gamma doubles once, to 2 beta G gamma, and is then OFW for 2 G
        tvc = ofw_tvc.OFWTVC(x1, domain.lmo, 2.0, 100, 1.0, 0.7, 0.5, 0.01, 0.7 * 0.5)
        ofw = self.run(OFW(domain, x1, 100, 2.0), [(df,) for df, _, _ in rows])
        np.testing.assert_allclose(self.run(tvc, rows), ofw, atol=1e-11)
        np.testing.assert_array_equal(self.run(OPDP(domain, x1, 100, 2.0, mu=0.5, theta=0.1), rows), ofw)
        bogd = self.run(LOOBOGD(domain, x1, 0.1, 1e-3, 5), [(df,) for df, _, _ in rows])
        np.testing.assert_array_equal(self.run(LPM(domain, x1, 0.1, 1e-3, 5, 0.2, 0.4), rows), bogd)

    def test_pf_ofw_is_ofw_where_the_level_is_known(self):
        rows = [(df,) for df, _, _ in self.rows(4)]
        x1, domain = np.full(4, 0.1), L2Ball()
        ofw = self.run(OFW(domain, x1, 100, 4.0), rows)
        np.testing.assert_array_equal(self.run(PFOFW(domain, x1, 100, g_init=4.0), rows), ofw)
        restarted = PFOFW(domain, x1, 100, g_init=1e-3)
        self.run(restarted, rows)
        assert restarted.level >= max(norm(h) for (h,) in rows) > 0.5 * restarted.level
