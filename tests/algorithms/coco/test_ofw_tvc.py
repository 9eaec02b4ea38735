"""OFW-TVC against the loop of the paper, the recorded trace, and the properties its analysis rests on."""

import functools

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms.coco.lyapunov import double_until
from jaxbandits.algorithms.coco.ofw_tvc import OFWTVC, OFWTVCState
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import as_arrays, validate
from jaxbandits.domains.ball import L2Ball
from jaxbandits.domains.nuclear import NuclearBall
from jaxbandits.environments.coco.linear_constraints import LinearConstraints
from jaxbandits.simulation import compare
from jaxbandits.types import Constrained
from tests.algorithms.coco import invariants
from tests.reference import ofw_tvc as reference

KEY = jax.random.key(0)


def first_order(dim, df, g, dg):
    """Feedback at one query (Q = 1)."""
    point = (lambda a: jnp.asarray(a)) if isinstance(dim, int) else jnp.asarray
    lead = functools.partial(jax.tree.map, lambda a: a[None])
    return Constrained(loss=jnp.zeros(1), grad=lead(point(df)), con=jnp.asarray(g)[None], con_grad=lead(point(dg)))


@jax.jit
def _replay(algorithm, dfs, gs, dgs):
    def round_(state, row):
        t, df, g, dg = row
        decision = algorithm.select(KEY, t, state, None)
        state = algorithm.update(KEY, t, state, None, decision, first_order(algorithm.dim, df, g, dg))
        return state, (state, algorithm.diagnostics(state))

    return jax.lax.scan(round_, algorithm.init(KEY), (jnp.arange(len(gs), dtype=jnp.int32), dfs, gs, dgs))[1]


def replay(algorithm, dfs, gs, dgs):
    """The states after each round for gradients given beforehand, in the paper's units, as arrays over rounds."""
    state, extra = _replay(as_arrays(algorithm), jnp.asarray(dfs), jnp.asarray(gs), jnp.asarray(dgs))
    invariants.check(algorithm, state.run.last.x, None, state, jax.tree.map(np.asarray, extra))
    return {
        "x": np.asarray(state.run.last.x),
        "anchor": np.asarray(state.run.anchor),
        "Q": np.asarray(state.queue.total),
        "s": np.asarray(state.run.start) + 1,
        "level": np.asarray(extra["gradient_bound"]),
        "weight": np.asarray(extra["weight"]),
        "clamped": np.asarray(extra["clamped"]),
        "state": state,
    }


def known_trace():
    t = np.arange(1, 13)
    dfs = np.stack([np.cos(t), np.sin(2 * t)], axis=1)
    return dfs, 0.8 * np.sin(1.3 * t), np.tile([1.0, -0.5], (12, 1))


def random_trace(rng, shape, rounds, size=1.0):
    """Gradients bounded by `size`, constraint values of both signs."""
    dfs, dgs = rng.normal(size=(2, rounds, *shape)) + rng.normal(size=shape)

    def bound(a):
        return size * a / np.sqrt((a**2).sum(axis=tuple(range(1, a.ndim)), keepdims=True)).max()

    return bound(dfs), size * rng.normal(0.1, 0.5, rounds), bound(dgs)


@pytest.fixture(scope="module")
def replay_known_trace():
    algorithm = OFWTVC(dim=2, horizon=16.0, lipschitz=1.2, beta=2.0, gamma=0.5, lam=0.25, g_init=1.0)
    return replay(algorithm, *known_trace())


class TestKnownTrace:
    @pytest.mark.slow_cases("10-x2", "11-x3")
    @pytest.mark.parametrize(
        "t, x",
        [
            (1, (-0.92041284, -0.39094782)),
            (5, (-0.73297732, -0.29169024)),
            (10, (0.38067031, 0.25212984)),
            (11, (-0.89361657, 0.44883119)),
            (12, (0.99086368, -0.13486725)),
        ],
    )
    def test_iterates(self, replay_known_trace, t, x):
        np.testing.assert_allclose(replay_known_trace["x"][t - 1], x, atol=6e-9)

    def test_scalars(self, replay_known_trace):
        def row(name, t):
            return replay_known_trace[name][t - 1]

        np.testing.assert_allclose([row("Q", 1), row("Q", 11)], [0.77084655, 3.53500820], atol=6e-9)
        w = [0.5 * row("weight", t) for t in (1, 10)]
        np.testing.assert_allclose(w, [0.36755913, 0.98659166], atol=6e-9)
        assert [row("level", t) for t in (1, 10, 11, 12)] == [4.0, 4.0, 8.0, 8.0]
        assert [row("s", t) for t in (1, 10, 11, 12)] == [1, 1, 11, 11]


