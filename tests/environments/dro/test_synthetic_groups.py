"""Group data: the law of the rows, exact risks against samples and quadrature, the duality gap at the saddle."""

import itertools
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
import scipy.stats

from jaxbandits.algorithms.dro.online import Online
from jaxbandits.algorithms.dro.smd import SMD
from jaxbandits.core import rng as rng_
from jaxbandits.core.errors import InputError
from jaxbandits.core.pytree import as_arrays, validate
from jaxbandits.environments.dro import draws, log_cosh
from jaxbandits.environments.dro import saddle as saddle_
from jaxbandits.environments.dro.synthetic_groups import GroupsState, SyntheticGroups
from jaxbandits.simulation import compare
from jaxbandits.types import GroupDecision, narrow
from tests import called
from tests.reference import dro_risks
from tests.sizes import sizes

HALF_NORMAL = np.sqrt(2.0 / np.pi)


@jax.jit
def draw_rows(environment, keys, state, group):
    x, y = jax.vmap(lambda k: environment.sample(k, state, group))(keys)
    return x, y


@jax.jit
def step(environment, key, state, w, group, drawn):
    decision = GroupDecision(play=w, weights=None, group=group, drawn=drawn)
    return environment.step(key, 0, state, None, decision)


@jax.jit
def evaluate(environment, state, w, q):
    return environment.at_record(state, (w, q))


@jax.jit
def risks_of(environment, state, w):
    return environment.risks(state, w)


@jax.jit
def slopes_of(environment, state, w):
    return jax.jacobian(lambda w: environment.risks(state, w))(w)


@jax.jit
def least_risk_of(environment, state, q):
    return environment.least_risk(state, q)


def two_groups(correct=0.9):
    """Two orthogonal groups of equal difficulty."""
    state = GroupsState(optima=jnp.eye(2), correct=jnp.full(2, correct), instance=jnp.zeros(4))
    return as_arrays(SyntheticGroups(dim=2, n_groups=2, radius=np.inf)), state


def saddle(environment, state):
    """`(w, q)` from the quadratic program for q, by SLSQP, and the best norm along its direction, by Brent."""
    a = (np.asarray(state.correct) - 0.5)[:, None] * np.asarray(state.optima)
    m = len(a)
    found = scipy.optimize.minimize(
        lambda q: 50.0 * np.sum((q @ a) ** 2),
        np.full(m, 1.0 / m),
        jac=lambda q: 100.0 * a @ (q @ a),
        bounds=[(0.0, 1.0)] * m,
        constraints={"type": "eq", "fun": lambda q: q.sum() - 1.0, "jac": lambda q: np.ones(m)},
        options={"ftol": 1e-15, "maxiter": 500},
    )
    pull = found.x @ a
    norm = np.linalg.norm(pull)
    s = scipy.optimize.minimize_scalar(
        lambda s: quadrature(s)[0] - HALF_NORMAL * s * norm,
        bounds=(0.0, 20.0),
        options={"xatol": 1e-9},
        method="bounded",
    )
    return s.x * pull / norm, found.x


def quadrature(s):
    """H(s) and H'(s) by adaptive quadrature of their definitions."""

    def density(g):
        return 2.0 * np.exp(-g * g / 2.0) / np.sqrt(2.0 * np.pi)

    value = scipy.integrate.quad(lambda g: density(g) * np.logaddexp(s * g / 2, -s * g / 2), 0, 12, epsabs=1e-14)[0]
    slope = scipy.integrate.quad(lambda g: density(g) * g / 2 * np.tanh(s * g / 2), 0, 12, epsabs=1e-14)[0]
    return value, slope


def test_known_values_of_h():
    h, slope = log_cosh.expected_log_cosh, log_cosh.expected_log_cosh_slope
    np.testing.assert_allclose(
        [h(0.0), h(1.0), h(2.0), slope(1.0)],
        [np.log(2.0), 0.8060591833, 1.0677143881, 0.2066209641],
        rtol=0,
        atol=5e-11,
    )


@pytest.mark.parametrize("s", [0.0, 1e-3, 0.5, 2.3, 5.0, 8.0, 30.0, 300.0])
def test_h_equals_quadrature_for_every_norm(s):
    value, slope = quadrature(s)
    np.testing.assert_allclose(log_cosh.expected_log_cosh(s), value, rtol=2e-13)
    np.testing.assert_allclose(log_cosh.expected_log_cosh_slope(s), slope, rtol=2e-13, atol=1e-15)


