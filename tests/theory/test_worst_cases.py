"""Exact worst-case regret of online Frank-Wolfe and of OGD after n <= 8 rounds, which no sequence of losses exceeds.

By performance estimation (PEPit, extra `outside`): the largest regret over all convex sets of diameter 1 in any
dimension, all starting points in them and all convex 1-Lipschitz losses.
"""

import functools
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms.coco.ofw import OFW
from jaxbandits.algorithms.oco.ogd import OGD
from jaxbandits.base.pytree import as_arrays
from jaxbandits.domains import Box, L1Ball, L2Ball
from jaxbandits.types import Gradient

# Regret / (G D) after n = 1, ..., 8 rounds; `test_they_are_what_pepit_finds` computes them.
WORST = {
    "ogd": (1.000000, 1.500000, 1.914214, 2.296929, 2.642229, 2.945015, 3.220048, 3.483236),
    "ofw": (1.000000, 1.866025, 2.866025, 3.859790, 4.861660, 5.834740, 6.782262, 7.710476),
}
ROUNDS, DIM = 8, 3
DOMAINS = {"ball": L2Ball(), "box": Box(dim=DIM), "l1": L1Ball()}
KEY = jax.random.key(0)


def learner(name, domain, horizon):
    if name == "ogd":
        return OGD(dim=DIM, domain=domain)
    return OFW(dim=DIM, horizon=horizon, domain=domain, start=domain.lmo(jnp.arange(1.0, DIM + 1))[0])


def regret(algorithm, n, gradients):
    """Of linear losses with gradients `[8, 3]`, of which the first n count."""

    def round_(state, row):
        t, gradient = row
        decision = algorithm.select(KEY, t, state, None)
        loss = gradient @ decision.play
        told = Gradient(loss=loss[None], grad=gradient[None])
        return algorithm.update(KEY, t, state, None, decision, told), loss

    counted = jnp.where(jnp.arange(ROUNDS)[:, None] < n, gradients, 0.0)
    losses = jax.lax.scan(round_, algorithm.init(KEY), (jnp.arange(ROUNDS, dtype=jnp.int32), counted))[1]
    total = counted.sum(axis=0)
    return losses.sum() - total @ algorithm.domain.lmo(total)[0]


def within(gradients):
    """Cut back to length 1, what linear losses of Lipschitz constant 1 may have."""
    return gradients / jnp.maximum(1.0, jnp.linalg.norm(gradients, axis=-1, keepdims=True))


@functools.partial(jax.jit, static_argnames=("tries", "climbers"))
def climb_sequences(algorithm, n, key, tries, climbers):
    """The largest regret of `tries` random sequences, and of the best of them after as many changes that must pay."""
    of = jax.vmap(functools.partial(regret, algorithm, n))
    drawn = within(jax.random.normal(jax.random.fold_in(key, 0), (tries, ROUNDS, DIM)))
    values = of(drawn)
    best, chosen = jax.lax.top_k(values, climbers)

    def climb(k, now):
        sequences, values = now
        size = 0.5 * 0.97 ** (k / (tries / climbers / 200))
        changed = within(sequences + size * jax.random.normal(jax.random.fold_in(key, 1 + k), sequences.shape))
        new = of(changed)
        better = new > values
        return jnp.where(better[:, None, None], changed, sequences), jnp.maximum(new, values)

    return values.max(), jax.lax.fori_loop(0, tries // climbers, climb, (drawn[chosen], best))[1].max()


@pytest.mark.slow
@pytest.mark.parametrize("name", WORST)
def test_no_sequence_exceeds_the_worst_case(name):
    """10^6 sequences and more for each learner, half of them climbing; they come near, so that a wrong step shows."""
    reached = np.zeros((len(DOMAINS), ROUNDS))
    for i, domain in enumerate(DOMAINS.values()):
        for n in range(1, ROUNDS + 1):
            algorithm = as_arrays(learner(name, domain, float(n)))
            found = climb_sequences(algorithm, n, jax.random.fold_in(KEY, n), 24_000, 60)
            reached[i, n - 1] = max(map(float, found)) / float(domain.diameter)
    assert np.all(reached <= np.asarray(WORST[name]) * (1.0 + 1e-6))
    shares = reached.max(axis=0) / WORST[name]
    assert shares.min() >= 0.45 and shares.max() >= 0.7  # OGD starts in the middle, where one round costs D / 2 at most


@pytest.mark.slow
@pytest.mark.parametrize("name", WORST)
def test_they_are_what_pepit_finds(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its docstrings have invalid escapes
        pepit = pytest.importorskip("PEPit", exc_type=ImportError)
        from PEPit import functions, primitive_steps

        for n in range(1, ROUNDS + 1):
            problem = pepit.PEP()
            losses = [problem.declare_function(functions.ConvexLipschitzFunction, M=1.0) for _ in range(n)]
            domain = problem.declare_function(functions.ConvexIndicatorFunction, D=1.0)

            def inside(point, domain=domain):
                return primitive_steps.proximal_step(point, domain, 1.0)[0]

            comparator, start = inside(problem.set_initial_point()), inside(problem.set_initial_point())
            x, total, value = start, 0.0 * start, 0.0 * start**2
            for t, loss in enumerate(losses, 1):
                slope, now = loss.oracle(x)
                value = value + now - loss(comparator)
                if t == n:
                    break
                if name == "ogd":
                    x = inside(x - slope / np.sqrt(t))
                    continue
                total = total + slope
                direction = 0.5 * n**-0.75 * total + 2.0 * (x - start)
                vertex = primitive_steps.linear_optimization_step(direction, domain)[0]
                sigma = min(1.0, 2.0 / np.sqrt(t))
                x = (1.0 - sigma) * x + sigma * vertex
            problem.set_performance_metric(value)
            found = problem.solve(wrapper="cvxpy", solver="CLARABEL", verbose=0)
            assert found == pytest.approx(WORST[name][n - 1], abs=2e-6)
