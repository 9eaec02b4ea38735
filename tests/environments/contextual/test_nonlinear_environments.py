"""The wheel, nonlinear arms and sample paths: laws of contexts, means and rewards, and regret by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits import InputError
from jaxbandits.base.pytree import validate
from jaxbandits.contextual import GaussianProcessArms, NonlinearArms, Wheel, models
from jaxbandits.tracing.vmap_last import vmap_last
from jaxbandits.types import ArmDecision
from tests.reference import reward_models as reference

ROUNDS = 4000


def play(environment, arm, key, n=ROUNDS):
    """Observations, rewards and regret of n first rounds of one instance that play one arm."""
    state = environment.init(key)

    @jax.jit
    @jax.vmap
    def round_(k):
        a, b = jax.random.split(k)
        obs = environment.observe(a, jnp.int32(0), state)
        decision = ArmDecision(jnp.int32(arm), obs.arms[arm])
        assert environment.admits(state, obs, decision).dtype == bool
        _, told, outcome = environment.step(b, jnp.int32(0), state, obs, decision)
        return obs, told.reward, outcome.regret

    return state, *round_(jax.random.split(key, n))


@pytest.mark.slow_after_first
@pytest.mark.parametrize("arm", range(5))
def test_rewards_of_the_wheel(arm, key):
    wheel = Wheel(delta=0.7)
    _, obs, reward, regret = play(wheel, arm, key)
    x = np.asarray(obs.context)
    radius = np.linalg.norm(x, axis=1)
    # Uniform in the disc: squared radii are uniform, and angles.
    assert abs((radius**2).mean() - 0.5) < 5 * np.sqrt(1 / 12 / ROUNDS) and radius.max() <= 1.0
    assert abs((radius**2 < 0.25).mean() - 0.25) < 5 * np.sqrt(0.25 * 0.75 / ROUNDS)
    high = {(True, True): 0, (True, False): 1, (False, True): 2, (False, False): 3}
    quadrant = np.array([high[a, b] for a, b in x > 0.0])
    outside = radius >= 0.7
    means = np.where(np.arange(5) == 4, 1.2, 1.0) * np.ones((ROUNDS, 5))
    means[outside, quadrant[outside]] = 50.0
    np.testing.assert_allclose(regret, means.max(1) - means[:, arm], rtol=1e-12)
    residual = reward - means[:, arm]
    for is_high, scale in ((means[:, arm] == 50.0, 0.01), (means[:, arm] < 50.0, 0.05)):
        if is_high.any():
            assert abs(residual[is_high].std() / scale - 1) < 5 / np.sqrt(2 * is_high.sum())
            assert abs(residual[is_high].mean()) < 5 * scale / np.sqrt(is_high.sum())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("delta", "uniform", "safe"),
    [(0.5, 29.41, 36.60), (0.7, 20.05, 24.89), (0.9, 7.570, 9.272), (0.95, 3.9625, 4.758), (0.99, 0.9361, 0.9711)],
)  # fmt: skip
def test_expected_regret_of_uniform_and_safe_play(delta, uniform, safe, key):
    """By the formula, and by rounds of every arm."""
    wheel = Wheel(delta=delta)
    np.testing.assert_allclose([wheel.uniform_regret, wheel.safe_regret], [uniform, safe], rtol=4e-4)
    regret = np.array([play(wheel, arm, key)[3] for arm in range(5)])
    for found, wanted in ((regret.mean(0), uniform), (regret[4], safe)):
        assert abs(found.mean() - wanted) < 5 * found.std() / np.sqrt(ROUNDS)


SHAPES = {
    "quadratic": lambda x, a, A: 10 * (x @ a) ** 2,
    "form": lambda x, a, A: np.einsum("nkd,ed,ef,nkf->nk", x, A, np.eye(len(A)), x @ A.T),
    "cosine": lambda x, a, A: np.cos(3 * x @ a),
    "cubic": lambda x, a, A: 10 * (x @ a) ** 3,
}


@pytest.mark.slow_after_first
@pytest.mark.parametrize("shape", SHAPES)
def test_rewards_of_nonlinear_arms(shape, key):
    environment = NonlinearArms(n_arms=3, dim=4, shape=shape, noise_scale=0.3)
    state, obs, reward, regret = play(environment, 1, key)
    x, a, matrix = (np.asarray(leaf) for leaf in (obs.arms, state.direction, state.matrix))
    np.testing.assert_allclose(np.linalg.norm(x, axis=2), 1.0, rtol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(a), 1.0, rtol=1e-12)
    assert np.abs(x.mean(0)).max() < 5 * np.sqrt(1 / 4 / ROUNDS)  # E x_j^2 = 1 / d
    means = np.sum((x @ matrix.T) ** 2, axis=2) if shape == "form" else SHAPES[shape](x, a, matrix)
    np.testing.assert_allclose(regret, means.max(1) - means[:, 1], rtol=1e-9, atol=1e-12)
    residual = reward - means[:, 1]
    assert abs(residual.mean()) < 5 * 0.3 / np.sqrt(ROUNDS) and abs(residual.std() / 0.3 - 1) < 0.06


@pytest.mark.slow_after_first
@pytest.mark.parametrize("name", ["squared_exponential", "matern52"])
def test_means_of_a_sample_path_have_the_covariance_of_the_kernel(name, key):
    kernel = {"squared_exponential": models.SquaredExponential, "matern52": models.Matern52}[name](length_scale=0.3)
    environment = GaussianProcessArms(n_arms=5, kernel=kernel, scale=1.5)
    states = jax.jit(lambda k: jax.lax.map(environment.init, jax.random.split(k, 20_000)))(key)
    points = np.linspace(0, 1, 5)[:, None]
    np.testing.assert_allclose(states.arms[7], points, rtol=1e-12)
    wanted = 1.5**2 * getattr(reference, name)(points, points, 0.3)
    means = np.asarray(states.means)
    assert (np.abs(np.cov(means.T) - wanted) < 6 * 1.5**2 / np.sqrt(20_000) * np.sqrt(2)).all()
    np.testing.assert_array_equal(states.best, means.max(1))


def test_a_trial_has_the_same_sample_path_whether_it_runs_alone_or_not(key):
    """Eigenvectors of up to 10 rows have other signs in a batch, so that the trial had another path."""
    environment = GaussianProcessArms(n_arms=3, dim=2)
    keys = jax.random.split(key, 5)
    alone = [jax.jit(environment.init)(k).means for k in keys]
    together = jax.jit(vmap_last(lambda k: environment.init(k).means))(keys)
    np.testing.assert_allclose(together.T, alone, atol=1e-9)


@pytest.mark.slow
def test_rewards_of_a_sample_path(key):
    environment = GaussianProcessArms(n_arms=6, dim=2, noise_scale=0.2)
    state, obs, reward, regret = play(environment, 3, key)
    means = np.asarray(state.means)
    assert obs.arms.shape == (ROUNDS, 6, 2) and (np.asarray(obs.arms) == np.asarray(state.arms)).all()
    assert state.arms.min() >= 0.0 and state.arms.max() <= 1.0 and len(np.unique(state.arms)) == 12
    np.testing.assert_allclose(regret, means.max() - means[3], rtol=1e-12)
    residual = reward - means[3]
    assert abs(residual.mean()) < 5 * 0.2 / np.sqrt(ROUNDS) and abs(residual.std() / 0.2 - 1) < 0.06


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        (NonlinearArms(shape="quadratik"), "quadratic"),
        (GaussianProcessArms(kernel=models.Linear(dim=2)), "must be a kernel such as SquaredExponential"),
        (Wheel(delta=1.5), r"Wheel.delta must lie in \[0, 1\]"),
    ],
)  # fmt: skip
def test_bad_input(environment, message):
    with pytest.raises(InputError, match=message):
        validate(environment)
