"""Estimates of the speed on a GPU from counts, by a formula whose inputs a measurement can correct."""

from pathlib import Path
from typing import NamedTuple

from benchmarks.gpu.devices import Gpu

COUNTS = Path(__file__).with_name("counts.json")  # by "program, GPU, width": from `benchmarks.gpu --write`


class Costs(NamedTuple):
    """Assumed costs of a node of a graph and of an instruction; none of them was measured."""

    node: float = 2e-6  # seconds from one node of a CUDA graph to the next
    share: float = 0.7  # of the bandwidth on the data sheet, and of the instructions that the clock allows


ASSUMED = Costs()


def rounds_per_second(
    gpu: Gpu, width: int, nodes: int, kilobytes: float, instructions: float, costs: Costs = ASSUMED
) -> float:
    """Return rounds a second of a batch: `W / (nodes c + max(bytes / bandwidth, instructions / rate))`.

    Args:
      gpu: the device.
      width: W trials of a batch.
      nodes: of a round in which every loop turns once.
      kilobytes: moved by a trial in a round.
      instructions: of a trial in a round.
      costs: of a node, and which share of the peak is reached.
    """
    rate = gpu.cores * gpu.lanes * gpu.clock_ghz * 1e9
    busy = width * max(1e3 * kilobytes / gpu.bandwidth, instructions / rate) / costs.share
    return width / (nodes * costs.node + busy)
