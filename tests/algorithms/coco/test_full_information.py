"""The learners with full information: the loops of their papers, on every set, and what their analyses rest on."""

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms.coco.ofw import OFW
from jaxbandits.algorithms.coco.ofw_tvc import OFWTVC
from jaxbandits.algorithms.coco.pf_ofw import PFOFW
from jaxbandits.algorithms.coco.scofw import SCOFW
from jaxbandits.algorithms.coco.scofw_tvc import SCOFWTVC
from jaxbandits.algorithms.coco.sinha_vaze import SinhaVaze
from jaxbandits.algorithms.coco.strongly_convex_sinha_vaze import StronglyConvexSinhaVaze
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import as_arrays, pytree, validate
from jaxbandits.domains import L1Ball, L2Ball, Polytope, Simplex, WholeSpace
from tests.algorithms.coco.full_information import DIM, LARGE, ROUNDS, SETS, make_pair, shape_of, start_of
from tests.algorithms.coco.replay_coco import KEY, _replay, known_trace, random_trace, reference_run, replay
from tests.reference import sinha_vaze

CASES = [(name, place) for name in ("ofw_tvc", "scofw_tvc") for place in SETS if place != "nuclear"]
CASES += [("ofw", "ball"), ("ofw", "polytope"), ("pf_ofw", "l1"), ("pf_ofw", "capped"), ("scofw", "box")]
CASES += [("sinha_vaze", "simplex"), ("sinha_vaze", "ball")]
CASES += [("strongly_convex_sinha_vaze", "l1"), ("strongly_convex_sinha_vaze", "capped")]


@pytest.mark.quick_cases(
    "ofw_tvc-ball",
    "scofw_tvc-polytope",
    "ofw-polytope",
    "pf_ofw-l1",
    "scofw-box",
    "sinha_vaze-simplex",
    "strongly_convex_sinha_vaze-capped",
)
@pytest.mark.parametrize(("name", "place"), CASES)
def test_step_by_step(name, place, rng):
    """Two fresh inputs each: the points of all rounds, the scalars, and that no point leaves the set."""
    shape, (domain, theirs) = shape_of(place), SETS[place]
    for _ in range(2):
        x1 = start_of(theirs, shape, rng)
        algorithm, loop = make_pair(name, domain, theirs, shape, x1, rng)
        dfs, gs, dgs = random_trace(rng, shape, ROUNDS)
        if name == "pf_ofw":
            dfs *= np.exp(np.linspace(-2.0, 1.0, ROUNDS))[:, None]  # its level has to follow
        trace = dfs, gs, dgs
        state, x, told = replay(algorithm, *trace)
        np.testing.assert_allclose(x, reference_run(loop, *trace), rtol=0, atol=1e-9)
        # The reference tells of a polytope by least squares.
        assert max(theirs.excess(row) for row in x) <= (1e-7 if place == "polytope" else 1e-12)
        assert np.abs(x - x1).max() > 0.1  # and does move
        if name == "ofw_tvc":
            assert loop.s > 1
            assert int(state.run.start[-1]) + 1 == loop.s
            assert told["gradient_bound"][-1] == pytest.approx(loop.level, rel=1e-12)
        if name == "pf_ofw":
            assert int(state.start[-1]) + 1 == loop.s > 1
            assert told["gradient_bound"][-1] == pytest.approx(loop.level, rel=1e-13)
        if name in ("ofw_tvc", "scofw_tvc"):
            w = loop.w if name == "scofw_tvc" else loop.lam * np.exp(loop.lam * loop.beta * loop.Q)
            assert told["weight"][-1] * algorithm.gamma == pytest.approx(w, rel=1e-10)


def test_known_trace_of_sinha_vaze():
    x = replay(SinhaVaze(dim=2, horizon=16.0, beta=1.0, lam=0.25), *known_trace())[1]
    np.testing.assert_allclose(x[5], (-0.52891332, 0.60083867), atol=6e-9)
    np.testing.assert_allclose(x[11], (-0.76701516, 0.64162898), atol=6e-9)


