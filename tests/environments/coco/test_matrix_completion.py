"""MatrixCompletion: what a round reveals against NumPy, its batches and constraints, and OFW-TVC on it step by step."""

import dataclasses
import os
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms.coco.ofw_tvc import OFWTVC
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import as_arrays, validate
from jaxbandits.domains.nuclear import NuclearBall
from jaxbandits.engine.meters import Meter
from jaxbandits.environments.coco import matrix_completion
from jaxbandits.environments.coco.matrix_completion import MatrixCompletion, Observed
from jaxbandits.environments.datasets.movielens import load_movielens
from jaxbandits.environments.datasets.ratings import low_rank_ratings
from jaxbandits.reproduction.experiments.coco import setting
from jaxbandits.simulation import simulate
from jaxbandits.testing import contract
from jaxbandits.types import PointDecision
from tests import compiled
from tests.reference import ofw_tvc as reference

KEY = jax.random.key(0)
SMALL = MatrixCompletion.stand_in((5, 7), 20, batch=4)
CONSTRAINTS = ("figure", "budget", "none")


@jax.jit
def _play(environment, key, xs):
    def round_(state, row):
        t, x = row
        state, feedback, outcome = environment.step(KEY, t, state, None, PointDecision.at(x))
        return state, (feedback.first(), outcome)

    rows = jnp.arange(len(xs), dtype=jnp.int32), xs
    return jax.lax.scan(round_, environment.init(key), rows)[1]


def play(environment, rounds, seed=0):
    """Random decisions and what came back for each, in NumPy."""
    xs = 3.0 * np.random.default_rng(seed).normal(size=(rounds, *environment.dim))
    told, outcome = _play(as_arrays(environment), jax.random.key(seed), jnp.asarray(xs))
    return xs, jax.tree.map(np.asarray, told), jax.tree.map(np.asarray, outcome)


def dense(entries, shape):
    full = np.zeros(shape)
    np.add.at(full, (entries.rows, entries.cols), entries.values)
    return full


def in_round(told, t):
    return jax.tree.map(lambda a: a[t], told)


