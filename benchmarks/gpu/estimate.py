"""Estimates of the speed on a GPU from counts, by a formula whose constants a measurement can correct."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls

from benchmarks.gpu.devices import Gpu

COUNTS = Path(__file__).with_name("counts.json")  # by "program, GPU, width": from `benchmarks.gpu --write`


def counts_path(jax_version: str) -> Path:
    """Return the file of counts for a version of JAX: one of its own if there is one, else `COUNTS`."""
    own = COUNTS.with_name(f"counts-{jax_version}.json")
    return own if own.exists() else COUNTS


class Costs(NamedTuple):
    """Costs of a node of a graph and of an instruction."""

    node: float  # seconds from one node of a CUDA graph to the next
    share: float  # of the bandwidth on the data sheet, and of the instructions that the clock allows


ASSUMED = Costs(node=2e-6, share=0.7)  # not measured


def rounds_per_second(gpu: Gpu, width: int, counts: Mapping[str, Any], costs: Costs = ASSUMED) -> float:
    """Return rounds a second of a batch: `W / (nodes c + max(bytes / bandwidth, instructions / rate) / share)`.

    Args:
      gpu: the device.
      width: W trials of a batch.
      counts: of a round in which every loop turns once: `nodes`, and of a trial `kB` and `instructions`.
      costs: of a node, and which share of the peak is reached.
    """
    return width / (counts["nodes"] * costs.node + _peak_seconds(gpu, width, counts) / costs.share)


def fit(gpu: Gpu, widths: Sequence[int], counts: Sequence[Mapping[str, Any]], seconds: Sequence[float]) -> Costs:
    """Fit the costs to measured seconds of a round, by least squares of relative errors.

    Small widths determine the cost of a node, large ones the share of the peak.

    Args:
      gpu: the device.
      widths: of each measurement.
      counts: of its program, as for `rounds_per_second`.
      seconds: that one of its rounds took.
    """
    peak = [_peak_seconds(gpu, *pair) for pair in zip(widths, counts, strict=True)]
    columns = np.array([[c["nodes"] for c in counts], peak]) / np.asarray(seconds)
    (node, inverse_share), _ = nnls(columns.T, np.ones(len(seconds)))
    return Costs(node=float(node), share=float(1 / inverse_share) if inverse_share > 0 else float("inf"))


def _peak_seconds(gpu: Gpu, width: int, counts: Mapping[str, Any]) -> float:
    rate = gpu.cores * gpu.lanes * gpu.clock_ghz * 1e9
    return width * max(1e3 * counts["kB"] / gpu.bandwidth, counts["instructions"] / rate)
