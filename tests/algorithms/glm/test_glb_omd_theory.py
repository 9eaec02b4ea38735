"""GLB-OMD's theory along runs: the meters of Lemma 4 and of coverage, coverage itself, and the paper's setting."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits import simulation
from jaxbandits.algorithms.glm.glb_omd import GLBOMD
from jaxbandits.algorithms.linear.uniform import Uniform
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import as_arrays
from jaxbandits.diagnostics import glm as glm_meters
from jaxbandits.engine import meters
from jaxbandits.environments.glm.generalized_linear import GeneralizedLinear
from jaxbandits.environments.operators.batched import with_batches
from jaxbandits.environments.operators.delayed import with_delay
from jaxbandits.estimation.links import Bernoulli, Gaussian, Poisson
from jaxbandits.numerics import inverse_factors
from jaxbandits.types import ArmDecision, Reward
from tests.algorithms.glm.replay_glm import ROUNDS, lemma_4
from tests.reference import glb_omd as reference

KEY = jax.random.key(0)
LINKS = {"gaussian": Gaussian(variance=0.5), "bernoulli": Bernoulli(), "poisson": Poisson()}
FAMILIES = reference.FAMILIES | {"gaussian": reference.gaussian(0.5)}
BOUNDS = {"gaussian": 2.0, "bernoulli": 3.0, "poisson": 1.0}


def test_slack_meter_is_equation_11():
    """Summed over the rounds, the meter is the two sides of the inequality computed from the estimates alone."""
    star, X, rng = reference.time_varying(12, 3, 5, ROUNDS, 1.0)
    R = reference.rewards("poisson", rng, X @ star)
    star, xs, rs = 0.8 * star, X[:40, 0], R[:40, 0]
    algorithm, meter = as_arrays(GLBOMD(dim=3, link=Poisson(), norm_bound=1.0, ridge=0.7)), glm_meters.lemma_4_slack()
    env_state = SimpleNamespace(theta=jnp.asarray(star))

    def round_(state, row):
        t, x, r = row
        decision, feedback = ArmDecision(jnp.int32(0), x), Reward(r)
        after = algorithm.update(KEY, t, state, None, decision, feedback)
        seen = meters.Round(t, algorithm, None, env_state, state, after, None, decision, feedback, None)
        return after, (meter.measure(seen), after.theta)

    rows = (jnp.arange(40, dtype=jnp.int32), jnp.asarray(xs), jnp.asarray(rs))
    slack, thetas = jax.jit(lambda rows: jax.lax.scan(round_, algorithm.init(KEY), rows)[1])(rows)
    expected = -lemma_4(FAMILIES["poisson"], 1.0, 0.7, xs, rs, star, np.asarray(thetas))
    np.testing.assert_allclose(np.cumsum(slack), expected, rtol=1e-10)


@pytest.mark.parametrize("late", [lambda env: with_delay(env, 3), lambda env: with_batches(env, 3)])
def test_slack_is_not_measured_with_late_feedback(late):
    """The estimate then moves by the arm and the reward of another round than those of the meter's round."""
    environment, algorithm = late(GeneralizedLinear(dim=2, n_arms=5)), GLBOMD(dim=2, norm_bound=1.0)
    assert glm_meters.lemma_4_slack(jnp.array(0.25)) is glm_meters.lemma_4_slack(0.25)
    with pytest.raises(InputError, match="lemma_4_slack compares the states before and after a round"):
        simulation.simulate(algorithm, environment, 9, 1, meters=[glm_meters.lemma_4_slack()], progress=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bernoulli", "poisson"])
def test_meters_along_a_run(name):
    """Lemma 4's slack stays positive on a misspecified run; the right model is covered."""
    S = BOUNDS[name]
    wrong = GeneralizedLinear(dim=2, n_arms=5, fresh_arms=True, norm_bound=S, link=Gaussian(variance=4.0))
    algorithm = GLBOMD(dim=2, link=LINKS[name], norm_bound=S, ridge=0.5)
    extra = [glm_meters.lemma_4_slack(), glm_meters.kappa(), glm_meters.optimal_slope()]
    result = simulation.simulate(algorithm, wrong, 200, 32, record_points=8, meters=extra, progress=False)
    assert result.get("lemma_4_slack").min() > 0.0
    np.testing.assert_allclose(result.get("kappa"), 1.0)  # of the environment's link: mu' = 1
    np.testing.assert_allclose(result.final("optimal_slope"), 200.0)
    right = GeneralizedLinear(dim=2, n_arms=5, fresh_arms=True, norm_bound=S, link=LINKS[name])
    result = simulation.simulate(
        algorithm, right, 200, 32, record_points=2, meters=[glm_meters.coverage(), glm_meters.kappa()], progress=False
    )
    assert result.final("error_ratio").min() > 0.0 and result.final("error_ratio").max() < 1.0
    largest = 1.0 / LINKS[name].slope_bounds(-S, S)[0]
    assert np.all(result.final("kappa") <= largest) and np.all(result.final("kappa") > 0.6 * largest)


@jax.jit
def error_to_radius(algorithm, environment, keys):
    """The largest ||theta_t - theta*||_{H_t} / beta_t of each run, over 300 rounds."""

    def run(key):
        for_env, for_rounds = jax.random.split(key)
        env, alg = environment.init(for_env), algorithm.init(key)

        def round_(carry, t):
            env, alg = carry
            for_obs, for_step = jax.random.split(jax.random.fold_in(for_rounds, t))
            error = alg.theta - env.theta
            ratio = jnp.sqrt(error @ jnp.linalg.solve(inverse_factors.to_dense(alg.inverse), error))
            ratio /= algorithm.radius(t, alg)
            obs = environment.observe(for_obs, t, env)
            decision = algorithm.select(key, t, alg, obs)
            env, feedback, _ = environment.step(for_step, t, env, obs, decision)
            return (env, algorithm.update(key, t, alg, obs, decision, feedback)), ratio

        return jnp.max(jax.lax.scan(round_, (env, alg), jnp.arange(300, dtype=jnp.int32))[1])

    return jax.vmap(run)(keys)


@pytest.mark.slow
@pytest.mark.parametrize("name", LINKS)
@pytest.mark.parametrize("radius", ["theory", "data"])
def test_coverage(name, radius):
    """theta* is inside every set; a typical ratio that is far below 1 but not tiny says that the size is right.

    Medians of the NumPy loop over 40 runs: 0.18 (Poisson, ridge 2) to 0.50, largest 0.70.
    """
    link, S = LINKS[name], BOUNDS[name]
    environment = as_arrays(GeneralizedLinear(dim=2, n_arms=10, fresh_arms=True, link=link, norm_bound=S))
    keys = jax.random.split(jax.random.key(1), 60)
    for algorithm in (
        GLBOMD.experiments(dim=2, link=link, norm_bound=S, radius_rule=radius),
        GLBOMD.theory(dim=2, link=link, norm_bound=S, radius_rule=radius),
    ):
        ratio = np.asarray(error_to_radius(as_arrays(algorithm), environment, keys))
        assert ratio.max() < 0.9
        assert 0.12 < np.median(ratio) < 0.6


@pytest.mark.slow
def test_regret_of_the_paper_s_setting():
    """Logistic, d = 2, 20 fixed arms, T = 3000: far below uniform play, not growing with S, less by the data radius.

    With S = 7 a few trials in a hundred stay near uniform play, hence the many seeds and the sign test.
    """
    finals = {}
    for S in (3.0, 7.0):
        learners = {
            "uniform": Uniform(dim=2),
            "theory": GLBOMD.experiments(dim=2, norm_bound=S),
            "data": GLBOMD.experiments(dim=2, norm_bound=S, radius_rule="data"),
        }
        environment = GeneralizedLinear(dim=2, n_arms=20, norm_bound=S)
        result = simulation.compare(learners, environment, 3000, 512, record_points=1, progress=False)
        finals[S] = {name: result.final("regret", name)[0] for name in learners}
    for S, final in finals.items():
        assert final["theory"].mean() < 0.1 * final["uniform"].mean(), S
        assert np.mean(final["data"] < final["theory"]) > 0.5 + 5.0 * 0.5 / np.sqrt(512), S
    assert finals[7.0]["theory"].mean() < 2.0 * finals[3.0]["theory"].mean()
