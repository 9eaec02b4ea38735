"""Comparison of the same trials on two devices, whose roundings differ."""

from pathlib import Path
from typing import Any

import numpy as np

TOLERANCES = {"float32": 1e-3, "float64": 1e-8}  # of a round, relative to the largest; rounding is far below


def array_path(folder: str, computed: str, program: str) -> Path:
    """Return the file of the metric of a program.

    Args:
      folder: of all such files.
      computed: form or device, and precision.
      program: name.
    """
    return Path(folder) / f"{computed}, {program.replace('/', '-')}.npy"


def compare(metric: np.ndarray, reference: np.ndarray, dtype: str) -> dict[str, Any]:
    """Compare a cumulative metric of the same trials on two devices.

    In some trials rounding decides between two plays of nearly equal value; from then on both are valid and differ. The
    others must agree to rounding.

    Args:
      metric: `[trials, rounds]`.
      reference: `[trials, rounds]` on the other device.
      dtype: of the computation, key of `TOLERANCES`.

    Returns:
      The share of trials that part, the median of the rounds (from 1) in which they do, the largest relative difference
      of final metrics of the other trials, the mean final metric of each device, and for ten or more trials that part
      the mean difference of their final metrics in standard errors.
    """
    rounds, reference_rounds = (np.diff(x, axis=1, prepend=0.0) for x in (metric, reference))
    limit = TOLERANCES[dtype] * np.nanmax(np.abs(reference_rounds))
    equal = (np.abs(rounds - reference_rounds) <= limit) | (np.isnan(rounds) & np.isnan(reference_rounds))
    parts = ~equal.all(axis=1)
    first = 1 + (~equal).argmax(axis=1)
    final, reference_final = metric[:, -1], reference[:, -1]
    scale = np.maximum(np.abs(reference_final), 1e-3 * np.nanmax(np.abs(reference_final)))
    relative = np.abs(final - reference_final) / scale
    difference = (final - reference_final)[parts]
    has_statistic = np.isfinite(difference).sum() >= 10 and np.nanstd(difference) > 0
    return {
        "share that parts": float(parts.mean()),
        "median round": float(np.median(first[parts])) if parts.any() else None,
        "largest difference": float(np.nanmax(relative[~parts])) if (~parts).any() else None,
        "means": [float(np.nanmean(final)), float(np.nanmean(reference_final))],
        "z": float(np.nanmean(difference) / np.nanstd(difference) * parts.sum() ** 0.5) if has_statistic else None,
    }
