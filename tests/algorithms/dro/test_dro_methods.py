"""Every learner of group DRO against its NumPy reference: golden traces, hand cases, fresh rows and uniforms."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.base.pytree import as_arrays
from jaxbandits.domains import L2Ball, WholeSpace
from jaxbandits.dro import (
    SMD,
    SMPA,
    AnytimeATkRO1,
    AnytimeATkROm,
    AnytimeOnline,
    AnytimeSMD,
    ATkROk,
    ATkROm,
    Haghtalab,
    Online,
    SagawaSMD,
    SMDr,
    Soma,
)
from jaxbandits.types import SampledRows
from tests.algorithms.dro.replay_dro import KEY, logistic, patch_uniforms, replay, replay_prox
from tests.reference import dro_methods as methods
from tests.reference import dro_weights as weights

FIXED = {"step_w": 0.4, "step_q": 1.5}
FALLING = {"step_w": 0.8, "step_q": 4.5}
SMALL = {"domain": L2Ball(radius=0.25)}


def learners(m, k, d, horizon, budgets, fixed=FIXED, falling=FALLING, gamma=0.3, falling_gamma=0.6, **fields):
    """One of each, under the names of the references' golden table."""
    some = {"dim": d, "n_groups": m} | fields
    fixed, falling = {"horizon": horizon} | fixed, falling
    return {
        "smd_m": SMD(**some, **fixed),
        "smd_m_a": AnytimeSMD(**some, **falling),
        "smd_1": SagawaSMD(**some, **fixed),
        "online_1": Online(**some, **fixed, gamma=gamma),
        "online_1_a": AnytimeOnline(**some, **falling, gamma=falling_gamma),
        "atkro_m": ATkROm(**some, **fixed, k=k),
        "atkro_m_a": AnytimeATkROm(**some, **falling, k=k),
        "atkro_k": ATkROk(**some, **fixed, gamma=gamma, k=k),
        "atkro_k systematic": ATkROk(**some, **fixed, gamma=gamma, k=k, sampler="systematic"),
        "atkro_1_a": AnytimeATkRO1(**some, **falling, gamma=falling_gamma, k=k),
        "smd_r": SMDr(dim=d, budgets=budgets, **{name: fixed[name] for name in FIXED}, **fields),
        "soma": Soma(**some, **fixed),
    }


def references(x, y, u, k, budgets, fixed=FIXED, falling=FALLING, gamma=0.3, falling_gamma=0.6, radius=0.25):
    root, ball = np.sqrt(np.arange(1.0, len(x) + 1)), methods.ball(radius)
    fixed, falling = tuple(fixed.values()), tuple(step / root for step in falling.values())

    def systematic(q, k, u):
        return weights.systematic(q, k, u[0])

    return {
        "smd_m": lambda: methods.smd(x, y, *fixed, ball),
        "smd_m_a": lambda: methods.smd(x, y, *falling, ball),
        "smd_1": lambda: methods.sagawa(x, y, u, *fixed, ball),
        "online_1": lambda: methods.online(x, y, u, *fixed, gamma, ball),
        "online_1_a": lambda: methods.online(x, y, u, *falling, falling_gamma / root, ball),
        "atkro_m": lambda: methods.smd(x, y, *fixed, ball, k=k),
        "atkro_m_a": lambda: methods.smd(x, y, *falling, ball, k=k),
        "atkro_k": lambda: methods.atkro_k(x, y, u, *fixed, gamma, ball, k),
        "atkro_k systematic": lambda: methods.atkro_k(x, y, u, *fixed, gamma, ball, k, sampler=systematic),
        "atkro_1_a": lambda: methods.online(x, y, u, *falling, falling_gamma / root, ball, k=k),
        "smd_r": lambda: methods.smd_r(x, y, u, budgets, *fixed, ball),
        "soma": lambda: methods.soma(x, y, u, *fixed, ball),
    }


GOLDEN_LEARNERS = learners(m=4, k=3, d=3, horizon=30, budgets=(4, 3, 2, 1), **SMALL)


@pytest.mark.slow_after_first
@pytest.mark.parametrize("name", [name for name in methods.GOLDEN if name != "smpa_m"])
def test_golden_trace(name):
    run = replay(GOLDEN_LEARNERS[name], *methods.golden_rows())
    mean_w, mean_q = methods.GOLDEN[name]
    np.testing.assert_allclose(run.mean_w[-1], mean_w, rtol=0, atol=1e-11)
    np.testing.assert_allclose(run.mean_q[-1, :3], mean_q, rtol=0, atol=1e-11)


