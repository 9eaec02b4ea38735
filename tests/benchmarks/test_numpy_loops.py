"""The NumPy code of the speed table has the regret of the library's algorithms on the same draws, seed by seed."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks.speed import cases, numpy_armed, numpy_constrained, numpy_dro, numpy_glm, numpy_loops, numpy_online
from benchmarks.speed.cases import CASES, NOISE_DF, build, numpy_regret
from jaxbandits.algorithms.oco.clipped_parameter_free_md import ClippedParameterFreeMD
from jaxbandits.base.pytree import as_arrays
from jaxbandits.domains import L2Ball
from jaxbandits.numerics import losses
from jaxbandits.simulation import simulate
from jaxbandits.types import ArmObs, Constrained, Gradient, Reward
from tests.algorithms.dro.replay_dro import logistic, patch_uniforms
from tests.algorithms.oco.replay_oco import plays_of

KEY = jax.random.key(0)
SEEDS, ROUNDS, MENU_ROUNDS = 8, 600, 4000  # 54 epochs of CRMM, 78 of MENU, and a part of one more
ONCE = list({(case.algorithm, case.fresh_arms): case for case in reversed(CASES)}.values())  # smallest size of each
CONTEXTUAL = next(case for case in ONCE if case.algorithm == "disjoint_lin_ucb")
BANDITS = [case for case in ONCE if case.n_arms and case.dim and case != CONTEXTUAL]
STRUCTURED = [case for case in ONCE if case.size]
ARMED = [case for case in ONCE if not case.dim and not case.size]
CONSTRAINED = next(case for case in ONCE if case.algorithm == "ofw_tvc")
GROUPED = [case for case in ONCE if case.groups]
ONLINE = [case for case in ONCE if not case.n_arms and not case.groups and case != CONSTRAINED]


@jax.jit
def _bandit_regrets(algorithm, arms, rewards, gaps):
    def trial(arms, rewards, gaps):
        def round_(state, row):
            t, x, reward, gap = row
            obs = ArmObs(x)
            decision = algorithm.select(KEY, t, state, obs)
            state = algorithm.update(KEY, t, state, obs, decision, Reward(reward[decision.index]))
            return state, gap[decision.index]

        rounds = jnp.arange(len(arms), dtype=jnp.int32)
        return jnp.sum(jax.lax.scan(round_, algorithm.init(KEY), (rounds, arms, rewards, gaps))[1])

    return jax.vmap(trial)(arms, rewards, gaps)


@jax.jit
def _online_regrets(algorithm, targets, best):
    def trial(targets):
        def round_(state, row):
            t, target = row
            loss = losses.PseudoHuber(target)
            decision = algorithm.select(KEY, t, state, None)
            feedback = Gradient(*losses.evaluate(loss, decision.query))
            regret = loss.value(decision.play) - loss.value(jnp.asarray(best))
            return algorithm.update(KEY, t, state, None, decision, feedback), regret

        rounds = jnp.arange(len(targets), dtype=jnp.int32)
        return jnp.sum(jax.lax.scan(round_, algorithm.init(KEY), (rounds, targets))[1])

    return jax.vmap(trial)(targets)


@jax.jit
def _constrained_losses(algorithm, costs, normals, offsets):
    def trial(costs, normals, offsets):
        def round_(state, row):
            t, cost, normal, offset = row
            decision = algorithm.select(KEY, t, state, None)
            loss, con = cost @ decision.play, normal @ decision.play - offset
            told = Constrained(*(a[None] for a in (loss, cost, con, normal)))
            return algorithm.update(KEY, t, state, None, decision, told), (loss, state.run.start)

        rounds = jnp.arange(len(offsets), dtype=jnp.int32)
        losses, starts = jax.lax.scan(round_, algorithm.init(KEY), (rounds, costs, normals, offsets))[1]
        return jnp.sum(losses), starts[-1]

    return jax.vmap(trial, in_axes=1)(costs, normals, offsets)


@jax.jit
def _grouped_losses(algorithm, optima, x, labels, picks):
    """`[S]` sums of the mean loss of each round: x [S, T, Q, d], labels [S, T, Q], picks [S, T] (or None)."""

    def trial(optima, x, labels, picks):
        def round_(state, row):
            t, x, label, pick = row
            with patch_uniforms(pick[None]):
                decision = algorithm.select(KEY, t, state, None)
            side = jnp.where(jnp.sum(x * optima[decision.group], axis=1) < 0.0, -1.0, 1.0)
            told = logistic(decision.play, x, jnp.where(label < numpy_dro.CORRECT, side, -side))
            return algorithm.update(KEY, t, state, None, decision, told), jnp.mean(told.loss)

        rounds = jnp.arange(len(x), dtype=jnp.int32)
        return jnp.sum(jax.lax.scan(round_, algorithm.init(KEY), (rounds, x, labels, picks))[1])

    return jax.vmap(trial)(optima, x, labels, picks)


def _linear_draws(case, rng, rounds, seeds):
    """Arms [S, T, K, d], rewards of all arms and their gaps [S, T, K], as the loops draw them; None: one seed."""
    arms, theta = numpy_loops.instance(case.dim, case.n_arms, seeds or 1, rng)
    means = np.einsum("skd,sd->sk", arms, theta)[:, None]
    noise = rng.standard_t(NOISE_DF, (rounds, seeds or 1)).T
    gaps = np.repeat(means.max(axis=-1, keepdims=True) - means, rounds, axis=1)
    return np.repeat(arms[:, None], rounds, axis=1), means + noise[:, :, None], gaps


def _generalized_linear_draws(case, rng, rounds, seeds):
    size = (case.n_arms, case.dim)
    if seeds is None:
        theta = numpy_glm.sphere((case.dim,), rng)[None]
        arms = numpy_glm.ball((rounds if case.fresh_arms else 1, *size), rng)[None]
        uniforms = rng.random((1, rounds))
    else:
        theta = numpy_glm.sphere((seeds, case.dim), rng)
        sets, uniforms = [], []
        for t in range(rounds):
            if case.fresh_arms or t == 0:
                sets.append(numpy_glm.ball((seeds, *size), rng))
            uniforms.append(rng.random(seeds))
        arms, uniforms = np.stack(sets, axis=1), np.stack(uniforms, axis=1)
    arms = np.broadcast_to(arms, (len(arms), rounds, *size))
    means = numpy_glm.logistic(numpy_glm.RADIUS * np.einsum("stkd,sd->stk", arms, theta))
    return arms, (uniforms[:, :, None] < means) * 1.0, means.max(axis=-1, keepdims=True) - means


def _both(case, rng, rounds=ROUNDS):
    """The regrets of the NumPy code, single loops and then all seeds together, and the library's, each [2 S]."""
    draw = _generalized_linear_draws if case.algorithm == "glb_omd" else _linear_draws
    numpy_regrets, draws = [], []
    for seed, seeds in [*((int(s), None) for s in rng.integers(2**32, size=SEEDS)), (int(rng.integers(2**32)), SEEDS)]:
        numpy_regrets += list(np.atleast_1d(numpy_regret(case, rounds, np.random.default_rng(seed), seeds)))
        draws.append(draw(case, np.random.default_rng(seed), rounds, seeds))
    together = [jnp.asarray(np.concatenate(parts)) for parts in zip(*draws, strict=True)]
    return np.array(numpy_regrets), np.asarray(_bandit_regrets(as_arrays(build(case)[0]), *together))