class TestRounds:
    @pytest.mark.quick_cases("budget")
    @pytest.mark.parametrize("constraint", CONSTRAINTS)
    def test_losses_constraints_and_gradients(self, constraint):
        environment = dataclasses.replace(SMALL, constraint=constraint, order="shuffled")
        xs, told, outcome = play(environment, 12)
        matrix = dense(environment.observed, (5, 7))
        mean, bound = np.mean(environment.observed.values), 0.0
        if constraint == "budget":
            bound = 0.2 * mean * np.sqrt(35)
        for t, x in enumerate(xs):
            now = in_round(told, t)
            seen = (now.grad.rows, now.grad.cols)
            off = x[seen] - matrix[seen]
            assert np.all(matrix[seen] > 0) and len(set(zip(*seen, strict=True))) == 4  # observed, and each once
            assert now.loss == pytest.approx(0.5 * np.sum(off**2), rel=1e-13)
            np.testing.assert_allclose(now.grad.values, off, rtol=1e-13)
            assert now.con == pytest.approx(np.sum(now.con_grad * x) - bound, rel=1e-12, abs=1e-12)
            assert outcome.zero_loss[t] == pytest.approx(0.5 * np.sum(matrix[seen] ** 2))
        np.testing.assert_allclose(outcome.loss, told.loss, rtol=1e-13)
        np.testing.assert_allclose(outcome.constraint, told.con, rtol=1e-13, atol=1e-13)
        np.testing.assert_array_equal(outcome.violation, np.maximum(outcome.constraint, 0.0))

    def test_gradients_are_those_of_autodiff(self):
        environment = as_arrays(SMALL)
        state, x = compiled.init(environment, KEY), np.random.default_rng(1).normal(size=(5, 7))

        def value(x, what):
            return getattr(environment.step(KEY, jnp.int32(3), state, None, PointDecision.at(x))[2], what)

        @jax.jit
        def both(x):
            told = environment.step(KEY, jnp.int32(3), state, None, PointDecision.at(x))[1].first()
            return told, jax.grad(value)(x, "loss"), jax.grad(value)(x, "constraint")

        told, loss, constraint = both(x)
        np.testing.assert_allclose(dense(told.grad, (5, 7)), loss, atol=1e-13)
        np.testing.assert_allclose(told.con_grad, constraint, atol=1e-13)

    @pytest.mark.slow
    def test_several_queries(self):
        environment, xs = as_arrays(SMALL), jnp.asarray(np.random.default_rng(2).normal(size=(3, 5, 7)))
        state = environment.init(KEY)
        _, many, outcome = environment.step(KEY, jnp.int32(0), state, None, PointDecision(xs[1], xs))
        for k in range(3):
            _, one, _ = environment.step(KEY, jnp.int32(0), state, None, PointDecision.at(xs[k]))
            np.testing.assert_allclose(many.loss[k], one.loss[0], rtol=1e-13)
            np.testing.assert_allclose(many.con[k], one.con[0], rtol=1e-12)
            np.testing.assert_array_equal(many.grad.values[k], one.grad.values[0])
        assert outcome.loss == many.loss[1]

    @pytest.mark.slow
    def test_bounds_on_the_gradients(self):
        for constraint in ("figure", "budget"):
            environment = dataclasses.replace(SMALL, constraint=constraint)
            xs, told, _ = play(environment, 200, seed=3)
            radius = np.linalg.norm(xs.reshape(200, -1), axis=1)
            largest = np.linalg.norm(told.grad.values, axis=1)
            assert np.all(largest <= [float(dataclasses.replace(environment, radius=r).lipschitz) for r in radius])
            steep = np.linalg.norm(told.con_grad.reshape(200, -1), axis=1)
            assert np.all(steep <= environment.constraint_lipschitz)
            assert steep.max() > 0.5 * environment.constraint_lipschitz