@pytest.mark.parametrize(
    ("correct", "norm", "risk"),
    [(0.6, 0.327497, 0.680250), (0.85, 1.663310, 0.505033), (0.9, 2.304624, 0.427027), (0.95, 3.647086, 0.312574)],
)
def test_single_group_optimum(correct, norm, risk):
    environment, state = two_groups(correct)
    q = jnp.array([1.0, 0.0])
    np.testing.assert_allclose(least_risk_of(environment, state, q), risk, atol=5e-7)
    w = jnp.array([norm, 0.0])
    np.testing.assert_allclose(risks_of(environment, state, w)[0], risk, atol=5e-7)
    np.testing.assert_allclose(slopes_of(environment, state, w)[0], 0.0, atol=5e-7)


def test_two_orthogonal_groups():
    environment, state = two_groups()
    w, q = jnp.full(2, 0.806272), jnp.full(2, 0.5)
    recorded = evaluate(environment, state, w, q)
    np.testing.assert_allclose(recorded["max_risk"], 0.579074, atol=5e-7)
    assert 0.0 <= recorded["duality_gap"] < 1e-12
    np.testing.assert_allclose(saddle(environment, state)[0], w, atol=5e-7)


@pytest.mark.parametrize("preset", [SyntheticGroups.homogeneous, SyntheticGroups.heterogeneous])
@pytest.mark.parametrize(("d", "m"), sizes((4, 3), slow=((50, 20),)))
def test_gap_is_zero_at_the_saddle_and_positive_elsewhere(preset, d, m, rng, key):
    environment = as_arrays(preset(dim=d, n_groups=m, radius=np.inf))
    state = called.init(environment, key)
    w, q = saddle(environment, state)
    best = evaluate(environment, state, w, q)
    assert -1e-12 <= best["duality_gap"] < 1e-6
    others = rng.dirichlet(np.ones(m), size=30), w + 0.1 * rng.normal(size=(30, d))
    recorded = jax.vmap(evaluate, in_axes=(None, None, 0, 0))(environment, state, others[1], others[0])
    assert np.all(recorded["duality_gap"] > best["duality_gap"])
    assert np.all(recorded["max_risk"] >= best["max_risk"] - 1e-6)
    assert np.all(recorded["mean_risk"] <= recorded["max_risk"])


def test_least_risk_over_a_ball(rng):
    """Radii on both sides of the unconstrained optimum's norm, 2.3046, against a search along its direction."""
    _, state = two_groups()
    q = jnp.array([1.0, 0.0])
    for radius in (0.5, 2.0, 2.3, 2.4, 10.0):
        environment = as_arrays(SyntheticGroups(dim=2, n_groups=2, radius=radius))
        s = np.linspace(0.0, radius, 4001)
        risks = jax.vmap(risks_of, in_axes=(None, None, 0))(environment, state, np.stack([s, 0.0 * s], 1))[:, 0]
        least = least_risk_of(environment, state, q)
        np.testing.assert_allclose(least, np.min(risks), atol=1e-6)
        assert least <= np.min(risks) + 1e-13


@pytest.mark.slow
@pytest.mark.parametrize("d", sizes(3, slow=(15,)))
def test_risks_equal_sample_means(d, rng, key):
    """Closed-form risks and their gradients within 4.5 standard errors of what `step` returns."""
    environment = as_arrays(SyntheticGroups.heterogeneous(dim=d, n_groups=4))
    state = called.init(environment, key)
    w, n = jnp.asarray(rng.normal(size=d)), 20_000
    group = jnp.array([0, 1, 2, 3, 3])
    play = jax.jit(jax.vmap(lambda k: step(environment, k, state, w, group, None)[1]))
    feedback = play(jax.random.split(key, n))
    risks, slopes = risks_of(environment, state, w), slopes_of(environment, state, w)
    for sampled, exact in [(feedback.loss, risks[group]), (feedback.grad, slopes[group])]:
        sampled = np.asarray(sampled)
        error = np.abs(sampled.mean(0) - exact)
        assert np.all(error < 4.5 * sampled.std(0) / np.sqrt(n))