REFERENCE_CASES = [(1,), (2,), (5,), (20,), (4, 3), (3, 7)]


class TestAgainstReference:
    @pytest.mark.quick_cases("0-(5,)", "1-(4, 3)", "2-(5,)")
    @pytest.mark.parametrize("shape", REFERENCE_CASES, ids=str)
    @pytest.mark.parametrize("seed", [0, 1, 2])
    def test_step_by_step(self, shape, seed):
        rng = np.random.default_rng([seed, *shape])
        radius, size = np.exp(rng.normal(size=2))
        T, gamma, lam = 150.0, np.exp(rng.normal()), np.exp(rng.normal() - 1.0)
        beta = 6.0 / (lam * 40.0 * size)  # the exponent reaches about 6: several restarts
        g_init, eta_scale = [None, 1e-3 * beta * size, 1.0][seed], [1.0, 10.0, 1.0][seed]
        dim, domain, lmo = shape, NuclearBall(radius=radius), reference.lmo_nuclear
        if len(shape) == 1:
            dim, domain, lmo = shape[0], L2Ball(radius=radius), reference.lmo_ball
        x1 = lmo(rng.normal(size=shape), radius) if seed else np.zeros(shape)
        trace = random_trace(rng, shape, 150, size)

        algorithm = OFWTVC(
            dim=dim, domain=domain, horizon=T, lipschitz=size, beta=beta, gamma=gamma, lam=lam, g_init=g_init,
            eta_scale=eta_scale, start=x1 if seed else None,
        )  # fmt: skip
        ours = replay(algorithm, *trace)
        start = beta * size * gamma if g_init is None else g_init
        expected = reference.OFWTVC(
            x1, lambda c: lmo(c, radius), 2 * radius, T, size, beta, gamma, lam, start, eta_scale
        ).run(*trace)  # fmt: skip

        assert expected["restart"].sum() >= 3
        np.testing.assert_array_equal(ours["s"], expected["s"])
        np.testing.assert_allclose(ours["x"], expected["x"], rtol=0, atol=1e-9 * radius)
        np.testing.assert_allclose(ours["anchor"], expected["anchor"], rtol=0, atol=1e-9 * radius)
        np.testing.assert_allclose(ours["Q"], expected["Q"], rtol=1e-12)
        np.testing.assert_allclose(gamma * ours["weight"], expected["w"], rtol=1e-10)
        np.testing.assert_allclose(ours["level"], expected["level"], rtol=1e-12)

    def test_constraint_scale_multiplies_the_constraint(self):
        dfs, gs, dgs = random_trace(np.random.default_rng(5), (3,), 60)
        setting = {"dim": 3, "horizon": 60.0, "beta": 2.0, "lam": 0.2}
        scaled = replay(OFWTVC(**setting, constraint_scale=0.3), dfs, gs, dgs)
        plain = replay(OFWTVC(**setting), dfs, 0.3 * gs, 0.3 * dgs)
        np.testing.assert_allclose(scaled["x"], plain["x"], atol=1e-12)
        np.testing.assert_allclose(scaled["Q"], plain["Q"], rtol=1e-12)

    @pytest.mark.slow
    def test_vmap_over_every_hyperparameter_is_the_loop(self):
        trace = random_trace(np.random.default_rng(6), (3,), 40)
        rows = [
            {
                "horizon": 40.0 * k, "lipschitz": 1.0 + k, "beta": 0.5 * k, "gamma": 1.0 / k, "lam": 0.1 * k,
                "g_init": 0.1, "eta_scale": k, "step_cap": 1.0 + 0.1 * k, "constraint_scale": 1.0 / k,
                "domain": L2Ball(radius=1.0 * k), "start": np.full(3, 0.1 * k),
            }
            for k in (1, 2, 3)
        ]  # fmt: skip
        single = [as_arrays(OFWTVC(dim=3, **row)) for row in rows]
        batch = jax.tree.map(lambda *leaves: jnp.stack(leaves), *single)
        together, _ = jax.vmap(_replay, in_axes=(0, None, None, None))(batch, *map(jnp.asarray, trace))
        for k, algorithm in enumerate(single):
            mine = jax.tree.map(lambda a, k=k: a[k], together)
            chex.assert_trees_all_close(mine, replay(algorithm, *trace)["state"], atol=1e-12)


