"""Operators that wrap an environment: delayed or batched feedback, drifting parameters, noisy or corrupted rewards."""

from jaxbandits.environments.operators import *
from jaxbandits.environments.operators.batched import with_batches as with_batches
from jaxbandits.environments.operators.corrupted import with_corruption as with_corruption
from jaxbandits.environments.operators.delayed import with_delay as with_delay
from jaxbandits.environments.operators.drifting import Given as Given
from jaxbandits.environments.operators.drifting import PiecewiseDrift as PiecewiseDrift
from jaxbandits.environments.operators.drifting import RandomWalk as RandomWalk
from jaxbandits.environments.operators.drifting import with_drift as with_drift
from jaxbandits.environments.operators.noisy import with_noise as with_noise
from jaxbandits.environments.operators.random_delay import GeometricDelay as GeometricDelay
from jaxbandits.environments.operators.random_delay import TableDelay as TableDelay
from jaxbandits.environments.operators.random_delay import UniformDelay as UniformDelay
from jaxbandits.environments.operators.random_delay import with_random_delay as with_random_delay