@pytest.mark.quick("4")
@pytest.mark.parametrize("d", [1, 4, 13])
def test_law_of_the_rows(d, key):
    """Independent standard normals (mean, correlations, Kolmogorov distance) and the stated share of wrong labels."""
    environment = as_arrays(SyntheticGroups.heterogeneous(dim=d, n_groups=3))
    state = called.init(environment, key)
    n = 20_000
    x, y = (np.asarray(a) for a in draw_rows(environment, jax.random.split(key, n), state, jnp.array([2, 0])))
    flat = x.reshape(n, 2 * d)
    np.testing.assert_array_less(np.abs(flat.T @ flat / n - np.eye(2 * d)), 5.0 * np.sqrt(2.0 / n))
    assert min(scipy.stats.kstest(column, "norm").pvalue for column in flat.T) > 1e-5
    assert set(np.unique(y)) == {-1.0, 1.0}
    for q, i in enumerate([2, 0]):
        right = np.mean(np.sign(x[:, q] @ np.asarray(state.optima)[i]) == y[:, q])
        correct = float(state.correct[i])
        assert abs(right - correct) < 4.5 * np.sqrt(correct * (1 - correct) / n)


def test_blocks_are_those_of_jax(key):
    high, low = rng_.random_words(key, jnp.arange(50))
    np.testing.assert_array_equal(high ^ low, jax.random.bits(key, (50,), jnp.uint32))


def test_normals_have_tails(key):
    normals, uniforms = jax.jit(lambda k: (rng_.normals(k, 100, 2001), rng_.uniforms(k, 100, 100 * 1001)))(key)
    assert scipy.stats.kstest(np.asarray(normals).ravel(), "norm").pvalue > 1e-5
    n, far = normals.size, np.mean(np.abs(normals) > 4.0)
    p = 2.0 * scipy.stats.norm.sf(4.0)
    assert abs(far - p) < 4.5 * np.sqrt(p / n)
    assert np.max(np.abs(normals)) > 4.5
    assert np.all((uniforms >= 0.0) & (uniforms < 1.0))


@pytest.mark.slow
def test_instances_have_the_angles_of_the_paper(key):
    environment = as_arrays(SyntheticGroups.homogeneous(dim=4000, n_groups=5))
    optima = np.asarray(called.init(environment, key).optima)
    np.testing.assert_allclose(np.linalg.norm(optima, axis=1), 1.0, rtol=1e-13)
    cosines = (optima @ optima.T)[np.triu_indices(5, 1)]
    np.testing.assert_allclose(cosines, 1.0 / (1.0 + 0.5**2), atol=0.08)  # 5 / sqrt(d)


def test_label_probabilities_of_the_presets(key):
    draw = jax.jit(lambda e, k: jax.vmap(e.init)(jax.random.split(k, 300)).correct)
    homogeneous = draw(as_arrays(SyntheticGroups.homogeneous(dim=2, n_groups=20)), key)
    np.testing.assert_allclose(homogeneous, 0.9, rtol=1e-15)
    correct = np.asarray(draw(as_arrays(SyntheticGroups.heterogeneous(dim=2, n_groups=20)), key))
    np.testing.assert_allclose(correct[:, 0], 0.6, rtol=1e-15)
    others = correct[:, 1:].ravel()
    assert scipy.stats.kstest((others - 0.85) / 0.1, "uniform").pvalue > 1e-5


@pytest.mark.quick("3")
@pytest.mark.parametrize("d", [3, 15])
def test_rows_that_are_not_drawn_read_zero(d, key):
    environment = as_arrays(SyntheticGroups.homogeneous(dim=d, n_groups=4))
    state, w, group = called.init(environment, key), jnp.ones(d), jnp.arange(4)
    drawn = jnp.array([True, False, True, False])
    _, every, outcome = step(environment, key, state, w, group, None)
    _, some, masked = step(environment, key, state, w, group, drawn)
    np.testing.assert_array_equal(some.loss, np.where(drawn, every.loss, 0.0))
    np.testing.assert_array_equal(some.grad, np.where(drawn[:, None], every.grad, 0.0))
    np.testing.assert_allclose((outcome.samples, outcome.loss), (4.0, np.mean(every.loss)), rtol=1e-14)
    np.testing.assert_allclose((masked.samples, masked.loss), (2.0, np.mean(every.loss[::2])), rtol=1e-14)
    _, _, none = step(environment, key, state, w, group, jnp.zeros(4, bool))
    assert (none.samples, none.loss) == (0.0, 0.0)