@pytest.fixture(scope="module", params=[(2,), (20,), (4, 3)], ids=str)
def run(request):
    shape = request.param
    trace = random_trace(np.random.default_rng([9, *shape]), shape, 200)
    dim, domain = (shape[0], L2Ball(radius=2.0)) if len(shape) == 1 else (shape, NuclearBall(radius=2.0))
    return trace, replay(OFWTVC(dim=dim, domain=domain, horizon=200.0, beta=0.5, gamma=0.7, lam=0.3), *trace)


class TestInvariants:
    @pytest.mark.slow_after_first
    def test_stays_in_the_domain(self, run):
        x = run[1]["x"]
        norm = np.linalg.norm(x, axis=1) if x.ndim == 2 else np.linalg.svd(x, compute_uv=False).sum(axis=1)
        assert norm.max() <= 2.0 * (1 + 1e-9)
        assert norm.max() > 1.0  # and does move

    def test_gradient_bound_doubles_and_covers_the_target(self, run):
        (_, gs, _), ours = run
        level, target = ours["level"], 0.5 * (0.7 + 0.7 * ours["weight"])
        doublings = np.log2(level / (0.5 * 0.7))
        np.testing.assert_array_equal(doublings, np.round(doublings))
        assert np.all(level >= target)
        restarted = np.diff(level, prepend=0.5 * 0.7) > 0
        assert restarted.sum() >= 3
        assert np.all(level[restarted] < 2.0 * target[restarted])
        assert np.all(np.diff(ours["Q"]) >= 0)
        np.testing.assert_allclose(ours["Q"][-1], np.maximum(gs, 0).sum(), rtol=1e-13)

    def test_lemma_4(self):
        """F_{s:t-1}(x_t) - min F_{s:t-1} <= 2 D^2 sigma_{s,t} with the printed sigma, in every epoch."""
        ratios = []
        for seed in range(5):
            trace = random_trace(np.random.default_rng(seed), (4,), 200)
            ours = replay(OFWTVC(dim=4, horizon=200.0, beta=0.5, gamma=0.7, lam=0.3), *trace)
            grad_sum = np.asarray(ours["state"].run.grad_sum) * 0.5 * 0.7
            for i in range(200):  # after round i + 1: x_t for t = i + 2
                eta = 2.0 / (2.0 * ours["level"][i] * 200.0**0.75)
                gap = reference.surrogate_gap_on_ball(ours["x"][i], ours["anchor"][i], eta, grad_sum[i])
                ratios.append(gap / (2.0 * 2.0**2 * 2.0 / np.sqrt(i + 2 - ours["s"][i] + 1)))
        assert 1e-3 < max(ratios) <= 1.0

    @pytest.mark.parametrize(("step_cap", "furthest", "ratio"), [(np.inf, 3.0, 1.413), (1.0, 1.0, 0.497)])
    def test_printed_step_leaves_the_domain(self, step_cap, furthest, ratio):
        """Erratum: 2 / sqrt(t - s + 1) > 1 in the first rounds of an epoch; Lemma 4 then fails as well."""
        rounds, start = 2000, np.array([1.0, 0.0])
        trace = np.tile([1.0, 0.0], (rounds, 1)), -np.ones(rounds), np.zeros((rounds, 2))
        setting = {"lipschitz": 0.4, "beta": 0.5, "gamma": 2.0, "lam": 0.1, "g_init": 1.0}  # eta = T^{-3/4}, h = (1, 0)
        x = replay(OFWTVC(dim=2, horizon=2000.0, start=start, step_cap=step_cap, **setting), *trace)["x"]
        np.testing.assert_allclose(np.linalg.norm(x, axis=1).max(), furthest, atol=1e-9)
        gaps = [
            reference.surrogate_gap_on_ball(x[t - 2], start, rounds**-0.75, np.array([t - 1.0, 0.0]))
            / (2.0 * 2.0**2 * 2.0 / np.sqrt(t))
            for t in range(2, rounds + 2)
        ]
        assert max(gaps) == pytest.approx(ratio, abs=1e-3)


