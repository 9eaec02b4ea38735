"""The generalised linear bandit: laws of the instance, regret in mean space, rewards by the link, forms of the arms."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxbandits.algorithms.linear.uniform import Uniform
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import as_arrays, param, pytree, validate
from jaxbandits.environments.glm.generalized_linear import GeneralizedLinear
from jaxbandits.environments.operators.drifting import Drifting, Given
from jaxbandits.estimation.links import Bernoulli, Exponential, Gaussian, Poisson
from jaxbandits.numerics import rng
from jaxbandits.simulation import simulate
from jaxbandits.types import ArmDecision
from tests import compiled

ARMS = np.array([[0.6, 0.8], [1.0, 0.0], [0.0, -0.5], [-0.3, 0.4]])
THETA = np.array([0.9, -1.2])
LINKS = {"gaussian": Gaussian(variance=0.5), "bernoulli": Bernoulli(), "poisson": Poisson()}
MEANS = {"gaussian": lambda z: z, "bernoulli": lambda z: 1.0 / (1.0 + np.exp(-z)), "poisson": np.exp}


@jax.jit
def _kappa(env, state, obs):
    return env.kappa(state, obs)


def make_environment(link="bernoulli"):
    return as_arrays(GeneralizedLinear(dim=2, n_arms=4, link=LINKS[link], arms=ARMS, theta=THETA))


def decide(env, obs, k):
    del env
    return ArmDecision(jnp.int32(k), obs.arms[k])


class TestInstance:
    @pytest.mark.slow_after_first
    @pytest.mark.parametrize("dim", [3, 1, 2, 4, 7])
    def test_arms_are_uniform_in_the_ball(self, dim):
        n = 20_000
        x = np.asarray(jax.jit(rng.uniform_ball, static_argnums=(1, 2))(jax.random.key(dim), n, dim))
        assert x.shape == (n, dim)
        norms = np.linalg.norm(x, axis=1)
        assert stats.kstest(norms**dim, stats.uniform.cdf).pvalue > 1e-4  # P(norm <= r) = r^d
        # x_1^2 is Beta(1/2, (d + 1)/2), in every direction.
        for direction in np.vstack([np.eye(dim), np.ones(dim) / np.sqrt(dim)]):
            projection = x @ direction
            assert stats.kstest(projection**2, stats.beta(0.5, 0.5 * (dim + 1)).cdf).pvalue > 1e-4
            assert abs(np.mean(np.sign(projection))) < 5.0 / np.sqrt(n)
        for i in range(1, dim):  # pairs of coordinates are independent in sign
            assert abs(np.mean(np.sign(x[:, i] * x[:, i - 1]))) < 5.0 / np.sqrt(n)

    def test_theta_is_uniform_on_the_sphere(self):
        env = as_arrays(GeneralizedLinear(dim=3, n_arms=2, norm_bound=2.5))
        theta = jax.jit(jax.vmap(env.init))(jax.random.split(jax.random.key(0), 20_000)).theta
        np.testing.assert_allclose(np.linalg.norm(theta, axis=1), 2.5, rtol=1e-12)
        for i in range(3):  # Archimedes: a coordinate of a uniform point of the sphere is uniform
            assert stats.kstest(np.asarray(theta)[:, i], stats.uniform(-2.5, 5.0).cdf).pvalue > 1e-4

    @pytest.mark.quick_cases("2-5-False", "2-5-True")
    @pytest.mark.parametrize(
        ("dim", "n_arms", "fresh"), [(2, 5, False), (2, 5, True), (10, 100, False), (20, 5, False)]
    )
    def test_arms_lie_in_the_ball(self, dim, n_arms, fresh):
        env = as_arrays(GeneralizedLinear(dim=dim, n_arms=n_arms, fresh_arms=fresh))
        state = compiled.init(env, jax.random.key(1))
        arms = compiled.observe(env, jax.random.key(2), jnp.int32(0), state).arms
        dense = np.asarray(arms)
        assert dense.shape == (n_arms, dim)
        assert np.all(np.linalg.norm(dense, axis=1) <= 1.0)
        if not fresh:
            assert float(state.best) == pytest.approx(float(np.max(dense @ state.theta)), rel=1e-12)

    def test_trials_differ_and_keys_repeat(self):
        env = as_arrays(GeneralizedLinear(dim=3, n_arms=4))
        one, same, other = (compiled.init(env, jax.random.key(k)) for k in (0, 0, 1))
        np.testing.assert_array_equal(one.arms, same.arms)
        assert not np.any(np.isin(one.arms, other.arms))
        assert not np.any(np.isin(one.theta, other.theta))


class TestRounds:
    @pytest.mark.quick_cases("poisson")
    @pytest.mark.parametrize("name", LINKS)
    def test_regret_and_rewards(self, name):
        env = make_environment(name)
        state = compiled.init(env, jax.random.key(0))
        obs = compiled.observe(env, jax.random.key(1), jnp.int32(0), state)
        np.testing.assert_array_equal(obs.arms, ARMS)
        means = MEANS[name](ARMS @ THETA)
        keys, n = jax.random.split(jax.random.key(2), 50_000), 50_000
        step = jax.jit(
            jax.vmap(lambda key, x: compiled.step(env, key, jnp.int32(0), state, obs, ArmDecision(0, x))[1:], (0, None))
        )
        for k in range(4):
            feedback, outcome = step(keys, decide(env, obs, k).x)
            np.testing.assert_allclose(outcome.regret, means.max() - means[k], atol=1e-12)
            rewards = np.asarray(feedback.reward)
            assert abs(rewards.mean() - means[k]) < 5.0 * rewards.std() / np.sqrt(n)

    def test_fresh_arms_change_and_so_does_the_best(self):
        env = as_arrays(GeneralizedLinear(dim=2, n_arms=6, fresh_arms=True, link=Poisson(), norm_bound=2.0))
        state = compiled.init(env, jax.random.key(0))
        theta = np.asarray(state.theta)
        seen = []
        for t in range(3):
            obs = compiled.observe(env, jax.random.fold_in(jax.random.key(1), t), jnp.int32(t), state)
            arms = np.asarray(obs.arms)
            z = arms @ theta
            for k in (0, int(np.argmax(z))):
                _, _, outcome = compiled.step(env, jax.random.key(3), jnp.int32(t), state, obs, decide(env, obs, k))
                np.testing.assert_allclose(outcome.regret, np.exp(z.max()) - np.exp(z[k]), atol=1e-12)
            seen.append(arms)
        assert not np.any(np.isin(seen[0], seen[1])) and not np.any(np.isin(seen[1], seen[2]))

    def test_a_table_gives_the_arms_of_every_round(self):
        """Against NumPy's row t: arms, best arm and regret of two rounds, in every trial."""
        table = np.random.default_rng(0).uniform(-0.5, 0.5, (7, 4, 2))
        env = as_arrays(GeneralizedLinear(dim=2, n_arms=4, fresh_arms=True, table=table, theta=THETA))
        for seed, t in ((0, 0), (1, 5)):
            state = compiled.init(env, jax.random.key(seed))
            obs = compiled.observe(env, jax.random.key(seed), jnp.int32(t), state)
            np.testing.assert_array_equal(obs.arms, table[t])
            means = MEANS["bernoulli"](table[t] @ THETA)
            _, _, outcome = compiled.step(env, jax.random.key(3), jnp.int32(t), state, obs, decide(env, obs, 2))
            np.testing.assert_allclose(outcome.regret, means.max() - means[2], atol=1e-12)

    @pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int32])
    def test_a_table_of_integers_gives_arms_of_floats(self, kind):
        """Learners sum products of features, and 100^2 is 16 in 8 bits."""
        table = np.full((3, 4, 2), 100, kind)
        env = as_arrays(GeneralizedLinear(dim=2, n_arms=4, fresh_arms=True, table=table, theta=THETA))
        arms = compiled.observe(env, jax.random.key(0), jnp.int32(1), compiled.init(env, jax.random.key(0))).arms
        np.testing.assert_array_equal(arms[0] * arms[1], [10_000.0, 10_000.0])

    def test_regret_is_missing_where_the_link_has_no_mean(self):
        """After a drift of theta from negative to positive x'theta, of one arm at first and then of both."""
        arms, path = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[-1.0, -2.0], [-1.0, 0.5], [0.5, 0.5]])
        inside = GeneralizedLinear(dim=2, n_arms=2, arms=arms, theta=path[0], link=Exponential(margin=0.5))
        env = Drifting(environment=inside, drift=Given(path=path))
        result = simulate(Uniform(dim=2), env, 3, 8, record_points=3, progress=False)
        regret = result["Uniform"].values["regret"]
        assert np.isin(regret[..., 0], [0.0, 0.5]).all() and np.isnan(regret[..., 1:]).all()

    def test_fixed_arms_do_not_change(self):
        env = as_arrays(GeneralizedLinear(dim=2, n_arms=6))
        state = compiled.init(env, jax.random.key(0))
        first, second = (compiled.observe(env, jax.random.key(k), jnp.int32(k), state).arms for k in (0, 1))
        np.testing.assert_array_equal(first, second)

    @pytest.mark.quick_cases("poisson")
    @pytest.mark.parametrize("name", LINKS)
    def test_kappa_is_at_the_true_parameter_over_the_arms(self, name):
        env = make_environment(name)
        state = compiled.init(env, jax.random.key(0))
        obs = compiled.observe(env, jax.random.key(1), jnp.int32(0), state)
        z = ARMS @ THETA
        slope = {"gaussian": np.ones(4), "bernoulli": 1.0 / (2.0 + 2.0 * np.cosh(z)), "poisson": np.exp(z)}[name]
        assert float(_kappa(env, state, obs)) == pytest.approx(1.0 / slope.min(), rel=1e-12)
        fresh = as_arrays(GeneralizedLinear.tv(link=LINKS[name]))
        state = compiled.init(fresh, jax.random.key(0))
        obs = compiled.observe(fresh, jax.random.key(1), jnp.int32(0), state)
        low, high = LINKS[name].slope_bounds(-3.0, 3.0)
        assert 1.0 / high <= float(_kappa(fresh, state, obs)) <= 1.0 / low

    @pytest.mark.slow
    def test_presets(self):
        for env, shape, fresh in (
            (GeneralizedLinear.tv(), (20, 5), True),
            (GeneralizedLinear.fixed(), (20, 2), False),
            (GeneralizedLinear.exponential(), (8, 3), False),
            (GeneralizedLinear.tv(n_arms=7, norm_bound=5.0), (7, 5), True),
        ):
            validate(env)
            env = as_arrays(env)
            state = compiled.init(env, jax.random.key(0))
            arms = np.asarray(compiled.observe(env, jax.random.key(1), jnp.int32(0), state).arms)
            assert arms.shape == shape and env.fresh_arms == fresh

    @pytest.mark.slow
    def test_exponential_preset_is_inside_the_domain(self):
        """theta* at distance 1 from the centre; every arm keeps x'theta below -margin over the whole ball."""
        env = as_arrays(GeneralizedLinear.exponential())
        keys = jax.random.split(jax.random.key(0), 500)
        thetas = np.asarray(jax.jit(jax.vmap(env.init))(keys).theta)
        centre = np.array([-3.0, 0.0, 0.0])
        np.testing.assert_allclose(np.linalg.norm(thetas - centre, axis=1), 1.0, rtol=1e-12)
        arms = np.asarray(env.arms)
        np.testing.assert_allclose(np.linalg.norm(arms, axis=1), 1.0)
        assert (thetas @ arms.T).max() <= -float(env.link.margin) + 1e-12
        np.testing.assert_allclose((arms @ centre).max() + 1.0, -float(env.link.margin), rtol=1e-12)
        state = compiled.init(env, keys[0])
        obs = compiled.observe(env, keys[1], jnp.int32(0), state)
        _, feedback, outcome = compiled.step(env, keys[2], jnp.int32(0), state, obs, decide(env, obs, 3))
        assert float(feedback.reward) > 0.0 and float(outcome.regret) >= 0.0

    def test_at_record(self):
        env = make_environment()
        state = compiled.init(env, jax.random.key(0))
        assert env.at_record(state, None) == {}
        record = env.at_record(state, jnp.array([0.9, 0.0]))
        assert float(record["estimation_error"]) == pytest.approx(1.2)


