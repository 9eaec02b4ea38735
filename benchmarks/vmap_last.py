"""Compare `vmap_last` with `jax.vmap` on batches of six small programs.

    python -m benchmarks.vmap_last             1024 problems of each, float32
    python -m benchmarks.vmap_last --batch N   N problems

Each program is a step from one state to the next. One compiled call runs `STEPS` steps in a `lax.fori_loop`, with the
batch axis of every array first for `jax.vmap` and last for `vmap_last`. The script prints a Markdown table: the CPU
time of a step of one problem, best of five calls, and the ratio of the two. It first compares the results of both in
float64.
"""

import argparse
import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbandits.tracing.vmap_last import vmap_last

STEPS, CALLS = 200, 5
COMPARED = 5  # steps of the comparison: resampling and assignment amplify rounding errors


def kalman_step(state, data):
    """Predict and update a 3-dimensional state of which 2 coordinates are observed."""
    mean, cov = state
    a, c, y = data
    mean, cov = a @ mean, a @ cov @ a.T + 0.1 * jnp.eye(3, dtype=a.dtype)
    innovation = c @ cov @ c.T + 0.5 * jnp.eye(2, dtype=a.dtype)
    gain = jnp.linalg.solve(innovation, c @ cov).T
    return mean + gain @ (y - c @ mean), cov - gain @ c @ cov


def cholesky_step(x, data):
    """Take a step of inverse iteration: solve (I + r r') y = x for a 5-dimensional x, and normalise y."""
    factor = jax.scipy.linalg.cho_factor(jnp.eye(5, dtype=x.dtype) + data @ data.T)
    y = jax.scipy.linalg.cho_solve(factor, x)
    return y / jnp.linalg.norm(y)


def network_step(x, weights):
    """Apply a network with 8 inputs, 16 hidden units and an output that is fed back; each problem has other weights."""
    w1, b1, w2, b2 = weights
    hidden = jnp.tanh(w1 @ x + b1)
    return jnp.tanh(x + w2 @ hidden + b2)


def particle_step(state, y):
    """Move 16 particles, weight them by an observation, and resample them systematically."""
    particles, t = state
    particles = 0.9 * particles + jnp.sin(12.9898 * jnp.arange(16) + t)  # a fixed disturbance in place of random draws
    weights = jax.nn.softmax(-0.5 * (y - particles) ** 2)
    index = jnp.searchsorted(jnp.cumsum(weights), (jnp.arange(16) + 0.5) / 16)
    return particles[jnp.minimum(index, 15)], t + 1.0


def kmeans_step(centres, points):
    """Assign 20 points of the plane to the nearest of 4 centres; move each centre towards the mean of its points."""
    squares = jnp.sum((points[:, None] - centres) ** 2, axis=-1)
    assigned = jax.nn.one_hot(jnp.argmin(squares, axis=1), 4, dtype=points.dtype)
    sums, counts = assigned.T @ points, assigned.sum(0)
    return centres + 0.5 * (sums - counts[:, None] * centres) / (1.0 + counts[:, None])


def best_arms_step(state, means):
    """Play the 5 of 20 arms with the largest upper confidence bounds; each pays its mean."""
    counts, totals = state
    plays = 1.0 + jnp.abs(counts)
    bounds = totals / plays + jnp.sqrt(2.0 * jnp.log(jnp.sum(plays)) / plays)
    best = jnp.argsort(-bounds)[:5]
    return counts.at[best].add(1.0), totals.at[best].add(means[best])


class Program(NamedTuple):
    """A step, and the shapes of its state and of the data that it reads."""

    step: Callable[[Any, Any], Any]
    state: Any
    data: Any


PROGRAMS = {
    "Kalman filter, 3 states": Program(kalman_step, ((3,), (3, 3)), ((3, 3), (2, 3), (2,))),
    "Cholesky solve, 5 x 5": Program(cholesky_step, (5,), (5, 5)),
    "network 8-16-1, batched weights": Program(network_step, (8,), ((16, 8), (16,), (16,), ())),
    "particle filter, 16 particles": Program(particle_step, ((16,), ()), ()),
    "k-means, 20 points, 4 centres": Program(kmeans_step, (4, 2), (20, 2)),
    "best 5 of 20 arms": Program(best_arms_step, ((20,), (20,)), (20,)),
}


def draw(shapes: Any, batch: int, dtype: Any, seed: int) -> Any:
    """Draw normal arrays with the batch axis last; square matrices are symmetric and well conditioned."""
    rng = np.random.default_rng(seed)

    def array(shape: tuple[int, ...]) -> jax.Array:
        x = rng.standard_normal((*shape, batch)) / math.sqrt(max(shape, default=1))
        if shape == (3, 3):
            x = 0.3 * (x + x.swapaxes(0, 1)) + np.eye(3)[..., None]
        return jnp.asarray(x, dtype)

    return jax.tree.map(array, shapes, is_leaf=lambda x: isinstance(x, tuple) and all(isinstance(n, int) for n in x))


def first(tree: Any) -> Any:
    """Return the same arrays with the batch axis first, in memory too."""
    return jax.tree.map(lambda x: jnp.array(np.moveaxis(np.asarray(x), -1, 0)), tree)


def repeat(step: Callable[[Any, Any], Any], n: int) -> Callable[[Any, Any], Any]:
    """Compile a function that takes n batched steps."""
    return jax.jit(lambda state, data: lax.fori_loop(0, n, lambda _, state: step(state, data), state))


def cpu_seconds(run: Callable[[Any, Any], Any], state: Any, data: Any) -> float:
    """Return the CPU time of a call after the first, best of `CALLS`."""
    jax.block_until_ready(run(state, data))  # compiles
    times = []
    for _ in range(CALLS):
        start = time.process_time()
        jax.block_until_ready(run(state, data))
        times.append(time.process_time() - start)
    return min(times)


def check_equal(program: Program, batch: int) -> None:
    """Compare a few steps of `jax.vmap` and `vmap_last` in float64."""
    x64 = jax.config.read("jax_enable_x64")
    jax.config.update("jax_enable_x64", True)
    try:
        state, data = draw(program.state, batch, jnp.float64, 0), draw(program.data, batch, jnp.float64, 1)
        last = repeat(vmap_last(program.step), COMPARED)(state, data)
        front = repeat(jax.vmap(program.step), COMPARED)(first(state), first(data))
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12), first(last), front)
    finally:
        jax.config.update("jax_enable_x64", x64)


def time_both(program: Program, batch: int) -> tuple[float, float]:
    """Return the nanoseconds of a step of one problem, with `jax.vmap` and with `vmap_last`."""
    state, data = draw(program.state, batch, jnp.float32, 0), draw(program.data, batch, jnp.float32, 1)
    front = cpu_seconds(repeat(jax.vmap(program.step), STEPS), first(state), first(data))
    last = cpu_seconds(repeat(vmap_last(program.step), STEPS), state, data)
    return front / (STEPS * batch) * 1e9, last / (STEPS * batch) * 1e9


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.vmap_last")
    parser.add_argument("--batch", type=int, default=1024, metavar="N", help="number of problems solved together")
    batch = parser.parse_args().batch
    print("| program | jax.vmap, ns a step | vmap_last, ns a step | ratio |")
    print("|---|---|---|---|")
    for name, program in PROGRAMS.items():
        check_equal(program, min(batch, 64))
        front, last = time_both(program, batch)
        print(f"| {name} | {front:.1f} | {last:.1f} | {front / last:.2f} |", flush=True)


if __name__ == "__main__":
    main()
