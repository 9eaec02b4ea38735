"""BFW-TVC against the loop of the paper, the recorded trace, and what its blocks promise."""

import math

import numpy as np
import pytest

from jaxbandits.algorithms.coco.bfw_tvc import BFWTVC
from jaxbandits.algorithms.coco.one_point import OnePoint
from jaxbandits.algorithms.coco.two_point import TwoPoint
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import validate
from jaxbandits.domains import Box, L1Ball, L2Ball, Simplex
from tests.algorithms.coco.replay_blocks import KEY, known_bandit_trace, random_bandit_trace, replay_bandit
from tests.algorithms.coco.sets import SETS, LinearOracleOnly, dim, start
from tests.reference import bfw_tvc as reference

KNOWN = {
    "horizon": 16, "block": 4, "c": 1.0, "delta": 0.5, "beta": 2.0, "gamma": 0.5, "lam": 0.25, "eps": 0.01,
    "g_init": 1.0,
}  # fmt: skip


def test_known_trace():
    _, state, extra = replay_bandit(BFWTVC(dim=2, **KNOWN), *known_bandit_trace())
    expected = [
        (-0.0549413456, -0.2209770895), (-0.1567175146, -0.1468144332), (-0.1431874817, -0.3235873069),
        (-0.2679394533, -0.3218877743),
    ]  # fmt: skip
    np.testing.assert_allclose(state.last.x[3::4], expected, atol=6e-11)
    np.testing.assert_allclose(extra["gradient_bound"][3::4], [2.0, 2.0, 2.0, 4.0], rtol=1e-15)
    np.testing.assert_allclose(state.queue.total[-1], 1.7170397522, atol=6e-11)


def run_reference(learner, us, fs, gs):
    rows = []
    for t in range(len(us)):
        play = learner.play(us[t])
        learner.step(fs[t, 0], gs[t, 0], below=(fs[t, 1], gs[t, 1]) if fs.shape[1] == 2 else None)
        rows.append((play, learner.y, learner.anchor, learner.Q, learner.level, learner.calls))
    return [np.array(column) for column in zip(*rows, strict=True)]


@pytest.mark.slow_after_first
@pytest.mark.parametrize(("name", "queries"), [("matrix ball", 1), ("box", 2), ("ball", 1), ("box", 1), ("l1", 1)])
def test_step_by_step(name, queries, rng):
    restarts = 0
    for case in range(3):
        size, G, M, c, gamma, lam = np.exp(0.5 * rng.normal(size=6))
        domain, other, shape = SETS[name](size)
        delta, beta, g_init = 0.3 * other.inner, 4.0 / (lam * 15.0), [1.0, None, 0.1][case]
        rest = {"beta": beta, "gamma": gamma, "lam": lam, "eps": 0.02 * size**2, "delta": delta, "eta_scale": 3.0}
        trace = random_bandit_trace(rng, shape, 90, queries)
        y1 = start(rng, other, shape, 0.3)
        ours = BFWTVC(
            dim=dim(shape), horizon=90, block=7, domain=LinearOracleOnly(base=domain),
            g_init=g_init, lipschitz=G, value_bound=M, c=c,
            start=y1, weight_before=case == 2, estimator=OnePoint() if queries == 1 else TwoPoint(), **rest,
        )  # fmt: skip
        validate(ours)
        decision, state, extra = replay_bandit(ours, *trace)
        learner = reference.BFWTVC(
            other, y1, T=90, K=7, G=G, M=M, c=c, g_init=beta * G * gamma if g_init is None else g_init,
            weight="Qprev" if case == 2 else "Q", **rest,
        )  # fmt: skip
        play, y, anchor, Q, level, calls = run_reference(learner, *trace)
        close = {"rtol": 0, "atol": 1e-9 * size}
        np.testing.assert_allclose(decision.play, play, **close)
        np.testing.assert_allclose(state.last.x, y, **close)
        np.testing.assert_allclose(state.anchor, anchor, **close)
        np.testing.assert_allclose(state.queue.total, Q, rtol=1e-12)
        np.testing.assert_allclose(extra["gradient_bound"], level, rtol=1e-12)
        np.testing.assert_array_equal(np.cumsum(extra["oracle_calls"]), calls)
        np.testing.assert_array_equal(extra["unfinished"], 0)
        restarts += np.count_nonzero(np.diff(level))
        assert max(other.excess(x) for x in decision.query.reshape(-1, *shape)) <= 1e-12 * size
        np.testing.assert_array_equal(np.flatnonzero(extra["oracle_calls"]), range(6, 90, 7))
        np.testing.assert_array_equal(decision.query[:, 0], decision.play)
    assert restarts >= 3


