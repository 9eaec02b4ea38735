"""Operators, which are environments that wrap another environment, one per file; each is imported on first access."""

from typing import TYPE_CHECKING

from jaxbandits.base import lazy

if TYPE_CHECKING:
    from jaxbandits.environments.operators.batched import Batched as Batched
    from jaxbandits.environments.operators.corrupted import Corrupted as Corrupted
    from jaxbandits.environments.operators.delayed import Delayed as Delayed
    from jaxbandits.environments.operators.drifting import Drifting as Drifting
    from jaxbandits.environments.operators.noisy import Noisy as Noisy
    from jaxbandits.environments.operators.random_delay import RandomDelay as RandomDelay

lazy.attach(__name__)