@pytest.mark.quick("3")
@pytest.mark.parametrize("d", [3, 15])
def test_indices_known_at_trace_time_give_the_same_rows(d, key):
    """`SMD.select` lists every group as a NumPy array, which spares the gather."""
    environment = as_arrays(SyntheticGroups.heterogeneous(dim=d, n_groups=4))
    state, keys = called.init(environment, key), jax.random.split(key, 50)
    traced = draw_rows(environment, keys, state, jnp.arange(4))
    known = jax.jit(jax.vmap(lambda k: environment.sample(k, state, np.arange(4))))(keys)
    np.testing.assert_array_equal(known[0], traced[0])
    np.testing.assert_array_equal(known[1], traced[1])
    backwards = draw_rows(environment, keys, state, jnp.arange(4)[::-1])[1]
    listed = jax.jit(jax.vmap(lambda k: environment.sample(k, state, np.arange(4)[::-1])))(keys)[1]
    np.testing.assert_array_equal(listed, backwards)


def test_without_a_recommendation_nothing_is_evaluated(key):
    environment = as_arrays(SyntheticGroups.homogeneous(dim=3, n_groups=4))
    assert set(environment.at_record(called.init(environment, key), None)) == {"instance"}


def test_label_probabilities_in_order():
    with pytest.raises(InputError, match="low_correct"):
        validate(SyntheticGroups(dim=3, n_groups=4, low_correct=0.9, high_correct=0.8))


@jax.jit
def play(algorithm, environment, keys):
    """The exact duality gap of every trial after `algorithm.horizon` rounds."""

    def round_(t, carry, env_state):
        key, state = carry
        key, select, draw = jax.random.split(key, 3)
        decision = algorithm.select(select, t, state, None)
        _, feedback, _ = environment.step(draw, t, env_state, None, decision)
        return key, algorithm.update(key, t, state, None, decision, narrow(feedback, algorithm.feedback))

    def start(key):
        for_env, for_alg, for_loop = jax.random.split(key, 3)
        return environment.init(for_env), (for_loop, algorithm.init(for_alg))

    env_states, carry = jax.vmap(start)(keys)
    step_all = jax.vmap(round_, in_axes=(None, 0, 0))
    horizon = algorithm.horizon.astype(int)
    _, states = jax.lax.fori_loop(0, horizon, lambda t, carry: step_all(t, carry, env_states), carry)
    return jax.vmap(lambda e, s: environment.at_record(e, algorithm.recommend(s))["duality_gap"])(env_states, states)


@pytest.mark.slow
@pytest.mark.parametrize("method", sizes(Online, slow=(SMD,)))
def test_gap_falls_with_the_horizon(method, key):
    """At the theorem's steps, to less than 0.6 of itself when the horizon grows sixteenfold."""
    environment = as_arrays(SyntheticGroups.homogeneous(dim=4, n_groups=5))
    keys = jax.random.split(key, 40)
    short, long = (
        np.asarray(play(as_arrays(method(dim=4, n_groups=5, horizon=horizon)), environment, keys))
        for horizon in (500, 8000)
    )
    assert np.all(long > 0.0)
    assert max(np.std(g) / np.mean(g) / np.sqrt(40) for g in (short, long)) < 0.15  # the means are known well enough
    assert np.mean(long) < 0.6 * np.mean(short)


# Objectives of top-k and weighted risks, and their optima -------------------------------------------------------------

WEIGHTS = np.array([1.0, 0.8, 0.5, 0.9, 0.7])


@pytest.fixture(scope="module")
def short_run():
    """Two learners, three instances: metrics of risks, samples and optima."""
    environment = SyntheticGroups.heterogeneous(dim=6, n_groups=5, radius=2.0, top_k=2, weights=WEIGHTS)
    learners = {"all": SMD(dim=6, n_groups=5, horizon=60), "one": Online(dim=6, n_groups=5, horizon=60)}
    return environment, compare(learners, environment, 60, 3, record=3, progress=False)


def instance_of(environment, trials, seed):
    """`[m, d]` a_i, drawn again from the recorded words of the key."""
    words = trials.get("instance")[0, seed, 0].astype(np.uint32)
    key = jax.random.wrap_key_data(jnp.asarray((words[:2] << 16) | words[2:]), impl="threefry2x32")
    state = called.init(environment, key)
    return np.asarray((state.correct - 0.5)[:, None] * state.optima)


def test_risks_by_name(short_run):
    _, result = short_run
    trials = result["all"]
    risk = trials.get("risk")
    assert trials.axis_names("risk") == ("group",) and risk.shape == (1, 3, 3, 5)
    np.testing.assert_allclose(trials.get("max_risk"), risk.max(-1), rtol=1e-13)
    np.testing.assert_allclose(trials.get("mean_risk"), risk.mean(-1), rtol=1e-13)
    np.testing.assert_allclose(trials.get("top_k_risk"), np.sort(risk)[..., -2:].mean(-1), rtol=1e-13)
    np.testing.assert_allclose(trials.get("weighted_max_risk"), (WEIGHTS * risk).max(-1), rtol=1e-13)


