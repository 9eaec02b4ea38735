"""Baselines of online convex optimisation in float32: close to the float64 references, finite outside their range."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms.oco.adagrad_norm import AdaGradNorm
from jaxbandits.algorithms.oco.cla_oons import CLAOONS
from jaxbandits.algorithms.oco.clipped_parameter_free_md import ClippedParameterFreeMD
from jaxbandits.algorithms.oco.dog import DoG
from jaxbandits.algorithms.oco.dowg import DoWG
from jaxbandits.algorithms.oco.kt_betting import KTBetting
from jaxbandits.algorithms.oco.msmwc import MsMwC
from jaxbandits.algorithms.oco.ogd import OGD
from jaxbandits.algorithms.oco.oons import OONS
from jaxbandits.algorithms.oco.optax_learner import OptaxLearner
from jaxbandits.algorithms.oco.optimistic_ftrl_2022 import OptimisticFTRL2022
from jaxbandits.algorithms.oco.optimistic_ftrl_2023 import OptimisticFTRL2023
from jaxbandits.algorithms.oco.optimistic_omd import OptimisticOMD
from jaxbandits.algorithms.oco.parameter_free_md import ParameterFreeMD
from jaxbandits.algorithms.oco.scale_free_ftrl import ScaleFreeFTRL
from jaxbandits.base.pytree import as_arrays
from jaxbandits.domains import points
from jaxbandits.domains.ball import L2Ball
from jaxbandits.types import Gradient
from tests.algorithms.oco import replay_oco
from tests.reference import oco_baselines as reference

HORIZON = 400

CASES = {
    "omd": lambda d: (OptimisticOMD(dim=d), reference.optimistic_omd(d)),
    "ftrl_2022": lambda d: (OptimisticFTRL2022(dim=d, offset=2.0), reference.optimistic_ftrl_2022(d)),
    "ftrl_2023": lambda d: (OptimisticFTRL2023(dim=d), reference.optimistic_ftrl_2023(d)),
    "adagrad_norm": lambda d: (AdaGradNorm(dim=d), reference.adagrad_norm(d)),
    "kt": lambda d: (KTBetting(dim=d), reference.kt_betting(d)),
    "kt_ball": lambda d: (KTBetting(dim=d, domain=L2Ball(radius=0.5)), reference.kt_betting(d, radius=0.5)),
    "pfmd": lambda d: (ParameterFreeMD(dim=d, scale=100.0), reference.parameter_free_md(d, eps=100.0)),
    "clipped": lambda d: (
        ClippedParameterFreeMD(dim=d, initial_hint=0.1, scale=100.0),
        reference.clipped_parameter_free_md(d, 0.1, 100.0),
    ),
    "scale_free": lambda d: (ScaleFreeFTRL(dim=d), reference.scale_free_ftrl(d)),
    "dog": lambda d: (DoG(dim=d, initial_distance=0.1), reference.dog(d, 0.1)),
    "dowg": lambda d: (DoWG(dim=d, initial_distance=0.1), reference.dowg(d, 0.1)),
}


def plays_of(algorithm, offsets, curved=False):
    plays = replay_oco.plays_of(algorithm, offsets, curved)
    assert plays.dtype == np.float32
    return plays.astype(float)


@pytest.mark.quick_cases("dog-2", "pfmd-2", "kt_ball-2", "ftrl_2023-2")
@pytest.mark.parametrize("dim", [2, 5])
@pytest.mark.parametrize("name", CASES)
def test_plays_are_close_to_the_reference(name, dim, rng):
    """On curved losses, whose gradients pull back a path that strays."""
    algorithm, expected = CASES[name](dim)
    noise = rng.standard_normal((HORIZON, dim))
    targets = (0.6 * np.eye(dim)[0] + noise / np.linalg.norm(noise, axis=1, keepdims=True)).astype(np.float32)
    exact = targets.astype(float)

    def gradient(t, x):
        error = x - exact[t - 1]
        return error / np.sqrt(1.0 + error @ error)

    theirs = reference.run(expected, gradient, HORIZON)
    np.testing.assert_allclose(plays_of(algorithm, targets, True), theirs, rtol=0.0, atol=2e-5)
    assert np.linalg.norm(theirs, axis=1).max() > 0.2


LEARNERS = {name: CASES[name](2)[0] for name in CASES}
OPTAX = {
    name: getattr(OptaxLearner, name)(dim=2)
    for name in ("sgd", "adam", "adagrad", "cocob", "dog", "dowg", "prodigy", "dadapt_adamw", "mechanized_sgd")
}


@pytest.mark.quick_cases("dog", "dowg", "pfmd", "scale_free", "adagrad_norm")
@pytest.mark.parametrize("name", LEARNERS)
def test_tiny_and_huge_gradients_stay_finite(name, rng):
    for size in (0.0, 1e-30, 1e-10, 1e3, 1e6):
        plays = plays_of(LEARNERS[name], size * rng.standard_normal((200, 2)))
        if not (name.startswith(("kt", "pfmd", "dowg")) and size >= 1e3):  # far beyond their G: growth without end
            assert np.isfinite(plays).all(), size
        assert not np.isnan(plays[:4]).any(), size


@jax.jit
def ran(algorithm, grads):
    """The plays on linear losses, and whether the simulator would count the trial as failed."""

    def one_round(state, row):
        t, grad = row
        decision = algorithm.select(replay_oco.KEY, t, state, None)
        feedback = Gradient(jnp.zeros(1), grad[None])
        return algorithm.update(replay_oco.KEY, t, state, None, decision, feedback), decision.play

    start = algorithm.init(replay_oco.KEY)
    state, plays = jax.lax.scan(one_round, start, (jnp.arange(len(grads), dtype=jnp.int32), grads))
    return plays, jnp.stack([jnp.isnan(leaf).any() for leaf in jax.tree.leaves(state)]).any()


FAR = LEARNERS | {"ogd": OGD(dim=2), "oons": OONS.theory(dim=2), "cla": CLAOONS(dim=2), "msmwc": MsMwC(n_experts=2)}
HOLD = {1e15: {"msmwc", "clipped", "adagrad_norm", "omd", "scale_free", "dog"}, 1e30: {"ogd", "ftrl_2023"}}


@pytest.mark.quick_cases("dog", "dowg", "oons", "clipped", "scale_free")
@pytest.mark.parametrize("name", FAR)
def test_what_overflows_is_counted_as_failed(name, rng):
    """Gradients of 1e15 to 1e30 where G is 1: the learner keeps moving or its state is NaN; none rests at 0."""
    directions, outcomes = rng.standard_normal((300, 2)), {}
    for size in (1e15, 1e18, 1e20, 1e25, 1e30):
        plays, failed = map(np.asarray, ran(as_arrays(FAR[name]), jnp.asarray(size * directions, jnp.float32)))
        outcomes[size] = not failed
        if failed:
            continue
        assert np.isfinite(plays).all(), size
        if name == "msmwc":  # the squares of its losses may leave one expert in the lead for good
            np.testing.assert_allclose(plays.sum(axis=1), 1.0, rtol=1e-6)
            continue
        assert len(np.unique(plays[-50:], axis=0)) > 25, size
        if name == "ogd":  # a step so long leads to the sphere, opposite to the gradient
            opposite = -directions[:-1] / np.linalg.norm(directions[:-1], axis=1, keepdims=True)
            np.testing.assert_allclose(plays[1:], opposite, rtol=0.0, atol=1e-6)
    held = [size for size in HOLD if all(outcomes[smaller] for smaller in outcomes if smaller <= size)]
    assert all(name not in HOLD[size] or size in held for size in HOLD), outcomes


def test_norms_do_not_overflow(rng):
    """Between 1e-15 and 3e38; elsewhere the root of the sum of squares, bit for bit."""
    x = rng.standard_normal((200, 5)) * 10.0 ** rng.uniform(-15, 37.5, (200, 1))
    ours = np.asarray(jax.vmap(points.norm)(jnp.asarray(x, jnp.float32)), float)
    np.testing.assert_allclose(ours, np.linalg.norm(x.astype(np.float32).astype(float), axis=1), rtol=4e-7)
    small = jnp.asarray(x[np.abs(x).max(axis=1) < 1e12], jnp.float32)
    plain = jax.vmap(lambda v: jnp.sqrt(points.inner(v, v)))(small)
    np.testing.assert_array_equal(jax.vmap(points.norm)(small), plain)
    beyond = jnp.full(5, 3e38, jnp.float32)
    assert jnp.isinf(points.norm(beyond)) and jnp.isnan(L2Ball().project(beyond)).all()
    assert jnp.isnan(points.norm(beyond.at[0].set(jnp.nan)))


@jax.jit
def after(algorithm, state, grad):
    decision = algorithm.select(replay_oco.KEY, jnp.int32(5), state, None)
    return algorithm.update(replay_oco.KEY, jnp.int32(5), state, None, decision, Gradient(jnp.zeros(1), grad[None]))


SUMS = {"oons": "variation", "cla": "load", "adagrad_norm": "energy", "omd": "variation"}


@pytest.mark.quick_cases("adagrad_norm")
@pytest.mark.parametrize("name", SUMS)
def test_sums_stop_to_grow_near_1e7_rounds(name):
    """Of terms of one size: after 10^7 of them a round still adds its own to within a half, after 4 10^7 nothing."""
    algorithm, field = as_arrays(FAR[name]), SUMS[name]
    state, totals = algorithm.init(replay_oco.KEY), []
    for sign in (1.0, -1.0, 1.0, -1.0):
        state = after(algorithm, state, jnp.asarray([sign, 0.0]))
        totals.append(getattr(state, field))
    grad, term = jnp.asarray([1.0, 0.0]), totals[-1] - totals[-2]
    for rounds, grows in ((1e7, True), (4e7, False)):
        total = jnp.float32(rounds) * term
        grown = float(getattr(after(algorithm, state._replace(**{field: total}), grad), field) - total)
        assert (0.5 * term <= grown <= 1.5 * term) if grows else grown == 0.0


def _sums(name, size):
    """Return the scalars of a state after one gradient of this size."""
    algorithm = as_arrays(FAR[name])
    start = algorithm.init(replay_oco.KEY)
    if name == "dowg":  # of the squares of gradients times the distance so far
        start = start._replace(distance=jnp.ones_like(start.distance))
    state = after(algorithm, start, jnp.asarray([size, 0.0], jnp.float32))
    return [float(leaf) for leaf in jax.tree.leaves(state) if jnp.ndim(leaf) == 0]


@pytest.mark.quick_cases("dowg")
@pytest.mark.parametrize("name", ["adagrad_norm", "dog", "dowg", "scale_free"])
def test_gradients_whose_squares_underflow_count_as_zero(name):
    """Below 1e-19 they leave the state as zeros do; three times larger ones do not."""
    assert _sums(name, 3e-20) == _sums(name, 0.0) != _sums(name, 3e-19)


def test_gradients_of_any_size_count_where_norms_are_summed():
    sums = np.array([_sums("ftrl_2023", size)[0] for size in (3e-37, 3e-20, 3e-3)])
    np.testing.assert_allclose(sums, FAR["ftrl_2023"].domain.diameter * np.array([3e-37, 3e-20, 3e-3]), rtol=1e-6)


@pytest.mark.slow_after_first
@pytest.mark.parametrize("name", ["kt_ball", "pfmd"])
def test_constant_gradients_on_a_ball(name):
    """20000 rounds: the bets reach their cap, the plays the boundary."""
    learner = KTBetting(dim=2, domain=L2Ball(radius=0.5)) if name == "kt_ball" else None
    learner = learner or ParameterFreeMD(dim=2, domain=L2Ball(radius=0.5))
    for grad in ([1.0, 0.0], [0.6, 0.8]):
        plays, failed = ran(as_arrays(learner), jnp.tile(jnp.asarray(grad, jnp.float32), (20_000, 1)))
        assert not failed
        np.testing.assert_allclose(plays[-1], -0.5 * np.asarray(grad), rtol=0.0, atol=1e-5)


@pytest.mark.parametrize("name", ["kt", "pfmd", "clipped"])
def test_exponential_growth_is_capped(name):
    """A constant gradient for 5000 rounds: the play, and its square, stay finite."""
    plays = plays_of(LEARNERS[name], np.tile([1.0, 0.0], (5000, 1)))
    assert np.isfinite((plays.astype(np.float32) ** 2).sum(axis=1)).all()
    assert plays.min() < (-50.0 if name == "clipped" else -1e10)


@pytest.mark.quick_cases("sgd", "dadapt_adamw", "mechanized_sgd")
@pytest.mark.parametrize("name", OPTAX)
def test_optax_learners_keep_float32(name, rng):
    """Plays of that type, moving, finite, on losses that fit them."""
    plays = plays_of(OPTAX[name], 0.5 + rng.standard_normal((300, 2)), True)
    assert np.isfinite(plays).all() and np.abs(plays).max() > 1e-3


def test_gradient_descent_is_ogd(rng):
    grads = rng.standard_normal((500, 2))
    sgd = plays_of(OptaxLearner.sgd(dim=2, learning_rate=2.0, domain=L2Ball()), grads)
    np.testing.assert_allclose(sgd, plays_of(OGD(dim=2), grads), rtol=0.0, atol=2e-6)