class TestBatches:
    def entries(self, environment, rounds, seed=0):
        _, told, _ = play(environment, rounds, seed)
        return told.grad.rows * environment.dim[1] + told.grad.cols  # [T, B]

    def test_a_shuffled_pass_meets_every_entry_once_and_the_next_in_another_order(self):
        environment = dataclasses.replace(SMALL, order="shuffled")
        first, second = self.entries(environment, 10).reshape(2, 5, 4)
        everything = sorted(np.asarray(environment.observed.rows) * 7 + np.asarray(environment.observed.cols))
        assert sorted(first.ravel()) == sorted(second.ravel()) == everything
        assert not np.array_equal(first, second)

    @pytest.mark.parametrize(("ids", "ratings"), [(np.uint8, np.int8), (np.int16, np.uint8)])
    def test_small_integer_types_have_room_for_cells_and_squares(self, ids, ratings):
        ends, values = np.array([199, 198, 0]), np.array([100.0, 90.0, 100.0])
        observed = Observed(ends.astype(ids), ends[::-1].astype(ids), values.astype(ratings))
        environment = MatrixCompletion(dim=(200, 200), observed=observed, batch=3, order="fresh")
        _, (rows, cols, rated) = environment._batch(KEY, jnp.int32(0), jnp.zeros(0, jnp.int32))
        assert sorted(rows * 200 + cols) == [199, 198 * 201, 199 * 200]
        assert float(rated @ rated) == np.sum(values**2) == pytest.approx(2.0 * float(environment.mean_zero_loss))

    @pytest.mark.slow
    def test_what_does_not_fill_a_batch_is_left_out_of_a_pass(self):
        environment = dataclasses.replace(SMALL, order="shuffled", batch=6)
        seen = self.entries(environment, 300).reshape(100, 18)
        assert all(len(set(row)) == 18 for row in seen)
        missing = [sorted(set(np.unique(seen)) - set(row)) for row in seen]
        assert len({tuple(pair) for pair in missing}) > 20  # others each time

    @pytest.mark.slow
    def test_fresh_batches_are_uniform(self):
        """Each of the 20 entries in 4 of 20 rounds: binomial counts over 4000 rounds, within 5 deviations."""
        seen = self.entries(SMALL, 4000)
        assert all(len(set(row)) == 4 for row in seen[:200])
        counts = np.unique(seen, return_counts=True)[1]
        assert len(counts) == 20
        assert np.abs(counts - 800).max() < 5 * np.sqrt(4000 * 0.2 * 0.8)
        pairs = np.mean([(row[:, None] == seen[0]).any() for row in seen[1:]])  # independent of the first round
        assert pairs == pytest.approx(1 - (16 * 15 * 14 * 13) / (20 * 19 * 18 * 17), abs=5 * 0.5 / np.sqrt(4000))

    def test_every_ordered_choice_is_as_likely(self):
        """Three of five: 60 ordered triples, 200 draws expected of each; also what swaps of swaps bring."""
        uniforms = np.random.default_rng(0).random((12_000, 3))
        drawn = np.asarray(jax.jit(jax.vmap(lambda u: matrix_completion._distinct(5, u)))(jnp.asarray(uniforms)))
        for row, u in zip(drawn[:300], uniforms, strict=False):  # a shuffle that moves everything
            order = list(range(5))
            for k in range(3):
                c = k + int(u[k] * (5 - k))
                order[k], order[c] = order[c], order[k]
            assert order[:3] == list(row)
        triples, counts = np.unique(drawn, axis=0, return_counts=True)
        assert len(triples) == 60
        assert np.sum((counts - 200.0) ** 2 / 200.0) < 59 + 5 * np.sqrt(2 * 59)

    @pytest.mark.slow
    def test_every_entry_comes_as_soon_as_any_other(self):
        """Which round of five asks for an entry is uniform over passes: 400 of 2000 expected, for 20 entries."""
        environment = dataclasses.replace(SMALL, order="shuffled")
        seen = self.entries(environment, 10_000).reshape(2000, 5, 4)
        for entry in np.unique(seen[0]):
            counts = (seen == entry).sum(axis=(0, 2))
            assert counts.sum() == 2000
            assert np.abs(counts - 400).max() < 5 * np.sqrt(2000 * 0.2 * 0.8)

    def test_trials_have_orders_of_their_own(self):
        assert not np.array_equal(self.entries(SMALL, 5, seed=0), self.entries(SMALL, 5, seed=1))


class TestConstraints:
    @pytest.mark.slow
    def test_entries_are_uniform_and_independent(self):
        drawn = play(dataclasses.replace(SMALL, dim=(13, 11)), 2000)[1].con_grad  # 13 is no multiple of 4
        flat = drawn.reshape(2000, -1)
        n = flat.size
        assert np.abs(flat).max() < 1.0
        for moment, mean, spread in ((1, 0.0, 1 / 3), (2, 1 / 3, 4 / 45), (4, 1 / 5, 16 / 225)):
            assert np.mean(flat**moment) == pytest.approx(mean, abs=5 * np.sqrt(spread / n))
        correlations = flat.T @ flat / 2000 * 3.0
        np.fill_diagonal(correlations, 0.0)
        assert np.abs(correlations).max() < 6 / np.sqrt(2000)
        assert np.abs(np.mean(flat[1:] * flat[:-1])) < 5 / 3 / np.sqrt(n)
        assert len(np.unique(flat[:50])) > 0.9 * 50 * 143 * (1 - 50 * 143 / 2**17)  # 16 bits

    def test_violation_of_the_figure_is_a_share_of_the_norm(self):
        """E max(<P, X>, 0) = ||X|| / sqrt(6 pi) for P symmetric with variance 1/3: nothing can be learned."""
        xs, _, outcome = play(SMALL, 2000, seed=4)
        ratio = outcome.violation.sum() / np.linalg.norm(xs.reshape(2000, -1), axis=1).sum()
        assert ratio == pytest.approx(1 / np.sqrt(6 * np.pi), rel=0.1)  # 5 deviations of 2000 half-normals are 0.13

    @pytest.mark.slow
    def test_budget_has_a_mean(self):
        normals = play(dataclasses.replace(SMALL, constraint="budget"), 1000)[1].con_grad * np.sqrt(35)
        assert normals.min() > 0.5 and normals.max() < 1.5
        assert normals.mean() == pytest.approx(1.0, abs=5 * 0.5 / np.sqrt(3 * normals.size))


