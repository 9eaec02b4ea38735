"""The compiled program needs no more memory for a longer horizon, and its state does not grow."""

import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

from jaxbandits.algorithms import ALGORITHMS
from jaxbandits.environments import ENVIRONMENTS
from jaxbandits.simulation import driver
from jaxbandits.simulation.plan import Job
from jaxbandits.simulation.width import bytes_of

ROOT = Path(__file__).parents[2]
_PROBLEMS = """
import itertools
from jaxbandits.simulation import program, simulate
from tests.toys import Noisy, Slow

def resident_mb():
    pages = int(open("/proc/self/statm").read().split()[1])
    return pages * 4096 / 1e6

program.MAX_PARTS = program._parts.bound = program._layouts.bound = 30  # full after 15 problems
work = itertools.count(1)
for count in (50, 100, 100):
    for _ in range(count):
        simulate(Slow(work=next(work)), Noisy(), 2, 2, record=1, width=1, progress=False)
    print(resident_mb(), program.compiled_count())
"""


@pytest.mark.slow
@pytest.mark.system
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
def test_different_problems_do_not_fill_the_memory():
    """Once the shelf of programs is full, a further hundred problems cost little (measured: 16 MB)."""
    run = subprocess.run([sys.executable, "-c", _PROBLEMS], capture_output=True, text=True, check=True, cwd=ROOT)
    begin, middle, end = (float(line.split()[0]) for line in run.stdout.splitlines())
    assert all(line.split()[1] == "30" for line in run.stdout.splitlines())
    assert end - middle < 60.0, f"{begin:.0f}, {middle:.0f}, {end:.0f} MB after 50, 150, 250 problems"


@pytest.mark.parametrize("name", ["linear/hvt_ucb", "linear/oful"])
def test_one_program_serves_every_horizon(name):
    """The horizon is an argument of the program: its memory cannot depend on it, and it is a few states in size."""
    entry = ALGORITHMS[name]
    environment = ENVIRONMENTS[entry.environments[0]].example
    width, analysed = 64, {}
    for horizon in (1_000, 1_000_000):
        stops = np.linspace(0, horizon, 11)[1:].astype(int)
        job = Job(name, entry.example, environment, ({},), horizon, stops, width, 0, (), width)
        analysed[horizon] = driver.program_of(job, jax.devices()[0])
    assert analysed[1_000].advance is analysed[1_000_000].advance
    memory = analysed[1_000].advance.memory_analysis()
    state = bytes_of(analysed[1_000].carry_shape)
    assert memory.temp_size_in_bytes < 8 * state + 100_000