@pytest.mark.quick_cases("ofw_tvc-(5, 7)")
@pytest.mark.parametrize("shape", [(20, 26), (5, 7)], ids=str)
@pytest.mark.parametrize("name", ["ofw_tvc", "scofw_tvc"])
def test_each_step_on_matrices(name, shape, rng):
    """Close singular values, which the line search seeks, amplify rounding: each step from our own point, by value."""
    domain, theirs = LARGE if shape == (20, 26) else SETS["nuclear"]
    x1 = start_of(theirs, shape, rng)
    algorithm, loop = make_pair(name, domain, theirs, shape, x1, rng)
    trace = random_trace(rng, shape, 40)
    state, x, told = replay(algorithm, *trace)
    before = np.concatenate([x1[None], x[:-1]])
    for i in range(40):
        assert_same_sums(name, algorithm, loop, trace, state, before, i)
        grad = gradient_after(name, algorithm, state, before, i)
        top = theirs.radius * np.linalg.norm(grad, 2)
        gap, sigma = np.sum(grad * before[i]) + top, float(state.run.last.sigma[i])
        assert told["gap"][i] == pytest.approx(gap, abs=1e-12 * top)
        vertex = before[i] + (x[i] - before[i]) / sigma
        assert np.sum(grad * vertex) == pytest.approx(-top, abs=1e-11 * top / sigma)
        assert theirs.excess(vertex) <= 1e-12 / sigma
        if name == "scofw_tvc":
            curvature = algorithm.curvature * (i + 1) * np.sum((vertex - before[i]) ** 2)
            assert sigma == pytest.approx(min(gap / curvature, 1.0), rel=1e-9)


def assert_same_sums(name, algorithm, loop, trace, state, before, i):
    """What the state holds after round i is what the loop of the paper makes of the same gradients and our points."""
    df, g, dg = (part[i] for part in trace)
    if name == "ofw_tvc":
        loop.x = before[i].copy()
    loop.step(df, g, dg)
    if name == "scofw_tvc":
        last = np.asarray(state.run.lin[i - 1]) if i else np.zeros_like(df)
        h = df + loop.w / algorithm.gamma * (g > 0) * dg
        np.testing.assert_allclose(state.run.lin[i], last - algorithm.curvature * before[i] + h, rtol=0, atol=1e-12)
        return
    start = int(state.run.start[i])
    assert start + 1 == loop.s
    np.testing.assert_array_equal(state.run.anchor[i], before[start])
    unit = loop.beta * loop.gamma  # ours is in units of it
    np.testing.assert_allclose(np.asarray(state.run.grad_sum[i]) * unit, loop.gsum, rtol=0, atol=1e-10)
    assert float(state.run.level[i]) * unit == pytest.approx(loop.level, rel=1e-12)
    assert float(state.run.last.sigma[i]) == pytest.approx(min(1.0, 2.0 / np.sqrt(i - start + 1)), rel=1e-14)


def test_each_projection_on_matrices(rng):
    """Sinha-Vaze with singular values projected, each step from our own point."""
    domain, theirs = SETS["nuclear"]
    x1 = start_of(theirs, (5, 7), rng)
    algorithm, loop = make_pair("sinha_vaze", domain, theirs, (5, 7), x1, rng)
    trace = random_trace(rng, (5, 7), ROUNDS)
    x = replay(algorithm, *trace)[1]
    for before, after, *row in zip(np.concatenate([x1[None], x[:-1]]), x, *trace, strict=True):
        loop.x = before.copy()
        loop.step(*row)
        np.testing.assert_allclose(after, loop.x, rtol=0, atol=1e-10)
        assert theirs.excess(after) <= 1e-12
    assert np.abs(x - x1).max() > 0.1


def gradient_after(name, algorithm, state, before, i):
    """Of F_t at the point before the step, from what the state holds after it."""
    if name == "scofw_tvc":
        return np.asarray(state.run.lin[i]) + algorithm.curvature * (i + 1) * before[i]
    eta = float(state.run.eta_level[i] / state.run.level[i])
    return eta * np.asarray(state.run.grad_sum[i]) + 2.0 * (before[i] - np.asarray(state.run.anchor[i]))


