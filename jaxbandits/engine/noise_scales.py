"""Warn about learners that assume more noise than the rewards of their environment can have.

Learners for sub-Gaussian rewards state their assumed scale R (`AssumesNoiseScale`), and environments with bounded
rewards state the range of rewards (`BoundsRewards`). Rewards in an interval of width w are sub-Gaussian of scale w / 2
(Hoeffding's lemma). A learner with a larger R explores longer than necessary, and looks worse in a comparison with
learners for bounded rewards.
"""

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jaxbandits.base.callers import user_stacklevel
from jaxbandits.engine.jobs import LabelJobs
from jaxbandits.engine.plan import Job
from jaxbandits.types import AssumesNoiseScale, BoundsRewards

_ROUNDING = 1e-5  # relative tolerance, since scales are float32 in some runs


class _Assumption(NamedTuple):
    """Noise scale that a learner assumes at one hyperparameter point, and the range of rewards in its environment."""

    label: str
    learner: type
    environment: str
    scale: float
    low: float
    high: float

    @property
    def sufficient(self) -> float:
        """Scale that is sufficient for all rewards in the range."""
        return 0.5 * (self.high - self.low)


def warn_of_noise_scales(label_jobs: Sequence[LabelJobs]) -> None:
    """Issue one warning for all labels whose noise scale is larger than necessary.

    A class that runs with several scales, at points of a grid or under several labels, is left out, since such a run
    compares the scales.

    Args:
      label_jobs: the jobs of a run.
    """
    found = [assumption for label in label_jobs for _, job in label.jobs for assumption in _assumptions(job)]
    scales: dict[type, set[float]] = {}
    for assumption in found:
        scales.setdefault(assumption.learner, set()).add(assumption.scale)
    groups: dict[tuple[str, float, float, float], dict[str, type]] = {}
    for a in found:
        is_excessive = np.isfinite(a.sufficient) and 0.0 < a.sufficient * (1.0 + _ROUNDING) < a.scale
        if is_excessive and len(scales[a.learner]) == 1:
            groups.setdefault((a.environment, a.scale, a.low, a.high), {})[a.label] = a.learner
    if groups:
        warnings.warn("; ".join(_describe(*key, of) for key, of in groups.items()), stacklevel=user_stacklevel())


def _assumptions(job: Job) -> list[_Assumption]:
    """Return the different assumptions at the points of a job; [] if the learner or the environment states none."""
    algorithm, environment = job.stack  # fields [H] of all points
    if not isinstance(algorithm, AssumesNoiseScale) or not isinstance(environment, BoundsRewards):
        return []
    scale, ends = algorithm.sub_gaussian_scale, environment.reward_range
    if scale is None or ends is None:
        return []
    columns = np.broadcast_arrays(*(np.asarray(x, float) for x in (scale, *ends)), np.zeros(len(job.points)))
    numbers = dict.fromkeys(zip(*(column.tolist() for column in columns[:3]), strict=True))
    names = job.label, type(algorithm), type(environment).__name__
    return [_Assumption(*names, *row) for row in numbers]


def _describe(environment: str, scale: float, low: float, high: float, learners: dict[str, type]) -> str:
    """Return the warning for labels with one scale on one environment."""
    several = len(learners) > 1
    presets = [f"{learner.__name__}.bounded" for learner in dict.fromkeys(learners.values()) if _has_preset(learner)]
    width = "" if high - low == 1.0 else f"(width={high - low:g})"
    joined = " and ".join(", ".join(preset + width for preset in presets).rsplit(", ", 1))
    remedy = f"{joined} set{'s' * (len(presets) == 1)} this scale"
    return (
        f"{', '.join(learners)} assume{'s' * (not several)} a noise scale of {scale:g}, but rewards of "
        f"{environment} lie in [{low:g}, {high:g}], for which {0.5 * (high - low):g} is enough, and therefore "
        f"explore{'s' * (not several)} longer than needed: {remedy if presets else 'set this scale'}"
    )


def _has_preset(learner: type) -> bool:
    return hasattr(learner, "bounded")
