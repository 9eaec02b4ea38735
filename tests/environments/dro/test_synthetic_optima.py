"""Objectives of top-k and weighted risks of synthetic groups, and their optima."""

import itertools
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize

from jaxbandits.algorithms.dro.online import Online
from jaxbandits.algorithms.dro.smd import SMD
from jaxbandits.base.pytree import as_arrays
from jaxbandits.environments.dro import saddle as saddle_
from jaxbandits.environments.dro.synthetic_groups import SyntheticGroups
from jaxbandits.simulation import compare
from tests import compiled
from tests.environments.dro.groups import HALF_NORMAL, evaluate
from tests.reference import dro_risks

WEIGHTS = np.array([1.0, 0.8, 0.5, 0.9, 0.7])


@pytest.fixture(scope="module")
def short_run():
    """Two learners, three instances: metrics of risks, samples and optima."""
    environment = SyntheticGroups.heterogeneous(dim=6, n_groups=5, radius=2.0, top_k=2, weights=WEIGHTS)
    learners = {"all": SMD(dim=6, n_groups=5, horizon=60), "one": Online(dim=6, n_groups=5, horizon=60)}
    return environment, compare(learners, environment, 60, 3, record_points=3, progress=False)


def instance_of(environment, trials, seed):
    """`[m, d]` a_i, drawn again from the recorded words of the key."""
    words = trials.get("instance")[0, seed, 0].astype(np.uint32)
    key = jax.random.wrap_key_data(jnp.asarray((words[:2] << 16) | words[2:]), impl="threefry2x32")
    state = compiled.init(environment, key)
    return np.asarray((state.correct - 0.5)[:, None] * state.optima)


@pytest.mark.slow
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
    records = result["all"].record_points
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


@pytest.mark.parametrize("unit", [1e-9, 1e-3, 1e6])
def test_the_weighted_optimum_has_the_unit_of_the_weights(unit, rng):
    """The solver's tolerances are absolute, so that it would stop too early, or make no progress."""
    a, weights = 0.4 * rng.normal(size=(4, 5)), np.array([1.0, 0.7, 1.3, 0.5])
    environment = SyntheticGroups(dim=5, n_groups=4)
    expected, found = (environment._optimum(a, 1, factor * weights) for factor in (1.0, unit))
    assert expected.gap <= 1e-8 and found.gap <= 1e-8 * unit
    assert found.value == pytest.approx(unit * expected.value, rel=1e-7)
    np.testing.assert_allclose(found.risks, unit * expected.risks, rtol=1e-3)


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
    state = compiled.init(environment, key)
    a = np.asarray((state.correct - 0.5)[:, None] * state.optima)
    for _ in range(5):
        w, q = rng.normal(size=6), np.minimum(rng.dirichlet(np.ones(5)), 0.5)
        q = q / q.sum()
        risks = WEIGHTS * dro_risks.synthetic_risks(w, a)
        expected = dro_risks.mean_of_largest(risks, 2) - dro_risks.least_synthetic_risk(q, a, 2.0, WEIGHTS)
        assert evaluate(environment, state, w, q)["duality_gap"] == pytest.approx(expected, abs=1e-9)
