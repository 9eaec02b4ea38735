"""Compare the results of the same trials on two devices whose rounding errors differ."""

from pathlib import Path
from typing import Any

import numpy as np

TOLERANCES = {"float32": 1e-3, "float64": 1e-8}  # per round, relative to the largest value; far above rounding errors


def array_path(folder: str, computed: str, program: str) -> Path:
    """Return the path of the file that holds the metric of a program.

    Args:
      folder: directory of all these files.
      computed: form of the program or device, and precision.
      program: name of the program.
    """
    return Path(folder) / f"{computed}, {program.replace('/', '-')}.npy"


def compare(metric: np.ndarray, reference: np.ndarray, dtype: str) -> dict[str, Any]:
    """Compare a cumulative metric of the same trials on two devices.

    In some trials, rounding decides between two plays of nearly equal value; from then on both paths are valid but
    differ. The other trials must agree up to rounding.

    Args:
      metric: `[trials, rounds]`.
      reference: `[trials, rounds]` on the other device.
      dtype: precision of the computation, a key of `TOLERANCES`.

    Returns:
      The share of trials that diverge, the median of the rounds (from 1) in which they do, the largest relative
      difference of final metrics of the other trials, the mean final metric on each device, and, if at least ten trials
      diverge, the mean difference of their final metrics in standard errors.
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
