"""Close infeasible projection against the nested loops of the paper, and the certificates it gives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms.coco.infeasible_projection import close_infeasible_projection
from jaxbandits.base.pytree import as_arrays
from jaxbandits.coco import LOOBOGD, LPM
from jaxbandits.domains import L2Ball
from tests.algorithms.coco.sets import SETS, LinearOracleOnly, start
from tests.reference import infeasible_projection as reference
from tests.reference.convex_sets import norm


@jax.jit
def _project(domain, x, y, eps, cut_first, most_calls):
    radius = domain.outer_radius(x.shape)
    return close_infeasible_projection(
        domain, x, y, eps=eps, radius=radius, most_calls=most_calls, guess=domain.lmo(x)[1], cut_first=cut_first
    )


def project(domain, x, y, eps, cut_first=True, most_calls=100_000):
    return jax.tree.map(
        np.asarray, _project(as_arrays(domain), jnp.asarray(x), jnp.asarray(y), eps, cut_first, most_calls)
    )


def problems(rng, name, count):
    size = np.exp(0.5 * rng.normal())
    domain, other, shape = SETS[name](size)
    for _ in range(count):
        x = start(rng, other, shape)
        step = rng.normal(size=shape)
        yield domain, other, x, x + size * rng.uniform(0.3, 3.0) * step / norm(step), size


@pytest.mark.quick_cases("matrix ball", "simplex")
@pytest.mark.parametrize("name", SETS)
def test_is_the_papers(name, rng):
    """Points, and the number of oracle calls, of two nested loops."""
    several = 0
    for domain, other, x0, y0, size in problems(rng, name, 8):
        eps = rng.choice([0.1, 0.01]) * size**2
        ours = project(domain, x0, y0, eps, cut_first=False)
        x, y, calls = reference.close_infeasible_projection(other, x0, y0, eps)
        assert ours.calls == sum(calls) and ours.near
        np.testing.assert_allclose(ours.x, x, rtol=0, atol=1e-9 * size)
        np.testing.assert_allclose(ours.y, y, rtol=0, atol=1e-9 * size)
        several += len(calls) > 1
    assert several or "ball" in name  # a ball's y_0 is cut back to the ball itself


@pytest.mark.parametrize("name", ["box", "simplex"])
@pytest.mark.parametrize("cut_first", [True, False])
def test_what_it_promises(name, cut_first, rng):
    """Both readings of the first distance: x in K, y near x, y no farther from the points of K than y_0 was."""
    for domain, other, x0, y0, size in problems(rng, name, 6):
        eps = 0.01 * size**2
        ours = project(domain, x0, y0, eps, cut_first)
        assert ours.near and norm(ours.x - ours.y) ** 2 <= 3.0 * eps * (1 + 1e-12)
        assert other.excess(ours.x) <= 1e-12 * size
        for _ in range(20):
            z = start(rng, other, x0.shape)
            assert norm(ours.y - z) <= norm(y0 - z) + 1e-12 * size


def test_the_cut_first_ends_sooner(rng):
    """What the distance before the cut costs: y_0 far away makes the steps small."""
    domain, other, shape = SETS["box"](1.0)
    calls = np.zeros(2, int)
    for _ in range(6):
        x0, y0 = start(rng, other, shape), 30.0 * rng.normal(size=shape)
        calls += [int(project(domain, x0, y0, 0.01, first).calls) for first in (True, False)]
    assert calls[0] < calls[1]


def test_short_of_calls(rng):
    """The certificate says so; x is in K, and y is not farther from the points of K than it was."""
    domain, other, shape = SETS["simplex"](1.0)
    x0, y0 = start(rng, other, shape), 3.0 * rng.normal(size=shape)
    whole = project(domain, x0, y0, 1e-4)
    assert whole.near and whole.calls > 5
    for most in (0, 1, 5):
        ours = project(domain, x0, y0, 1e-4, most_calls=most)
        assert ours.calls == most and not ours.near
        assert other.excess(ours.x) <= 1e-12
        for _ in range(20):
            z = start(rng, other, shape)
            assert norm(ours.y - z) <= norm(y0 - z) + 1e-12


@pytest.mark.slow
def test_many_at_once_are_one_by_one(rng):
    """Under vmap every trial stops where it would alone, and the domain need not project."""
    rows = [(x, y) for _, _, x, y, _ in problems(rng, "box", 5)]
    xs, ys = (np.stack(column) for column in zip(*rows, strict=True))
    domain = as_arrays(LinearOracleOnly(base=SETS["box"](1.0)[0]))
    xs = np.clip(xs, -1.0, 1.0)
    together = jax.vmap(_project, (None, 0, 0, None, None, None))(domain, xs, ys, 0.01, True, 1000)
    for k in range(5):
        alone = project(domain, xs[k], ys[k], 0.01, most_calls=1000)
        assert together.calls[k] == alone.calls
        np.testing.assert_allclose(together.x[k], alone.x, atol=1e-13)


@pytest.mark.parametrize("learner", [LOOBOGD, LPM])
def test_constants_set_by_hand(learner):
    """Blocks of sqrt(T) rounds, and 3 % of the accuracy 60 R^2 / sqrt(T) of the theorem."""
    made = learner.practical(dim=3, horizon=400, domain=L2Ball(radius=2.0))
    assert made.block == 20 and made.eps == pytest.approx(0.03 * 60.0 * 2.0**2 / 20.0)
