"""Time OFW-TVC on ratings of the size of MovieLens, and compare it with a NumPy/SciPy loop, both on one core.

python -m benchmarks.speed.matrix_completion             the round, its parts, the accuracy of the oracle, memory
python -m benchmarks.speed.matrix_completion --full      also ten seeds of a whole pass (T = 1000) on all cores

The NumPy loop is straightforward code: ratings by fancy indexing, and `scipy.sparse.linalg.svds` of the dense
direction, started from the previous left vector, to full accuracy and to 1e-2. Sizes are those of MovieLens-100k. The
data are a stand-in of the same shape and density, since times do not depend on the ratings.
"""

import argparse
import os
import time
import warnings

import numpy as np
from scipy.sparse.linalg import svds

SHAPE, BATCH, RADIUS, HORIZON = (943, 1682), 100, 1e4, 1000
GIB = 2**30


def numpy_loop(ratings, rounds, constants, tolerance, rng):
    """Return the CPU seconds per round of Algorithm 1 with the constants of the simulator's learner."""
    lipschitz, beta, gamma, lam, eta_scale, scale = constants
    m, n = ratings.shape
    order = rng.permutation(len(ratings))
    x, anchor, gsum = (np.zeros((m, n), np.float32) for _ in range(3))
    queue, level, start, guess, diameter = 0.0, lipschitz, 0, None, 2.0 * RADIUS
    begin = time.process_time()
    for t in range(rounds):
        picked = order[t * BATCH % len(ratings) :][:BATCH]
        rows, cols = ratings.users[picked], ratings.items[picked]
        off = x[rows, cols] - ratings.ratings[picked].astype(np.float32)
        normal = rng.random((m, n), np.float32)
        normal *= 2.0
        normal -= 1.0
        signed = scale * float(np.vdot(normal, x))
        queue += max(signed, 0.0)
        weight = lam / gamma * np.exp(min(lam * beta * queue, 60.0))
        target = lipschitz * (1.0 + weight)
        if level < target:
            level *= 2.0 ** np.ceil(np.log2(target / level))
            start, anchor = t, x.copy()
            gsum[:] = 0.0
        if signed > 0.0:
            gsum += np.float32(scale * weight) * normal
        gsum[rows, cols] += off
        eta = eta_scale * 0.5 * diameter * HORIZON**-0.75 / level
        slope = np.float32(eta) * gsum + np.float32(2.0) * (x - anchor)
        left, _, right = svds(slope, k=1, v0=guess, tol=tolerance)
        guess = left[:, 0]  # ARPACK works on the shorter side
        sigma = np.float32(min(1.0, 2.0 / np.sqrt(t - start + 1)))
        x *= 1.0 - sigma
        x -= np.outer(np.float32(sigma * RADIUS) * guess, right[0])
    return (time.process_time() - begin) / rounds


def learner(environment):
    from jaxbandits.coco import OFWTVC
    from jaxbandits.domains import NuclearBall

    bound = float(environment.lipschitz)
    return OFWTVC.practical(
        dim=SHAPE,
        horizon=HORIZON,
        domain=NuclearBall(radius=RADIUS),
        lipschitz=bound,
        constraint_scale=bound / environment.constraint_lipschitz,
    )


def shortfall(played):
    """Return 1 - (value of the oracle) / (best value), where 60 vectors from a random start give the best value."""
    import jax

    from jaxbandits.domains.nuclear import top_singular_value

    before, after = played.state.run, played.next_state.run
    x, after_x = before.last.x, after.last.x
    slope = after.eta_level / after.level * after.grad_sum + 2.0 * (x - after.anchor)
    best = top_singular_value(slope, jax.random.fold_in(jax.random.key(1), played.t))
    sigma = 2.0 / ((played.t - after.start + 1).astype(best.dtype)) ** 0.5
    vertex = x + (after_x - x) / jax.numpy.minimum(1.0, sigma)
    return 1.0 + (slope * vertex).sum() / (RADIUS * best)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.matrix_completion")
    parser.add_argument("--full", action="store_true", help="also measure ten seeds of 1,000 rounds on all cores")
    parser.add_argument("--rounds", type=int, default=200, help="number of timed rounds of the simulator")
    parser.add_argument("--numpy-rounds", type=int, default=20, help="number of timed rounds of the NumPy loop")
    arguments = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, cores[:1])
    warnings.simplefilter("ignore")

    import jax

    from jaxbandits import simulate
    from jaxbandits.coco import MatrixCompletion
    from jaxbandits.engine.meters import Meter
    from jaxbandits.environments.datasets.ratings import low_rank_ratings

    ratings = low_rank_ratings(SHAPE, 100_000)
    environment = MatrixCompletion.from_ratings(ratings, batch=BATCH)
    algorithm = learner(environment)
    settings = {"workers": 1, "progress": False, "record_points": 1}

    def rounds(workers=1, seeds=1, horizon=arguments.rounds):
        cpu, wall = time.process_time(), time.perf_counter()
        simulate(algorithm, environment, horizon, seeds, **{**settings, "workers": workers})
        return time.process_time() - cpu, time.perf_counter() - wall

    rounds(horizon=2)
    ours = min(rounds()[0] for _ in range(3)) / arguments.rounds
    constants = [
        float(value)
        for value in (
            algorithm.lipschitz,
            algorithm.beta,
            algorithm.gamma,
            algorithm.lam,
            algorithm.eta_scale,
            algorithm.constraint_scale,
        )
    ]
    print(f"{SHAPE[0]} x {SHAPE[1]}, batch {BATCH}, float32, one core, compile excluded")
    print(f"simulator                    {1e3 * ours:8.2f} ms a round")
    for tolerance in (0.0, 1e-2):
        loop = numpy_loop(ratings, arguments.numpy_rounds, constants, tolerance, np.random.default_rng(0))
        print(f"NumPy, svds to {tolerance:<4g}          {1e3 * loop:8.2f} ms a round   {loop / ours:5.1f}x")

    meters = [
        Meter("residual", lambda played: played.next_state.run.last.guess.residual),
        Meter("worst residual", lambda played: played.next_state.run.last.guess.residual, "max"),
        Meter("shortfall", shortfall),
        Meter("worst shortfall", shortfall, "max"),
    ]
    trials = simulate(algorithm, environment, arguments.rounds, 1, meters=meters, **settings)["OFWTVC"]
    mean, worst, short, most = (float(trials.values[meter.name][..., -1].squeeze()) for meter in meters)
    print(
        f"oracle: residual {mean / arguments.rounds:.3f} (worst {worst:.3f}), below the best value by "
        f"{short / arguments.rounds:.4f} (worst {most:.4f})"
    )
    state = sum(
        leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(jax.eval_shape(algorithm.init, jax.random.key(0)))
    )
    dense = 4 * SHAPE[0] * SHAPE[1]
    trials_in_24 = 24 * GIB // (state + 4 * dense)
    print(f"state of the learner {state / 2**20:.1f} MiB; 24 GiB hold {trials_in_24} trials with four temporaries each")
    if arguments.full:
        os.sched_setaffinity(0, cores)
        print(f"ten seeds, T = {HORIZON}, {len(cores)} workers: {rounds(len(cores), 10, HORIZON)[1]:.1f} s")


if __name__ == "__main__":
    main()