def test_samples_are_those_really_drawn(short_run):
    _, result = short_run
    records = result["all"].records
    np.testing.assert_array_equal(result["all"].get("samples")[0], np.broadcast_to(5 * records, (3, 3)))
    np.testing.assert_array_equal(result["all"].get("group_samples")[0], np.broadcast_to(records[:, None], (3, 3, 5)))
    np.testing.assert_array_equal(result["one"].get("samples")[0], np.broadcast_to(records, (3, 3)))
    np.testing.assert_array_equal(result["one"].get("group_samples").sum(-1), result["one"].get("samples"))
    assert len(set(map(tuple, result["one"].get("group_samples")[0, :, -1]))) > 1  # drawn, not fixed


def test_optima_are_certified_and_belong_to_the_instance(short_run):
    """Once an instance, hence the same for both learners; the unweighted ones against quadratic programming."""
    environment, result = short_run
    trials = result["all"]
    assert trials.get("optimum_gap").max() <= 1e-8
    for name in ("optimum", "top_k_optimum", "weighted_optimum", "instance"):
        np.testing.assert_array_equal(trials.get(name), result["one"].get(name))
    for seed in range(3):
        a = instance_of(environment, trials, seed)
        for name, k in (("optimum", 1), ("top_k_optimum", 2)):
            w, _, value = dro_risks.synthetic_saddle(a, k, radius=2.0)
            assert trials.get(name)[0, seed, 0] == pytest.approx(value, abs=1e-7)
            risks = dro_risks.synthetic_risks(w, a)
            assert trials.get(name)[0, seed, 0] <= dro_risks.mean_of_largest(risks, k) + 1e-8
    assert len(np.unique(trials.get("top_k_optimum")[0, :, 0])) == 3
    for name, excess in (("max_risk", "excess_risk"), ("top_k_risk", "excess_top_k_risk")):
        assert trials.get(excess).min() > 0.0, name


@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("rank", [1, 3, 9])
def test_the_shortest_combination(k, rank, rng):
    """No corner lies farther towards 0; groups that coincide, or span less than they are, are no obstacle."""
    for scale in (1e-3, 1.0, 1e3):
        a = scale * (rng.normal(size=rank) + rng.uniform(0.1, 3.0) * rng.normal(size=(5, rank)))
        a[3] = a[1]
        q = saddle_.shortest(a @ a.T, k)
        assert np.all((q >= 0.0) & (q <= 1.0 / k + 1e-14)) and abs(q.sum() - 1.0) < 1e-14
        pull = q @ a
        corners = [a[list(chosen)].mean(axis=0) for chosen in itertools.combinations(range(5), k)]
        assert pull @ pull - min(corner @ pull for corner in corners) <= 1e-12 * np.max(np.sum(a * a, axis=1))
    np.testing.assert_allclose(saddle_.shortest(np.zeros((4, 4)), 2).sum(), 1.0)


@pytest.mark.parametrize("k", [1, 2])
def test_the_optimum_from_anywhere(k, rng):
    """From uniform weights the solver has to find what the shortest combination knows: one value, both certified."""
    starts, shortest = [], saddle_.shortest
    a = 0.4 * rng.normal(size=(5, 6))
    environment = SyntheticGroups(dim=6, n_groups=5, radius=2.0)
    with mock.patch.object(saddle_, "shortest", lambda gram, k: starts.append(shortest(gram, k)) or np.full(5, 0.2)):
        found = environment._optimum(a, k, None)
    known = environment._optimum(a, k, None)
    assert np.max(np.abs(starts[0] - 0.2)) > 0.01  # there was something to find
    assert found.gap <= 1e-8 and known.gap <= 1e-13
    assert found.value == pytest.approx(known.value, abs=1e-8)


def test_the_weighted_optimum_by_scalar_search(short_run):
    """max_i b_i R_i at its minimum, by Nelder-Mead in the plane of two groups, against what is certified."""
    weights, gram = np.array([1.0, 0.6]), np.array([[1.0, 0.3], [0.3, 1.0]])
    a = 0.4 * np.linalg.cholesky(gram)
    environment = SyntheticGroups(dim=2, n_groups=2, radius=np.inf)

    def worst(w):
        return np.max(weights * dro_risks.synthetic_risks(w, a))

    options = {"xatol": 1e-10, "fatol": 1e-13, "maxiter": 4000}
    found = scipy.optimize.minimize(worst, np.ones(2), method="Nelder-Mead", options=options)
    answer = environment._optimum(a, 1, weights)
    assert answer.gap <= 1e-8
    assert answer.value == pytest.approx(found.fun, abs=1e-8)


