"""SCOFW-TVC: the recorded trace, inequality (7), the bounds of Theorem 2, its presets; steps in `full_information`."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms.coco.scofw_tvc import SCOFWTVC
from jaxbandits.base.pytree import as_arrays, validate
from jaxbandits.domains import L1Ball, L2Ball
from tests.algorithms.coco.full_information import DIM, SETS
from tests.algorithms.coco.replay_coco import KEY, known_trace, replay
from tests.reference import convex_sets, scofw_tvc


@pytest.fixture(scope="module")
def replay_known_trace():
    fields = {"horizon": 16.0, "curvature": 2.0, "beta": 0.05, "gamma": 2.0, "start": np.array([0.1, 0.0])}
    return replay(SCOFWTVC(dim=2, **fields), *known_trace())


class TestKnownTrace:
    @pytest.mark.parametrize(
        ("t", "sigma", "x"),
        [
            (1, 0.57626166, (-0.45323589, -0.29402125)),
            (2, 0.17344769, (-0.39481594, -0.07075567)),
            (12, 0.11742780, (-0.50229022, 0.08991962)),
        ],
    )
    def test_scofw_tvc(self, replay_known_trace, t, sigma, x):
        np.testing.assert_allclose(replay_known_trace[1][t - 1], x, atol=6e-9)
        assert float(replay_known_trace[0].run.last.sigma[t - 1]) == pytest.approx(sigma, abs=6e-9)

    def test_scofw_tvc_weights(self, replay_known_trace):
        np.testing.assert_allclose(2.0 * replay_known_trace[2]["weight"][[0, 11]], [1.07708465, 1.36212111], atol=6e-9)


class TestInequality7:
    @pytest.mark.parametrize("place", ["l1", "simplex"])
    def test_scofw_tvc(self, place, rng):
        """Sum of surrogate differences >= gamma beta regret + Phi(beta Q_T) against a feasible point, Phi = x^2 + x."""
        domain, theirs = SETS[place]
        centers = rng.normal(size=(80, DIM))
        normals, offsets = rng.normal(size=(80, DIM)), rng.uniform(0.1, 0.4, 80)
        comparator = theirs.project(np.zeros(DIM))
        offsets = normals @ comparator + offsets  # the comparator satisfies all with room
        beta, gamma = 0.7, 0.6
        algorithm = as_arrays(SCOFWTVC(dim=DIM, horizon=80, curvature=1.0, domain=domain, beta=beta, gamma=gamma))
        x, queue = closed_loop(algorithm, centers, normals, offsets)
        assert queue[-1] > 0.5

        def loss(y):
            return 0.5 * np.sum((y - centers) ** 2, axis=1)

        def violation(y):
            return np.maximum(np.sum(normals * y, axis=1) - offsets, 0.0)

        assert violation(comparator).max() == 0.0
        w = 2.0 * beta * queue + 1.0
        left = np.sum(gamma * beta * (loss(x) - loss(comparator)) + w * beta * violation(x))
        phi = (beta * queue[-1]) ** 2 + beta * queue[-1]
        assert left >= gamma * beta * np.sum(loss(x) - loss(comparator)) + phi
        np.testing.assert_allclose(queue[-1], violation(x).sum(), rtol=1e-12)


@jax.jit
def _closed_loop(algorithm, centers, normals, offsets):
    def round_(state, row):
        t, center, normal, offset = row
        decision = algorithm.select(KEY, t, state, None)
        x = decision.play
        feedback = algorithm.feedback(
            loss=jnp.zeros(1), grad=(x - center)[None], con=(normal @ x - offset)[None], con_grad=normal[None]
        )
        state = algorithm.update(KEY, t, state, None, decision, feedback)
        return state, (x, state.queue.total)

    rows = jnp.arange(len(offsets), dtype=jnp.int32), centers, normals, offsets
    return jax.lax.scan(round_, algorithm.init(KEY), rows)[1]


def closed_loop(algorithm, centers, normals, offsets):
    """Plays of f_t = ||x - c_t||^2 / 2 with g_t = <a_t, x> - b_t, and Q_t after each round."""
    return tuple(map(np.asarray, _closed_loop(algorithm, *map(jnp.asarray, (centers, normals, offsets)))))


class TestTheorem2:
    @pytest.mark.slow
    def test_bounds_with_the_proofs_constants(self, rng):
        """Regret and Q_T against the best feasible point: the l1 ball cut by a half-space, loose bounds."""
        T, d, radius = 2000, 6, 1.0
        domain, theirs = L1Ball(radius=radius), convex_sets.L1Ball(d, radius)
        wanted = np.array([0.8, -0.3, 0.0, 0.0, 0.0, 0.0])
        centers, normal, offset = wanted + 0.1 * rng.normal(size=(T, d)), np.eye(d)[0], 0.3
        G = max(radius + np.linalg.norm(centers, axis=1).max(), 1.0)
        algorithm = as_arrays(SCOFWTVC.theory(dim=d, horizon=T, curvature=1.0, domain=domain, lipschitz=G))
        x, queue = closed_loop(algorithm, centers, np.tile(normal, (T, 1)), np.full(T, offset))
        best = feasible_best(theirs, centers.mean(axis=0), offset)
        regret = 0.5 * (np.sum((x - centers) ** 2) - np.sum((best - centers) ** 2))
        gamma = G / (G + 2.0)
        beta = gamma / (500.0 * G**2 * T ** (2.0 / 3.0))
        np.testing.assert_allclose(algorithm.init(KEY).surrogate[:2], (beta, gamma), rtol=1e-13)
        assert 0.0 < regret <= 224.0 * G**2 * T ** (2.0 / 3.0) / gamma**2 + G * 2.0 * (gamma + 1.0) / gamma
        assert 0.0 < queue[-1] ** 2 <= (2.0 + gamma) / beta**2 + 2.0 * gamma * G * 2.0 * T / beta
        assert regret < 0.05 * T and queue[-1] < 0.05 * T  # and not for nothing: the loss of x_1 is 0.15 T above


@pytest.mark.slow
def test_growth_of_scofw_tvc(rng):
    """Far slower than T^{2/3} (regret) and T^{5/6} (violation): the proof's constants, both gradients of length G."""
    d, finals = 10, []
    theirs = convex_sets.L1Ball(d, 1.0)
    for T in (1000, 4000, 16000):
        runs = []
        for _ in range(3):
            centers = 0.1 * rng.normal(size=(T, d)) + np.array([0.6, -0.2, *[0.0] * 8])
            G = 1.0 + np.linalg.norm(centers, axis=1).max()
            algorithm = as_arrays(SCOFWTVC.theory(dim=d, horizon=T, curvature=1.0, domain=L1Ball(), lipschitz=G))
            normals = np.tile(G * np.eye(d)[0], (T, 1))
            x, queue = closed_loop(algorithm, centers, normals, np.full(T, 0.3 * G))
            best = feasible_best(theirs, centers.mean(axis=0), 0.3)
            runs.append((0.5 * (np.sum((x - centers) ** 2) - np.sum((best - centers) ** 2)), queue[-1]))
        finals.append(np.mean(runs, axis=0))
    slopes = np.polyfit(np.log([1000, 4000, 16000]), np.log(finals), 1)[0]
    assert np.all(slopes < 0.4)  # 0.09 and 0.05


def feasible_best(theirs, center, offset):
    """The nearest point of the l1 ball with x_1 <= offset: x_1 is fixed at the offset and the rest projected."""
    rest = convex_sets.L1Ball(len(center) - 1, theirs.radius - offset).project(center[1:])
    return np.concatenate([[offset], rest])


def test_presets_of_scofw_tvc():
    fields = {"dim": 2, "horizon": 5000.0, "curvature": 0.3, "domain": L2Ball(radius=3.0), "lipschitz": 0.7}
    for preset, constants in (
        (SCOFWTVC.theory, scofw_tvc.proof_constants),
        (SCOFWTVC.printed, scofw_tvc.statement_constants),
    ):
        algorithm = preset(**fields)
        validate(algorithm)
        surrogate = as_arrays(algorithm).init(KEY).surrogate
        expected = constants(5000.0, 0.7, 6.0, 0.3)
        assert float(surrogate.beta) == pytest.approx(expected["beta"], rel=1e-13)
        assert float(surrogate.gamma) == pytest.approx(expected["gamma"], rel=1e-13)
        assert functools.reduce(float.__add__, map(float, surrogate.weight(jnp.zeros(1)))) == pytest.approx(
            1.0 / expected["gamma"], rel=1e-13
        )
