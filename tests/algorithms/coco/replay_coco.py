"""Feeds recorded feedback to learners of the constrained family, and random feedback for it."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.pytree import as_arrays
from jaxbandits.domains import points
from jaxbandits.types import Constrained, narrow
from tests.algorithms.coco import invariants

KEY = jax.random.key(0)


def make_feedback(df, g, dg):
    """Feedback at one query (Q = 1)."""
    df, dg = (jax.tree.map(lambda a: jnp.asarray(a)[None], a) for a in (df, dg))
    return Constrained(loss=jnp.zeros(1), grad=df, con=jnp.asarray(g)[None], con_grad=dg)


@jax.jit
def _replay(algorithm, dfs, gs, dgs):
    def round_(state, row):
        t, df, g, dg = row
        decision = algorithm.select(KEY, t, state, None)
        state = algorithm.update(KEY, t, state, None, decision, narrow(make_feedback(df, g, dg), algorithm.feedback))
        return state, (state, algorithm.select(KEY, t + 1, state, None).play, algorithm.diagnostics(state))

    return jax.lax.scan(round_, algorithm.init(KEY), (jnp.arange(len(gs), dtype=jnp.int32), dfs, gs, dgs))[1]


def replay(algorithm, dfs, gs, dgs):
    """After each round: the state, the next point `[T, ...]` and what `diagnostics` says, as arrays over rounds."""
    state, x, diagnostics = _replay(as_arrays(algorithm), *(jnp.asarray(a) for a in (dfs, gs, dgs)))
    told = {name: np.asarray(value) for name, value in diagnostics.items()}
    invariants.check(algorithm, np.asarray(x), None, state, told)
    return state, np.asarray(x), told


def reference_run(learner, dfs, gs, dgs):
    """The points after each round of a reference; it is fed the constraint if it takes one."""
    xs = []
    for df, g, dg in zip(dfs, gs, dgs, strict=True):
        try:
            learner.step(df, g, dg)
        except TypeError:
            learner.step(df)
        xs.append(learner.x)
    return np.array(xs)


def known_trace():
    """The recorded one: t = 1, ..., 12 in R^2."""
    t = np.arange(1, 13)
    return np.stack([np.cos(t), np.sin(2 * t)], axis=1), 0.8 * np.sin(1.3 * t), np.tile([1.0, -0.5], (12, 1))


def random_trace(rng, shape, rounds, size=1.0):
    """Gradients bounded by `size`, constraint values of both signs."""
    dfs, dgs = rng.normal(size=(2, rounds, *shape)) + rng.normal(size=shape)

    def bound(a):
        return size * a / np.sqrt((a**2).sum(axis=tuple(range(1, a.ndim)), keepdims=True)).max()

    return bound(dfs), size * rng.normal(0.1, 0.5, rounds), bound(dgs)


def zero(shape):
    """The origin."""
    return np.asarray(points.zeros(shape))