class TestInput:
    @pytest.mark.parametrize(
        ("fields", "message"),
        [
            ({"arms": ARMS[:3]}, r"arms must have shape \(4, 2\), got \(3, 2\)"),
            ({"theta": np.ones(3)}, r"theta must have shape \(2,\), got \(3,\)"),
            ({"arms": ARMS, "fresh_arms": True}, "fresh_arms=True draws new arms in every round"),
            ({"table": ARMS, "fresh_arms": True}, r"table must have shape \(T, 4, 2\), got \(4, 2\)"),
            ({"table": ARMS[None, :3], "fresh_arms": True}, r"table must have shape \(T, 4, 2\), got \(1, 3, 2\)"),
            ({"table": np.empty((0, 4, 2)), "fresh_arms": True}, "table must be a number .*, got an empty array"),
            ({"table": ARMS[None]}, "a table has new arms in every round; set fresh_arms=True"),
            (
                {"arms": np.where(ARMS > 0.9, np.nan, ARMS)},
                r"GeneralizedLinear.arms must lie in \(-inf, inf\), got nan",
            ),
            ({"center": np.ones(3)}, r"center must have shape \(2,\), got \(3,\)"),
            ({"norm_bound": 0.0}, r"norm_bound must lie in \(0, inf\)"),
            ({"link": 3}, "must be an object such as"),
            ({"link": Exponential()}, "link must be defined around 0, but Exponential is not"),
            ({"link": Exponential(), "center": np.ones(2), "theta": np.ones(2)}, "link must be defined around 0"),
            ({"link": Exponential(), "arms": ARMS}, "link must be defined around 0"),
        ],
    )
    def test_refused(self, fields, message):
        with pytest.raises(InputError, match=message):
            validate(GeneralizedLinear(**({"dim": 2, "n_arms": 4} | fields)))

    @pytest.mark.parametrize(
        "fields",
        [
            {"theta": np.array([1.0, 0.0])},
            {"center": np.array([-2.0, -2.0]), "norm_bound": 3.0},
            {"center": np.array([-2.0, -2.0]), "norm_bound": 3.0, "fresh_arms": True, "table": True},
        ],
    )
    def test_parameters_at_which_the_link_has_no_mean_are_refused(self, fields):
        """Otherwise rewards are negative, and regret is a number without a meaning."""
        arms = np.array([[1.0, 0.0], [0.0, 1.0]])
        given = {"table": np.stack([arms, arms])} if fields.get("table") is not None else {"arms": arms}
        made = {"dim": 2, "n_arms": 2, "link": Exponential(margin=0.5)} | fields | given
        with pytest.raises(InputError, match=r"Exponential is not defined, or overflows, at x'theta\* = [01],"):
            validate(GeneralizedLinear(**made))
        validate(GeneralizedLinear(**made | {"link": Gaussian()}))

    def test_a_link_with_swept_fields_meets_no_arm_axis(self):
        """Two points of a field `[2]` and three arms: the fields of a sweep are not compared with the means."""

        @pytree
        class ScaledGaussian(Gaussian):
            factor: Any = param(1.0, "(0, inf)")

            def log_partition(self, z):
                return self.factor * z * z / 2.0

        for factor in (2.0, np.array([2.0, 3.0])):
            validate(
                GeneralizedLinear(dim=2, n_arms=4, link=ScaledGaussian(factor=factor), arms=ARMS, theta=np.ones(2) / 2)
            )

    def test_a_link_that_is_not_defined_around_0_needs_arms_and_a_center(self):
        validate(GeneralizedLinear.exponential())
        validate(GeneralizedLinear(dim=2, n_arms=4, link=Exponential(), arms=np.full((4, 2), 0.5), theta=-np.ones(2)))

    def test_long_arms_are_allowed_with_a_warning(self):
        with pytest.warns(UserWarning, match="an arm has norm 2"):
            validate(GeneralizedLinear(dim=2, n_arms=4, arms=2.0 * ARMS))

        with pytest.warns(UserWarning, match="an arm has norm 2"):
            validate(GeneralizedLinear(dim=2, n_arms=4, fresh_arms=True, table=2.0 * ARMS[None]))

    @pytest.mark.parametrize("wrap", [lambda env: env, lambda env: Drifting(environment=env)], ids=["plain", "inside"])
    def test_a_horizon_beyond_the_table_is_refused(self, wrap):
        env = wrap(GeneralizedLinear(dim=2, n_arms=4, fresh_arms=True, table=np.stack([ARMS] * 3)))
        with pytest.raises(InputError, match=r"^horizon must be at most 3, .*, got 4$"):
            simulate(Uniform(dim=2), env, 4, 2, progress=False)

    def test_given_arms_pass(self):
        validate(make_environment())