class TestCertificates:
    @pytest.mark.quick_cases("l1")
    @pytest.mark.parametrize("place", ["ball", "l1", "box", "simplex", "polytope"])
    def test_gap_bounds_what_is_missing(self, place, rng):
        """F_t(x_t) - min F_t <= gap, with F_t = c ||x - middle||^2 + const minimised by projection; steps in [0, 1]."""
        domain, theirs = SETS[place]
        x1 = start_of(theirs, (DIM,), rng)
        trace = random_trace(rng, (DIM,), ROUNDS)
        for name in ("ofw_tvc", "scofw_tvc"):
            algorithm, _ = make_pair(name, domain, theirs, (DIM,), x1, rng)
            state, x, told = replay(algorithm, *trace)
            before, tight = np.concatenate([x1[None], x[:-1]]), 0
            sigma = np.asarray(state.run.last.sigma)
            assert sigma.min() >= 0.0 and sigma.max() <= 1.0
            for i in range(ROUNDS):
                c = 1.0 if name == "ofw_tvc" else 0.5 * algorithm.curvature * (i + 1)
                middle = before[i] - gradient_after(name, algorithm, state, before, i) / (2.0 * c)
                missing = c * np.sum((before[i] - middle) ** 2) - c * np.sum((theirs.project(middle) - middle) ** 2)
                assert missing <= told["gap"][i] + 1e-7 * c  # 1e-7: least squares of the polytope
                tight += missing > 0.2 * told["gap"][i]
            assert tight > 0
            np.testing.assert_array_equal(told["oracle_calls"], 1.0)

    @pytest.mark.quick_cases("l1", "polytope")
    @pytest.mark.parametrize("place", ["l1", "box", "simplex", "polytope"])
    def test_lemma_4(self, place, rng):
        """F_{s:t-1}(x_t) - min F_{s:t-1} <= 2 D^2 sigma_{s,t} with the printed sigma; on the ball in `test_ofw_tvc`."""
        domain, theirs = SETS[place]
        algorithm, _ = make_pair("ofw_tvc", domain, theirs, (DIM,), start_of(theirs, (DIM,), rng), rng)
        state, x, _ = replay(algorithm, *random_trace(rng, (DIM,), ROUNDS))
        ratios = []
        for i in range(ROUNDS):  # after round i + 1: x_t for t = i + 2
            eta = float(state.run.eta_level[i] / state.run.level[i])
            middle = np.asarray(state.run.anchor[i]) - 0.5 * eta * np.asarray(state.run.grad_sum[i])
            missing = np.sum((x[i] - middle) ** 2) - np.sum((theirs.project(middle) - middle) ** 2)
            age = i + 2 - (int(state.run.start[i]) + 1) + 1
            ratios.append(missing / (2.0 * theirs.diameter**2 * 2.0 / np.sqrt(age)))
        assert 1e-3 < max(ratios) <= 1.0

    def test_line_search_never_raises_the_sum(self, rng):
        algorithm, _ = make_pair("scofw_tvc", *SETS["l1"], (DIM,), start_of(SETS["l1"][1], (DIM,), rng), rng)
        state, x, _ = replay(algorithm, *random_trace(rng, (DIM,), ROUNDS))
        for i in range(1, ROUNDS):
            lin, c = np.asarray(state.run.lin[i]), 0.5 * algorithm.curvature * (i + 1)
            values = [lin @ z + c * z @ z for z in (x[i], x[i - 1])]
            assert values[0] <= values[1] + 1e-12 * c