class TestInequality7:
    def test_known_numbers(self):
        """sum of surrogate differences >= gamma beta regret + Phi(beta Q_T), for the mean of the centres (feasible)."""
        beta, gamma, lam = 2.0, 0.5, 0.25
        setting = {"beta": beta, "gamma": gamma, "lam": lam, "g_init": 1.0, "start": np.array([1.0, 0.0])}
        algorithm = as_arrays(OFWTVC(dim=2, horizon=40.0, lipschitz=2.0, **setting))
        t = np.arange(1, 41)
        centres = np.stack([np.cos(t), np.sin(2 * t)], axis=1)
        offsets = 0.3 + 0.2 * np.sin(1.3 * t)
        normal = np.array([1.0, -0.5])

        @jax.jit
        def run():
            def round_(state, row):
                t, centre, offset = row
                x = state.run.last.x
                feedback = first_order(2, x - centre, normal @ x - offset, jnp.asarray(normal))
                state = algorithm.update(KEY, t, state, None, algorithm.select(KEY, t, state, None), feedback)
                return state, (x, state.queue.total)

            rows = (jnp.arange(40, dtype=jnp.int32), jnp.asarray(centres), offsets)
            return jax.lax.scan(round_, algorithm.init(KEY), rows)[1]

        x, queue = map(np.asarray, run())
        comparator = centres.mean(axis=0)

        def loss(y):
            return 0.5 * np.sum((y - centres) ** 2, axis=1)

        def con(y):
            return y @ normal - offsets

        assert con(comparator).max() <= 0
        w = lam * np.exp(lam * beta * queue)

        def surrogate(y):
            return gamma * beta * loss(y) + w * beta * np.maximum(con(y), 0)

        left = np.sum(surrogate(x) - surrogate(comparator))
        right = gamma * beta * np.sum(loss(x) - loss(comparator)) + np.exp(lam * beta * queue[-1]) - 1
        np.testing.assert_allclose([left, right], [2405.4160, 2004.4947], atol=6e-5)
        np.testing.assert_allclose(queue[-1], 15.186721, atol=6e-7)


class TestInvariances:
    def test_scaling_losses_and_constraints(self):
        """(f, g, G) -> s (f, g, G), beta -> beta / s: identical iterates."""
        dfs, gs, dgs = random_trace(np.random.default_rng(1), (5,), 120)
        s, setting = 37.0, {"dim": 5, "horizon": 120.0, "gamma": 0.6, "lam": 0.3}
        one = replay(OFWTVC(**setting, beta=0.8, lipschitz=1.0), dfs, gs, dgs)
        two = replay(OFWTVC(**setting, beta=0.8 / s, lipschitz=s), s * dfs, s * gs, s * dgs)
        assert one["s"][-1] > 1
        np.testing.assert_allclose(two["x"], one["x"], atol=1e-11)

    @pytest.mark.slow_after_first
    @pytest.mark.parametrize("shape", [(5,), (4, 3)], ids=str)
    def test_scaling_the_domain(self, shape):
        """K -> s K, f(x) -> s f(x / s), g likewise, beta -> beta / s: the iterates scale by s."""
        dfs, gs, dgs = random_trace(np.random.default_rng(2), shape, 120)
        ball, dim = (L2Ball, shape[0]) if len(shape) == 1 else (NuclearBall, shape)
        s, setting = 1e4, {"dim": dim, "horizon": 120.0, "gamma": 0.6, "lam": 0.3}
        one = replay(OFWTVC(**setting, beta=0.8, domain=ball(radius=1.0)), dfs, gs, dgs)
        two = replay(OFWTVC(**setting, beta=0.8 / s, domain=ball(radius=s)), dfs, s * gs, dgs)
        np.testing.assert_allclose(two["x"], s * one["x"], atol=1e-11 * s)

    def test_without_violations_it_is_online_frank_wolfe(self):
        """g_t = -1: the first round doubles G~ once (target = beta G (gamma + lam)); then plain OFW with 2 G."""
        dfs, _, dgs = random_trace(np.random.default_rng(3), (4,), 80)
        ours = replay(OFWTVC(dim=4, horizon=80.0, beta=0.7, gamma=0.5, lam=0.01), dfs, -np.ones(80), dgs)
        plain = reference.online_frank_wolfe(np.zeros(4), reference.lmo_ball, 2.0, 80.0, 2.0, dfs)
        np.testing.assert_allclose(ours["x"], plain, atol=1e-11)


