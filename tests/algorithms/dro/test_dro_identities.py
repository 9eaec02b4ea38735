"""What holds whatever the data: special cases that coincide, identities of the estimates, unbiased steps, any model."""

import dataclasses
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms.dro import players
from jaxbandits.algorithms.dro.steps import budget_weights
from jaxbandits.base.pytree import as_arrays, validate
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
    Online,
    SagawaSMD,
    SMDr,
)
from jaxbandits.types import Gradient
from tests.algorithms.dro.replay_dro import KEY, logistic, patch_uniforms, play, replay, replay_prox
from tests.reference import dro_methods as methods
from tests.reference import dro_public
from tests.reference import dro_weights as weights

BALL = {"domain": L2Ball(radius=0.5)}
SIZES = {"dim": 3, "n_groups": 4}
STEPS = {"step_w": 0.3, "step_q": 1.5}
FIXED = SIZES | STEPS | BALL | {"horizon": 30}
FALLING = SIZES | STEPS | BALL


def data(rng, horizon=30, m=4, d=3):
    return rng.normal(size=(horizon, m, d)), rng.choice([-1.0, 1.0], (horizon, m)), rng.random((horizon, m))


def same(one, other, rtol=1e-12):
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-14)


@pytest.mark.quick_cases("SMDr-SMD")
@pytest.mark.parametrize(
    ("special", "plain"),
    [
        (ATkROm(**FIXED, k=1), SMD(**FIXED)),
        (AnytimeATkROm(**FALLING, k=1), AnytimeSMD(**FALLING)),
        (ATkROk(**FIXED, k=1, sampler="systematic"), Online(**FIXED)),
        (AnytimeATkRO1(**FALLING, k=1), AnytimeOnline(**FALLING)),
        (SMDr(dim=3, budgets=(7, 7, 7, 7), **STEPS, **BALL), SMD(**FIXED)),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_special_cases_coincide(special, plain, rng):
    """k = 1, equal budgets."""
    rows = data(rng)
    same(replay(special, *rows), replay(plain, *rows))


def test_theory_steps_of_special_cases_coincide():
    base = {"dim": 3, "n_groups": 4}
    for special, plain in (
        (ATkROm(**base, k=1, horizon=50), SMD(**base, horizon=50)),
        (AnytimeATkROm(**base, k=1), AnytimeSMD(**base)),
        (ATkROk(**base, k=1, horizon=50), Online(**base, horizon=50)),
        (AnytimeATkRO1(**base, k=1), AnytimeOnline(**base)),
        (SMDr(dim=3, budgets=(50, 50, 50, 50)), SMD(**base, horizon=50)),
    ):
        same(jax.tree.leaves(special.steps()), jax.tree.leaves(plain.steps()))
    np.testing.assert_array_equal(budget_weights((7, 7, 7)), 1.0)


@pytest.mark.slow_after_first
@pytest.mark.parametrize("learner", [ATkROm(**FIXED, k=4), ATkROk(**FIXED, k=4)], ids=lambda x: type(x).__name__)
def test_all_of_k_is_empirical_risk_minimisation(learner, rng):
    """k = m: q stays uniform, and the model descends the mean over groups."""
    x, y, u = data(rng)
    run = replay(learner, x, y, u)
    np.testing.assert_allclose(run.q, 0.25, rtol=1e-13)
    np.testing.assert_allclose(run.mean_q, 0.25, rtol=1e-13)
    w, erm, ball = np.zeros(3), [], methods.ball(0.5)
    for t in range(len(x)):
        erm.append(w)
        w = ball(w - 0.3 * np.mean(methods.logistic(w, x[t], y[t])[1], axis=0))
    np.testing.assert_allclose(run.w[:-1], erm, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("theory", [ATkROm.theory(**SIZES, k=4, horizon=9), AnytimeATkROm.theory(**SIZES, k=4)])
def test_no_steps_of_q_leave_plain_averages(theory, rng):
    """log(m/k) = 0: the theorem's eta_q is 0, and the average of q is not 0/0."""
    assert theory.steps().q == 0.0
    np.testing.assert_allclose(replay(theory, *data(rng)).mean_q, 0.25, rtol=1e-13)


class TestEstimates:
    @pytest.mark.parametrize(("m", "k"), [(5, 1), (5, 2), (7, 7)])
    def test_implicit_exploration(self, m, k, rng):
        """(84), (124): <q, s> = mean over the drawn of 1 - loss, less (gamma / k) sum s."""
        gains = jax.jit(players.importance_weighted_gains)
        for _ in range(20):
            q, loss = weights.project(rng.normal(size=m), k), rng.uniform(-1.0, 2.0, k)
            gamma, chosen = rng.uniform(0.01, 1.0), rng.permutation(m)[:k]
            s = -np.asarray(gains(loss, chosen, q, gamma))
            np.testing.assert_allclose(s[chosen], (1.0 - loss) / (k * q[chosen] + gamma), rtol=1e-13)
            np.testing.assert_array_equal(np.delete(s, chosen), 0.0)
            right = (np.sum(1.0 - loss) - gamma * np.sum(s)) / k
            np.testing.assert_allclose(q @ s, right, rtol=1e-11, atol=1e-14)

    @pytest.mark.slow_after_first
    @pytest.mark.parametrize(
        "learner",
        [
            Online(**FIXED | {"horizon": 3000}),
            AnytimeOnline(**FALLING),
            ATkROk(**FIXED, k=2),
            AnytimeATkRO1(**FALLING, k=2),
        ],
        ids=lambda learner: type(learner).__name__,
    )
    def test_exponents_are_bounded(self, learner, rng):
        """gamma = eta_q / 2 in every round: before the cap, no log q moves by more than 2 |1 - loss|."""
        x, y, u = data(rng, horizon=60)
        x = 4.0 * x
        run = replay(learner, x, y, u)
        falls = isinstance(learner, (AnytimeOnline, AnytimeATkRO1))
        rate = STEPS["step_q"] / np.sqrt(np.arange(1.0, 61.0) if falls else np.ones(60))
        drawn, worst = np.asarray(run.samples), 0.0
        for t in range(60):
            loss = methods.logistic(np.asarray(run.w[t]), x[t], y[t])[0]
            chance = drawn[t].sum() * np.asarray(run.q[t])
            move = rate[t] * (1.0 - loss) / (chance + rate[t] / 2.0) * drawn[t]
            assert np.all(np.abs(move) <= 2.0 * np.abs(1.0 - loss) * (1 + 1e-12))
            expected = weights.mirror(np.asarray(run.q[t]), -move, getattr(learner, "k", 1))
            np.testing.assert_allclose(run.q[t + 1], expected, rtol=1e-9, atol=1e-300)
            worst = max(worst, np.max(np.abs(move)))
        assert worst > 1.0


def one_step(learner, w, q, x, y, u):
    """The step of w, and the exponents of q up to a constant, of one round from (w, q) with each of the uniforms."""
    state, x, y = learner.init(KEY), jnp.asarray(x), jnp.asarray(y)
    state = state._replace(model=state.model._replace(w=w), weights=state.weights._replace(log_q=jnp.log(q)))

    def step(u):
        after, _ = play(learner, jnp.int32(0), state, x, y, u)
        return after.model.w - w, after.weights.log_q - jnp.log(q)

    return jax.jit(jax.vmap(step))(u)


class TestUnbiasedSteps:
    """At a fixed (w, q), over everything that a learner draws: exact means, by enumeration. One row a group."""

    W, Q = np.array([0.3, -0.2, 0.4]), np.array([8.0, 5.0, 4.0, 3.0]) / 20.0
    FREE = SIZES | {"domain": WholeSpace(), "step_w": 0.3, "step_q": 1e-5, "horizon": 9}

    def setup_method(self):
        rng = np.random.default_rng(5)
        self.x, self.y = rng.normal(size=(4, 3)), np.array([1.0, -1.0, -1.0, 1.0])
        self.loss, self.slope = methods.logistic(self.W, self.x, self.y)

    def means(self, learner, u, chance=None):
        u = np.asarray(u)
        chance = np.full(len(u), 1.0 / len(u)) if chance is None else np.asarray(chance)
        w, log_q = one_step(as_arrays(learner), self.W, self.Q, self.x, self.y, u)
        return -chance @ np.asarray(w) / 0.3, np.asarray(log_q), chance

    def gains(self, log_q, chance):
        """The mean exponents, to first order in the step, less their mean under q."""
        gain = chance @ log_q / 1e-5
        return gain - self.Q @ gain

    @pytest.mark.slow
    def test_sagawa(self):
        """(17)"""
        u = np.broadcast_to(((np.arange(4) + 0.5) / 4)[:, None], (4, 4))
        grad, log_q, chance = self.means(SagawaSMD(**self.FREE), u)
        np.testing.assert_allclose(grad, self.Q @ self.slope, rtol=1e-10)
        np.testing.assert_allclose(self.gains(log_q, chance), self.loss - self.Q @ self.loss, atol=1e-3)

    def test_smd_r(self):
        """(35), for the weighted problem: no importance weights."""
        b = np.array([1.0, 0.75, 0.5, 0.25])
        masks = np.array(list(itertools.product([0, 1], repeat=4)))
        masks = masks[masks[:, 0] == 1]
        chance = np.prod(np.where(masks == 1, b, 1.0 - b), axis=1)
        fields = {name: value for name, value in self.FREE.items() if name not in ("n_groups", "horizon")}
        u = np.where(masks == 1, b / 2, (1.0 + b) / 2)
        grad, log_q, chance = self.means(SMDr(budgets=(8, 6, 4, 2), **fields), u, chance)
        np.testing.assert_allclose(grad, (self.Q * b) @ self.slope, rtol=1e-10)
        centred = b * self.loss - self.Q @ (b * self.loss)
        np.testing.assert_allclose(self.gains(log_q, chance), centred, atol=1e-3)

    @pytest.mark.slow_after_first
    @pytest.mark.parametrize("k", [1, 2])
    def test_atkro_k(self, k):
        """(54), by systematic sampling on a grid on which all ends of q lie."""
        u = np.broadcast_to(((np.arange(20) + 0.5) / 20)[:, None], (20, 4))
        grad, *_ = self.means(ATkROk(**self.FREE, k=k, sampler="systematic"), u)
        np.testing.assert_allclose(grad, self.Q @ self.slope, rtol=1e-10)

    def test_anytime_online(self):
        """(24): q makes the draw, so the gradient has neither a factor q nor an importance weight."""
        fields = {name: value for name, value in self.FREE.items() if name != "horizon"}
        u = np.broadcast_to(((np.arange(20) + 0.5) / 20)[:, None], (20, 4))
        grad, *_ = self.means(AnytimeOnline(**fields), u)
        np.testing.assert_allclose(grad, self.Q @ self.slope, rtol=1e-10)


@pytest.mark.slow
def test_smd_moves_q_like_the_public_group_dro_code(rng):
    """One row of each group: the q of SMD(m) is theirs. Their model is weighed by the new q, ours by the old one."""
    x, y, u = data(rng, horizon=1)
    run = replay(SMD(**FIXED), x, y, u, start=(0.3 * rng.normal(size=3), rng.dirichlet(np.ones(4))))
    losses, slopes = methods.logistic(np.asarray(run.w[0]), x[0], y[0])
    theirs = dro_public.update(np.asarray(run.q[0]), losses, np.arange(4), STEPS["step_q"])
    np.testing.assert_allclose(run.q[1], theirs, rtol=0, atol=1e-12)
    old, new = (methods.ball(0.5)(np.asarray(run.w[0]) - 0.3 * np.asarray(q) @ slopes) for q in (run.q[0], theirs))
    np.testing.assert_allclose(run.w[1], old, rtol=1e-11)
    assert np.max(np.abs(old - new)) > 1e-4
    some = SMDr(dim=3, budgets=(8, 6, 4, 2), **STEPS, **BALL)  # groups that a coin leaves out have mean loss 0 there
    run = replay(some, x, y, np.array([[0.9, 0.1, 0.9, 0.1]]), start=(np.asarray(run.w[0]), np.asarray(run.q[0])))
    met = np.flatnonzero(run.samples[0])
    assert met.tolist() == [0, 1, 3]
    theirs = dro_public.update(np.asarray(run.q[0]), losses[met], met, STEPS["step_q"])
    np.testing.assert_allclose(run.q[1], theirs, rtol=0, atol=1e-12)


class TestMirrorProx:
    def test_both_gradients_of_a_step_start_from_the_anchor(self, rng):
        """Equal batches: the anchor moves only by the gradient at the extrapolated point, not by the one before."""
        x, y = rng.normal(size=(1, 2, 4, 3)), rng.choice([-1.0, 1.0], (1, 2, 4))
        other = x.copy()
        other[0, 1] = 0.0  # no gradient at the extrapolated point
        run = replay_prox(SMPA(dim=3, budgets=(5, 5, 5, 5), **STEPS, **BALL), other, y)
        assert np.max(np.abs(run.w[0])) > 0.01
        np.testing.assert_array_equal(run.anchor_w[0], 0.0)
        np.testing.assert_allclose(run.anchor_q[0], 0.25, rtol=1e-13)

    def test_the_mean_is_of_extrapolated_points_alone(self, rng):
        x, y = rng.normal(size=(6, 2, 4, 3)), rng.choice([-1.0, 1.0], (6, 2, 4))
        run = replay_prox(SMPA(dim=3, budgets=(5, 5, 5, 5), **STEPS, **BALL), x, y)
        np.testing.assert_allclose(run.mean_w[0], run.w[0], rtol=1e-13)
        np.testing.assert_allclose(run.mean_w[-1], np.mean(run.w, axis=0), rtol=1e-12)
        np.testing.assert_allclose(run.mean_q[-1], np.mean(run.q, axis=0), rtol=1e-12)

    def test_groups_are_asked_as_often_as_their_budgets_say(self):
        learner = as_arrays(SMPA(dim=3, budgets=(9, 5, 4)))
        state = learner.init(KEY)
        for t in (0, 1):
            decision = learner.select(KEY, jnp.int32(t), state, None)
            assert isinstance(decision.group, np.ndarray)
            np.testing.assert_array_equal(decision.group, [0, 0, 1, 2])
        assert learner.rounds == 4


class TestModels:
    """Parameters of any form play like the vector of their entries."""

    SHAPES = ((2,), (1, 2), ())

    def split(self, w):
        """`[5]` as three arrays."""
        return {"a": w[..., :2], "b": w[..., 2:4].reshape(*w.shape[:-1], 1, 2), "c": w[..., 4]}

    @pytest.mark.slow_after_first
    @pytest.mark.parametrize(
        "learner",
        [
            SMD(dim=5, n_groups=4, horizon=20),
            ATkROk(dim=5, n_groups=4, k=2, horizon=20, w_scale=3.0),
            SMPA(dim=5, budgets=(60, 50, 40, 30), w_scale=20.0),
        ],
        ids=lambda learner: type(learner).__name__,
    )
    @pytest.mark.parametrize("domain", [L2Ball(radius=0.2), WholeSpace()], ids=["ball", "whole"])
    def test_trees_play_like_vectors(self, learner, domain, rng):
        start = rng.normal(size=5)
        start *= 0.15 / np.linalg.norm(start)
        vector = as_arrays(dataclasses.replace(learner, domain=domain, start=start, diameter_sq=0.02))
        tree = as_arrays(dataclasses.replace(vector, dim=None, start=self.split(start)))
        validate(vector)
        validate(tree)
        x, y, u = rng.normal(size=(20, 8, 5)), rng.choice([-1.0, 1.0], (20, 8)), rng.random((20, 4))

        def run(learner, split):
            def round_(state, row):
                t, x, y, u = row
                with patch_uniforms(u):
                    decision = learner.select(KEY, t, state, None)
                w = jnp.concatenate([jnp.ravel(part) for part in jax.tree.leaves(decision.play)])
                loss, grad = logistic(w, x[: len(decision.group)], y[: len(decision.group)])
                feedback = Gradient(loss, split(grad))
                return learner.update(KEY, t, state, None, decision, feedback), learner.recommend(state)

            rows = jnp.arange(20, dtype=jnp.int32), x, y, u
            return jax.lax.scan(round_, learner.init(KEY), rows)[1]

        one, other = jax.jit(lambda a, b: (run(a, lambda g: g), run(b, self.split)))(vector, tree)
        np.testing.assert_allclose(one.q, other.q, rtol=1e-11)
        for a, b in zip(jax.tree.leaves(self.split(one.w)), jax.tree.leaves(other.w), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-13)
        assert np.max(np.abs(one.w[-1] - one.w[0])) > 1e-4

    def test_the_shape_of_a_model_may_be_a_tuple(self):
        state = as_arrays(SMD(dim=((2, 3), (3,)), n_groups=4, horizon=9)).init(KEY)
        assert [leaf.shape for leaf in state.model.w] == [(2, 3), (3,)]
        np.testing.assert_allclose(
            SMD(dim=((2, 3), (3,)), n_groups=4, horizon=9).steps()[:2], SMD(dim=9, n_groups=4, horizon=9).steps()[:2]
        )

    def test_start(self, rng):
        """It is w_1: the first play, and the first to enter the mean."""
        start = np.array([0.1, -0.2, 0.3])
        run = replay(SMD(**FIXED, start=start), *data(rng))
        np.testing.assert_array_equal(run.w[0], start)
        np.testing.assert_array_equal(run.mean_w[0], start)
