"""SCBFW-TVC against the loop of the paper, the recorded traces, and the erratum in (27)."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms.coco.one_point import OnePoint
from jaxbandits.algorithms.coco.scbfw_tvc import SCBFWTVC
from jaxbandits.algorithms.coco.two_point import TwoPoint
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import as_arrays, validate
from jaxbandits.domains import L2Ball
from jaxbandits.types import ConstrainedValue
from tests.algorithms.coco.replay_blocks import KEY, known_bandit_trace, random_bandit_trace, replay_bandit
from tests.algorithms.coco.sets import SETS, LinearOracleOnly, dim, start
from tests.reference import scbfw_tvc as reference

FIRST = (-0.2111519830, -0.5649818097)
RECENTRED = [FIRST, (-0.5408335985, -0.2669992959), (-0.0533054748, -0.6007895901), (-0.4278444068, -0.4251338246)]
PRINTED = [FIRST, (-0.5600374493, -0.2239367337), (0.0311430874, -0.6023451779), (-0.4390650122, -0.4135353919)]


@pytest.mark.parametrize(("recenter", "expected"), [(True, RECENTRED), (False, PRINTED)])
def test_known_traces(recenter, expected):
    setting = {"horizon": 16, "block": 4, "steps": 5, "curvature": 0.5, "beta": 2.0, "gamma": 0.5, "c": 1.0}
    _, state, _ = replay_bandit(SCBFWTVC(dim=2, recenter=recenter, **setting), *known_bandit_trace())
    np.testing.assert_allclose(state.last.x[3::4], expected, atol=6e-11)


def run_reference(learner, us, fs, gs):
    rows = []
    for t in range(len(us)):
        play = learner.play(us[t])
        learner.step(fs[t, 0], gs[t, 0], below=(fs[t, 1], gs[t, 1]) if fs.shape[1] == 2 else None)
        rows.append((play, learner.y, learner.Q))
    return [np.array(column) for column in zip(*rows, strict=True)]


@pytest.mark.slow_after_first
@pytest.mark.parametrize(("name", "queries"), [("matrix ball", 1), ("box", 2), ("ball", 1), ("box", 1), ("l1", 1)])
def test_step_by_step(name, queries, rng):
    """To 1e-9, or to 100 times what a rounding of y_1 does to the reference itself.

    Where Frank-Wolfe has converged, the gradient is rounding, hence also the vertex that it steps towards.
    """
    for case in range(3):
        size, alpha, beta, gamma = np.exp(0.5 * rng.normal(size=4))
        domain, other, shape = SETS[name](size)
        trace = random_bandit_trace(rng, shape, 80, queries)
        y1, delta = start(rng, other, shape, 0.3), 0.3 * other.inner
        ours = SCBFWTVC(
            dim=dim(shape), horizon=80, block=9, steps=3, domain=LinearOracleOnly(base=domain),
            curvature=alpha, beta=beta, gamma=gamma,
            delta=delta, recenter=case != 1, start=y1, weight_before=case == 2,
            estimator=OnePoint() if queries == 1 else TwoPoint(),
        )  # fmt: skip
        validate(ours)
        decision, state, _ = replay_bandit(ours, *trace)
        (play, y, Q), (_, shaken, _) = (
            run_reference(
                reference.SCBFWTVC(
                    other, first, 80, K=9, L=3, alpha=alpha, beta=beta, gamma=gamma, delta=delta, recenter=case != 1,
                    weight="Qprev" if case == 2 else "Q",
                ), *trace
            )
            for first in (y1, y1 * (1.0 + 2.0**-52))
        )  # fmt: skip
        rounding = 100.0 * np.abs(shaken - y).max()
        assert rounding < 1e-6 * size
        close = {"rtol": 0, "atol": 1e-9 * size + rounding}
        np.testing.assert_allclose(decision.play, play, **close)
        np.testing.assert_allclose(state.last.x, y, **close)
        np.testing.assert_allclose(state.queue.total, Q, rtol=1e-12)
        assert max(other.excess(x) for x in decision.query.reshape(-1, *shape)) <= 1e-12 * size
        moved = np.flatnonzero(np.abs(np.diff(state.last.x, axis=0)).reshape(79, -1).any(1)) + 1
        assert set(moved) <= set(range(8, 80, 9)) and len(moved) > 0


def test_theory_is_the_proofs():
    ours = SCBFWTVC.theory(dim=3, horizon=1000, lipschitz=1.3, curvature=0.4, domain=L2Ball(radius=2.0))
    proof = reference.proof_constants(1000, 1.3, 4.0, 2.0, 1.8, 0.4)
    assert ours._gamma == pytest.approx(proof["gamma"], rel=1e-12) and ours.beta == proof["beta"]
    assert ours._block == ours._steps == 100 and ours.radius == pytest.approx(0.18)
    printed = SCBFWTVC.printed(dim=3, horizon=1000, lipschitz=1.3, curvature=0.4, domain=L2Ball(radius=2.0))
    assert (printed.beta, printed.gamma) == pytest.approx((1 / (1.3 * 4.0 * 100.0), 1.3 / (1.3 + 0.4 * 4.0)))
    assert not printed.recenter


@pytest.mark.parametrize(("recenter", "limit", "regret"), [(False, 0.3, 135.90), (True, 0.6, 1.80)])
def test_equation_27_is_pulled_to_the_origin(recenter, limit, regret):
    """Erratum: for f = (x - a)^2 / 2 and exact gradients y tends to a / 2, with linear regret, as printed.

    On the line two points give the gradient of a quadratic exactly, whatever delta.
    """
    learner = as_arrays(
        SCBFWTVC(dim=1, horizon=3000, block=10, steps=200, delta=1e-6, recenter=recenter, estimator=TwoPoint())
    )

    @jax.jit
    def run():
        def round_(state, t):
            decision = learner.select(KEY, t, state, None)
            loss = 0.5 * (decision.query[:, 0] - 0.6) ** 2
            y = state.last.x[0]
            state = learner.update(KEY, t, state, None, decision, ConstrainedValue(loss, jnp.full(2, -1.0)))
            return state, 0.5 * (y - 0.6) ** 2

        return jax.lax.scan(round_, learner.init(KEY), jnp.arange(3000, dtype=jnp.int32))

    state, losses = run()
    np.testing.assert_allclose(state.last.x, [limit], atol=1e-3)
    assert float(losses.sum()) == pytest.approx(regret, abs=5e-3)


@pytest.mark.parametrize(("fields", "words"), [({"delta": 1.0}, "inner radius"), ({"steps": 0}, "steps")])
def test_refuses(fields, words):
    with pytest.raises(InputError, match=words):
        validate(SCBFWTVC(**{"dim": 2, "horizon": 16} | fields))