def test_golden_trace_of_mirror_prox():
    run = replay_prox(SMPA(dim=3, budgets=(2, 1, 1, 1), **FIXED, **SMALL), *methods.golden_batches())
    mean_w, mean_q = methods.GOLDEN["smpa_m"]
    np.testing.assert_allclose(run.mean_w[-1], mean_w, rtol=0, atol=1e-11)
    np.testing.assert_allclose(run.mean_q[-1, :3], mean_q, rtol=0, atol=1e-11)


THIRDS, TILTED = np.full(3, 1 / 3), np.array([0.5, 0.3, 0.2])
PLAIN = {"dim": 2, "domain": WholeSpace(), "step_w": 0.5, "step_q": 1.0}
THREE = PLAIN | {"n_groups": 3, "horizon": 2}


@pytest.mark.quick_cases("SMDr----")
@pytest.mark.parametrize(
    ("learner", "u", "start", "w", "q"),
    [
        (SMD(**THREE), 0.5, None, (1 / 6, 0.0), THIRDS),
        (Online(**THREE, gamma=0.5), 0.5, None, (0.0, -0.25), (0.37147619, 0.25704763, 0.37147619)),
        (SagawaSMD(**THREE | {"step_q": 0.1}), 0.5, None, (0.0, -0.25), (0.30948787, 0.38102426, 0.30948787)),
        (SMDr(**PLAIN, budgets=(4, 2, 1)), (0.9, 0.4, 0.3), None, (0.08333333, -0.08333333), (0.4, 0.4, 0.2)),
        (
            ATkROk(**THREE, k=2, gamma=0.5),
            0.5,
            (np.zeros(2), TILTED),
            (0.125, -0.125),
            (0.48833257, 0.27199467, 0.23967276),
        ),
        (
            ATkROm(**THREE | {"step_q": 2.0}, k=2),
            0.5,
            (np.array([-1.0, 0.0]), TILTED),
            (-0.21246355, -0.00189414),
            (0.5, 0.15131936, 0.34868064),
        ),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "domain") else "",
)
def test_hand_case(learner, u, start, w, q):
    x = methods.HAND_X.copy()
    if isinstance(learner, ATkROm):
        x[0] = 3.0, 0.0
    run = replay(learner, x[None], methods.HAND_Y[None], np.broadcast_to(u, (1, 3)), start)
    np.testing.assert_allclose(run.w[1], w, rtol=0, atol=6e-9)
    np.testing.assert_allclose(run.q[1], q, rtol=0, atol=6e-9)


def test_hand_case_of_mirror_prox():
    x = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    y = np.array([1.0, 1.0, -1.0, 1.0])
    run = replay_prox(SMPA(**PLAIN, budgets=(2, 1, 1)), np.array([[x, x]]), np.array([[y, y]]))
    np.testing.assert_allclose(run.w[0], (0.18096441, 0.0), rtol=0, atol=6e-9)
    np.testing.assert_allclose(run.q[0], (0.36026321, 0.3198684, 0.3198684), rtol=0, atol=6e-9)
    np.testing.assert_allclose(run.anchor_w[0], (0.16874824, -0.00721592), rtol=0, atol=6e-9)
    np.testing.assert_allclose(run.anchor_q[0], (0.34679104, 0.34070409, 0.31250487), rtol=0, atol=6e-9)


EVERY = [(m, k) for m in range(2, 13) for k in range(1, m + 1)]


def _cases():
    """All at the size of the golden traces, whose programs they share; long ones, the ends; slowly, every size."""
    for name in GOLDEN_LEARNERS:
        yield pytest.param(name, 4, 3, 3, id=name)
    yield pytest.param("atkro_k", 60, 3, 2, id="atkro_k of many groups")
    yield pytest.param("atkro_k systematic", 7, 7, 2, id="all of seven groups")
    yield pytest.param("soma", 60, 1, 2, id="soma of many groups")
    for name, (m, k) in itertools.product(GOLDEN_LEARNERS, EVERY):
        if name.startswith("atkro") or k == 1:
            yield pytest.param(name, m, k, 1 + (m + k) % 4, id=f"{name}-{m}-{k}")


def close(ours, theirs):
    for field in theirs._fields:
        np.testing.assert_allclose(getattr(ours, field), getattr(theirs, field), rtol=1e-10, atol=1e-12)


