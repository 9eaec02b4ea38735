"""Environments made of others: feedback that is late, parameters that move, rewards with noise or corrupted."""

from jaxbandits.environments.operators.corrupted import Corrupted, with_corruption
from jaxbandits.environments.operators.delayed import Delayed, with_delay
from jaxbandits.environments.operators.drifting import Drifting, Given, Piecewise, RandomWalk, with_drift
from jaxbandits.environments.operators.noisy import Noisy, with_noise

__all__ = [
    "Corrupted",
    "Delayed",
    "Drifting",
    "Given",
    "Noisy",
    "Piecewise",
    "RandomWalk",
    "with_corruption",
    "with_delay",
    "with_drift",
    "with_noise",
]
