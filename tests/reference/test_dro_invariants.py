"""Invariants of the group-DRO references: projections, samplers, identities, degenerate cases."""

import itertools

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given
from hypothesis import strategies as st

from tests.reference import dro_methods as methods
from tests.reference import dro_public as public
from tests.reference import dro_risks as risks
from tests.reference import dro_weights as weights

BALL = methods.ball(0.5)


def data(rng, horizon=40, m=4, d=3):
    return rng.normal(size=(horizon, m, d)), rng.choice([-1.0, 1.0], (horizon, m)), rng.random((horizon, m))


@st.composite
def log_weights(draw):
    """log p of any scale, often with ties, and a k."""
    m = draw(st.integers(1, 12))
    scale = draw(st.sampled_from([0.01, 1.0, 100.0]))
    entries = st.integers(-3, 3) if draw(st.booleans()) else st.floats(-3.0, 3.0, width=32)
    return scale * np.array(draw(st.lists(entries, min_size=m, max_size=m)), float), draw(st.integers(1, m))


class TestCappedProjection:
    @pytest.mark.parametrize(
        ("k", "expected"),
        [
            (1, (0.5, 0.3, 0.1, 0.06, 0.04)),
            (2, (0.5, 0.3, 0.1, 0.06, 0.04)),
            (3, (1 / 3, 1 / 3, 1 / 6, 0.1, 1 / 15)),
            (4, (0.25, 0.25, 0.25, 0.15, 0.1)),
            (5, (0.2, 0.2, 0.2, 0.2, 0.2)),
        ],
    )
    def test_known_values(self, k, expected):
        np.testing.assert_allclose(weights.project(np.log([0.5, 0.3, 0.1, 0.06, 0.04]), k), expected, rtol=1e-14)

    @given(log_weights())
    def test_equals_bisection(self, case):
        log_p, k = case
        q = weights.project(log_p, k)
        np.testing.assert_allclose(q, weights.project_by_bisection(log_p, k), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(np.sum(q), 1.0, rtol=1e-13)
        assert np.max(q) <= (1 + 1e-15) / k

    @given(log_weights(), st.floats(-50.0, 50.0))
    def test_order_shift_and_idempotence(self, case, shift):
        log_p, k = case
        q = weights.project(log_p, k)
        order = np.argsort(log_p, kind="stable")
        assert np.all(np.diff(q[order]) >= 0)
        np.testing.assert_allclose(weights.project(log_p + shift, k), q, rtol=1e-11, atol=1e-300)
        np.testing.assert_allclose(weights.project(np.log(np.maximum(q, 1e-300)), k), q, rtol=1e-12, atol=1e-299)

    def test_it_is_the_nearest_point(self, rng):
        """Against a general solver of min KL(q, p) over the capped simplex."""
        for k in (1, 2, 4):
            log_p = rng.normal(size=6)

            def divergence(q, log_p=log_p):
                return np.sum(q * (np.log(q) - log_p)), np.log(q) - log_p + 1.0

            found = scipy.optimize.minimize(
                divergence,
                np.full(6, 1 / 6),
                jac=True,
                method="SLSQP",
                bounds=[(1e-9, 1 / k)] * 6,
                constraints={"type": "eq", "fun": lambda q: np.sum(q) - 1.0, "jac": np.ones_like},
                options={"ftol": 1e-15, "maxiter": 1000},
            )
            np.testing.assert_allclose(weights.project(log_p, k), found.x, atol=1e-6)

    def test_where_the_printed_algorithm_8_fails(self, rng):
        """Its two-sided test has no answer at ties and lost digits: then its "weights" sum to m/k. Ours have one."""
        failed = 0
        for _ in range(2000):
            m = int(rng.integers(3, 8))
            k = int(rng.integers(2, m))
            p = rng.choice([1.0, 2.0, 3.0, 4.0], m) * rng.uniform(0.5, 2.0)
            printed, safe = weights.algorithm_8(p, k), weights.project(np.log(p), k)
            np.testing.assert_allclose(np.sum(safe), 1.0, rtol=1e-13)
            if abs(np.sum(printed) - 1.0) > 1e-9:
                np.testing.assert_allclose(np.sum(printed), m / k, rtol=1e-13)
                failed += 1
            else:
                np.testing.assert_allclose(printed, safe, rtol=1e-9)
        assert failed >= 5, failed

    def test_where_algorithm_8_fails_in_a_run_that_drifts_into_a_corner(self):
        """Two of six groups always lose more: their rivals' weights fall below the rounding of theirs."""
        q_printed, q_safe, failures = np.full(6, 1 / 6), np.full(6, 1 / 6), 0
        gain = np.array([1.0, 1.0, 0.2, 0.15, 0.1, 0.0])
        for _ in range(200):
            printed = weights.algorithm_8(q_printed * np.exp(0.5 * gain), 2)
            failures += abs(np.sum(printed) - 1.0) > 1e-9
            q_safe = weights.mirror(q_safe, 0.5 * gain, 2)
            q_printed = q_safe.copy()  # each round from the right weights
            assert abs(np.sum(q_safe) - 1.0) < 1e-13
        np.testing.assert_allclose(q_safe[:2], 0.5, rtol=1e-9)
        assert failures >= 20, failures

    def test_tsallis_step_is_the_regularised_leader(self, rng):
        """1/sqrt(q') - 1/sqrt(q) - step is the same for every group, and q' sums to one."""
        for _ in range(20):
            q, step = rng.dirichlet(np.ones(5)), rng.normal(size=5)
            after = weights.tsallis(q, step)
            np.testing.assert_allclose(np.sum(after), 1.0, rtol=1e-12)
            multiplier = 1 / np.sqrt(after) - 1 / np.sqrt(q) - step
            np.testing.assert_allclose(multiplier, multiplier[0], rtol=1e-9, atol=1e-12)


class TestSamplers:
    Q = np.array([1 / 3, 0.3, 0.2, 0.1, 0.05, 1 / 60])

    def test_dep_round_known_sets(self):
        np.testing.assert_array_equal(weights.dep_round(self.Q, 3, [0.1, 0.2, 0.3, 0.4, 0.5]), [0, 1, 2])
        np.testing.assert_array_equal(weights.dep_round(self.Q, 3, [0.9, 0.8, 0.7, 0.6, 0.5]), [0, 2, 3])

    @pytest.mark.parametrize("name", ["dep_round", "systematic"])
    def test_always_k_with_the_marginals_of_q(self, name, rng):
        n, k = 20_000, 3
        counts = np.zeros(6)
        for _ in range(n):
            u = rng.random(5) if name == "dep_round" else rng.random()
            chosen = getattr(weights, name)(self.Q, k, u)
            assert len(chosen) == k
            counts[chosen] += 1
        p = k * self.Q
        error = np.sqrt(np.maximum(p * (1 - p), 0) * n)
        assert np.all(np.abs(counts - n * p) <= 4 * error + 1e-9 * n)

    @given(log_weights(), st.integers(0, 2**32 - 1))
    def test_k_indices_whatever_q(self, case, seed):
        log_p, k = case
        q, draws = weights.project(log_p, k), np.random.default_rng(seed)
        for chosen in (weights.dep_round(q, k, draws.random(len(q) - 1)), weights.systematic(q, k, draws.random())):
            assert len(set(chosen.tolist())) == k
            assert set(np.flatnonzero(k * q > 1 - 1e-13)) <= set(chosen.tolist())

    def test_dep_round_one_is_a_draw_from_q(self, rng):
        """k = 1: exact probabilities from the tree of branches, by counting over a grid of uniforms."""
        q = np.array([0.5, 0.3, 0.2])
        grid = (np.arange(80) + 0.5) / 80
        counts = np.zeros(3)
        for u in itertools.product(grid, grid):
            counts[weights.dep_round(q, 1, u)] += 1
        np.testing.assert_allclose(counts / 80**2, q, atol=0.02)

    def test_inverse_cdf(self):
        q = np.array([0.25, 0.5, 0.25])
        got = [weights.inverse_cdf(q, u) for u in (0.0, 0.2499, 0.25, 0.7499, 0.75, 0.9999, 1.0)]
        assert got == [0, 0, 1, 1, 2, 2, 2]
        assert [weights.uniform_index(3, u) for u in (0.0, 1 / 3 - 1e-9, 0.34, 0.99, 1.0)] == [0, 0, 1, 2, 2]


class TestDegenerateCases:
    def test_one_of_k_is_plain(self, rng):
        x, y, u = data(rng)
        top = methods.atkro_k(
            x, y, u, 0.3, 1.0, 0.5, BALL, 1, sampler=lambda q, k, u: np.array([weights.inverse_cdf(q, u[0])])
        )
        plain = methods.online(x, y, u, 0.3, 1.0, 0.5, BALL)
        for a, b in zip(top, plain, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-15)

    def test_all_of_k_is_erm_on_group_means(self, rng):
        x, y, u = data(rng)
        runs = [
            methods.smd(x, y, 0.3, 0.0, BALL, k=4),
            methods.smd(x, y, 0.3, 5.0, BALL, k=4),
            methods.atkro_k(x, y, u, 0.3, 2.0, 0.5, BALL, 4),
            methods.online(x, y, u, 0.3, 2.0, 0.5, BALL, k=4),
        ]
        w, erm = np.zeros(3), []
        for t in range(len(x)):
            erm.append(w)
            w = BALL(w - 0.3 * np.mean(methods.logistic(w, x[t], y[t])[1], axis=0))
        for run in runs:
            np.testing.assert_allclose(run.q, 0.25, rtol=1e-13)
            np.testing.assert_allclose(run.mean_q, 0.25, rtol=1e-13)  # eta_q = 0 among them: no 0/0
        for run in runs[:3]:
            np.testing.assert_allclose(run.w[:-1], erm, rtol=1e-12, atol=1e-15)

    def test_equal_budgets(self, rng):
        x, y, u = data(rng)
        masked, full = methods.smd_r(x, y, u, (7, 7, 7, 7), 0.3, 1.0, BALL), methods.smd(x, y, 0.3, 1.0, BALL)
        for a, b in zip(masked, full, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-15)
        np.testing.assert_array_equal(methods.budget_weights((7, 7, 7)), 1.0)
        np.testing.assert_array_equal(methods.batch_sizes((7, 7, 7)), 1)

    def test_constant_losses_leave_q(self, rng):
        x, y, _ = data(rng)
        run = methods.smd(np.repeat(x[:, :1], 4, 1), np.repeat(y[:, :1], 4, 1), 0.3, 2.0, BALL)
        np.testing.assert_allclose(run.q, 0.25, rtol=1e-13)

    @pytest.mark.parametrize("k", [1, 3])
    def test_permuting_groups_permutes_weights(self, k, rng):
        x, y, _ = data(rng)
        order = rng.permutation(4)
        one = methods.smd(x, y, 0.3, 2.0, BALL, k)
        other = methods.smd(x[:, order], y[:, order], 0.3, 2.0, BALL, k)
        np.testing.assert_allclose(other.w, one.w, rtol=1e-11, atol=1e-14)
        np.testing.assert_allclose(other.q, one.q[:, order], rtol=1e-11)

    def test_anytime_with_constant_steps_is_the_fixed_form(self, rng):
        x, y, u = data(rng)
        flat = np.ones(len(x))
        for a, b in zip(
            methods.online(x, y, u, 0.3 * flat, 0.7 * flat, 0.2 * flat, BALL),
            methods.online(x, y, u, 0.3, 0.7, 0.2, BALL),
            strict=True,
        ):
            np.testing.assert_array_equal(a, b)


class TestIdentities:
    @pytest.mark.parametrize("k", [1, 2, 3])
    def test_implicit_exploration(self, k, rng):
        """(84) and (124): <q, s~> = mean over I of the losses - (gamma / k) sum s~, with k q + gamma below."""
        for _ in range(50):
            q = weights.project(rng.normal(size=5), k)
            loss, gamma = rng.uniform(-1.0, 1.0, 5), rng.uniform(0.01, 1.0)
            chosen = weights.dep_round(q, k, rng.random(4))
            estimate = np.zeros(5)
            estimate[chosen] = loss[chosen] / (k * q[chosen] + gamma)
            right = (np.sum(loss[chosen]) - gamma * np.sum(estimate)) / k
            np.testing.assert_allclose(q @ estimate, right, rtol=1e-12, atol=1e-14)

    def test_exponents_are_bounded(self, rng):
        """gamma = eta_q / 2: the logarithm of a weight moves by at most 2 |1 - loss| before normalisation."""
        x, y, u = data(rng, horizon=300)
        run = methods.online(3.0 * x, y, u, 0.3, 1.0, 0.5, BALL)
        for t, (w, q) in enumerate(zip(run.w[:-1], run.q[:-1], strict=True)):
            i = int(np.argmax(run.samples[t]))
            loss = methods.logistic(w, 3.0 * x[t, i : i + 1], y[t, i : i + 1])[0][0]
            others = np.delete(np.arange(4), i)
            moved = np.log(run.q[t + 1] / q)
            np.testing.assert_allclose(moved[others], moved[others[0]], rtol=1e-9, atol=1e-12)
            assert abs(moved[i] - moved[others[0]]) <= 2 * abs(1 - loss) + 1e-12

    def test_gradients_are_unbiased(self, rng):
        """(12), (17), (35), (37), (54): means over everything random of one step, by enumeration."""
        m, d, k, step = 4, 3, 2, 0.3
        x, y = rng.normal(size=(1, m, d)), rng.choice([-1.0, 1.0], (1, m))  # one row a group: its distribution
        start = rng.normal(size=d), weights.project(rng.normal(size=m), k)
        w, q = start
        losses, slopes = methods.logistic(w, x[0], y[0])
        free = methods.ball(np.inf)
        full = methods.smd(x, y, step, 1.0, free, start=start)
        np.testing.assert_allclose((w - full.w[1]) / step, q @ slopes, rtol=1e-10)
        drawn = [
            methods.sagawa(x, y, np.full((1, m), (i + 0.5) / m), step, 1.0, free, start=start).w[1] for i in range(m)
        ]
        np.testing.assert_allclose((w - np.mean(drawn, axis=0)) / step, q @ slopes, rtol=1e-10)
        share, mean = np.array([1.0, 0.75, 0.5, 0.25]), 0.0
        for mask in itertools.product([0, 1], repeat=m):
            probability = np.prod(np.where(mask, share, 1.0 - share))
            u = np.where(mask, 0.0, 1.0)[None]
            mean = mean + probability * methods.smd_r(x, y, u, (4, 3, 2, 1), step, 1.0, free, start=start).w[1]
        np.testing.assert_allclose((w - mean) / step, (q * share) @ slopes, rtol=1e-10)
        mean, n = np.zeros(d), 4000
        for _ in range(n):
            mean += methods.atkro_k(x, y, rng.random((1, m)), step, 1.0, 0.5, free, k, start=start).w[1] / n
        spread = np.abs(slopes).sum(axis=0) / k
        assert np.all(np.abs((w - mean) / step - q @ slopes) <= 5 * spread / np.sqrt(n))
        assert losses.shape == (m,)


class TestComparators:
    def test_haghtalab_block_serves_m_rounds(self, rng):
        """q alone moves by the block's losses at the current model; 2 rows a round on average."""
        x, y, u = data(rng, horizon=8)
        blocks = rng.normal(size=(2, 4, 3)), rng.choice([-1.0, 1.0], (2, 4))
        run = methods.haghtalab(x, y, *blocks, u, 0.3, 1.0, BALL)
        for t in range(8):
            losses = methods.logistic(run.w[t], blocks[0][t // 4], blocks[1][t // 4])[0]
            np.testing.assert_allclose(run.q[t + 1], weights.mirror(run.q[t], losses), rtol=1e-13)
        np.testing.assert_array_equal(np.sum(run.samples, axis=1), [5, 1, 1, 1, 5, 1, 1, 1])

    def test_soma_moves_as_online_with_another_weights_player(self, rng):
        x, y, u = data(rng, horizon=1)
        ours, theirs = methods.online(x, y, u, 0.3, 1.0, 0.0, BALL), methods.soma(x, y, u, 0.3, 1.0, BALL)
        np.testing.assert_array_equal(ours.w, theirs.w)
        np.testing.assert_array_equal(ours.samples, theirs.samples)
        assert np.argmin(theirs.q[1]) == np.argmin(ours.q[1])  # a small loss lowers the group's weight
        np.testing.assert_allclose(np.sum(theirs.q, axis=1), 1.0, rtol=1e-12)

    def test_public_code_has_the_weights_of_smd(self, rng):
        """On batches with a row of every group; its q of a batch without a group is SMD_r's with that group masked."""
        x, y, _ = data(rng)
        run = methods.smd(x, y, 0.3, 0.7, BALL)
        for t in range(len(x)):
            losses, _ = methods.logistic(run.w[t], x[t], y[t])
            q = public.update(run.q[t], losses, np.arange(4), 0.7)
            np.testing.assert_allclose(q, run.q[t + 1], rtol=1e-12)
        u = np.tile([0.0, 0.99, 0.0, 0.99], (len(x), 1))
        masked = methods.smd_r(x, y, u, (4, 3, 2, 1), 0.3, 0.7, BALL)
        for t in range(len(x)):
            losses, _ = methods.logistic(masked.w[t], x[t], y[t])
            q = public.update(masked.q[t], losses[[0, 2]], np.array([0, 2]), 0.7)
            np.testing.assert_allclose(q, masked.q[t + 1], rtol=1e-12)
            weighing = public.weighing_present(q, np.array([0, 2]))
            np.testing.assert_allclose(weighing, [q[0] / (q[0] + q[2]), 0.0, q[2] / (q[0] + q[2]), 0.0], rtol=1e-12)

    def test_public_code_averages_rows_of_a_group(self):
        means, counts = public.group_means(np.array([1.0, 2.0, 6.0]), np.array([0, 2, 2]), 3)
        np.testing.assert_array_equal((means, counts), ((1.0, 0.0, 4.0), (1.0, 0.0, 2.0)))


class TestGap:
    """The inner solver against the closed forms and against a general solver."""

    @pytest.fixture
    def table(self, rng):
        """Labels that a model can learn, harder in some groups: w = 0 and uniform q are far from a saddle."""
        x, group = rng.normal(size=(60, 3)), np.arange(60) % 4
        return x, np.sign(x @ np.array([2.0, -1.0, 0.5]) + group * rng.normal(size=60)), group

    @pytest.mark.parametrize("radius", [0.2, 5.0])
    def test_certified_bounds_hold(self, table, radius, rng):
        x, y, group = table
        q = rng.dirichlet(np.ones(4))
        smoothness = np.max(np.sum(x**2, axis=1)) / 4
        lower, upper = risks.least_table_risk(q, x, y, group, methods.logistic, radius, smoothness)
        assert 0 <= upper - lower <= 1e-9

        def objective(w):
            values, slopes = risks.table_risks(w, x, y, group, 4, methods.logistic)
            return q @ values, q @ slopes

        inside = {"type": "ineq", "fun": lambda w: radius**2 - w @ w, "jac": lambda w: -2 * w}
        found = scipy.optimize.minimize(
            objective, np.zeros(3), jac=True, method="SLSQP", constraints=inside, options={"ftol": 1e-14}
        )
        assert lower - 1e-8 <= found.fun <= upper + 1e-8

    def test_gap_is_never_negative_and_closes(self, table, rng):
        """SMD(m) on rows drawn from the table: the gap falls."""
        x, y, group = table
        horizon, radius = 4000, 1.0
        rows = np.stack([rng.choice(np.flatnonzero(group == i), horizon) for i in range(4)], axis=1)
        run = methods.smd(x[rows], y[rows], 1.0 / np.sqrt(horizon), 1.0 / np.sqrt(horizon), methods.ball(radius))
        smoothness = np.max(np.sum(x**2, axis=1)) / 4
        gaps = [
            risks.table_gap(
                run.mean_w[t], run.mean_q[t], x, y, group, methods.logistic, radius, smoothness, tolerance=1e-7
            )
            for t in (0, 3999)
        ]
        assert all(upper >= 0 for _, upper in gaps)
        assert gaps[1][1] < 0.5 * gaps[0][0], gaps

    @pytest.mark.parametrize("k", [1, 3])
    def test_saddle_has_no_gap(self, k, rng):
        a = risks.synthetic_groups(rng, 8, 6, 0.7, rng.uniform(0.6, 0.95, 6))
        w, q, value = risks.synthetic_saddle(a, k)
        assert abs(risks.mean_of_largest(risks.synthetic_risks(w, a), k) - value) < 1e-6
        assert -1e-9 < risks.synthetic_gap(w, q, a, np.inf, k) < 1e-6
        assert risks.synthetic_gap(w + 0.3, q, a, np.inf, k) > 1e-3

    def test_closed_form_is_the_population(self, rng):
        """R_i by Monte Carlo within 4 standard errors; the least weighted risk by a solver."""
        a = risks.synthetic_groups(rng, 3, 2, 0.7, np.array([0.6, 0.9]))
        w, n = rng.normal(size=3), 400_000
        x = rng.normal(size=(n, 3))
        for i, correct in enumerate((0.6, 0.9)):
            y = np.sign(x @ a[i]) * np.where(rng.random(n) < correct, 1.0, -1.0)
            losses, _ = methods.logistic(w, x, y)
            assert abs(np.mean(losses) - risks.synthetic_risks(w, a)[i]) < 4 * np.std(losses) / np.sqrt(n)
        q, b = np.array([0.3, 0.7]), np.array([1.0, 2.5])
        for radius in (0.5, 10.0):
            for scale in (None, b):
                effective = q if scale is None else q * scale
                found = scipy.optimize.minimize(
                    lambda v, effective=effective: effective @ risks.synthetic_risks(v, a),
                    np.full(3, 0.1),
                    method="SLSQP",
                    constraints={"type": "ineq", "fun": lambda v, radius=radius: radius**2 - v @ v},
                    options={"ftol": 1e-13, "maxiter": 500},
                )
                assert abs(found.fun - risks.least_synthetic_risk(q, a, radius, scale)) < 1e-6