@pytest.mark.quick_cases("soma", "smd_1", "smd_m", "smd_r", "atkro_k", "atkro_m", "online_1")
@pytest.mark.parametrize(("name", "m", "k", "d"), list(_cases()))
def test_equals_the_reference_at_every_step(name, m, k, d, rng):
    budgets = (4, 3, 2, 1) if m == 4 else tuple(int(n) for n in rng.integers(1, 50, m))
    for _ in range(5):
        x, y, u = rng.normal(size=(30, m, d)), rng.choice([-1.0, 1.0], (30, m)), rng.random((30, m))
        shared = {
            "fixed": {"step_w": rng.uniform(0.1, 0.5), "step_q": rng.uniform(0.2, 1.5)},
            "falling": {"step_w": rng.uniform(0.2, 1.0), "step_q": rng.uniform(0.5, 4.0)},
            "gamma": rng.uniform(0.1, 0.5),
            "falling_gamma": rng.uniform(0.2, 1.0),
        }
        radius = rng.uniform(0.2, 1.0)
        expected = references(x, y, u, k, budgets, radius=radius, **shared)[name]()
        learner = learners(m, k, d, 30, budgets, domain=L2Ball(radius=radius), **shared)[name]
        close(replay(learner, x, y, u), expected)


@pytest.mark.quick_cases("budgets1")
@pytest.mark.parametrize("budgets", [(7, 3), (9, 4, 2, 2, 1), (40, 1, 30, 20, 7, 3, 5, 9, 11, 2)])
def test_mirror_prox_equals_the_reference_at_every_step(budgets, rng):
    sizes, d, horizon = methods.batch_sizes(budgets), int(rng.integers(1, 6)), 40
    x = rng.normal(size=(horizon, 2, sum(sizes), d))
    y = rng.choice([-1.0, 1.0], (horizon, 2, sum(sizes)))
    steps, radius = {"step_w": rng.uniform(0.1, 0.5), "step_q": rng.uniform(0.2, 1.5)}, rng.uniform(0.2, 1.0)
    expected = methods.smpa(x, y, budgets, *steps.values(), methods.ball(radius))
    ours = replay_prox(SMPA(dim=d, budgets=budgets, domain=L2Ball(radius=radius), **steps), x, y)
    for field in ("w", "q", "mean_w", "mean_q", "samples"):
        np.testing.assert_allclose(getattr(ours, field), getattr(expected, field), rtol=1e-10, atol=1e-12)
    for field in ("anchor_w", "anchor_q"):
        np.testing.assert_allclose(getattr(ours, field), getattr(expected, field)[1:], rtol=1e-10, atol=1e-12)


@pytest.mark.slow_after_first
@pytest.mark.parametrize(("m", "d"), [(4, 3), (2, 1)])
def test_haghtalab_equals_the_reference_at_every_step(m, d, rng):
    """What it is shown of groups in rounds that draw no block is other rows: it must not look."""
    horizon = 30
    x, y, u = rng.normal(size=(horizon, m, d)), rng.choice([-1.0, 1.0], (horizon, m)), rng.random((horizon, m))
    blocks = -(-horizon // m)
    block_x, block_y = rng.normal(size=(blocks, m, d)), rng.choice([-1.0, 1.0], (blocks, m))
    steps = {"step_w": rng.uniform(0.1, 0.5), "step_q": rng.uniform(0.2, 1.5)}
    expected = methods.haghtalab(x, y, block_x, block_y, u, *steps.values(), methods.ball(0.4))
    learner = as_arrays(Haghtalab(dim=d, n_groups=m, horizon=horizon, domain=L2Ball(radius=0.4), **steps))
    others, other_labels = rng.normal(size=(horizon, m, d)), rng.choice([-1.0, 1.0], (horizon, m))
    draws = np.arange(horizon) % m == 0
    others[draws], other_labels[draws] = block_x, block_y

    @jax.jit
    def run(*rows):
        def round_(state, row):
            t, x, y, others, other_labels, u = row
            with patch_uniforms(u):
                decision = learner.select(KEY, t, state, None)
            first = decision.group[:1]
            features = jnp.concatenate([x[first], others])
            labels = jnp.concatenate([y[first], other_labels])
            loss, grad = logistic(decision.play, features, labels)
            drawn = decision.drawn
            told = SampledRows(loss * drawn, grad * drawn[:, None], features, labels)
            state = learner.update(KEY, t, state, None, decision, told)
            counts = jnp.zeros(m).at[decision.group].add(drawn.astype(float))
            w, log_q = state.players.model.w, state.players.weights.log_q
            return state, (w, jnp.exp(log_q), *learner.recommend(state), counts)

        return jax.lax.scan(round_, learner.init(KEY), rows)[1]

    w, q, mean_w, mean_q, samples = run(jnp.arange(horizon, dtype=jnp.int32), x, y, others, other_labels, u)
    for ours, theirs in (
        (w, expected.w[1:]),
        (q, expected.q[1:]),
        (mean_w, expected.mean_w),
        (mean_q, expected.mean_q),
        (samples, expected.samples),
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(samples.sum(), horizon + m * blocks)
