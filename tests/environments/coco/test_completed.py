"""Best points in hindsight: optimality conditions, the reference's augmented Lagrangian, and the rounds of a trial."""

import dataclasses
import os
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms.coco.ofw import OFW
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import as_arrays
from jaxbandits.domains.nuclear import NuclearBall
from jaxbandits.environments.coco import completed
from jaxbandits.environments.coco.matrix_completion import MatrixCompletion
from jaxbandits.environments.datasets.filmtrust import load_filmtrust
from jaxbandits.environments.datasets.movielens import load_movielens
from jaxbandits.simulation import simulate
from jaxbandits.types import PointDecision
from tests.reference.convex_sets import TraceNormBall
from tests.reference.feasible_comparator import feasible_comparator


def problem(seed, radius):
    rng = np.random.default_rng(seed)
    return completed.Problem(rng.integers(1, 4, size=(4, 5)).astype(float), 2.0 + rng.normal(size=(4, 5)), radius)


@pytest.mark.parametrize("radius", [1.0, 4.0, 100.0])
def test_best_is_certified_by_its_gap(radius):
    given = problem(0, radius)
    x = completed.best(given, np.zeros((4, 5)), 1e-9)
    gradient = given.gradient(x)
    assert np.linalg.svd(x, compute_uv=False).sum() <= radius * (1 + 1e-12)
    assert np.sum(gradient * x) + radius * np.linalg.norm(gradient, 2) <= 1e-9 * (1 + given.loss(np.zeros((4, 5))))


@pytest.mark.parametrize("size", [1e-6, 1e-3])
def test_tiny_ratings_are_completed_as_large_ones(size):
    """The tolerance is relative: an absolute one accepts the zero matrix if the losses are tiny."""
    large, rows, start = problem(0, 4.0), np.ones((1, 20)), np.zeros((4, 5))
    tiny = completed.Problem(large.weight, size * large.target, size * large.radius)
    for best in (
        lambda given, bound: completed.best(given, start),
        lambda given, bound: completed.best_feasible(given, rows, np.array([bound]), start),
    ):
        expected, found = best(large, 5.0), best(tiny, 5.0 * size)
        assert large.loss(expected) < 0.9 * large.loss(start)
        assert tiny.loss(found) == pytest.approx(size**2 * large.loss(expected), rel=1e-3)


@pytest.mark.parametrize("radius", [4.0, 100.0])
def test_best_feasible_is_that_of_the_reference(radius):
    given, rng = problem(1, radius), np.random.default_rng(2)
    rows, bounds = 1.0 + rng.uniform(-0.5, 0.5, size=(12, 20)), np.full(12, 8.0)
    x = completed.best_feasible(given, rows, bounds, np.zeros((4, 5)), 1e-7)
    expected, mu, excess = feasible_comparator(
        given.loss, given.gradient, given.weight.max(), TraceNormBall((4, 5), radius).project,
        rows.reshape(12, 4, 5), bounds, np.zeros((4, 5)), outer=150, inner=400,
    )  # fmt: skip
    assert excess < 1e-6 and mu.max() > 1e-3  # the constraints matter
    assert np.max(rows @ x.ravel() - bounds) < 1e-5
    assert given.loss(x) == pytest.approx(given.loss(expected), rel=1e-4)


def test_a_search_that_ends_too_early_warns(monkeypatch):
    given, rng = problem(1, 4.0), np.random.default_rng(2)
    monkeypatch.setattr(completed, "_MOST", 3)
    with pytest.warns(UserWarning, match="is not certified after 3 steps: its loss may be too large"):
        completed.best(given, np.zeros((4, 5)), 1e-9)
    monkeypatch.undo()
    monkeypatch.setattr(completed, "_OUTER", 1)
    with pytest.warns(UserWarning, match="may violate a constraint after 1 step:"):
        completed.best_feasible(given, rng.uniform(0.5, 1.5, size=(12, 20)), np.full(12, 1.0), np.zeros((4, 5)), 1e-7)


