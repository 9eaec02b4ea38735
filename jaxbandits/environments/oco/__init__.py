"""Online convex optimisation problems, one per file; each is imported on first access."""

from typing import TYPE_CHECKING

from jaxbandits.base import lazy

if TYPE_CHECKING:
    from jaxbandits.environments.oco.cell_noise import CellNoise as CellNoise
    from jaxbandits.environments.oco.data_stream import DataStream as DataStream
    from jaxbandits.environments.oco.linear_losses import LinearLosses as LinearLosses
    from jaxbandits.environments.oco.logistic_losses import LogisticLosses as LogisticLosses
    from jaxbandits.environments.oco.pseudo_huber_losses import PseudoHuberLosses as PseudoHuberLosses
    from jaxbandits.environments.oco.quadratic_losses import QuadraticLosses as QuadraticLosses
    from jaxbandits.environments.oco.random_order import RandomOrder as RandomOrder

lazy.attach(__name__)
