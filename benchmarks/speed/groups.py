"""Time SMD(m) at d = 1000, m = 20, and compare it with its random draws alone and with NumPy, on one core.

python -m benchmarks.speed.groups             microseconds of CPU time per round

The draws are only the m d normal numbers of a round. The rows of one trial fill much of a cache, so by default trials
run one at a time; the program also prints batches of 32 trials.
"""

import argparse
import functools
import os
import time
import warnings
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np

from benchmarks.speed import numpy_dro
from jaxbandits.base.pytree import pytree, static
from jaxbandits.environments.dro.draws import GroupOutcome
from jaxbandits.environments.dro.synthetic_groups import SyntheticGroups
from jaxbandits.numerics import rng
from jaxbandits.tracing.barrier import barrier
from jaxbandits.types import Gradient, GroupDecision

DIM, GROUPS, HORIZON = 1000, 20, 18_000


@pytree
class FreshGroups(SyntheticGroups):
    """Synthetic groups without the optimum of every instance, which a solver finds on the host after the run."""

    hindsight_needs: ClassVar = ()
    rebuild_instance: ClassVar = None

    def in_hindsight(self, recorded: dict[str, Any], record_points: Any) -> dict[str, Any]:
        del recorded, record_points
        return {}


@pytree
class DrawsOnly(FreshGroups):
    """Environment that draws the features of all rows and sums them, so that XLA does not remove the draws."""

    def step(self, key, t, state, obs, decision):
        del t, obs, decision
        total = jnp.sum(barrier(rng.normals(key, self.n_groups, self.dim)))
        nothing = jnp.zeros(self.n_groups)
        outcome = GroupOutcome(jnp.asarray(float(self.n_groups)), nothing, total)
        return state, Gradient(nothing, jnp.zeros((self.n_groups, self.dim))), outcome


@pytree
class Idle:
    """Learner that requests a row of every group and learns nothing."""

    feedback: ClassVar[type] = Gradient
    dim: int = static(DIM, "[1, inf)", "d")
    n_groups: int = static(GROUPS, "[1, inf)", "m")

    def init(self, key):
        del key
        return ()

    def select(self, key, t, state, obs):
        del key, t, state, obs
        group = np.arange(self.n_groups, dtype=np.int32)
        return GroupDecision(
            play=jnp.zeros(self.dim), weights=jnp.full(self.n_groups, 1.0 / self.n_groups), group=group
        )

    def update(self, key, t, state, obs, decision, feedback):
        del key, t, obs, decision, feedback
        return state


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.groups")
    parser.add_argument("--rounds", type=int, default=200, help="number of rounds per trial")
    parser.add_argument("--trials", type=int, default=32)
    parser.add_argument(
        "--repeats", type=int, default=5, help="number of alternating repetitions; the fastest is reported"
    )
    arguments = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
    warnings.simplefilter("ignore")

    from jaxbandits import simulate
    from jaxbandits.dro import SMD

    rounds, trials = arguments.rounds, arguments.trials
    sizes = {"dim": DIM, "n_groups": GROUPS}
    drawing = Idle(), DrawsOnly(**sizes)
    learning = SMD.practical(horizon=HORIZON, **sizes), FreshGroups(**sizes)

    def microseconds(run: Any, count: int) -> float:
        begin = time.process_time()
        run()
        return 1e6 * (time.process_time() - begin) / count

    print(f"d = {DIM}, m = {GROUPS}, {jnp.result_type(float)}, one core, compile excluded: microseconds a round")
    for width in (None, 32):
        how = {} if width is None else {"width": width}
        runs = [
            functools.partial(simulate, *pair, rounds, trials, record_points=1, workers=1, progress=False, **how)
            for pair in (drawing, learning)
        ]
        for run in runs:
            run()  # compiles
        turns = [[microseconds(run, rounds * trials) for run in runs] for _ in range(arguments.repeats)]
        draws, ours = np.min(turns, axis=0)
        named = "default width" if width is None else f"width {width}"
        ratio = np.median([turn[1] / turn[0] for turn in turns])
        print(
            f"{named:24s} draws alone {draws:7.1f}   SMD(m) {ours:7.1f}   "
            f"{ours / draws:.2f}x (median of turns {ratio:.2f}x)"
        )
        if width is None:
            best = ours
    random = np.random.default_rng(0)
    for label, count, numpy_run in (
        ("NumPy loop", rounds, lambda: numpy_dro.smd_one(DIM, GROUPS, rounds, HORIZON, random)),
        ("NumPy over 16 seeds", 16 * 40, lambda: numpy_dro.smd_many(DIM, GROUPS, 40, HORIZON, random, 16)),
    ):
        took = min(microseconds(numpy_run, count) for _ in range(arguments.repeats))
        print(f"{label:24s} {took:7.1f}   {took / best:.1f}x the time of SMD(m), default width")


if __name__ == "__main__":
    main()
