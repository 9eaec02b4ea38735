"""Frank-Wolfe on a trace-norm ball beside a loop of its own: steps 2 / (k + 2), singular vectors from SciPy's svds.

And beside copt's `minimize_frank_wolfe(step="sublinear")` on its `TraceBall`, where copt is (extra `outside`).
"""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.sparse.linalg import svds

from jaxbandits.algorithms.coco.frank_wolfe import fixed_step
from jaxbandits.domains import NuclearBall

STEPS = 40


def dense_step(x, grad, k, radius):
    """Point after a step, Frank-Wolfe gap, and s_1 / (s_1 - s_2), which amplifies rounding of singular vectors."""
    left, values, right = svds(grad, k=2, v0=np.ones(min(grad.shape)), tol=0)
    top = int(np.argmax(values))
    vertex = -radius * np.outer(left[:, top], right[top])
    direction = vertex - x
    amplified = values[top] / max(values[top] - values[1 - top], 1e-300)
    return x + 2.0 / (k + 2.0) * direction, -np.sum(grad * direction), amplified


@pytest.fixture(scope="module", params=[{}, {"exact_below": 1, "iterations": 12}], ids=["exact", "krylov"])
def steps(request):
    domain = NuclearBall(radius=3.0, **request.param)

    @jax.jit
    def run(weight, target):
        def step(last, k):
            grad = weight * (last.x - target)
            after = fixed_step(domain, last.x, grad, last.guess, 2.0 / (k + 2.0))
            return after, (last.x, after.x, after.gap)

        begin = fixed_step(domain, jnp.zeros_like(target), -weight * target, domain.lmo(-weight * target)[1], 0.0)
        return jax.lax.scan(step, begin, jnp.arange(STEPS, dtype=float))[1]

    return domain, run


def test_every_step_is_the_one_found_elsewhere(steps, rng):
    """From common points: iterates to 1e-12 times what close singular values amplify, gaps to 1e-11, a rate 1 / k."""
    domain, run = steps
    weight = rng.uniform(0.2, 1.0, (12, 9))
    target = rng.normal(size=(12, 9)) / 3.0
    before, after, gaps = map(np.asarray, run(jnp.asarray(weight), jnp.asarray(target)))
    values = 0.5 * np.sum(weight * (before - target) ** 2, axis=(1, 2))
    for k in range(STEPS):
        x, gap, amplified = dense_step(before[k], weight * (before[k] - target), k, domain.radius)
        np.testing.assert_allclose(after[k], x, rtol=0, atol=1e-12 * domain.radius * amplified)
        assert gaps[k] == pytest.approx(gap, abs=1e-11)
    least = values.min()
    assert (values - gaps).max() <= least  # each gap certifies
    rate = 2.0 * domain.diameter**2 / (np.arange(1, STEPS) + 2.0)  # the loss is 1-smooth
    assert np.all(values[1:] - least <= rate)
    assert values[-1] < 0.9 * values[0]


def test_iterates_are_those_of_copt(steps, rng):
    """A whole run of each; what 1e-10 leaves for is how close singular values amplify rounding on the way."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its docstrings have invalid escapes
        copt = pytest.importorskip("copt", exc_type=ImportError)
        from copt.constraint import TraceBall
    domain, run = steps
    weight, target = rng.uniform(0.2, 1.0, (12, 9)), rng.normal(size=(12, 9)) / 3.0
    seen = []

    def value_and_gradient(x):
        off = x.reshape(12, 9) - target
        return 0.5 * np.sum(weight * off**2), (weight * off).ravel()

    copt.minimize_frank_wolfe(
        value_and_gradient, np.zeros(108), TraceBall(domain.radius, (12, 9)).lmo, jac=True, step="sublinear",
        lipschitz=1.0, max_iter=STEPS, tol=0.0, callback=lambda told: seen.append(told["x"].copy()),
    )  # fmt: skip
    before, _, _ = map(np.asarray, run(jnp.asarray(weight), jnp.asarray(target)))
    assert len(seen) >= STEPS and np.abs(seen[STEPS - 1]).max() > 0.1
    np.testing.assert_allclose(before.reshape(STEPS, -1), seen[:STEPS], rtol=0, atol=1e-10)
