"""Linear MDPs: planning against enumeration, both learners against the NumPy loops, optimism and its consequences."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms.linear.hvt_mdp import HvtMDP
from jaxbandits.algorithms.linear.hvt_ucb import HvtUCB
from jaxbandits.algorithms.linear.oful import OFUL
from jaxbandits.algorithms.linear.oful_mdp import OFULMDP
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import as_arrays, validate
from jaxbandits.environments.linear.linear_mdp import LinearMDP
from jaxbandits.numerics import planning
from jaxbandits.simulation import simulate
from jaxbandits.types import ArmObs, Episode, MDPObs, ScaledEpisode, ScaledReward
from tests.reference import linear_mdp as reference

KEY = jax.random.key(0)
QUICK = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}  # compiles in half the time


def closed_loop(alg, phi, P, theta, noise, uniforms, nu):
    """Policies, estimates and optimistic values of every episode on recorded draws, as in the reference."""

    @jax.jit
    def run(alg, phi, P, theta, noise, uniforms):
        obs = MDPObs(phi, P)
        means, cumulative = jnp.einsum("sad,hd->hsa", phi, theta), jnp.cumsum(P, axis=-1)

        def episode(state, row):
            t, noise, uniforms = row
            actions = alg.select(KEY, t, state, obs).actions
            s, x, rewards = 0, [], []
            for h in range(theta.shape[0]):
                a = actions[h, s]
                x.append(phi[s, a])
                rewards.append(means[h, s, a] + noise[h])
                s = jnp.sum(uniforms[h] >= cumulative[s, a, :-1])
            x, rewards = jnp.stack(x), jnp.stack(rewards)
            told = Episode(x, rewards) if alg.feedback is Episode else ScaledEpisode(x, rewards, jnp.asarray(nu))
            state = alg.update(KEY, t, state, obs, None, told)
            return state, (actions, alg.recommend(state))

        rows = (jnp.arange(len(noise), dtype=jnp.int32), noise, uniforms)
        return jax.lax.scan(episode, alg.init(KEY), rows)[1]

    inputs = as_arrays((alg, phi, P, theta, noise, uniforms))
    return run.lower(*inputs).compile(QUICK)(*inputs)


# Planning -------------------------------------------------------------------------------------------------------------


@pytest.mark.slow_after_first
@pytest.mark.parametrize(("H", "nS", "nA"), [(3, 2, 3), (1, 1, 3), (2, 3, 2), (4, 3, 2)])
def test_backward_induction_finds_the_best_of_all_policies(H, nS, nA, rng):
    r, P = rng.standard_normal((H, nS, nA)), rng.dirichlet(np.ones(nS), (nS, nA))
    plan = planning.backward_induction(jnp.asarray(r), jnp.asarray(P))
    pi, V = reference.plan(r, P)
    np.testing.assert_array_equal(plan.actions, pi)
    np.testing.assert_allclose(plan.values, V, rtol=1e-13, atol=1e-14)
    values = planning.policy_values(plan.actions, jnp.asarray(r), jnp.asarray(P))
    np.testing.assert_allclose(values, V, rtol=1e-13, atol=1e-14)
    for start in range(nS):
        np.testing.assert_allclose(plan.values[0, start], reference.best_value(r, P, start), rtol=1e-13, atol=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("nS", [3, 15])
def test_values_of_any_policy_match_the_forward_recursion(nS, rng):
    """Up to 12 states transitions are held as a `Vec`, beyond as an array; ten steps are a loop."""
    H, nA = 10, 4
    r, P, pi = rng.standard_normal((H, nS, nA)), rng.dirichlet(np.ones(nS), (nS, nA)), rng.integers(0, nA, (H, nS))
    values = planning.policy_values(jnp.asarray(pi), jnp.asarray(r), jnp.asarray(P))
    want = [reference.policy_value(pi, r, P, start) for start in range(nS)]
    np.testing.assert_allclose(values[0], want, rtol=1e-12, atol=1e-13)
    assert (planning.backward_induction(jnp.asarray(r), jnp.asarray(P)).values >= values - 1e-12).all()


def test_the_first_action_wins_a_tie():
    P = jnp.full((2, 3, 2), 0.5)
    plan = planning.backward_induction(jnp.asarray([[[1.0, 2.0, 2.0], [3.0, 3.0, 3.0]]]), P)
    np.testing.assert_array_equal(plan.actions, [[1, 0]])


# Learners -------------------------------------------------------------------------------------------------------------


@pytest.mark.slow_after_first
@pytest.mark.parametrize(("H", "nS", "nA", "d"), [(4, 6, 4, 3), (1, 2, 2, 2), (3, 5, 2, 14)])
def test_hvt_matches_the_reference_in_closed_loop(H, nS, nA, d, rng):
    """The same policies, the same estimates; samples are clipped and estimates projected."""
    K, nu = 120, 0.4
    phi, P, theta, noise, uniforms = reference.instance(rng, K, H, nS, nA, d)
    settings = {"beta_scale": 2e-3, "tau_scale": 0.05}
    alg = HvtMDP(dim=d, steps=H, horizon=K, eps=0.7, norm_bound=0.4, ridge=0.6, **settings)
    learner = reference.hvt(phi, P, H, K, 0.7, S=0.4, lam=0.6, **settings)
    want = reference.closed_loop(learner, theta, noise, uniforms, nu)
    actions, estimates = closed_loop(alg, phi, P, theta, noise, uniforms, nu)
    np.testing.assert_array_equal(actions, want[0])
    np.testing.assert_allclose(estimates, want[1], atol=1e-9)
    traces = [e.trace() for e in learner.estimators]
    assert sum((np.abs(t["psi"]) == t["tau"]).sum() for t in traces) > 5
    assert sum((t["mu"] > 0).sum() for t in traces) > 5


@pytest.mark.slow_after_first
@pytest.mark.parametrize(("H", "nS", "nA", "d"), [(4, 6, 4, 3), (1, 2, 2, 2), (3, 5, 2, 14)])
def test_oful_matches_the_reference_in_closed_loop(H, nS, nA, d, rng):
    K = 120
    phi, P, theta, noise, uniforms = reference.instance(rng, K, H, nS, nA, d)
    alg = OFULMDP.practical(dim=d, steps=H, horizon=K, noise_scale=1.31, ridge=0.7, norm_bound=1.5, beta_scale=0.3)
    learner = reference.oful(phi, P, H, 1.31, 1 / (8 * K), S=1.5, lam=0.7, beta_scale=0.3)
    want = reference.closed_loop(learner, theta, noise, uniforms, 1.31)
    actions, estimates = closed_loop(alg, phi, P, theta, noise, uniforms, 1.31)
    np.testing.assert_array_equal(actions, want[0])
    np.testing.assert_allclose(estimates, want[1], atol=1e-9)


@pytest.mark.slow
def test_one_state_and_one_step_is_hvt_ucb(rng):
    """A bandit: the arms are the actions of the only state."""
    K, nA, d = 200, 6, 3
    phi, P, theta, noise, uniforms = reference.instance(rng, K, 1, 1, nA, d)
    mdp = HvtMDP.practical(dim=d, steps=1, horizon=K, eps=0.99)
    actions, estimates = closed_loop(mdp, phi, P, theta, noise, uniforms, 1.31)
    bandit = as_arrays(HvtUCB.practical(dim=d, horizon=K, eps=0.99))

    @jax.jit
    def play(arms, theta, noise):
        obs = ArmObs(arms)

        def one(state, row):
            t, noise = row
            decision = bandit.select(KEY, t, state, obs)
            reward = decision.x @ theta + noise
            state = bandit.update(KEY, t, state, obs, decision, ScaledReward(reward, jnp.asarray(1.31)))
            return state, (decision.index, state.theta)

        return jax.lax.scan(one, bandit.init(KEY), (jnp.arange(K, dtype=jnp.int32), noise))[1]

    index, estimate = play(*map(jnp.asarray, (phi[0], theta[0], noise[:, 0])))
    np.testing.assert_array_equal(actions[:, 0, 0], index)
    np.testing.assert_allclose(estimates[:, 0], estimate, atol=1e-12)


@pytest.mark.slow
def test_a_moment_bound_is_that_scale_every_episode(rng):
    data = reference.instance(rng, 80, 2, 3, 2, 2)
    told = HvtMDP.practical(dim=2, steps=2, horizon=80, eps=0.99)
    bound = HvtMDP.practical(dim=2, steps=2, horizon=80, eps=0.99, moment_bound=1.31)
    assert (told.feedback, bound.feedback) == (ScaledEpisode, Episode)
    for a, b in zip(closed_loop(told, *data, nu=1.31), closed_loop(bound, *data, nu=99.0), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hvt", "oful"])
def test_theory_preset_is_optimistic_in_every_trial(name, rng):
    """r_h <= rtil_h for all pairs and steps, hence V_1 >= V*_1 and the regret bound of the docstring, pair by pair."""
    K, H, nS, nA, d = 60, 3, 4, 3, 2
    phi, P, theta, noise, uniforms = reference.instance(rng, K, H, nS, nA, d)
    means = np.einsum("sad,hd->hsa", phi, theta)
    algs = {
        "hvt": HvtMDP.theory(dim=d, steps=H, horizon=K, eps=0.99, moment_bound=4.387787),
        "oful": OFULMDP.theory(dim=d, steps=H, horizon=K, noise_scale=4.387787),
    }
    alg = as_arrays(algs[name])
    obs = MDPObs(jnp.asarray(phi), jnp.asarray(P))

    @jax.jit
    def optimistic(t, state):
        return alg.optimistic_rewards(t, state, obs)

    update = jax.jit(lambda t, state, told: alg.update(KEY, t, state, obs, None, told))
    state, best = alg.init(KEY), reference.plan(means, P)[1][0, 0]
    for k in range(K):
        bonus = np.asarray(optimistic(jnp.int32(k), state)) - means
        assert (bonus >= 0).all()
        pi, values = reference.plan(bonus + means, P)
        regret = best - reference.policy_value(pi, means, P)
        assert values[0, 0] >= best
        assert -1e-12 <= regret <= reference.policy_value(pi, bonus, P) + 1e-12
        s, x, rewards = 0, [], []
        for h in range(H):
            x.append(phi[s, pi[h, s]])
            rewards.append(means[h, s, pi[h, s]] + noise[k, h])
            s = int(np.searchsorted(np.cumsum(P[s, pi[h, s]])[:-1], uniforms[k, h], side="right"))
        told = Episode(jnp.asarray(x), jnp.asarray(rewards))
        state = update(jnp.int32(k), state, told)


@pytest.mark.slow
@pytest.mark.parametrize("cls", [HvtMDP, OFULMDP])
def test_learning_pays(cls):
    """Paired over trials: the second half of the episodes costs less regret than the first, by 4 standard errors."""
    told = {"eps": 0.99, "moment_bound": 1.31} if cls is HvtMDP else {"noise_scale": 1.31}
    alg = cls.practical(dim=2, steps=2, horizon=600, **told)
    env = LinearMDP(n_states=3, n_actions=3, dim=2, steps=2)
    result = simulate(alg, env, 600, 256, progress=False, record_points=[300, 600])
    first, both = np.moveaxis(result.get("regret")[0], -1, 0)
    gain = first - (both - first)
    assert gain.mean() > 4 * gain.std(ddof=1) / 16
    assert np.median(result.final("estimation_error")) < np.sqrt(2)  # that of the estimate zero


def test_presets():
    theory, practical = (f(dim=3, steps=4, horizon=1500, eps=0.99) for f in (HvtMDP.theory, HvtMDP.practical))
    assert (theory.beta_scale, theory.tau_scale, theory.step_size) == (1.0, 1.0, 4.0)
    bandit = HvtUCB.practical(dim=3, horizon=1500)
    assert (practical.beta_scale, practical.tau_scale) == (bandit.beta_scale, bandit.tau_scale)
    assert practical.horizon == 1500
    assert HvtMDP.practical(dim=3, steps=4, horizon=10, beta_scale=0.5).beta_scale == 0.5
    ours = OFULMDP.practical(dim=3, steps=4, horizon=1500, noise_scale=1.31)
    assert (ours.delta, ours.noise_scale) == (1 / 12000, 1.31)
    assert ours.beta_scale == OFUL.practical(dim=3, horizon=1500).beta_scale
    assert OFULMDP.theory(dim=3, steps=4, horizon=10, delta=0.2).delta == 0.2


@pytest.mark.parametrize(
    ("alg", "message"),
    [
        (HvtMDP(dim=2, steps=0, horizon=10), r"HvtMDP\.steps must lie in \[1, inf\)"),
        (HvtMDP(dim=2, steps=2, horizon=10, eps=1.5), r"HvtMDP\.eps must lie in \(0, 1\], got 1\.5"),
        (HvtMDP(dim=2, steps=2, horizon=10, tau_scale=0.0), r"HvtMDP\.tau_scale must lie in \(0, inf\]"),
        (OFULMDP(dim=2, steps=2, delta=1.0), r"OFULMDP\.delta must lie in \(0, 1\)"),
        (OFULMDP(dim=0, steps=2), r"OFULMDP\.dim must lie in \[1, inf\)"),
    ],
)
def test_bad_values_are_refused(alg, message):
    with pytest.raises(InputError, match=message):
        validate(alg)
