"""Trials and results made by hand: numbers that a reader can check, no simulation."""

from typing import Any

import numpy as np

from jaxbandits.analysis.trials import Trials
from jaxbandits.results.result import Result


def trials(
    values: dict[str, Any], points: Any = ({},), first_seed: int = 0, record_points: Any = None, **more: Any
) -> Trials:
    """Trials of `[H, S, M, ...]` arrays; seeds from `first_seed` on, record points 10, 20, ..., all healthy."""
    arrays = {name: np.asarray(array, np.float64) for name, array in values.items()}
    n_points, n_seeds, n_records = next(iter(arrays.values())).shape[:3]
    given = {
        "seeds": np.arange(first_seed, first_seed + n_seeds),
        "record_points": 10 * np.arange(1, n_records + 1) if record_points is None else np.asarray(record_points),
        "healthy": np.ones((n_points, n_seeds), bool),
        "inadmissible": np.zeros((n_points, n_seeds), np.int64),
        "spec": {"algorithm": {"type": "toy"}, "horizon": 10 * n_records, "digest": "d0", "programs": {"{}": "p0"}},
        "timing": {"compile_s": 1.0, "run_s": 2.0, "rounds": 60, "ns_per_round": [10.0, 30.0, 20.0]},
    }
    return Trials(arrays, tuple(points), **(given | more))


def result(seed: int = 0) -> Result:
    """Two labels that differ in points, seeds, record points and metrics; one has a vector metric."""
    rng = np.random.default_rng(seed)
    swept = trials(
        {"loss": rng.normal(size=(3, 6, 4)).cumsum(2), "regret": rng.gamma(2.0, size=(3, 6, 4)).cumsum(2)},
        points=[{"rate": rate} for rate in (0.1, 0.2, 0.4)],
        units={"loss": "points"},
    )
    grouped = trials(
        {"regret": rng.gamma(3.0, size=(1, 4, 2)).cumsum(2), "risk": rng.normal(size=(1, 4, 2, 3))},
        first_seed=2,
        record_points=[5, 50],
        axes={"risk": ("group",)},
    )
    return Result({"swept": swept, "grouped": grouped}, {"base_seed": 0, "wall_s": 1.5, "started_unix_s": 100.0})