def learner(environment, radius=60.0, **domain):
    bound = float(environment.lipschitz)
    return OFWTVC.practical(
        dim=environment.dim,
        horizon=60.0,
        domain=NuclearBall(radius=radius, **domain),
        lipschitz=bound,
        constraint_scale=bound / environment.constraint_lipschitz,
        lam=0.2,
        gamma=0.2,
    )


class TestWithOFWTVC:
    @pytest.mark.slow_after_first
    @pytest.mark.parametrize(("dim", "domain"), [((5, 7), {}), ((20, 26), {"exact_below": 1})], ids=str)
    def test_state_by_state_from_common_points(self, dim, domain):
        """Ties in flat directions amplify rounding: each step starts from the recorded state; oracles by value."""
        environment = MatrixCompletion.stand_in(dim, 2 * sum(dim), batch=4)
        algorithm, environment = as_arrays(learner(environment, **domain)), as_arrays(environment)

        @jax.jit
        def trace(algorithm, environment):
            def round_(carry, t):
                state, now = carry
                decision = algorithm.select(KEY, t, state, None)
                now, feedback, _ = environment.step(KEY, t, now, None, decision)
                after = algorithm.update(KEY, t, state, None, decision, feedback)
                return (after, now), (state, feedback.first(), after)

            begin = algorithm.init(KEY), environment.init(KEY)
            return jax.lax.scan(round_, begin, jnp.arange(60, dtype=jnp.int32))[1]

        states, told, after = jax.tree.map(np.asarray, trace(algorithm, environment))
        scale, unit = float(algorithm.constraint_scale), float(algorithm.beta * algorithm.gamma)
        worst, moved = 1.0, 0.0
        for t in range(60):
            before, now, new = (in_round(a, t) for a in (states, told, after))
            queue, x, after_x = before.queue.total, before.run.last.x, new.run.last.x
            before, new = before.run, new.run
            loop = reference.OFWTVC(
                x,
                lambda c: reference.lmo_nuclear(c, 60.0),
                120.0,
                60.0,
                float(algorithm.lipschitz),
                float(algorithm.beta),
                float(algorithm.gamma),
                float(algorithm.lam),
                before.level * unit,
                eta_scale=float(algorithm.eta_scale),
            )
            loop.anchor, loop.gsum = before.anchor, before.grad_sum * unit
            loop.Q, loop.s, loop.t = queue, before.start + 1, t
            chosen = {}

            def remember_vertex(c, loop=loop, chosen=chosen):
                chosen["direction"], chosen["vertex"] = c, reference.lmo_nuclear(c, 60.0)
                return chosen["vertex"]

            loop.lmo = remember_vertex
            expected = loop.step(dense(now.grad, dim), scale * now.con, scale * now.con_grad)
            np.testing.assert_allclose(new.grad_sum * unit, loop.gsum, rtol=1e-10, atol=1e-12 * unit)
            np.testing.assert_allclose(new.anchor, expected["anchor"], atol=1e-12)
            assert new.level * unit == pytest.approx(expected["level"], rel=1e-12)
            sigma = min(1.0, 2.0 / np.sqrt(t + 1 - expected["s"] + 1))
            vertex = x + (after_x - x) / sigma
            assert np.linalg.svd(vertex, compute_uv=False).sum() <= 60.0 * (1 + 1e-9)
            best = np.sum(chosen["direction"] * chosen["vertex"])
            worst = min(worst, np.sum(chosen["direction"] * vertex) / best)
            moved = max(moved, np.abs(after_x - x).max())
        assert worst > (0.9 if domain else 1 - 1e-9)
        assert moved > 1.0

    @pytest.mark.slow
    def test_contract(self):
        algorithm = learner(SMALL)
        for check in (contract.state_shape_is_fixed, contract.trials_do_not_depend_on_the_split):
            check(algorithm, SMALL)

    def test_every_learner_of_the_figures_plays_matrices(self):
        """Shapes and types only: nothing is compiled."""
        for make, labels in ((setting.full_information, setting.FULL), (setting.bandit, setting.BANDIT)):
            for learner in make(SMALL, 50, setting.plain_multipliers(labels)).values():
                contract.state_shape_is_fixed(learner, SMALL)

    @pytest.mark.slow
    def test_it_learns_what_can_be_learned(self):
        environment = MatrixCompletion.stand_in(constraint="none")
        algorithm = OFWTVC.practical(
            dim=(20, 26), horizon=1500, domain=NuclearBall(radius=170.0), lipschitz=float(environment.lipschitz)
        )
        trials = simulate(algorithm, environment, 1500, 2, progress=False, record_points=5)["OFWTVC"]
        loss, zero = (trials.values[name].mean(axis=(0, 1)) for name in ("loss", "zero_loss"))
        assert loss[-1] - loss[-2] < 0.5 * (zero[-1] - zero[-2])