class TestInvariances:
    def test_scofw_tvc_under_scaling(self, rng):
        """(f, g, G, alpha) -> s (f, g, G, alpha), beta -> beta / s: the same points."""
        dfs, gs, dgs = random_trace(rng, (DIM,), 60)
        one = replay(SCOFWTVC(dim=DIM, horizon=60, curvature=0.4, domain=L1Ball()), dfs, gs, dgs)[1]
        large = SCOFWTVC(dim=DIM, horizon=60, curvature=0.4 * 37.0, lipschitz=37.0, domain=L1Ball())
        np.testing.assert_allclose(replay(large, 37.0 * dfs, 37.0 * gs, 37.0 * dgs)[1], one, atol=1e-11)

    @pytest.mark.parametrize(
        "make", [lambda s: PFOFW(dim=DIM, horizon=60), lambda s: SinhaVaze(dim=DIM, horizon=60, lipschitz=s)]
    )
    def test_scaling_of_the_functions(self, make, rng):
        dfs, gs, dgs = random_trace(rng, (DIM,), 60)
        np.testing.assert_allclose(
            replay(make(37.0), 37.0 * dfs, 37.0 * gs, 37.0 * dgs)[1], replay(make(1.0), dfs, gs, dgs)[1], atol=1e-11
        )

    def test_without_violations_scofw_tvc_is_scofw(self, rng):
        dfs, gs, dgs = random_trace(rng, (DIM,), 60)
        plain = replay(SCOFW(dim=DIM, curvature=0.4), dfs, gs, dgs)[1]
        constrained = replay(SCOFWTVC(dim=DIM, horizon=60, curvature=0.4), dfs, -np.abs(gs), dgs)[1]
        np.testing.assert_array_equal(constrained, plain)

    def test_where_the_level_is_known_pf_ofw_is_ofw(self, rng):
        """Gradients of one length: the first sets the level, and no epoch follows."""
        dfs, gs, dgs = random_trace(rng, (DIM,), 60)
        dfs /= np.linalg.norm(dfs, axis=1)[:, None] * (1.0 + 1e-9 * np.arange(60))[:, None]
        np.testing.assert_allclose(
            replay(PFOFW(dim=DIM, horizon=60), dfs, gs, dgs)[1],
            replay(OFW(dim=DIM, horizon=60), dfs, gs, dgs)[1],
            atol=1e-11,
        )

    @pytest.mark.parametrize("g_init", [None, 0.01])
    def test_level_of_pf_ofw(self, g_init, rng):
        """A power of two times where it began, at least the largest gradient, below twice it where it doubled."""
        dfs, gs, dgs = random_trace(rng, (DIM,), 60)
        dfs *= np.exp(np.linspace(-4.0, 2.0, 60))[:, None]
        dfs[:2] = 0.0
        _, x, told = replay(PFOFW(dim=DIM, horizon=60, g_init=g_init), dfs, gs, dgs)
        level, size = told["gradient_bound"], np.linalg.norm(dfs, axis=1)
        begun = size[2] if g_init is None else g_init
        assert np.all(level[:2] == (0.0 if g_init is None else g_init))
        doublings = np.log2(level[2:] / begun)
        np.testing.assert_allclose(doublings, np.round(doublings), atol=1e-12)
        assert np.all(level >= size)
        rose = np.diff(level[1:]) > 0
        assert rose[1:].sum() >= 3
        assert np.all(level[2:][rose] < 2.0 * size[2:][rose])
        assert np.isfinite(x).all()


@pytree
class OracleOnly:
    """The unit ball, by its linear oracle alone."""

    diameter = 2.0

    def zero(self, shape):
        return L2Ball().zero(shape)

    def lmo(self, direction, guess=None):
        return L2Ball().lmo(direction, guess)

    def project(self, x):
        raise AssertionError("a projection-free algorithm projected")


MAKERS = {
    "ofw_tvc": lambda **k: OFWTVC(**k, horizon=20),
    "scofw_tvc": lambda **k: SCOFWTVC(**k, horizon=20, curvature=0.5),
    "ofw": lambda **k: OFW(**k, horizon=20),
    "pf_ofw": lambda **k: PFOFW(**k, horizon=20),
    "scofw": lambda **k: SCOFW(**k, curvature=0.5),
    "sinha_vaze": lambda **k: SinhaVaze(**k, horizon=20),
    "strongly_convex_sinha_vaze": lambda **k: StronglyConvexSinhaVaze(**k, horizon=20, curvature=0.5),
}
FREE = [name for name in MAKERS if "vaze" not in name]