def test_hindsight_draws_the_rounds_of_the_trial_once_more():
    environment = as_arrays(MatrixCompletion.stand_in((5, 7), 20, batch=4, constraint="budget", comparator="domain"))
    state = environment.init(jax.random.key(3))
    words = np.asarray(environment.at_record(state, None)["instance"], float)
    cells, normals, bound = environment._rounds(words, 6)

    def step(state, t):
        state, told, _ = environment.step(jax.random.key(9), t, state, None, PointDecision.at(jnp.zeros((5, 7))))
        told = told.first()
        return state, (told.grad.rows * 7 + told.grad.cols, told.con_grad.ravel(), told.con)

    _, (seen, normal, con) = jax.lax.scan(step, state, jnp.arange(6, dtype=jnp.int32))
    np.testing.assert_array_equal(cells, seen)
    np.testing.assert_allclose(normals, normal, rtol=1e-15)
    np.testing.assert_allclose(con, -bound)


def test_hindsight_with_another_default_generator():
    """The key of a trial belongs to Threefry, whatever generator the user's own keys have."""
    environment = MatrixCompletion.stand_in((5, 7), 20, batch=4, constraint="budget", comparator="domain")
    words, before = np.array([[1.0, 2.0, 3.0, 4.0]]), jax.config.jax_default_prng_impl
    usual = environment.in_hindsight({"instance": words}, np.array([3]))
    try:
        jax.config.update("jax_default_prng_impl", "rbg")
        found = environment.in_hindsight({"instance": words}, np.array([3]))
    finally:
        jax.config.update("jax_default_prng_impl", before)
    np.testing.assert_array_equal(found["comparator_loss"], usual["comparator_loss"])


@pytest.mark.slow
def test_regret_of_a_run():
    """Against the best of many random points of the ball, which do no better; feasible points do no better than any."""
    environment = MatrixCompletion.stand_in((5, 7), 20, batch=4, constraint="budget", radius=9.0, comparator="feasible")
    learner = OFW(dim=(5, 7), horizon=12, domain=NuclearBall(radius=9.0), lipschitz=float(environment.lipschitz))
    values = simulate(learner, environment, 12, 1, progress=False, record_points=1)["OFW"].values
    np.testing.assert_allclose(values["regret"], values["loss"] - values["comparator_loss"])
    np.testing.assert_allclose(values["feasible_regret"], values["loss"] - values["feasible_comparator_loss"])
    assert np.all(values["comparator_loss"] <= values["feasible_comparator_loss"] * (1 + 1e-5))
    assert np.all(values["feasible_comparator_loss"] < values["zero_loss"])
    assert np.all(values["feasible_comparator_excess"] < 1e-2)
    assert np.all(values["regret"][..., -1] > 0.0)


def test_too_many_constraints_of_the_figure_are_refused():
    environment = MatrixCompletion.stand_in((5, 7), 20, batch=4, comparator="feasible")
    with pytest.raises(InputError, match="few points other than 0"):
        environment.in_hindsight({"instance": np.zeros((1, 4))}, [18])
    assert dataclasses.replace(environment, comparator="none").in_hindsight({}, [18]) == {}


DATA = Path(os.environ.get("JAXBANDITS_DATA", "nowhere"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("load", "file", "share"),
    [(load_filmtrust, "filmtrust/ratings.txt", 0.0), (load_movielens, "movielens-100k/u.data", 1e-3)],
)
def test_a_point_of_the_paper_s_ball_fits_the_real_ratings(load, file, share):
    """Which is why the figures on data draw no regret: over a pass, and over any part of one, it is the loss."""
    if not (DATA / file).is_file():
        pytest.skip(f"JAXBANDITS_DATA has no {file}")
    ratings = load(DATA / file)
    given = completed.Problem(np.zeros(ratings.shape), np.zeros(ratings.shape), 1e4)
    given.weight[ratings.users, ratings.items] = 1.0
    given.target[ratings.users, ratings.items] = ratings.ratings
    x = given.target
    if np.linalg.svd(x, compute_uv=False).sum() > given.radius:
        x = completed.best(given, np.zeros(ratings.shape), 0.02)  # within 2 % by its gap; in truth much nearer
        assert np.linalg.svd(x, compute_uv=False).sum() <= given.radius * (1 + 1e-12)
    assert given.loss(x) <= share * given.loss(0.0 * x)