@pytest.mark.slow
def test_movielens_size():
    """943 x 1682: every oracle's residual, the value beside an independent one, and the violation's known share."""
    path = Path(os.environ.get("JAXBANDITS_DATA", "nowhere")) / "movielens-100k/u.data"
    ratings = load_movielens(path) if path.is_file() else low_rank_ratings()
    environment = MatrixCompletion.from_ratings(ratings)
    bound = float(environment.lipschitz)
    algorithm = OFWTVC(
        dim=environment.dim,
        horizon=1000.0,
        domain=NuclearBall(radius=1e4),
        lipschitz=bound,
        constraint_scale=bound / environment.constraint_lipschitz,
    )
    meters = [
        Meter("residual", lambda played: played.next_state.run.last.guess.residual, "max"),
        Meter("norm", lambda played: jnp.linalg.norm(played.decision.play)),
    ]
    trials = simulate(algorithm, environment, 100, 1, progress=False, record_points=2, meters=meters)["OFWTVC"]
    assert trials.values["residual"].max() < 0.5
    ratio = trials.values["violation"][..., -1] / trials.values["norm"][..., -1]
    assert ratio == pytest.approx(1 / np.sqrt(6 * np.pi), rel=0.6)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"constraint": "none at all"}, "constraint of MatrixCompletion"),
        ({"order": "sorted"}, "order of MatrixCompletion"),
        ({"batch": 21}, "batch <= N"),
        ({"dim": (5, 6)}, r"cols must be whole numbers in \[0, 6\)"),
        ({"dim": 35}, r"\(m, n\)"),
        ({"observed": (np.zeros(9), np.zeros(9), np.zeros(9))}, "which from_ratings creates"),
        ({"observed": Observed(np.zeros(3, int), np.zeros(3, int), np.zeros(4))}, r"of the same shape \[N\]"),
        ({"observed": Observed(np.zeros(4), np.zeros(4), np.zeros(4))}, "rows must be whole numbers"),
        ({"observed": Observed(np.zeros(4, int), np.zeros(4, int), np.full(4, np.nan))}, "must be finite"),
        (
            {"observed": Observed(np.zeros(4, int), np.array([0, 1, 2, 1]), np.zeros(4)), "comparator": "domain"},
            "must not contain an entry twice",
        ),
        ({"allowance": 0.0}, "allowance"),
    ],
)
def test_refuses(change, says):
    with pytest.raises(InputError, match=says):
        validate(dataclasses.replace(SMALL, **change))
