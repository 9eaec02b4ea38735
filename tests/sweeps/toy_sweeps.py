"""Sweeps that are quick to run: the toy learner on the toy environment, and a file."""

import dataclasses

from jaxbandits.simulation import Grid, compare
from jaxbandits.sweeps.sweep import Sweep
from tests.toy_problems import Noisy, Shrink

SWEEP = Sweep(
    algorithms={
        "swept": Grid(Shrink(), {"rate": [0.1, 0.5, 0.9], "environment.scale": [0.5, 1.0]}),
        "fixed": Shrink(),
    },
    environment=Noisy(scale=1.0),
    horizon=20,
    seeds=40,
    record_points=4,
    width=32,
    part_trials=70,
)

FILE = """
horizon = 20
seeds = 4
record_points = [5, 20]
width = 32

[algorithms.oful]
type = "linear/oful"
dim = { values = [2, 3], zip = "d" }
ridge = { logspace = [0.1, 1.0], n = 2 }

[environments.student]
type = "linear/heavy_tailed"
dim = { values = [2, 3], zip = "d" }
n_arms = 5
noise = { type = "noise/student_t", df = 2.5, spread = 1.0 }
"""


def change_sweep(**settings):
    return dataclasses.replace(SWEEP, **settings)


def whole(sweep=SWEEP):
    """The same without files."""
    return compare(
        sweep.algorithms,
        sweep.environment,
        sweep.horizon,
        sweep.seeds,
        record_points=sweep.record_points,
        width=32,
        progress=False,
    )
