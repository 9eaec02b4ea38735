"""Estimate the speed of programs on a GPU from counts, by a formula with constants that measurements can correct."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls

from benchmarks.gpu.devices import Gpu

COUNTS = Path(__file__).with_name("counts.json")  # by "program, GPU, width": from `benchmarks.gpu --write`


def counts_path(jax_version: str) -> Path:
    """Return the file of counts for a version of JAX: the file of this version if it exists, else `COUNTS`."""
    own = COUNTS.with_name(f"counts-{jax_version}.json")
    return own if own.exists() else COUNTS


class Costs(NamedTuple):
    """Constants of the estimate."""

    node: float  # seconds between two consecutive nodes of a CUDA graph
    share: float  # share of the peak bandwidth and of the peak instruction rate that programs reach


ASSUMED = Costs(node=2e-6, share=0.7)  # not measured


def rounds_per_second(gpu: Gpu, width: int, counts: Mapping[str, Any], costs: Costs = ASSUMED) -> float:
    """Return the rounds per second of a batch: `W / (nodes c + max(bytes / bandwidth, instructions / rate) / share)`.

    Args:
      gpu: the device.
      width: W, number of trials in a batch.
      counts: `nodes` of a round in which every loop runs one step, and `kB` and `instructions` per trial.
      costs: cost of a node, and share of the peak that programs reach.
    """
    return width / (counts["nodes"] * costs.node + _peak_seconds(gpu, width, counts) / costs.share)


def fit(gpu: Gpu, widths: Sequence[int], counts: Sequence[Mapping[str, Any]], seconds: Sequence[float]) -> Costs:
    """Fit the costs to measured seconds of a round, by least squares of relative errors.

    Measurements at small widths determine the cost of a node, and measurements at large widths the share of the peak.

    Args:
      gpu: the device.
      widths: number of trials in the batch of each measurement.
      counts: counts of the program of each measurement, as for `rounds_per_second`.
      seconds: seconds per round in each measurement.
    """
    peak = [_peak_seconds(gpu, *pair) for pair in zip(widths, counts, strict=True)]
    columns = np.array([[c["nodes"] for c in counts], peak]) / np.asarray(seconds)
    (node, inverse_share), _ = nnls(columns.T, np.ones(len(seconds)))
    return Costs(node=float(node), share=float(1 / inverse_share) if inverse_share > 0 else float("inf"))


def _peak_seconds(gpu: Gpu, width: int, counts: Mapping[str, Any]) -> float:
    rate = gpu.cores * gpu.lanes * gpu.clock_ghz * 1e9
    return width * max(1e3 * counts["kB"] / gpu.bandwidth, counts["instructions"] / rate)