class TestDoubling:
    @pytest.mark.quick_cases("float64")
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_equals_the_while_loop(self, dtype):
        rng = np.random.default_rng(0)
        level = np.exp(rng.uniform(-20, 20, 4000)).astype(dtype)
        target = level * np.exp(rng.uniform(-5, 20, 4000)).astype(dtype)
        target[:1000] = level[:1000] * (2.0 ** rng.integers(-2, 12, 1000)).astype(dtype)  # exactly 1/4, 1/2, 1, 2, ...
        target[1000:1500] = np.nextafter(level[1000:1500] * dtype(4), dtype(np.inf), dtype=dtype)
        target[1500:2000] = np.nextafter(level[1500:2000] * dtype(4), dtype(0), dtype=dtype)
        expected = level.copy()
        while (low := expected < target).any():
            expected[low] *= dtype(2)
        ours = double_until(jnp.asarray(level), jnp.asarray(target))
        assert ours.dtype == dtype
        np.testing.assert_array_equal(ours, expected)
        mantissa, exponent = np.frexp(target / level)  # the same by frexp
        doublings = np.maximum(np.where(mantissa == 0.5, exponent - 1, exponent), 0)
        np.testing.assert_array_equal(ours, np.ldexp(level, doublings))

    @pytest.mark.parametrize("ratio, level", [(0.3, 1.0), (1.0, 1.0), (2.0, 2.0), (4.0, 4.0), (4.1, 8.0)])
    def test_by_hand(self, ratio, level):
        assert double_until(jnp.float64(1.7), jnp.float64(1.7) * ratio) == 1.7 * level


@pytest.mark.slow
def test_what_the_constants_do_on_a_learnable_constraint():
    """Theorem 1's constants ignore the constraint; the printed start hardly moves; the balanced ones learn both.

    Growth exponents between T = 4000 and 16000, means of 64 trials; standard errors are below 0.02.
    """
    environment, finals = LinearConstraints(dim=5), []
    for horizon in (4000, 16000):
        presets = {
            name: getattr(OFWTVC, name)(dim=5, horizon=horizon, lipschitz=2.0)
            for name in ("theory", "printed", "practical")
        }
        result = compare(presets, environment, horizon=horizon, seeds=64, record_points=1, progress=False)
        loss, best, violation = (
            np.asarray([result.final(metric, name).mean() for name in presets])
            for metric in ("loss", "feasible_comparator_loss", "violation")
        )
        finals.append((loss - best, violation))
    (regret, violation), (long_regret, long_violation) = finals
    growth = np.log(long_violation / violation) / np.log(4)
    assert growth[0] > 1.2  # theory: x drifts towards the unconstrained optimum
    assert np.log(long_regret[1] / regret[1]) / np.log(4) > 0.95  # printed: linear regret ...
    assert growth[1] < 0.1  # ... because x stays about x_1
    assert growth[2] < 0.9
    assert long_regret[2] < 0 and long_violation[2] < long_violation[0] / 5


class OracleOnly:
    """A domain that can do nothing but answer linear problems."""

    def zero(self, shape):
        return L2Ball().zero(shape)

    def lmo(self, direction, guess=None):
        return L2Ball().lmo(direction, guess)

    diameter = 2.0

    def project(self, x):
        raise AssertionError("a projection-free algorithm projected")


jax.tree_util.register_static(OracleOnly)


