"""The linear MDP: instances, trajectories, exact regret, users' own processes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats as st

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import as_arrays, validate
from jaxbandits.environments.linear.linear_mdp import LinearMDP
from jaxbandits.environments.linear.noise import Gaussian, StudentT
from jaxbandits.types import PolicyDecision
from tests.reference import linear_mdp as reference

T0 = jnp.int32(0)
QUICK = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}  # compiles in half the time
SILENT = {"noise": Gaussian(spread=0.0), "moment_scale": 1.0}


@pytest.fixture(scope="module")
def instances():
    """2000 trials of the default environment."""
    env = as_arrays(LinearMDP())
    keys = jax.random.split(jax.random.key(1), 2000)
    state = jax.jit(jax.vmap(env.init)).lower(keys).compile(QUICK)(keys)
    return jax.tree.map(np.asarray, state)


@jax.jit
def _episodes(env, actions, keys):
    state = env.init(jax.random.key(7))

    def step(key):
        _, feedback, outcome = env.step(key, T0, state, None, PolicyDecision(actions))
        return feedback.features, feedback.rewards, feedback.noise_scale, outcome.regret

    return state, *jax.vmap(step)(keys)


def episodes(env, actions, keys):
    """The instance (the same for every key), and per key the features, rewards, scale and regret of an episode."""
    return jax.tree.map(np.asarray, _episodes(as_arrays(env), jnp.asarray(actions, jnp.int32), keys))


def fits(draws, law):
    """Whether integers follow a law, by a chi-square test that merges rare cells."""
    expected, found = len(draws) * law, np.bincount(draws, minlength=len(law))
    assert (found[law == 0] == 0).all()
    rare = expected < 10
    expected, found = (np.append(x[~rare], x[rare].sum()) for x in (expected, found))
    if (expected > 0).sum() == 1:
        return True
    positive = expected > 0
    return st.chisquare(found[positive], expected[positive]).pvalue > 1e-4


@pytest.mark.slow
def test_instances(instances):
    phi, P, theta = (np.asarray(x) for x in (instances.features, instances.transitions, instances.theta))
    assert (phi.shape, P.shape, theta.shape) == ((2000, 6, 4, 3), (2000, 6, 4, 6), (2000, 4, 3))
    np.testing.assert_allclose(np.linalg.norm(phi, axis=-1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(theta, axis=-1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(P.sum(axis=-1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(instances.noise_scale, 4.387787, rtol=1e-7)
    # In three dimensions a coordinate of a uniform direction is uniform on [-1, 1] (Archimedes).
    for x in (phi[:, 0, 0, 0], phi[:, 5, 3, 2], theta[:, 1, 1]):
        assert st.kstest(x, st.uniform(-1, 2).cdf).pvalue > 1e-4
    # Entries of Dirichlet(0.3, ..., 0.3) rows are Beta(0.3, 1.5).
    for x in (P[:, 0, 0, 0], P[:, 3, 2, 5]):
        assert st.kstest(x, st.beta(0.3, 1.5).cdf).pvalue > 1e-4


@pytest.mark.slow
def test_the_optimum_is_that_of_the_reference(instances):
    phi, P, theta = (np.asarray(x) for x in (instances.features, instances.transitions, instances.theta))
    for i in range(50):
        means = np.einsum("sad,hd->hsa", phi[i], theta[i])
        np.testing.assert_allclose(instances.means[i], means, atol=1e-13)
        np.testing.assert_allclose(instances.optimal[i], reference.plan(means, P[i])[1][0, 0], rtol=1e-12)


def test_regret_is_exact_and_nonnegative(rng):
    """Random policies against the forward recursion; the optimal policy has none; no noise in it."""
    env = LinearMDP(n_states=4, n_actions=3, dim=2, steps=3)
    keys = jax.random.split(jax.random.key(3), 4)
    for draw in range(4):
        pi = rng.integers(0, 3, (3, 4))
        state, _, _, _, regret = episodes(env, pi, keys)
        means, P = state.means, np.asarray(state.transitions)
        best, plan = reference.plan(means, P)[1][0, 0], reference.plan(means, P)[0]
        np.testing.assert_allclose(regret, best - reference.policy_value(pi, means, P), rtol=1e-12, atol=1e-14)
        assert (regret > 0).all() or (pi == plan).all()
        if draw == 0:
            np.testing.assert_allclose(episodes(env, plan, keys)[4], 0.0, atol=1e-14)


@pytest.mark.slow
def test_trajectories_follow_the_transitions(rng):
    """Visits have the law of the chain under the policy; without noise rewards are the means of the pairs visited."""
    S, H = 5, 3
    phi = np.eye(S * 2).reshape(S, 2, S * 2)  # the feature vector names the pair
    P, theta, pi = rng.dirichlet(np.full(S, 0.5), (S, 2)), rng.standard_normal((H, S * 2)), rng.integers(0, 2, (H, S))
    env = LinearMDP(n_states=S, n_actions=2, dim=S * 2, steps=H, features=phi, transitions=P, theta=theta, **SILENT)
    n = 40_000
    _, x, rewards, scale, _ = episodes(env, pi, jax.random.split(jax.random.key(5), n))
    pairs = x.argmax(axis=-1)
    np.testing.assert_array_equal(x.sum(axis=-1), 1.0)
    np.testing.assert_allclose(rewards, np.take_along_axis(theta[None], pairs[:, :, None], axis=2)[..., 0], rtol=1e-14)
    np.testing.assert_array_equal(scale, 1.0)
    states, law = pairs // 2, np.eye(S)[0]
    for h in range(H):
        np.testing.assert_array_equal(pairs[:, h] % 2, pi[h][states[:, h]])
        assert fits(states[:, h], law)
        law = law @ P[np.arange(S), pi[h]]
    joint = P[0, pi[0, 0]][:, None] * P[np.arange(S), pi[1]]  # successive moves are independent draws
    assert fits(states[:, 1] * S + states[:, 2], joint.ravel())


@pytest.mark.slow
def test_noise_is_that_law_at_every_step_and_independent(rng):
    env = LinearMDP(n_states=2, n_actions=2, dim=2, steps=2, noise=StudentT(df=2.1, spread=0.5))
    state, x, rewards, scale, _ = episodes(env, np.zeros((2, 2)), jax.random.split(jax.random.key(6), 40_000))
    noise = rewards - np.einsum("khd,hd->kh", x, np.asarray(state.theta))
    for h in range(2):
        assert st.kstest(noise[:, h] / 0.5, st.t(2.1).cdf).pvalue > 1e-4
    assert abs(st.spearmanr(noise[:, 0], noise[:, 1]).statistic) < 5 / np.sqrt(40_000)
    # The next state is drawn from the key of the noise: by another counter.
    at_zero = np.isclose(x[:, 1], np.asarray(state.features)[0, 0]).all(axis=1)
    assert 0 < at_zero.mean() < 1
    assert st.mannwhitneyu(noise[at_zero, 0], noise[~at_zero, 0]).pvalue > 1e-4
    np.testing.assert_allclose(scale, 0.5 * 4.387787, rtol=1e-6)


@pytest.mark.slow
def test_estimation_error():
    env = as_arrays(LinearMDP(n_states=2, n_actions=2, dim=2, steps=3, theta=np.ones((3, 2))))
    state = jax.jit(env.init)(jax.random.key(0))
    guess = jnp.asarray([[1.0, 1.0], [4.0, 1.0], [1.0, 5.0]])
    np.testing.assert_allclose(env.at_record(state, guess)["estimation_error"], 5.0)
    assert env.at_record(state, None) == {}
    assert env.at_record(state, guess[0]) == {}  # a vector [d] would be compared with every row


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"n_states": 0}, r"LinearMDP\.n_states must lie in \[1, inf\)"),
        ({"concentration": 0.0}, r"LinearMDP\.concentration must lie in \(0, inf\)"),
        ({"theta": np.zeros((2, 3))}, r"LinearMDP\.theta must have shape \(4, 3\), got \(2, 3\)"),
        ({"features": np.full((6, 4, 3), np.nan)}, r"LinearMDP\.features must lie in"),
        ({"transitions": np.ones((6, 4, 6))}, r"LinearMDP\.transitions must hold distributions"),
        ({"noise": StudentT(df=1.7)}, r"LinearMDP\.eps must lie below 0\.7, because the StudentT noise has no moment"),
        (
            {"noise": StudentT(df=np.array([1.7, 2.5]))},
            r"LinearMDP\.eps must lie below 0\.7, .*, got 0\.99 \(or set moment_",
        ),
        (
            {"noise": StudentT(df=np.array([3.0, 2.5])), "eps": np.array([0.1, 0.2, 0.3])},
            r"LinearMDP\.eps has shape \(3,\), but the tail index of the noise has \(2,\)",
        ),
    ],
)
def test_bad_values_are_refused(fields, message):
    with pytest.raises(InputError, match=message):
        validate(LinearMDP(**fields))