@pytest.mark.quick_cases("oful d=2 K=50")
@pytest.mark.parametrize("case", [c for c in BANDITS if c.algorithm != "menu"], ids=lambda case: case.name)
def test_bandits(case, rng):
    ours, library = _both(case, rng)
    np.testing.assert_allclose(ours, library, rtol=1e-9)


@pytest.mark.slow
def test_menu(rng):
    """Where all estimates lie nearly on a line, several may be equally central up to rounding.

    Then the two may take different ones, and play differently for an epoch or more.
    """
    ours, library = _both(next(case for case in BANDITS if case.algorithm == "menu"), rng, MENU_ROUNDS)
    assert np.mean(np.isclose(ours, library, rtol=1e-9, atol=0.0)) > 0.75


@pytest.mark.parametrize("case", [c for c in ARMED if c.algorithm in ("ucb1", "kl_ucb")], ids=lambda case: case.name)
@pytest.mark.parametrize("seeds", [1, SEEDS])
def test_index_policies(case, seeds, rng):
    """Step by step: rewards of all arms from one coin a round."""
    seed, means = int(rng.integers(2**32)), numpy_armed.means(10)
    ours = numpy_armed.regret(case.algorithm, 10, ROUNDS, np.random.default_rng(seed), seeds)
    again = np.random.default_rng(seed)
    coins = np.stack([again.random(seeds) for _ in range(ROUNDS)], axis=1)[:, :, None]
    gaps = np.broadcast_to(means.max() - means, (seeds, ROUNDS, 10))
    learner = as_arrays(dataclasses.replace(build(case)[0], n_arms=10))
    library = _bandit_regrets(learner, jnp.zeros((seeds, ROUNDS, 10, 1)), jnp.asarray((coins < means) * 1.0), gaps)
    np.testing.assert_allclose(ours, library, rtol=1e-9)


@pytest.mark.slow_after_first
@pytest.mark.parametrize(
    "case", [c for c in ARMED if c.algorithm not in ("ucb1", "kl_ucb")], ids=lambda case: case.name
)
def test_policies_that_draw(case, rng):
    _agree(case, numpy_armed.regret(case.algorithm, case.n_arms, ROUNDS, rng, 400))