class TestProtocol:
    def test_needs_no_projection(self):
        trace = random_trace(np.random.default_rng(4), (2,), 20)
        free = replay(OFWTVC(dim=2, horizon=20.0, domain=OracleOnly()), *trace)
        np.testing.assert_array_equal(free["x"], replay(OFWTVC(dim=2, horizon=20.0), *trace)["x"])

    @pytest.mark.parametrize("dim", [2, 20, (4, 3)], ids=str)
    def test_state_avals_are_fixed(self, dim):
        domain = L2Ball() if isinstance(dim, int) else NuclearBall()
        algorithm = as_arrays(OFWTVC.practical(dim=dim, horizon=100, domain=domain))
        zero = np.zeros(dim)

        def advance(state, t):
            decision = algorithm.select(KEY, t, state, None)
            return algorithm.update(KEY, t, state, None, decision, first_order(dim, zero, 0.0, zero))

        before = jax.eval_shape(algorithm.init, KEY)
        after = jax.eval_shape(advance, before, jnp.int32(0))

        def describe(tree):
            return [(a.shape, a.dtype, a.weak_type) for a in jax.tree.leaves(tree)]

        assert describe(before) == describe(after)
        assert isinstance(after, OFWTVCState)

    def test_zero_feedback_stays_at_the_start(self):
        start = np.array([0.3, -0.2])
        ours = replay(OFWTVC(dim=2, horizon=10.0, start=start), np.zeros((1, 2)), np.zeros(1), np.zeros((1, 2)))
        np.testing.assert_array_equal(ours["anchor"][0], start)
        np.testing.assert_array_equal(ours["x"][0], np.zeros(2))  # lmo(0) is the centre and sigma_1 = 1

    def test_a_clamped_exponent_is_finite_and_told(self):
        dfs, gs, dgs = random_trace(np.random.default_rng(7), (2,), 30)
        ours = replay(OFWTVC(dim=2, horizon=30.0, beta=1e5, lam=1.0), dfs, gs, dgs)
        exponent = 1e5 * ours["Q"]
        np.testing.assert_array_equal(ours["clamped"], exponent > 600.0)
        assert ours["clamped"].any()
        assert np.isfinite(ours["x"]).all() and np.linalg.norm(ours["x"], axis=1).max() <= 1 + 1e-12
        np.testing.assert_allclose(ours["weight"][-1], np.exp(600.0), rtol=1e-12)

    def test_presets(self):
        T, radius, G = 5000.0, 3.0, 0.7
        fields = {"dim": 2, "horizon": T, "domain": L2Ball(radius=radius), "lipschitz": G}
        trace = random_trace(np.random.default_rng(8), (2,), 50, G)
        D, x1 = 2 * radius, np.zeros(2)

        def ball(c):
            return reference.lmo_ball(c, radius)

        beta, lam = 1 / (64 * G * D), 0.5 * T**-0.75
        for preset, arguments in [
            (OFWTVC.theory, (beta, 1.0, lam, beta * G)),
            (OFWTVC.printed, (beta, 1.0, lam, 1.0, 1.0, False)),
            (OFWTVC.practical, (40 / (G * D), lam, lam, 40 / D * lam, 10.0)),
        ]:
            algorithm = preset(**fields)
            validate(algorithm)
            expected = reference.OFWTVC(x1, ball, D, T, G, *arguments).run(*trace)
            np.testing.assert_allclose(replay(algorithm, *trace)["x"], expected["x"], atol=1e-9)

    @pytest.mark.parametrize(
        "fields, message",
        [
            ({"horizon": 0.5}, "horizon"),
            ({"gamma": 0.0}, "gamma"),
            ({"beta": -1.0}, "beta"),
            ({"step_cap": 0.9}, "step_cap"),
            ({"start": np.zeros(3)}, "start"),
            ({"start": np.array([1.0, 0.1])}, "start must lie in the domain L2Ball"),
            ({"dim": (2, 0)}, "dim"),
            ({"dim": 0}, "dim"),
            ({"domain": object()}, "domain must be an object such as L2Ball"),
        ],
    )
    def test_refuses(self, fields, message):
        with pytest.raises(InputError, match=message):
            validate(OFWTVC(**{"dim": 2, "horizon": 10.0} | fields))
