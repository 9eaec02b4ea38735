"""GLB-OMD against the paper's loop on fresh instances, recorded traces, and the properties its analysis rests on."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits import simulation
from jaxbandits.algorithms.glm.glb_omd import GLBOMD
from jaxbandits.algorithms.linear.uniform import Uniform
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import pytree, validate
from jaxbandits.diagnostics import glm as glm_meters
from jaxbandits.environments.glm.generalized_linear import GeneralizedLinear
from jaxbandits.estimation.links import Bernoulli, Exponential, Gaussian, Poisson
from tests.algorithms.glm.replay_glm import ROUNDS, agree, force, lemma_4, play
from tests.reference import glb_omd as reference
from tests.reference import glm_one_pass

KEY = jax.random.key(0)
LINKS = {"gaussian": Gaussian(variance=0.5), "bernoulli": Bernoulli(), "poisson": Poisson()}
FAMILIES = reference.FAMILIES | {"gaussian": reference.gaussian(0.5)}
BOUNDS = {"gaussian": 2.0, "bernoulli": 3.0, "poisson": 1.0}
SIZES = [(3, 5), (1, 5), (2, 20), (5, 20), (8, 5)]


def fresh(name, seed, d, K):
    """theta*, arms and rewards of a random instance."""
    theta, X, rng = reference.time_varying(seed, d, K, ROUNDS, BOUNDS[name])
    return theta, X, reference.rewards(name, rng, X @ theta, g=FAMILIES[name].g)


@pytree
class Binomial:
    """Rewards out of n, which the library does not know."""

    n: float = 1.0
    dispersion = self_concordance = 1.0

    def log_partition(self, z):
        return self.n * jnp.logaddexp(0.0, z)

    def mean(self, z):
        return self.n / (1.0 + jnp.exp(-z))

    def slope(self, z):
        return self.n / (2.0 + 2.0 * jnp.cosh(z))

    def slope_bounds(self, low, high):
        return self.slope(jnp.maximum(-low, high)), self.slope(0.0)

    def sample(self, key, z):
        return jax.random.binomial(key, self.n, self.mean(z) / self.n)


class TestAgainstTheReference:
    @pytest.mark.quick_cases("3-5-bernoulli")
    @pytest.mark.parametrize("name", LINKS)
    @pytest.mark.parametrize(("d", "K"), SIZES)
    def test_theory_radius(self, name, d, K):
        for seed, ridge in [(d, float(d)), (100 + d, 0.3)]:
            _, X, R = fresh(name, seed, d, K)
            algorithm = GLBOMD(dim=d, link=LINKS[name], norm_bound=BOUNDS[name], ridge=ridge)
            learner = reference.GLBOMD(FAMILIES[name], d, BOUNDS[name], lam=ridge)
            agree(play(algorithm, X, R), X, R, learner)

    @pytest.mark.quick_cases("poisson")
    @pytest.mark.parametrize("name", LINKS)
    def test_data_radius(self, name):
        _, X, R = fresh(name, 3, 3, 5)
        algorithm = GLBOMD(dim=3, link=LINKS[name], norm_bound=BOUNDS[name], radius_rule="data")
        learner = reference.GLBOMD(FAMILIES[name], 3, BOUNDS[name], radius="data")
        agree(play(algorithm, X, R), X, R, learner)

    @pytest.mark.slow
    @pytest.mark.parametrize("radius", ["theory", "data"])
    def test_large_dimension_is_dense(self, radius):
        d = 20
        assert d > 12
        _, X, R = fresh("bernoulli", 20, d, 10)
        algorithm = GLBOMD(dim=d, norm_bound=3.0, ridge=1.0, radius_rule=radius)
        learner = reference.GLBOMD(FAMILIES["bernoulli"], d, 3.0, lam=1.0, radius=radius)
        agree(play(algorithm, X, R), X, R, learner)

    @pytest.mark.quick_cases("2")
    @pytest.mark.parametrize("seed", range(4))
    def test_active_projections_of_poisson(self, seed):
        """Rewards far too large keep theta on the sphere, by steps of norm up to 1e3."""
        rng = np.random.default_rng(seed)
        xs = rng.normal(size=(ROUNDS, 3))
        xs *= (rng.random(ROUNDS) / np.linalg.norm(xs, axis=1))[:, None]
        rs = np.floor(10.0 ** rng.uniform(0.0, 3.0, ROUNDS))
        trace = force(GLBOMD(dim=3, link=Poisson(), norm_bound=1.0), xs, rs)
        assert np.mean(np.linalg.norm(trace["theta"], axis=1) > 1.0 - 1e-9) > 0.2
        expected = reference.force(reference.GLBOMD(FAMILIES["poisson"], 3, 1.0), xs, rs)
        np.testing.assert_allclose(trace["theta"], expected["theta"], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(trace["radius"][1:], expected["beta"][:-1], rtol=1e-12)


class TestKnownNumbers:
    def test_logistic_by_hand(self):
        trace = force(GLBOMD(dim=2, norm_bound=3.0, delta=0.05), [[0.6, 0.8], [1.0, 0.0]], [1.0, 0.0])
        np.testing.assert_allclose(trace["radius"], [15.8639358200, 16.4891988498], rtol=1e-11)
        np.testing.assert_allclose(trace["theta"][0], np.array([0.6, 0.8]) * 2.0 / 3.0, rtol=1e-14)
        np.testing.assert_allclose(trace["theta"][1], [-0.38869682, 0.57292364], atol=1e-8)
        H = np.linalg.inv(trace["inverse"])
        off = 0.10759554715258973
        np.testing.assert_allclose(H[0], [[2.0806966603644423, off], [off, 2.1434607295367862]], rtol=1e-13)
        np.testing.assert_allclose(H[1], [[2.321486621827698, off], [off, 2.1434607295367862]], rtol=1e-13)

    def test_poisson_with_active_projections(self):
        """Rescaling to the sphere instead of projecting in the H norm fails the second and third round."""
        trace = force(
            GLBOMD(dim=2, link=Poisson(), norm_bound=1.0), [[0.6, 0.8], [1.0, 0.0], [0.0, 0.5]], [7.0, 7.0, 7.0]
        )
        theta = [[0.6, 0.8], [0.9799883367605129, 0.19905491657671617], [0.4750813531508545, 0.8799418775625768]]
        np.testing.assert_allclose(trace["theta"], theta, rtol=1e-12)
        H = np.linalg.inv(trace["inverse"])
        first = [[2.978581458245256, 1.3047752776603416], [1.3047752776603416, 3.7397003702137894]]
        np.testing.assert_allclose(H[0], first, rtol=1e-12)
        np.testing.assert_allclose([H[1][0, 0], H[2][1, 1]], [5.643006624164645, 4.127865894114522], rtol=1e-12)

    @pytest.mark.parametrize(
        ("radius", "arms", "regret", "theta", "beta"),
        [
            ("theory", "242013131132", 1.85624145, [-0.5831444113, 0.5530129841, -1.3704338708], 23.04818071),
            ("data", "242103432132", 4.10783686, [-0.1893954695, 0.8604061775, -0.9445889824], 11.92254750),
        ],
    )
    def test_logistic_trace(self, radius, arms, regret, theta, beta):
        star, X, rng = reference.time_varying(7, 3, 5, 12, 3.0)
        np.testing.assert_allclose(star, [0.0091017939, 2.2103913308, -2.0283213064], atol=1e-10)
        R = reference.rewards("bernoulli", rng, X @ star)
        trace = play(GLBOMD(dim=3, norm_bound=3.0, delta=0.05, radius_rule=radius), X, R)
        assert "".join(map(str, trace["index"])) == arms
        means = FAMILIES["bernoulli"].mu(X @ star)
        assert np.sum(means.max(axis=1) - means[np.arange(12), trace["index"]]) == pytest.approx(regret, abs=1e-8)
        np.testing.assert_allclose(trace["theta"][-1], theta, atol=1e-10)
        assert trace["radius"][-1] == pytest.approx(beta, abs=1e-8)

    @pytest.mark.slow
    def test_gaussian_trace(self):
        star, X, rng = reference.time_varying(7, 3, 5, 12, 2.0)
        R = reference.rewards("gaussian", rng, X @ star)
        trace = play(GLBOMD(dim=3, link=Gaussian(), norm_bound=2.0, delta=0.05), X, R)
        assert "".join(map(str, trace["index"])) == "242323131102"
        np.testing.assert_allclose(trace["theta"][-1], [-0.3734905723, 0.2103435702, -0.8815197956], atol=1e-10)
        assert trace["radius"][-1] == pytest.approx(9.76923724, abs=1e-8)

    @pytest.mark.parametrize(
        ("link", "ridge", "first", "last"),
        [
            (Gaussian(), 2.0, 10.5333, 17.8382),
            (Bernoulli(), 280.0, 102.1621, 105.1755),
            (Poisson(), 1446.1587, 228.9651, 232.8519),
        ],
    )
    def test_theory_preset(self, link, ridge, first, last):
        algorithm = GLBOMD.theory(dim=5, link=link, norm_bound=3.0, delta=0.05)
        assert float(algorithm.ridge) == pytest.approx(ridge, abs=1e-4)
        state = algorithm.init(KEY)
        assert float(algorithm.radius(0, state)) == pytest.approx(first, abs=1e-4)
        assert float(algorithm.radius(2999, state)) == pytest.approx(last, abs=1e-4)

    def test_theory_preset_for_an_unsigned_bound(self):
        """lambda is 2 (3 eta S C_mu) with eta = 1 + S, and C_mu = 1/4 is the slope at 0."""
        assert float(GLBOMD.theory(dim=2, norm_bound=np.uint8(100)).ridge) == pytest.approx(15_150.0)

    @pytest.mark.slow
    def test_gaussian_without_projection_is_ridge_regression(self):
        _, X, R = fresh("gaussian", 11, 3, 5)
        xs, rs = X[:, 0], R[:, 0]
        trace = force(GLBOMD(dim=3, link=LINKS["gaussian"], norm_bound=50.0, ridge=1.7), xs, rs)
        for t in (0, 4, 60, ROUNDS - 1):
            V = 1.7 * np.eye(3) + xs[: t + 1].T @ xs[: t + 1] / 0.5
            np.testing.assert_allclose(
                trace["theta"][t], np.linalg.solve(V, xs[: t + 1].T @ rs[: t + 1] / 0.5), atol=1e-13
            )


class TestProperties:
    @pytest.mark.quick_cases("poisson")
    @pytest.mark.parametrize("name", LINKS)
    def test_lemma_4(self, name):
        """Equation 11 on every trace: any lambda, adversarial rewards, any theta* in the ball."""
        family, link, rng = FAMILIES[name], LINKS[name], np.random.default_rng(4)
        slack = []
        for _ in range(12):
            S, lam = rng.uniform(0.3, 2.5), 10.0 ** rng.uniform(-2.0, 2.0)
            xs = rng.normal(size=(ROUNDS, 3))
            xs *= (rng.random(ROUNDS) / np.linalg.norm(xs, axis=1))[:, None]
            star = rng.normal(size=3)
            star *= S * rng.random() / np.linalg.norm(star)
            rs = {
                "bernoulli": (xs @ star < rng.normal(size=ROUNDS)).astype(float),  # mostly the opposite of the truth
                "poisson": np.floor(20.0 * rng.random(ROUNDS) ** 3),
                "gaussian": 5.0 * np.sign(rng.normal(size=ROUNDS)),
            }[name]
            trace = force(GLBOMD(dim=3, link=link, norm_bound=S, ridge=lam), xs, rs)
            slack.append(np.max(lemma_4(family, S, lam, xs, rs, star, trace["theta"])))
        assert max(slack) <= 1e-9

    def test_theta_stays_in_the_ball_and_beta_grows(self):
        for seed in range(5):
            _, X, R = fresh("bernoulli", 40 + seed, 3, 5)
            trace = play(GLBOMD(dim=3, norm_bound=0.5, ridge=0.1), X, R)
            norms = np.linalg.norm(trace["theta"], axis=1)
            assert norms.max() <= 0.5 * (1.0 + 1e-12)
            assert np.sum(norms > 0.5 - 1e-9) > 5  # the projection was active
            assert np.all(np.diff(trace["radius"]) > 0.0)

    @pytest.mark.quick_cases("theory-poisson", "data-poisson")
    @pytest.mark.parametrize("name", LINKS)
    @pytest.mark.parametrize("radius", ["theory", "data"])
    def test_curvature_grows_by_one_bounded_direction(self, name, radius):
        """H_t+1 - H_t is positive semidefinite, of rank one along x, with trace at most C_mu / g."""
        _, X, R = fresh(name, 12, 3, 5)
        largest = FAMILIES[name].largest(BOUNDS[name]) / FAMILIES[name].g
        trace = play(GLBOMD(dim=3, link=LINKS[name], norm_bound=BOUNDS[name], radius_rule=radius), X, R)
        H = np.linalg.inv(np.concatenate([np.eye(3)[None] / 3.0, trace["inverse"]]))
        values, vectors = np.linalg.eigh(np.diff(H, axis=0))
        scale = 1e-11 * np.linalg.norm(H[-1])
        assert np.abs(values[:, :2]).max() < scale and values[:, 2].min() > -scale
        assert values[:, 2].max() <= largest * (1.0 + 1e-9) and values[:, 2].max() > 0.2 * largest
        played = X[np.arange(ROUNDS), trace["index"]]
        along = np.abs(np.einsum("td,td->t", played, vectors[:, :, 2])) / np.linalg.norm(played, axis=1)
        assert np.all(along[values[:, 2] > 1e3 * scale] > 1.0 - 1e-6)

    def test_optimism_and_the_best_score(self):
        """The arm played has the best of the scores x'theta_t + beta_t ||x||, none of which is below x'theta_t."""
        _, X, R = fresh("poisson", 13, 3, 5)
        trace = play(GLBOMD(dim=3, link=Poisson(), norm_bound=1.0), X, R)
        theta = np.vstack([np.zeros(3), trace["theta"][:-1]])
        inverse = np.concatenate([np.eye(3)[None] / 3.0, trace["inverse"][:-1]])
        greedy = np.einsum("tkd,td->tk", X, theta)
        scores = greedy + trace["radius"][:, None] * np.sqrt(np.einsum("tkd,tde,tke->tk", X, inverse, X))
        chosen = scores[np.arange(ROUNDS), trace["index"]]
        assert np.all(chosen >= scores.max(axis=1) - 1e-9) and np.all(chosen >= greedy.max(axis=1) - 1e-9)
        assert np.any(trace["index"] != greedy.argmax(axis=1))

    def test_rotation_and_permutation(self):
        _, X, R = fresh("poisson", 5, 3, 5)
        algorithm = GLBOMD(dim=3, link=Poisson(), norm_bound=1.0)
        base = play(algorithm, X, R)
        Q = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
        turned = play(algorithm, X @ Q.T, R)
        np.testing.assert_array_equal(turned["index"], base["index"])
        np.testing.assert_allclose(turned["theta"], base["theta"] @ Q.T, atol=1e-10)
        order = np.array([3, 0, 4, 1, 2])
        permuted = play(algorithm, X[:, order], R[:, order])
        np.testing.assert_array_equal(order[permuted["index"]], base["index"])

    def test_duplicated_arms_go_to_the_first(self):
        _, X, R = fresh("bernoulli", 6, 3, 5)
        X[:, 3:], R[:, 3:] = X[:, :2], R[:, :2]
        assert set(play(GLBOMD(dim=3, norm_bound=3.0), X, R)["index"]) == {0, 1, 2}

    def test_gaussian_scaling(self):
        """(r, sigma, S) -> c (r, sigma, S) with lambda / c^2 plays the same arms and scales theta."""
        _, X, R = fresh("gaussian", 8, 3, 5)
        base = play(GLBOMD(dim=3, link=Gaussian(variance=0.5), norm_bound=2.0, ridge=3.0), X, R)
        c = 7.0
        scaled = GLBOMD(dim=3, link=Gaussian(variance=0.5 * c**2), norm_bound=2.0 * c, ridge=3.0 / c**2)
        trace = play(scaled, X, c * R)
        np.testing.assert_array_equal(trace["index"], base["index"])
        np.testing.assert_allclose(trace["theta"], c * base["theta"], rtol=1e-10, atol=1e-12)

    def test_a_link_of_your_own(self):
        """Learner and environment with a family that the library does not know."""
        family = reference.Family(
            lambda z: 4.0 * np.logaddexp(0.0, z),
            lambda z: 4.0 / (1.0 + np.exp(-z)),
            lambda z: 2.0 / (1.0 + np.cosh(z)),
            1.0,
            1.0,
            lambda S: 1.0,
        )
        algorithm = GLBOMD(dim=3, link=Binomial(n=4.0), norm_bound=2.0)
        validate(algorithm)
        star, X, rng = reference.time_varying(9, 3, 5, ROUNDS, 2.0)
        R = rng.binomial(4, 1.0 / (1.0 + np.exp(-X @ star))).astype(float)
        agree(play(algorithm, X, R), X, R, reference.GLBOMD(family, 3, 2.0))

    @pytest.mark.slow
    def test_a_link_of_your_own_in_a_run(self):
        environment = GeneralizedLinear.fixed(link=Binomial(n=4.0), norm_bound=2.0)
        algorithm = GLBOMD(dim=2, link=Binomial(n=4.0), norm_bound=2.0)
        result = simulation.simulate(algorithm, environment, 1000, 32, record_points=2, progress=False)
        error = result.get("estimation_error")[0]
        assert np.all(error.mean(axis=0) < [0.8, 0.6]) and not result.failures("regret").any()


class TestCentre:
    """The exponential link: 0 is outside its domain, so the ball of parameters has a centre."""

    ARMS = np.stack([np.ones(8), np.cos(np.pi * np.arange(8) / 4), np.sin(np.pi * np.arange(8) / 4)], 1) / np.sqrt(2.0)
    CENTRE = np.array([-3.0, 0.0, 0.0])
    MARGIN = 3.0 / np.sqrt(2.0) - 1.0

    def learner(self, **changes):
        fields = {"dim": 3, "link": Exponential(margin=self.MARGIN), "ridge": 1.0, "radius_rule": "data"}
        return GLBOMD(**fields | {"center": self.CENTRE} | changes)

    @pytest.mark.quick_cases("0.05")
    @pytest.mark.parametrize("ridge", [1.0, 0.05])
    def test_matches_the_reference(self, ridge):
        rng = np.random.default_rng(2)
        u = rng.normal(size=3)
        star = self.CENTRE + u / np.linalg.norm(u)
        X = np.tile(self.ARMS, (ROUNDS, 1, 1)) * rng.uniform(0.9, 1.0, (ROUNDS, 8, 1))
        R = rng.exponential(-1.0 / (X @ star))
        other = glm_one_pass.CentredGLBOMD(glm_one_pass.exponential(self.MARGIN), self.CENTRE, 1.0, ridge)
        trace = play(self.learner(ridge=ridge), X, R)
        agree(trace, X, R, other)
        if ridge < 1.0:
            assert np.linalg.norm(trace["theta"] - self.CENTRE, axis=1).max() > 1.0 - 1e-9  # a projection was active

    @pytest.mark.slow
    def test_a_centre_at_zero_changes_nothing(self):
        _, X, R = fresh("poisson", 5, 3, 5)
        fields = {"dim": 3, "link": Poisson(), "norm_bound": 1.0}
        plain, centred = play(GLBOMD(**fields), X, R), play(GLBOMD(**fields, center=np.zeros(3)), X, R)
        for name in plain:
            np.testing.assert_allclose(plain[name], centred[name], rtol=1e-12, atol=1e-13)

    @pytest.mark.slow
    def test_lemma_4_by_translation(self):
        """C_mu = 1 / margin^2, R = 2 / margin; rewards have nothing to do with theta*."""
        rng, family = np.random.default_rng(5), glm_one_pass.exponential(self.MARGIN)
        for _ in range(12):
            lam, u = 10.0 ** rng.uniform(-2.0, 1.0), rng.normal(size=3)
            star = self.CENTRE + u * rng.random() / np.linalg.norm(u)
            xs, rs = self.ARMS[rng.integers(8, size=ROUNDS)], rng.exponential(rng.choice([0.1, 3.0]), ROUNDS)
            trace = force(self.learner(ridge=lam), xs, rs)
            assert np.max(lemma_4(family, 1.0, lam, xs, rs, star, trace["theta"], self.CENTRE)) <= 1e-9

    @pytest.mark.slow
    def test_learns_and_covers(self):
        """About half the regret of uniform play after 2000 rounds (paired), the estimate close, every set valid."""
        environment = GeneralizedLinear.exponential()
        learners = {"glb": self.learner(), "uniform": Uniform(dim=3)}
        glb = simulation.simulate(
            learners["glb"], environment, 2000, 64, record_points=1, meters=[glm_meters.coverage()], progress=False
        )
        uniform = simulation.simulate(learners["uniform"], environment, 2000, 64, record_points=1, progress=False)
        assert np.mean(glb.final("estimation_error")) < 0.25  # of a diameter of 2
        assert glb.final("error_ratio").max() < 1.0
        ratio = glb.final("regret") / uniform.final("regret")
        assert np.mean(ratio) + 5.0 * np.std(ratio) / 8.0 < 0.8

    def test_refused(self):
        with pytest.raises(InputError, match=r'GLBOMD.radius_rule must be "data" with Exponential'):
            validate(self.learner(radius_rule="theory"))
        with pytest.raises(InputError, match=r"GLBOMD.center must have shape \(3,\), got \(2,\)"):
            validate(self.learner(center=np.zeros(2)))
        validate(self.learner())

    def test_a_list_is_a_centre(self):
        """As in a sweep file; the radius of the theory needs the norm of the centre."""
        ridges = [GLBOMD.theory(dim=3, center=center).ridge for center in ([-3.0, 0.0, 4.0], self.CENTRE * 5 / 3)]
        np.testing.assert_allclose(*ridges)
        with pytest.raises(InputError, match=r'GLBOMD.radius_rule must be "data" with Exponential'):
            validate(self.learner(radius_rule="theory", center=[-3.0, 0.0, 0.0]))


def test_state_of_one_round():
    """O(d^2) numbers, which neither t nor T enters: theta, the factors of H^{-1}, and what the radius is made of."""
    state = GLBOMD(dim=3, norm_bound=3.0).init(KEY)
    assert sum(leaf.size for leaf in jax.tree.leaves(state)) == 3 + 12 + 1 + 1


class TestInput:
    def test_unknown_radius(self):
        with pytest.raises(InputError, match=r"unknown GLBOMD.radius_rule 'dta'; did you mean 'data'"):
            validate(GLBOMD(dim=2, radius_rule="dta"))

    def test_not_a_link(self):
        with pytest.raises(InputError, match=r"GLBOMD.link must be an object such as Bernoulli\(\), got 0.5"):
            validate(GLBOMD(dim=2, link=0.5))

    def test_presets_keep_what_is_given(self):
        algorithm = GLBOMD.experiments(dim=4, norm_bound=2.0, radius_rule="data")
        assert (algorithm.ridge, algorithm.norm_bound, algorithm.radius_rule) == (4.0, 2.0, "data")
        validate(algorithm)
        validate(GLBOMD.theory(dim=2, link=Gaussian(), step_size=1.5))

    @pytest.mark.parametrize("preset", ["theory", "experiments", "practical"])
    def test_presets_keep_a_given_ridge(self, preset):
        given = getattr(GLBOMD, preset)(dim=2, norm_bound=3.0, ridge=5.0)
        assert given.ridge == given.lam == 5.0
        derived = getattr(GLBOMD, preset)(dim=2, norm_bound=3.0)
        assert float(derived.ridge) == (112.0 if preset == "theory" else 2.0)

    @pytest.mark.parametrize("radius", ["theory", "data"])
    def test_a_link_that_does_not_exist_at_the_first_estimate(self, radius):
        with pytest.raises(InputError, match="GLBOMD without a center needs a link that is defined around 0, but Expo"):
            validate(GLBOMD(dim=2, link=Exponential(), radius_rule=radius))