@pytest.mark.slow
@pytest.mark.parametrize("case", STRUCTURED, ids=lambda case: case.name)
def test_structured(case, rng):
    """With as many rounds as it takes to detect a change of means."""
    rounds = 1200 if case.algorithm == "glr" else ROUNDS
    _agree(case, numpy_regret(case, rounds, rng, 400), rounds)


@pytest.mark.slow
def test_contextual(rng):
    _agree(CONTEXTUAL, numpy_regret(CONTEXTUAL, ROUNDS, rng, 400))


def _agree(case, ours, rounds=ROUNDS):
    """In distribution: mean regrets that differ by less than five standard errors."""
    library = simulate(*build(case), rounds, 400, progress=False).final("regret")
    error = np.sqrt((ours.var() + library.var()) / 400)
    assert abs(ours.mean() - library.mean()) < 5.0 * error


@pytest.mark.quick_cases("ogd d=10")
@pytest.mark.parametrize("case", ONLINE, ids=lambda case: case.name)
def test_online(case, rng):
    seed = int(rng.integers(2**32))
    one = numpy_regret(case, ROUNDS, np.random.default_rng(seed))
    many = numpy_regret(case, ROUNDS, np.random.default_rng(seed), SEEDS)
    ahead, best = numpy_online.draw_targets(case.dim, ROUNDS, np.random.default_rng(seed))
    again = np.random.default_rng(seed)
    together = np.stack([numpy_online.draw_targets(case.dim, SEEDS, again)[0] for _ in range(ROUNDS)], axis=1)
    library = _online_regrets(as_arrays(build(case)[0]), np.concatenate([ahead[None], together]), best)
    np.testing.assert_allclose([one, many], [library[0], np.mean(library[1:])], rtol=1e-9)


@pytest.mark.slow
def test_constrained(rng):
    """Enough rounds for violations to double the level, so that every run starts anew at least once."""
    rounds, seed = 3 * ROUNDS, int(rng.integers(2**32))
    for seeds in (None, SEEDS):
        regret = numpy_regret(CONSTRAINED, rounds, np.random.default_rng(seed), seeds)
        draws = numpy_constrained.draw(CONSTRAINED.dim, rounds, np.random.default_rng(seed), seeds or 1)
        losses, starts = _constrained_losses(as_arrays(build(CONSTRAINED)[0]), *map(jnp.asarray, draws))
        best = np.linalg.norm(draws[0].sum(axis=0), axis=1)
        assert np.min(starts) > 0
        np.testing.assert_allclose(regret, np.mean(losses + best), rtol=1e-9)


@pytest.mark.quick_cases("smd d=10 m=10")
@pytest.mark.parametrize("case", GROUPED, ids=lambda case: case.name)
def test_grouped(case, rng, monkeypatch):
    """Several blocks of draws, a ball small enough to be left, and steps long enough for every group to matter."""
    monkeypatch.setattr(numpy_dro, "BLOCK", 4_000)
    monkeypatch.setattr(numpy_dro, "RADIUS", 0.5)
    monkeypatch.setattr(cases, "HORIZON_IN_FORMULAS", 50)
    seed, several = int(rng.integers(2**32)), case.algorithm == "smd"
    rows = case.groups if several else 1
    learner = dataclasses.replace(build(case)[0], domain=L2Ball(radius=0.5))
    for seeds in (None, SEEDS):
        ours = numpy_regret(case, ROUNDS, np.random.default_rng(seed), seeds)
        count, again, parts = seeds or 1, np.random.default_rng(seed), []
        optima = numpy_dro.instance(case.dim, case.groups, again, count)
        for size in numpy_dro.blocks(ROUNDS, count * rows * case.dim):
            x, picks = again.standard_normal((size, count, rows, case.dim)), np.zeros((size, count))
            if not several:
                picks = again.random((size, count))
            parts.append((x, again.random((size, count, rows)), picks))
        assert len(parts) > 1
        x, labels, picks = (np.concatenate(part).swapaxes(0, 1) for part in zip(*parts, strict=True))
        library = _grouped_losses(as_arrays(learner), optima, x, labels, picks)
        np.testing.assert_allclose(np.ravel(ours), library, rtol=1e-9)


@pytest.mark.parametrize("seeds", [None, 3])
def test_clipping(rng, seeds):
    """Losses steep enough to leave the ball and to exceed the hint, which those of the speed table are not."""
    slopes = rng.normal(size=(seeds or 1, ROUNDS, 3)) * np.linspace(0.1, 2.0, ROUNDS)[:, None] - 2.0
    library = np.stack([plays_of(ClippedParameterFreeMD(dim=3), each) for each in slopes])
    learner, ours = numpy_online.make("clipped_parameter_free_md", 3, seeds), []
    query = next(learner)
    for t in range(ROUNDS):
        ours.append(query)
        query = learner.send(slopes[0, t] if seeds is None else slopes[:, t])
    np.testing.assert_allclose(np.stack(ours, axis=-2).reshape(library.shape), library, rtol=1e-9, atol=1e-12)