class TestDomains:
    @pytest.mark.quick_cases("ofw_tvc", "pf_ofw")
    @pytest.mark.parametrize("name", FREE)
    def test_projection_free_means_that_nothing_projects(self, name, rng):
        trace = random_trace(rng, (2,), 20)
        free = replay(MAKERS[name](dim=2, domain=OracleOnly()), *trace)[1]
        np.testing.assert_array_equal(free, replay(MAKERS[name](dim=2), *trace)[1])

    @pytest.mark.parametrize("name", MAKERS)
    def test_a_set_that_cannot_is_refused_by_name(self, name):
        domain, missing = (WholeSpace(), "lmo") if name in FREE else (Polytope(vertices=np.eye(2)), "project")
        message = f"domain must have '{missing}'; {type(domain).__name__} lacks it"
        with pytest.raises(InputError, match=message) as caught:
            validate(MAKERS[name](dim=2, domain=domain))
        assert "\n" not in str(caught.value)
        with pytest.raises(InputError, match="start must have shape 2"):
            validate(MAKERS[name](dim=2, start=np.zeros(3)))

    def test_an_unbounded_set_is_refused_if_the_steps_need_its_diameter(self):
        with pytest.raises(InputError, match=r"domain must be bounded, .*; WholeSpace is not") as caught:
            validate(MAKERS["sinha_vaze"](dim=2, domain=WholeSpace()))
        assert "\n" not in str(caught.value)

    @pytest.mark.slow_after_first
    @pytest.mark.parametrize("name", ["scofw_tvc", "pf_ofw"])
    def test_zero_feedback_is_finite(self, name):
        """First round, nothing learnt: on the polytope, which has no centre."""
        nothing = np.zeros((3, 4)), np.zeros(3), np.zeros((3, 4))
        state, x, _ = replay(MAKERS[name](dim=4, domain=SETS["polytope"][0]), *nothing)
        assert all(bool(jnp.isfinite(leaf).all()) for leaf in jax.tree.leaves(state))
        assert max(SETS["polytope"][1].excess(row) for row in x) <= 1e-7


@pytest.mark.slow
@pytest.mark.parametrize("name", ["scofw_tvc", "pf_ofw", "sinha_vaze"])
def test_vmap_over_hyperparameters_is_the_loop(name, rng):
    trace = tuple(map(jnp.asarray, random_trace(rng, (3,), 30)))
    fields = {
        "scofw_tvc": lambda k: SCOFWTVC(
            dim=3, horizon=30.0 * k, curvature=0.3 * k, lipschitz=k, constraint_scale=1 / k, domain=L1Ball(radius=k)
        ),
        "pf_ofw": lambda k: PFOFW(dim=3, horizon=30.0 * k, eta_scale=k, step_cap=1 + 0.1 * k, domain=L1Ball(radius=k)),
        "sinha_vaze": lambda k: SinhaVaze(dim=3, horizon=30.0 * k, gamma=k, lipschitz=k, domain=Simplex(total=k)),
    }[name]
    single = [as_arrays(fields(k)) for k in (1.0, 2.0, 3.0)]
    batch = jax.tree.map(lambda *leaves: jnp.stack(leaves), *single)
    together = jax.vmap(_replay, in_axes=(0, None, None, None))(batch, *trace)[1]
    for k, algorithm in enumerate(single):
        chex.assert_trees_all_close(together[k], replay(algorithm, *trace)[1], atol=1e-12)


def test_constants_of_sinha_vaze():
    surrogate = as_arrays(SinhaVaze(dim=2, horizon=100, lipschitz=3.0)).init(KEY).surrogate
    expected = sinha_vaze.theory_constants(100, 3.0, 2.0)
    np.testing.assert_allclose(surrogate, (expected["b"], 1.0, expected["lam"]), rtol=1e-13)