def test_the_optimum_by_an_outside_solver(short_run):
    """The quadratic program for q, by cvxpy."""
    cvxpy = pytest.importorskip("cvxpy")
    environment, result = short_run
    for seed in range(3):
        a = instance_of(environment, result["all"], seed)
        for name, k in (("optimum", 1), ("top_k_optimum", 2)):
            q = cvxpy.Variable(len(a), nonneg=True)
            problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.norm(a.T @ q)), [cvxpy.sum(q) == 1, q <= 1 / k])
            pull = problem.solve()
            s = dro_risks.best_norm(pull, 2.0)
            value = dro_risks.log_cosh(s) - HALF_NORMAL * s * pull
            assert result["all"].get(name)[0, seed, 0] == pytest.approx(value, abs=1e-6)


def test_the_gap_of_weighted_top_k_risks(key, rng):
    """Against the reference: primal with the k largest, dual with the mass of q b."""
    environment = as_arrays(SyntheticGroups.heterogeneous(dim=6, n_groups=5, radius=2.0, top_k=2, weights=WEIGHTS))
    state = called.init(environment, key)
    a = np.asarray((state.correct - 0.5)[:, None] * state.optima)
    for _ in range(5):
        w, q = rng.normal(size=6), np.minimum(rng.dirichlet(np.ones(5)), 0.5)
        q = q / q.sum()
        risks = WEIGHTS * dro_risks.synthetic_risks(w, a)
        expected = dro_risks.mean_of_largest(risks, 2) - dro_risks.least_synthetic_risk(q, a, 2.0, WEIGHTS)
        assert evaluate(environment, state, w, q)["duality_gap"] == pytest.approx(expected, abs=1e-9)


def test_objectives_must_fit_the_groups():
    with pytest.raises(InputError, match="top_k must not exceed the 4 groups"):
        validate(SyntheticGroups(dim=3, n_groups=4, top_k=5))
    with pytest.raises(InputError, match=r"weights must be \[4\]"):
        validate(SyntheticGroups(dim=3, n_groups=4, weights=np.ones(3)))


@pytest.mark.quick("4")
@pytest.mark.parametrize("m", [4, 60])
def test_counts_places_and_lookups(m, rng, key):
    """A fixed list and a traced one give the same; rows that are not drawn count nowhere."""
    group, table = rng.integers(0, m, 9), rng.normal(size=(m, 2))
    drawn = rng.random(9) < 0.6

    @jax.jit
    def traced(group, drawn, table):
        decision = GroupDecision(None, None, group, drawn)
        return (
            draws.counts(decision, m), draws.places(decision, m), draws.per_group(table[:, 0], group),
            draws.rows_of(table, group), draws.groups_exist(group, m), draws.groups_exist(group + m - 1, m),
        )  # fmt: skip

    every, fixed = np.ones(9, bool), GroupDecision(None, None, group)
    for mask in (every, drawn):
        got = traced(group, mask, table)
        np.testing.assert_array_equal(got[0], np.bincount(group[mask], minlength=m))
        before = [np.sum(mask[:k] & (group[:k] == group[k])) for k in range(9)]
        np.testing.assert_array_equal(got[1], before)
    np.testing.assert_array_equal(got[2], table[group, 0])
    np.testing.assert_array_equal(got[3], table[group])
    assert got[4] and got[5] == (group.max() == 0)
    np.testing.assert_array_equal(draws.counts(fixed, m), np.bincount(group, minlength=m))
    np.testing.assert_array_equal(draws.places(fixed, m), traced(group, every, table)[1])
    np.testing.assert_array_equal(draws.per_group(table[:, 0], group), table[group, 0])
    np.testing.assert_array_equal(draws.rows_of(jnp.asarray(table), group), table[group])
    over_trials = jax.vmap(traced, (0, None, None))(np.stack([group, group[::-1]]), every, table)
    np.testing.assert_array_equal(over_trials[0][1], np.bincount(group, minlength=m))
    np.testing.assert_array_equal(over_trials[3][1], table[group[::-1]])