@pytest.mark.slow
def test_theory_is_that_of_the_reference():
    """The constants of Theorem 3; one linear minimisation a block with its eps."""
    constants = reference.theory_constants(400, 1.7, 0.6, 5.0, 2.5, 2.25, 4)
    ours = BFWTVC.theory(dim=4, horizon=400, lipschitz=1.7, value_bound=0.6, domain=L2Ball(radius=2.5))
    surrogate = ours.init(KEY).surrogate
    assert tuple(map(float, (surrogate.beta, surrogate.lam, surrogate.gamma))) == pytest.approx(
        (constants["beta"], constants["lam"], constants["gamma"])
    )
    assert ours._block == constants["K"] and ours.radius == pytest.approx(2.25 * 400**-0.25)
    trace = random_bandit_trace(np.random.default_rng(0), (4,), 400)
    _, state, _ = replay_bandit(ours, *trace)
    other = SETS["ball"](2.5)[1]
    learner = reference.BFWTVC(
        other, np.zeros(4), T=400, G=1.7, M=0.6, c=2.25, g_init=constants["beta"] * 1.7, **constants
    )
    np.testing.assert_allclose(state.last.x, run_reference(learner, *trace)[1], atol=1e-9)
    assert state.calls.sum() == 20
    printed = BFWTVC.printed(dim=4, horizon=400)
    assert printed.g_init == 1.0


def test_cap_on_frank_wolfe_is_reported():
    """A cap of one step leaves gaps above eps: counted, and y stays in the shrunk set."""
    us, fs, gs = random_bandit_trace(np.random.default_rng(1), (5,), 60)
    setting = {"dim": 5, "horizon": 60, "block": 6, "domain": L1Ball(), "delta": 0.1, "eps": 1e-5, "eta_scale": 3.0}
    _, free, _ = replay_bandit(BFWTVC(**setting, most_steps=100_000), us, fs, gs)
    _, capped, extra = replay_bandit(BFWTVC(**setting, most_steps=1), us, fs, gs)
    assert not free.unfinished.any() and free.calls.sum() > 20
    assert extra["unfinished"].sum() > 3 and extra["oracle_calls"].sum() == 10
    shrunk = 1.0 - 0.1 * math.sqrt(5.0)
    assert np.abs(capped.last.x).sum(1).max() <= shrunk * (1 + 1e-12)


def test_on_a_set_around_another_point(rng):
    """A box away from the origin: shrunk towards its middle, everything played and asked stays inside."""
    box, other = Box(dim=3, low=0.5, high=np.array([1.0, 2.0, 3.0])), np.array([1.0, 2.0, 3.0])
    learner = BFWTVC(dim=3, horizon=90, block=7, domain=box, delta=0.2, eta_scale=100.0, estimator=TwoPoint())
    decision, state, _ = replay_bandit(learner, *random_bandit_trace(rng, (3,), 90, 2))
    assert np.all((decision.query >= 0.5 - 1e-12) & (decision.query <= other + 1e-12))
    assert np.ptp(state.last.x, axis=0).max() > 0.1


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"delta": 1.0}, "inner radius 1.0, got 1.0"),
        ({"delta": 1.0, "start": np.zeros(2)}, "inner radius 1.0, got 1.0"),
        ({"c": 3.0}, "inner radius 1.0, got 1.5"),
        ({"domain": Simplex()}, "'center'"),
        ({"start": np.zeros(3)}, "shape"),
        ({"start": np.array([0.6, 0.0])}, r"start must lie in the domain Shrunk\(.* got array\(\[0.6"),
        ({"block": 0}, "block"),
    ],
)
def test_refuses(fields, words):
    with pytest.raises(InputError, match=words):
        validate(BFWTVC(**{"dim": 2, "horizon": 16} | fields))


@pytest.mark.parametrize("size", [2.0**-8, 2.0**8])
def test_a_step_depends_on_the_units_of_losses_as_printed(size, rng):
    """(22) divides by M and by G~: the step is divided by the size of the losses, unless `eta_scale` multiplies it."""
    us, fs, gs = random_bandit_trace(rng, (4,), 90, 1)

    def centers(s, **changes):
        learner = BFWTVC.practical(dim=4, horizon=90, lipschitz=s, value_bound=s, **changes)
        return replay_bandit(learner, us, s * fs, s * gs)[1].last.x

    usual = centers(1.0)
    np.testing.assert_array_equal(centers(size, eta_scale=30.0 * size), usual)
    assert np.abs(centers(size) - usual).max() > 0.01
    np.testing.assert_allclose(centers(size), centers(1.0, eta_scale=30.0 / size), rtol=0.0, atol=1e-12)
